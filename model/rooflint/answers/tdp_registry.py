"""The answer to `rooflint tdp registry`: which devices can run at their printed peak within their printed power."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooflint.base.facts import Fact, Grade
from rooflint.base.text import UNKNOWN
from rooflint.base.units import (
    HERTZ,
    JOULES_PER_BYTE,
    JOULES_PER_OP,
    OPS_PER_MAC,
    WATTS,
    format_number,
    format_quantity,
)
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
    said: str
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

    schema_: Annotated[Literal["rooflint.tdp.registry/1"], Field(alias="schema")]
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


def listed(one: SustainedRecord | NotKnownRecord) -> dict[str, Cell]:
    """A row of such a list: figures, or the reason why there are none."""
    if isinstance(one, NotKnownRecord):
        known = {"device": one.device, "unit": one.unit, "precision": one.precision, "not_known": one.reason}
        return dict.fromkeys(LISTING) | known
    return dict(one) | {"left_out": "; ".join(one.left_out) or None, "not_known": None}


def counted(found: Sequence[PowerCheck]) -> dict[Verdict, int]:
    """How often each verdict was given."""
    return {verdict: sum(one.verdict == verdict for one in found) for verdict in VERDICTS}


def record(one: PowerCheck) -> SustainedRecord:
    """Everything that is known of one load."""
    load = one.load
    return SustainedRecord.model_validate(
        {
            "device": load.device,
            "name": load.hardware.name,
            "kind": load.hardware.kind,
            "operating_point": load.hardware.mode,
            "unit": load.unit,
            "precision": load.precision,
            "peak_ops_per_s": load.peak_ops_per_s,
            "limit_w": one.limit_w,
            "limit": one.limit.path,
            "low_w": one.low_w,
            "typical_w": one.typical_w,
            "high_w": one.high_w,
            "low_ratio": one.low_ratio,
            "ratio": one.ratio,
            "high_ratio": one.high_ratio,
            "verdict": one.verdict,
            "grade": one.grade,
            "left_out": list(one.left_out),
            "j_per_op": one.j_per_op,
            "exhausting_j_per_op": one.exhausting_j_per_op,
            "exhausting_j_per_mac": one.exhausting_j_per_mac,
            "clock_hz": load.units[0].clock_hz(load.precision),
            "fitting_clock_hz": one.fitting_clock_hz,
            "powers": [_power(power) for power in one.powers],
        }
    )


def missing_record(one: UnknownPower) -> NotKnownRecord:
    """A load without a verdict."""
    unit, precision = (one.load.unit, one.load.precision) if one.load else (None, None)
    return NotKnownRecord(device=one.device, unit=unit, precision=precision, reason=one.reason)


def _power(power: PowerTerm) -> PowerRecord:
    return PowerRecord(
        name=power.name,
        cause=power.cause,
        rate_per_s=power.rate_per_s,
        unit=power.unit,
        each_low_j=power.each.low,
        each_j=power.each.typical,
        each_high_j=power.each.high,
        low_w=power.low_w,
        typical_w=power.typical_w,
        high_w=power.high_w,
        said=power.each.said,
        grade=power.each.grade,
        sources=[_source(fact) for fact in power.each.facts],
    )


def _source(fact: Fact) -> PowerSourceRecord:
    return PowerSourceRecord(
        fact=fact.path,
        value=fact.display,
        document=fact.source.document,
        where=fact.where,
        grade=fact.source.grade,
    )


# ---- one device

EACH = {"op": JOULES_PER_OP, "B": JOULES_PER_BYTE, "s": WATTS}
"""In what the cost of an event is written."""


def watts(value: float) -> str:
    """`123 W`."""
    return format_quantity(value, WATTS, digits=3)


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
    return UNKNOWN if one.fitting_clock_hz is None else format_quantity(one.fitting_clock_hz, HERTZ, digits=3)


def hardest(found: Sequence[PowerCheck]) -> PowerCheck:
    """One that cannot be sustained before others, then the highest typical ratio, of equals the highest lowest."""
    return max(found, key=lambda one: (one.verdict == "cannot sustain", round(one.ratio, 6), one.low_ratio))


def interval_bar(label: str, one: PowerCheck) -> Bar:
    """From nothing over the lowest and the typical to the highest power, over the limit."""
    parts = (
        ("lowest", one.low_ratio),
        ("to typical", one.ratio - one.low_ratio),
        ("to highest", one.high_ratio - one.ratio),
    )
    return Bar(label, tuple(Part(name, value, f"{value:.2f}") for name, value in parts), ends(one))


def detail(found: Sequence[PowerCheck]) -> Iterator[Section]:
    """Of one device at one point, whose loads those are."""
    worst = hardest(found)
    name = f"{worst.load.unit} {worst.load.precision}"
    yield _loads(found)
    bars = tuple(interval_bar(f"{one.load.unit} {one.load.precision}", one) for one in found)
    yield Bars("Power relative to the limit", bars, "1 is the limit")
    yield Bars(f"Typical power by cause, {name}", (_causes(worst),), f"limit {watts(worst.limit_w)}")
    yield _parts(worst, name)
    yield _sources(worst, name)
    yield Prose(f"Sensitivity, {name}", tuple(sensitivity(worst)))


def _loads(found: Sequence[PowerCheck]) -> Grid:
    rows = tuple(
        (
            one.load.unit,
            one.load.precision,
            watts(one.typical_w),
            ratio_shown(one.ratio),
            ends(one),
            one.verdict,
            at_the_limit(one),
            fitting_clock(one),
        )
        for one in sorted(found, key=lambda one: -one.ratio)
    )
    columns = ("unit", "precision", "typical", "ratio", "low … high", "verdict", "pJ/op at limit", "clock that fits")
    return Grid("Loads", Table(columns, rows), "pJ/op at limit: energy of an op if compute took all of the power")


def _causes(one: PowerCheck) -> Bar:
    parts = tuple(Part(power.name, power.typical_w, watts(power.typical_w)) for power in one.powers)
    return Bar(one.load.device, parts, watts(one.typical_w))


def _parts(one: PowerCheck, name: str) -> Grid:
    rows = [
        (
            power.name,
            _rate(power.rate_per_s, power.unit),
            format_quantity(power.each.typical, EACH[power.unit], digits=3),
            *(watts(value) for value in (power.low_w, power.typical_w, power.high_w)),
        )
        for power in one.powers
    ]
    rows.append(("all", "", "", *(watts(value) for value in (one.low_w, one.typical_w, one.high_w))))
    columns = ("part", "rate", "each", "low", "typical", "high")
    return Grid(f"Parts, {name}", Table(columns, tuple(rows)), "rate × each is the typical power")


def _rate(rate_per_s: float, unit: str) -> str:
    return "" if unit == "s" else f"{rate_per_s / 1e12:.4g} T{unit.upper()}/s"


def _sources(one: PowerCheck, name: str) -> Grid:
    rows = [
        (power.name, fact.display, fact.source.grade, f"{fact.source.document}, {fact.where}")
        for power in one.powers
        for fact in power.each.facts
    ]
    rows.append(("limit", one.limit.display, one.limit.source.grade, f"{one.limit.source.document}, {one.limit.where}"))
    note = f"values scaled to another node or device are estimates; overall grade: {one.grade}"
    return Grid(f"Sources, {name}", Table(("part", "fact", "grade", "source"), tuple(rows)), note)


def sensitivity(one: PowerCheck) -> Iterator[str]:
    """At which energy of an op, and at which clock, the limit is reached."""
    per_op, per_mac = one.exhausting_j_per_op * 1e12, one.exhausting_j_per_mac * 1e12
    yield (
        f"Compute alone reaches {watts(one.limit_w)} at {format_number(per_op, 3)} pJ/op, "
        f"{format_number(per_mac, 3)} pJ/MAC; typical: {format_number(one.j_per_op * 1e12, 3)} pJ/op, "
        f"{format_number(one.j_per_op * OPS_PER_MAC * 1e12, 3)} pJ/MAC"
    )
    if one.clock_share is None or one.fitting_clock_hz is None:
        yield "The typical power fits at no clock: memory and idle power alone reach the limit"
        return
    clock = one.load.units[0].clock_hz(one.load.precision)
    yield (
        f"The typical power equals the limit at {format_quantity(one.fitting_clock_hz, HERTZ, digits=3)}, "
        f"{one.clock_share:.2f} of its clock of {format_quantity(clock, HERTZ, digits=4)}; "
        "power scales with the clock here; a lower voltage would save more"
    )


# ---- many devices

COLUMNS = ("device", "precision", "limit", "typical", "ratio", "low … high", "verdict")
MOST_BARS = 12
"""More would be a wall."""
MOST_NAMES = 8
"""Of loads that are not known; devices of which nothing is known are all named."""

CAVEATS = (
    "Low: published arithmetic alone, lowest memory and idle power; high: the whole datapath, highest of each",
    "Not counted: instructions, on-chip memory, links, fans; lanes that issue instructions themselves therefore "
    "never get the verdict 'sustains'",
    "One kind of unit runs at a time, at its dense peak; memory streams at its full bandwidth",
    "Power scales with the clock; voltage scaling is not modelled",
)

Found = PowerCheck | UnknownPower


def answer(found: Sequence[Found], precision: str = "", unit: str = "") -> Answer:
    """Loads with what they take, and those without a verdict, with reasons."""
    able = [one for one in found if isinstance(one, PowerCheck)]
    missing = [one for one in found if isinstance(one, UnknownPower)]
    worst = hardest_loads(able)
    records = [record(one) if isinstance(one, PowerCheck) else missing_record(one) for one in found]
    return Answer(
        title=_title(worst, found),
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
        listing=Table.of(LISTING, map(listed, records)),
    )


def hardest_loads(able: Sequence[PowerCheck]) -> list[PowerCheck]:
    """Of each device at each point the load that is hardest to sustain; highest typical ratio first."""
    by_device: dict[str, list[PowerCheck]] = {}
    for one in able:
        by_device.setdefault(one.load.device, []).append(one)
    return sorted((hardest(several) for several in by_device.values()), key=lambda one: -one.ratio)


def _title(worst: Sequence[PowerCheck], found: Sequence[Found]) -> str:
    points = len({one.load.device if isinstance(one, PowerCheck) else one.device for one in found})
    if points > 1 or not worst:
        return f"Power of {len(worst)} of {points} device{'' if points == 1 else 's'}"
    return f"Power of {worst[0].load.device}"


def _sections(
    able: Sequence[PowerCheck], worst: Sequence[PowerCheck], missing: Sequence[UnknownPower]
) -> Iterator[Section]:
    if len(worst) == 1:
        yield Prose("Verdict", (said(worst[0]), lowest(worst[0])))
        yield from detail(able)
    elif worst:
        yield Prose("Verdicts", tuple(told(worst)))
        yield _table(worst)
        bars = tuple(interval_bar(one.load.device, one) for one in worst[:MOST_BARS])
        yield Bars("Power relative to the limit", bars, "1 is the limit; the highest typical ratios")
    if unknown := (*_grouped(missing), *_left_out(worst)):
        yield Prose("Not known", unknown)
    yield Prose("How to read it", CAVEATS)


def said(one: PowerCheck) -> str:
    """The verdict in a sentence."""
    subject = f"{one.load.unit} {one.load.precision} of {one.load.device}"
    return (
        f"{subject}: {one.verdict} at its peak; typically {watts(one.typical_w)} of {watts(one.limit_w)}, "
        f"{ratio_shown(one.ratio)} of the limit ({ends(one)})"
    )


def lowest(one: PowerCheck) -> str:
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
    rows = tuple(
        (
            one.load.device,
            _precision(one),
            watts(one.limit_w),
            watts(one.typical_w),
            ratio_shown(one.ratio),
            ends(one),
            one.verdict,
        )
        for one in worst
    )
    note = "the most demanding load of each device; csv and json have all"
    return Grid("Devices", Table(COLUMNS, rows), note)


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
