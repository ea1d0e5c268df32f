"""Claims about a device's recordings: laws that they obey, their rates over the peak, their times beside the roofline.

The recordings are in the folder beside the golden file, with the same name. Noise only slows down: a measurement that
is too fast fails even if it was disturbed, and one that is not too fast decides nothing if it was.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Kind, Obtained, check_precisions
from pytest_rooflint.recordings.bounds import Bounds, best_rate, bounds, causes, miscounted, of_ladder, table_of
from pytest_rooflint.recordings.files import MACHINE, rows_of
from pytest_rooflint.recordings.laws import LAWS, Finding, LawContext, findings
from pytest_rooflint.recordings.row import DESPITE, Row, check_despite, farthest, selected, words
from rooflint.base import units
from rooflint.base.facts import Factor, Ladder
from rooflint.base.precision import format_rate
from rooflint.base.text import counted, some
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.device import Hardware
from rooflint.workloads.workload import Workload
from rooflint_measure.record import Network

COMPUTE = {"compute": {"type": "string", "description": "the only precision to test; all by default"}}

# ---- `measured: rate <= peak`

MOST = 8
"""Breaches that a verdict lists; the rest are counted."""

WITHIN = {"within": {"type": "string", "description": "allowed difference of two figures: 10 %; needs a why"}}


def check_measured(claim: Claim) -> None:
    """Refuse an unknown law, and invalid options."""
    law = LAWS.get(claim.subject)
    if law is None:
        raise ClaimError(f"want one of {', '.join(LAWS)}; found '{claim.subject}'")
    check_precisions(claim)
    check_despite(claim)
    if law.compares and claim.option("within") is None:
        raise ClaimError(f"'{claim.subject}' compares two figures; add a tolerance such as 'within: 10 %', and 'why:'")
    if claim.option("within") is not None and not claim.why:
        raise ClaimError("within: add 'why:', the reason for this tolerance")
    _within(claim)


def _within(claim: Claim) -> float:
    text = claim.option("within", "0 %")
    try:
        quantity = units.parse_quantity(str(text))
    except units.UnitError as error:
        raise ClaimError(f"within: {error}") from error
    if not str(text).endswith("%") or not 0 <= quantity.value <= 1:
        raise ClaimError(f"within: want a share such as 10 %, found '{text}'")
    return quantity.value


def _asked(claim: Claim, context: Context) -> LawContext:
    def network(one: Network) -> Workload:
        def of_torchvision(name: str, batch: int) -> Workload:
            return context.workload(replace(claim, workload={"network": f"torchvision/{name}", "batch": batch}))

        return table_of(one, of_torchvision)

    return LawContext(
        hardware=context.device(claim),
        registry=context.registry,
        networks=network,
        within=_within(claim),
        despite=tuple(claim.option("despite", ())),
    )


def obtain_measured(claim: Claim, context: Context) -> Obtained:
    """Test the law on every measurement that it applies to. [1]"""
    law = LAWS[claim.subject]
    found = list(findings(rows_of(claim, context), law, _asked(claim, context)))
    states = Counter[str](one.state for one in found)
    broken = [one for one in found if one.state == "breaks"]
    kept = [one for one in found if one.state == "keeps"]
    facts = (fact for one in broken or kept for fact in one.facts)
    doubt = _doubt(found) if not broken and not kept else ""
    return Obtained(
        value=float(len(broken)),
        dimension=units.DIMENSIONLESS,
        formula="; ".join(_apart(found)),
        display=_display(states, len(found)),
        holds=bool(kept) and not broken,
        expected=law.promise,
        facts=tuple(dict.fromkeys(facts)),
        hardware=context.device(claim),
        precision=claim.option("compute"),
        details="\n".join(_lines(broken)),
        doubt=doubt,
        causes=tuple(broken[0].causes) if broken else (),
    )


def _display(states: Counter[str], looked: int) -> str:
    if not looked:
        return "no measurement that the law applies to"
    if states["breaks"]:
        return f"broken by {states['breaks']} of {counted(looked, 'measurement')}"
    return f"holds on {states['keeps']} of {counted(looked, 'measurement')}"


def _doubt(found: list[Finding]) -> str:
    """Why nothing was decided; empty where no measurement was disturbed or exempt."""
    open_ones = [one for one in found if one.state in ("disturbed", "exempt")]
    if not open_ones:
        return ""
    first = open_ones[0]
    more = f"; and {len(open_ones) - 1} more" if len(open_ones) > 1 else ""
    return f"undecided: {first.row.measurement.name}: {first.text}{more}"


def _apart(found: Iterable[Finding]) -> Iterator[str]:
    """What was left out of the count, by reason, with some names."""
    several = list(found)
    for state in ("disturbed", "exempt"):
        names = [f"{one.row.measurement.name} ({one.text})" for one in several if one.state == state]
        if names:
            yield f"{len(names)} {state}: {some(names)}"
    silent = [one for one in several if one.state == "silent"]
    for reason in dict.fromkeys(one.text for one in silent):
        names = [one.row.measurement.name for one in silent if one.text == reason]
        yield f"{len(names)} not applicable, {reason}: {some(names)}"


def _lines(broken: list[Finding]) -> Iterator[str]:
    for one in broken[:MOST]:
        yield f"            {one.row.place}  {one.row.measurement.name}"
        yield f"              {one.text}"
    if len(broken) > MOST:
        yield f"            and {len(broken) - MOST} more"


MEASURED = Kind(
    "measured",
    "a law that every measurement in a device's recordings must obey",
    obtain_measured,
    expects=lambda subject: False,
    inferred=True,
    check=check_measured,
    options={**MACHINE, **COMPUTE, **WITHIN, **DESPITE},
    rows_alone=True,
)

# ---- `efficiency: gemm fp32`: measured rate over peak, within a reviewed interval


@dataclass(frozen=True)
class Reached:
    """A measured rate with the peak that it is compared with."""

    row: Row
    rate: float
    """[op/s] or [B/s]"""
    shown: str
    of: tuple[Ladder, ...]

    @property
    def share(self) -> float:
        """Attained over peak; not clamped, because a value above 1 is a finding. [1]"""
        return self.rate / sum(ladder.result for ladder in self.of)


def check_selection(claim: Claim) -> None:
    """Refuse a subject that is not a timed operation, and invalid options."""
    words(claim.subject)
    check_precisions(claim)
    check_despite(claim)


def reached(row: Row, hardware: Hardware) -> Reached:
    """The best rate of a measurement. Raises UnsupportedError where the device has no peak to compare it with."""
    of = best_rate(row.measurement, hardware)
    if row.precision:
        rate = row.measurement.ops_per_s or 0.0
        return Reached(row, rate, format_rate(rate, row.precision), of)
    rate = row.measurement.bytes_per_s or 0.0
    return Reached(row, rate, units.format_quantity(rate, units.BYTES_PER_S), of)


def obtain_efficiency(claim: Claim, context: Context) -> Obtained:
    """The best of each recording; of several recordings the one farthest from the expectation. [1]"""
    hardware = context.device(claim)
    rows = selected(rows_of(claim, context), claim.subject)
    best = _best_of_each([reached(row, hardware) for row in rows])
    if not all(one.share > 0 for one in best):
        raise ClaimError(f"'{claim.subject}' has no rate: the recording counts neither ops nor bytes")
    told = farthest(claim, ((one.row, one.share) for one in best))
    chosen = next(one for one in best if one.row is told.row)
    row, single = chosen.row, chosen.of[0] if len(chosen.of) == 1 else None
    beaten = single is not None and chosen.share > 1
    return Obtained(
        value=chosen.share,
        dimension=units.DIMENSIONLESS,
        formula=f"{chosen.shown} / ({' + '.join(ladder.formula for ladder in chosen.of)})",
        facts=tuple(fact for ladder in chosen.of for fact in ladder.facts),
        ladder=Ladder((Factor("measured", chosen.rate, chosen.shown),)) if single and not beaten else None,
        divisor=None if beaten else single,
        hardware=hardware,
        precision=row.precision,
        written=units.percent,
        details=f"            {row.place}  {row.measurement.name}",
        doubt=told.doubt,
        causes=tuple(of_ladder(row, single, chosen.share, hardware, context.registry)) if single and beaten else (),
    )


def _best_of_each(several: Iterable[Reached]) -> list[Reached]:
    found: dict[object, Reached] = {}
    for one in several:
        key = one.row.recorded.file
        if key not in found or found[key].share < one.share:
            found[key] = one
    return list(found.values())


EFFICIENCY = Kind(
    "efficiency",
    "measured rate over peak of products, streams or networks, the best of each recording",
    obtain_efficiency,
    units.DIMENSIONLESS,
    inferred=True,
    check=check_selection,
    options={**MACHINE, **COMPUTE, **DESPITE},
    rows_alone=True,
)

# ---- `predicted: network resnet18 fp32 b1`: predicted over measured time, the error of the roofline


def obtain_predicted(claim: Claim, context: Context) -> Obtained:
    """Predicted over measured time; of several measurements the one farthest from the expectation. [1]"""
    known = _asked(claim, context)
    rows = selected(rows_of(claim, context), claim.subject)
    told = farthest(claim, ((one, _ratio(one, known)) for one in rows))
    row, ratio = told.row, told.value
    found = bounds(row, known.hardware, known.networks)
    assert found is not None  # there was a ratio
    times_s = (found.roofline_s, row.measurement.samples.best_s)
    roofline, best = (units.format_quantity(time_s, units.SECONDS) for time_s in times_s)
    return Obtained(
        value=ratio,
        dimension=units.DIMENSIONLESS,
        formula=f"{roofline} by the roofline ({found.bound}) / {best} measured",
        facts=found.facts,
        hardware=known.hardware,
        precision=row.precision,
        written=units.format_number,
        details=f"            {row.place}  {row.measurement.name}",
        doubt=told.doubt,
        causes=tuple(_causes(row, found, known, ratio)),
    )


def _ratio(row: Row, known: LawContext) -> float:
    found = bounds(row, known.hardware, known.networks)
    if found is None:
        raise ClaimError(f"{row.measurement.name} has no prediction: the recording counts neither ops nor bytes")
    return found.roofline_s / row.measurement.samples.best_s


def _causes(row: Row, found: Bounds, known: LawContext, ratio: float) -> list[Cause]:
    """A miscount of ops; where the measurement is faster than the roofline, also the causes of a diagnosis."""
    several = []
    if isinstance(row.subject, Network):
        cause = miscounted(row, known.networks(row.subject).total_macs)
        several += [cause] if cause else []
    if ratio > 1:
        several += causes(row, found, ratio, known.hardware, known.registry)
    return several


PREDICTED = Kind(
    "predicted",
    "predicted time (roofline) over measured time of a product, a stream or a network",
    obtain_predicted,
    units.DIMENSIONLESS,
    inferred=True,
    check=check_selection,
    options={**MACHINE, **COMPUTE, **DESPITE},
    rows_alone=True,
)
