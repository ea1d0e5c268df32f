"""One device in the answer to `rooflint tdp registry`: loads, parts of the hardest, what would change it."""

from collections.abc import Iterator, Sequence

from rooflint.answer import Bar, Bars, Grid, Part, Prose, Section
from rooflint.sustained import Sustained
from rooflint.table import UNKNOWN, Table
from rooflint.units import HERTZ, JOULES_PER_BYTE, JOULES_PER_OP, OPS_PER_MAC, WATTS, format_number, format_quantity

EACH = {"op": JOULES_PER_OP, "B": JOULES_PER_BYTE, "s": WATTS}
"""In what the cost of an event is written."""


def watts(value: float) -> str:
    """`123 W`."""
    return format_quantity(value, WATTS, digits=3)


def ratio_shown(ratio: float) -> str:
    """`1.46`; so near to the limit that two decimals would hide the side, as `1.003`."""
    return f"{ratio:.2f}" if ratio == 1 or round(ratio, 2) != 1 else f"{ratio:.4g}"


def ends(one: Sustained) -> str:
    """`0.55 … 1.46`."""
    return f"{ratio_shown(one.low_ratio)} … {ratio_shown(one.high_ratio)}"


def at_the_limit(one: Sustained) -> str:
    """What an op may cost if all of the power went to compute, `0.71`. [pJ/op]"""
    return format_number(one.exhausting_j_per_op * 1e12, 3)


def fitting_clock(one: Sustained) -> str:
    """The clock at which the typical power is the limit, `1.26 GHz`; its own if that fits, a dash if none does."""
    if one.ratio <= 1:
        return "its own"
    return UNKNOWN if one.fitting_clock_hz is None else format_quantity(one.fitting_clock_hz, HERTZ, digits=3)


def hardest(found: Sequence[Sustained]) -> Sustained:
    """One that cannot be sustained before others, then the highest typical ratio, of equals the highest lowest."""
    return max(found, key=lambda one: (one.verdict == "cannot sustain", round(one.ratio, 6), one.low_ratio))


def interval_bar(label: str, one: Sustained) -> Bar:
    """From nothing over the lowest and the typical to the highest power, over the limit."""
    parts = (
        ("lowest", one.low_ratio),
        ("to typical", one.ratio - one.low_ratio),
        ("to highest", one.high_ratio - one.ratio),
    )
    return Bar(label, tuple(Part(name, value, f"{value:.2f}") for name, value in parts), ends(one))


def detail(found: Sequence[Sustained]) -> Iterator[Section]:
    """Of one device at one point, whose loads those are."""
    worst = hardest(found)
    name = f"{worst.load.unit} {worst.load.precision}"
    yield _loads(found)
    bars = tuple(interval_bar(f"{one.load.unit} {one.load.precision}", one) for one in found)
    yield Bars("Power over the limit", bars, "1 is the limit")
    yield Bars(f"Typical power by cause, {name}", (_causes(worst),), f"limit {watts(worst.limit_w)}")
    yield _parts(worst, name)
    yield _sources(worst, name)
    yield Prose(f"Sensitivity, {name}", tuple(sensitivity(worst)))


def _loads(found: Sequence[Sustained]) -> Grid:
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
    return Grid(
        "Loads", Table(columns, rows), "pJ/op at limit: what an op may cost if all of the power went to compute"
    )


def _causes(one: Sustained) -> Bar:
    parts = tuple(Part(power.name, power.typical_w, watts(power.typical_w)) for power in one.powers)
    return Bar(one.load.device, parts, watts(one.typical_w))


def _parts(one: Sustained, name: str) -> Grid:
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


def _sources(one: Sustained, name: str) -> Grid:
    rows = [
        (power.name, fact.display, fact.source.grade, f"{fact.source.document}, {fact.where}")
        for power in one.powers
        for fact in power.each.facts
    ]
    rows.append(("limit", one.limit.display, one.limit.source.grade, f"{one.limit.source.document}, {one.limit.where}"))
    note = f"what is carried to another node or device is an estimate; all in all: {one.grade}"
    return Grid(f"What it rests on, {name}", Table(("part", "fact", "grade", "source"), tuple(rows)), note)


def sensitivity(one: Sustained) -> Iterator[str]:
    """At which energy of an op, and at which clock, the limit is reached."""
    per_op, per_mac = one.exhausting_j_per_op * 1e12, one.exhausting_j_per_mac * 1e12
    yield (
        f"Compute alone takes all of {watts(one.limit_w)} at {format_number(per_op, 3)} pJ/op, "
        f"{format_number(per_mac, 3)} pJ/MAC; typical are {format_number(one.j_per_op * 1e12, 3)} pJ/op, "
        f"{format_number(one.j_per_op * OPS_PER_MAC * 1e12, 3)} pJ/MAC"
    )
    if one.clock_share is None or one.fitting_clock_hz is None:
        yield "At no clock does the typical power fit: memory and idle power alone take the limit"
        return
    clock = one.load.units[0].clock_hz(one.load.precision)
    yield (
        f"The typical power is the limit at {format_quantity(one.fitting_clock_hz, HERTZ, digits=3)}, "
        f"{one.clock_share:.2f} of its clock of {format_quantity(clock, HERTZ, digits=4)}; "
        "power goes with the clock here, a lower voltage would save more"
    )
