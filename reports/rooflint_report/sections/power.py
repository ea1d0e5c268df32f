"""Power: whether devices sustain their printed peak within their printed power."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rooflint.base.log_axis import drawable
from rooflint_report.differences import Change, Delta, PowerMoved, PowerThen
from rooflint_report.findings import Power, PowerLoad
from rooflint_report.log_chart import PixelAxis, pixel_axis
from rooflint_report.sections.section import Page

IN_SIGHT = 25
"""Loads that are in sight; the rest is folded."""

MOST = 200
"""Moved powers that a page shows; the evidence has every one."""

NAMED = 4
"""Changes that a row names."""

WIDTH, MIDDLE = 240, 9
"""Of the drawing of an interval, and the height of its line. [px]"""

EDGE = 8
"""So near to its ends a figure would be cut. [px]"""

TICKS = 8

MARKS = {"sustains": "●", "cannot sustain": "◆", "undecided": "○"}
"""One shape a verdict, in the drawing and before the word."""

CIRCLE = "m-4 0a4 4 0 1 1 8 0a4 4 0 1 1-8 0z"

SHAPES = {"sustains": CIRCLE, "cannot sustain": "m-5 0l5-5 5 5-5 5z", "undecided": CIRCLE}
"""The same as paths, from the middle of the shape."""


@dataclass(frozen=True)
class MovedPower:
    """One point whose power over its limit moved since the base."""

    point: str
    moved: PowerMoved
    alone: list[tuple[Change, PowerThen | None]]
    """Each change that moves it alone, with what it makes of it."""
    more: int
    """Changes that do so, too, and are not named."""


@dataclass(frozen=True)
class MovedPowers:
    """What moved since a base."""

    since: str
    rows: list[MovedPower]
    hidden: int


@dataclass(frozen=True)
class Powers:
    """The power of a run with what a page shows of it."""

    power: Power
    axis: PixelAxis
    in_sight: list[PowerLoad]
    folded: list[PowerLoad]
    not_known: list[tuple[str, list[str]]]
    """Reasons with the points that they are given for, the most frequent first."""
    moved: MovedPowers | None
    """None where the run was not compared with an earlier state."""

    marks: ClassVar[Mapping[str, str]] = MARKS
    classes: ClassVar[Mapping[str, str]] = {"sustains": "can", "cannot sustain": "not", "undecided": "may"}

    @property
    def limit_x(self) -> float:
        """Place of the limit on the axis. [px]"""
        return self.axis.at(1.0)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and figures of the axis; 1 is among them unless it stands at an end."""
        values = sorted({*self.axis.ticks(TICKS), 1.0})
        places = [(self.axis.at(value), f"{value:g}") for value in values]
        return [(x, text) for x, text in places if EDGE <= x <= WIDTH - EDGE]

    @property
    def unanswered(self) -> int:
        """How many points have no answer."""
        return len({point for _, points in self.not_known for point in points})

    @property
    def partly(self) -> int:
        """Number of points some of whose loads are not known."""
        return sum(load.unknown > 0 for load in self.power.loads)

    def line(self, load: PowerLoad) -> str:
        """SVG path from the lowest to the highest power."""
        return f"M{self._x(load.low_ratio):g} {MIDDLE}H{self._x(load.high_ratio):g}"

    def mark(self, load: PowerLoad) -> str:
        """SVG path of the shape of the verdict, at the typical power."""
        return f"M{self._x(load.ratio):g} {MIDDLE}{SHAPES[load.verdict]}"

    def _x(self, ratio: float) -> float:
        """Nothing at all has no logarithm; it stands at the left end."""
        return self.axis.at(ratio) if drawable(ratio) else self.axis.start


def view(page: Page) -> Powers | None:
    """None where an older run has no such evidence."""
    power = page.evidence.power
    if power is None:
        return None
    ratios = [end for load in power.loads for end in (load.low_ratio, load.ratio, load.high_ratio)]
    points: dict[str, list[str]] = {}
    for one in power.not_known:
        points.setdefault(one.reason, []).append(point(one.device, one.at))
    return Powers(
        power,
        pixel_axis([1.0, *ratios], 0, WIDTH),
        power.loads[:IN_SIGHT],
        power.loads[IN_SIGHT:],
        sorted(points.items(), key=lambda group: -len(group[1])),
        _moved(page.evidence.delta),
    )


def _moved(delta: Delta | None) -> MovedPowers | None:
    if delta is None or delta.power is None:
        return None
    rows = [_row(one, delta.changes) for one in delta.power[:MOST]]
    return MovedPowers(delta.old.label, rows, len(delta.power[MOST:]))


def _row(one: PowerMoved, changes: Sequence[Change]) -> MovedPower:
    alone = [(changes[each.change], each.new) for each in one.alone if each.change < len(changes)]
    return MovedPower(point(one.device, one.at), one, alone[:NAMED], len(alone[NAMED:]))


def point(device: str, at: str | None) -> str:
    """`nvidia/t4`, `stillwater/kpu-t64 at 3w`."""
    return f"{device} at {at}" if at else device
