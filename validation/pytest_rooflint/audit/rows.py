"""Rows of a table: texts by column, each with its line, and what a row states for all of its figures."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_rooflint.audit.cells import has_no_value, is_unit_of, quantity_of
from pytest_rooflint.audit.column_words import ONE_WAY
from pytest_rooflint.audit.columns import (
    Column,
    bandwidth_unit,
    guessed,
    is_device_word,
    is_of_links,
    is_one_precision,
    said_precision,
    said_sparsity,
)
from pytest_rooflint.audit.spelling import PRECISION_WORDS, words_of
from rooflint.diagnosis.figures import QUANTITIES
from rooflint.hardware.names import Meaning

NAME = "device"
"""Name of the column of devices where the format has none: keys of a mapping, names in source code."""


UNNAMED = "tuple without names"
"""Name of the column of tuples that are not read, because nothing says what their numbers are."""
_ANOTHER = frozenset(
    {"successor", "predecessor", "replaces", "replacement", "previous", "next", "vs", "versus", "than", "like"}
    | {"similar", "equivalent", "alternative", "baseline", "reference", "relative", "compared", "comparable"}
)
"""Words of columns of devices beside those that the rows are of."""
RUN = frozenset({"latency", "throughput", "ms", "seconds", "sec", "tokens", "accuracy", "loss", "fps"})
"""Words of what is measured of a program."""
_MEASURED = frozenset({"achievable", "achieved", "measured", "empirical", "sustained", "observed"})
_KIND = frozenset({"label", "id", "kind", "type", "mode", "status", "basis"})
"""Last words of columns that tell what the figures of a row are."""
MOST_SAID = 3
"""Words of such a text; a longer one is prose."""
DIGITS_OF_NUMBER = 4
"""Digits of the largest number of devices that a row may have."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a table with its line."""

    text: str
    line: int
    remark: str = ""
    """A comment of source code on the text; it may name a precision."""


#: One row: cells by column name.
Row = Mapping[str, Cell]
#: Whether a text names a device.
IsDevice = Callable[[str], bool]


def between_devices(names: Iterable[str], rows: Iterable[Row]) -> dict[str, str]:
    """Roles of columns such as `Interconnect`, most of whose cells are bandwidths: 600 GB/s, and not PCIe 4.0."""
    listed, roles = list(rows), {}
    for name in filter(is_of_links, names):
        texts = [row[name].text for row in listed if name in row and not has_no_value(row[name].text)]
        unit = bandwidth_unit(name)
        presumed = "B/s" if unit == "" else unit
        if 2 * sum("bandwidth" in (quantity_of(one), quantity_of(f"{one} {presumed}")) for one in texts) > len(texts):
            roles[name] = f"link {unit}" if unit else "link"
    return roles


def naming(names: Iterable[str], rows: Sequence[Row], is_device: IsDevice) -> dict[str, str]:
    """Roles of columns that hold names of devices under another header, `Part` or none, where no other column does."""
    found: dict[str, str] = {}
    headed = [name for name in names if is_device_word(name)]
    others = [name for name in names if name not in headed and guessed(name) is None and not _says_another(name)]
    while others:
        open_rows = [row for row in rows if not any(name in row for name in found)]
        counted = {name: devices_in(name, open_rows, headed, is_device) for name in others}
        best = max(others, key=lambda name: counted[name])
        if counted[best] == (0, 0):
            break
        found[best] = "device"
        others.remove(best)
    return found


def devices_in(name: str, rows: Sequence[Row], headed: Sequence[str], is_device: IsDevice) -> tuple[int, int]:
    """Devices that a column names, and the letters of their names; none where fewer than half of its texts are any."""
    held = [row for row in rows if name in row]
    devices = [text for row in held if is_device(text := row[name].text) and not text.isdigit()]
    if 2 * len(devices) < len(held) or any(is_device(row[one].text) for row in held for one in headed if one in row):
        return 0, 0
    return len(devices), sum(map(len, devices))


def _says_another(name: str) -> bool:
    """Whether a header says that its devices are not those of the rows: `Successor`, `Compared to`."""
    return bool(_ANOTHER & set(words_of(name)))


def named_by(row: Row, known: Mapping[str, Column]) -> Cell | None:
    """The cell of a row that names its device."""
    naming = [name for name, column in known.items() if column.role == "device" and name in row]
    return row[min(naming, key=lambda name: bool({"type", "kind"} & set(words_of(name))))] if naming else None


