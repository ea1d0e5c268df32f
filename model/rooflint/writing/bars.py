"""Stacked bars in a terminal, their parts told apart by what fills them. Needs Rich."""

import string
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from rooflint.answer import Bar, Bars
from rooflint.table import Table
from rooflint.writing.chart import COLOURS
from rooflint.writing.columns import GLUE, broken, columns, fitted, plain
from rooflint.writing.tables import bars_table, parts_of

FILLS = "█▓▒░▞▤#=+~" + string.ascii_lowercase
LONGEST_LABEL = 24


def bars_text(section: Bars, width: int) -> Iterator[RenderableType]:
    """The bars, then their figures, which are the legend, too."""
    fills = {name: FILLS[number % len(FILLS)] for number, name in enumerate(parts_of(section))}
    labels = _labels(section)
    beside = max((cell_len(line) for lines in labels for line in lines), default=0)
    whole = max((cell_len(plain(bar.shown)) for bar in section.bars), default=0)
    longest = max((bar.value for bar in section.bars), default=0.0)
    for lines, bar in zip(labels, section.bars, strict=True):
        text = Text("\n".join(line + " " * (beside - cell_len(line)) for line in lines) + "  ")
        drawn = _drawn(bar, fills, longest, width - beside - whole - 4)
        yield text.append_text(drawn).append(f"  {plain(bar.shown)}", "bold")
    yield Text("")
    yield from fitted(_with_fills(bars_table(section), fills), width)


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
