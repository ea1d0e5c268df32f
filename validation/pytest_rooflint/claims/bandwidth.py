"""`bandwidth: hbm3`: bandwidth of a memory, bus × pin rate."""

from pytest_rooflint.claims.peak import part_factor
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import PER, Context, Kind, Obtained
from rooflint.base.units import BYTES_PER_S


def obtain(claim: Claim, context: Context) -> Obtained:
    """Derive the bandwidth, of one part where the claim says `per:`."""
    hardware = context.device(claim)
    ladder = hardware.memory(claim.subject).derivation()
    if part := claim.option("per"):
        ladder = ladder.times(part_factor(hardware, part))
    return Obtained(ladder.result, BYTES_PER_S, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind("bandwidth", "the bandwidth of a memory: bus × pin rate", obtain, BYTES_PER_S, options=PER)
