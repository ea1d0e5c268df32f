"""`full_die: SM`: how many groups the silicon has, enabled or not."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained
from rooflint.base.units import DIMENSIONLESS
from rooflint.devices.hardware import UnsupportedError


def obtain(claim: Claim, context: Context) -> Obtained:
    """Those of one die × dies. Raises UnsupportedError where the spec does not say it."""
    hardware = context.device(claim)
    ladder = hardware.full_groups(claim.subject)
    if ladder is None:
        raise UnsupportedError(f"{hardware.id} does not say how many '{claim.subject}' its full die has")
    return Obtained(ladder.result, DIMENSIONLESS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind(
    "full_die",
    "how many groups of that name the silicon has, enabled or not",
    obtain,
    DIMENSIONLESS,
    modes=False,
    scopes=("hardware", "architecture"),
)
