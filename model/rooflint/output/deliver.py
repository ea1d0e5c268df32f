"""Where an answer goes: to standard output, to a pipe or a device, or into a file whose suffix names the format.

A .svg or .png file is a drawing of the curves and bars of the answer; it needs `rooflint[plot]`.
"""

import io
import math
import os
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import typer

from rooflint.base.errors import RooflintError, extra
from rooflint.base.files import write_atomically, write_bytes_atomically
from rooflint.base.log_axis import LogAxis
from rooflint.output.answer import Answer, write
from rooflint.output.sections import Bars, Curves, Page, Rooflines, with_unit
from rooflint.roofline import attainable_ops_per_s

FORMS = {".txt": "text", ".json": "json", ".csv": "csv", ".md": "md", ".html": "html"}
"""Format by suffix."""

DRAWINGS = {".svg": "svg", ".png": "png"}
"""Kind of a drawing by suffix."""

STANDARD = (Path("-"), Path("/dev/stdout"))
"""Names of standard output."""


class PlotError(RooflintError):
    """A drawing that cannot be made: without matplotlib, or of an answer that has nothing to draw."""


class OutputError(RooflintError):
    """A file that cannot be written, or whose suffix says no format."""


def deliver(answer: Answer, form: str | None, output: Path | None) -> None:
    """Write an answer in a format; without one as the file's suffix says, without a file as text.

    Raises UnknownFormatError for a format that no part brings, OutputError for a file, PlotError for a drawing.
    """
    if output is None or output in STANDARD:
        typer.echo(write(answer, form or "text"), nl=False)
        return
    try:
        place, stream = _place(output)
        if not form and not stream and output.suffix.lower() in DRAWINGS:
            write_bytes_atomically(place, draw(answer, DRAWINGS[output.suffix.lower()]))
            return
        chosen = form or _form_of(output, stream)
        text = write(answer, chosen)
        put = _append if stream else write_atomically
        put(place, _uncoloured(text) if chosen == "text" else text)
    except OSError as error:
        raise OutputError(f"{output}: cannot be written ({error.strerror})") from None


def check_place(form: str | None, output: Path | None) -> None:
    """Refuse a place that `deliver` would refuse, before the answer is worked out. Raises OutputError."""
    if output is not None and output not in STANDARD:
        place, stream = _place(output)
        if not form and place.suffix.lower() not in DRAWINGS:
            _form_of(output, stream)


def _place(output: Path) -> tuple[Path, bool]:
    """What is written to, and whether it is a stream: a device or a pipe, which nothing may replace by a file.

    A symlink stays; what it leads to is written. Raises OutputError for a folder, and where there is none to write in.
    """
    if output.is_dir():
        raise OutputError(f"{output}: want a file to write, found a folder")
    if output.exists() and not output.is_file():
        return output, True
    place = Path(os.path.realpath(output))
    if not place.parent.is_dir():
        raise OutputError(f"{output}: want a file in a folder that is there, found no folder {place.parent}")
    return place, False


def _append(stream: Path, text: str) -> None:
    with stream.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def _form_of(output: Path, stream: bool) -> str:
    """As the suffix says; a stream may have none and then takes text."""
    form = FORMS.get(output.suffix.lower(), "text" if stream else None)
    if form is None:
        raise OutputError(f"{output}: want a suffix that names a format ({', '.join(FORMS)}), or --format")
    return form


def _uncoloured(text: str) -> str:
    """A file is not a terminal, even if the command runs in one."""
    from rich.text import Text  # noqa: PLC0415  # only for text

    return "".join(Text.from_ansi(line).plain + "\n" for line in text.splitlines())


# ---- drawings, each on axes of its own

TITLE = 95
"""Characters of a title that fit the width."""

MANY = 1000
"""More than the curves of a drawing, of which the first is on top where its figures stand elsewhere."""

WIDE, HIGH = 10.0, 5.0
"""Of one drawing, which is higher where its legend is. [inch]"""

ENTRY = 0.19
"""Height of an entry of a legend. [inch]"""

HEADED = 4
"""Entries that would have room where the title and the label of the axis are."""

LABELLED = 12
"""Points that have room for their names beside them; more are numbered, and named in the legend."""

COLOURS, MARKERS = 10, "osD^v"
"""Colours that matplotlib has for curves, and the marks that tell those of one colour apart."""

TICKS = 8
"""Figures of an axis, at most."""


def draw(page: Page, form: str) -> bytes:
    """The curves, bars and rooflines of an answer, one below the other, as `svg` or `png`. Raises PlotError."""
    found = [section for section in page.sections if isinstance(section, Curves | Bars | Rooflines)]
    if not found:
        raise PlotError("nothing to draw: this answer has no curves and no bars; --compare or a range brings some")
    heights = [max(HIGH, ENTRY * (_entries(section) + HEADED)) for section in found]
    figure, fixed = _figure(sum(heights))
    places = figure.add_gridspec(len(found), 1, height_ratios=heights)
    for number, section in enumerate(found):
        axes = figure.add_subplot(places[number, 0])
        axes.set_title(section.heading, loc="left")
        _DRAWERS[section.kind](axes, section)
    figure.suptitle(textwrap.fill(f"{page.title}: {page.subtitle}", TITLE), fontsize="medium")
    stream = io.BytesIO()
    with fixed:
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()


