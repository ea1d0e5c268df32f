"""A page of small charts over the commits of history.jsonl: each step with the fact that moved it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rooflint.base.units import SECONDS, format_quantity
from rooflint_report.history import HistoryLine, series_of
from rooflint_report.log_chart import pixel_axis
from rooflint_report.report import environment, stripped

WIDTH, HEIGHT = 360, 90
MARGIN = 6
SAME = 1e-9
"""Relative difference up to which a computed value did not change."""
STEPS = 12
"""Steps that are listed below a chart, the latest first."""


@dataclass(frozen=True)
class TrendStep:
    """A change of a series."""

    at: int
    """Position of the commit."""
    text: str
    """`890.2 µs → 1.432 ms, ×1.61`"""
    causes: Sequence[str]
    """Facts, or what else is known of it."""


@dataclass(frozen=True)
class Trend:
    """One series."""

    name: str
    values: Mapping[int, float]
    """By the position of the commit."""
    steps: Sequence[TrendStep]
    is_time: bool = False
    notes: Sequence[str] = field(default_factory=tuple)
    is_measured: bool = False

    def display(self, value: float) -> str:
        """A value for a reader."""
        if self.is_time:
            return format_quantity(value, SECONDS)
        return f"{100 * value:.4g} %" if self.name.startswith(("mutation ", "error ")) else f"{value:g}"


@dataclass(frozen=True)
class Chart:
    """A series as a template draws it."""

    trend: Trend
    path: str
    points: Sequence[tuple[float, float, str]]
    """Pixels and what is said of the point."""
    marks: Sequence[tuple[float, int]]
    """Pixel and number of each listed step."""
    low: str
    high: str
    last: str


def computed(lines: Sequence[HistoryLine]) -> list[Trend]:
    """Series that no noise is in: each change is a step of the commit that made it."""
    watched = {name for one in lines for name in one.watched}
    found = []
    for name, values in series_of(lines).items():
        known = {at: value for at, value in enumerate(values) if value is not None}
        bare = Trend(name, known, (), is_time=name in watched)
        found.append(Trend(name, known, list(_steps(bare, lines)), is_time=bare.is_time))
    return found


def _steps(trend: Trend, lines: Sequence[HistoryLine]) -> Iterable[TrendStep]:
    places = list(trend.values)
    for before, at in pairwise(places):
        old, new = trend.values[before], trend.values[at]
        if not math.isclose(old, new, rel_tol=SAME, abs_tol=1e-12):
            factor = f", ×{new / old:.3g}" if trend.is_time and old else ""
            text = f"{trend.display(old)} → {trend.display(new)}{factor}"
            yield TrendStep(at, text, facts_of(lines, at))


def facts_of(lines: Sequence[HistoryLine], at: int) -> list[str]:
    """The changed facts of a commit, or why none are named."""
    one = lines[at]
    previous = lines[at - 1].sha if at else None
    if one.base is None:
        return ["its facts were not compared with an earlier commit"]
    since = [] if one.base == previous else [f"facts compared with {one.base[:12]}, not with the commit before"]
    return [*(one.facts or ["no fact changed: the model or the claims did"]), *since]


def render(lines: Sequence[HistoryLine], trends: Sequence[Trend], repository: str = "") -> str:
    """The page; commits are links where the address of the repository is given."""
    charts = [_chart(one, lines) for one in trends if one.values]
    template = environment().get_template("trend.html.j2")
    address = repository if repository.startswith("https://") else ""
    return stripped(template.render(lines=lines, charts=charts, repository=address, size=(WIDTH, HEIGHT), most=STEPS))


def _chart(trend: Trend, lines: Sequence[HistoryLine]) -> Chart:
    values = list(trend.values.values())
    # a value of zero has no place on an axis of factors
    linear = not trend.is_time or min(values) <= 0
    shift = 1.0 if linear and min(values) <= 0 else 0.0
    y = pixel_axis((value + shift for value in values), HEIGHT - MARGIN, MARGIN, linear=linear or _is_narrow(values))
    pixels = {
        at: (_x(at, len(lines)), min(max(y.at(value + shift), 0.0), float(HEIGHT)))
        for at, value in trend.values.items()
    }
    shown = sorted(trend.steps, key=lambda one: -one.at)[:STEPS]
    return Chart(
        trend,
        "".join(f"{'L' if number else 'M'}{a} {b}" for number, (a, b) in enumerate(pixels.values())),
        [(*pixels[at], f"{lines[at].sha[:12]} {trend.display(value)}") for at, value in trend.values.items()],
        [(_x(one.at, len(lines)), number) for number, one in enumerate(shown, 1)],
        trend.display(min(values)),
        trend.display(max(values)),
        trend.display(values[-1]),
    )


def _is_narrow(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis, which has a decade at least, would hide the moves."""
    return max(values) < 10 * min(values)


def _x(at: int, count: int) -> float:
    return round(MARGIN + (WIDTH - 2 * MARGIN) * (at / (count - 1) if count > 1 else 0.5), 1)
