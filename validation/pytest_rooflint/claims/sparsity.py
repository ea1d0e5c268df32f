"""`sparsity: tensor_core int8`: the factor by which structured sparsity raises the dense peak."""

from pytest_rooflint.claim import Claim
from pytest_rooflint.claims.subjects import unit_precision
from pytest_rooflint.kinds import Context, Kind, Obtained
from rooflint.facts import Factor, Ladder
from rooflint.units import DIMENSIONLESS


def check(claim: Claim) -> None:
    """Refuse what is not `unit precision`."""
    unit_precision(claim.subject)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Look it up."""
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
