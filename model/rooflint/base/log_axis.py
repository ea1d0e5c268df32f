"""Axes of charts, logarithmic and linear, in a terminal and on a page. The report draws them without the model."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

MARGIN = 0.04
"""Share of the span that is left free at either end. [1]"""


@dataclass(frozen=True)
class LogAxis:
    """From 10**low to 10**high, a decade at least."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Self:
        """The axis that holds all positive, finite values; one decade around 1 where there are none."""
        logs = [math.log10(value) for value in values if drawable(value)]
        low, high = min(logs, default=0.0), max(logs, default=0.0)
        spare = max(MARGIN * (high - low), (1 - (high - low)) / 2)
        return cls(low - spare, high + spare)

    def share(self, value: float) -> float:
        """Where a positive value stands between the ends. [1]"""
        return (math.log10(value) - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Whether a value has a place on an axis of its kind."""
        return drawable(value)

    def ticks(self, most: int) -> list[float]:
        """Round values inside, at most so many: 1-2-5 where they fit, else every decade, every second one, …"""
        fine = [tick for tick in self._multiples(1, 2, 5) if drawable(tick)]
        if len(fine) <= most:
            return fine
        decades = [tick for tick in self._multiples(1) if drawable(tick)]
        return decades[:: -(-len(decades) // most)]

    def _multiples(self, *digits: int) -> Iterator[float]:
        for exponent in range(math.floor(self.low), math.floor(self.high) + 1):
            for digit in digits:
                if self.low <= exponent + math.log10(digit) <= self.high:
                    yield float(f"{digit}e{exponent}")


@dataclass(frozen=True)
class LinearAxis(LogAxis):
    """From `low` to `high` in equal steps, for values from zero on, or that span less than a decade."""

    @classmethod
    def around(cls, values: Iterable[float]) -> Self:
        """The axis that holds all finite values from zero on; from 0 to 1 where there are none."""
        known = [value for value in values if drawable(value, linear=True)]
        low, high = min(known, default=0.0), max(known, default=1.0)
        spare = MARGIN * (high - low or high or 1.0)
        return cls(low - spare, high + spare)

    def share(self, value: float) -> float:
        """Where a value stands between the ends. [1]"""
        return (value - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Zero, too."""
        return drawable(value, linear=True)

    def ticks(self, most: int) -> list[float]:
        """Multiples of 1, 2 or 5 × a power of ten inside, at most so many."""
        exponent = math.floor(math.log10((self.high - self.low) / most))
        steps = (float(f"{digit}e{power}") for power in (exponent, exponent + 1) for digit in (1, 2, 5))
        step = next(step for step in steps if (self.high - self.low) / step < most)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [float(f"{number * step:.12g}") for number in range(max(first, 0), last + 1)]


def drawable(value: float, *, linear: bool = False) -> bool:
    """Has a place on a logarithmic axis, or on a linear one, which may begin at zero."""
    return 0 < value < math.inf or (linear and value == 0)
