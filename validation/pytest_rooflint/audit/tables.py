"""Read tables: CSV, TSV, Markdown, HTML, Excel, JSON, YAML and Python source become rows of texts with their lines."""

import ast
import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_rooflint.audit.braces import SUFFIXES, read_braces
from pytest_rooflint.audit.grids import Grid
from pytest_rooflint.audit.grids import rows as rows_of
from pytest_rooflint.audit.headings import Owner, owners, row_of_properties, rows_of_entries, rows_of_lists
from pytest_rooflint.audit.markup import html_tables
from pytest_rooflint.audit.records import read_records
from pytest_rooflint.audit.rows import IsDevice, Row
from pytest_rooflint.audit.source import read_python
from rooflint.base.errors import InputError, extra, refuse
from rooflint.base.files import read_bytes

MAX_BYTES = 4 * 1024 * 1024
PYTHON = ".py"
EXCEL = ".xlsx"

_ENTRY = re.compile(r"""\s*("[^"]+"|'[^']+')\s*:\s*(\{.*\}),?\s*""")
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*")


def is_source(file: Path) -> bool:
    """Whether a file holds code, which has numbers of every kind."""
    return file.suffix.lower() in (PYTHON, *SUFFIXES)


def read(file: Path, is_device: IsDevice) -> list[Row]:
    """Read the rows of all tables of a file, in the format of its suffix; `is_device` tells names of devices.

    Raises InputError for an unreadable file, an unknown suffix, and a table without rows.
    """
    grids: dict[str, Callable[[str, Path], Iterator[Grid]]] = {
        ".csv": _separated,
        ".tsv": _separated,
        ".md": _markdown,
        ".html": lambda text, _: html_tables(text),
        ".htm": lambda text, _: html_tables(text),
    }
    trees = {".json": read_records, ".yaml": read_records, ".yml": read_records, PYTHON: read_python}
    trees |= dict.fromkeys(SUFFIXES, read_braces)
    suffix = file.suffix.lower()
    if suffix not in {*grids, *trees, EXCEL}:
        known = ", ".join([*grids, *trees, EXCEL])
        raise refuse(file, 1, f"want a table as {known}, found '{file.suffix or file.name}'")
    if suffix == EXCEL:
        return _filled([row for grid in _workbook(file) for row in rows_of(grid, file, is_device)], file)
    text = decoded(file)
    if suffix in trees:
        return _filled(list(trees[suffix](text, file, is_device)), file)
    about = owners(text, is_device) if suffix == ".md" else []
    rows = [row for grid in grids[suffix](text, file) for row in _rows_of_page(grid, file, is_device, about)]
    rows += rows_of_lists(text, about, _plain)
    rows += rows_of_entries(text, is_device, _plain) if suffix == ".md" else ()
    if not rows and suffix == ".md":
        rows = list(read_python(_entries(text), file, is_device))
    if "<script" in text and suffix in (".html", ".htm"):
        rows += read_braces(text, file, is_device)
    return _filled(rows, file)


def _rows_of_page(grid: Grid, file: Path, is_device: IsDevice, about: Sequence[Owner | None]) -> list[Row]:
    """The rows of a table; of one that names no device, the properties of the one that its heading names.

    One that names none and cannot be read has no rows, which leaves the others of its page.
    """
    names_device = any(is_device(text) for _, texts in grid.lines for text in texts if text)
    owner = about[grid.header[0] - 1] if about and not names_device else None
    if owner and (row := row_of_properties(grid, owner)):
        return [row]
    try:
        return list(rows_of(grid, file, is_device))
    except InputError:
        if names_device:
            raise
        return []


