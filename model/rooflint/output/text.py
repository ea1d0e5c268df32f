"""Answers and tables for a terminal of 80 columns or more, charts included. Needs Rich.

Charts are bars, heat maps, rooflines and curves, each with its figures; colour only repeats what signs say.
"""

import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from rooflint.base.log_axis import LinearAxis, LogAxis, drawable
from rooflint.base.text import visible
from rooflint.output import sections
from rooflint.output.columns import GLUE, Styles, broken, columns, fitted, paragraph, plain
from rooflint.output.sections import Bar, Bars, Curves, Grid, Heat, Page, Point, Prose, Roof, Rooflines, Table

NARROWEST, WIDEST = 80, 120
"""A narrower terminal would have to break figures; in a wider one lines are long to read. [columns]"""


def as_text(page: Page) -> str:
    """As wide as the terminal, from 80 to 120 columns; coloured where standard output is a terminal that wants it."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = width = min(max(console.width, NARROWEST), WIDEST)
    with console.capture() as capture:
        for part in _parts(page, width):
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().split("\n")).rstrip("\n") + "\n"


def _parts(page: Page, width: int) -> Iterator[RenderableType]:
    yield paragraph(page.title, width, "bold")
    if page.subtitle:
        yield paragraph(page.subtitle, width, "dim")
    for section in page.written:
        yield _heading(section.heading, width)
        yield from _WRITERS[section.kind](section, width)
        if note := getattr(section, "note", ""):
            yield paragraph(note, width, "dim")


def _heading(heading: str, width: int) -> Text:
    """With a rule behind it, so that sections are found without colour."""
    *above, last = broken(heading, width - 4)
    rule = "─" * (width - cell_len(last) - 1)
    return Text("\n").append("\n".join([*above, last]), "bold").append(f" {rule}", "dim")


def _prose(section: Prose, width: int) -> Iterator[Text]:
    for sentence in section.sentences:
        yield Text("• " + "\n  ".join(broken(sentence, width - 2)))


def _grid(section: Grid, width: int) -> Iterator[RenderableType]:
    return fitted(section.table, width, section.strong)


# ---- tables

ANY_WIDTH = 10**6
"""Wider than any terminal. [columns]"""


def table_text(table: Table) -> str:
    """As wide as the terminal: a wider table loses some of its space between columns first, then cells are folded."""
    grid = RichTable(title=table.title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(table.columns):
        numeric = all(isinstance(row[position], int | float) for row in table.rows)
        grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(visible(sections.cell_text(cell)).replace("\n", " ")) for cell in row))
    console = Console(highlight=False)
    if Measurement.get(console, console.options.update(max_width=ANY_WIDTH), grid).maximum > console.width:
        grid.padding = (0, 1, 0, 0)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


# ---- drawings on two axes: lines of braille dots, letters at points

ROWS = 18
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
DOT = "·"
"""A point without a letter: it shares a place with others, and leaves it to letters."""
_BESIDE = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (2, 0), (-2, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))
"""Where a letter goes when its place is taken. [columns, rows]"""


@dataclass(frozen=True)
class Line:
    """Straight pieces through points, which may lie outside."""

    points: Sequence[tuple[float, float]]
    colour: str


@dataclass(frozen=True)
class Letter:
    """A letter at a place; the first of a list are drawn where they belong, later ones step aside."""

    sign: str
    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis and what it is called."""

    scale: LogAxis
    name: str
    unit: str


