"""`resident_warps: SM`: how many warps one group of that name can hold at a time."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS
from rooflint.devices.hardware import UnsupportedError


def obtain(claim: Claim, context: Context) -> Obtained:
    """Read the fact. Raises UnsupportedError where the spec does not say it."""
    hardware = context.device(claim)
    fact = hardware.facts.get(f"resident_warps.{claim.subject}")
    if fact is None:
        raise UnsupportedError(f"{hardware.id} does not say how many warps a '{claim.subject}' holds")
    ladder = Ladder((Factor("resident_warps", fact.value, f"{fact.display} warps", fact),))
    return Obtained(ladder.result, DIMENSIONLESS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind(
    "resident_warps",
    "how many warps a group of that name can hold at a time",
    obtain,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)
