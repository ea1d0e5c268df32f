"""Values that kinds of several topics obtain alike: products and quotients of facts, and orders."""

from typing import Any

from pytest_rooflint.golden.kinds import Claim, ClaimError, Context, Obtained, check_flag
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.units import Dimension
from rooflint.hardware.device import Hardware, UnsupportedError
from rooflint.hardware.names import system_of
from rooflint.hardware.system import System

REFUTED: dict[str, dict[str, Any]] = {"refuted": {"type": "boolean", "description": "the order must not hold"}}


def one_fact(name: str, fact: Fact, display: str | None = None) -> Ladder:
    """The derivation of a value that is a fact itself."""
    return Ladder((Factor(name, fact.value, display or fact.display, fact),))


def per_part(ladder: Ladder, claim: Claim, hardware: Hardware) -> Ladder:
    """The derivation for one part of the device where the claim says `per:`, otherwise for all of it.

    Raises UnsupportedError where the device has no parts with that name.
    """
    part = claim.option("per")
    if not part:
        return ladder
    fact = hardware.facts.get(f"parts.{part}")
    if fact is None:
        having = [path.removeprefix("parts.") for path in hardware.facts if path.startswith("parts.")]
        raise UnsupportedError(f"{hardware.id} has no parts named '{part}' (has: {', '.join(having) or 'none'})")
    return ladder.times(Factor("parts", 1 / fact.value, f"1/{fact.display} ({part})", fact, inverse=True))


def together(ladder: Ladder, claim: Claim, hardware: Hardware, system: System | None) -> Ladder:
    """The derivation of one device, for all devices of a system, or as `per_part` says."""
    if system is None:
        return per_part(ladder, claim, hardware)
    return ladder if _per_device(claim, system) else system.devices().times(*ladder.factors)


def _per_device(claim: Claim, system: System) -> bool:
    """Whether a claim about a system is about one of its devices. Raises UnsupportedError for another part."""
    part = claim.option("per")
    if part not in (None, "device"):
        raise UnsupportedError(f"{system.id} has no parts named '{part}' (has: device)")
    return part is not None


def network_of(claim: Claim, name: str, directions: int, system: System) -> Ladder:
    """The bandwidth of the network cards of a system, or of one device's share. Raises UnsupportedError."""
    whole = system.network(name, directions)
    return system.per_device(whole) if _per_device(claim, system) else whole


def of_system(claim: Claim, context: Context) -> tuple[Hardware, System | None]:
    """The device that a claim is about, and the system of such devices where it is about one."""
    hardware = context.device(claim)
    if hardware.joined is None:
        return hardware, None
    system = system_of(context.registry, hardware)
    return system.device, system


def product(
    ladder: Ladder, dimension: Dimension, hardware: Hardware, unit: str | None = None, precision: str | None = None
) -> Obtained:
    """The value of one derivation."""
    return Obtained(
        ladder.result,
        dimension,
        ladder.formula,
        ladder.facts,
        ladder=ladder,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


def quotient(
    value: float, above: Ladder, below: Ladder, dimension: Dimension, hardware: Hardware, unit: str, precision: str
) -> Obtained:
    """The value of one derivation over another."""
    return Obtained(
        value,
        dimension,
        f"({above.formula}) / ({below.formula})",
        (*above.facts, *below.facts),
        ladder=above,
        divisor=below,
        hardware=hardware,
        unit=unit,
        precision=precision,
    )


def check_refuted(claim: Claim) -> None:
    """Refuse `refuted:` where the claim is not an order. Raises ClaimError."""
    check_flag(claim, "refuted")
    if claim.expectation and claim.option("refuted"):
        raise ClaimError("refuted: only an order can be refuted")


def order(claim: Claim, rising: bool) -> tuple[bool | None, str]:
    """Whether the order that a claim states or refutes holds, and what it expects; no verdict with an `expect`."""
    refuted = bool(claim.option("refuted"))
    holds = None if claim.expectation else rising is not refuted
    return holds, f"not {claim.subject}" if refuted else claim.subject
