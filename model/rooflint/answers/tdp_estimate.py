"""The answer to `rooflint tdp estimate`: the energy of a MAC as a product of factors, power, comparisons and curves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.facts import Factor, Grade, weakest
from rooflint.base.precision import rate_unit
from rooflint.base.units import HERTZ, JOULES, OPS_PER_J, OPS_PER_MAC, OPS_PER_S, WATTS, format_number, format_quantity
from rooflint.energy.tdp import DATAPATH_BITS, Hold, TdpEstimate, compared, over, packed_macs
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Curve, Curves, Grid, Part, Prose, Section, Table

Positive = Annotated[float, Field(gt=0)]


class FactorRecord(Strict):
    """One factor of a ladder, in base units; without a document where it is a convention or was asked for."""

    name: str
    value: float
    shown: str
    document: str | None
    where: str | None
    grade: Grade | None


class ArithmeticRecord(Strict):
    """A multiply and an add as published, or carried to the node."""

    low_j_per_mac: float
    typical_j_per_mac: float
    high_j_per_mac: float
    basis: str
    grade: Grade


class TdpCaseRecord(Strict):
    """One estimate."""

    precision: str
    circuit: str
    process: str
    alus: int
    macs_per_clock: Positive
    """Of one ALU in this precision."""
    clock_hz: Positive
    energy_j_per_mac: Positive
    power_w: Positive
    ops_per_s: Positive
    ops_per_j: Positive
    arithmetic_w: Positive


class TdpLadderRecord(Strict):
    """The first estimate, factor by factor."""

    energy_per_mac: list[FactorRecord]
    macs_per_s: list[FactorRecord]
    grade: Grade
    arithmetic: ArithmeticRecord


class TdpComparisonRecord(Strict):
    """The estimates of one comparison, at every count of ALUs and every clock."""

    by: Literal["precisions", "circuits", "processes"]
    estimates: list[TdpCaseRecord]


class TdpEstimateRecord(Record):
    """`rooflint tdp estimate -f json`."""

    schema_: Annotated[Literal["rooflint.energy.tdp/2"], Field(alias="schema")]
    hold: Literal["alus", "width"]
    estimates: list[TdpCaseRecord]
    """What was asked for, at every count of ALUs and every clock."""
    ladder: TdpLadderRecord
    comparisons: list[TdpComparisonRecord]
    caveats: list[str]


LISTING = ("compared", *TdpCaseRecord.model_fields)
MOST_CURVES = 12
"""More lines are not drawn; their figures are in csv and json."""

NAMES: dict[str, Callable[[TdpEstimate], str]] = {
    "precisions": lambda one: one.case.precision,
    "circuits": lambda one: one.case.circuit,
    "processes": lambda one: one.case.node,
}
CAVEATS = (
    "an estimate from the factors of one document; no published measurement supports them",
    "every ALU is busy in every clock; memory, links and idle power are left out, so a chip draws more",
    "the base is close to a multiply and an add together at 7 nm, but the document counts it once for each",
)
WIDTH = "with --hold width the format factors cancel: power is the same in all precisions but tf32, by construction"


def answer(estimates: Sequence[TdpEstimate], wanted: Sequence[str]) -> Answer:
    """What was found of all counts and clocks, with the comparisons that are wanted."""
    first = estimates[0]
    comparisons = {by: [one for each in compared(first, by) for one in _alike(each, estimates)] for by in wanted}
    record = _record(estimates, comparisons, caveats(first, wanted))
    return Answer(
        title=_title(estimates),
        subtitle=f"{first.case.precision}, {first.case.circuit}, {first.case.node}",
        sections=(*_sections(estimates, comparisons), Prose("Limitations", tuple(record.caveats))),
        record=record,
        listing=Table.of(LISTING, _listed(record)),
    )


def caveats(first: TdpEstimate, wanted: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know before believing a figure."""
    return (*CAVEATS, WIDTH) if first.case.hold is Hold.width and "precisions" in wanted else CAVEATS


def _title(estimates: Sequence[TdpEstimate]) -> str:
    """`Power of 1024 ALUs at 1.83 GHz`, with both ends of a range."""
    ends = estimates[0].case, estimates[-1].case
    alus = " to ".join(dict.fromkeys(str(case.alus) for case in ends))
    clocks = " to ".join(dict.fromkeys(format_quantity(case.clock_hz, HERTZ) for case in ends))
    return f"Power of {alus} ALUs at {clocks}"


