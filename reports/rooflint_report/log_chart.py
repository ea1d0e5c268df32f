"""Charts on two axes, logarithmic or linear, as coordinates that a template draws, each wide and narrow."""

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rooflint.base.log_axis import LinearAxis, LogAxis, drawable
from rooflint.base.units import BYTES_PER_S, OPS_PER_BYTE, OPS_PER_S, SECONDS, format_number, format_quantity

COLOURS = 12
LETTER_WIDTH = 6.6
"""Of the chart's text at 12 px, on average. [px]"""
BOLD_WIDTH = 7.4
"""Of the names of lines, which are bold. [px]"""
LINE_HEIGHT = 15.0
TOP, BOTTOM = 24, 46
"""Of a chart, above and below its frame. [px]"""
HEAVIEST_RADIUS, LIGHTEST_RADIUS = 12.0, 3.5
MANY = 24
"""So many points are drawn smaller, because they lie on each other."""
SHAPES = 5


@dataclass(frozen=True)
class PixelAxis(LogAxis):
    """From 10**low at pixel `start` to 10**high at pixel `end`, which may lie to the left or above."""

    start: float
    end: float

    def at(self, value: float) -> float:
        """Pixel of a positive value, to a tenth."""
        return round(self.start + self.share(value) * (self.end - self.start), 1)


@dataclass(frozen=True)
class LinearPixelAxis(LinearAxis, PixelAxis):
    """From `low` at pixel `start` to `high` at pixel `end`."""


def pixel_axis(values: Iterable[float], start: float, end: float, *, linear: bool = False) -> PixelAxis:
    """The axis that holds all positive values with a margin; a logarithmic one has a decade at least."""
    around = (LinearAxis if linear else LogAxis).around(values)
    return (LinearPixelAxis if linear else PixelAxis)(around.low, around.high, start, end)


@dataclass(frozen=True)
class Scale:
    """What an axis is called and in which unit its figures are."""

    name: str
    unit: str = ""
    prefixed: bool = True
    linear: bool = False

    @property
    def title(self) -> str:
        """The name; with the unit, where figures of the axis go without it: `intensity, op/B`."""
        return f"{self.name}, {self.unit}" if self._is_bare else self.name

    @property
    def _is_bare(self) -> bool:
        """Whether figures have a unit of several letters and no prefix, which would leave no room between them."""
        return len(self.unit) > 1 and not self.prefixed

    def holds(self, value: float) -> bool:
        """Whether a value has a place on such an axis."""
        return drawable(value, linear=self.linear)

    def tick(self, value: float) -> str:
        """A figure at a tick."""
        return format_number(value) if self._is_bare else self.text(value)

    def text(self, value: float) -> str:
        """A figure of the axis."""
        if self.unit and self.prefixed:
            return format_quantity(value, SECONDS, unit=self.unit)  # as seconds are: with a prefix
        return f"{format_number(value)} {self.unit}".strip()


@dataclass(frozen=True)
class Line:
    """A line through places; its name stands at its right end, its letter where there is no room for the name."""

    name: str
    letter: str
    places: Sequence[tuple[float, float]]
    title: str
    knee: tuple[float, float, str] | None = None
    """Where a roof bends, and what is said of it."""


@dataclass(frozen=True)
class Mark:
    """A point: the shape and colour of a line's number; `size` is 1 for the heaviest."""

    x: float
    y: float
    series: int
    title: str
    label: str = ""
    size: float = 0.0


