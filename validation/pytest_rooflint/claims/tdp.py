"""`tdp: rated`: the rated power of a device, or another power figure of its spec."""

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained
from rooflint.base.facts import Factor, Ladder
from rooflint.base.units import WATTS
from rooflint.hardware.device import UnsupportedError
from rooflint.hardware.schema import PowersSpec

_NAMES = ("rated", *PowersSpec.model_fields)


def check(claim: Claim) -> None:
    """Refuse an unknown power figure."""
    if claim.subject not in _NAMES:
        raise ClaimError(f"want one of {', '.join(_NAMES)}, found '{claim.subject}'")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Look up the power."""
    hardware = context.device(claim)
    fact = hardware.facts.get("tdp" if claim.subject == "rated" else f"powers.{claim.subject}")
    if fact is None:
        raise UnsupportedError(f"{hardware.id} has no {claim.subject} power")
    ladder = Ladder((Factor("power", fact.value, fact.display, fact),))
    return Obtained(fact.value, WATTS, ladder.formula, ladder.facts, ladder=ladder, hardware=hardware)


KIND = Kind("tdp", "a rated, typical or measured power of the device", obtain, WATTS, check=check)
