"""One figure of a table, and the finding that an audit makes of it."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.cells import BASE, LONGEST
from pytest_rooflint.audit.column_words import INSTANCES, SAID
from pytest_rooflint.audit.columns import Column, guessed
from pytest_rooflint.audit.rows import NAME, UNNAMED, Cell, Row
from pytest_rooflint.audit.spelling import words_of
from pytest_rooflint.audit.tables import is_source
from rooflint.base.precision import PRECISIONS
from rooflint.base.suggestions import nearest as nearest_words
from rooflint.diagnosis.causes import Span, ratio_text
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSE, FLOOR, QUANTITIES, Figure, Printed, show
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked
from rooflint.hardware.names import Meaning

DRIVER_LEAVES = 0.96
"""Least share of the installed memory that is taken for what a driver leaves; in public tables it is 0.985 to 0.991."""
CLOSE = 0.01
"""Difference up to which a figure without a cause is taken for right: clocks are rounded in many ways."""
SETTLED = frozenset({"right", "rounded", "disputed", "ambiguous"})
SPARSE = "sparse for dense"
_RATES = frozenset({"peak", "bandwidth"})
UNGIVEN = "no precision given"
"""How the note of a peak begins whose precision is presumed."""
MOST_OPS = 2**14
"""Operations that one core does in a clock at most."""
ECC = 1 / 16
"""Share of a GDDR6 memory that error correction takes; a driver's MiB are those without it."""


_MARKET = frozenset({"price", "cost", "hourly", "qty", "released", "usd", "year", "date", "release", "launch"})
_ORIGIN = frozenset({"url", "source", "commit", "line", "id", "rank", "note"})
_LIKE = 0.8
"""Likeness of a word to one of the names of figures from which on it is taken for that, mistyped. [1]"""


@dataclass(frozen=True, slots=True)
class FigureOfTable:
    """One number of a table with its device and quantity."""

    name: str
    meaning: Meaning
    asked: Asked
    number: Printed
    cell: Cell
    column: str
    note: str = ""
    """What the table does not say and was assumed."""
    doubt: str = ""
    """Why it may be something else than a figure of the device, which it is where it is right."""
    row: int = 0
    """Number of its row; in a table with a column per device, of its column."""

    @property
    def key(self) -> tuple[str, str, Asked, float]:
        """Identity of a figure that the rows of a long table repeat."""
        return (self.name, self.column, self.asked, self.number.value)


def said(asked: Asked) -> str:
    """The quantity in words: `sparse bf16 peak`, `count (SM)`, `bandwidth per gcd`."""
    words = [asked.precision or "", asked.quantity.replace("_", " "), f"({asked.subject})" if asked.subject else ""]
    words = ["sparse" if asked.sparse else "", "vector" if asked.vector else "", *words]
    words += [f"per {asked.part}"] if asked.part else []
    return " ".join(word for word in words if word)


def finding_of(one: FigureOfTable, file: Path, devices: Sequence[str], expected: Figure | None) -> Finding:
    """The finding of a right figure, to be changed where it is not, with what was expected."""
    return Finding(
        file,
        one.cell.line,
        one.column,
        one.name,
        said(one.asked),
        show(one.asked.quantity, one.number.value, one.asked.precision),
        "right",
        tuple(devices),
        expected,
        one.number.value / expected.value if expected else None,
        _ratio(one.number, expected) if expected else "",
        note=one.note,
    )


def unless_close(wrong: Finding) -> Finding:
    """A finding of a wrong rate; one that is so near, without a cause besides a wrong digit, is not worth accusing.

    Neither is a rounded one in binary units: 2048 GB/s of 2 TB/s, where 2039 GB/s are right.
    """
    right = wrong.expected
    if right and right.quantity == "memory_clock" and abs((wrong.ratio or 0.0) - 1) <= COARSE:
        return replace(wrong, status="rounded", explanations=(), note=f"near {right.shown()}")
    if right is None or right.quantity not in _RATES or abs((wrong.ratio or 0.0) - 1) > CLOSE:
        return wrong
    first = wrong.explanations[0] if wrong.explanations else None
    if first and first.error not in ("digits", "tebi for tera"):
        return wrong
    note = f"near {right.shown()}" if first is None or first.error == "digits" else first.text
    return replace(wrong, status="rounded", explanations=(), note=note)


def _ratio(number: Printed, expected: Figure) -> str:
    """Printed over expected, as a fraction where the digits of the table or the rounding of clocks allow it."""
    width = max(number.step / 2, FLOOR / 2 * number.value)
    span = Span((number.value - width) / expected.value, (number.value + width) / expected.value)
    return ratio_text(number.value / expected.value, span)


