"""`breakpoint: tensor_core int8 / lpddr5`: the arithmetic intensity above which compute is the limit."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained, halves, unit_precision
from rooflint.base.units import OPS_PER_BYTE
from rooflint.roofline import breakpoint_ops_per_byte


def check(claim: Claim) -> None:
    """Refuse a subject other than `unit precision / memory`."""
    unit_precision(halves(claim.subject)[0])


def obtain(claim: Claim, context: Context) -> Obtained:
    """Peak over bandwidth. [op/B]"""
    hardware = context.device(claim)
    left, memory = halves(claim.subject)
    unit, precision = unit_precision(left)
    computing, moving = hardware.unit(unit), hardware.memory(memory)
    peak, bandwidth = computing.derivation(precision), moving.derivation()
    return Obtained(
        value=breakpoint_ops_per_byte(peak.result, bandwidth.result),
        dimension=OPS_PER_BYTE,
        formula=f"({peak.formula}) / ({bandwidth.formula})",
        facts=(*peak.facts, *bandwidth.facts),
        ladder=peak,
        divisor=bandwidth,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


KIND = Kind(
    "breakpoint",
    "the arithmetic intensity above which compute is the limit: peak / bandwidth",
    obtain,
    OPS_PER_BYTE,
    check=check,
)
