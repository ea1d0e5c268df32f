"""Claims about power: rated figures (`tdp`), and measured work within what is calculated (`sustained`, `power`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_rooflint.claims.obtained import one_fact, product, quotient
from pytest_rooflint.golden.expect import ExpectationError, parse_expectation
from pytest_rooflint.golden.kinds import (
    Claim,
    ClaimError,
    Context,
    Kind,
    Obtained,
    compared,
    halves,
    slug,
    slug_of,
    unit_precision,
)
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.precision import bytes_per_element, format_rate
from rooflint.base.text import row
from rooflint.base.units import (
    BYTES_PER_S,
    DIMENSIONLESS,
    OPS_PER_MAC,
    OPS_PER_S,
    WATTS,
    Dimension,
    format_quantity,
    measure,
)
from rooflint.energy.model import Energies, EnergyError, power_limit
from rooflint.energy.power import Work, WorkPower, power_of
from rooflint.hardware.device import Hardware, UnsupportedError
from rooflint.hardware.schema import PowersSpec

# ---- `tdp: rated`, or another power figure of the spec

_NAMES = ("rated", *PowersSpec.model_fields)


def check_tdp(claim: Claim) -> None:
    """Refuse an unknown power figure."""
    if claim.subject not in _NAMES:
        raise ClaimError(f"want one of {', '.join(_NAMES)}, found '{claim.subject}'")


def obtain_tdp(claim: Claim, context: Context) -> Obtained:
    """Look up the power. [W]"""
    hardware = context.device(claim)
    fact = hardware.facts.get("tdp" if claim.subject == "rated" else f"powers.{claim.subject}")
    if fact is None:
        raise UnsupportedError(f"{hardware.id} has no {claim.subject} power")
    return product(one_fact(fact.path.rpartition(".")[0] or fact.path, fact), WATTS, hardware)


TDP = Kind("tdp", "a rated, typical or measured power of the device", obtain_tdp, WATTS, check=check_tdp)

# ---- `peak_per_w: nvidia/h100-sxm5-80gb / nvidia/a100-sxm4-80gb`: peak over rated power, of one device over another


def check_peak_per_w(claim: Claim) -> None:
    """Refuse other than two different devices, with one `unit precision` for both or one for each."""
    one, two = halves(claim.subject)
    if one == two:
        raise ClaimError(f"'{claim.subject}' compares a device with itself")
    _rates(claim)


def _rates(claim: Claim) -> list[tuple[str, str]]:
    """Unit and precision of both devices. Raises ClaimError."""
    of = claim.option("of")
    if not isinstance(of, str):
        raise ClaimError("want the rate that is compared, such as 'of: tensor_core fp16'")
    both = halves(of) if " / " in of else (of, of)
    return [unit_precision(text) for text in both]


def obtain_peak_per_w(claim: Claim, context: Context) -> Obtained:
    """Dense peak over rated power, of the first device over the second. [1]"""
    devices = [context.device(claim, name) for name in halves(claim.subject)]
    rates = _rates(claim)
    one, two = (_per_watt(device, *rate) for device, rate in zip(devices, rates, strict=True))
    return quotient(one.result / two.result, one, two, DIMENSIONLESS, devices[0], *rates[0])


def _per_watt(device: Hardware, unit: str, name: str) -> Ladder:
    fact = device.facts.get("tdp")
    if fact is None:
        raise UnsupportedError(f"{device.id} has no rated power")
    return device.unit(unit).derivation(name).times(Factor("power", 1 / fact.value, f"1/{fact.display}", fact, True))


PEAK_PER_W = Kind(
    "peak_per_w",
    "peak over rated power of one device, over that of another",
    obtain_peak_per_w,
    DIMENSIONLESS,
    scopes=(),
    modes=False,
    inferred=True,
    check=check_peak_per_w,
    about=compared,
    slug=lambda claim: slug(f"{claim.subject} {claim.option('of')}"),
    options={
        "of": {
            "type": "string",
            "description": "unit and precision: tensor_core fp16, or one for each with '/' between",
        }
    },
)

# ---- measured work: the device, the rate, the bytes that were moved, and their calculated power

HARDWARE: dict[str, dict[str, Any]] = {
    "hardware": {"type": "string", "description": "the device, where a file is about several"}
}
MOVED: dict[str, dict[str, Any]] = {
    "product": {
        "type": "array",
        "items": {"type": "integer", "minimum": 1},
        "minItems": 3,
        "maxItems": 3,
        "description": "m, n and k of the product that ran; each of its matrices is moved at least once",
    },
    "traffic": {"type": "string", "description": "the memory traffic that the source gives, such as 1.2 TB/s"},
}


def check_work(claim: Claim) -> None:
    """Refuse a claim that names no device, and invalid sizes or traffic. Raises ClaimError."""
    if not isinstance(claim.hardware, str):
        raise ClaimError("want the device that was measured, such as 'hardware: nvidia/t4'")
    sizes = claim.option("product")
    if sizes is not None and not _is_product(sizes):
        raise ClaimError(f"product: want m, n and k such as [8192, 8192, 8192], found {sizes}")
    if sizes is not None and claim.option("traffic") is not None:
        raise ClaimError("'product' implies a least traffic and 'traffic' gives it; keep one of the two")
    quantity(claim, "traffic", BYTES_PER_S)


def _is_product(found: object) -> bool:
    sizes = found if isinstance(found, list) else []
    return len(sizes) == 3 and all(type(size) is int and size > 0 for size in sizes)


def quantity(claim: Claim, option: str, dimension: Dimension) -> float | None:
    """The value of an option in base units; None where it is missing. Raises ClaimError."""
    if claim.option(option) is None:
        return None
    try:
        read = parse_expectation(claim.option(option))
    except ExpectationError as error:
        raise ClaimError(f"{option}: {error}") from error
    if read.dimension != dimension:
        raise ClaimError(f"{option}: want a value {measure(dimension)}, '{read.text}' is {measure(read.dimension)}")
    return read.value


def least_bytes_per_s(claim: Claim, precision: str, ops_per_s: float) -> float:
    """The least traffic of the claim's product, each matrix once; 0 without a product. [B/s]

    m · k + k · n + m · n elements for 2 · m · n · k ops.
    """
    if claim.option("product") is None:
        return 0.0
    m, n, k = map(int, claim.option("product"))
    elements = m * k + k * n + m * n
    return ops_per_s * elements * bytes_per_element(precision) / (OPS_PER_MAC * m * n * k)


def _power_of_unit(claim: Claim, context: Context, ops_per_s: float) -> WorkPower:
    unit, precision = unit_precision(claim.subject)
    text = quantity(claim, "traffic", BYTES_PER_S)
    least = least_bytes_per_s(claim, precision, ops_per_s) if text is None else text
    return _power_of(context.device(claim), Work(unit, precision, ops_per_s, least, text), context)


def _power_of(hardware: Hardware, work: Work, context: Context) -> WorkPower:
    return power_of(hardware, work, Energies.of(context.registry))


def slug_of_work(claim: Claim) -> str:
    """The id of such a claim: device, subject, rate and limit."""
    return slug(f"{claim.hardware}-{slug_of(claim, 'rate', 'within')}")


def _measured(claim: Claim) -> float:
    """The figure that the source measured, in base units."""
    return claim.expectation.value if claim.expectation else 0.0


def _watts(value: float) -> str:
    return format_quantity(value, WATTS, digits=3)


# ---- `sustained: tensor_core bf16`: a measured rate must be possible within the dense peak and the power limit
#
# A measured rate was reached within the device's power limit. So the lowest calculated power at that rate (published
# arithmetic plus idle power) must not exceed the limit, nor the rate the dense peak. Measured rates thus bound the
# energies from above, not from below.


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


def check_sustained(claim: Claim) -> None:
    """Refuse a subject other than `unit precision`, a missing device, and invalid options."""
    unit_precision(claim.subject)
    check_work(claim)
    quantity(claim, "within", WATTS)


def obtain_sustained(claim: Claim, context: Context) -> Obtained:
    """The measured rate, or the lower one that peak and power allow. [op/s]"""
    unit, precision = unit_precision(claim.subject)
    bound, attained = _bound(claim, context), _measured(claim)
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


def _bound(claim: Claim, context: Context) -> Bound:
    hardware = context.device(claim)
    unit, precision = unit_precision(claim.subject)
    limit = power_limit(hardware)
    if limit is None:
        raise EnergyError(f"{hardware.id}: no power limit is known")
    held_w = quantity(claim, "within", WATTS)
    peak = hardware.unit(unit).derivation(precision)
    draw = _power_of_unit(claim, context, _measured(claim))
    return Bound(hardware, peak, draw, limit, limit.value if held_w is None else held_w)


def _formula(claim: Claim, bound: Bound, attained: float, precision: str) -> str:
    rates = (attained, bound.peak.result, bound.powered_ops_per_s)
    had, peak, powered = (format_rate(rate, precision) for rate in rates)
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
    had = format_rate(attained, precision)
    if attained > bound.peak.result:
        return f"{had} is above the dense peak: the rate or a factor of the peak is wrong"
    parts = " + ".join(f"{_watts(power.low_w)} {power.name}" for power in bound.draw.low_parts())
    return (
        f"{had} takes at least {parts} = {_watts(bound.draw.low_w)} of {_watts(bound.limit_w)}: "
        "the rate, one of these energies or the limit is wrong"
    )


SUSTAINED = Kind(
    "sustained",
    "a measured rate of a unit in a precision, which must be possible within the dense peak and the power limit",
    obtain_sustained,
    OPS_PER_S,
    scopes=(),
    inferred=True,
    check=check_sustained,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "within": {"type": "string", "description": "the power limit of the measurement, where below the device's"},
    },
)

# ---- `power: tensor_core bf16`, `power: hbm3e`: a measured power must lie within the calculated range at its rate
#
# The range is that of `rooflint tdp registry` at the measured rate. Outside of it, the nearer end is obtained.


def check_power(claim: Claim) -> None:
    """Refuse a subject other than a unit with a precision or a memory, and a rate of another dimension."""
    check_work(claim)
    moves = is_memory(claim)
    if not moves:
        unit_precision(claim.subject)
    elif any(claim.option(name) is not None for name in MOVED):
        raise ClaimError(f"'{claim.subject}' is a memory, so its rate is the traffic; remove {' and '.join(MOVED)}")
    if quantity(claim, "rate", BYTES_PER_S if moves else OPS_PER_S) is None:
        raise ClaimError(
            f"want the rate at which the power was measured, such as 'rate: {'1.2 TB/s' if moves else '620 TFLOP/s'}'"
        )


def is_memory(claim: Claim) -> bool:
    """Whether the subject is a memory, not a unit with a precision."""
    return len(claim.subject.split()) == 1


def calculated(claim: Claim, context: Context) -> WorkPower:
    """The calculated power at the measured rate."""
    if not is_memory(claim):
        return _power_of_unit(claim, context, quantity(claim, "rate", OPS_PER_S) or 0.0)
    hardware = context.device(claim)
    fastest = hardware.main_memory().name
    if claim.subject != fastest:
        raise ClaimError(f"want the fastest memory of {hardware.id}, {fastest}; found '{claim.subject}'")
    moved = quantity(claim, "rate", BYTES_PER_S) or 0.0
    return _power_of(hardware, Work(least_bytes_per_s=moved, most_bytes_per_s=moved), context)


def obtain_power(claim: Claim, context: Context) -> Obtained:
    """The power within the calculated range that is nearest to the measured one. [W]"""
    draw, measured = calculated(claim, context), _measured(claim)
    value = min(max(measured, draw.low_w), draw.high_w)
    return Obtained(
        value=value,
        dimension=WATTS,
        formula=f"{_watts(draw.low_w)} … {_watts(draw.high_w)}, typically {_watts(draw.typical_w)}",
        facts=draw.facts,
        hardware=draw.hardware,
        unit=draw.work.unit or None,
        precision=draw.work.precision or None,
        details="" if value == measured else "\n".join(row("", "", text) for text in _outside(draw, measured)),
    )


def _outside(draw: WorkPower, measured_w: float) -> Iterator[str]:
    if measured_w < draw.low_w:
        yield f"{_watts(measured_w)} is below the range: an energy or the rate is too high"
    else:
        yield f"{_watts(measured_w)} is above the range: an energy or the rate is too low, or a part is missing"
    yield from draw.left_out


POWER = Kind(
    "power",
    "the measured power of a device at a rate of a unit or its memory, within the calculated range",
    obtain_power,
    WATTS,
    scopes=(),
    inferred=True,
    check=check_power,
    slug=slug_of_work,
    options={
        **HARDWARE,
        **MOVED,
        "rate": {"type": "string", "description": "the rate at which it was measured: 620 TFLOP/s, 7.3 TB/s"},
        "ran": {"type": "string", "description": "the workload, in a few words"},
    },
)
