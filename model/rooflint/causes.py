"""Causes and ratios: the words in which a diagnosis speaks."""

import math
from dataclasses import dataclass
from fractions import Fraction

from rooflint.facts import Fact, Ladder
from rooflint.hardware import Hardware
from rooflint.specs import Registry
from rooflint.units import format_number

_ROUND = 1e-9


@dataclass(frozen=True, slots=True)
class Span:
    """The ratios obtained / expected that the tolerance of the expectation allows for."""

    low: float
    high: float

    def holds(self, factor: float) -> bool:
        """Whether a factor explains the ratio within the tolerance."""
        return self.low * (1 - _ROUND) <= factor <= self.high * (1 + _ROUND)

    @property
    def middle(self) -> float:
        """The ratio itself, as a single number."""
        return math.sqrt(self.low * self.high)

    @property
    def factor(self) -> float:
        """The small fraction that the ratio is within its tolerance, or the ratio itself."""
        near = _small_fraction(self.middle, self)
        return self.middle if near is None else float(near)

    def inverted(self) -> "Span":
        """The span of 1 / ratio."""
        return Span(1 / self.high, 1 / self.low)

    def without(self, factor: float) -> "Span":
        """What is left to explain once a factor is."""
        return Span(self.low / factor, self.high / factor)


@dataclass(frozen=True, slots=True)
class Cause:
    """One explanation of a ratio."""

    text: str
    factor: float
    cost: float
    """Lower is simpler; causes are ranked by it."""
    fact: Fact | None = None
    """The fact that would repair it."""
    repaired: Fact | None = None
    """That fact with the value that it should have."""
    parts: tuple["Cause", ...] = ()
    carried: bool = False
    """Whether the convention was broken where the rate was written down, so that another rate mends it."""

    needs: int = 0
    """Red claims that must ask for the repair before it is worth showing."""
    mends: int | None = None
    """Red claims that the repair turns green, where somebody tried it."""
    breaks: int | None = None
    """Green claims that it turns red."""

    @property
    def repair(self) -> str | None:
        """The value that the fact should have, as it would be written."""
        return self.repaired.display if self.repaired else None

    @property
    def factor_text(self) -> str:
        """`1/8`, or `1/16 = 1/8 × 1/2` for a product."""
        if not self.parts:
            return ratio_text(self.factor)
        return f"{ratio_text(self.factor)} = {' × '.join(ratio_text(part.factor) for part in self.parts)}"


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about a figure that is off."""

    ladder: Ladder
    span: Span
    hardware: Hardware | None = None
    registry: Registry | None = None
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False


def ratio_text(ratio: float, span: Span | None = None) -> str:
    """A ratio as a small fraction where it is one within its tolerance: `1/8`, `2`, `3/4`; otherwise `1.082`."""
    if not math.isfinite(ratio) or ratio <= 0:
        return str(ratio)
    small = _small_fraction(ratio, span or Span(ratio * (1 - 1e-6), ratio * (1 + 1e-6)))
    return format_number(ratio, 4) if small is None else str(small)


def _small_fraction(ratio: float, span: Span) -> Fraction | None:
    """A power of a thousand, `n` or `1/n`, or a fraction of numbers up to 8, that lies in the span."""
    for prefix in (Fraction(1000), Fraction(1, 1000)):
        if span.holds(float(prefix)):
            return prefix
    for bottom in (*range(1, 9), 16, 32, 64, 128, 256):
        top = round(ratio * bottom)
        small = max(top, bottom) <= 8 or min(top, bottom) == 1
        if 0 < top <= 4096 and small and span.holds(top / bottom):
            return Fraction(top, bottom)
    return None
