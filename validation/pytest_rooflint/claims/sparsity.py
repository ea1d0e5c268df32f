"""`sparsity: tensor_core int8`: the factor by which structured sparsity raises the dense peak."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained, unit_precision
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS


def check(claim: Claim) -> None:
    """Refuse a subject other than `unit precision`."""
    unit_precision(claim.subject)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Look up the factor."""
    hardware = context.device(claim)
    unit, precision = unit_precision(claim.subject)
    fact = hardware.unit(unit).fact(f"sparsity.{precision}")
    ladder = Ladder((Factor("sparsity", fact.value, fact.display, fact),))
    return Obtained(
        fact.value,
        DIMENSIONLESS,
        ladder.formula,
        ladder.facts,
        ladder=ladder,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


KIND = Kind(
    "sparsity",
    "the factor by which structured sparsity raises the dense peak",
    obtain,
    DIMENSIONLESS,
    check=check,
    scopes=("hardware", "architecture"),
)