@dataclass(frozen=True)
class Label:
    """Text at a place."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    series: int | None = None


@dataclass(frozen=True)
class Drawing:
    """All that a template needs; coordinates in pixels of `width` × `height`."""

    kind: str
    width: int
    height: int
    x: PixelAxis
    y: PixelAxis
    x_scale: Scale
    y_scale: Scale
    lines: Sequence[tuple[str, int, str]]
    """Path, number, title."""
    knees: Sequence[tuple[str, int, str]]
    bases: Sequence[tuple[str, int, str]]
    """Lines of another state, drawn broken, each with the number of the line that it became."""
    marks: Sequence[tuple[str, int, str]]
    labels: Sequence[Label]

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        """Pixel and figure."""
        return [(self.x.at(tick), self.x_scale.tick(tick)) for tick in self.x.ticks(self.width // 85)]

    @property
    def y_ticks(self) -> list[tuple[float, str]]:
        """Pixel and figure."""
        return [(self.y.at(tick), self.y_scale.tick(tick)) for tick in self.y.ticks(7)]


def letters(count: int) -> list[str]:
    """Keys of so many lines: A, B, …"""
    return [string.ascii_uppercase[number % 26] for number in range(count)]


def roof_line(name: str, letter: str, peak_ops_per_s: float, bandwidth_bytes_per_s: float) -> Line:
    """A roof, with its knee where that has a place on logarithmic axes."""
    peak, bandwidth = peak_ops_per_s, bandwidth_bytes_per_s
    bend = peak / bandwidth if bandwidth else math.inf
    title = f"{name}: {format_quantity(peak, OPS_PER_S)}, {format_quantity(bandwidth, BYTES_PER_S)}"
    if not drawable(bend):
        return Line(name, letter, [], title)
    knee = f"breakpoint {format_quantity(bend, OPS_PER_BYTE)}"
    # a bit of its slope and of its plateau
    places = [(bend / 4, peak / 4), (bend, peak), (bend * 2, peak)]
    return Line(name, letter, places, f"{title}, {knee}", (bend, peak, knee))


@dataclass(frozen=True)
class _Size:
    kind: str
    width: int
    height: int
    labels: int
    """Of points, at most."""


_SIZES = (_Size("wide", 760, 440, 14), _Size("narrow", 340, 340, 5))


def drawings(
    lines: Sequence[Line], marks: Sequence[Mark], x: Scale, y: Scale, bases: Sequence[tuple[int, Line]] = ()
) -> list[Drawing]:
    """The chart in both sizes; a page shows the one that has room. `bases` have the number of the line each became."""
    return [_drawing(size, lines, marks, x, y, bases) for size in _SIZES]


def _drawing(
    size: _Size,
    lines: Sequence[Line],
    marks: Sequence[Mark],
    x: Scale,
    y: Scale,
    bases: Sequence[tuple[int, Line]],
) -> Drawing:
    names = [(line.letter if size.kind == "narrow" else shortest(line.name, 26)) for line in lines]
    right = 16 + BOLD_WIDTH * max(map(len, names), default=0)
    drawn = sum(any(x.holds(a) and y.holds(b) for a, b in line.places) for line in lines)
    height = max(size.height, TOP + BOTTOM + math.ceil(LINE_HEIGHT * (drawn - 1)))  # a place for each name
    every = [*lines, *(line for _, line in bases)]
    places = [place for line in every for place in line.places] + [(mark.x, mark.y) for mark in marks]
    y_axis = pixel_axis((place[1] for place in places), height - BOTTOM, TOP, linear=y.linear)
    figures = [y.text(tick) for tick in y_axis.ticks(7)]
    left = 14 + LETTER_WIDTH * max(map(len, figures), default=0)
    x_axis = pixel_axis((place[0] for place in places), left, size.width - right, linear=x.linear)
    frame = _Frame(x_axis, y_axis, HEAVIEST_RADIUS if len(marks) < MANY else HEAVIEST_RADIUS * 2 / 3)
    seen = [mark for mark in marks if x.holds(mark.x) and y.holds(mark.y)]
    return Drawing(
        kind=size.kind,
        width=size.width,
        height=height,
        x=x_axis,
        y=y_axis,
        x_scale=x,
        y_scale=y,
        lines=[(frame.path(line), number, line.title) for number, line in enumerate(lines)],
        knees=[(frame.drop(line.knee), number, line.knee[2]) for number, line in enumerate(lines) if line.knee],
        bases=[(frame.path(line), number, line.title) for number, line in bases],
        marks=[(frame.shape(mark), mark.series, mark.title) for mark in seen],
        labels=[*_line_labels(frame, lines, names), *_inner_labels(frame, lines, seen, size.labels)],
    )


def shortest(name: str, longest: int) -> str:
    """The last part of an id, and its beginning where that is still long."""
    last = name.rpartition("/")[2] or name
    return last if len(last) <= longest else f"{last[: longest - 1]}…"


def ending(name: str, longest: int) -> str:
    """The end of the name of an op, which says more than its beginning: `…denselayer5.conv2`."""
    last = name.rpartition("/")[2] or name
    if len(last) <= longest:
        return last
    tail = last[1 - longest :]
    whole = tail.partition(".")[2]
    return f"…{whole or tail}"


@dataclass(frozen=True)
class _Frame:
    """Axes, and how large the heaviest point is."""

    x: PixelAxis
    y: PixelAxis
    heaviest: float

    def at(self, place: tuple[float, float]) -> tuple[float, float]:
        """Pixels of a place; what lies outside is put on the edge."""
        left, right = sorted((self.x.start, self.x.end))
        return min(max(self.x.at(place[0]), left), right), min(max(self.y.at(place[1]), self.y.end), self.y.start)

    def places(self, line: Line) -> list[tuple[float, float]]:
        """Pixels of what can be drawn of a line; a roof goes from edge to edge."""
        if line.knee:
            return self._roof(*line.knee[:2])
        return [self.at(place) for place in line.places if self.x.holds(place[0]) and self.y.holds(place[1])]

    def _roof(self, bend: float, peak: float) -> list[tuple[float, float]]:
        """From where it enters, at the left or below, over its knee, to the right."""
        left = max(10**self.x.low, 10**self.y.low * bend / peak)
        return [self.at(place) for place in ((left, left * peak / bend), (bend, peak), (10**self.x.high, peak))]

    def path(self, line: Line) -> str:
        """SVG path of a line."""
        return "".join(f"{'L' if number else 'M'}{a} {b}" for number, (a, b) in enumerate(self.places(line)))

    def drop(self, knee: tuple[float, float, str]) -> str:
        """SVG path from a knee down to the axis."""
        a, b = self.at(knee[:2])
        return f"M{a} {b}V{self.y.start}"

    def radius(self, mark: Mark) -> float:
        """The area is the weight."""
        return max(LIGHTEST_RADIUS, self.heaviest * math.sqrt(mark.size))

    def shape(self, mark: Mark) -> str:
        """SVG path of a point."""
        return shape(mark.series, *self.at((mark.x, mark.y)), self.radius(mark))


def shape(series: int, a: float, b: float, r: float) -> str:
    """A circle, square, diamond or triangle of the same area, so that a series is known without its colour."""
    r = round(r, 1)
    half = r * math.sqrt(math.pi) / 2
    side = r * math.sqrt(4 * math.pi / math.sqrt(3))
    reach, high = half * math.sqrt(2), side * math.sqrt(3) / 2
    return (
        f"M{a - r:.1f} {b}a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0z",
        f"M{a - half:.1f} {b - half:.1f}h{2 * half:.1f}v{2 * half:.1f}h{-2 * half:.1f}z",
        f"M{a} {b - reach:.1f}l{reach:.1f} {reach:.1f}l{-reach:.1f} {reach:.1f}l{-reach:.1f} {-reach:.1f}z",
        f"M{a} {b - 2 * high / 3:.1f}l{side / 2:.1f} {high:.1f}h{-side:.1f}z",
        f"M{a} {b + 2 * high / 3:.1f}l{side / 2:.1f} {-high:.1f}h{-side:.1f}z",
    )[series % SHAPES]


def _line_labels(frame: _Frame, lines: Sequence[Line], names: Sequence[str]) -> list[Label]:
    """At the right end of each line, moved up and down so that no two touch."""
    ends = {number: places[-1][1] for number, line in enumerate(lines) if (places := frame.places(line))}
    heights = spread(list(ends.values()), LINE_HEIGHT, frame.y.end, frame.y.start)
    return [
        Label(round(frame.x.end + 8, 1), round(height + 4, 1), names[number], series=number)
        for number, height in zip(ends, heights, strict=True)
    ]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least `gap` apart and near where they are wanted, between two ends as far as there is room."""
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    placed = dict.fromkeys(order, 0.0)
    reached = low - gap
    for number in order:
        reached = placed[number] = max(wanted[number], reached + gap)
    ceiling = high + gap
    for number in reversed(order):
        ceiling = placed[number] = min(placed[number], ceiling - gap)
    return [placed[number] for number in range(len(wanted))]


_Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _inner_labels(frame: _Frame, lines: Sequence[Line], marks: Sequence[Mark], most: int) -> list[Label]:
    """Of a lone roof's knee, and of the heaviest points where one has room beside, above or below."""
    named = [mark for mark in marks if mark.label]
    taken = [_around(frame, mark) for mark in marks] + [box for line in lines for box in _along(frame.places(line))]
    labels = []
    if len(lines) == 1 and lines[0].knee:  # at the foot of its drop
        knee_x, _ = frame.at(lines[0].knee[:2])
        labels.append(Label(round(knee_x - 5, 1), frame.y.start - 7, lines[0].knee[2], "end"))
    taken += [_box(label.x - LETTER_WIDTH * len(label.text), label.y, label.text) for label in labels]
    room = most
    for mark in sorted(named, key=lambda mark: -mark.size):
        if room and (label := _free_label(frame, mark, taken)):
            labels.append(label)
            room -= 1
    return labels


def _around(frame: _Frame, mark: Mark) -> _Box:
    (a, b), r = frame.at((mark.x, mark.y)), frame.radius(mark)
    return a - r, b - r, a + r, b + r


def _along(places: Sequence[tuple[float, float]]) -> Iterator[_Box]:
    """A line as a chain of small boxes."""
    for (a, b), (c, d) in pairwise(places):
        steps = max(1, int(math.hypot(c - a, d - b) / 8))
        for step in range(steps + 1):
            x, y = a + (c - a) * step / steps, b + (d - b) * step / steps
            yield x - 2, y - 2, x + 2, y + 2


def _box(left: float, base: float, text: str) -> _Box:
    return left, base - 10, left + LETTER_WIDTH * len(text), base + 3


def _free_label(frame: _Frame, mark: Mark, taken: list[_Box]) -> Label | None:
    """The label where nothing else stands, remembered; None where there is no such place."""
    text = ending(mark.label, 24)
    (a, b), r, width = frame.at((mark.x, mark.y)), frame.radius(mark) + 4, LETTER_WIDTH * len(text)
    for left, base, anchor in (
        (a + r, b + 4, "start"),
        (a - r - width, b + 4, "end"),
        (a - width / 2, b - r, "middle"),
        (a - width / 2, b + r + 10, "middle"),
    ):
        box = _box(left, base, text)
        if _inside(frame, box) and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            x = {"start": left, "end": left + width, "middle": left + width / 2}[anchor]
            return Label(round(x, 1), round(base, 1), text, anchor)
    return None


def _inside(frame: _Frame, box: _Box) -> bool:
    return frame.x.start <= box[0] and box[2] <= frame.x.end and frame.y.end <= box[1] and box[3] <= frame.y.start


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
