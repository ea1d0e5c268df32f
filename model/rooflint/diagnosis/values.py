"""Values that a fact can have: widths of buses, rates, counts and clocks that are built, in the digits of documents."""

import math
from itertools import pairwise

from rooflint.base.facts import Fact, leading_number
from rooflint.base.units import DIMENSIONLESS, HERTZ
from rooflint.diagnosis.causes import Span

_LANE_BITS = 32  # buses come in multiples of that
_WIDE_BITS, _STACK_BITS, _WIDEST_BITS = 1024, 512, 16384  # wider ones in halves of a stack of HBM, sixteen at most
_GRAPHICS_BITS = 512  # the widest bus of GDDR
_CLOCKS_HZ = (50e6, 10e9)  # slower or faster, a prefix is wrong rather than a figure
_PIN_BYTES_PER_S = (100e6 / 8, 64e9 / 8)  # from SDRAM to what is announced
_RATES_MACS = (2**-8, 2**20)  # a clock: from FP16 of gaming cards to the whole array of an engine, and to spare
_MOST_COUNTED = 2**16
COUNTS = frozenset({"groups", "per_group", "parts", "full_die", "count"})


def is_built(fact: Fact, value: float) -> bool:
    """Whether chips are built with such a value: widths of buses, counts, clocks, transfer rates, MAC a clock."""
    last = fact.path.split(".")[-1]
    if is_clock(fact):
        low, high = _CLOCKS_HZ
    elif last == "pin_rate":
        low, high = _PIN_BYTES_PER_S
    elif ".macs_per_clock." in fact.path:
        low, high = _RATES_MACS
        return low <= value <= high and math.frexp(value)[0] in (0.5, 0.75)  # 2ⁿ or 3 × 2ⁿ
    elif last in COUNTS:
        return 1 <= value <= _MOST_COUNTED and value == int(value)
    else:
        return last != "bus" or _is_bus(value * 8, fact.path.split(".")[1])
    return low <= value <= high


def _is_bus(bits: float, memory: str = "") -> bool:
    """Whether buses of that width are built: of channels up to 1024 bit, of stacks beyond; GDDR is not stacked."""
    if memory.startswith("gddr"):
        return bits <= _GRAPHICS_BITS and bits % _LANE_BITS == 0
    if bits <= _WIDE_BITS:
        return bits % _LANE_BITS == 0
    return bits <= _WIDEST_BITS and bits % _STACK_BITS == 0


def round_value(fact: Fact, span: Span) -> float | None:
    """The value a fact would need, where a plausible one lies within the tolerance: whole counts, few digits."""
    low, high = fact.value / span.high, fact.value / span.low
    whole = fact.quantity.dimension == DIMENSIONLESS and ".sparsity." not in fact.path
    unit = fact.value / leading_number(fact.quantity.text)
    if fact.path.endswith(".bus"):
        lanes = round(math.sqrt(low * high) * 8 / _LANE_BITS) * _LANE_BITS / 8
        return lanes if low <= lanes <= high else None
    exact = fact.value / span.factor  # a small fraction becomes the value that stood there before
    small = span.factor != span.middle or low == high
    if fact.path.endswith(".pin_rate"):
        small = small and is_plain(exact)  # no rate per pin is printed with more digits
    if low <= exact <= high and small and (not whole or exact == int(exact) or _is_rate(fact, exact)):
        return exact
    for digits in range(1, 8 if whole else 5 if is_clock(fact) else 4):
        wanted = float(f"{math.sqrt(low * high) / unit:.{digits - 1}e}") * unit
        if low <= wanted <= high and (not whole or wanted == int(wanted)):
            return wanted
    return None


def exchanged(fact: Fact, low: float, high: float) -> float | None:
    """The value in a range that a fact has once two neighbouring digits are exchanged, as they are mistyped."""
    number = fact.quantity.text.partition(" ")[0]
    unit = fact.value / leading_number(fact.quantity.text)
    for place, (one, two) in enumerate(pairwise(number)):
        if one.isdigit() and two.isdigit() and not (place == 0 and two == "0"):
            wanted = leading_number(f"{number[:place]}{two}{one}{number[place + 2 :]}") * unit
            if one != two and low <= wanted <= high:
                return wanted
    return None


def _is_rate(fact: Fact, value: float) -> bool:
    """Whether a value is one that rates have, which may be less than a MAC: a power of two."""
    return ".macs_per_clock." in fact.path and math.log2(value).is_integer()


def is_plain(value: float) -> bool:
    """Whether a clock, or a rate per pin in bytes, has at most four digits, as printed ones have."""
    return any(math.isclose(one, float(f"{one:.3e}"), rel_tol=1e-9) for one in (value, 8 * value))


def is_clock(fact: Fact) -> bool:
    """Whether it is a frequency."""
    return fact.quantity.dimension == HERTZ
