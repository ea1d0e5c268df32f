"""`ratio: tensor_core int8 / tensor_core fp16`: rate per clock of a unit and precision over that of another."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained, halves, unit_precision
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.device import ComputeUnit


def check(claim: Claim) -> None:
    """Refuse a subject other than two different `unit precision` with '/' between them."""
    above, below = halves(claim.subject)
    if unit_precision(above) == unit_precision(below):
        raise ClaimError(f"'{claim.subject}' compares a rate with itself")


def obtain(claim: Claim, context: Context) -> Obtained:
    """MAC/clock over MAC/clock; of all units of a group, where the units differ. [1]"""
    hardware = context.device(claim)
    (unit, precision), (other, second) = map(unit_precision, halves(claim.subject))
    one, two = hardware.unit(unit), hardware.unit(other)
    above, below = _rate(one, precision), _rate(two, second)
    if unit != other:
        above, below = _in_a_group(one, above), _in_a_group(two, below)
    return Obtained(
        value=above.result / below.result,
        dimension=DIMENSIONLESS,
        formula=f"({above.formula}) / ({below.formula})",
        facts=(*above.facts, *below.facts),
        ladder=above,
        divisor=below,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


def _rate(unit: ComputeUnit, precision: str) -> Ladder:
    fact = unit.fact(f"macs_per_clock.{precision}")
    return Ladder((Factor("rate", fact.value, f"{fact.display}/clock", fact),))


def _in_a_group(unit: ComputeUnit, rate: Ladder) -> Ladder:
    fact = unit.fact("per_group")
    return rate.times(Factor("per_group", fact.value, f"{fact.display} {unit.name}", fact))


KIND = Kind(
    "ratio",
    "rate per clock of a unit and precision over that of another",
    obtain,
    DIMENSIONLESS,
    check=check,
    scopes=("hardware", "architecture"),
)
