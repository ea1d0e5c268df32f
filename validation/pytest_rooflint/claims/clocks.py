"""`clocks: base <= tensor_core <= boost`: an order of a device's clocks."""

import re

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Kind, Obtained
from rooflint.base.facts import Fact
from rooflint.base.units import HERTZ
from rooflint.hardware.device import Hardware, UnsupportedError

_SIGN = re.compile(r"\s*(<=|<)\s*")


def check(claim: Claim) -> None:
    """Refuse a subject other than `a <= b [<= c …]`."""
    if len(_SIGN.split(claim.subject)) < 3:
        raise ClaimError(f"want clocks with '<=' or '<' between them, found '{claim.subject}'")
    if not all(_SIGN.split(claim.subject)):
        raise ClaimError(f"want a clock on each side of '<=' or '<', found '{claim.subject}'")


def obtain(claim: Claim, context: Context) -> Obtained:
    """Compare each clock with the next."""
    hardware = context.device(claim)
    words = _SIGN.split(claim.subject)
    facts = [_clock(hardware, name) for name in words[::2]]
    if len({fact.path for fact in facts}) < len(facts):
        raise ClaimError(f"'{claim.subject}' compares a clock with itself")
    pairs = zip(facts, facts[1:], words[1::2], strict=False)
    return Obtained(
        value=facts[-1].value,
        dimension=HERTZ,
        display=", ".join(f"{name} {fact.display}" for name, fact in zip(words[::2], facts, strict=True)),
        formula="",
        facts=tuple(facts),
        holds=all(low.value <= high.value if sign == "<=" else low.value < high.value for low, high, sign in pairs),
        expected=claim.subject,
        hardware=hardware,
    )


def _clock(hardware: Hardware, name: str) -> Fact:
    unit, _, precision = name.partition(" ")
    precision = precision.lower()
    if f"clocks.{name}" in hardware.facts:
        return hardware.facts[f"clocks.{name}"]
    if unit in hardware.units:
        own = hardware.facts.get(f"units.{unit}.clock_of.{precision}")
        return own or hardware.units[unit].fact("clock")
    having = [path.removeprefix("clocks.") for path in hardware.facts if path.startswith("clocks.")]
    raise UnsupportedError(f"{hardware.id} has no clock '{name}' (has: {', '.join((*having, *hardware.units))})")


KIND = Kind(
    "clocks",
    "an order of clocks: base, boost, a unit, or a unit and a precision",
    obtain,
    expects=lambda subject: False,
    inferred=True,
    check=check,
)
