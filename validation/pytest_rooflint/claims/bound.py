"""`bound: a` with `is: memory`: what limits most of a workload's latency on a device."""

from pytest_rooflint.claims import latency
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import FIDELITY, STORAGE, WORKLOAD, ClaimError, Context, Kind, Obtained
from rooflint.base.units import OPS_PER_BYTE, format_number

_BOUNDS = ("compute", "memory", "launch")


def check(claim: Claim) -> None:
    """Refuse what a latency claim refuses, and an unknown bound."""
    latency.check(claim)
    if claim.option("is") not in _BOUNDS:
        raise ClaimError(f"is: want one of {', '.join(_BOUNDS)}, found '{claim.option('is')}'")


def obtain(claim: Claim, context: Context) -> Obtained:
    """The bound of the estimate."""
    one = latency.estimated(claim, context, claim.subject)
    return Obtained(
        value=one.intensity_ops_per_byte,
        dimension=OPS_PER_BYTE,
        display=f"{one.bound}-bound: {format_number(one.intensity_ops_per_byte)} op/B, breakpoint "
        f"{format_number(one.breakpoint_ops_per_byte)} op/B",
        formula="",
        facts=() if claim.given else latency.facts(claim, context, claim.subject, one),
        holds=one.bound == claim.option("is"),
        expected=f"{claim.option('is')}-bound",
        precision=one.compute,
        others=(claim.subject,),
    )


KIND = Kind(
    "bound",
    "what limits most of a workload's latency on a device",
    obtain,
    expects=lambda subject: False,
    scopes=(),
    inferred=True,
    check=check,
    options={**STORAGE, **FIDELITY, **WORKLOAD, "is": {"enum": list(_BOUNDS)}},
)
