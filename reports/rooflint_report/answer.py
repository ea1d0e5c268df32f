"""What an answer looks like from outside: any object of this shape becomes a page."""

from collections.abc import Sequence
from typing import Any, Protocol

from rooflint_report.table_page import Table


class Answer(Protocol):
    """What a command found; `sections` are told apart by their `kind`."""

    @property
    def title(self) -> str:
        """One line."""

    @property
    def subtitle(self) -> str:
        """One line more, or nothing."""

    @property
    def sections(self) -> Sequence[Any]:
        """Each with `kind` and `heading`: prose, grid, bars, heat, rooflines, curves."""


class Grid(Protocol):
    """A table whose cells are ready to be read."""

    table: Table
    strong: Sequence[int]


class Part(Protocol):
    """One part of a bar."""

    name: str
    value: float
    shown: str


class Bar(Protocol):
    """Parts that add up."""

    label: str
    parts: Sequence[Part]
    shown: str

    @property
    def value(self) -> float:
        """The whole."""


class Bars(Protocol):
    """Stacked bars on one linear scale."""

    bars: Sequence[Bar]


class Heat(Protocol):
    """A map in which less is better."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    shown: Sequence[Sequence[str]]

    def best(self, row: int) -> int | None:
        """Column with the least value of a row."""


class Roof(Protocol):
    """A peak in op/s and a bandwidth in B/s."""

    name: str
    peak_ops_per_s: float
    bandwidth_bytes_per_s: float


class Point(Protocol):
    """Something under a roof; the weight is its share of the latency."""

    label: str
    roof: str
    intensity_ops_per_byte: float
    attained_ops_per_s: float
    weight: float


class Rooflines(Protocol):
    """Roofs and what lies under them."""

    roofs: Sequence[Roof]
    points: Sequence[Point]


class Curve(Protocol):
    """One line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Curves(Protocol):
    """Lines on logarithmic axes."""

    x_label: str
    y_label: str
    x_unit: str
    y_unit: str
    curves: Sequence[Curve]
