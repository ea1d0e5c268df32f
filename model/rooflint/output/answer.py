"""The answer to a question: a typed record for programs, and sections and a table that show it to readers.

`write` writes one in a format: JSON and CSV for programs, text for a terminal, Markdown for a pull request, HTML for a
browser. `as_fragment` is bare HTML for a notebook.
"""

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from rooflint.base.errors import RooflintError
from rooflint.base.text import visible, without_commands
from rooflint.output.sections import Cell, Page, Prose, Shown, Table, cell_text, shown_tables


class UnknownFormatError(RooflintError):
    """A format that cannot be written; the message names those that can."""


class Record(BaseModel):
    """What `--format json` writes: SI base units in names, null where a value is not known. Its class is its schema."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    schema_: Annotated[str, Field(alias="schema")]
    """Names the command and the version of this record."""

    @classmethod
    def build(cls, **values: Any) -> Self:
        """A record that names its schema. Raises ValidationError where a value is not of its type."""
        (schema,) = get_args(cls.model_fields["schema_"].annotation)
        return cls.model_validate({"schema": schema, **values})

    def dump(self) -> dict[str, Any]:
        """JSON values; optional keys only where they were given."""
        absent = set(type(self).model_fields) - self.model_fields_set - {"schema_"}
        return self.model_dump(mode="json", by_alias=True, exclude=absent)


T = TypeVar("T")


class Later(Generic[T]):
    """A field that may be given as a function, which is called when the field is first asked for.

    Records are checked by pydantic, which builds a validator for each class in each process: text needs none.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> T:
        if instance is None:  # dataclasses ask for a default, and there is none
            raise AttributeError(self.name)
        value = vars(instance)[self.name]
        if callable(value):
            value = vars(instance)[self.name] = value()
        found: T = value
        return found

    def __set__(self, instance: object, value: T | Callable[[], T]) -> None:
        vars(instance)[self.name] = value


@dataclass(frozen=True)
class Answer(Page):
    """What a command found: printed it is text, in a notebook it is HTML."""

    record: Later[Record | Mapping[str, Any]] = Later()
    """For programs; a mapping where the command passes on the content of a file that has a format of its own."""
    listing: Later[Table] = Later()
    """For spreadsheets: the main table, in SI base units."""

    def __getstate__(self) -> dict[str, Any]:
        """With its fields worked out, for another process."""
        return {**vars(self), "record": self.record, "listing": self.listing}

    def __str__(self) -> str:
        """As the command prints it."""
        return write(self, "text").rstrip("\n")

    def _repr_html_(self) -> str:
        return as_fragment(self)


def write(found: Answer | Table, form: str) -> str:
    """An answer, or a table alone, in a format. Raises UnknownFormatError."""
    if form not in FORMATS:
        raise UnknownFormatError(f"unknown format '{form}' (known: {', '.join(sorted(FORMATS))})")
    text = FORMATS[form](found)
    if form == "html":  # a style sheet has `::`, and escapes whatever comes from files
        return visible(text)
    return without_commands(text if form == "text" else visible(text))  # colours are control characters


def as_json(found: Answer | Table) -> str:
    """The record of an answer; a list of objects for a table. Raises ValueError for NaN in a record."""
    if isinstance(found, Table):
        return json.dumps(found.records(), ensure_ascii=False, indent=2) + "\n"
    record = found.record.dump() if isinstance(found.record, Record) else found.record
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(found: Answer | Table) -> str:
    """The table, or the listing of an answer: RFC 4180 with a header."""
    table = found if isinstance(found, Table) else found.listing
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()


def _text(found: Answer | Table) -> str:
    from rooflint.output.text import as_text, table_text  # noqa: PLC0415  # Rich, for readers alone

    return table_text(found) if isinstance(found, Table) else as_text(found)


def _page(found: Answer | Table) -> str:
    """HTML, which the reports make: this package imports nothing above it."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to import

    group = "rooflint.formats" if isinstance(found, Table) else "rooflint.answers"
    for entry in entry_points(group=group, name="html"):
        as_html: Callable[[Answer | Table], str] = entry.load()
        return as_html(found)
    raise UnknownFormatError("format 'html' needs the package rooflint_report, which is not installed")


# ---- Markdown: headings, bullets and GitHub tables; charts as the tables of their figures


def as_markdown(found: Page | Table) -> str:
    """An answer, or a GitHub table alone."""
    if isinstance(found, Page):
        return "\n\n".join(_paragraphs(found)) + "\n"
    rows = [[cell_text(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in found.rows]
    lines = [found.columns, ["---"] * len(found.columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _paragraphs(page: Page) -> Iterator[str]:
    yield f"# {_escaped(page.title)}"
    if page.subtitle:
        yield _escaped(page.subtitle)
    for section in page.written:
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
    return as_markdown(replace(shown.table, columns=heads, rows=rows)).rstrip("\n")


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
    for section in page.written:
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


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": _text,
    "json": as_json,
    "csv": as_csv,
    "md": as_markdown,
    "html": _page,
}
