"""Silicon: calibrated kernel times beside measurements: charts, errors by regime, the worst shapes."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeVar

from rooflint.base.units import SECONDS, format_quantity
from rooflint_report.findings import (
    Silicon,
    SiliconBins,
    SiliconColumn,
    SiliconDensity,
    SiliconPublished,
    SiliconScore,
    SiliconWorst,
)
from rooflint_report.log_chart import PixelAxis
from rooflint_report.sections.section import Page

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


Score = TypeVar("Score", SiliconScore, SiliconPublished)


@dataclass(frozen=True)
class Family:
    """Errors of a family, one a regime of the topic; None where nothing is claimed."""

    name: str
    devices: Sequence[str]
    scores: Sequence[SiliconScore | SiliconPublished | None]
    source: str = ""
    """The document, and what its clock saw; nothing where the family is one of a package."""


@dataclass(frozen=True)
class Topic:
    """What was predicted, with its regimes and its families."""

    title: str
    precision: str
    regimes: Sequence[str]
    families: Sequence[Family]

    @property
    def ends(self) -> str:
        """The least and the greatest error of the first regime: `10.2 % to 23.8 %`."""
        known = sorted((one.scores[0] for one in self.families if one.scores[0]), key=lambda score: score.error)
        return " to ".join(dict.fromkeys(one.error_display for one in (known[0], known[-1]))) if known else ""


@dataclass(frozen=True)
class View:
    """The section."""

    silicon: Silicon
    topics: Sequence[Topic]
    published: Sequence[Topic]
    """Tables of others, by op and precision."""
    frame: "Frame"
    pictures: "Sequence[Picture]"
    worst: Sequence[tuple[str, Sequence[SiliconWorst]]]
    """By family."""
    steps: Sequence[str]

    @property
    def decided(self) -> bool:
        """Whether a claim was compared with a measurement."""
        return bool(self.silicon.scores or self.silicon.published or self.silicon.whole)

    @property
    def products(self) -> Sequence[Topic]:
        """Published tables of matrix products; the summary has room for these only."""
        return tables([one for one in self.silicon.published if one.op == "gemm"])

    @property
    def claimed(self) -> list[tuple[str, list[str]]]:
        """Bounds by topic and family, each after its regime; those of other claims by their subject."""
        found: dict[str, list[str]] = {}
        for one in self.silicon.claimed:
            bound = one.bound or "no exception"
            found.setdefault(one.about or one.subject, []).append(f"{one.regime}: {bound}" if one.regime else bound)
        return list(found.items())

    @property
    def waits(self) -> list[tuple[str, str]]:
        """Terms that bind one of the worst shapes, with what they wait for."""
        binding = {one.bound for _, several in self.worst for one in several}
        return [(term, what) for term, what in self.silicon.waits.items() if term in binding]


def view(page: Page) -> View | None:
    """None where nothing is claimed of kernel times, or an older run has no such evidence."""
    found = page.evidence.silicon
    if found is None or not found.claimed:
        return None
    frame = frame_of(found.densities, found.bins)
    families = dict.fromkeys(one.family for one in found.worst)
    return View(
        found,
        topics(found.scores),
        tables(found.published),
        frame,
        [picture(one, frame) for one in found.densities],
        [(name, [one for one in found.worst if one.family == name]) for name in families],
        steps(),
    )


def topics(scores: Sequence[SiliconScore]) -> list[Topic]:
    """Scores as tables, in the order in which they come."""
    titles = dict.fromkeys(one.topic for one in scores)
    return [_topic(title, [one for one in scores if one.topic == title], lambda one: one.family) for title in titles]


CLOCKS = {"graph": "kernels of a graph", "kernel": "one kernel", "host": "a call until its end"}
"""What a published table timed."""

WORDS = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "layernorm": "layer norms",
    "rmsnorm": "RMS norms",
    "add": "additions",
    "gelu": "GELU",
    "silu": "SiLU",
    "silu_mul": "SiLU times gate",
}
"""Labels of ops whose name is not clear by itself."""


def tables(scores: Sequence[SiliconPublished]) -> list[Topic]:
    """Published tables by op and precision, each a row: matrix products first, of each op the narrowest precision."""
    kinds = sorted({(one.op, one.precision) for one in scores}, key=_place)
    return [
        _topic(
            WORDS.get(op, op), [one for one in scores if (one.op, one.precision) == (op, bits)], lambda one: one.table
        )
        for op, bits in kinds
    ]


def _place(kind: tuple[str, str]) -> tuple[int, str, int, str]:
    op, precision = kind
    bits = "".join(filter(str.isdigit, precision))
    return (list(WORDS).index(op) if op in WORDS else len(WORDS)), op, int(bits or 0), precision


def _topic(title: str, scores: Sequence[Score], row: Callable[[Score], str]) -> Topic:
    """A table with a column for each regime; scores of one `row` stand in one row."""
    regimes = list(dict.fromkeys(one.regime for one in scores))
    places = {(row(one), one.regime): one for one in scores}
    heads = {row(one): one for one in scores}
    rows = [_family(head, [places.get((name, regime)) for regime in regimes]) for name, head in heads.items()]
    return Topic(title, scores[0].precision, regimes, rows)


def _family(head: SiliconScore | SiliconPublished, scores: Sequence[SiliconScore | SiliconPublished | None]) -> Family:
    if isinstance(head, SiliconScore):
        return Family(head.family, head.devices, scores)
    timed = CLOCKS.get(head.timing, head.timing)
    return Family(head.title, [head.device], scores, f"{head.document}; timed: {timed}")


# ---- Density charts: bins of two logarithmic axes as paths, one for each step of a hue; all charts share their axes


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
        """Edge of the square above. [px]"""
        return BIN * (self.high - self.low)

    @property
    def bottom(self) -> int:
        """Lower edge of the square. [px]"""
        return TOP + self.side

    @property
    def right(self) -> int:
        """Right edge of both planes. [px]"""
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
