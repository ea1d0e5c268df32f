"""Answers: what a command found, as plain data, apart from how it is written down.

An answer is written in the formats of the entry-point group `rooflint.answers`: text, json, csv and md come with the
model, html with the reports. Sections are for people; `record` is for programs and has a schema with a version,
`listing` is the one table that fits a spreadsheet. Numbers are formatted by whoever makes a section, so that no format
rounds twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar

from rooflint.answers.table import Table, UnknownFormatError


@dataclass(frozen=True)
class Prose:
    """Sentences, each a point of its own."""

    kind: ClassVar[str] = "prose"
    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table whose cells are ready to be read."""

    kind: ClassVar[str] = "grid"
    heading: str
    table: Table
    note: str = ""
    strong: tuple[int, ...] = ()
    """Rows that stand out."""


@dataclass(frozen=True)
class Part:
    """One part of a bar."""

    name: str
    value: float
    shown: str


@dataclass(frozen=True)
class Bar:
    """A bar of parts that add up; `shown` is the whole."""

    label: str
    parts: tuple[Part, ...]
    shown: str

    @property
    def value(self) -> float:
        """The whole."""
        return sum(part.value for part in self.parts)


@dataclass(frozen=True)
class Bars:
    """Stacked bars on one linear scale."""

    kind: ClassVar[str] = "bars"
    heading: str
    bars: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True)
class Heat:
    """A map of rows × columns in which less is better; None where there is nothing."""

    kind: ClassVar[str] = "heat"
    heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    shown: tuple[tuple[str, ...], ...]
    note: str = ""

    def best(self, row: int) -> int | None:
        """Column with the least value of a row; the first of equals, None in an empty row."""
        known = [(value, column) for column, value in enumerate(self.values[row]) if value is not None]
        return min(known)[1] if known else None


@dataclass(frozen=True)
class Roof:
    """One roof: a peak in op/s and a bandwidth in B/s."""

    name: str
    peak_ops_per_s: float
    bandwidth_bytes_per_s: float


@dataclass(frozen=True)
class Point:
    """Something under a roof."""

    label: str
    roof: str
    intensity_ops_per_byte: float
    attained_ops_per_s: float
    weight: float = 1.0
    """Share of the latency, for the size of the point. [1]"""


@dataclass(frozen=True)
class Rooflines:
    """Roofs and what lies under them, on logarithmic axes."""

    kind: ClassVar[str] = "rooflines"
    heading: str
    roofs: tuple[Roof, ...]
    points: tuple[Point, ...]
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Curves:
    """Lines on logarithmic axes."""

    kind: ClassVar[str] = "curves"
    heading: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    note: str = ""
    x_unit: str = ""
    """Takes a prefix when figures are written: `s` makes `1.5 ms`; a count has none."""
    y_unit: str = ""


Section = Prose | Grid | Bars | Heat | Rooflines | Curves


@dataclass(frozen=True)
class Answer:
    """What a command found."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    record: Mapping[str, Any]
    """For programs: JSON values alone, with `schema` naming it and its version; SI base units, in names."""
    listing: Table
    """The main table for a spreadsheet: SI base units, no text that a program would have to parse."""


def writers() -> Mapping[str, Callable[[], Callable[[Answer], str]]]:
    """Formats by name; each is imported when it is asked for."""
    return {entry.name: entry.load for entry in entry_points(group="rooflint.answers")}


def write(answer: Answer, form: str) -> str:
    """An answer in a format. Raises UnknownFormatError."""
    known = writers()
    if form not in known:
        raise UnknownFormatError(f"unknown format '{form}' (known: {', '.join(sorted(known))})")
    return known[form]()(answer)
