"""An answer for programs, spreadsheets and pull requests: JSON, CSV and Markdown."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rooflint.answers import table as tables
from rooflint.answers.answer import Answer, Bars, Curves, Grid, Heat, Prose, Rooflines
from rooflint.answers.table import Cell, Table
from rooflint.output.tables import bars_table, curves_table, heat_table, heaviest, points_table, roofs_table


def as_json(answer: Answer) -> str:
    """The record."""
    return json.dumps(answer.record, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(answer: Answer) -> str:
    """The listing."""
    return tables.as_csv(answer.listing)


def as_markdown(answer: Answer) -> str:
    """Headings, bullets and GitHub tables; charts as the tables of their figures."""
    return "\n\n".join(_paragraphs(answer)) + "\n"


def _paragraphs(answer: Answer) -> Iterator[str]:
    yield f"# {_escaped(answer.title)}"
    if answer.subtitle:
        yield _escaped(answer.subtitle)
    for section in answer.sections:
        yield f"## {_escaped(section.heading)}"
        yield from _WRITERS[section.kind](section)
        if note := getattr(section, "note", ""):
            yield _escaped(note)


def _prose(section: Prose) -> Iterator[str]:
    if section.sentences:
        yield "\n".join(f"- {_escaped(sentence)}" for sentence in section.sentences)


def _grid(section: Grid) -> Iterator[str]:
    yield _table(section.table, section.strong)


def _bars(section: Bars) -> Iterator[str]:
    yield _table(bars_table(section))


def _heat(section: Heat) -> Iterator[str]:
    """The best of each row in bold."""
    best = tuple((row, least + 1) for row in range(len(section.rows)) if (least := section.best(row)) is not None)
    yield _table(heat_table(section), bold=best)


def _rooflines(section: Rooflines) -> Iterator[str]:
    yield _table(roofs_table(section))
    if section.points:
        yield _table(points_table(section, heaviest(section)))


def _curves(section: Curves) -> Iterator[str]:
    yield _table(curves_table(section))


_WRITERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "prose": _prose,
    "grid": _grid,
    "bars": _bars,
    "heat": _heat,
    "rooflines": _rooflines,
    "curves": _curves,
}


def _table(table: Table, strong: tuple[int, ...] = (), bold: tuple[tuple[int, int], ...] = ()) -> str:
    rows = [
        [_cell(cell, number in strong or (number, column) in bold) for column, cell in enumerate(row)]
        for number, row in enumerate(table.rows)
    ]
    heads = tuple(_escaped(head) for head in table.columns)
    return tables.as_markdown(replace(table, columns=heads, rows=tuple(rows))).rstrip("\n")


def _cell(cell: Cell, bold: bool) -> str:
    text = "" if cell is None else _escaped(str(cell), table=True)
    return f"**{text}**" if bold and text else text


def _escaped(text: str, table: bool = False) -> str:
    """On one line, its Markdown and HTML defused; a table escapes its own bars."""
    line = re.sub(r"([\\`*\[\]~]|(?<!\w)_|_(?!\w)|^(?:[#+>-]|\d+[.)])(?=\s))", r"\\\1", " ".join(text.split()))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line if table else line.replace("|", "\\|")