def _alike(one: TdpEstimate, estimates: Sequence[TdpEstimate]) -> tuple[TdpEstimate, ...]:
    alus = list(dict.fromkeys(each.case.alus for each in estimates))
    return over(one, alus, list(dict.fromkeys(each.case.clock_hz for each in estimates)))


def _sections(estimates: Sequence[TdpEstimate], comparisons: dict[str, list[TdpEstimate]]) -> Iterator[Section]:
    first, ranged = estimates[0], len(estimates) > 1
    at = f" at {first.case.alus} ALUs, {format_quantity(first.case.clock_hz, HERTZ)}" if ranged else ""
    yield _ladder(first)
    yield _power(first, at)
    if ranged:
        rows = tuple(
            (str(one.case.alus), format_quantity(one.case.clock_hz, HERTZ), _watts(one.power_w), _peak(one))
            for one in estimates
        )
        yield Grid("Over the range", Table(("ALUs", "clock", "power", "peak"), rows))
        yield from _curves("Power over the range", {"": estimates})
    for by, found in comparisons.items():
        named = {
            name: [one for one in found if NAMES[by](one) == name] for name in dict.fromkeys(map(NAMES[by], found))
        }
        heads = {name: ones[0] for name, ones in named.items()}
        yield _grid(by, heads, first, at)
        yield Bars(f"Power of {by}{at}", tuple(map(_bar, heads, heads.values())))
        if ranged:
            yield from _curves(f"Power of {by} over the range", named)


def _ladder(one: TdpEstimate) -> Grid:
    rows = [
        (f"{'×' if number else ' '} {factor.display}", *_source(factor))
        for number, factor in enumerate(one.mac.factors)
    ]
    rows.append((f"= {_mac(one.energy_j_per_mac)}", weakest(one.mac.facts), "the document's estimate"))
    low, high = (_mac(value) for value in (one.arithmetic.low, one.arithmetic.high))
    ends = "" if low == high else f"; from {low} to {high}"
    rows.append(
        (f"≥ {_mac(one.arithmetic.typical)}", one.arithmetic.grade, f"{OPS_PER_MAC} × {one.arithmetic.basis}{ends}")
    )
    note = "≥ the arithmetic alone: circuits without registers, wires and clocks"
    return Grid("Energy of a MAC", Table(("factor", "grade", "source"), tuple(rows)), note)


def _source(factor: Factor) -> tuple[str, str]:
    if factor.fact is None:
        return "", "convention"
    return factor.fact.source.grade, f"{factor.fact.source.document}, {factor.fact.where}"


def _power(one: TdpEstimate, at: str) -> Grid:
    ops, share = f"{OPS_PER_MAC} op/MAC", 100 * one.arithmetic_w / one.power_w
    rows = (
        ("power", _watts(one.power_w), f"{_mac(one.energy_j_per_mac)} × {one.rate.formula}"),
        ("peak", _peak(one), f"{ops} × {one.rate.formula}"),
        ("peak per watt", _per_watt(one), f"{ops} / {_mac(one.energy_j_per_mac)}"),
        ("arithmetic alone", _watts(one.arithmetic_w), f"{share:.3g} % of the power"),
    )
    return Grid(f"Power{at}", Table(("", "figure", "from"), rows))


def _grid(by: str, heads: dict[str, TdpEstimate], asked: TdpEstimate, at: str) -> Grid:
    rows = [(name, *_row(one, asked)) for name, one in heads.items()]
    strong = tuple(number for number, one in enumerate(heads.values()) if one.case == asked.case)
    packed = ("MAC/clock",) if asked.case.hold is Hold.width else ()
    columns = (by, *packed, "per MAC", "power", "relative", "peak", "per watt")
    held = f"; MAC/clock of one ALU of {DATAPATH_BITS} bit" if packed else ""
    note = f"relative: power relative to the requested case{held}"
    return Grid(f"All {by}{at}", Table(columns, tuple(rows)), note, strong)


def _row(one: TdpEstimate, asked: TdpEstimate) -> tuple[str, ...]:
    power = _watts(one.power_w), f"{one.power_w / asked.power_w:.3g}×"
    energy = format_quantity(one.energy_j_per_mac, JOULES)
    packed = (format_number(_macs(one)),) if one.case.hold is Hold.width else ()
    return *packed, energy, *power, _peak(one), _per_watt(one)


