"""Measured: what stopwatches recorded of each device, arranged for a reader beside what the model predicts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rooflint.base.log_axis import drawable
from rooflint_report.findings import Measured, MeasuredRow, TakenRecording
from rooflint_report.log_chart import Drawing, Line, Mark, Scale, drawings, shape
from rooflint_report.sections.section import WORST_FIRST, Page

IN_SIGHT = 12
"""Measurements of a device that are in sight; the rest is folded."""

STREAMS = "streams"
"""The series of what computes nothing."""

MIDDLE, RADIUS = 7, 4.5
"""Of a shape in the legend. [px]"""

SMALL = 0.1
"""Of a point, beside the heaviest that a chart has: many lie close to each other."""


@dataclass(frozen=True)
class Plot:
    """A chart whose points have the shape of their series and the colour of their outcome."""

    heading: str
    drawing: Drawing
    outcomes: Sequence[str]
    """Of each point."""
    keys: Sequence[tuple[str, str]]
    """Shape and name of each series."""
    note: str


@dataclass(frozen=True)
class Bench:
    """A device at an operating point with all that was measured of it."""

    name: str
    device: str
    rows: Sequence[MeasuredRow]
    recordings: Sequence[TakenRecording]
    plots: Sequence[Plot]

    @property
    def in_sight(self) -> Sequence[MeasuredRow]:
        """What is not green, and more while there is room."""
        return self.rows[: max(IN_SIGHT, sum(row.outcome != "pass" for row in self.rows))]

    @property
    def folded(self) -> Sequence[MeasuredRow]:
        """The rest."""
        return self.rows[len(self.in_sight) :]

    @property
    def has_power(self) -> bool:
        """Whether any of it was metered."""
        return any(row.power_w is not None for row in self.rows)

    @property
    def powerless(self) -> list[str]:
        """Why it was not, each reason once."""
        return list(dict.fromkeys(row.power_display for row in self.rows if row.power_w is None))

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """What could not be measured, and why."""
        return list(dict.fromkeys((one.what, one.why) for taken in self.recordings for one in taken.left_out))


@dataclass(frozen=True)
class View:
    """All measurements of a run."""

    measured: Measured
    benches: Sequence[Bench]


def view(page: Page) -> View | None:
    """None where an older run has no such evidence."""
    found = page.evidence.measured
    return View(found, benches_of(found)) if found else None


def benches_of(found: Measured) -> list[Bench]:
    """One bench for each device and operating point."""
    recorded = [(one.device, one.at) for one in found.recordings]
    places = dict.fromkeys(recorded + [(row.device, row.at) for row in found.rows])
    return [_bench(found, device, at) for device, at in places]


def _bench(found: Measured, device: str, at: str | None) -> Bench:
    rows = [row for row in found.rows if (row.device, row.at) == (device, at)]
    return Bench(
        name=f"{device} at {at}" if at else device,
        device=device,
        rows=sorted(rows, key=lambda row: WORST_FIRST.index(row.outcome)),
        recordings=[one for one in found.recordings if (one.device, one.at) == (device, at)],
        plots=[plot for plot in (_against(rows), _over_size(rows), _power(rows)) if plot],
    )


def _against(rows: Sequence[MeasuredRow]) -> Plot | None:
    points = _points(rows, _precision, lambda row: (row.predicted_s or 0.0, row.best_s))
    times = [time for mark in points.marks for time in (mark.x, mark.y)]
    return points.plot(
        "Measured against predicted",
        [_level("1:1", (min(times), min(times)), (max(times), max(times)))] if times else [],
        (Scale("predicted by the roofline", "s"), Scale("measured, best", "s")),
        "On the diagonal the roofline is right; above it a measurement takes longer, below it none can be without a "
        "cache, fewer multiplications or a wrong fact.",
    )


def _over_size(rows: Sequence[MeasuredRow]) -> Plot | None:
    several = len({row.library for row in rows if row.size}) > 1
    points = _points(
        rows,
        lambda row: f"{row.precision} {row.library}" if several else str(row.precision),
        lambda row: (row.size or 0.0, _percent(row)),
    )
    sizes = [mark.x for mark in points.marks]
    lines = [
        Line(name, name, best, name)
        for number, name in enumerate(points.names)
        if len(best := _best_of_each((mark.x, mark.y) for mark in points.marks if mark.series == number)) > 1
    ]
    return points.plot(
        "Efficiency over size",
        [*lines, *([_level("peak", (min(sizes), 100.0), (max(sizes), 100.0))] if sizes else [])],
        (Scale("edge of the product, ∛(m·n·k)"), Scale("of peak", "%", prefixed=False)),
        "Measured over peak rate of products; where several sizes were measured, a line joins the best of each.",
    )


def _power(rows: Sequence[MeasuredRow]) -> Plot | None:
    """Mean power over the share of the peak that was reached."""
    points = _points(rows, _precision, lambda row: (_percent(row), row.power_w or 0.0))
    shares, idle_w = [mark.x for mark in points.marks], [row.idle_w for row in points.rows if row.idle_w]
    return points.plot(
        "Power over efficiency",
        [_level("idle", (min(shares), min(idle_w)), (max(shares), min(idle_w)))] if idle_w else [],
        (Scale("of peak", "%", prefixed=False), Scale("mean power, idle included", "W")),
        "What is drawn however little is done, and what each share of the peak takes beyond.",
    )


@dataclass(frozen=True)
class _Points:
    """What can be drawn of some rows."""

    rows: Sequence[MeasuredRow]
    names: Sequence[str]
    marks: Sequence[Mark]

    def plot(self, heading: str, lines: Sequence[Line], scales: tuple[Scale, Scale], note: str) -> Plot | None:
        """The chart, in the narrow size: two stand side by side, one on a telephone. None without a point."""
        if not self.marks:
            return None
        drawing = next(one for one in drawings(lines, self.marks, *scales) if one.kind == "narrow")
        keys = [(shape(number, MIDDLE, MIDDLE, RADIUS), name) for number, name in enumerate(self.names)]
        return Plot(heading, drawing, [row.outcome for row in self.rows], keys, note)


def _points(
    rows: Sequence[MeasuredRow],
    series: Callable[[MeasuredRow], str],
    place: Callable[[MeasuredRow], tuple[float, float]],
) -> _Points:
    """Of the rows that have a place on logarithmic axes."""
    known = [row for row in rows if all(map(drawable, place(row)))]
    names = list(dict.fromkeys(map(series, known)))
    marks = [Mark(*place(row), names.index(series(row)), _title(row), size=SMALL) for row in known]
    return _Points(known, names, marks)


def _level(name: str, start: tuple[float, float], end: tuple[float, float]) -> Line:
    """A straight line that the points are read against."""
    return Line(name, name, [start, end], name)


def _best_of_each(places: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    best: dict[float, float] = {}
    for x, y in places:
        best[x] = max(y, best.get(x, y))
    return sorted(best.items())


def _percent(row: MeasuredRow) -> float:
    return 100 * (row.efficiency or 0.0)


def _precision(row: MeasuredRow) -> str:
    return row.precision or STREAMS


def _title(row: MeasuredRow) -> str:
    words = [row.what, row.precision or "", row.library]
    return (
        f"{' '.join(filter(None, words))}: {row.best_display} measured, {row.predicted_display} predicted, "
        f"{row.efficiency_display} of peak, {row.outcome}"
    )
