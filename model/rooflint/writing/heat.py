"""A heat map in a terminal: figures with shades beside them, the best of each row marked. Needs Rich."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import RenderableType

from rooflint.answer import Heat
from rooflint.writing.columns import GLUE, Styles, fitted, paragraph
from rooflint.writing.log_axis import LogAxis, drawable
from rooflint.writing.tables import heat_table

BEST = "*"
SHADES = GLUE + "░▒▓█"
"""From the least value to the greatest."""
COLOURS = ("", "", "", "yellow", "red")


def heat_text(section: Heat, width: int) -> Iterator[RenderableType]:
    """The map and what its signs mean."""
    levels = _levels(section)
    table = heat_table(section, BEST + "{}")
    rows = [_shaded(row, levels[number]) for number, row in enumerate(table.rows)]
    yield from fitted(replace(table, rows=tuple(rows)), width, styles=_styles(section, levels))
    legend = f"{BEST} best of its row; {SHADES[1:]} from lesser to greater, on a logarithmic scale"
    yield paragraph(legend, width, "dim")


def _shaded(row: Sequence[object], levels: list[int]) -> tuple[str, ...]:
    name, *cells = map(str, row)
    return name, *(f"{cell}{GLUE}{SHADES[level]}" for cell, level in zip(cells, levels, strict=True))


def _styles(section: Heat, levels: list[list[int]]) -> Styles:
    def style(row: int, column: int) -> str:
        if not column:
            return ""
        return "bold green" if section.best(row) == column - 1 else COLOURS[levels[row][column - 1]]

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