def _bar(name: str, one: TdpEstimate) -> Bar:
    bare = min(one.arithmetic_w, one.power_w)
    rest = one.power_w - bare
    parts = Part("arithmetic", bare, _watts(bare)), Part("the rest of the estimate", rest, _watts(rest))
    return Bar(name, parts, _watts(one.power_w))


def _curves(heading: str, named: Mapping[str, Sequence[TdpEstimate]]) -> Iterator[Section]:
    """Over ALUs, a line for each clock; over clocks where there is one count of ALUs."""
    first = next(iter(named.values()))
    over_alus = len({one.case.alus for one in first}) > 1
    drawn = tuple(curve for name, ones in named.items() for curve in _lines(name, ones, over_alus))
    if len(drawn) > MOST_CURVES:
        yield Prose(heading, (f"{len(drawn)} lines are too many to draw; all figures are in -f csv and -f json",))
        return
    x, unit = ("ALUs", "") if over_alus else ("clock", "Hz")
    yield Curves(heading, x, "power", drawn, x_unit=unit, y_unit="W")


def _lines(name: str, ones: Sequence[TdpEstimate], over_alus: bool) -> Iterator[Curve]:
    lines = list(dict.fromkeys(one.case.clock_hz for one in ones)) if over_alus else [None]
    for clock_hz in lines:
        points = [one for one in ones if clock_hz in (None, one.case.clock_hz)]
        x = tuple(float(one.case.alus if over_alus else one.case.clock_hz) for one in points)
        at = format_quantity(clock_hz, HERTZ) if clock_hz and (len(lines) > 1 or not name) else ""
        label = f"{name} {at}".strip() or f"{points[0].case.alus} ALUs"
        yield Curve(label, x, tuple(one.power_w for one in points))


def _record(
    estimates: Sequence[TdpEstimate], comparisons: dict[str, list[TdpEstimate]], told: Sequence[str]
) -> TdpEstimateRecord:
    first, arithmetic = estimates[0], estimates[0].arithmetic
    return TdpEstimateRecord.build(
        hold=first.case.hold.value,
        estimates=[_case(one) for one in estimates],
        ladder=TdpLadderRecord(
            energy_per_mac=[_factor(factor) for factor in first.mac.factors],
            macs_per_s=[_factor(factor) for factor in first.rate.factors],
            grade=weakest(first.mac.facts),
            arithmetic=ArithmeticRecord.from_object(
                arithmetic,
                low_j_per_mac=arithmetic.low,
                typical_j_per_mac=arithmetic.typical,
                high_j_per_mac=arithmetic.high,
            ),
        ),
        comparisons=[{"by": by, "estimates": [_case(one) for one in found]} for by, found in comparisons.items()],
        caveats=list(told),
    )


def _factor(factor: Factor) -> FactorRecord:
    fact = factor.fact
    return FactorRecord.from_object(
        factor,
        shown=factor.display,
        document=fact.source.document if fact else None,
        where=fact.where if fact else None,
        grade=fact.source.grade if fact else None,
    )


def _case(one: TdpEstimate) -> TdpCaseRecord:
    case = one.case
    return TdpCaseRecord.from_object(
        one,
        precision=case.precision,
        circuit=case.circuit,
        process=case.node,
        alus=case.alus,
        macs_per_clock=_macs(one),
        clock_hz=case.clock_hz,
    )


def _listed(record: TdpEstimateRecord) -> Iterator[dict[str, Any]]:
    compared = {"": record.estimates} | {one.by: one.estimates for one in record.comparisons}
    for by, found in compared.items():
        yield from ({"compared": by, **dict(one)} for one in found)


def _macs(one: TdpEstimate) -> float:
    """MACs of one ALU in a clock."""
    return one.case.macs_per_clock * packed_macs(one.case.precision, one.case.hold)


def _mac(value: float) -> str:
    return format_quantity(value, JOULES, unit="J/MAC")


def _watts(value: float) -> str:
    return format_quantity(value, WATTS)


def _peak(one: TdpEstimate) -> str:
    return format_quantity(one.ops_per_s, OPS_PER_S, unit=rate_unit(one.case.precision))


def _per_watt(one: TdpEstimate) -> str:
    return format_quantity(one.ops_per_j, OPS_PER_J, unit=f"{rate_unit(one.case.precision)}/W")
