"""An answer as an HTML page of its own: one file, nothing fetched; a script sorts its tables."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from markupsafe import Markup, escape

from rooflint.base.log_axis import drawable
from rooflint.base.units import OPS_PER_BYTE, OPS_PER_S, format_quantity
from rooflint.output.sections import (
    Bar,
    Bars,
    Curves,
    Heat,
    Page,
    Part,
    Point,
    Rooflines,
)
from rooflint_report.log_chart import Line, Mark, Scale, drawings, letters, roof_line
from rooflint_report.report import environment, script, stripped
from rooflint_report.sections.section import Anchors

BAR_WIDTH = 1000
SENTENCE = 40
"""A column with longer cells is given room to be read."""
LONG_NAME = 22
SMALL = 8
"""Tables of figures with so many rows at most are open."""
_FIGURE = re.compile(r"[≈~<>≤≥±+−-]*\s?[.\d]")
_LONGEST_FIGURE = 24
_NUMBER_AND_UNIT = re.compile(r"(\d) (?=[^\s\d]{1,10}(?:[\s,;.:)]|$))")


def as_html(answer: Page) -> str:
    """The answer as one self-contained HTML document."""
    anchors = Anchors()
    views = [
        {"kind": section.kind, "heading": section.heading, "note": getattr(section, "note", "")}
        | {"anchor": anchors.new("section", section.heading), "view": _VIEWS[section.kind](section)}
        for section in answer.sections
    ]
    return stripped(
        environment().get_template("answer.html.j2").render(answer=answer, sections=views, script=script("sortable.js"))
    )


def _breakable(cell: str | float | bool | None) -> Markup:
    """A cell that may wrap inside words, behind slashes, hyphens and dots: paths, ids and names of ops are long."""
    text = "" if cell is None else str(cell)
    return Markup("<wbr>").join(
        escape(piece) for piece in re.split(r"(?<=\w[/-])(?=\w{2})|(?<=\w[.])(?=[A-Za-z]{2})", text)
    )


def _are_figures(cells: Iterable[object]) -> bool:
    """Numbers, with or without a unit, so that their column stands right and does not wrap."""
    known = [str(cell) for cell in cells if cell not in (None, "", "—")]
    return bool(known) and all(_FIGURE.match(cell) and len(cell) <= _LONGEST_FIGURE for cell in known)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], strong: Sequence[int] = ()) -> Mapping[str, Any]:
    """A table with its figures known, so that they stand right and never wrap."""
    figures = [_are_figures(row[number] for row in rows) for number in range(len(columns))]
    return {
        "columns": [_breakable(column) for column in columns],
        "rows": [
            [cell if figure else _breakable(cell) for cell, figure in zip(row, figures, strict=True)] for row in rows
        ],
        "figures": figures,
        "sentences": [any(len(str(row[number])) > SENTENCE for row in rows) for number in range(len(columns))],
        "strong": strong,
        "open": len(rows) <= SMALL,
    }


def _glued(text: str) -> str:
    """A text in which a number stays with its unit."""
    return _NUMBER_AND_UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


# ---- bars


def _bars(section: Bars) -> Mapping[str, Any]:
    names = list(dict.fromkeys(part.name for bar in section.bars for part in bar.parts))
    longest = max((bar.value for bar in section.bars), default=0.0)
    rows = [[bar.label, *(_shown(bar, name) for name in names), bar.shown] for bar in section.bars]
    return {
        "names": names,
        "bars": [(bar, _breakable(bar.label), _stacked(bar, names, longest)) for bar in section.bars],
        "table": _table(["", *names, "total"], rows),
    }


def _shown(bar: Bar, name: str) -> str:
    return " + ".join(part.shown for part in bar.parts if part.name == name)


def _stacked(bar: Bar, names: Sequence[str], longest: float) -> list[tuple[float, float, int, Part]]:
    """Start, width, number of the part, part; what is not nothing is a hair wide."""
    pieces, reached = [], 0.0
    for part in bar.parts:
        width = BAR_WIDTH * max(part.value, 0.0) / longest if longest > 0 else 0.0
        if width > 0:
            pieces.append((round(reached, 2), round(max(width, 1.5), 2), names.index(part.name), part))
        reached += width
    return pieces


# ---- heat


def _heat(section: Heat) -> Mapping[str, Any]:
    known = [value for row in section.values for value in row if value is not None and drawable(value)]
    low, high = min(known, default=1.0), max(known, default=1.0)
    rows = [_heat_row(section, number, low, high) for number in range(len(section.rows))]
    return {
        "columns": [_breakable(column) for column in section.columns],
        "long": any(len(name) > LONG_NAME for name in section.rows),
        "rows": [(_breakable(name), cells) for name, cells in zip(section.rows, rows, strict=True)],
        "ends": [_text_of(section, end) for end in (low, high)] if low < high else [],
    }


def _heat_row(section: Heat, row: int, low: float, high: float) -> list[Mapping[str, Any]]:
    cells = zip(section.values[row], section.shown[row], strict=True)
    return [
        {"shown": shown, "share": _share(value, low, high), "none": value is None, "best": column == section.best(row)}
        for column, (value, shown) in enumerate(cells)
    ]


def _share(value: float | None, low: float, high: float) -> int:
    """Between the least and the greatest, on a logarithmic scale; what is zero is the least. [%]"""
    if value is None or not drawable(value) or low == high:
        return 0
    return round(100 * math.log(value / low) / math.log(high / low))


def _text_of(section: Heat, wanted: float) -> str:
    cells = zip(section.values, section.shown, strict=True)
    return next(text for row, texts in cells for value, text in zip(row, texts, strict=True) if value == wanted)


# ---- charts


def _rooflines(section: Rooflines) -> Mapping[str, Any]:
    several = len(section.roofs) > 1
    points = sorted(section.points, key=lambda point: -point.weight)
    numbers = {roof.name: number for number, roof in enumerate(section.roofs)}
    keys = letters(len(section.roofs))
    lines = [
        roof_line(roof.name, key, roof.peak_ops_per_s, roof.bandwidth_bytes_per_s)
        for roof, key in zip(section.roofs, keys, strict=True)
    ]
    marks = [_mark(point, points, numbers, several) for point in points]
    return {
        "charts": drawings(lines, marks, Scale("intensity", "op/B", prefixed=False), Scale("attained", "OP/s")),
        "named": False,
        "legend": list(zip(keys, [_glued(line.title) for line in lines], strict=True)),
        "hidden": sum(not (drawable(p.intensity_ops_per_byte) and drawable(p.attained_ops_per_s)) for p in points),
        "count": len(points),
        "table": _points_table(points, several),
    }


def _mark(point: Point, points: Sequence[Point], numbers: Mapping[str, int], several: bool) -> Mark:
    heaviest = max(other.weight for other in points)
    weighed = any(other.weight != points[0].weight for other in points)
    size = point.weight / heaviest if weighed and heaviest > 0 else 0.3
    alike = several and all(other.label == point.label for other in points)
    return Mark(
        point.intensity_ops_per_byte,
        point.attained_ops_per_s,
        numbers.get(point.roof, 0),
        ", ".join(str(cell) for cell in _point_row(point, several)),
        "" if alike else point.label,
        size,
    )


def _points_table(points: Sequence[Point], several: bool) -> Mapping[str, Any]:
    columns = ["point", *["roof"] * several, "intensity", "attained", "share"]
    rows = [_point_row(point, several) for point in points]
    if all(point.weight == 1 for point in points):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return _table(columns, rows)


def _point_row(point: Point, several: bool) -> list[str]:
    return [
        point.label,
        *[point.roof] * several,
        format_quantity(point.intensity_ops_per_byte, OPS_PER_BYTE),
        format_quantity(point.attained_ops_per_s, OPS_PER_S),
        f"{100 * point.weight:.3g} %",
    ]


def _curves(section: Curves) -> Mapping[str, Any]:
    x = Scale(section.x_label, section.x_unit, linear=section.linear)
    y = Scale(section.y_label, section.y_unit, linear=section.linear or section.linear_y)
    keys = letters(len(section.curves))
    lines, groups = [], []
    for number, (curve, letter) in enumerate(zip(section.curves, keys, strict=True)):
        places = sorted(zip(curve.x, curve.y, strict=True), key=itemgetter(0))
        alone = len(places) == 1  # named beside its mark
        lines.append(Line(curve.name, letter, places[-1:] * (not alone) if not curve.joined else places, curve.name))
        label = curve.name if alone and not curve.joined else ""
        groups.append([Mark(a, b, number, f"{curve.name}: {x.text(a)}, {y.text(b)}", label) for a, b in places])
    first_on_top = not section.listed
    marks = [mark for group in (reversed(groups) if first_on_top else groups) for mark in group]
    return {
        "charts": drawings(lines, marks, x, y),
        "named": True,
        "legend": [(letter, curve.name) for letter, curve in zip(keys, section.curves, strict=True)],
        "hidden": sum(not (x.holds(mark.x) and y.holds(mark.y)) for mark in marks),
        "count": len(marks),
        "table": _curves_table(section, x, y) if section.listed else None,
    }


def _curves_table(section: Curves, x: Scale, y: Scale) -> Mapping[str, Any]:
    known = [dict(zip(curve.x, curve.y, strict=True)) for curve in section.curves]
    rows = [
        [x.text(a), *(y.text(curve[a]) if a in curve else "" for curve in known)]
        for a in sorted({a for curve in known for a in curve})
    ]
    return _table([section.x_label, *(curve.name for curve in section.curves)], rows)


_VIEWS: dict[str, Callable[[Any], Any]] = {
    "prose": lambda prose: list(map(_glued, prose.sentences)),
    "grid": lambda grid: _table(grid.table.columns, grid.table.rows, grid.strong),
    "bars": _bars,
    "heat": _heat,
    "rooflines": _rooflines,
    "curves": _curves,
}
