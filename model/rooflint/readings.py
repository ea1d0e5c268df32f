"""Readings: what a printed number may be instead of what it is said to be.

A reading names the error (sparse for dense, MAC for op, another device …), the factor by which it misleads, and a cost
by which readings are ranked: the simpler and the commoner in practice, the lower.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rooflint.facts import Fact
from rooflint.figures import Figure
from rooflint.units import OPS_PER_MAC

FLOOR = 3e-3
"""Relative difference below which two figures are one: no error is as small, and clocks are rounded by as much."""
NEARLY = 0.012
"""Relative difference that a reading may leave: it may start from another rounding than ours."""
COARSE = 0.05
"""What a figure that is cut may lose at most."""
COARSEST = 0.15
"""What rounding to a single digit may hide."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as somebody printed it."""

    value: float
    """In base units of its quantity."""
    step: float
    """One unit of the last digit, in base units."""
    text: str

    def is_near(self, target: float, floor: float = FLOOR) -> bool:
        """Whether it may be that figure, rounded or cut at its last digit."""
        off = abs(self.value - target)
        step = self.step * (1 + 1e-9)
        if off <= floor * target or off <= min(step / 2, COARSEST * target):
            return True
        if 0 <= target - self.value < step and off <= COARSE * target:  # cut
            return True
        return target > 0 and math.isclose(float(f"{target:.2e}"), self.value, rel_tol=1e-9)  # zeros are no digits

    def is_rounded(self, target: float) -> bool:
        """Whether it is that figure in two significant digits: 1300 for 1307, 2000 for 2039."""
        return target > 0 and abs(float(f"{target:.1e}") - self.value) <= 1e-9 * self.value

    def off_by(self, target: float) -> float:
        """Relative difference to a figure. [1]"""
        return abs(self.value / target - 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """One explanation of a number that is not what it is said to be."""

    error: str
    """The class of error, one of ERRORS."""
    text: str
    """Completes 'the number …'."""
    target: float
    """The value that this reading predicts, in base units."""
    cost: float
    figure: Figure | None = None
    """The figure that the number is."""
    fact: Fact | None = None
    """The fact that was taken instead of the right one."""


@dataclass(frozen=True, slots=True)
class Distortion:
    """An error whose factor is known beforehand."""

    name: str
    text: str
    factor: float
    cost: float


#: Every class of error that a reading can name, as they are called in tables and reports.
ERRORS = {
    "sparse for dense": "the figure with structured sparsity stands where the dense one is meant",
    "dense for sparse": "the dense figure stands where the one with structured sparsity is meant",
    "MAC for op": "a multiply-accumulate is counted as one op",
    "op counted twice": "the rate was in op already and is doubled again",
    "half-rate accumulation": "the rate of boards that halve what accumulates in FP32, or the other way round",
    "another unit": "the rate of another unit: vector lanes for tensor cores, or the other way round",
    "another precision": "the figure of another precision of the same device",
    "known error": "a figure that a public source prints wrongly, and why",
    "another device": "the figure of another SKU or generation",
    "another mode": "the figure of another operating point",
    "another clock": "computed with another clock: base for boost, vector for tensor",
    "another rate": "computed with the rate of another architecture or precision",
    "another count": "computed with the unit count of another device",
    "full die": "computed with all units of the die instead of those enabled",
    "count for rate": "the number of units stands for what a unit does in a clock",
    "part for whole": "one die or partition of the device",
    "whole for part": "the whole package where one die or partition is meant",
    "several devices": "a pair, a board or a node of several devices",
    "platform total": "the sum over units of several kinds",
    "tebi for tera": "a binary prefix is taken for a decimal one, or the other way round",
    "prefix": "a prefix is off by a thousand",
    "decimal point": "the decimal point is off by one digit",
    "bits for bytes": "bits are taken for bytes, or bytes for bits",
    "data rate": "the double in double data rate is missing, or applied twice",
    "power of two": "off by a power of two that no known figure explains",
    "digits": "digits are exchanged or mistyped",
}

_PREFIXES = (
    Distortion("prefix", "is a thousand times too large: a prefix is off", 1e3, 1.2),
    Distortion("prefix", "is a thousandth: a prefix is off", 1e-3, 1.2),
    Distortion("prefix", "is a million times too large: a prefix is off twice", 1e6, 1.8),
    Distortion("prefix", "is a millionth: a prefix is off twice", 1e-6, 1.8),
    Distortion("decimal point", "is ten times too large: the decimal point is off", 10.0, 1.7),
    Distortion("decimal point", "is a tenth: the decimal point is off", 0.1, 1.7),
)
_SEVERAL = (
    Distortion("several devices", "counts a pair of devices", 2.0, 1.9),
    Distortion("several devices", "counts four devices", 4.0, 3.2),
    Distortion("several devices", "counts the eight devices of a node", 8.0, 2.2),
)
_BYTES = (
    Distortion("bits for bytes", "is in bits: eight times the bytes", 8.0, 1.1),
    Distortion("bits for bytes", "is an eighth: bytes were taken for bits", 1 / 8, 1.2),
)
_POWERS = (
    *(Distortion("power of two", f"is 1/{factor} of it", 1 / factor, 3.2) for factor in (4, 8, 16, 32, 64)),
    *(Distortion("power of two", f"is {factor} times it", float(factor), 3.3) for factor in (4, 8, 16, 32, 64)),
)


def _binary(power: int, cost: float) -> Iterator[Distortion]:
    """2^(10·power) for 10^(3·power), both ways."""
    factor = 2 ** (10 * power) / 10 ** (3 * power)
    yield Distortion("tebi for tera", f"takes 2^{10 * power} for 10^{3 * power}", factor, cost)
    yield Distortion("tebi for tera", f"takes 10^{3 * power} for 2^{10 * power}", 1 / factor, cost + 0.3)


_BY_QUANTITY: dict[str, tuple[Distortion, ...]] = {
    "peak": (
        Distortion("MAC for op", "counts a MAC as one op", 1 / OPS_PER_MAC, 1.3),
        Distortion("op counted twice", "doubles a rate that is in op already", OPS_PER_MAC, 1.7),
        *_binary(4, 1.2),
        *_PREFIXES,
        *_SEVERAL,
        *_POWERS,
    ),
    "bandwidth": (
        *_BYTES,
        Distortion("data rate", "takes the memory clock for the data rate: the factor two of DDR is missing", 0.5, 1.3),
        Distortion("data rate", "applies double data rate twice", 2.0, 1.6),
        *_binary(3, 1.3),
        *_binary(4, 1.5),
        *_binary(1, 1.6),
        *_PREFIXES,
        *_SEVERAL[1:],
        *_POWERS[:1],
    ),
    "capacity": (*_BYTES, *_binary(3, 1.2), *_binary(1, 1.7), *_PREFIXES, *_SEVERAL),
    "tdp": (*_PREFIXES, *_SEVERAL),
    "count": (*_PREFIXES[4:], *_SEVERAL, Distortion("MAC for op", "is half of it", 0.5, 2.2)),
    "bus": (*_BYTES, *_SEVERAL, Distortion("part for whole", "is half of it", 0.5, 2.0)),
    "clock": (
        *_PREFIXES,
        Distortion("data rate", "is double it", 2.0, 1.9),
        Distortion("data rate", "is half of it", 0.5, 2.1),
    ),
    "rate": (
        Distortion("MAC for op", "is in MAC, not in op", 1 / OPS_PER_MAC, 1.3),
        Distortion("op counted twice", "doubles a rate that is in op already", OPS_PER_MAC, 1.5),
        *_POWERS,
    ),
}


def distortions_of(quantity: str) -> tuple[Distortion, ...]:
    """The errors of known factor that a quantity invites."""
    return _BY_QUANTITY[quantity]