def unknown(one: FigureOfTable, file: Path) -> Finding:
    """The finding of a figure whose device has no spec."""
    near = f"; near: {', '.join(one.meaning.near[:3])}" if one.meaning.near else ""
    note = f"no spec named '{one.name}'{near}"
    return replace(finding_of(one, file, (), None), status="unknown device", note=note)


def unread(cell: Cell, column: Column, name: str, asked: Asked, why: str, file: Path) -> Finding:
    """The finding of a cell that cannot be compared, with the reason."""
    return Finding(file, cell.line, column.name, name, said(asked), cell.text, "not checked", note=why)


def unnamed(rows: Sequence[Row], file: Path) -> Iterator[Finding]:
    """Findings for tuples of source code whose numbers are of several quantities that nothing names."""
    for row in rows:
        if UNNAMED in row:
            cell, note = row[UNNAMED], "not read: numbers of several quantities; name their places in a comment above"
            note += ", such as '# (bf16_tflops, bandwidth_gbps)'"
            yield Finding(file, cell.line, UNNAMED, row[NAME].text, "tuple", cell.text, "not checked", note=note)


def ignored(names: Sequence[str], rows: Sequence[Row], file: Path, figures: Set[str]) -> Iterator[Finding]:
    """Findings for columns of numbers with an unknown meaning, which were not checked; `figures` are those that were.

    Code has numbers of every kind: only those in op/s and B/s, and those beside a figure, look like another.
    """
    for name in names:
        cells = [row[name] for row in rows if name in row]
        numbers = [cell for cell in cells if re.search(r"\d", cell.text) and len(cell.text) <= LONGEST]
        if is_source(file) and not any(figures & row.keys() for row in rows if name in row):
            numbers = cells if any(_is_rate(cell.text) for cell in cells) else []
        if 2 * len(numbers) > len(cells) and not _is_about_nothing(name):
            instead = f"'{near}' would be read; " if (near := _near(name)) else ""
            note = f"unknown column '{name}'; {instead}give its meaning with --map, or map it to 'ignore'"
            yield Finding(file, cells[0].line, name, "", "column", name, "not checked", note=note)


def _is_about_nothing(name: str) -> bool:
    """Whether a column is about something that specs do not have, such as a price or a date."""
    return "$" in name or bool((_MARKET | _ORIGIN | INSTANCES) & set(words_of(name)))


def _near(name: str) -> str:
    """A name that would be read, with a word spelt as usual; empty where there is none."""
    words = [] if "." in name else re.findall("[A-Za-z]{3,}", name)
    spelt = [(word, other) for word in words for other in nearest_words(word.lower(), SAID, 1, _LIKE)]
    changed = [re.sub(rf"{word}", other, name, count=1) for word, other in spelt if word.lower() != other]
    read = (one for one in changed if (known := guessed(one)) and known.role in QUANTITIES)
    return next(read, "")


def _is_rate(text: str) -> bool:
    try:
        return float(text) >= BASE
    except ValueError:
        return False


def groups(found: Iterable[FigureOfTable]) -> Iterator[list[FigureOfTable]]:
    """The figures of each name; row by row where rows of a name disagree, because they are variants."""
    by_name: dict[str, list[FigureOfTable]] = defaultdict(list)
    for one in found:
        by_name[one.name].append(one)
    for group in by_name.values():
        by_row: dict[int, list[FigureOfTable]] = defaultdict(list)
        for one in group:
            by_row[one.row].append(one)
        same = len({one.asked for one in group}) == len(group)
        yield from [group] if same else by_row.values()


def share(number: Printed, times: int) -> Printed:
    """The share of one of several devices; a total of three digits may be rounded: 130 TB/s of 72."""
    third = 10.0 ** (math.floor(math.log10(number.value)) - 2) if number.value > 0 else 0.0
    rounded = math.isclose(float(f"{number.value:.2e}"), number.value, rel_tol=1e-9)
    return Printed(number.value / times, max(number.step, third if rounded else 0.0) / times, number.text)


def less_the_drivers_share(one: FigureOfTable, fitting: Iterable[Sequence[Figure]]) -> Figure | None:
    """The capacity of which a number is what a driver leaves: 79.25 GiB of 80, 46068 MiB of 48 GiB."""
    digits, value = one.number.text.partition(".")[2][:1], one.number.value
    is_of_driver = value % 2**30 != 0 and (value % 2**20 == 0 or (value.is_integer() and value % 1e6 != 0))
    if value % 1e6 == 0 and value % 1e9:  # 15110 MB of a driver that counts in MiB
        is_of_driver, value = True, value / 1e6 * 2**20
    if one.asked.quantity != "capacity" or not (digits.isdigit() or is_of_driver):
        return None
    least = DRIVER_LEAVES * (1 - ECC) if is_of_driver else DRIVER_LEAVES
    for figure in (figure for figures in fitting for figure in figures):
        nominal = (figure.value * 2**30 / 1e9, figure.value)[: 1 if is_of_driver else 2]
        if any(least <= value / installed < 1 for installed in nominal):
            return figure
    return None


