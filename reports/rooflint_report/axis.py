"""Logarithmic axes for the drawings, as integer coordinates."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rooflint.base.log_axis import LogAxis

RULER_WIDTH = 240
_RULER_OCTAVES = 6


def ruler_x(ratio: float | None) -> int | None:
    """Pixel of a ratio on a scale of octaves from 1/64 to 64; what lies beyond is put at the end."""
    if ratio is None or math.isnan(ratio):
        return None
    octaves = math.log2(ratio) if 0 < ratio < math.inf else math.copysign(math.inf, ratio - 1)
    clamped = min(max(octaves, -_RULER_OCTAVES), _RULER_OCTAVES)
    return round(RULER_WIDTH / 2 * (1 + clamped / (_RULER_OCTAVES + 0.25)))


def ruler_ticks() -> list[int]:
    """One tick an octave."""
    return [x for k in range(-_RULER_OCTAVES, _RULER_OCTAVES + 1) if (x := ruler_x(2.0**k)) is not None]


@dataclass(frozen=True)
class DecadeAxis:
    """Whole powers of ten from `low` to `high` over `width` pixels; the same axis for every device."""

    low: int
    high: int
    width: int = 120

    def x(self, value: float | None) -> int | None:
        """Pixel of a positive value, None where there is none."""
        if value is None or not 0 < value < math.inf:
            return None
        return round(self.width * (math.log10(value) - self.low) / (self.high - self.low))


def decade_axis(values: Iterable[float | None]) -> DecadeAxis:
    """Find the narrowest whole decades that hold all positive values."""
    logs = [math.log10(v) for v in values if v is not None and 0 < v < math.inf]
    low = math.floor(min(logs, default=0.0))
    return DecadeAxis(low, max(math.ceil(max(logs, default=1.0)), low + 1))


@dataclass(frozen=True)
class PixelAxis(LogAxis):
    """From 10**low at pixel `start` to 10**high at pixel `end`, which may lie to the left or above."""

    start: float
    end: float

    def at(self, value: float) -> float:
        """Pixel of a positive value, to a tenth."""
        return round(self.start + self.share(value) * (self.end - self.start), 1)


def pixel_axis(values: Iterable[float], start: float, end: float) -> PixelAxis:
    """The axis that holds all positive values with a margin, a decade at least."""
    around = LogAxis.around(values)
    return PixelAxis(around.low, around.high, start, end)
