"""`attainable: tensor_core fp16 / hbm2`: the rate that the roofline allows at a workload's arithmetic intensity."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import STORED, WORKLOAD, ClaimError, Context, Kind, Obtained, halves, unit_precision
from rooflint.base.facts import Factor
from rooflint.base.precision import UnknownPrecisionError, precision
from rooflint.base.units import OPS_PER_S, format_number
from rooflint.roofline import attainable_ops_per_s


def check(claim: Claim) -> None:
    """Refuse a subject other than `unit precision / memory`, and an unknown storage precision."""
    unit_precision(halves(claim.subject)[0])
    try:
        precision(str(claim.option("storage", "int8")))
    except UnknownPrecisionError as error:
        raise ClaimError(f"storage: {error}") from error


def obtain(claim: Claim, context: Context) -> Obtained:
    """The lower of the peak and of intensity × bandwidth.

    A diagnosis examines the lower one, and where the value is too high, the higher one, too.
    """
    hardware = context.device(claim)
    left, memory = halves(claim.subject)
    unit, compute = unit_precision(left)
    intensity = context.workload(claim).intensity_ops_per_byte(str(claim.option("storage", compute)))
    computing, moving = hardware.unit(unit), hardware.memory(memory)
    peak, bandwidth = computing.derivation(compute), moving.derivation()
    slope = bandwidth.times(Factor("intensity", intensity, f"{format_number(intensity)} op/B"))
    lower, higher = sorted((peak, slope), key=lambda ladder: ladder.result)
    return Obtained(
        value=float(attainable_ops_per_s(intensity, peak.result, bandwidth.result)),
        dimension=OPS_PER_S,
        formula=f"min({peak.formula}, {slope.formula})",
        facts=(*peak.facts, *bandwidth.facts),
        ladder=lower,
        higher=higher,
        hardware=hardware,
        unit=unit,
        precision=compute,
    )


KIND = Kind(
    "attainable",
    "the rate that the roofline allows at a workload's arithmetic intensity: min(peak, intensity × bandwidth)",
    obtain,
    OPS_PER_S,
    check=check,
    options={**STORED, **WORKLOAD},
)