def are_torn(agreeing: Mapping[FigureOfTable, Mapping[str, Figure]], best: Sequence[str]) -> bool:
    """Whether each figure fits some variant, but no variant fits all figures."""
    named = [set(found) for found in agreeing.values() if found]
    return bool(named) and not any(all(device in found for found in named) for device in best)


def nearest(figures: Sequence[Figure], value: float) -> Figure:
    """The figure that the number nearly equals, preferably derived; else the first, which is the usual meaning."""
    if figures[0].quantity == "memory_clock":
        return min(figures, key=lambda one: abs(math.log(value / one.value)))
    near = [one for one in figures if abs(value / one.value - 1) <= COARSE]
    return min(near or figures[:1], key=lambda one: (one.printed is not None, abs(value / one.value - 1)))


def is_emulated(one: FigureOfTable, devices: Iterable[str], identifier: Identifier) -> bool:
    """Whether the figure is that of a wider floating-point format, in which a narrower one may run."""
    asked = PRECISIONS.get(str(one.asked.precision))
    others = PRECISIONS.items() if asked and asked.floating else ()
    wider = [name for name, other in others if asked and other.floating and other.bits > asked.bits]
    alike = [replace(one.asked, precision=name) for name in wider]
    return any(identifier.agreeing(one.number, other, device) for device in devices for other in alike)


def is_of_several(explanations: Iterable[Explanation]) -> bool:
    """Whether a figure may be that of several devices."""
    return any("several devices" in parts_of(explanation) for explanation in explanations)


def is_taken_from(explanation: Explanation, precision: str) -> bool:
    """Whether the figure of another precision stands in the place of one that the device does not have."""
    taken = explanation.figure.precision if explanation.figure and explanation.error == "another precision" else None
    return taken is not None and taken != precision


def of_one_unit(one: FigureOfTable) -> str:
    """Why a bare power of two is taken for what one unit does in a clock: `tensor_core_flops = 512`; else empty."""
    text = one.number.text
    is_bare = one.asked.quantity == "peak" and "no unit given" in one.note and text.isdigit() and int(text) <= MOST_OPS
    if not (is_bare and "core" in words_of(one.column) and int(text).bit_count() == 1):
        return ""
    return "not read: a power of two without a unit may be what one core does in a clock; name its unit"


def of_lanes(one: FigureOfTable, devices: Iterable[str], identifier: Identifier) -> Figure | None:
    """The rate of lanes, such as CUDA cores, that a peak is whose precision is given, and whose unit is not.

    Databases and vendors of graphics cards print it under the name of a precision in which matrix units are faster.
    """
    if one.asked.quantity != "peak" or one.asked.vector is not None or one.note.startswith(UNGIVEN):
        return None
    asked = replace(one.asked, vector=True)
    found = (identifier.agreeing(one.number, asked, device) for device in devices)
    return next(filter(None, found), None)


def of_usual(one: FigureOfTable, devices: Iterable[str], identifier: Identifier) -> Figure | None:
    """The dense peak of 16 bits that a figure is whose precision was presumed from others of its column."""
    if one.asked.quantity != "peak" or one.asked.sparse or not one.note.startswith(UNGIVEN):
        return None
    asked = [replace(one.asked, precision=name) for name in ("bf16", "fp16")]
    numbers = [one.number, share(one.number, one.meaning.times)]
    found = (identifier.agreeing(number, other, device) for number in numbers for other in asked for device in devices)
    return next(filter(None, found), None)


def parts_of(explanation: Explanation) -> set[str]:
    """The errors that an explanation names together."""
    return set(explanation.error.split(" + "))


def errors_of(finding: Finding) -> set[str]:
    """The errors that the explanations of a finding name."""
    return {part for one in finding.explanations for part in parts_of(one)}


def ranked(finding: Finding, first: set[str]) -> Finding:
    """The finding with the explanations first that name one of some errors."""
    order = sorted(finding.explanations, key=lambda explanation: not first & parts_of(explanation))
    return replace(finding, explanations=tuple(order))


def differs(group: Iterable[FigureOfTable], exact: Mapping[Asked, Set[float]], is_compared: bool) -> bool:
    """Whether no figure is one that is given for a device, or there is another in its place if they are compared."""
    compared = [one.number.value in exact[asked] for one in group if (asked := of_one(one.asked)) in exact]
    return not any(compared) and (bool(compared) or not is_compared)


def of_one(asked: Asked) -> Asked:
    """What a number claims to be, however many devices it is of."""
    return replace(asked, times=1)
