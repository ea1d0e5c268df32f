"""The answer to `rooflint tdp registry`: which devices can run at their printed peak within their printed power."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooflint.base import units
from rooflint.base.facts import Fact, Grade
from rooflint.base.text import UNKNOWN
from rooflint.base.units import format_number, format_quantity
from rooflint.energy.power import VERDICTS, PowerCheck, PowerTerm, UnknownPower, Verdict
from rooflint.hardware.device import UnsupportedError, working_units
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Cell, Grid, Part, Prose, Section, Table

Amount = Annotated[float, Field(ge=0)]


class PowerSourceRecord(Strict):
    """A fact that a part of the power rests on."""

    fact: str
    value: str
    document: str
    where: str
    grade: Grade


class PowerRecord(Strict):
    """One cause of power: events a second × what one costs."""

    name: str
    cause: Literal["compute", "memory", "static"]
    rate_per_s: Amount
    unit: str
    each_low_j: Amount
    each_j: Amount
    each_high_j: Amount
    low_w: Amount
    typical_w: Amount
    high_w: Amount
    basis: str
    grade: Grade
    sources: list[PowerSourceRecord]


class SustainedRecord(Strict):
    """Units of a device at their dense peak, beside the power that it is rated for."""

    device: str
    name: str
    kind: str
    operating_point: str | None
    unit: str
    precision: str
    peak_ops_per_s: Amount
    limit_w: Amount
    limit: Literal["tdp", "powers.limit", "powers.measured_max"]
    low_w: Amount
    typical_w: Amount
    high_w: Amount
    low_ratio: Amount
    ratio: Amount
    high_ratio: Amount
    verdict: Verdict
    grade: Grade
    left_out: list[str]
    j_per_op: Amount
    exhausting_j_per_op: Amount
    exhausting_j_per_mac: Amount
    clock_hz: Amount
    fitting_clock_hz: Amount | None
    powers: list[PowerRecord]


class NotKnownRecord(Strict):
    """A load without a verdict, and why; unit and precision are null where the reason holds for the whole device."""

    device: str
    unit: str | None
    precision: str | None
    reason: str


class TdpRegistryRecord(Record):
    """`rooflint tdp registry -f json`."""

    schema_: Annotated[Literal["rooflint.tdp.registry/2"], Field(alias="schema")]
    precision: str | None
    unit: str | None
    verdicts: dict[Verdict, int]
    loads: list[SustainedRecord]
    not_known: list[NotKnownRecord]
    caveats: list[str]


LISTING = (
    *("device", "unit", "precision", "peak_ops_per_s", "limit_w", "low_w", "typical_w", "high_w"),
    *("low_ratio", "ratio", "high_ratio", "verdict", "grade", "exhausting_j_per_op", "clock_hz", "fitting_clock_hz"),
    *("left_out", "not_known"),
)
"""Columns of a list of loads."""


def _listed(one: SustainedRecord | NotKnownRecord) -> dict[str, Cell]:
    if isinstance(one, NotKnownRecord):
        return {**dict.fromkeys(LISTING), **dict(one), "not_known": one.reason}
    return dict(one) | {"left_out": "; ".join(one.left_out) or None, "not_known": None}


def counted(found: Sequence[PowerCheck]) -> dict[Verdict, int]:
    """How often each verdict was given."""
    return {verdict: sum(one.verdict == verdict for one in found) for verdict in VERDICTS}


def _record(one: PowerCheck | UnknownPower) -> SustainedRecord | NotKnownRecord:
    load = one.load
    if isinstance(one, UnknownPower):
        return NotKnownRecord.from_object(
            one, unit=load.unit if load else None, precision=load.precision if load else None
        )
    return SustainedRecord.from_object(
        one,
        device=one.load.device,
        name=one.load.hardware.name,
        kind=one.load.hardware.kind,
        operating_point=one.load.hardware.mode,
        unit=one.load.unit,
        precision=one.load.precision,
        peak_ops_per_s=one.load.peak_ops_per_s,
        limit=one.limit.path,
        left_out=list(one.left_out),
        clock_hz=_clock_hz(one),
        powers=[_power(power) for power in one.powers],
    )


def _clock_hz(one: PowerCheck) -> float:
    """Of the first of the units. [Hz]"""
    return one.load.units[0].clock_hz(one.load.precision)


def _power(power: PowerTerm) -> PowerRecord:
    each = power.each
    return PowerRecord.from_object(
        power,
        each_low_j=each.low,
        each_j=each.typical,
        each_high_j=each.high,
        basis=each.basis,
        grade=each.grade,
        sources=[_source(fact) for fact in each.facts],
    )


def _source(fact: Fact) -> PowerSourceRecord:
    document, grade = fact.source.document, fact.source.grade
    return PowerSourceRecord(fact=fact.path, value=fact.display, document=document, where=fact.where, grade=grade)


# ---- one device

EACH = {"op": units.JOULES_PER_OP, "B": units.JOULES_PER_BYTE, "s": units.WATTS}
"""In what the cost of an event is written."""


def watts(value: float) -> str:
    """`123 W`."""
    return format_quantity(value, units.WATTS, digits=3)


def ratio_shown(ratio: float) -> str:
    """`1.46`; so near to the limit that two decimals would hide the side, as `1.003`."""
    return f"{ratio:.2f}" if ratio == 1 or round(ratio, 2) != 1 else f"{ratio:.4g}"


def ends(one: PowerCheck) -> str:
    """`0.55 … 1.46`."""
    return f"{ratio_shown(one.low_ratio)} … {ratio_shown(one.high_ratio)}"


def at_the_limit(one: PowerCheck) -> str:
    """Energy of an op if compute took all of the power, `0.71`. [pJ/op]"""
    return format_number(one.exhausting_j_per_op * 1e12, 3)


def fitting_clock(one: PowerCheck) -> str:
    """The clock at which the typical power is the limit, `1.26 GHz`; its own if that fits, a dash if none does."""
    if one.ratio <= 1:
        return "nominal"
    return UNKNOWN if one.fitting_clock_hz is None else format_quantity(one.fitting_clock_hz, units.HERTZ, digits=3)


def _figures(one: PowerCheck) -> tuple[str, ...]:
    return watts(one.typical_w), ratio_shown(one.ratio), ends(one), one.verdict


def _interval(one: PowerCheck | PowerTerm) -> tuple[str, ...]:
    return watts(one.low_w), watts(one.typical_w), watts(one.high_w)


def hardest(found: Sequence[PowerCheck]) -> PowerCheck:
    """One that cannot be sustained before others, then the highest typical ratio, then the highest low one."""
    return max(found, key=lambda one: (one.verdict == "cannot sustain", round(one.ratio, 6), one.low_ratio))


def _interval_bar(label: str, one: PowerCheck) -> Bar:
    """From nothing over the lowest and the typical to the highest power, over the limit."""
    parts = (
        ("lowest", one.low_ratio),
        ("to typical", one.ratio - one.low_ratio),
        ("to highest", one.high_ratio - one.ratio),
    )
    return Bar(label, tuple(Part(name, value, f"{value:.2f}") for name, value in parts), ends(one))


def _detail(found: Sequence[PowerCheck]) -> Iterator[Section]:
    worst = hardest(found)
    name = f"{worst.load.unit} {worst.load.precision}"
    yield _loads(found)
    bars = tuple(_interval_bar(f"{one.load.unit} {one.load.precision}", one) for one in found)
    yield Bars("Power relative to the limit", bars, "1 is the limit")
    causes = tuple(Part(power.name, power.typical_w, watts(power.typical_w)) for power in worst.powers)
    bar = Bar(worst.load.device, causes, watts(worst.typical_w))
    yield Bars(f"Typical power by cause, {name}", (bar,), f"limit {watts(worst.limit_w)}")
    yield _parts(worst, name)
    yield _sources(worst, name)
    yield Prose(f"Sensitivity, {name}", tuple(_sensitivity(worst)))


def _loads(found: Sequence[PowerCheck]) -> Grid:
    rows = tuple(
        (one.load.unit, one.load.precision, *_figures(one), at_the_limit(one), fitting_clock(one))
        for one in sorted(found, key=lambda one: -one.ratio)
    )
    columns = ("unit", "precision", "typical", "ratio", "low … high", "verdict", "pJ/op at limit", "clock that fits")
    return Grid("Loads", Table(columns, rows), "pJ/op at limit: energy of an op if compute took all of the power")


def _parts(one: PowerCheck, name: str) -> Grid:
    rows = [
        (
            power.name,
            "" if power.unit == "s" else f"{power.rate_per_s / 1e12:.4g} T{power.unit.upper()}/s",
            format_quantity(power.each.typical, EACH[power.unit], digits=3),
            *_interval(power),
        )
        for power in one.powers
    ]
    rows.append(("all", "", "", *_interval(one)))
    columns = ("part", "rate", "each", "low", "typical", "high")
    return Grid(f"Parts, {name}", Table(columns, tuple(rows)), "rate × each is the typical power")


def _sources(one: PowerCheck, name: str) -> Grid:
    rows = [
        (power.name, fact.display, fact.source.grade, f"{fact.source.document}, {fact.where}")
        for power in one.powers
        for fact in power.each.facts
    ]
    rows.append(("limit", one.limit.display, one.limit.source.grade, f"{one.limit.source.document}, {one.limit.where}"))
    note = f"values scaled to another node or device are estimates; overall grade: {one.grade}"
    return Grid(f"Sources, {name}", Table(("part", "fact", "grade", "source"), tuple(rows)), note)


def _sensitivity(one: PowerCheck) -> Iterator[str]:
    """At which energy of an op, and at which clock, the limit is reached."""
    per_op, per_mac = one.exhausting_j_per_op * 1e12, one.exhausting_j_per_mac * 1e12
    yield (
        f"Compute alone reaches {watts(one.limit_w)} at {format_number(per_op, 3)} pJ/op, "
        f"{format_number(per_mac, 3)} pJ/MAC; typical: {format_number(one.j_per_op * 1e12, 3)} pJ/op, "
        f"{format_number(one.j_per_op * units.OPS_PER_MAC * 1e12, 3)} pJ/MAC"
    )
    if one.clock_share is None or one.fitting_clock_hz is None:
        yield "The typical power fits at no clock: memory and idle power alone reach the limit"
        return
    yield (
        f"The typical power equals the limit at {format_quantity(one.fitting_clock_hz, units.HERTZ, digits=3)}, "
        f"{one.clock_share:.2f} of its clock of {format_quantity(_clock_hz(one), units.HERTZ, digits=4)}; "
        "power scales with the clock here; a lower voltage would save more"
    )


# ---- many devices

MOST_BARS = 12
"""Devices whose interval is drawn."""
MOST_NAMES = 8
"""More devices than that are counted, where only some of their loads are not known."""

CAVEATS = (
    "Low: published arithmetic alone, lowest memory and idle power; high: the whole datapath, highest of each",
    "Not counted: instructions, on-chip memory, links, fans; lanes that issue instructions themselves therefore "
    "never get the verdict 'sustains'",
    "One kind of unit runs at a time, at its dense peak; memory streams at its full bandwidth",
    "Power scales with the clock; voltage scaling is not modelled",
)


def answer(found: Sequence[PowerCheck | UnknownPower], precision: str = "", unit: str = "") -> Answer:
    """Loads with what they take, and those without a verdict, with reasons."""
    able = [one for one in found if isinstance(one, PowerCheck)]
    missing = [one for one in found if isinstance(one, UnknownPower)]
    worst = hardest_loads(able)
    records = [_record(one) for one in found]
    return Answer(
        title=_title(worst, records),
        subtitle=f"the printed peak within the printed power{f', {precision}' if precision else ''}",
        sections=tuple(_sections(able, worst, missing)),
        record=TdpRegistryRecord.build(
            precision=precision or None,
            unit=unit or None,
            verdicts=counted(able),
            loads=[one for one in records if isinstance(one, SustainedRecord)],
            not_known=[one for one in records if isinstance(one, NotKnownRecord)],
            caveats=list(CAVEATS),
        ),
        listing=Table.of(LISTING, map(_listed, records)),
    )


def hardest_loads(able: Sequence[PowerCheck]) -> list[PowerCheck]:
    """Of each device at each point the load that is hardest to sustain; highest typical ratio first."""
    by_device: dict[str, list[PowerCheck]] = {}
    for one in able:
        by_device.setdefault(one.load.device, []).append(one)
    return sorted((hardest(several) for several in by_device.values()), key=lambda one: -one.ratio)


def _title(worst: Sequence[PowerCheck], records: Sequence[SustainedRecord | NotKnownRecord]) -> str:
    points = len({one.device for one in records})
    if points > 1 or not worst:
        return f"Power of {len(worst)} of {points} device{'' if points == 1 else 's'}"
    return f"Power of {worst[0].load.device}"


def _sections(
    able: Sequence[PowerCheck], worst: Sequence[PowerCheck], missing: Sequence[UnknownPower]
) -> Iterator[Section]:
    if len(worst) == 1:
        yield Prose("Verdict", (_said(worst[0]), _lowest(worst[0])))
        yield from _detail(able)
    elif worst:
        yield Prose("Verdicts", tuple(told(worst)))
        yield _table(worst)
        bars = tuple(_interval_bar(one.load.device, one) for one in worst[:MOST_BARS])
        yield Bars("Power relative to the limit", bars, "1 is the limit; the highest typical ratios")
    if unknown := (*_grouped(missing), *_left_out(worst)):
        yield Prose("Not known", unknown)
    yield Prose("How to read it", CAVEATS)


def _said(one: PowerCheck) -> str:
    subject = f"{one.load.unit} {one.load.precision} of {one.load.device}"
    return (
        f"{subject}: {one.verdict} at its peak; typically {watts(one.typical_w)} of {watts(one.limit_w)}, "
        f"{ratio_shown(one.ratio)} of the limit ({ends(one)})"
    )


def _lowest(one: PowerCheck) -> str:
    """What its lowest power is made of, so that a reader sees what a verdict hangs on."""
    parts = [f"{power.name} {watts(power.low_w)} ({power.each.grade})" for power in one.powers if power.low_w]
    return f"Lowest power {watts(one.low_w)}: {', '.join(parts)}"


def told(worst: Sequence[PowerCheck]) -> Iterator[str]:
    """How often each verdict was given, and how many of the undecided are typically above the limit."""
    count = counted(worst)
    of_all = ", ".join(f"{verdict} {count[verdict]}" for verdict in VERDICTS)
    yield f"Most demanding loads of {len(worst)} devices and modes: {of_all}"
    above = sum(one.ratio > 1 for one in worst if one.verdict == "undecided")
    if count["undecided"]:
        yield f"{above} of the {count['undecided']} undecided have a typical power above the limit"


def _table(worst: Sequence[PowerCheck]) -> Grid:
    rows = tuple((one.load.device, _precision(one), watts(one.limit_w), *_figures(one)) for one in worst)
    columns = ("device", "precision", "limit", "typical", "ratio", "low … high", "verdict")
    return Grid("Devices", Table(columns, rows), "the most demanding load of each device; csv and json have all")


def _precision(one: PowerCheck) -> str:
    """With the unit where a network would not run on it: another processor of a module."""
    try:
        own = {unit.name for unit in working_units(one.load.hardware, one.load.precision)}
    except UnsupportedError:
        own = set()
    names = {unit.name for unit in one.load.units}
    return one.load.precision if names <= own else f"{one.load.precision} {one.load.unit}"


def _grouped(missing: Sequence[UnknownPower]) -> Iterator[str]:
    """Equal reasons once, with all devices that they are given for; of loads of many devices their number."""
    for reason, of_load in dict.fromkeys((one.reason, one.load is not None) for one in missing):
        names = dict.fromkeys(one.device for one in missing if (one.reason, one.load is not None) == (reason, of_load))
        counted_only = of_load and len(names) > MOST_NAMES
        yield f"{reason}: {f'{len(names)} devices' if counted_only else ', '.join(names)}"


def _left_out(worst: Sequence[PowerCheck]) -> Iterator[str]:
    for reason in dict.fromkeys(reason for one in worst for reason in one.left_out):
        yield f"{reason}: {', '.join(one.load.device for one in worst if reason in one.left_out)}"
