"""The answer to a question: a typed record for programs, and sections and a table that show it to readers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field

from rooflint.base.errors import RooflintError
from rooflint.output import table as tables
from rooflint.output.markdown import as_fragment, as_markdown
from rooflint.output.sections import Page
from rooflint.output.table import Table

FORMATS = ("text", "json", "csv", "md", "html")


class UnknownFormatError(RooflintError):
    """A format that cannot be written; the message names those that can."""


class Record(BaseModel):
    """What `--format json` writes: SI base units in names, null where a value is not known. Its class is its schema."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

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


@dataclass(frozen=True)
class Answer(Page):
    """What a command found: printed it is text, in a notebook it is HTML."""

    record: Record | Mapping[str, Any]
    """For programs; a mapping where the command passes on the content of a file that has a format of its own."""
    listing: Table
    """For spreadsheets: the main table, in SI base units."""

    def __str__(self) -> str:
        """As the command prints it."""
        return write(self, "text").rstrip("\n")

    def _repr_html_(self) -> str:
        return as_fragment(self)


def as_json(answer: Answer) -> str:
    """The record."""
    record = answer.record.dump() if isinstance(answer.record, Record) else answer.record
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
