"""`rooflint calibrate power`: calculated powers beside all measured ones, and the error."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from pytest_rooflint.claims.power import POWER, calculated, is_memory
from pytest_rooflint.golden.kinds import Claim, ClaimSource
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.precision import format_rate
from rooflint.base.project import configured
from rooflint.base.text import counted
from rooflint.base.units import BYTES_PER_S, WATTS, format_number, format_quantity
from rooflint.cli import options
from rooflint.cli.options import Golden, Specs
from rooflint.energy.power import ARRAYS, WorkPower
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.deliver import deliver
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section, Table

Group = Literal["matrix units", "lanes", "memory"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Work by what the sum of energies covers: all; all but instructions; all but the transport on the chip."""


@dataclass(frozen=True)
class Row:
    """One measured power and the calculated power of the same work."""

    claim: Claim
    draw: WorkPower
    measured_w: float
    source: ClaimSource
    outside: str
    """The reason of its xfail if it lies outside the calculated range; empty otherwise."""

    @property
    def ratio(self) -> float:
        """Typical over measured. [1]"""
        return self.draw.typical_w / self.measured_w

    @property
    def within(self) -> bool:
        """Whether the measured power lies in the calculated range."""
        return self.draw.low_w <= self.measured_w <= self.draw.high_w

    @property
    def events_per_s(self) -> float:
        """Ops or bytes a second. [op/s or B/s]"""
        work = self.draw.work
        return work.ops_per_s or work.least_bytes_per_s

    @property
    def group(self) -> Group:
        """The kind of work."""
        if self.moves:
            return "memory"
        return "matrix units" if self.draw.hardware.unit(self.draw.work.unit).circuit in ARRAYS else "lanes"

    @property
    def moves(self) -> bool:
        """Whether the events are bytes, not ops."""
        return is_memory(self.claim)


@dataclass(frozen=True)
class Error:
    """How far typical powers are from measured ones."""

    mean: float
    """Geometric mean of typical over measured. [1]"""
    least: Row
    most: Row
    within: int
    measurements: int


def rows(suite: Suite) -> list[Row]:
    """All measured powers of the golden files, in their order. Raises RooflintError if one fails or none exists."""
    found = [_row(claim, suite) for claim in suite.claims() if claim.kind == POWER.name]
    if not found:
        raise RooflintError("no golden file has a measured power; want a claim such as 'power: tensor_core fp16'")
    return found


def _row(claim: Claim, suite: Suite) -> Row:
    verdict = brief(claim, suite)
    if verdict.outcome == "fail" or claim.expectation is None or claim.source is None:
        raise RooflintError(verdict.text())
    outside = verdict.reason or "" if verdict.outcome == "xfail" else ""
    return Row(claim, calculated(claim, suite), claim.expectation.value, claim.source, outside)


def error_of(found: Sequence[Row]) -> Error:
    """The geometric mean, in which twice too high and half cancel, and the extremes."""
    mean = math.exp(sum(math.log(row.ratio) for row in found) / len(found))
    by_ratio = sorted(found, key=lambda row: row.ratio)
    return Error(mean, by_ratio[0], by_ratio[-1], sum(row.within for row in found), len(found))


def errors(found: Sequence[Row]) -> dict[Group, Error]:
    """Errors by group, for groups with a measurement."""
    groups = {group: [row for row in found if row.group == group] for group in GROUPS}
    return {group: error_of(some) for group, some in groups.items() if some}


# ---- The record, which `-f json` writes

Amount = Annotated[float, Field(ge=0)]
GradeName = Literal["read", "device", "quoted", "recalled", "estimate"]


class MeasuredPowerRecord(Strict):
    """One measured power and the calculated range for the same work; events are ops, or bytes of a memory."""

    device: str
    subject: str
    group: Group
    ran: str | None
    events_per_s: Amount
    measured_w: Amount
    low_w: Amount
    typical_w: Amount
    high_w: Amount
    ratio: Amount
    within: bool
    outside: str | None
    document: str
    where: str | None
    url: str | None
    grade: GradeName
    left_out: list[str]


class ErrorRecord(Strict):
    """Errors of some typical powers; ratios are typical over measured."""

    geometric_mean: Amount
    least_ratio: Amount
    greatest_ratio: Amount
    within: int
    measurements: int


class PowerCalibrationRecord(Record):
    """`rooflint calibrate power -f json`."""

    schema_: Annotated[Literal["rooflint.calibration/1"], Field(alias="schema")]
    all: ErrorRecord
    groups: dict[Group, ErrorRecord]
    measurements: list[MeasuredPowerRecord]
    caveats: list[str]


def _record(row: Row) -> MeasuredPowerRecord:
    return MeasuredPowerRecord.from_object(
        row,
        device=str(row.claim.hardware),
        subject=row.claim.subject,
        ran=row.claim.option("ran"),
        low_w=row.draw.low_w,
        typical_w=row.draw.typical_w,
        high_w=row.draw.high_w,
        outside=row.outside or None,
        document=row.source.document,
        where=row.source.where,
        url=row.source.url,
        grade=row.source.grade,
        left_out=list(row.draw.left_out),
    )


def _error_record(one: Error) -> ErrorRecord:
    return ErrorRecord.from_object(
        one, geometric_mean=one.mean, least_ratio=one.least.ratio, greatest_ratio=one.most.ratio
    )


# ---- The answer

LISTED = tuple(name for name in MeasuredPowerRecord.model_fields if name not in ("outside", "left_out"))
"""Columns of the list of measurements; events are bytes if the subject is a memory, else ops."""