def _entries(text: str) -> str:
    """The lines of a page that are each an entry of a dictionary, as one in Python with the same lines."""
    found = [_ENTRY.fullmatch(line) for line in text.splitlines()]
    kept = [f"{match[1]}: {match[2]}," if match and _is_python(match[2]) else "" for match in found]
    held = [place for place, entry in enumerate(kept) if entry]
    if held:
        kept[held[0]] = f"table = {{{kept[held[0]]}"
        kept[held[-1]] += "}"
    return "\n".join(kept)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def decoded(file: Path) -> str:
    """The text of a file in UTF-8, in UTF-16 with its mark, or else in the code page of Western spreadsheets."""
    raw = read_bytes(file, MAX_BYTES)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _filled(rows: list[Row], file: Path) -> list[Row]:
    if not rows and is_source(file):
        raise refuse(file, 1, "want figures of devices, found none: no key, name, condition or comment names a device")
    if not rows:
        raise refuse(file, 1, "want a table with a header and at least one row, found none")
    return rows


# ---- CSV


def _separated(text: str, file: Path) -> Iterator[Grid]:
    separator = "\t" if file.suffix.lower() == ".tsv" else _separator(text)
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    lines: list[tuple[int, tuple[str, ...]]] = []
    last = 0
    try:
        for values in reader:
            line, last = last + 1, reader.line_num
            if any(value.strip() for value in values) and not values[0].lstrip().startswith("#"):
                lines.append((line, tuple(value.strip() for value in values)))
    except csv.Error as error:
        raise refuse(file, reader.line_num, f"invalid CSV: {error}") from error
    if lines:
        yield Grid(tuple(lines))


def _separator(text: str) -> str:
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return max(",;\t", key=head.count)


# ---- Markdown


def _markdown(text: str, file: Path) -> Iterator[Grid]:
    """Every table on the page, also those in HTML; a table is a header, a rule of hyphens, and rows."""
    del file
    found: list[tuple[int, tuple[str, ...]]] = []
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    last = 0
    for (number, line), (_, following) in pairwise([*lines, (0, "")]):
        is_header = "-" in following and _RULE.fullmatch(following)
        is_apart = number > last + 1 and (is_header or len(_split(line)) != len(found[0][1])) if found else False
        last = number
        if found and (line.count("|") < 2 or is_apart):  # blank lines may stand between the rows of a table
            yield Grid(tuple(found))
            found = []
        if line.count("|") < 2 or not (found or is_header):
            continue  # a line with bars that no rule follows is prose
        if not (found and _RULE.fullmatch(line)):
            found.append((number, tuple(_plain(cell) for cell in _split(line))))
    if found:
        yield Grid(tuple(found))
    if "<table" in text.lower():
        yield from html_tables(text)


def _split(line: str) -> list[str]:
    return line.strip().removeprefix("|").removesuffix("|").split("|")


def _plain(cell: str) -> str:
    """A cell without emphasis, also an escaped one, code marks, tags of HTML and link targets; `156*2` is a product."""
    cell = re.sub(r"\\([*_`~])", r"\1", cell)
    text = re.sub(r"</?[A-Za-z][^<>]*>", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell))
    return re.sub(r"\*(?!\s*\d)|(?<!\d)\*(?=\d)|`", "", text).strip()


# ---- Excel


def _workbook(file: Path) -> Iterator[Grid]:
    """The sheets of a workbook, with values where cells have formulas.

    Raises InputError for what is not a workbook, and where openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook  # noqa: PLC0415  # of an extra
    except ImportError:
        raise refuse(file, 1, f"reading Excel needs openpyxl, else save the sheet as CSV; {extra('excel')}") from None
    content = io.BytesIO(read_bytes(file, MAX_BYTES))
    try:
        book = load_workbook(content, read_only=True, data_only=True)
        for sheet in book.worksheets:
            lines = [
                (number, tuple("" if value is None else str(value).strip() for value in values))
                for number, values in enumerate(sheet.iter_rows(values_only=True), 1)
            ]
            if kept := tuple((number, texts) for number, texts in lines if any(texts)):
                yield Grid(kept)
    except Exception as error:  # openpyxl lets errors of zip, XML and its own through
        raise refuse(file, 1, f"is not an Excel workbook: {error}") from error
