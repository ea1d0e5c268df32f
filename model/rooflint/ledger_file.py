"""Ledgers as files: CSV in gzip, which every tool for tables reads; docs/decisions/0018 says why.

The first column names the schema in each row, so that a file needs nothing beside it. Numbers are written as the
shortest text that gives the same float; a cell is empty where nobody knows.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rooflint.errors import InputError, refuse
from rooflint.ledger import QUANTITIES, Key, Ledger, Row
from rooflint.whole_file import write_whole_bytes

SCHEMA = "rooflint-ledger/1"

SUFFIX = ".csv.gz"

COLUMNS = ("schema", *Key._fields, *QUANTITIES, "not_supported", "not_known")

_TRUTH = {"true": True, "false": False}


def write_ledger(ledger: Ledger, file: Path) -> None:
    """Write it whole or not at all. Raises OSError."""
    write_whole_bytes(file, as_bytes(ledger))


def as_bytes(ledger: Ledger) -> bytes:
    """The file; the same ledger gives the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in ledger.rows():
        *names, batch, fused = row.key
        figures = ("" if math.isnan(value) else repr(value) for value in row.values)
        writer.writerow((SCHEMA, *names, batch, str(fused).lower(), *figures, row.not_supported, row.not_known))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def read_ledger(file: Path) -> Ledger:
    """The ledger of a file. Raises InputError for what is none."""
    rows = list(_rows(file, csv.reader(io.StringIO(_text(file), newline=""))))
    seen: dict[Key, int] = {}
    for line, row in enumerate(rows, 2):
        if row.key in seen:
            raise refuse(file, line, f"the same prediction as line {seen[row.key]}")
        seen[row.key] = line
    return Ledger.of(rows)


def _text(file: Path) -> str:
    try:
        return gzip.decompress(file.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise refuse(file, 1, f"want a ledger, which is CSV in gzip: {error}") from error


def _rows(file: Path, lines: Iterator[list[str]]) -> Iterator[Row]:
    head = next(lines, [])
    said = next(lines, None)
    if said and said[0] != SCHEMA:
        raise refuse(file, 2, f"want a ledger of the schema {SCHEMA}, found '{said[0]}'")
    if tuple(head) != COLUMNS:
        raise refuse(file, 1, f"want a ledger with the columns {', '.join(COLUMNS)}")
    for line, cells in enumerate(chain([said] if said is not None else [], lines), 2):
        yield _row(file, line, cells)


def _row(file: Path, line: int, cells: list[str]) -> Row:
    if len(cells) != len(COLUMNS) or cells[0] != SCHEMA:
        raise refuse(file, line, f"want {len(COLUMNS)} cells, the first of them {SCHEMA}")
    device, at, network, precision, batch, fused, *figures = cells[1:-2]
    if not batch.isdecimal() or fused not in _TRUTH:
        raise refuse(file, line, f"batch, fused: want a whole number and true or false, found '{batch}' and '{fused}'")
    key = Key(device, at, network, precision, int(batch), _TRUTH[fused])
    values = (_figure(file, line, *pair) for pair in zip(QUANTITIES, figures, strict=True))
    return Row(key, tuple(values), *cells[-2:])


def _figure(file: Path, line: int, quantity: str, text: str) -> float:
    try:
        value = float(text or "nan")
    except ValueError:
        value = -1.0
    if value < 0 or math.isinf(value) or (text and math.isnan(value)):
        raise _no_figure(file, line, quantity, text)
    return value


def _no_figure(file: Path, line: int, quantity: str, text: str) -> InputError:
    return refuse(file, line, f"{quantity}: want a number of at least 0, or nothing, found '{text}'")
