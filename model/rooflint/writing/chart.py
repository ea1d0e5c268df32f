"""Charts in a terminal, on logarithmic axes: lines of braille dots, letters at points. Needs Rich."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from plotille import Canvas
from rich.cells import cell_len
from rich.text import Text

from rooflint.writing.columns import broken
from rooflint.writing.log_axis import LogAxis, drawable
from rooflint.writing.tables import with_unit

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
    ticks = {_row(y, tick): with_unit(tick, y.unit) for tick in y.scale.ticks(ROWS // 3)}
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
    wide, high = 2 * columns, 4 * ROWS
    canvas = Canvas(columns, ROWS, 0, 0, wide, high)
    for line in lines:
        places = [(x.scale.share(a) * wide, y.scale.share(b) * high) for a, b in line.points if _drawable(a, b)]
        for (x0, y0), (x1, y1) in pairwise(places):
            canvas.line(x0, y0, x1, y1, color=line.colour)
    for (column, row), letter in _placed(letters, x, y, columns).items():
        canvas.text(2 * column, 4 * row, letter.sign, color=letter.colour)
    return str(canvas.plot("\n")).replace("\u2800", " ")


def _placed(letters: Iterable[Letter], x: Axis, y: Axis, columns: int) -> dict[tuple[int, int], Letter]:
    """Letters by column and row."""
    placed: dict[tuple[int, int], Letter] = {}
    for letter in letters:
        if _drawable(letter.x, letter.y):
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
        text, place = with_unit(tick, x.unit), _place(x, tick, columns, 2)
        start = max(min(place - cell_len(text) // 2, columns - cell_len(text)), 0)
        if start > end:
            line[place], figures = "┬", figures.ljust(start) + text
            end = start + cell_len(text)
    yield "└" + "".join(line)
    yield f" {figures}"
    for name in broken(x.name, columns):
        yield " " * (1 + columns - cell_len(name)) + name
