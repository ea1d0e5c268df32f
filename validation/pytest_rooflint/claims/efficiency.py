"""`efficiency: gemm fp32`: measured rate over peak, the best of each recording, within a reviewed interval."""

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_rooflint.claims.measured import COMPUTE
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, check_precisions
from pytest_rooflint.recordings.bounds import best_rate
from pytest_rooflint.recordings.causes import of_ladder
from pytest_rooflint.recordings.files import MACHINE, rows_of
from pytest_rooflint.recordings.finding import DESPITE, check_despite, farthest
from pytest_rooflint.recordings.row import Row, selected, words
from rooflint.base.facts import Factor, Ladder
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES_PER_S, DIMENSIONLESS, OPS_PER_S, format_quantity, percent
from rooflint.hardware.device import Hardware


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


def check(claim: Claim) -> None:
    """Refuse a subject that is not a timed operation, and invalid options."""
    words(claim.subject)
    check_precisions(claim)
    check_despite(claim)


def reached(row: Row, hardware: Hardware) -> Reached:
    """The best rate of a measurement. Raises UnsupportedError where the device has no peak to compare it with."""
    of = best_rate(row.measurement, hardware)
    if row.precision:
        rate = row.measurement.ops_per_s or 0.0
        return Reached(row, rate, format_quantity(rate, OPS_PER_S, unit=rate_unit(row.precision)), of)
    rate = row.measurement.bytes_per_s or 0.0
    return Reached(row, rate, format_quantity(rate, BYTES_PER_S), of)


def obtain(claim: Claim, context: Context) -> Obtained:
    """The best of each recording; of several recordings the one farthest from the expectation."""
    hardware = context.device(claim)
    rows = selected(rows_of(claim, context), claim.subject)
    best = best_of_each([reached(row, hardware) for row in rows])
    if not all(one.share > 0 for one in best):
        raise ClaimError(f"'{claim.subject}' has no rate: the recording counts neither ops nor bytes")
    told = farthest(claim, ((one.row, one.share) for one in best))
    chosen = next(one for one in best if one.row is told.row)
    row, single = chosen.row, chosen.of[0] if len(chosen.of) == 1 else None
    beaten = single is not None and chosen.share > 1
    return Obtained(
        value=chosen.share,
        dimension=DIMENSIONLESS,
        formula=f"{chosen.shown} / ({' + '.join(ladder.formula for ladder in chosen.of)})",
        facts=tuple(fact for ladder in chosen.of for fact in ladder.facts),
        ladder=Ladder((Factor("measured", chosen.rate, chosen.shown),)) if single and not beaten else None,
        divisor=None if beaten else single,
        hardware=hardware,
        precision=row.precision,
        written=percent,
        details=f"            {row.place}  {row.measurement.name}",
        doubt=told.doubt,
        causes=tuple(of_ladder(row, single, chosen.share, hardware, context.registry)) if single and beaten else (),
    )


def best_of_each(several: Iterable[Reached]) -> list[Reached]:
    """The highest share of each recording."""
    found: dict[object, Reached] = {}
    for one in several:
        key = one.row.recorded.file
        if key not in found or found[key].share < one.share:
            found[key] = one
    return list(found.values())


KIND = Kind(
    "efficiency",
    "measured rate over peak of products, streams or networks, the best of each recording",
    obtain,
    DIMENSIONLESS,
    inferred=True,
    check=check,
    options={**MACHINE, **COMPUTE, **DESPITE},
)
