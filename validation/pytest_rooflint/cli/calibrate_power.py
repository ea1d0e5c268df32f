"""Calibration: physics beside every power that somebody measured, and how far apart they are."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from pydantic import Field

from pytest_rooflint.claims.power import KIND, calculated, is_memory
from pytest_rooflint.golden.claim import Claim, ClaimSource
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured
from rooflint.base.precision import rate_unit
from rooflint.base.text import counted
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, WATTS, format_number, format_quantity
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.devices.schema import Strict
from rooflint.energy.power import ARRAYS, Draw
from rooflint.output.answer import Answer
from rooflint.output.deliver import deliver
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section
from rooflint.output.table import Cell, Table

Group = Literal["matrix units", "lanes", "memory"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Work by what a sum of energies knows of it: all, all but the instructions of lanes, all but the way on the chip."""


class CalibrationError(RooflintError):
    """Measurements that cannot be compared, or none at all."""


@dataclass(frozen=True)
class Row:
    """One measured power and what physics says of the same work."""

    claim: Claim
    draw: Draw
    measured_w: float
    source: ClaimSource
    outside: str
    """Why it lies outside of what physics says, as its excuse has it; empty for one within."""

    @property
    def ratio(self) -> float:
        """Typical over measured. [1]"""
        return self.draw.typical_w / self.measured_w

    @property
    def within(self) -> bool:
        """Whether the measured power lies between the lowest and the highest."""
        return self.draw.low_w <= self.measured_w <= self.draw.high_w

    @property
    def events_per_s(self) -> float:
        """Ops or bytes a second. [op/s or B/s]"""
        work = self.draw.work
        return work.ops_per_s or work.least_bytes_per_s

    @property
    def group(self) -> Group:
        """What kind of work it is."""
        if self.moves:
            return "memory"
        return "matrix units" if self.draw.hardware.unit(self.draw.work.unit).circuit in ARRAYS else "lanes"

    @property
    def moves(self) -> bool:
        """Whether bytes are counted, and no ops."""
        return is_memory(self.claim)


@dataclass(frozen=True)
class Misfit:
    """How far typical powers are from measured ones."""

    mean: float
    """Geometric mean of typical over measured. [1]"""
    least: Row
    most: Row
    within: int
    rows: int


def rows(suite: Suite) -> list[Row]:
    """Every measured power of the golden files, as they list them.

    Raises CalibrationError where there is none, and for one that is red.
    """
    found = [_row(claim, suite) for claim in suite.claims() if claim.kind == KIND.name]
    if not found:
        raise CalibrationError("no golden file has a measured power; want a claim such as 'power: tensor_core fp16'")
    return found


def _row(claim: Claim, suite: Suite) -> Row:
    verdict = brief(claim, suite)
    if verdict.outcome == "fail" or claim.expectation is None or claim.source is None:
        raise CalibrationError(verdict.text())
    outside = verdict.reason or "" if verdict.outcome == "xfail" else ""
    return Row(claim, calculated(claim, suite), claim.expectation.value, claim.source, outside)


def misfit(found: Sequence[Row]) -> Misfit:
    """The geometric mean and the worst of both sides: a power twice too high and one half of it cancel."""
    mean = math.exp(sum(math.log(row.ratio) for row in found) / len(found))
    by_ratio = sorted(found, key=_ratio)
    return Misfit(mean, by_ratio[0], by_ratio[-1], sum(row.within for row in found), len(found))


def misfits(found: Sequence[Row]) -> dict[Group, Misfit]:
    """The same of each group that has a measurement."""
    groups = {group: [row for row in found if row.group == group] for group in GROUPS}
    return {group: misfit(of_it) for group, of_it in groups.items() if of_it}


def _ratio(row: Row) -> float:
    return row.ratio


# ---- The shape of what `rooflint calibrate power -f json` writes, exported as JSON Schema for other programs

Amount = Annotated[float, Field(ge=0)]
GroupName = Literal["matrix units", "lanes", "memory"]
GradeName = Literal["read", "device", "quoted", "recalled", "estimate"]


class MeasuredPowerRecord(Strict):
    """One measured power, and what physics says of the same work; events are ops, or bytes of a memory."""

    device: str
    subject: str
    group: GroupName
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


class MisfitRecord(Strict):
    """How far typical powers are from measured ones; ratios are typical over measured."""

    geometric_mean: Amount
    least_ratio: Amount
    greatest_ratio: Amount
    within: int
    measurements: int


class CalibrationRecord(Strict):
    """`rooflint calibrate power -f json`."""

    schema_: Annotated[Literal["rooflint.calibration/1"], Field(alias="schema")]
    all: MisfitRecord
    groups: dict[GroupName, MisfitRecord]
    measurements: list[MeasuredPowerRecord]
    caveats: list[str]


# ---- The answer to `rooflint calibrate power`: measured powers beside calculated ones, and the error

SCHEMA = "rooflint.calibration/1"

