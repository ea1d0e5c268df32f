"""The ledger: every prediction of a fixed matrix, one row each, so that two states of the specs or the model compare.

    record(registry.readable(), tables(map(load_workload, workload_ids())), Energies(Coefficients(registry)))

The matrix is devices, each at its own point and at every operating point × networks × precisions × runs. A row of what
a device does not support has the reason and no figures: it is counted, not dropped.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError, extra, refuse
from rooflint.base.files import write_bytes_atomically
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, UndisclosedError, UnsupportedError
from rooflint.prediction.figures import QUANTITIES, predict_tables
from rooflint.prediction.predict import Setting
from rooflint.workloads.stack import Stack, stacks
from rooflint.workloads.workload import Workload, WorkloadError

PRECISIONS = ("fp32", "bf16", "fp16", "int8")

RUNS = ((1, False), (1, True), (32, True))
"""Batches, and whether ops are fused. One sample waits for memory and launches, 32 fused ones mostly for compute."""


class Key(NamedTuple):
    """What is predicted."""

    device: str
    at: str
    """The operating point; empty for the device's own."""
    network: str
    precision: str
    batch: int
    fused: bool


class Row(NamedTuple):
    """One prediction, or why there is none."""

    key: Key
    values: tuple[float, ...]
    """In the order of QUANTITIES, in SI base units."""
    not_supported: str = ""
    """Why the device cannot run it; all values are NaN then."""
    not_known: str = ""
    """Why some values are NaN."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Predictions as columns."""

    keys: tuple[Key, ...]
    values: NDArray[np.float64]
    """Shape (rows, quantities)."""
    not_supported: tuple[str, ...]
    not_known: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Ledger":
        """The ledger of these rows, in the order of their keys."""
        found = sorted(rows)
        values = np.array([row.values for row in found], dtype=np.float64).reshape(len(found), len(QUANTITIES))
        return cls(
            tuple(row.key for row in found),
            values,
            tuple(row.not_supported for row in found),
            tuple(row.not_known for row in found),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self) -> Iterator[Row]:
        """Row by row, for files."""
        texts = (self.not_supported, self.not_known)
        for key, values, *reasons in zip(self.keys, self.values.tolist(), *texts, strict=True):
            yield Row(key, tuple(values), *reasons)

    @cached_property
    def places(self) -> dict[Key, int]:
        """The row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    @property
    def supported(self) -> int:
        """Rows that have figures."""
        return sum(not reason for reason in self.not_supported)


class Table(NamedTuple):
    """One network as one run of the matrix sees it, worked out once for all devices."""

    network: str
    batch: int
    fused: bool
    work: Workload | None
    refused: str = ""
    """Why there is no such table."""


def tables(networks: Iterable[Workload], runs: Sequence[tuple[int, bool]] = RUNS) -> tuple[Table, ...]:
    """The tables of networks, at each batch, fused or not."""
    return tuple(_table(network, batch, fused) for network in networks for batch, fused in runs)


def _table(network: Workload, batch: int, fused: bool) -> Table:
    try:
        scaled = network.at_batch(batch)
        return Table(network.name, batch, fused, scaled.fused() if fused else scaled)
    except WorkloadError as error:
        return Table(network.name, batch, fused, None, str(error))


def record(
    devices: Iterable[Hardware], works: Sequence[Table], energies: Energies, precisions: Sequence[str] = PRECISIONS
) -> Ledger:
    """The ledger of devices, at their own and at every operating point. Raises InputError for a broken file."""
    able = list(stacks([one.work for one in works if one.work]))
    points = (point for device in devices for point in device.points())
    return Ledger.of(
        row for point in points for precision in precisions for row in _rows(point, works, able, energies, precision)
    )


def _rows(
    point: Hardware, works: Sequence[Table], able: Sequence[Stack], energies: Energies, precision: str
) -> Iterator[Row]:
    """All tables on a device in a precision; `able` are those that there are."""
    try:
        found = predict_tables(point, able, energies, Setting(precision)) if able else None
        refused = ""
    except (UnsupportedError, UndisclosedError) as error:
        found, refused = None, str(error)
    figures = zip(map(tuple, found.values.T.tolist()), found.not_known, strict=True) if found else None
    for one in works:
        key = Key(point.id, point.mode or "", one.network, precision, one.batch, one.fused)
        if one.work is None or figures is None:
            yield Row(key, _NOTHING, one.refused or refused)
        else:
            values, not_known = next(figures)
            yield Row(key, values, not_known=not_known)


_NOTHING = (float("nan"),) * len(QUANTITIES)


SCHEMA = "rooflint-ledger/1"


class LedgerError(RooflintError):
    """A format that cannot be written here; the message says what to install."""


SUFFIX = ".csv.gz"

PARQUET = ".parquet"

SUFFIXES = (SUFFIX, PARQUET)
"""Of files that hold a ledger."""

COLUMNS = ("schema", *Key._fields, *QUANTITIES, "not_supported", "not_known")

_TRUTH = {"true": True, "false": False}


def write_ledger(ledger: Ledger, file: Path) -> None:
    """Write it whole or not at all, as its suffix says. Raises OSError, and LedgerError for Parquet without pyarrow."""
    write_bytes_atomically(file, as_parquet(ledger) if file.suffix == PARQUET else as_bytes(ledger))


def as_parquet(ledger: Ledger) -> bytes:
    """The columns of a ledger as Parquet; a figure that is not known is null. Raises LedgerError without pyarrow."""
    arrow = _pyarrow()
    keys = zip(*ledger.keys, strict=True) if ledger.keys else [()] * len(Key._fields)
    columns: dict[str, Any] = dict(zip(Key._fields, map(list, keys), strict=True))
    for place, quantity in enumerate(QUANTITIES):
        columns[quantity] = arrow.array(ledger.values[:, place], from_pandas=True)  # NaN as null
    columns |= {"not_supported": ledger.not_supported, "not_known": ledger.not_known}
    stream = io.BytesIO()
    arrow.parquet.write_table(
        arrow.table(columns).replace_schema_metadata({"schema": SCHEMA}), stream, compression="zstd"
    )
    return stream.getvalue()


def _from_parquet(file: Path) -> Ledger:
    arrow = _pyarrow()
    try:
        table = arrow.parquet.read_table(file)
    except (OSError, arrow.ArrowInvalid) as error:
        raise refuse(file, 1, f"want a ledger as Parquet: {error}") from error
    found = (table.schema.metadata or {}).get(b"schema", b"").decode()
    if found != SCHEMA or tuple(table.column_names) != COLUMNS[1:]:
        raise refuse(file, 1, f"want a ledger of the schema {SCHEMA}, found '{found}'")
    columns = table.to_pydict()
    keys = map(Key._make, zip(*(columns[name] for name in Key._fields), strict=True))
    figures = [[math.nan if value is None else value for value in columns[name]] for name in QUANTITIES]
    reasons = (columns[name] for name in ("not_supported", "not_known"))
    return Ledger.of(map(Row, keys, zip(*figures, strict=True), *reasons))


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet  # noqa: PLC0415  # an extra
    except ImportError:
        raise LedgerError(f"Parquet needs pyarrow, else write .csv.gz; {extra('parquet')}") from None
    return pyarrow


def as_bytes(ledger: Ledger) -> bytes:
    """The ledger as CSV in gzip; the same ledger gives the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in ledger.rows():
        *names, batch, fused = row.key
        figures = ("" if math.isnan(value) else repr(value) for value in row.values)
        writer.writerow((SCHEMA, *names, batch, str(fused).lower(), *figures, row.not_supported, row.not_known))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def read_ledger(file: Path) -> Ledger:
    """The ledger of a file, CSV in gzip or Parquet. Raises InputError for another file."""
    if file.suffix == PARQUET:
        return _from_parquet(file)
    head, *lines = list(csv.reader(io.StringIO(_text(file), newline=""))) or [[]]
    if lines and lines[0] and lines[0][0] != SCHEMA:
        raise refuse(file, 2, f"want a ledger of the schema {SCHEMA}, found '{lines[0][0]}'")
    if tuple(head) != COLUMNS:
        raise refuse(file, 1, f"want a ledger with the columns {', '.join(COLUMNS)}")
    rows = [_read_row(file, line, cells) for line, cells in enumerate(lines, 2)]
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


def _read_row(file: Path, line: int, cells: list[str]) -> Row:
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
        raise refuse(file, line, f"{quantity}: want a number of at least 0, or nothing, found '{text}'")
    return value
