"""`sustained: tensor_core bf16`: a measured rate must be possible within the dense peak and the power limit.

A measured rate was reached within the device's power limit. So the lowest calculated power at that rate (published
arithmetic plus idle power) must not exceed the limit, nor the rate the dense peak. Measured rates thus bound the
energies from above, not from below.
"""

from dataclasses import dataclass

from pytest_rooflint.claims.measured_work import (
    HARDWARE,
    MOVED,
    check_device,
    check_moved,
    drawn,
    quantity,
    slug_of_work,
)
from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import Context, Kind, Obtained, unit_precision
from rooflint.base.facts import Fact, Ladder
from rooflint.base.precision import rate_unit
from rooflint.base.text import row
from rooflint.base.units import OPS_PER_S, WATTS, format_quantity
from rooflint.energy.model import EnergyError, power_limit
from rooflint.energy.power import WorkPower
from rooflint.hardware.device import Hardware


@dataclass(frozen=True)
class Bound:
    """The limits of a rate: the dense peak, and the rate at which the lowest power reaches the power limit."""

    hardware: Hardware
    peak: Ladder
    draw: WorkPower
    """Power at the measured rate."""
    limit: Fact
    limit_w: float
    """The power limit, or the lower one (`within:`) under which the rate was measured. [W]"""

    @property
    def fixed_w(self) -> float:
        """The part of the lowest power that does not depend on the rate. [W]"""
        return sum(power.low_w for power in self.draw.powers if power.cause == "static")

    @property
    def each_j(self) -> float:
        """The lowest energy per op, including the bytes that it moves. [J/op]"""
        return (self.draw.low_w - self.fixed_w) / self.draw.work.ops_per_s

    @property
    def powered_ops_per_s(self) -> float:
        """The rate at which the lowest power reaches the limit; 0 where idle power alone exceeds it. [op/s]"""
        return max(0.0, self.limit_w - self.fixed_w) / self.each_j


def check(claim: Claim) -> None:
    """Refuse a subject other than `unit precision`, a missing device, and invalid options."""
    unit_precision(claim.subject)
    check_device(claim)
    check_moved(claim)
    quantity(claim, "within", WATTS)


def obtain(claim: Claim, context: Context) -> Obtained:
    """The measured rate, or the lower one that peak and power allow."""
    unit, precision = unit_precision(claim.subject)
    bound, attained = _bound(claim, context), _attained(claim)
    value = min(attained, bound.peak.result, bound.powered_ops_per_s)
    return Obtained(
        value=value,
        dimension=OPS_PER_S,
        formula=_formula(claim, bound, attained, precision),
        facts=_relevant_facts(bound, attained),
        hardware=bound.hardware,
        unit=unit,
        precision=precision,
        details="" if value >= attained else row("", "", _contradiction(bound, attained, precision)),
    )


def _attained(claim: Claim) -> float:
    """The measured rate. [op/s]"""
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
    return f"min({had} measured, {peak} dense peak, {powered} at the lowest power of {_watts(bound.limit_w)}{held})"


def _relevant_facts(bound: Bound, attained: float) -> tuple[Fact, ...]:
    """The facts that contradict the measured rate; all of them where none do."""
    rest = tuple(fact for power in bound.draw.low_parts() for fact in power.each.facts)
    by_power, by_peak = (bound.limit, *rest), bound.peak.facts
    if attained > bound.peak.result:
        return by_peak
    return by_power if attained > bound.powered_ops_per_s else (*by_power, *by_peak)


def _contradiction(bound: Bound, attained: float, precision: str) -> str:
    """The contradiction in a sentence; the verdict lists its facts below."""
    had = _rate(attained, precision)
    if attained > bound.peak.result:
        return f"{had} is above the dense peak: the rate or a factor of the peak is wrong"
    parts = " + ".join(f"{_watts(power.low_w)} {power.name}" for power in bound.draw.low_parts())
    return (
        f"{had} takes at least {parts} = {_watts(bound.draw.low_w)} of {_watts(bound.limit_w)}: "
        "the rate, one of these energies or the limit is wrong"
    )


def _rate(ops_per_s: float, precision: str) -> str:
    return format_quantity(ops_per_s, OPS_PER_S, unit=rate_unit(precision))


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


KIND = Kind(
    "sustained",
    "a measured rate of a unit in a precision, which must be possible within the dense peak and the power limit",
    obtain,
    OPS_PER_S,
    scopes=(),
    inferred=True,
    check=check,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "within": {"type": "string", "description": "the power limit of the measurement, where below the device's"},
    },
)
