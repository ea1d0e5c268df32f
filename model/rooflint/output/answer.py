"""The answer to a question: a typed record for programs, and sections and a table that show it to readers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel

from rooflint.base.errors import RooflintError
from rooflint.output import table as tables
from rooflint.output.markdown import as_fragment, as_markdown
from rooflint.output.sections import Page
from rooflint.output.table import Table

FORMATS = ("text", "json", "csv", "md", "html")


class UnknownFormatError(RooflintError):
    """A format that cannot be written; the message names those that can."""


@dataclass(frozen=True)
class Answer(Page):
    """What a command found: printed it is text, in a notebook it is HTML."""

    record: BaseModel | Mapping[str, Any]
    """What `--format json` writes: SI base units in names, null where a value is not known. Has a JSON Schema."""
    listing: Table
    """What `--format csv` writes: the main table, in SI base units."""

    def __str__(self) -> str:
        """As the command prints it."""
        return write(self, "text").rstrip("\n")

    def _repr_html_(self) -> str:
        return as_fragment(self)


def as_json(answer: Answer) -> str:
    """The record; optional keys only where the question asked for them."""
    record = answer.record
    if isinstance(record, BaseModel):
        record = record.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(answer: Answer) -> str:
    """The listing."""
    return tables.as_csv(answer.listing)


def write(found: Answer | Table, form: str) -> str:
    """An answer, or a table alone, in a format. Raises UnknownFormatError."""
    if form not in FORMATS:
        raise UnknownFormatError(f"unknown format '{form}' (known: {', '.join(sorted(FORMATS))})")
    return (_TABLE if isinstance(found, Table) else _ANSWER)[form](found)


def _text(found: Answer | Table) -> str:
    from rooflint.output.text import as_text, table_text  # noqa: PLC0415  # Rich, for readers alone

    return table_text(found) if isinstance(found, Table) else as_text(found)


def _page(found: Answer | Table) -> str:
    """HTML, which the reports make: this package imports nothing above it."""
    group = "rooflint.formats" if isinstance(found, Table) else "rooflint.answers"
    for entry in entry_points(group=group, name="html"):
        as_html: Callable[[Answer | Table], str] = entry.load()
        return as_html(found)
    raise UnknownFormatError("format 'html' needs the package rooflint_report, which is not installed")


_TABLE: dict[str, Callable[[Any], str]] = {
    "text": _text,
    "json": tables.as_json,
    "csv": tables.as_csv,
    "md": tables.as_markdown,
    "html": _page,
}
_ANSWER: dict[str, Callable[[Any], str]] = {**_TABLE, "json": as_json, "csv": as_csv, "md": as_markdown}