LISTING = (
    "device",
    "subject",
    "group",
    "ran",
    "events_per_s",
    "measured_w",
    "low_w",
    "typical_w",
    "high_w",
    "ratio",
    "within",
    "document",
    "where",
    "url",
    "grade",
)
"""Columns of a list of measurements; events are bytes where the subject is a memory, else ops."""

CAVEATS = (
    "Low: published arithmetic, memory as little as the product moves, idle power at its lowest; high: the whole "
    "datapath and all of the memory's bandwidth",
    "Not counted: instructions, memory on the chip, the way from a stack to a core, links, fans",
    "One clock, one voltage and random data: a device that is held to less power lowers its voltage, too, and data "
    "that repeat draw less",
)


def answer(found: Sequence[Row]) -> Answer:
    """Measured powers with what physics says of the same work."""
    error, by_group = misfit(found), misfits(found)
    return Answer(
        title=f"Power of {len({row.claim.hardware for row in found})} devices, {len(found)} measurements",
        subtitle="physics beside what was measured",
        sections=tuple(_sections(found, error, by_group)),
        record={
            "schema": SCHEMA,
            "all": _misfit(error),
            "groups": {group: _misfit(one) for group, one in by_group.items()},
            "measurements": [_record(row) for row in found],
            "caveats": list(CAVEATS),
        },
        listing=Table(LISTING, tuple(_listed(row) for row in found)),
    )


def _sections(found: Sequence[Row], error: Misfit, by_group: Mapping[Group, Misfit]) -> Iterator[Section]:
    yield Prose("Typical over measured", tuple(said(error, by_group)))
    yield _powers(found)
    bars = tuple(_bar(row) for row in found)
    yield Bars("Power over the measured one", bars, "1 is the measured power")
    yield _energies(found)
    yield _sources(found)
    if outside := tuple(f"{_name(row)}: {row.outside}" for row in found if row.outside):
        yield Prose("Outside of low … high", outside)
    yield Prose("How to read it", CAVEATS)


def said(error: Misfit, by_group: Mapping[Group, Misfit]) -> Iterator[str]:
    """How good a typical power is, for somebody who wants to use one."""
    for group, one in by_group.items():
        yield f"{group}: geometric mean {_factor(one.mean)}, {_from_to(one)}, of {_count(one)}"
    yield (
        f"all: geometric mean {_factor(error.mean)}; the worst are {_factor(error.least.ratio)} ({_name(error.least)}) "
        f"and {_factor(error.most.ratio)} ({_name(error.most)})"
    )
    yield f"{error.within} of the {_count(error)} lie between the lowest and the highest"


def _from_to(one: Misfit) -> str:
    ends = [_factor(row.ratio) for row in (one.least, one.most)]
    return f"from {ends[0]} to {ends[1]}"


def _count(one: Misfit) -> str:
    return counted(one.rows, "measurement")


def _misfit(one: Misfit) -> dict[str, float]:
    return {
        "geometric_mean": one.mean,
        "least_ratio": one.least.ratio,
        "greatest_ratio": one.most.ratio,
        "within": one.within,
        "measurements": one.rows,
    }


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
    return Grid("Energies", Table(columns, rows), "all of the power over the rate: idle power and memory are in it")


def _sources(found: Sequence[Row]) -> Grid:
    rows = dict.fromkeys(
        (_device(row), f"{row.source.document}, {row.source.where or ''}".rstrip(", "), row.source.grade)
        for row in found
    )
    return Grid("Measured by", Table(("device", "document", "grade"), tuple(rows)))


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
    return format_quantity(row.events_per_s, OPS_PER_S, digits=digits, unit=rate_unit(row.draw.work.precision))


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


def _factor(value: float) -> str:
    return f"{value:.2f}"


def _listed(row: Row) -> tuple[Cell, ...]:
    found = _record(row)
    return tuple(found[column] for column in LISTING)


def _record(row: Row) -> dict[str, Any]:
    """Everything that is said of one measurement."""
    low, typical, high = _three(row)
    return {
        "device": str(row.claim.hardware),
        "subject": row.claim.subject,
        "group": row.group,
        "ran": row.claim.option("ran"),
        "events_per_s": row.events_per_s,
        "measured_w": row.measured_w,
        "low_w": low,
        "typical_w": typical,
        "high_w": high,
        "ratio": row.ratio,
        "within": row.within,
        "outside": row.outside or None,
        "document": row.source.document,
        "where": row.source.where,
        "url": row.source.url,
        "grade": row.source.grade,
        "left_out": list(row.draw.left_out),
    }


# ---- `rooflint calibrate power`: physics beside the powers that golden files say were measured


def power_command(
    form: options.Form = "",
    output: options.Output = None,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    specs: Specs = None,
) -> None:
    """Compare the powers that physics gives with those that were measured, and say how far it is off."""
    # gone  # `rooflint --help` does without
    # gone
    from pytest_rooflint.suite.suite import Suite  # noqa: PLC0415

    roots = [folder.resolve() for folder in golden or configured("rooflint_golden")]
    suite = Suite.of(roots, [folder.resolve() for folder in specs or configured("rooflint_specs")])
    deliver(answer(rows(suite)), form, output)
