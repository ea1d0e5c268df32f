"""Tables as they are laid out: a grid of texts becomes rows of a device each, whichever way the grid lies.

A table usually has a row per device and a column per figure. A transposed one has a column per device; a long one has
a row per figure, with a column that names it and one with its value.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pytest_rooflint.audit.cells import has_no_value
from pytest_rooflint.audit.columns import guessed
from pytest_rooflint.audit.rows import NAME, Cell, IsDevice, Row
from rooflint.base.errors import refuse

_METRICS = frozenset({"metric", "quantity", "property", "attribute", "parameter", "spec", "specification", "field"})
VALUES = frozenset({"value", "figure", "number"})


_SIXTEEN_BITS = {("peak", precision, None) for precision in ("fp16", "bf16")}
#: Number of a line in its file, and its texts.
Line = tuple[int, tuple[str, ...]]


@dataclass(frozen=True)
class Grid:
    """Texts by line; the first line is the header."""

    lines: tuple[Line, ...]

    @property
    def header(self) -> Line:
        """The first line."""
        return self.lines[0]


def rows(grid: Grid, file: Path, is_device: IsDevice) -> Iterator[Row]:
    """The rows of a grid, one per device or per figure of a device.

    The header may have two lines, where cells of the first are merged, and may be repeated between the rows. Raises
    InputError for a line that is longer than the header.
    """
    if _is_transposed(grid, is_device):
        yield from _transposed(grid)
        return
    _, first = grid.header
    below = grid.lines[1:]
    header = first
    if below and _is_merged(first, below[0][1]):
        header, below = _under(first, below[0][1]), below[1:]
    header, below = _split(header, below)
    names = _told_apart(header)
    metric, value = _long(names)
    for number, line in below:
        if line in (first, header):
            continue
        texts = line[: max((place for place, text in enumerate(line, 1) if text), default=0)]
        if len(texts) > len(names):
            raise refuse(file, number, f"want {len(names)} columns, found {len(texts)}")
        row = {name: Cell(text, number) for name, text in zip(names, texts, strict=False) if text}
        yield _of_metric(row, metric, value) if metric else row


def _is_merged(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the line below a header goes on with it: gaps or repetitions above, and no number below."""
    named = [name for name in first if name]
    has_gaps = "" in first[1:] or len(set(named)) < len(named)
    filled = [text for text in second if text]
    return has_gaps and len(filled) > 1 and not any(re.match(r"[~≈$]?\d", text) for text in filled)


def _under(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Names of columns under merged cells: `Dense` over `FP16` and `FP8` is `Dense FP16`, `Dense FP8`."""
    names, above = [], ""
    for name, below in zip_longest(first, second, fillvalue=""):
        above = name or above
        names.append(f"{above} {below}".strip() if below and below != above else name or above)
    return tuple(names)


_SLASH = re.compile(r"\s*[/:|]\s*")
"""What separates names in a header and figures in its cells: `Shaders / TMUs / ROPs`, `4864:152:80`."""
MANY = 3
"""Names in a header from which on they are split; two may also be two names of one figure."""


def _split(header: Sequence[str], below: Sequence[Line]) -> tuple[tuple[str, ...], tuple[Line, ...]]:
    """Header and lines, with a column for each name of a header whose cells hold as many figures."""
    split = {place: names for place, name in enumerate(header) if (names := _named_in(name, place, below))}
    if not split:
        return tuple(header), tuple(below)
    wide = [one for place, name in enumerate(header) for one in split.get(place, (name,))]
    lines = []
    for number, texts in below:
        cells = [_apart(text, len(split[place])) if place in split else (text,) for place, text in enumerate(texts)]
        lines.append((number, tuple(one for cell in cells for one in cell)))
    return tuple(wide), tuple(lines)


def _named_in(name: str, place: int, below: Sequence[Line]) -> tuple[str, ...]:
    """The names in a header, each with the unit of the last one; none where its cells do not hold as many figures."""
    names = _SLASH.split(name)
    texts = [texts[place] for _, texts in below if texts[place:][:1] > ("",)]
    if len(names) < 2 or not texts or not all(re.search("[A-Za-z]", one) and _is_closed(one) for one in names):
        return ()
    if not all(_apart(text, len(names))[-1] for text in texts):
        return ()
    known = [guessed(one) for one in names]
    meant = [(one.role, one.precision, one.subject) if one else None for one in known]
    if len(names) < MANY and (None in meant or len({*meant}) < len(names) or set(meant) <= _SIXTEEN_BITS):
        return ()
    last = known[-1]
    return tuple(
        f"{one} ({last.unit})" if last and last.unit and own and own.role == last.role and not own.unit else one
        for one, own in zip(names, known, strict=True)
    )


def _is_closed(name: str) -> bool:
    return name.count("(") == name.count(")")


def _apart(text: str, number: int) -> tuple[str, ...]:
    """The figures of a cell; empty texts where there are not as many."""
    found = _SLASH.split(text)
    are_figures = len(found) == number and all(re.match(r"[~≈]?\d", one) or has_no_value(one) for one in found)
    return tuple(found) if are_figures else ("",) * number


def _told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once: a repeated one has its position behind it, so that `--map` can say what it is."""
    times = Counter(names)
    return tuple(
        f"{name} (column {number})" if times[name] > 1 and name else name for number, name in enumerate(names, 1)
    )


# ---- one column per device


def _is_transposed(grid: Grid, is_device: IsDevice) -> bool:
    """Whether the header names devices and the first column does not."""
    named = [text for text in grid.header[1][1:] if text]
    devices = sum(map(is_device, named))
    firsts = [texts[0] for _, texts in grid.lines[1:] if texts and texts[0]]
    return devices > 1 and 2 * devices >= len(named) and 2 * sum(map(is_device, firsts)) < len(firsts)


def _transposed(grid: Grid) -> Iterator[Row]:
    line, names = grid.header
    units = next((place for place, name in enumerate(names) if name.strip().lower() in ("unit", "units")), 0)
    lines = [(number, texts) for number, texts in grid.lines[1:] if texts]
    labels = _told_apart(
        [with_unit(texts[0], texts[units] if 0 < units < len(texts) else "") if texts[0] else "" for _, texts in lines]
    )
    for place, device in enumerate(names[1:], 1):
        if device and place != units:
            held = zip(labels, lines, strict=True)
            cells = {
                label: Cell(texts[place], number)
                for label, (number, texts) in held
                if label and texts[place:][:1] > ("",)
            }
            yield {NAME: Cell(device, line), **cells}


# ---- one row per figure


def _long(names: Sequence[str]) -> tuple[str, str]:
    """The columns that name a figure and that hold it; empty where the table has a column per figure."""
    metric = next((name for name in names if name.strip().lower() in _METRICS), "")
    value = next((name for name in names if name.strip().lower() in VALUES), "")
    return (metric, value) if metric and value else ("", "")


def _of_metric(row: Row, metric: str, value: str) -> Row:
    """A row of a long table with the figure under its own name."""
    if metric not in row or value not in row:
        return {name: cell for name, cell in row.items() if name not in (metric, value)}
    unit = next((name for name in row if name.strip().lower() in ("unit", "units")), "")
    name = with_unit(row[metric].text, row[unit].text if unit else "")
    kept = {other: cell for other, cell in row.items() if other not in (metric, value, unit)}
    return {**kept, name: row[value]}


def with_unit(name: str, unit: str) -> str:
    """The name of a figure with the unit that its row gives, if it says none itself."""
    known = guessed(name)
    plain = re.sub(r"[()]", " ", unit).strip()
    return f"{name} ({plain})" if plain and not (known and known.unit) else name
