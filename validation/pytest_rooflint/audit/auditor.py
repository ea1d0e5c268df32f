"""The auditor: read the rows of a table, compare each figure with the registry, explain the wrong ones."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from types import ModuleType

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.cells import (
    NumberError,
    claims,
    commas,
    has_no_value,
    noted_bits,
    printed,
    unit_of_remark,
)
from pytest_rooflint.audit.columns import Column, columns
from pytest_rooflint.audit.findings import (
    UNGIVEN,
    FigureOfTable,
    are_torn,
    differs,
    finding_of,
    groups,
    ignored,
    is_emulated,
    is_of_several,
    is_taken_from,
    less_the_drivers_share,
    nearest,
    of_lanes,
    of_one,
    of_one_unit,
    of_usual,
    share,
    unknown,
    unless_close,
    unnamed,
    unread,
)
from pytest_rooflint.audit.published import published
from pytest_rooflint.audit.rows import (
    Cell,
    Row,
    between_devices,
    devices_in,
    in_unit,
    is_beside,
    measured_as,
    measured_beside,
    merged_with,
    named_by,
    naming,
    of_number,
    one_way,
    remarked,
    stated_by,
    with_tensor_rows,
    without_sparsity,
)
from pytest_rooflint.audit.shared import (
    consistent,
    of_links,
    of_modes,
    of_other_device,
    of_parts,
    of_something_else,
    of_whole_chips,
    table_wide,
    with_digits_of_columns,
)
from pytest_rooflint.audit.sparse import as_declared, fields_with_sparsity
from pytest_rooflint.audit.tables import decoded, is_source, read
from pytest_rooflint.audit.training_columns import guessed
from pytest_rooflint.audit.unlabelled import cores, of_ai, of_two, says_ai, with_precision, with_unit
from rooflint.base.errors import refuse
from rooflint.base.memo import memoised
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSE, FLOOR, QUANTITIES, RATE, SHARES, TRAINING, Figure
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked
from rooflint.hardware.names import Meaning, Names, names_of
from rooflint.hardware.registry import Registry
from rooflint.hardware.vocabulary import is_beginning, run_together, without_size

LONGEST_REMARK = 60
"""Characters of a comment that a note quotes."""
BY_CLOCK = 0.15
"""Log of the ratio of two peaks up to which variants differ by their clock: those of a V100 for PCIe and for SXM2."""
NODES = (4, 8)
"""Devices per board and per node, for which tables often give totals."""
_TOTALS = frozenset({"peak", "bandwidth", "capacity", "tdp", "count", "link"})
"""Quantities of which a system has as much as its devices together."""
_NOMINAL = frozenset({"tdp", "count", "bus"})
"""Quantities that are printed in full: 160 W is not 165 W rounded."""
_LOOSE = frozenset({"link"})
"""Quantities that do not tell variants apart: boards for a slot have the links of the module by a bridge."""
_IN_BITS = frozenset({"bandwidth", "bus", "capacity"})
"""Quantities of which eight times as much may also be a figure in bits."""
OF_OTHERS = {
    "bandwidth": "beside '{}' it is of something else, such as links; give its meaning with --map",
    "capacity": "beside '{}' it may be the memory of a machine; give its meaning with --map",
}
"""Why a plain bandwidth and a plain memory are not checked."""
#: Precisions whose rates most specs do not give as tables do: address arithmetic, packed integers.
_UNCHECKED = frozenset({"int32", "int16", "int64"})


@dataclass(frozen=True)
class Auditor:
    """Compares tables with a registry and with the figures in golden files."""

    registry: Registry
    golden: tuple[Path, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Roles of columns that their names do not tell, by name."""

    def __post_init__(self) -> None:
        known = published(self.golden, self.registry)
        object.__setattr__(self, "identifier", Identifier(self.registry, known.printed, known.refuted))
        object.__setattr__(self, "names", names_of(self.registry))

    identifier: Identifier = field(init=False, repr=False)
    names: Names = field(init=False, repr=False)

    def audit(self, file: Path) -> list[Finding]:
        """Findings for every figure of a table, in its order.

        Raises InputError for a table that cannot be read, or without a column of devices or of figures.
        """
        rows = read(file, self._is_device)
        names = list(dict.fromkeys(name for row in rows for name in row))
        named = naming(names, rows, self._is_device)
        known = columns(
            [*named, *names],
            {
                **cores(names, rows, self._devices_of, self.identifier),
                **between_devices(names, rows),
                **named,
                **guessed(names, rows, self._is_device, self._is_network),
                **self.mapping,
            },
            self._counted,
        )
        self._refuse_unusable(known, names, file)
        meant = commas(
            row[name].text for row in rows for name, one in known.items() if one.role in QUANTITIES and name in row
        )
        known = {name: replace(column, commas=meant) for name, column in known.items()}
        known = {name: with_tensor_rows(column, rows) for name, column in known.items()}
        for completed in (with_precision, with_unit):
            known = {
                name: completed(column, rows, known, self._devices_of, self.identifier)
                for name, column in known.items()
            }
        read_off = [
            replace(one, row=number) if isinstance(one, FigureOfTable) else one
            for number, row in enumerate(rows)
            for one in self._figures(row, known, file)
        ]
        figures = with_digits_of_columns(one for one in read_off if isinstance(one, FigureOfTable))
        by_line = is_source(file)  # where each place of a wrong figure is to be mended
        figures = as_declared(figures, fields_with_sparsity(decoded(file)), self.identifier) if by_line else figures
        once = {(one.key, one.cell.line if by_line else 0): one for one in reversed(figures)}
        others = [one for one in read_off if isinstance(one, Finding)]
        left = [
            name
            for name in names
            if name not in known and name not in self.mapping and not any(devices_in(name, rows, (), self._is_device))
        ]
        figured = {name for name, column in known.items() if column.role in QUANTITIES}
        judged = of_whole_chips(of_links(self._judged(list(once.values()), file)))
        judged = of_something_else(of_modes(of_parts(table_wide(judged, self.identifier))))
        runs = self._of_training(rows, known, file)
        findings = [*judged, *runs, *others, *unnamed(rows, file), *ignored(left, rows, file, figured)]
        return sorted(findings, key=lambda one: (one.line, names.index(one.column)))

    def _of_training(self, rows: Sequence[Row], known: Mapping[str, Column], file: Path) -> Iterable[Finding]:
        roles = {column.role for column in known.values()}
        return _training().findings(rows, known, file, self.identifier, self.names) if roles & {*TRAINING} else ()

    @memoised
    def _meaning(self, name: str) -> Meaning:
        """What a name means, which may be the beginning of others, with a number in it: `RTX PRO 6000`.

        With a memory that a vendor announced and no variant has, it means what it does without.
        """
        meaning = self.names.meaning(name)
        if meaning.devices:
            return self._either(name) or meaning
        if is_beginning(name, meaning.shortened):
            return replace(meaning, devices=meaning.shortened)
        if apart := run_together(name):
            return self._meaning(apart)
        bare, size = without_size(name)
        plain = self.names.meaning(bare)
        announced = [
            one.hardware.id
            for device in plain.devices
            for one in self.identifier.of(device)
            if one.quantity == "capacity" and one.dispute and size and one.value == size * 1e9
        ]
        return replace(plain, devices=tuple(dict.fromkeys(announced))) if announced else meaning

    def _either(self, name: str) -> Meaning | None:
        """What `RTX 3090/Ti` and `RTX 3090 (Ti)` mean: a device, and the one that the word behind it makes of it."""
        plain, _, word = name.replace("(", "/").rstrip(") ").partition("/")
        if not word.isalpha():
            return None
        one, other = self.names.meaning(plain.strip()), self.names.meaning(f"{plain.strip()} {word}")
        if not (one.devices and other.devices) or set(other.devices) <= set(one.devices):
            return None
        return replace(one, devices=(*one.devices, *other.devices))

    def _devices_of(self, name: str) -> tuple[str, ...]:
        return self._meaning(name).devices

    def _is_network(self, name: str) -> bool:
        return _training().network_of(name, self.registry.roots) is not None

    def _is_device(self, name: str) -> bool:
        return bool(self._meaning(name).devices)

    @property
    def _counted(self) -> set[str]:
        """Names of units, groups and clocks that a column may be about."""
        figures = [one for device in self.names.ids for one in self.identifier.of(device)]
        units = {one.unit for one in figures if one.unit and " + " not in one.unit}
        return units | {one.subject for one in figures if one.quantity in ("count", "clock")}

    def _refuse_unusable(self, known: Mapping[str, Column], names: Sequence[str], file: Path) -> None:
        having = ", ".join(names)
        roles = {column.role for column in known.values()}
        if "device" not in roles:
            raise refuse(file, 1, f"no column names a device; name it with --map COLUMN=device (columns: {having})")
        if not roles & {*QUANTITIES, *SHARES, RATE} and not is_source(file):
            wish = "name it with --map 'COLUMN=peak bf16'"
            raise refuse(file, 1, f"no column holds a figure; {wish} (columns: {having})")

    # ---- from cells to figures

    def _figures(self, row: Row, known: Mapping[str, Column], file: Path) -> Iterator[FigureOfTable | Finding]:
        named = named_by(row, known)
        if named is None:
            return
        plain, sparse = without_sparsity(named.text)
        context = stated_by(row, known)
        context = context if sparse is None else replace(context, sparse=sparse)
        of_unit = in_unit(context.unit, row, known)
        meaning = of_number(self._meaning(plain), row, known)
        called = f"its row is called '{measured}'; taken for measured" if (measured := measured_as(row)) else ""
        for name, column in known.items():
            if column.role in QUANTITIES and name in row and not has_no_value(row[name].text):
                if column.role in OF_OTHERS and is_beside(row, column):
                    note = OF_OTHERS[column.role].format(next(one for one in column.beside if one in row))
                    yield unread(row[name], column, named.text, Asked(column.role), note, file)
                    continue
                beside = measured_beside(row, known) if column.role == "capacity" else ""
                for text, said in claims(row[name].text, column):
                    own = replace(said, vector=True) if is_beside(row, said) else said
                    cell, unit = replace(row[name], text=text), unit_of_remark(row[name].remark, column.role)
                    unit = context.unit if name in of_unit else unit
                    found = self._figure(cell, own, context, unit, named.text, meaning, file)
                    doubt = f"beside '{beside}' it may be the memory that a program used" if beside else called
                    doubt = doubt or one_way(f"{cell.remark} {row[name].text}", column)
                    yield replace(found, doubt=doubt) if isinstance(found, FigureOfTable) else found

    def _figure(
        self, cell: Cell, column: Column, row: Column, unit: str | None, name: str, meaning: Meaning, file: Path
    ) -> FigureOfTable | Finding:
        rated = column.role in ("peak", "rate")
        meaning = replace(meaning, times=column.times) if meaning.times == 1 else meaning
        stated = merged_with(column, row) if rated else column
        merged = remarked(stated, cell.remark) if rated else column
        is_presumed = rated and merged.precision is None and bool(column.presumed)
        if is_presumed:
            merged = replace(merged, precision=column.presumed[0], either=next(iter(column.presumed[1:]), None))
        asked = Asked(
            column.role, merged.precision, column.subject, merged.vector, merged.sparse, meaning.part, meaning.times
        )
        try:
            number, assumed = printed(cell.text, merged, unit, meaning.times)
        except NumberError as error:
            return unread(cell, column, name, asked, f"not read: {error}", file)
        if says_ai(column) and not merged.precision:
            asked = of_ai(asked, number, meaning.devices, self.identifier)
        if rated and asked.precision is None:
            return unread(cell, column, name, asked, "no column gives its precision", file)
        if merged.precision in _UNCHECKED and not any(self.identifier.fitting(asked, one) for one in meaning.devices):
            return unread(cell, column, name, asked, f"specs have no {merged.precision} rates", file)
        if merged.either:
            asked = of_two(asked, merged.either, number, meaning.devices, self.identifier)
        is_presumed = is_presumed or (rated and merged.precision is None)
        notes = [f"{UNGIVEN}; taken as {asked.precision}"] if is_presumed else []
        if not is_presumed and merged.precision != stated.precision:
            notes.append(
                f"{merged.precision} is taken from the remark '{shorten(cell.remark, LONGEST_REMARK, placeholder='…')}'"
            )
        notes += [f"no unit given; taken as {assumed}"] if assumed else []
        notes += noted_bits(cell.text, merged, unit, number.value)
        return FigureOfTable(name, meaning, asked, number, cell, column.name, "; ".join(notes))

    # ---- from figures to findings

    def _judged(self, found: list[FigureOfTable], file: Path) -> Iterator[Finding]:
        """Judge name by name, because the figures of one name together tell which variant it is."""
        exact: dict[str, dict[Asked, set[float]]] = defaultdict(lambda: defaultdict(set))
        for one in found:
            if len(one.meaning.devices) == 1:
                exact[one.meaning.devices[0]][of_one(one.asked)].add(one.number.value)
        for group in groups(found):
            devices = group[0].meaning.devices
            # a variant that another row names with other figures is not meant by a name without it
            usual = max(devices, key=lambda one: self._size(group, one), default="")
            # figures of the usual one are compared, and those of code, which has several tables
            known = {one: exact[one] for one in devices if one in exact}
            told = {one for one in known if differs(group, known[one], one == usual or is_source(file))}
            left = tuple(one for one in devices if one not in told)
            fits = Counter(device for one in group for device in self._agreeing(one, devices))
            most = max((fits[one] for one in devices), default=0)
            is_lost = most > max(1, *(fits[one] for one in left)) if left else True
            yield from self._of_name(group, devices if is_lost else left, file)

    def _of_name(self, group: list[FigureOfTable], devices: tuple[str, ...], file: Path) -> Iterator[Finding]:
        if not devices:
            yield from (unknown(one, file) for one in group)
            return
        agreeing = {one: self._agreeing(one, devices) for one in group}
        scores = Counter(
            device for one, found in agreeing.items() for device in found if one.asked.quantity not in _LOOSE
        )
        best = [device for device in devices if scores[device] == max(scores.values(), default=0)]
        if are_torn(agreeing, best):
            best = [max(best, key=lambda device: self._size(group, device))]  # no variant has all: the largest is meant
        telling = [one for one, found in agreeing.items() if found and self._others(one.asked, found, devices)]
        findings = [
            self._right(one, found, () if len(telling) > 1 else devices, best, file)
            if any(device in best for device in found)
            else self._wrong(one, found, best, file)
            for one, found in agreeing.items()
        ]
        findings = consistent(self._of_node(group, findings, best))
        yield from of_other_device(group, findings, self.identifier, self.names.ids)

    def _of_node(self, group: Sequence[FigureOfTable], findings: list[Finding], best: Sequence[str]) -> list[Finding]:
        """The findings; where all wrong figures of a name may be totals of several devices, each is explained so."""
        wrong = [index for index, finding in enumerate(findings) if finding.is_wrong]
        several = any(is_of_several(findings[index].explanations) for index in wrong)
        quantities = {group[index].asked.quantity for index in wrong}
        if not several or len(quantities) == 1 or quantities <= _IN_BITS:
            return findings
        for times in NODES:
            known = {
                index: self.identifier.explanations(group[index].number, replace(group[index].asked, times=times), best)
                for index in wrong
            }
            if all(map(is_of_several, known.values())):
                return [
                    replace(finding, explanations=tuple(known[index])) if index in known else finding
                    for index, finding in enumerate(findings)
                ]
        return findings

    def _size(self, group: Sequence[FigureOfTable], device: str) -> float:
        """Size of a variant: the log of the product of its figures in the table."""
        firsts = [figures[0].value for one in group if (figures := self.identifier.fitting(one.asked, device))]
        return math.fsum(math.log2(value) for value in firsts)

    def _others(self, asked: Asked, found: Iterable[str], devices: Iterable[str]) -> list[Figure]:
        """The same figure of the variants that a number does not fit."""
        left = [device for device in devices if device not in found]
        return [figures[0] for device in left if (figures := self.identifier.fitting(asked, device))]

    def _agreeing(self, one: FigureOfTable, devices: Iterable[str]) -> dict[str, Figure]:
        """The figure of each device that the number is; the one of all devices where the name speaks of several."""
        times = one.meaning.times if one.asked.quantity in _TOTALS else 1
        numbers = [one.number, *([share(one.number, times)] if times > 1 else [])]
        found = {
            device: next(
                (figure for number in numbers if (figure := self.identifier.agreeing(number, one.asked, device))), None
            )
            for device in devices
        }
        return {device: figure for device, figure in found.items() if figure}

    def _right(
        self, one: FigureOfTable, found: Mapping[str, Figure], unsettled: Sequence[str], best: Sequence[str], file: Path
    ) -> Finding:
        device = next(device for device in best if device in found)
        figure = found[device]
        finding = finding_of(one, file, best, figure)
        if figure.dispute:
            return replace(
                finding, status="disputed", note=f"{figure.printed} prints it, but the facts differ: {figure.dispute}"
            )
        if against := self._against(one.asked, figure):
            note = f"the facts give it, but {against.printed} prints {against.shown()}: {against.dispute}"
            return replace(finding, status="disputed", note=note)
        others = sorted(self._others(one.asked, found, unsettled), key=lambda other: -other.value)
        if any(other.value > figure.value * (1 + COARSE) for other in others):  # a plain name is the largest variant
            others_have = ", ".join(f"{other.hardware.id} has {other.shown()}" for other in others[:2])
            return replace(finding, status="ambiguous", note=f"right for {device}, but {others_have}; name the variant")
        if one.asked.precision and figure.precision != one.asked.precision and not finding.note:
            return replace(finding, note=f"the {figure.precision} rate")
        return finding

    def _against(self, asked: Asked, figure: Figure) -> Figure | None:
        """The figure that the vendor prints instead of a derived one, where the two are far apart."""
        fitting = self.identifier.fitting(asked, figure.hardware.id)
        far = [one for one in fitting if one.dispute and one.is_vendors and abs(one.value / figure.value - 1) > COARSE]
        return far[0] if far and not figure.printed else None

    def _wrong(self, one: FigureOfTable, found: Mapping[str, Figure], best: Sequence[str], file: Path) -> Finding:
        if one.meaning.is_system and one.asked.quantity == "tdp":
            finding = replace(finding_of(one, file, best, None), status="not checked")
            return replace(finding, note="a system draws more power than its devices")
        fitting = {device: self.identifier.fitting(one.asked, device) for device in best}
        near = [nearest(figures, one.number.value) for figures in fitting.values() if figures]
        expected = max(near, key=lambda figure: figure.value, default=None)  # a plain name is the largest variant
        finding = finding_of(one, file, best, expected)
        if found and expected:  # another variant of the name has it, not the one that the other figures are of
            device, figure = next(iter(found.items()))
            if one.asked.quantity == "peak" and abs(math.log(figure.value / expected.value)) <= BY_CLOCK:
                note = f"right for {device}, while the other figures of this name are of {', '.join(best)}"
                return replace(finding, status="ambiguous", note=f"{note}; name the variant")
            text = f"the figure of {device}, while the other figures of this name are of {', '.join(best)}"
            explanation = Explanation("another device", text, figure.value, 1.0, figure)
            return replace(finding, status="wrong", explanations=(explanation,))
        if excused := self._excused(one, finding, fitting, file):
            return excused
        right = expected.value if expected else 0.0
        explanations = tuple(
            explanation
            for explanation in self.identifier.explanations(one.number, one.asked, best)
            if abs(explanation.target - right) > FLOOR * right or explanation.error == "digits"
        )
        if expected is None:
            return self._without(finding, one, best, explanations)
        meant = explanations[0].figure if explanations else None
        if any(meant is figure for figures in fitting.values() for figure in figures):  # of the variant it explains
            finding = finding_of(one, file, best, meant)
        return unless_close(replace(finding, status="wrong", explanations=explanations))

    def _excused(
        self, one: FigureOfTable, finding: Finding, fitting: Mapping[str, Sequence[Figure]], file: Path
    ) -> Finding | None:
        """The finding of a figure that is not right as it stands, and not wrong either; None where it is wrong."""
        meant, lanes = finding.expected, of_lanes(one, fitting, self.identifier)
        if meant and lanes:
            note = f"right for {lanes.unit}, but {meant.unit} reaches {meant.shown()}; the table does not say which"
            return replace(finding, status="ambiguous", note=note)
        if usual := of_usual(one, fitting, self.identifier):
            note = f"right for {usual.precision}, while most figures of the column are of {one.asked.precision}"
            return replace(finding, status="ambiguous", note=note)
        if installed := less_the_drivers_share(one, fitting.values()):
            note = f"{installed.shown()} are installed; a driver reports less, because it keeps a part"
            return replace(finding_of(one, file, finding.hardware, installed), status="disputed", note=note)
        known = (figure for figures in fitting.values() for figure in figures)
        for figure in known if one.asked.quantity not in _NOMINAL else ():
            if one.number.is_rounded(figure.value):
                rounded = finding_of(one, file, finding.hardware, figure)
                return replace(rounded, status="rounded", note=f"{figure.shown()} rounded to two digits")
        doubt = one.doubt or of_one_unit(one)
        return replace(finding, status="not checked", note=doubt) if doubt else None

    def _without(
        self, finding: Finding, one: FigureOfTable, best: Sequence[str], explanations: tuple[Explanation, ...]
    ) -> Finding:
        """A finding without an expected figure: an unsupported precision, or a fact that the spec lacks."""
        hardware = self.registry.get(best[0])
        having = sorted({name for unit in hardware.units.values() for name in unit.precisions})
        if hardware.undisclosed:
            why = "; ".join(dict.fromkeys(hardware.undisclosed.values()))
            return replace(finding, status="not checked", note=f"{hardware.id}: {why}")
        bf16 = (self.identifier.agreeing(one.number, replace(one.asked, precision="bf16"), device) for device in best)
        if one.asked.precision == "fp16" and (figure := next(filter(None, bf16), None)):
            note = f"right for bf16, {figure.shown()}; {hardware.id} has no fp16 rate"
            return replace(finding, status="ambiguous", note=note)
        if one.asked.quantity not in ("peak", "rate") or one.asked.precision in having:
            return replace(finding, status="not checked", note=f"the spec of {hardware.id} does not give this figure")
        own = tuple(explanation for explanation in explanations if is_taken_from(explanation, str(one.asked.precision)))
        own = () if is_emulated(one, best, self.identifier) else own
        note = f"the spec of {hardware.id} has no {one.asked.precision} rate (has: {', '.join(having)})"
        return replace(finding, status="wrong" if own else "unsupported", explanations=own, note=note)


def _training() -> ModuleType:
    """What few tables need, as it takes 0.2 s to import."""
    from pytest_rooflint.audit import training  # noqa: PLC0415

    return training
