"""An answer as Markdown for a pull request, and as bare HTML for a notebook: headings, bullets and tables."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from rooflint.output import table as tables
from rooflint.output.sections import Page, Prose, Shown, shown_tables
from rooflint.output.table import Cell, cell_text


def as_markdown(page: Page) -> str:
    """GitHub tables; charts as the tables of their figures."""
    return "\n\n".join(_paragraphs(page)) + "\n"


def _paragraphs(page: Page) -> Iterator[str]:
    yield f"# {_escaped(page.title)}"
    if page.subtitle:
        yield _escaped(page.subtitle)
    for section in page.sections:
        yield f"## {_escaped(section.heading)}"
        if isinstance(section, Prose):
            if section.sentences:
                yield "\n".join(f"- {_escaped(sentence)}" for sentence in section.sentences)
            continue
        yield from map(_table, shown_tables(section))
        if section.note:
            yield _escaped(section.note)


def _table(shown: Shown) -> str:
    heads = tuple(_escaped(head) for head in shown.table.columns)
    rows = tuple([_cell(cell, shown.is_strong(*place)) for *place, cell in row] for row in shown.cells())
    return tables.as_markdown(replace(shown.table, columns=heads, rows=rows)).rstrip("\n")


def _cell(cell: Cell, bold: bool) -> str:
    text = _escaped(cell_text(cell), table=True)
    return f"**{text}**" if bold and text else text


def _escaped(text: str, table: bool = False) -> str:
    """On one line, its Markdown and HTML defused; a table escapes its own bars."""
    line = re.sub(r"([\\`*\[\]~]|(?<!\w)_|_(?!\w)|^(?:[#+>-]|\d+[.)])(?=\s))", r"\\\1", " ".join(text.split()))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line if table else line.replace("|", "\\|")


# ---- HTML without a page around it


def as_fragment(page: Page) -> str:
    """The same as HTML that takes its style from the notebook around it."""
    return "\n".join(_elements(page))


def _elements(page: Page) -> Iterator[str]:
    yield f"<h3>{html.escape(page.title)}</h3>"
    yield f"<p>{html.escape(page.subtitle)}</p>"
    for section in page.sections:
        if section.heading:
            yield f"<h4>{html.escape(section.heading)}</h4>"
        if isinstance(section, Prose):
            yield f"<ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in section.sentences)}</ul>"
            continue
        yield from map(_element, shown_tables(section))
        if section.note:
            yield f"<p><small>{html.escape(section.note)}</small></p>"


def _element(shown: Shown) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in shown.table.columns)
    rows = ("".join(_data(cell, shown.is_strong(*place)) for *place, cell in row) for row in shown.cells())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _data(cell: Cell, bold: bool) -> str:
    text = html.escape(cell_text(cell))
    return f"<td><b>{text}</b></td>" if bold else f"<td>{text}</td>"
