"""Answers and tables for a terminal of 80 columns or more; colour only repeats what signs say. Needs Rich."""

from collections.abc import Callable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from rooflint.output.charts import bars_text, curves_text, heat_text, roofline_text
from rooflint.output.columns import broken, fitted, paragraph
from rooflint.output.sections import Grid, Page, Prose
from rooflint.output.table import Table, cell_text

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
    for section in page.sections:
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


_WRITERS: dict[str, Callable[[Any, int], Iterator[RenderableType]]] = {
    "prose": _prose,
    "grid": _grid,
    "bars": bars_text,
    "heat": heat_text,
    "rooflines": roofline_text,
    "curves": curves_text,
}


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
        grid.add_row(*(Text(cell_text(cell).replace("\n", " ")) for cell in row))
    console = Console(highlight=False)
    if Measurement.get(console, console.options.update(max_width=ANY_WIDTH), grid).maximum > console.width:
        grid.padding = (0, 1, 0, 0)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
