"""`full_die: SM`: number of groups on the die, enabled or not."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.device import UnsupportedError


def obtain(claim: Claim, context: Context) -> Obtained:
    """Groups of one die × dies. Raises UnsupportedError where the spec does not give them."""
    hardware = context.device(claim)
    ladder = hardware.full_groups(claim.subject)
    if ladder is None:
        raise UnsupportedError(f"the spec of {hardware.id} does not give the number of '{claim.subject}' on the die")
    return Obtained(ladder.result, DIMENSIONLESS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind(
    "full_die",
    "number of groups with that name on the die, enabled or not",
    obtain,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)
