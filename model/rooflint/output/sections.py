"""Tables and sections: the parts of an answer for readers, of six kinds, and the tables that stand for their charts.

Figures are formatted where a section is made, so that no format rounds twice.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rooflint.base.text import UNKNOWN
from rooflint.base.units import BYTES_PER_S, OPS_PER_BYTE, OPS_PER_S, format_number, format_quantity
from rooflint.roofline import breakpoint_ops_per_byte

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


def cell_text(cell: Cell) -> str:
    """Nothing where there is no value."""
    return "" if cell is None else str(cell)


# ---- sections


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
    drawn_only: bool = False
    """Whether it is left out of text, because another section has its main figures."""


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

    @property
    def breakpoint_ops_per_byte(self) -> float:
        """Where memory stops being the limit; infinite where the bandwidth is zero. [op/B]"""
        if not self.bandwidth_bytes_per_s:
            return math.inf
        return float(breakpoint_ops_per_byte(self.peak_ops_per_s, self.bandwidth_bytes_per_s))


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
    drawn_only: bool = False
    """As for bars."""


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    joined: bool = True
    """Whether a line joins its points."""


@dataclass(frozen=True)
class Curves:
    """Lines and points on logarithmic axes, or on linear ones."""

    kind: ClassVar[str] = "curves"
    heading: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    note: str = ""
    x_unit: str = ""
    """Takes a prefix when figures are written: `s` makes `1.5 ms`; a count has none."""
    y_unit: str = ""
    linear: bool = False
    linear_y: bool = False
    """Whether the vertical axis alone is linear, as of shares up to 100 %."""
    listed: bool = True
    """Whether its figures stand below it; not where another section has them."""


Section = Prose | Grid | Bars | Heat | Rooflines | Curves


@dataclass(frozen=True)
class Page:
    """Sections under a title."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def written(self) -> Iterator[Section]:
        """The sections of text, which has no pictures."""
        return (one for one in self.sections if not getattr(one, "drawn_only", False))


# ---- tables of figures, for formats and readers that have no pictures


@dataclass(frozen=True)
class Shown:
    """A table with what stands out in it: whole rows, and single cells by row and column."""

    table: Table
    rows: Collection[int] = ()
    places: Collection[tuple[int, int]] = ()

    def cells(self) -> Iterator[list[tuple[int, int, Cell]]]:
        """Row, column and value of each cell, by row."""
        for row, values in enumerate(self.table.rows):
            yield [(row, column, cell) for column, cell in enumerate(values)]

    def is_strong(self, row: int, column: int) -> bool:
        """Whether a cell stands out."""
        return row in self.rows or (row, column) in self.places


def shown_tables(section: Grid | Bars | Heat | Rooflines | Curves) -> list[Shown]:
    """A section without its picture: the best of each row of a heat map stands out, the heaviest points come first."""
    match section:
        case Grid():
            return [Shown(section.table, section.strong)]
        case Bars():
            return [Shown(bars_table(section))]
        case Heat():
            best = [(row, least + 1) for row in range(len(section.rows)) if (least := section.best(row)) is not None]
            return [Shown(heat_table(section), places=best)]
        case Rooflines():
            points = [Shown(points_table(section, heaviest(section)))] if section.points else []
            return [Shown(roofs_table(section)), *points]
        case Curves():
            return [Shown(curves_table(section))] if section.listed else []


def parts_of(section: Bars) -> tuple[str, ...]:
    """Names of all parts, in the order in which bars bring them."""
    return tuple(dict.fromkeys(part.name for bar in section.bars for part in bar.parts))


def bars_table(section: Bars) -> Table:
    """One row a bar, one column a part, the whole last; a single bar stands upright, with shares."""
    if len(section.bars) == 1:
        return _upright(section.bars[0])
    names = parts_of(section)
    rows = [(bar.label, *(_part(bar, name) for name in names), bar.shown) for bar in section.bars]
    return Table(("", *names, "total"), tuple(rows))


def _part(bar: Bar, name: str) -> str:
    return " + ".join(part.shown for part in bar.parts if part.name == name)


def _upright(bar: Bar) -> Table:
    rows = [(part.name, part.shown, share_text(part.value, bar.value)) for part in bar.parts]
    return Table((bar.label, "", "share"), (*rows, ("total", bar.shown, "")))


def share_text(value: float, whole: float) -> str:
    """`41 %`; empty where there is no whole."""
    return f"{format_number(100 * value / whole, 2)} %" if whole > 0 else ""


def heat_table(section: Heat, best: str = "{}") -> Table:
    """The map as it is; the best cell of a row is written in the given form."""
    rows = [(name, *_heat_row(section, number, best)) for number, name in enumerate(section.rows)]
    return Table(("", *section.columns), tuple(rows))


def _heat_row(section: Heat, row: int, best: str) -> list[str]:
    shown = [
        UNKNOWN if value is None else text for value, text in zip(section.values[row], section.shown[row], strict=True)
    ]
    least = section.best(row)
    if least is not None:
        shown[least] = best.format(shown[least])
    return shown


def roofs_table(section: Rooflines) -> Table:
    """One row a roof."""
    rows = [
        (
            roof.name,
            format_quantity(roof.peak_ops_per_s, OPS_PER_S),
            format_quantity(roof.bandwidth_bytes_per_s, BYTES_PER_S),
            format_quantity(roof.breakpoint_ops_per_byte, OPS_PER_BYTE) if roof.bandwidth_bytes_per_s else "",
        )
        for roof in section.roofs
    ]
    return Table(("roof", "peak", "bandwidth", "breakpoint"), tuple(rows))


def heaviest(section: Rooflines) -> list[Point]:
    """The points, those with most of the latency first."""
    return sorted(section.points, key=lambda point: -point.weight)


def points_table(section: Rooflines, points: Sequence[Point]) -> Table:
    """One row a point; the roof only where there are several, the share only where points differ in it."""
    named, weighed = len(section.roofs) > 1, any(point.weight != 1 for point in section.points)
    columns = ("point", *["roof"] * named, "intensity", "attained", *["share"] * weighed)
    return Table(columns, tuple(_point_row(point, named, weighed) for point in points))


def _point_row(point: Point, named: bool, weighed: bool) -> tuple[Cell, ...]:
    return (
        point.label,
        *[point.roof] * named,
        format_quantity(point.intensity_ops_per_byte, OPS_PER_BYTE),
        format_quantity(point.attained_ops_per_s, OPS_PER_S),
        *[share_text(point.weight, 1)] * weighed,
    )


def curves_table(section: Curves) -> Table:
    """One row an x, one column a curve."""
    known = [dict(zip(curve.x, curve.y, strict=True)) for curve in section.curves]
    rows = [
        (
            with_unit(x, section.x_unit),
            *(with_unit(curve[x], section.y_unit) if x in curve else None for curve in known),
        )
        for x in sorted({x for curve in known for x in curve})
    ]
    return Table((section.x_label, *(curve.name for curve in section.curves)), tuple(rows))


def with_unit(value: float, unit: str) -> str:
    """`1.5 ms`; a bare number where there is no unit."""
    if unit:
        return format_quantity(value, OPS_PER_S, unit=unit)
    return format_number(value) if value == 0 or 1e-3 <= abs(value) < 1e7 else f"{value:.4g}"