def of_number(meaning: Meaning, row: Row, known: Mapping[str, Column]) -> Meaning:
    """The meaning of a name, with the number of devices that its row gives in a column of its own."""
    texts = [row[name].text for name, column in known.items() if column.role == "number" and name in row]
    number = int(texts[0]) if texts and texts[0].isdecimal() and len(texts[0]) <= DIGITS_OF_NUMBER else 1
    return replace(meaning, times=number) if meaning.times == 1 and number > 1 else meaning


def with_tensor_rows(column: Column, rows: Iterable[Row]) -> Column:
    """A column of precisions with those that some rows give of tensor cores: a plain `FP16` beside them is of lanes."""
    if column.role != "precision":
        return column
    said = [said_precision(row[column.name].text) for row in rows if column.name in row]
    return replace(column, beside=tuple({precision for precision, vector, _ in said if precision and vector is False}))


def is_beside(row: Row, column: Column) -> bool:
    """Whether a row has, beside a plain peak, one of tensor cores that differs from it."""
    return any(other in row and row[other].text != row[column.name].text for other in column.beside)


def measured_beside(row: Row, known: Mapping[str, Column]) -> str:
    """The column of a row that holds a measurement; none where another column is of a figure of the device."""
    figures = [name for name, column in known.items() if column.role in QUANTITIES and name in row]
    measured = (name for name in row if name not in known and RUN & set(words_of(name)))
    return next(measured, "") if len(figures) == 1 else ""


def measured_as(row: Row) -> str:
    """What a row calls its figures where that says that they were measured: `label: Achievable`."""
    return next((cell.text for name, cell in row.items() if says_measured(name, cell.text)), "")


def says_measured(name: str, text: str) -> bool:
    """Whether a text under a name such as `label` or `kind` says that the figures beside it were measured."""
    return bool(_KIND & set(words_of(name)[-1:])) and bool(_MEASURED & set(words_of(text)[:MOST_SAID]))


def stated_by(row: Row, known: Mapping[str, Column]) -> Column:
    """What a row states for all its figures: precision, lanes, sparsity, unit."""
    context = Column("", "peak")
    for name, column in known.items():
        if name not in row:
            continue
        if column.role == "precision":
            precision, vector, sparse = said_precision(row[name].text)
            if vector is None and precision in column.beside and is_one_precision(row[name].text):
                vector = True
            context = replace(context, precision=precision or row[name].text.lower(), vector=vector, sparse=sparse)
        if column.role == "sparsity":
            context = replace(context, sparse=said_sparsity(row[name].text))
        if column.role == "unit":
            context = replace(context, unit=row[name].text)
    return context


def in_unit(unit: str | None, row: Row, known: Mapping[str, Column]) -> list[str]:
    """Columns that the unit of a row holds for: those of its quantity, else all that have a unit and do not say it."""
    if unit is None:
        return []
    bare = [
        name
        for name, column in known.items()
        if name in row and column.role in QUANTITIES and column.role != "count" and not column.unit
    ]
    return [name for name in bare if is_unit_of(unit, known[name].role)] or bare


def merged_with(column: Column, row: Column) -> Column:
    """The column, completed by its row; the column takes precedence."""
    if (row.precision, row.vector, row.sparse) == (None, None, None):
        return column
    return replace(
        column,
        precision=column.precision or row.precision,
        vector=column.vector if column.vector is not None else row.vector,
        sparse=column.sparse if column.sparse is not None else row.sparse,
    )


def one_way(said: str, column: Column) -> str:
    """Why a bandwidth of links may be that of one direction, where its cell or a comment says it; else empty."""
    is_said = column.role == "link" and bool(ONE_WAY & set(words_of(said)))
    return "of one direction, as its cell or a comment says" if is_said else ""


def without_sparsity(name: str) -> tuple[str, bool | None]:
    """A name without the word `sparse` or `dense`, and whether it named sparse."""
    word = re.search(r"\(?\b(sparse|dense)\b\)?", name, re.IGNORECASE)
    return (name.replace(word[0], " "), word[1].lower() == "sparse") if word else (name, None)


def remarked(column: Column, remark: str) -> Column:
    """A peak without a precision, completed by a comment that names one: `# dense BF16`."""
    words = words_of(remark)
    named = {PRECISION_WORDS[word] for word in words if word in PRECISION_WORDS}
    if column.precision or not named or not (len(named) == 1 or named == {"fp16", "bf16"}):
        return column
    first, *others = sorted(named)
    return replace(column, precision=first, either=others[0] if others else None)
