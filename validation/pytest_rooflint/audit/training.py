"""Figures of training runs in a table: MFU, HFU and the rate of a device, against each other and by definition.

    GPU,Model,SeqLen,GPUs,tokens/s,TFLOP/s/GPU,MFU
    H100 SXM5,llama-3.1-8b,8192,8,95000,,61.7 %

A share of the peak says by what it was divided, since rate / share is a peak. That peak is identified as any peak of a
table is. The rate is one of the table, or tokens a second times the operations of a token.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import get_args

from pytest_rooflint.audit.account import Finding
from pytest_rooflint.audit.cells import NumberError, has_no_value, printed
from pytest_rooflint.audit.columns import Column
from pytest_rooflint.audit.rows import Cell, Row, named_by, of_number, stated_by
from pytest_rooflint.audit.training_columns import EACH, FLOPS, PREFIXES
from rooflint.base.units import OPS_PER_S, format_number, format_quantity
from rooflint.diagnosis.causes import Span, ratio_text
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import COARSEST, RATE, SHARES, TRAINING, Figure, Printed
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked
from rooflint.diagnosis.training import Chosen, Way, ops_of, ways
from rooflint.hardware.names import Meaning, Names
from rooflint.hardware.registry import PACKAGED
from rooflint.prediction.training_run import Attention, Counted, Recompute
from rooflint.workloads.networks import Network, find_network
from rooflint.workloads.workload import WorkloadError

PRESUMED = "bf16"
"""Precision of a run that names none; its peak is that of FP16."""
PERCENT = 100
MOST = 3
"""Explanations of a figure."""


def network_of(text: str, roots: Sequence[Path]) -> Network | None:
    """`Llama 3.1 8B` is llama-3.1-8b."""
    found = find_network(re.sub(r"[\s_]+", "-", text.strip()), (*roots, PACKAGED))
    return found if found and hasattr(found.configuration, "active_parameters") else None


# ---- What a row says


@dataclass(frozen=True)
class Utilization(Figure):
    """A share of a peak, or the rate of a device, as it follows from what the row says."""

    by: str = ""

    @property
    def formula(self) -> str:
        """As a reader computes it."""
        return self.by

    def shown(self, value: float | None = None) -> str:
        """`46.2 %` or `430 TFLOP/s`."""
        return _show(self.quantity, float(self.subject) if value is None else value)

    @cached_property
    def value(self) -> float:
        """[1] or [op/s]"""
        return float(self.subject)


def _show(kind: str, value: float) -> str:
    return (
        format_quantity(value, OPS_PER_S, digits=4, unit="FLOP/s")
        if kind == RATE
        else f"{format_number(PERCENT * value, 4)} %"
    )


@dataclass(frozen=True)
class _Said:
    """A row of a training table."""

    device: str
    meaning: Meaning
    stated: str | None
    """The precision; None where no column gives it."""
    cells: Mapping[str, Cell]
    """By role."""
    numbers: Mapping[str, Printed]
    """By role, in base units; tokens of one device."""
    columns: Mapping[str, str]
    """Names of columns by role."""
    network: Network | None

    @property
    def precision(self) -> str:
        """Of the peak."""
        return self.stated or PRESUMED

    def ops(self, kind: str, chosen: Chosen) -> float:
        """Of a token. Raises WorkloadError."""
        assert self.network
        return ops_of(self.network.transformer, round(self.numbers["length"].value), kind, chosen)

    def ways(self, kind: str, chosen: Chosen) -> Iterator[Way]:
        """How else people count."""
        assert self.network
        return ways(self.network.transformer, round(self.numbers["length"].value), kind, chosen)


def _said(row: Row, known: Mapping[str, Column], names: Names, roots: Sequence[Path]) -> _Said | None:
    named = named_by(row, known)
    if named is None:
        return None
    columns = {column.role: name for name, column in known.items() if column.role in TRAINING and name in row}
    cells = {role: row[name] for role, name in columns.items() if not has_no_value(row[name].text)}
    numbers = {}
    for role, cell in cells.items():
        with suppress(NumberError):
            numbers[role] = _number(role, cell.text, known[columns[role]])
    meaning = of_number(names.meaning(named.text), row, known)
    if tokens := numbers.pop("tokens", None):
        if EACH.search(columns["tokens"].lower()):
            numbers["tokens"] = tokens
        elif meaning.times > 1 or any(column.role == "number" for column in known.values()):
            numbers["tokens"] = _scaled(tokens, 1 / meaning.times)
    network = network_of(cells["network"].text, roots) if "network" in cells else None
    return _Said(named.text, meaning, stated_by(row, known).precision, cells, numbers, columns, network)


def _number(role: str, text: str, column: Column) -> Printed:
    """In base units; a share is a percentage where it says so, or would be above one. Raises NumberError."""
    if role == RATE:
        prefix = FLOPS.search(column.name)
        unit = column.unit or (PREFIXES[prefix[1][0].lower()] if prefix else None)
        return printed(text, Column(column.name, "peak", commas=column.commas, unit=unit))[0]
    found = printed(text.replace("%", " "), Column(column.name, "count", commas=column.commas))[0]
    if role in SHARES and ("%" in text + column.name or "percent" in column.name.lower() or found.value > 1):
        return _scaled(found, 1 / PERCENT)
    return found


def _scaled(number: Printed, factor: float) -> Printed:
    return Printed(number.value * factor, number.step * factor, number.text)


# ---- Findings


LARGEST_SHARE = 10
"""Of a peak; a larger number under the name of a share, such as `197e12` in a function `mfu`, is something else."""
_FAR_OFF = frozenset(
    {"sparse for dense", "another precision", "another unit", "MAC for op", "op counted twice", "several devices"}
)
"""Errors of a peak that are told from each other though operations are defined in several ways, which differ by a
fifth: by a clock or a count of another device some definition explains nearly any share.
"""


def findings(
    rows: Iterable[Row],
    known: Mapping[str, Column],
    file: Path,
    identifier: Identifier,
    names: Names,
) -> Iterator[Finding]:
    """Of each share, and of each rate that is not merely what a share beside it is checked by."""
    if not any(column.role in TRAINING for column in known.values()):
        return
    for row in rows:
        if said := _said(row, known, names, identifier.registry.roots):
            printed = [kind for kind in (*SHARES, RATE) if kind in said.numbers]
            for kind in printed:
                if kind != RATE or printed == [RATE] or not _lacking(said):
                    yield _Judge(identifier, said, kind, file).finding()


@dataclass(frozen=True)
class _Judge:
    """Judges one figure of a row."""

    identifier: Identifier
    said: _Said
    kind: str
    file: Path

    @property
    def number(self) -> Printed:
        """As printed."""
        return self.said.numbers[self.kind]

    @property
    def defined(self) -> str:
        """What its operations are by."""
        return "mfu" if self.kind == RATE else self.kind

    @cached_property
    def plain(self) -> Finding:
        """The finding of a right figure."""
        cell, column, said = self.said.cells[self.kind], self.said.columns[self.kind], self.said
        printed = _show(self.kind, self.number.value)
        return Finding(self.file, cell.line, column, said.device, self.kind, printed, "right", said.meaning.devices)

    @cached_property
    def dense(self) -> Figure | None:
        """The peak of the device; the largest where its name means several."""
        asked = Asked("peak", self.said.precision)
        devices = self.said.meaning.devices
        found = [one for device in devices for one in self.identifier.fitting(asked, device)]
        return max(found, key=lambda one: (one.printed is None, one.value), default=None)

    def finding(self) -> Finding:
        """What is said of it."""
        said, dense = self.said, self.dense
        if not said.meaning.devices:
            return replace(self.plain, status="unknown device", note=f"no spec named '{said.device}'")
        if self.kind != RATE and self.number.value > LARGEST_SHARE:
            return self._unchecked(f"{self.number.text} is no share of a peak")
        if self.kind != RATE and self.number.value > 1:
            cause = Explanation("above the peak", "no device does more than its peak", 1.0, 0.0)
            return replace(self.plain, status="wrong", explanations=(cause,))
        if dense is None:
            return self._unchecked(f"{said.device} has no peak in {said.precision}")
        try:
            return self._compared(dense)
        except WorkloadError as error:
            return self._unchecked(str(error))

    def _compared(self, dense: Figure) -> Finding:
        said = self.said
        if self.kind != RATE and RATE in said.numbers:
            return self._by_rate(said.numbers[RATE], dense)
        lacking = _lacking(said)
        return self._unchecked(lacking) if lacking else self._by_tokens(said.numbers["tokens"], dense)

    def _unchecked(self, why: str) -> Finding:
        return replace(self.plain, status="not checked", note=why)

    def _by_rate(self, rate: Printed, dense: Figure) -> Finding:
        """The peak that follows from a rate and its share is one of the device, or is explained."""
        expected = self._expected(dense, rate.value, _show(RATE, rate.value))
        if self._is(rate):
            return replace(self.plain, expected=expected)
        if any(replace(self, kind=other)._is(rate) for other in SHARES if other in self.said.numbers):
            return self._unchecked("the rate beside it is that of the other utilization")
        return self._wrong(expected, [*self._of_peak(rate)])

    def _by_tokens(self, tokens: Printed, dense: Figure) -> Finding:
        """The operations of a token are those of some definition, or are explained."""
        ops = self.said.ops(self.defined, Chosen())
        text = f"{format_number(tokens.value, 4)} tokens/s × {format_number(ops / 1e9, 4)} GFLOP"
        expected = self._expected(dense, tokens.value * ops, text)
        notes = {"full": "", "causal": "attention counts half of the keys", "none": "attention is left out"}
        defined = [
            (_scaled(tokens, self.said.ops(self.defined, chosen)), notes[chosen.attention])
            for chosen in self._definitions()
        ]
        for rate, note in defined:
            if self._is(rate):
                return replace(self.plain, expected=expected, note=note)
        found = [
            Explanation(way.error, way.text.partition(";")[0], tokens.value * way.ops, 1.0)
            for chosen in self._definitions()
            for way in self.said.ways(self.defined, chosen)
            if way.error and self._is(_scaled(tokens, way.ops))
        ]
        if self.kind != RATE and not found:
            found = [one for rate, _ in defined for one in self._of_peak(rate) if {*one.error.split(" + ")} <= _FAR_OFF]
        found = list({one.text: one for one in reversed(found)}.values())[::-1]
        if not found and abs(self.number.value / expected.value - 1) < COARSEST:
            return self._unchecked(f"by definition it is {expected.shown()}; what was counted here is not said")
        return self._wrong(expected, found)

    def _definitions(self) -> Iterator[Chosen]:
        """What authors define differently; none of it is an error."""
        counts: tuple[Counted, ...] = ("all", "products")
        again: tuple[Recompute, ...] = ("full", "selective") if self.kind == "hfu" else ("full",)
        for counted, attention, recompute in product(counts, get_args(Attention), again):
            yield Chosen(attention, counted, recompute)

    def _is(self, rate: Printed) -> bool:
        """Whether the figure is that rate, or its share of the peak of a device that the name may mean.

        The peak is that of the precision, or that of BF16, to which many keep where they compute in less.
        """
        if self.kind == RATE:
            return Printed(self.number.value, self.number.step + rate.step, rate.text).is_near(rate.value)
        asked = [Asked("peak", name) for name in dict.fromkeys((self.said.precision, PRESUMED))]
        by = _quotient(rate, self.number)
        return any(self.identifier.agreeing(by, one, device) for one in asked for device in self.said.meaning.devices)

    def _of_peak(self, rate: Printed) -> Iterator[Explanation]:
        """What the peak is by which a rate was divided."""
        by = _quotient(rate, self.number)
        for one in self.identifier.explanations(by, Asked("peak", self.said.precision), self.said.meaning.devices):
            peak = format_quantity(one.target, OPS_PER_S, digits=4, unit="FLOP/s")
            yield replace(one, text=f"divides by {peak}: {one.text}", target=rate.value / one.target)

    def _expected(self, dense: Figure, rate: float, text: str) -> Figure:
        if self.kind == RATE:
            return Utilization(dense.hardware, self.kind, repr(rate), (), by=text)
        by = f"{text} / ({dense.formula})"
        return Utilization(dense.hardware, self.kind, repr(rate / dense.value), dense.ladders, by=by)

    def _wrong(self, expected: Figure, found: Sequence[Explanation]) -> Finding:
        number, is_told = self.number, self.kind == RATE or self.said.stated
        around = (number.value + step for step in (-number.step / 2, number.step / 2))
        ratio = number.value / expected.value
        return replace(
            self.plain,
            status="wrong",
            expected=expected,
            explanations=tuple(found[:MOST]),
            ratio=ratio,
            ratio_text=ratio_text(ratio, Span(*(one / expected.value for one in around))),
            note="" if is_told else f"no precision given; taken as {PRESUMED}",
        )


def _lacking(said: _Said) -> str:
    """What is missing for a check by tokens; empty where nothing is."""
    if "network" in said.cells and said.network is None:
        return f"unknown network '{said.cells['network'].text}'"
    known = {*said.numbers, *(("network",) if said.network else ())}
    wanted = [role for role in ("tokens", "network", "length") if role not in known]
    if "tokens" in wanted and "tokens" in said.cells:
        wanted[wanted.index("tokens")] = "number"
    names = {"number": "number of devices", "length": "tokens of a sequence", "tokens": "tokens a second"}
    having = " and ".join(names.get(role, role) for role in wanted)
    options = " and ".join(f"--map COLUMN={role}" for role in wanted)
    return f"no column gives its {having}; name it with {options}" if wanted else ""


def _quotient(rate: Printed, share: Printed) -> Printed:
    value = rate.value / share.value
    return Printed(value, value * (rate.step / rate.value + share.step / share.value), rate.text)
