"""Curves in a terminal: a drawing with a letter at each point, then the figures. Needs Rich."""

import string
from collections.abc import Iterator
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from rooflint.answer import Curves
from rooflint.writing.chart import COLOURS, Axis, Letter, Line, chart
from rooflint.writing.columns import GLUE, fitted
from rooflint.writing.log_axis import LogAxis
from rooflint.writing.tables import curves_table


def curves_text(section: Curves, width: int) -> Iterator[RenderableType]:
    """Capitals name the curves, in the drawing and in the table."""
    yield _chart(section, width)
    table = curves_table(section)
    first, *heads = table.columns
    named = [f"{sign}{GLUE}{head}" for sign, head in zip(_signs(section), heads, strict=True)]
    yield from fitted(replace(table, columns=(first, *named)), width)


def _signs(section: Curves) -> str:
    return "".join(string.ascii_uppercase[number % 26] for number in range(len(section.curves)))


def _chart(section: Curves, width: int) -> Text:
    x = LogAxis.around(value for curve in section.curves for value in curve.x)
    y = LogAxis.around(value for curve in section.curves for value in curve.y)
    lines, letters = [], []
    for number, (sign, curve) in enumerate(zip(_signs(section), section.curves, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        places = sorted(zip(curve.x, curve.y, strict=True))
        lines.append(Line(places, colour))
        letters += [Letter(sign, *place, colour) for place in places]
    return chart(
        lines, letters, Axis(x, section.x_label, section.x_unit), Axis(y, section.y_label, section.y_unit), width
    )
