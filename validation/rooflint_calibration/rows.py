"""Rows: measured times of one op on one device, with the sizes of each."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels.shapes import Numbers

Mask = NDArray[np.bool_]

COPIES = "copies"
"""The column with the sets of weights in rotation; not part of the shape."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Rows:
    """One op on one device."""

    device: str
    columns: tuple[str, ...]
    """Names of the sizes: m, n, k, …"""
    sizes: Numbers
    """Shape (rows, columns)."""
    seconds: Numbers
    """Best of the frameworks. [s]"""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of tables that were left out, by reason."""

    def __getitem__(self, column: str) -> Numbers:
        """One size of all rows. Shape (rows,)"""
        return np.asarray(self.sizes[:, self.columns.index(column)])

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.seconds)

    @property
    def named(self) -> dict[str, Numbers]:
        """Sizes by column."""
        return {column: self[column] for column in self.columns}

    def only(self, which: NDArray[Any]) -> "Rows":
        """Some of the rows, by position or by a mask."""
        return replace(self, sizes=self.sizes[which], seconds=self.seconds[which])

    def picked(self, count: int) -> "Rows":
        """`count` rows that a hash of their sizes picks, the same on every machine; all of them if there are fewer."""
        return self.only(np.sort(np.argsort(self.hashes(), kind="stable")[:count]))

    def hashes(self) -> NDArray[np.uint64]:
        """A pseudorandom number for each row: of m, n and k of products, else of the sizes in pairs."""
        if COPIES in self.columns:
            return hashed(*self.sizes.T[: self.columns.index(COPIES)])
        columns = np.concatenate([self.sizes.T, np.zeros((6 - self.sizes.shape[1], len(self)))])
        return hashed(*(columns[::2] * 2.0**20 + columns[1::2]))

    def without(self, wrong: Mapping[str, Mask]) -> "Rows":
        """The rows that no reason applies to; each row is counted under its first."""
        left, dropped = np.ones(len(self), bool), dict(self.dropped)
        for why, rows in wrong.items():
            dropped[why] = dropped.get(why, 0) + int((rows & left).sum())
            left &= ~rows
        return replace(self.only(left), dropped=dropped)

    def label(self, row: int) -> str:
        """`m 16, n 4096, k 4096, copies 6`."""
        return ", ".join(f"{name} {size:g}" for name, size in zip(self.columns, self.sizes[row], strict=True))


def hashed(*columns: Numbers) -> NDArray[np.uint64]:
    """A pseudorandom number for each row of whole numbers: the finaliser of SplitMix64 over its columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            found = found + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
            found = (found ^ (found >> np.uint64(30))) * _MIX[0]
            found = (found ^ (found >> np.uint64(27))) * _MIX[1]
            found = found ^ (found >> np.uint64(31))
    return found


def together(dropped: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Rows left out of several devices, by reason."""
    found: Counter[str] = Counter()
    for one in dropped:
        found.update(one)
    return {why: rows for why, rows in found.items() if rows}
