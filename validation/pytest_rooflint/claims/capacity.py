"""`capacity: hbm3`: size of a memory or a cache."""

from pytest_rooflint.claims.peak import part_factor
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import PER, Context, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import BYTES


def obtain(claim: Claim, context: Context) -> Obtained:
    """The capacity, of one part where the claim says `per:`."""
    hardware = context.device(claim)
    cache = hardware.caches.get(claim.subject)
    fact = cache or hardware.memory(claim.subject).fact("capacity")
    ladder = Ladder((Factor("capacity", fact.value, fact.display, fact),))
    if part := claim.option("per"):
        ladder = ladder.times(part_factor(hardware, part))
    return Obtained(ladder.result, BYTES, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind("capacity", "the size of a memory or a cache", obtain, BYTES, options=PER)
