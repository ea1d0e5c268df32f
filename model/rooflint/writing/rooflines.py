"""Rooflines in a terminal: a drawing, then the roofs and the heaviest points with their letters. Needs Rich."""

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from rooflint.answer import Point, Roof, Rooflines
from rooflint.table import Table
from rooflint.writing.chart import COLOURS, DOT, Axis, Letter, Line, chart
from rooflint.writing.columns import fitted, paragraph
from rooflint.writing.log_axis import LogAxis, drawable
from rooflint.writing.tables import heaviest, points_table, roofs_table, share_text

SHOWN = 16
"""Points that are listed; all of them are in the other formats."""


def roofline_text(section: Rooflines, width: int) -> Iterator[RenderableType]:
    """Capitals are roofs; small letters are points, of their roof where there are several."""
    points = heaviest(section)
    signs = _signs(section, points)
    yield _chart(section, points, signs, width)
    several = len(section.roofs) > 1
    roofs = roofs_table(section)
    yield from fitted(_signed(roofs, string.ascii_uppercase) if several else roofs, width)
    yield Text("")
    yield from fitted(_signed(points_table(section, points[:SHOWN]), signs), width)
    yield from _left_out(points, width)


def _signs(section: Rooflines, points: Sequence[Point]) -> Sequence[str]:
    """Of each point: the letter of its roof, or one of its own where there is one roof."""
    if len(section.roofs) <= 1:
        return string.ascii_lowercase[: min(SHOWN, len(points))] + DOT * (len(points) - SHOWN)
    letters = dict(zip((roof.name for roof in section.roofs), string.ascii_lowercase, strict=False))
    return [letters.get(point.roof, DOT) for point in points]


def _signed(table: Table, signs: Iterable[str]) -> Table:
    """With a column of letters in front."""
    rows = [(sign, *row) for sign, row in zip(signs, table.rows, strict=False)]
    return replace(table, columns=("", *table.columns), rows=tuple(rows))


def _left_out(points: Sequence[Point], width: int) -> Iterator[RenderableType]:
    rest, hidden = points[SHOWN:], sum(not _drawable(point) for point in points)
    if rest:
        share = share_text(sum(point.weight for point in rest), sum(point.weight for point in points))
        yield paragraph(f"{len(rest)} more points, together {share} of the latency; other formats list them all", width)
    if hidden:
        yield paragraph(f"{hidden} of {len(points)} points are zero, and have no place on these axes", width)


def _chart(section: Rooflines, points: Sequence[Point], signs: Iterable[str], width: int) -> Text:
    drawn = [roof for roof in section.roofs if drawable(roof.peak_ops_per_s) and drawable(roof.bandwidth_bytes_per_s)]
    x = LogAxis.around([*(point.intensity_ops_per_byte for point in points), *map(_ridge, drawn)])
    y = LogAxis.around([*(point.attained_ops_per_s for point in points), *(roof.peak_ops_per_s for roof in drawn)])
    colours = {roof.name: COLOURS[number % len(COLOURS)] for number, roof in enumerate(section.roofs)}
    lines = [Line(_roof(roof, x, y), colours[roof.name]) for roof in drawn]
    letters = [] if len(section.roofs) == 1 else _capitals(section, drawn, x, colours)
    letters += [
        Letter(sign, point.intensity_ops_per_byte, point.attained_ops_per_s, colours.get(point.roof, COLOURS[0]))
        for sign, point in zip(signs, points, strict=True)
    ]
    return chart(lines, letters, Axis(x, "intensity [op/B]", ""), Axis(y, "attained", "OP/s"), width)


def _capitals(section: Rooflines, drawn: Sequence[Roof], x: LogAxis, colours: dict[str, str]) -> list[Letter]:
    """Names of roofs, at their right end."""
    return [
        Letter(sign, 10**x.high, roof.peak_ops_per_s, colours[roof.name])
        for sign, roof in zip(string.ascii_uppercase, section.roofs, strict=False)
        if roof in drawn
    ]


def _drawable(point: Point) -> bool:
    return drawable(point.intensity_ops_per_byte) and drawable(point.attained_ops_per_s)


def _ridge(roof: Roof) -> float:
    return roof.peak_ops_per_s / roof.bandwidth_bytes_per_s


def _roof(roof: Roof, x: LogAxis, y: LogAxis) -> list[tuple[float, float]]:
    """From where the slope enters the drawing, over the ridge, to the right end."""
    left = max(10**x.low, 10**y.low / roof.bandwidth_bytes_per_s)
    return [
        (left, left * roof.bandwidth_bytes_per_s),
        (_ridge(roof), roof.peak_ops_per_s),
        (10**x.high, roof.peak_ops_per_s),
    ]
