"""`sustained: tensor_core bf16`: a rate that was measured, which the device had within its power.

What a device did, it did with the power that it may draw. So the lowest power that physics gives for the rate,
published arithmetic alone and idle power, must not be above the limit, nor the rate above the dense peak. That bounds
energies from above by measurements; it says nothing of how far below they are.
"""

from dataclasses import dataclass

from pytest_rooflint.claims.working import HARDWARE, MOVED, check_device, check_moved, drawn, quantity, slug_of_work
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained, unit_precision
from rooflint.base.facts import Fact, Ladder
from rooflint.base.precision import rate_unit
from rooflint.base.text import row
from rooflint.base.units import OPS_PER_S, WATTS, format_quantity
from rooflint.devices.hardware import Hardware
from rooflint.energy.model import EnergyError, power_limit
from rooflint.energy.power import WorkPower


@dataclass(frozen=True)
class Bound:
    """What a device may be asked for: its dense peak, and the rate at which its lowest power is the limit."""

    hardware: Hardware
    peak: Ladder
    draw: WorkPower
    """At the rate that was measured."""
    limit: Fact
    limit_w: float
    """The limit, or what the source says the device was held to. [W]"""

    @property
    def fixed_w(self) -> float:
        """The part of the lowest power that does not go with the rate. [W]"""
        return sum(power.low_w for power in self.draw.powers if power.cause == "static")

    @property
    def each_j(self) -> float:
        """The lowest energy of an op, with the bytes that it moves. [J/op]"""
        return (self.draw.low_w - self.fixed_w) / self.draw.work.ops_per_s

    @property
    def powered_ops_per_s(self) -> float:
        """The rate at which the lowest power is the limit; nothing where idle power alone takes it. [op/s]"""
        return max(0.0, self.limit_w - self.fixed_w) / self.each_j


def check(claim: Claim) -> None:
    """Refuse a subject that is no unit and precision, a missing device, and options that cannot mean anything."""
    unit_precision(claim.subject)
    check_device(claim)
    check_moved(claim)
    quantity(claim, "within", WATTS)


def obtain(claim: Claim, context: Context) -> Obtained:
    """As much of the measured rate as peak and power allow: all of it, or what it had to be less."""
    unit, precision = unit_precision(claim.subject)
    bound, attained = _bound(claim, context), _attained(claim)
    value = min(attained, bound.peak.result, bound.powered_ops_per_s)
    return Obtained(
        value=value,
        dimension=OPS_PER_S,
        formula=_formula(claim, bound, attained, precision),
        facts=_suspects(bound, attained),
        hardware=bound.hardware,
        unit=unit,
        precision=precision,
        details="" if value >= attained else row("", "", _contradiction(bound, attained, precision)),
    )


def _attained(claim: Claim) -> float:
    """What the source printed. [op/s]"""
    return claim.expectation.value if claim.expectation else 0.0


def _bound(claim: Claim, context: Context) -> Bound:
    hardware, attained = context.device(claim), _attained(claim)
    unit, precision = unit_precision(claim.subject)
    limit = power_limit(hardware)
    if limit is None:
        raise EnergyError(f"{hardware.id}: no power limit is known")
    held_w = quantity(claim, "within", WATTS)
    peak = hardware.unit(unit).derivation(precision)
    return Bound(hardware, peak, drawn(claim, context, attained), limit, limit.value if held_w is None else held_w)


def _formula(claim: Claim, bound: Bound, attained: float, precision: str) -> str:
    rates = (attained, bound.peak.result, bound.powered_ops_per_s)
    had, peak, powered = (_rate(rate, precision) for rate in rates)
    held = f" (held to {claim.option('within')})" if claim.option("within") else ""
    return (
        f"min({had} measured, {peak} dense peak, {powered} at which the lowest power is {_watts(bound.limit_w)}{held})"
    )


def _suspects(bound: Bound, attained: float) -> tuple[Fact, ...]:
    """The facts that cannot all be right beside the measured rate; all where they can."""
    rest = tuple(fact for power in bound.draw.low_parts() for fact in power.each.facts)
    by_power, by_peak = (bound.limit, *rest), bound.peak.facts
    if attained > bound.peak.result:
        return by_peak
    return by_power if attained > bound.powered_ops_per_s else (*by_power, *by_peak)


def _contradiction(bound: Bound, attained: float, precision: str) -> str:
    """What cannot be, in a sentence; the places are those of the facts below it."""
    had = _rate(attained, precision)
    if attained > bound.peak.result:
        return f"{had} is above the dense peak: the rate is wrong, or a factor of the peak"
    parts = " + ".join(f"{_watts(power.low_w)} {power.name}" for power in bound.draw.low_parts())
    return (
        f"{had} takes at the least {parts} = {_watts(bound.draw.low_w)} of {_watts(bound.limit_w)}: "
        "the rate is wrong, one of these energies, or the limit"
    )


def _rate(ops_per_s: float, precision: str) -> str:
    return format_quantity(ops_per_s, OPS_PER_S, unit=rate_unit(precision))


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


KIND = Kind(
    "sustained",
    "a measured rate of a unit in a precision, which neither the dense peak nor the power of the device may forbid",
    obtain,
    OPS_PER_S,
    scopes=(),
    inferred=True,
    check=check,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "within": {"type": "string", "description": "the power that the device was held to, where below its limit"},
    },
)
