"""`intensity: fp32`: arithmetic intensity of a workload, ops over bytes, stored in that precision."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import WORKLOAD, ClaimError, Context, Kind, Obtained
from rooflint.base.precision import UnknownPrecisionError, precision
from rooflint.base.units import OPS_PER_BYTE


def check(claim: Claim) -> None:
    """Refuse an unknown precision."""
    try:
        precision(claim.subject)
    except UnknownPrecisionError as error:
        raise ClaimError(str(error)) from error


def obtain(claim: Claim, context: Context) -> Obtained:
    """Ops over bytes. [op/B]"""
    workload = context.workload(claim)
    return Obtained(
        workload.intensity_ops_per_byte(claim.subject),
        OPS_PER_BYTE,
        f"{workload.total_ops} op / {workload.total_bytes(claim.subject):.0f} B",
    )


KIND = Kind(
    "intensity",
    "arithmetic intensity of a workload stored in a precision",
    obtain,
    OPS_PER_BYTE,
    scopes=(),
    modes=False,
    check=check,
    options=WORKLOAD,
)
