"""`resident_warps: SM`: number of warps that one group holds at a time."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.device import UnsupportedError


def obtain(claim: Claim, context: Context) -> Obtained:
    """Look up the number. Raises UnsupportedError where the spec does not give it."""
    hardware = context.device(claim)
    fact = hardware.facts.get(f"resident_warps.{claim.subject}")
    if fact is None:
        raise UnsupportedError(f"the spec of {hardware.id} does not give the number of warps in a '{claim.subject}'")
    ladder = Ladder((Factor("resident_warps", fact.value, f"{fact.display} warps", fact),))
    return Obtained(ladder.result, DIMENSIONLESS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind(
    "resident_warps",
    "number of warps that a group with that name holds at a time",
    obtain,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)
