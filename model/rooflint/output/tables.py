"""Charts of an answer as tables of their figures, for formats and readers that have no pictures."""

from collections.abc import Sequence

from rooflint.answers.answer import Bar, Bars, Curves, Heat, Point, Rooflines
from rooflint.answers.table import Cell, Table
from rooflint.base.text import UNKNOWN
from rooflint.base.units import BYTES_PER_S, OPS_PER_BYTE, OPS_PER_S, format_number, format_quantity
from rooflint.roofline import breakpoint_ops_per_byte


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
            _ridge(roof.peak_ops_per_s, roof.bandwidth_bytes_per_s),
        )
        for roof in section.roofs
    ]
    return Table(("roof", "peak", "bandwidth", "ridge"), tuple(rows))


def _ridge(peak_ops_per_s: float, bandwidth_bytes_per_s: float) -> str:
    if not bandwidth_bytes_per_s:
        return ""
    return format_quantity(float(breakpoint_ops_per_byte(peak_ops_per_s, bandwidth_bytes_per_s)), OPS_PER_BYTE)


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
