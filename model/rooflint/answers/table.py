"""Tables: what commands print, apart from how it is written down."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

from rooflint.base.errors import RooflintError

Cell = str | int | float | bool | None

ANY_WIDTH = 10**6
"""Wider than any terminal. [column]"""


class UnknownFormatError(RooflintError):
    """A format that no installed part brings; the message names those that there are."""


@dataclass(frozen=True)
class Table:
    """Rows of plain values under named columns."""

    columns: tuple[str, ...]
    rows: tuple[Sequence[Cell], ...]
    title: str = ""

    def records(self) -> list[dict[str, Cell]]:
        """One mapping a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def as_json(table: Table) -> str:
    """A list of objects."""
    return json.dumps(table.records(), ensure_ascii=False, indent=2) + "\n"


def as_csv(table: Table) -> str:
    """RFC 4180 with a header."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()


def as_markdown(table: Table) -> str:
    """A GitHub table."""
    lines = [table.columns, ["---"] * len(table.columns), *([_cell(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(cell: Cell) -> str:
    return "" if cell is None else str(cell).replace("|", "\\|").replace("\n", " ")


def as_text(table: Table) -> str:
    """For a terminal, as wide as it is: what is wider stands closer together, and is folded only then."""
    from rich.console import Console  # noqa: PLC0415  # only for people
    from rich.measure import Measurement  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Grid(title=table.title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(table.columns):
        numeric = all(isinstance(row[position], int | float) for row in table.rows)
        grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(_cell(cell).replace("\\|", "|")) for cell in row))
    console = Console(highlight=False)
    if Measurement.get(console, console.options.update(max_width=ANY_WIDTH), grid).maximum > console.width:
        grid.padding = (0, 1, 0, 0)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def writers() -> Mapping[str, Callable[[], Callable[[Table], str]]]:
    """Formats by name; each is imported when it is asked for."""
    return {entry.name: entry.load for entry in entry_points(group="rooflint.formats")}


def write(table: Table, form: str) -> str:
    """A table in a format. Raises UnknownFormatError."""
    known = writers()
    if form not in known:
        raise UnknownFormatError(f"unknown format '{form}' (known: {', '.join(sorted(known))})")
    return known[form]()(table)
