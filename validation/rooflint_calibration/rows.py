"""Recorded: rows of one op on one device, each with the best time of the frameworks that ran it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.kernels.shapes import Numbers, Shapes
from rooflint_calibration.products import shape_hash

Row = Mapping[str, Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Recorded:
    """One op on one device."""

    device: str
    sizes: Numbers
    """Shape (rows, sizes of the op)."""
    seconds: Numbers
    """Best of the frameworks. [s]"""
    dropped: Mapping[str, int]
    """Rows of tables that were left out, by reason."""

    def rows(self, which: NDArray[Any]) -> "Recorded":
        """Some of the rows, by position or by a mask."""
        return replace(self, sizes=self.sizes[which], seconds=self.seconds[which])

    def picked(self, rows: int) -> "Recorded":
        """So many rows that a hash picks, the same on every machine; all of them where there are fewer."""
        return self.rows(np.sort(np.argsort(_hash(self.sizes), kind="stable")[:rows]))

    def __len__(self) -> int:
        """Rows."""
        return len(self.seconds)


@dataclass(frozen=True)
class Table:
    """A file of the package: where it lies in a device's folder, and what of it is the op."""

    pattern: str
    """`attention/*/*/context_attention_perf.parquet`."""
    sizes: Sequence[str]
    """Columns that are the sizes of the op."""
    others: Mapping[str, Callable[[Any], Any]]
    """Further columns, with what is done where a table lacks one or a row has nothing there."""
    why_not: Callable[[Row, Path], Mapping[str, Any]]
    """Rows that are another op or that nobody can have measured, by reason; of columns as arrays."""


def read(folder: Path, device: str, table: Table) -> Recorded:
    """The best time of each row that is the op. Raises RooflintError where there is none."""
    dropped: Counter[str] = Counter()
    found = [_kept(file, table, dropped) for file in sorted(folder.glob(table.pattern))]
    sizes = np.concatenate([one for one, _ in found]) if found else np.empty((0, len(table.sizes)))
    if not len(sizes):
        raise RooflintError(f"{folder}: want rows in {table.pattern}, found none")
    seconds = np.concatenate([one for _, one in found])
    kept, which = np.unique(sizes, axis=0, return_inverse=True)
    best = np.full(len(kept), np.inf)
    np.minimum.at(best, which.ravel(), seconds)
    return Recorded(device, kept, best, dict(dropped))


def without(recorded: Recorded, wrong: Mapping[str, Mask]) -> Recorded:
    """The rows that none of the reasons is true of; each row is counted under its first."""
    left, dropped = np.ones(len(recorded), bool), dict(recorded.dropped)
    for why, rows in wrong.items():
        dropped[why] = dropped.get(why, 0) + int((rows & left).sum())
        left &= ~rows
    return replace(recorded.rows(left), dropped=dropped)


def together(dropped: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Rows left out, by reason, of several devices."""
    found: Counter[str] = Counter()
    for one in dropped:
        found.update(one)
    return {why: rows for why, rows in found.items() if rows}


def _kept(file: Path, table: Table, dropped: Counter[str]) -> tuple[Numbers, Numbers]:
    """Sizes and seconds of the rows of a file that are the op."""
    columns = _columns(file, table)
    left = np.ones(len(columns["latency"]), bool)
    for why, rows in table.why_not(columns, file).items():
        mask = np.broadcast_to(np.asarray(rows, bool), left.shape)
        dropped[why] += int((mask & left).sum())
        left &= ~mask
    sizes = np.stack([np.asarray(columns[name], float) for name in table.sizes], axis=1)
    return sizes[left], columns["latency"][left] * 1e-3


def _columns(file: Path, table: Table) -> dict[str, Any]:
    import pyarrow.parquet as pq  # noqa: PLC0415  # of an extra

    there = set(pq.read_schema(file).names)
    wanted = [*table.sizes, *table.others, "latency"]
    read = pq.read_table(file, columns=[name for name in wanted if name in there])
    found = {name: read[name].to_numpy() if name in there else np.full(len(read), None) for name in wanted}
    return found | {name: of(found[name]) for name, of in table.others.items()}


def _hash(sizes: Numbers) -> NDArray[np.uint64]:
    """A number for each row that looks like chance: sizes two and two, as the hash of products takes three."""
    columns = np.concatenate([sizes.T, np.zeros((6 - sizes.shape[1], len(sizes)))])
    first, second, third = columns[::2] * 2.0**20 + columns[1::2]
    return shape_hash(Shapes(first, second, third, np.ones(len(sizes))))
