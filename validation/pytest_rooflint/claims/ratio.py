"""`ratio: tensor_core int8 / tensor_core fp16`: rates per clock of one unit against another, of an architecture."""

from pytest_rooflint.claim import Claim
from pytest_rooflint.claims.subjects import halves, unit_precision
from pytest_rooflint.kinds import Context, Kind, Obtained
from rooflint.facts import Fact, Factor, Ladder
from rooflint.units import DIMENSIONLESS


def check(claim: Claim) -> None:
    """Refuse what is not `unit precision / unit precision`."""
    for half in halves(claim.subject):
        unit_precision(half)


def obtain(claim: Claim, context: Context) -> Obtained:
    """Divide MAC/clock by MAC/clock; with several units in a group, per group."""
    hardware = context.device(claim)
    (unit, precision), (other, second) = map(unit_precision, halves(claim.subject))
    above = hardware.unit(unit).fact(f"macs_per_clock.{precision}")
    below = hardware.unit(other).fact(f"macs_per_clock.{second}")
    factors = [
        Factor("rate", above.value, f"{above.display}/clock", above),
        Factor("other", 1 / below.value, f"1/({below.display}/clock)", below),
    ]
    if unit != other:
        factors += _per_group(hardware.unit(unit).fact("per_group"), hardware.unit(other).fact("per_group"))
    ladder = Ladder(tuple(factors))
    return Obtained(
        ladder.result,
        DIMENSIONLESS,
        ladder.formula,
        ladder.facts,
        ladder=ladder,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


def _per_group(above: Fact, below: Fact) -> list[Factor]:
    return [
        Factor("per_group", above.value, f"{above.display} per group", above),
        Factor("other_per_group", 1 / below.value, f"1/({below.display} per group)", below),
    ]


KIND = Kind(
    "ratio",
    "rate per clock of one unit and precision over another's",
    obtain,
    DIMENSIONLESS,
    check=check,
    scopes=("hardware", "architecture"),
)