def _entries(section: Curves | Bars | Rooflines) -> int:
    """Of its legend."""
    match section:
        case Curves():
            return len(section.curves)
        case Rooflines():
            return len(section.roofs) + len(section.points) * (len(section.points) > LABELLED)
        case _:
            return 0


def _figure(height: float) -> tuple[Any, AbstractContextManager[None]]:
    """An empty figure that needs no screen, and what makes its names in a file the same each time."""
    try:
        from matplotlib import figure, rc_context  # noqa: PLC0415  # an extra, and only for drawings
    except ImportError:
        raise PlotError(f"a drawing needs matplotlib, else write .html, which has it too; {extra('plot')}") from None
    return figure.Figure(figsize=(WIDE, height), layout="constrained"), rc_context({"svg.hashsalt": "rooflint"})


def _curves(axes: Any, section: Curves) -> None:
    for number, curve in enumerate(section.curves):
        line, layer = "-" if curve.joined else "", 2 if section.listed else 2 - number / MANY
        marker = MARKERS[number // COLOURS % len(MARKERS)]
        axes.plot(curve.x, curve.y, marker=marker, linestyle=line, label=curve.name, zorder=layer)
    x, y = ([value for curve in section.curves for value in getattr(curve, name)] for name in "xy")
    _scaled(axes, "x", x, section.x_label, section.x_unit, linear=section.linear)
    _scaled(axes, "y", y, section.y_label, section.y_unit, linear=section.linear or section.linear_y)
    axes.grid(visible=True, alpha=0.3)
    _legend(axes)


def _scaled(axes: Any, name: str, values: Sequence[float], label: str, unit: str, *, linear: bool) -> None:
    """The axis `x` or `y`: figures with their units at round places, and its label."""
    getattr(axes, f"set_{name}label")(label)
    if linear:
        getattr(axes, f"{name}axis").set_major_formatter(lambda value, _: with_unit(value, unit))
        return
    scale = LogAxis.around(values)
    ticks = scale.ticks(TICKS)
    axes.set(**{f"{name}scale": "log", f"{name}lim": (10**scale.low, 10**scale.high)})
    getattr(axes, f"set_{name}ticks")(ticks, [with_unit(tick, unit) for tick in ticks])
    getattr(axes, f"set_{name}ticks")([], minor=True)


def _legend(axes: Any) -> None:
    """Beside the drawing, where it covers no line."""
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _bars(axes: Any, section: Bars) -> None:
    """Stacked parts, the first bar on top."""
    starts = [0.0] * len(section.bars)
    for name in dict.fromkeys(part.name for bar in section.bars for part in bar.parts):
        values = [sum(part.value for part in bar.parts if part.name == name) for bar in section.bars]
        axes.barh(range(len(values)), values, left=starts, label=name)
        starts = [start + value for start, value in zip(starts, values, strict=True)]
    for row, (bar, end) in enumerate(zip(section.bars, starts, strict=True)):
        axes.annotate(bar.shown, (end, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small")
    axes.set_yticks(range(len(starts)), [bar.label for bar in section.bars])
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.legend(fontsize="small")


def _rooflines(axes: Any, section: Rooflines) -> None:
    """Each roof from a tenth of the least intensity to beyond its breakpoint, with its points."""
    places = [point.intensity_ops_per_byte for point in section.points]
    places += [roof.breakpoint_ops_per_byte for roof in section.roofs if math.isfinite(roof.breakpoint_ops_per_byte)]
    low, high = min(places, default=1.0) / 3, max(places, default=1.0) * 3
    rates: list[float] = []
    numbered = {id(point): number for number, point in enumerate(section.points, 1)}
    has_room = len(section.points) <= LABELLED
    for number, roof in enumerate(section.roofs):
        bend = min(max(roof.breakpoint_ops_per_byte, low), high)
        line = [
            (at, attainable_ops_per_s(at, roof.peak_ops_per_s, roof.bandwidth_bytes_per_s)) for at in (low, bend, high)
        ]
        axes.plot(*zip(*line, strict=True), color=f"C{number}", label=roof.name)
        rates += [rate for _, rate in line]
        for point in (one for one in section.points if one.roof == roof.name):
            place = point.intensity_ops_per_byte, point.attained_ops_per_s
            rates.append(point.attained_ops_per_s)
            axes.plot(*place, "o", color=f"C{number}", markersize=4)
            text = point.label if has_room else str(numbered[id(point)])
            axes.annotate(text, place, xytext=(3, 3), textcoords="offset points", fontsize="x-small")
    for point in () if has_room else section.points:
        axes.plot([], [], " ", label=f"{numbered[id(point)]}  {point.label}")
    _scaled(axes, "x", (low, high), "intensity", "op/B", linear=False)
    _scaled(axes, "y", rates, "rate", "op/s", linear=False)
    axes.grid(visible=True, alpha=0.3)
    _legend(axes)


_DRAWERS: dict[str, Callable[[Any, Any], None]] = {
    "curves": _curves,
    "bars": _bars,
    "rooflines": _rooflines,
}