def chart(lines: Iterable[Line], letters: Iterable[Letter], x: Axis, y: Axis, width: int) -> Text:
    """The drawing with its axes, in that many columns."""
    ticks = {_row(y, tick): sections.with_unit(tick, y.unit) for tick in y.scale.ticks(ROWS // 3)}
    margin = max(map(cell_len, ticks.values()), default=0)
    columns = width - margin - 2
    drawing = Text.from_ansi(_drawing(lines, letters, x, y, columns))
    text = Text("\n".join(broken(y.name, width)) + "\n")
    for number, line in enumerate(drawing.split("\n", allow_blank=True)):
        row = ROWS - 1 - number
        text.append(f"{ticks.get(row, ''):>{margin}} {'┤' if row in ticks else '│'}").append(line).append("\n")
    for below in _below(x, columns):
        text.append(f"{'':{margin}} {below}\n")
    return text


def _row(axis: Axis, value: float) -> int:
    return _place(axis, value, ROWS, 4)


def _place(axis: Axis, value: float, cells: int, dots: int) -> int:
    """Cell along an axis, of so many dots each; rounded as the lines are."""
    return min(max(round(axis.scale.share(value) * cells * dots) // dots, 0), cells - 1)


def _drawing(lines: Iterable[Line], letters: Iterable[Letter], x: Axis, y: Axis, columns: int) -> str:
    """The canvas is measured in its own dots, two a column and four a row."""
    from plotille import Canvas  # noqa: PLC0415  # tables do without

    wide, high = 2 * columns, 4 * ROWS
    canvas = Canvas(columns, ROWS, 0, 0, wide, high)
    for line in lines:
        held = ((a, b) for a, b in line.points if x.scale.holds(a) and y.scale.holds(b))
        places = [(x.scale.share(a) * wide, y.scale.share(b) * high) for a, b in held]
        for (x0, y0), (x1, y1) in pairwise(places):
            canvas.line(x0, y0, x1, y1, color=line.colour)
    for (column, row), letter in _placed(letters, x, y, columns).items():
        canvas.text(2 * column, 4 * row, letter.sign, color=letter.colour)
    return str(canvas.plot("\n")).replace("\u2800", " ")


def _placed(letters: Iterable[Letter], x: Axis, y: Axis, columns: int) -> dict[tuple[int, int], Letter]:
    placed: dict[tuple[int, int], Letter] = {}
    for letter in letters:
        if x.scale.holds(letter.x) and y.scale.holds(letter.y):
            place = _place(x, letter.x, columns, 2), _row(y, letter.y)
            if letter.sign == DOT:
                placed.setdefault(place, letter)
            else:
                placed[_free(*place, columns, placed)] = letter
    return placed


def _drawable(x: float, y: float) -> bool:
    return drawable(x) and drawable(y)


def _free(column: int, row: int, columns: int, taken: Collection[tuple[int, int]]) -> tuple[int, int]:
    """The place, or a free one beside it, or the place after all."""
    for right, up in _BESIDE:
        place = column + right, row + up
        if place not in taken and 0 <= place[0] < columns and 0 <= place[1] < ROWS:
            return place
    return column, row


def _below(x: Axis, columns: int) -> Iterator[str]:
    """The line of the axis, the figures under it, and its name."""
    line, figures, end = ["─"] * columns, "", -1
    for tick in x.scale.ticks(columns // 10):
        text, place = sections.with_unit(tick, x.unit), _place(x, tick, columns, 2)
        start = max(min(place - cell_len(text) // 2, columns - cell_len(text)), 0)
        if start > end:
            line[place], figures = "┬", figures.ljust(start) + text
            end = start + cell_len(text)
    yield "└" + "".join(line)
    yield f" {figures}"
    for name in broken(x.name, columns):
        yield " " * (1 + columns - cell_len(name)) + name


# ---- stacked bars, whose parts differ in their fill

FILLS = "█▓▒░▞▤#=+~" + string.ascii_lowercase
LONGEST_LABEL = 24


def bars_text(section: Bars, width: int) -> Iterator[RenderableType]:
    """The bars, then their figures, which are the legend, too."""
    fills = {name: FILLS[number % len(FILLS)] for number, name in enumerate(sections.parts_of(section))}
    labels = _labels(section)
    beside = max((cell_len(line) for lines in labels for line in lines), default=0)
    whole = max((cell_len(plain(bar.shown)) for bar in section.bars), default=0)
    longest = max((bar.value for bar in section.bars), default=0.0)
    for lines, bar in zip(labels, section.bars, strict=True):
        text = Text("\n".join(line + " " * (beside - cell_len(line)) for line in lines) + "  ")
        drawn = _drawn(bar, fills, longest, width - beside - whole - 4)
        yield text.append_text(drawn).append(f"  {plain(bar.shown)}", "bold")
    yield Text("")
    yield from fitted(_with_fills(sections.bars_table(section), fills), width)


def _labels(section: Bars) -> list[list[str]]:
    """Short enough to leave room for bars; a bar stands on the last line of its label."""
    (column,) = columns(Table(("",), tuple((bar.label,) for bar in section.bars)))
    if column.natural > LONGEST_LABEL:
        column = column.short()
    return [broken(label, LONGEST_LABEL) for label in column.cells]


def _drawn(bar: Bar, fills: Mapping[str, str], longest: float, room: int) -> Text:
    """Parts are rounded by where they end, so that they add up; what is not nothing is seen."""
    text, reached = Text(), 0.0
    for part in bar.parts:
        reached += max(part.value, 0.0)
        end = min(round(reached / longest * room), room) if longest > 0 else 0
        style = COLOURS[list(fills).index(part.name) % len(COLOURS)]
        text.append(fills[part.name] * (end - len(text)), style)
    return text if len(text) or reached <= 0 else text.append("▏")


def _with_fills(table: Table, fills: Mapping[str, str]) -> Table:
    """Each part with the sign that draws it, in the header or, of a single bar, in its row."""
    heads = [f"{fills[head]}{GLUE}{head}" if head in fills else head for head in table.columns]
    rows = [(_named(row[0], fills), *row[1:]) for row in table.rows]
    return replace(table, columns=tuple(heads), rows=tuple(rows))


def _named(name: object, fills: Mapping[str, str]) -> str:
    return f"{fills[str(name)]}{GLUE}{name}" if name in fills else str(name)


# ---- heat maps: figures beside shades, the best of each row marked

BEST = "*"
SHADES = GLUE + "░▒▓█"
"""From the least value to the greatest."""
HEAT_COLOURS = ("", "", "", "yellow", "red")


def heat_text(section: Heat, width: int) -> Iterator[RenderableType]:
    """The map and what its signs mean."""
    levels = _levels(section)
    table = sections.heat_table(section, BEST + "{}")
    rows = [
        (str(name), *(f"{cell}{GLUE}{SHADES[level]}" for cell, level in zip(cells, levels[number], strict=True)))
        for number, (name, *cells) in enumerate(table.rows)
    ]
    yield from fitted(replace(table, rows=tuple(rows)), width, styles=_styles(section, levels))
    legend = f"{BEST} best of its row; {SHADES[1:]} from lesser to greater, on a logarithmic scale"
    yield paragraph(legend, width, "dim")


def _styles(section: Heat, levels: list[list[int]]) -> Styles:
    def style(row: int, column: int) -> str:
        if not column:
            return ""
        return "bold green" if section.best(row) == column - 1 else HEAT_COLOURS[levels[row][column - 1]]

    return style


def _levels(section: Heat) -> list[list[int]]:
    """Shades of a map on one logarithmic scale."""
    known = [value for row in section.values for value in row if value is not None and drawable(value)]
    if not known or min(known) == max(known):
        return [[0] * len(section.columns) for _ in section.rows]
    scale = LogAxis.around(known)
    return [[_level(value, scale) for value in row] for row in section.values]


def _level(value: float | None, scale: LogAxis) -> int:
    """Zero is the least."""
    if value is None or not drawable(value):
        return 0
    return min(int(scale.share(value) * len(SHADES)), len(SHADES) - 1)


# ---- rooflines: a drawing, then the roofs and the heaviest points with their letters

SHOWN = 16
"""Points that are listed; all of them are in the other formats."""


def roofline_text(section: Rooflines, width: int) -> Iterator[RenderableType]:
    """Capitals are roofs; small letters are points, of their roof where there are several."""
    points = sections.heaviest(section)
    signs = _signs(section, points)
    yield _chart(section, points, signs, width)
    several = len(section.roofs) > 1
    roofs = sections.roofs_table(section)
    yield from fitted(_signed(roofs, string.ascii_uppercase) if several else roofs, width)
    yield Text("")
    yield from fitted(_signed(sections.points_table(section, points[:SHOWN]), signs), width)
    yield from _left_out(points, width)


def _signs(section: Rooflines, points: Sequence[Point]) -> Sequence[str]:
    """Of each point: the letter of its roof, or one of its own where there is one roof."""
    if len(section.roofs) <= 1:
        return string.ascii_lowercase[: min(SHOWN, len(points))] + DOT * (len(points) - SHOWN)
    letters = dict(zip((roof.name for roof in section.roofs), string.ascii_lowercase, strict=False))
    return [letters.get(point.roof, DOT) for point in points]


def _signed(table: Table, signs: Iterable[str]) -> Table:
    rows = [(sign, *row) for sign, row in zip(signs, table.rows, strict=False)]
    return replace(table, columns=("", *table.columns), rows=tuple(rows))


def _left_out(points: Sequence[Point], width: int) -> Iterator[RenderableType]:
    rest, hidden = (
        points[SHOWN:],
        sum(not _drawable(point.intensity_ops_per_byte, point.attained_ops_per_s) for point in points),
    )
    if rest:
        share = sections.share_text(sum(point.weight for point in rest), sum(point.weight for point in points))
        yield paragraph(f"{len(rest)} more points, together {share} of the latency; other formats list them all", width)
    if hidden:
        yield paragraph(f"{hidden} of {len(points)} points are zero, and have no place on these axes", width)


def _chart(section: Rooflines, points: Sequence[Point], signs: Iterable[str], width: int) -> Text:
    drawn = [roof for roof in section.roofs if drawable(roof.peak_ops_per_s) and drawable(roof.bandwidth_bytes_per_s)]
    x = LogAxis.around(
        [*(point.intensity_ops_per_byte for point in points), *(roof.breakpoint_ops_per_byte for roof in drawn)]
    )
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


def _roof(roof: Roof, x: LogAxis, y: LogAxis) -> list[tuple[float, float]]:
    """From where the slope enters the drawing, over the breakpoint, to the right end."""
    left = max(10**x.low, 10**y.low / roof.bandwidth_bytes_per_s)
    return [
        (left, left * roof.bandwidth_bytes_per_s),
        (roof.breakpoint_ops_per_byte, roof.peak_ops_per_s),
        (10**x.high, roof.peak_ops_per_s),
    ]


# ---- curves: a drawing with a letter at each point, then the figures


def curves_text(section: Curves, width: int) -> Iterator[RenderableType]:
    """Capitals name the curves, in the drawing and in the table, or below it where there is no table."""
    yield _curves_drawing(section, width)
    if not section.listed:
        names = zip(_curves_signs(section), section.curves, strict=True)
        yield paragraph("   ".join(f"{sign} {curve.name}".replace(" ", GLUE) for sign, curve in names), width)
        return
    table = sections.curves_table(section)
    first, *heads = table.columns
    named = [f"{sign}{GLUE}{head}" for sign, head in zip(_curves_signs(section), heads, strict=True)]
    yield from fitted(replace(table, columns=(first, *named)), width)


def _curves_signs(section: Curves) -> str:
    return "".join(string.ascii_uppercase[number % 26] for number in range(len(section.curves)))


def _curves_drawing(section: Curves, width: int) -> Text:
    x = (LinearAxis if section.linear else LogAxis).around(value for curve in section.curves for value in curve.x)
    vertical = LinearAxis if section.linear or section.linear_y else LogAxis
    y = vertical.around(value for curve in section.curves for value in curve.y)
    lines, letters = [], []
    for number, (sign, curve) in enumerate(zip(_curves_signs(section), section.curves, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        places = sorted(zip(curve.x, curve.y, strict=True), key=itemgetter(0))
        lines += [Line(places, colour)] if curve.joined else []
        letters += [Letter(sign, *place, colour) for place in places]
    return chart(
        lines, letters, Axis(x, section.x_label, section.x_unit), Axis(y, section.y_label, section.y_unit), width
    )


_WRITERS: dict[str, Callable[[Any, int], Iterator[RenderableType]]] = {
    "prose": _prose,
    "grid": _grid,
    "bars": bars_text,
    "heat": heat_text,
    "rooflines": roofline_text,
    "curves": curves_text,
}