CAVEATS = (
    "Low: published arithmetic, the least memory traffic of the product, the lowest idle power; high: the whole "
    "datapath and the full memory bandwidth",
    "Not counted: instructions, memory on the chip, transport from a memory stack to a core, links, fans",
    "One clock, one voltage and random data: a device with a lower power limit also lowers its voltage, and repetitive "
    "data need less power",
)


def answer(found: Sequence[Row]) -> Answer:
    """Measured powers beside the calculated ranges for the same work."""
    error, by_group = error_of(found), errors(found)
    record = PowerCalibrationRecord.build(
        all=_error_record(error),
        groups={group: _error_record(one) for group, one in by_group.items()},
        measurements=list(map(_record, found)),
        caveats=list(CAVEATS),
    )
    return Answer(
        title=f"Power of {len({row.claim.hardware for row in found})} devices, {len(found)} measurements",
        subtitle="calculated and measured",
        sections=tuple(_sections(found, error, by_group)),
        record=record,
        listing=Table(LISTED, tuple(tuple(getattr(one, name) for name in LISTED) for one in record.measurements)),
    )


def _sections(found: Sequence[Row], error: Error, by_group: Mapping[Group, Error]) -> Iterator[Section]:
    yield Prose("Typical over measured", tuple(summary(error, by_group)))
    yield _powers(found)
    bars = tuple(_bar(row) for row in found)
    yield Bars("Power over measured power", bars, "1 is the measured power")
    yield _energies(found)
    yield _sources(found)
    if outside := tuple(f"{_name(row)}: {row.outside}" for row in found if row.outside):
        yield Prose("Outside low … high", outside)
    yield Prose("How to read it", CAVEATS)


def summary(error: Error, by_group: Mapping[Group, Error]) -> Iterator[str]:
    """Errors of typical powers in sentences."""
    for group, one in by_group.items():
        yield f"{group}: geometric mean {_factor(one.mean)}, {_from_to(one)}, of {_count(one)}"
    yield (
        f"all: geometric mean {_factor(error.mean)}; the worst are {_factor(error.least.ratio)} ({_name(error.least)}) "
        f"and {_factor(error.most.ratio)} ({_name(error.most)})"
    )
    yield f"{error.within} of the {_count(error)} lie between the lowest and the highest"


def _from_to(one: Error) -> str:
    ends = [_factor(row.ratio) for row in (one.least, one.most)]
    return f"from {ends[0]} to {ends[1]}"


def _count(one: Error) -> str:
    return counted(one.measurements, "measurement")


def _powers(found: Sequence[Row]) -> Grid:
    rows = tuple(
        (
            _device(row),
            _of(row),
            _rate(row, 3),
            _watts(row.measured_w),
            _watts(row.draw.typical_w),
            _ends(row),
            _factor(row.ratio),
        )
        for row in found
    )
    columns = ("device", "of", "rate", "measured", "typical", "low … high", "ratio")
    return Grid("Powers", Table(columns, rows), "low … high in W; ratio: typical over measured")


def _energies(found: Sequence[Row]) -> Grid:
    rows = tuple(
        (
            _device(row),
            str(row.claim.option("ran", "")),
            "pJ/B" if row.moves else "pJ/op",
            *(format_number(power / row.events_per_s * 1e12, 3) for power in (row.measured_w, *_three(row))),
        )
        for row in found
    )
    columns = ("device", "ran", "per", "measured", "low", "typical", "high")
    return Grid("Energies", Table(columns, rows), "whole power over the rate, with idle power and memory")


def _sources(found: Sequence[Row]) -> Grid:
    rows = dict.fromkeys(
        (_device(row), f"{row.source.document}, {row.source.where or ''}".rstrip(", "), row.source.grade)
        for row in found
    )
    return Grid("Sources", Table(("device", "document", "grade"), tuple(rows)))


def _bar(row: Row) -> Bar:
    low, typical, high = (power / row.measured_w for power in _three(row))
    parts = (("lowest", low), ("to typical", typical - low), ("to highest", high - typical))
    shown = f"{_factor(low)} … {_factor(high)}"
    label = f"{_device(row)}, {_watts(row.measured_w)}"
    return Bar(label, tuple(Part(name, value, _factor(value)) for name, value in parts), shown)


def _three(row: Row) -> tuple[float, float, float]:
    return row.draw.low_w, row.draw.typical_w, row.draw.high_w


def _name(row: Row) -> str:
    return f"{_device(row)} {_of(row)}, {_rate(row, 3)}"


def _of(row: Row) -> str:
    """`fp16`, `fp32 lanes`, `hbm3e`."""
    return (
        f"{row.draw.work.precision}{' lanes' if row.group == 'lanes' else ''}" if not row.moves else row.claim.subject
    )


def _device(row: Row) -> str:
    return str(row.claim.hardware).partition("/")[2]


def _ends(row: Row) -> str:
    return f"{format_number(row.draw.low_w, 3)} … {format_number(row.draw.high_w, 3)}"


def _rate(row: Row, digits: int) -> str:
    if row.moves:
        return format_quantity(row.events_per_s, BYTES_PER_S, digits=digits)
    return format_rate(row.events_per_s, row.draw.work.precision, digits=digits)


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


def _factor(value: float) -> str:
    return f"{value:.2f}"


# ---- The command


def power(
    form: options.Format = "",
    output: options.Output = None,
    golden: Golden = None,
    specs: Specs = None,
) -> None:
    """Compare calculated powers with all measured ones of the golden files, and print the error."""
    roots = [folder.resolve() for folder in golden or configured("rooflint_golden")]
    suite = Suite.of(roots, [folder.resolve() for folder in specs or configured("rooflint_specs")])
    deliver(answer(rows(suite)), form, output)
