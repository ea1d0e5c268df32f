"""Tables: rows of plain values, as JSON, CSV and Markdown."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of plain values under named columns."""

    columns: tuple[str, ...]
    rows: tuple[Sequence[Cell], ...]
    title: str = ""

    @classmethod
    def of(cls, columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> "Table":
        """Those columns of records, a row each."""
        return cls(tuple(columns), tuple(tuple(record[column] for column in columns) for record in records))

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


def cell_text(cell: Cell) -> str:
    """Nothing where there is no value."""
    return "" if cell is None else str(cell)


def _cell(cell: Cell) -> str:
    return cell_text(cell).replace("|", "\\|").replace("\n", " ")
