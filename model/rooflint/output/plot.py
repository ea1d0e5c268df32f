"""Drawings of an answer, SVG or PNG: its curves and its bars, each on axes of its own. Needs `rooflint[plot]`."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from rooflint.base.errors import RooflintError
from rooflint.output.sections import Bars, Curves, Page

WIDE, HIGH = 8.0, 5.0
"""Of one drawing. [inch]"""


class PlotError(RooflintError):
    """A drawing that cannot be made: without matplotlib, or of an answer that has nothing to draw."""


def draw(page: Page, form: str) -> bytes:
    """The curves and the bars of an answer, one below the other, as `svg` or `png`. Raises PlotError."""
    found = [section for section in page.sections if isinstance(section, Curves | Bars)]
    if not found:
        raise PlotError("nothing to draw: this answer has no curves and no bars; --compare or a range brings some")
    figure, fixed = _figure(len(found))
    for number, section in enumerate(found, 1):
        axes = figure.add_subplot(len(found), 1, number)
        axes.set_title(section.heading, loc="left")
        _DRAWERS[section.kind](axes, section)
    figure.suptitle(f"{page.title}: {page.subtitle}", fontsize="medium")
    stream = io.BytesIO()
    with fixed:
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()


def _figure(drawings: int) -> tuple[Any, AbstractContextManager[None]]:
    """An empty figure that needs no screen, and what makes its names in a file the same each time."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415  # an extra, and only for drawings
    except ImportError:
        raise PlotError(
            "a drawing needs matplotlib; install rooflint[plot], or write .html, which has it too"
        ) from None
    return Figure(figsize=(WIDE, HIGH * drawings), layout="constrained"), rc_context({"svg.hashsalt": "rooflint"})


def _curves(axes: Any, section: Curves) -> None:
    for curve in section.curves:
        axes.loglog(curve.x, curve.y, marker="o", label=curve.name)
    axes.set_xlabel(_label(section.x_label, section.x_unit))
    axes.set_ylabel(_label(section.y_label, section.y_unit))
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend(fontsize="small")


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


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


_DRAWERS: dict[str, Callable[[Any, Any], None]] = {"curves": _curves, "bars": _bars}
