"""Density charts: bins of two logarithmic axes as paths, one for each step of a hue; all charts share their axes.

Above, predicted over measured time; below, what of it the eye cannot see on the same width: their ratio.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rooflint.base.units import SECONDS, format_quantity
from rooflint_report.axis import PixelAxis
from rooflint_report.findings import SiliconBins, SiliconColumn, SiliconDensity

BIN = 2
"""Edge of a bin of times, and height of one of ratios. [px]"""

LEFT, RIGHT, TOP, GAP, BELOW = 46, 12, 20, 30, 34
"""Room around the two planes. [px]"""

STEPS = 5
GROWTH = 4
"""A step of the hue stands for so many times the rows of the one before."""

MARGIN = 2
"""Bins of times that stay free at the ends."""

RATIOS = ((0.5, "½"), (1.0, "1"), (2.0, "2"))
"""Of the axis below."""


@dataclass(frozen=True)
class Frame:
    """Axes that all charts share; a bin is BIN pixels wide."""

    bins: SiliconBins
    low: int
    """First bin of times, of both axes above."""
    high: int

    left: int = LEFT
    top: int = TOP

    @property
    def side(self) -> int:
        """Of the square above. [px]"""
        return BIN * (self.high - self.low)

    @property
    def bottom(self) -> int:
        """Of the square. [px]"""
        return TOP + self.side

    @property
    def right(self) -> int:
        """Of both planes. [px]"""
        return LEFT + self.side

    @property
    def reach(self) -> int:
        """From the middle of the plane below to its edge. [px]"""
        return BIN * math.floor(math.log10(self.bins.farthest) * self.bins.ratio_per_decade)

    @property
    def middle(self) -> int:
        """Where the ratio is 1. [px]"""
        return self.bottom + GAP + self.reach

    @property
    def width(self) -> int:
        """[px]"""
        return self.right + RIGHT

    @property
    def height(self) -> int:
        """[px]"""
        return self.middle + self.reach + BELOW

    @property
    def under(self) -> int:
        """Width of a bin below. [px]"""
        return BIN * ratio_of(self.bins)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixels from the left or from the bottom, and the time there."""
        ends = self.low / self.bins.per_decade, self.high / self.bins.per_decade
        axis = PixelAxis(*ends, 0, self.side)
        return [(axis.at(tick), format_quantity(tick, SECONDS)) for tick in axis.ticks(4)]

    @property
    def ratio_ticks(self) -> list[tuple[float, str]]:
        """Pixels, and the ratio there."""
        return [(round(self.middle - self._rise(ratio), 1), text) for ratio, text in RATIOS]

    @property
    def equal(self) -> str:
        """Path on which predicted and measured are the same, above and below."""
        return self._level(1.0)

    @property
    def near(self) -> list[str]:
        """Paths of what is still near, either way."""
        return [self._level(1 + self.bins.near), self._level(1 - self.bins.near)]

    def _level(self, ratio: float) -> str:
        """A ratio as a line above, cut at the square's edges, and as one below."""
        up = BIN * math.log10(ratio) * self.bins.per_decade
        start, end = (0.0, up) if up >= 0 else (-up, 0.0)
        last = self.side - abs(up)
        above = f"M{LEFT + start:.1f} {self.bottom - end:.1f}l{last:.1f} {-last:.1f}"
        return f"{above}M{LEFT} {self.middle - self._rise(ratio):.1f}h{self.side}"

    def _rise(self, ratio: float) -> float:
        return BIN * math.log10(ratio) * self.bins.ratio_per_decade


@dataclass(frozen=True)
class Picture:
    """A device: one path a step for the bins above, and one for those below."""

    density: SiliconDensity
    above: Sequence[str]
    below: Sequence[str]


def ratio_of(bins: SiliconBins) -> int:
    """Bins of times above that a bin below is as wide as."""
    return max(1, bins.per_decade // bins.under_per_decade)


def frame_of(densities: Sequence[SiliconDensity], bins: SiliconBins) -> Frame:
    """Axes on which all of them have a place."""
    columns = [column for one in densities for column in one.times]
    ends = [end for one in columns for end in (one.x, one.x + 1, one.y, one.y + len(one.counts))]
    wide = ratio_of(bins)
    low, high = min(ends, default=0) - MARGIN, max(ends, default=0) + MARGIN
    return Frame(bins, wide * (low // wide), wide * -(-high // wide))


def picture(density: SiliconDensity, frame: Frame) -> Picture:
    """Bins of one device on the axes of all."""
    wide = ratio_of(frame.bins)
    return Picture(
        density,
        _paths(density.times, LEFT - BIN * frame.low + BIN // 2, BIN, frame.bottom + BIN * frame.low),
        _paths(density.ratios, LEFT - frame.under * (frame.low // wide) + frame.under // 2, frame.under, frame.middle),
    )


def _paths(columns: Iterable[SiliconColumn], left: int, width: int, bottom: int) -> list[str]:
    """Upright strokes, as wide as a bin; those of a step follow each other in one path."""
    paths = [""] * STEPS
    for column in columns:
        for start, length, number in _runs(column.counts):
            x, y = left + width * column.x, bottom - BIN * (column.y + start)
            paths[number] += f"M{x} {y}v{-BIN * length}"
    return paths


def _runs(counts: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(First bin, bins, step) of what looks alike and lies on each other."""
    start = 0
    for number, alike in groupby(counts, step):
        length = len(list(alike))
        if number is not None:
            yield start, length, number
        start += length


def step(count: int) -> int | None:
    """Which step of the hue so many rows have; None for none."""
    return min(int(math.log(count, GROWTH) + 1e-9), STEPS - 1) if count > 0 else None


def steps() -> list[str]:
    """What each of them stands for: `1–3`, `4–15`, …, `256 and more`."""
    first = [GROWTH**number for number in range(STEPS)]
    return [f"{low}–{high - 1}" for low, high in pairwise(first)] + [f"{first[-1]} and more"]
