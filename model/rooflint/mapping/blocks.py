"""Unit arrays, and the blocks of work that lie on them. A block is the least that a unit can hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.workloads.workload import Workload

Counts = NDArray[np.int64]


class Pool(NamedTuple):
    """Units of one size."""

    units: int
    """How many: SMs, MXUs, tiles, cores."""
    depth: int = 1
    """Blocks that one of them holds at a time."""


@dataclass(frozen=True)
class UnitArray:
    """Units that work together on an op. All arrays here have one entry an op."""

    name: str
    """What is counted: SM, MXU, tile, core."""
    pools: tuple[Pool, ...]
    deep: bool = False
    """Whether a unit is filled before the next one gets work (pool by pool); otherwise blocks are dealt in turn."""

    @property
    def total(self) -> int:
        """Units."""
        return sum(pool.units for pool in self.pools)

    @property
    def slots(self) -> int:
        """Blocks that all units hold at a time: one wave."""
        return sum(pool.units * pool.depth for pool in self.pools)

    def held(self, blocks: Counts) -> Counts:
        """Units that hold at least one block in the first wave."""
        if not self.deep:
            return np.minimum(blocks, self.total)
        units, rest = np.zeros_like(blocks), blocks
        for pool in self.pools:
            units = units + np.minimum(pool.units, ceil_div(rest, pool.depth))
            rest = np.maximum(rest - pool.units * pool.depth, 0)
        return units

    def waves(self, blocks: Counts) -> Counts:
        """Rounds in which the blocks are worked off."""
        return ceil_div(blocks, self.slots)

    def tail(self, blocks: Counts) -> Counts:
        """Blocks of the last wave."""
        return blocks - (self.waves(blocks) - 1) * self.slots


def ceil_div(above: Counts, below: Counts | int) -> Counts:
    """Quotient of whole numbers, rounded up."""
    return -(-above // below)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of each op; arrays have the shape (ops,)."""

    count: Counts
    rows: Counts
    """Outputs of a block: rows × columns."""
    columns: Counts
    """1 where a block is a line of outputs."""
    padding: NDArray[np.float64]
    """Share of the blocks' work that is on no element of the op. [1]"""
    noun: str
    """`output tile`, `thread block`, `warp`, `vector`."""

    def text(self, op: int) -> str:
        """Those of one op, in words: `24 output tiles of 128 × 128`."""
        count, rows, columns = (int(column[op]) for column in (self.count, self.rows, self.columns))
        size = f"{rows} × {columns}" if columns > 1 else f"{rows} output{'s' if rows > 1 else ''}"
        return f"{count} {self.noun}{'s' if count > 1 else ''} of {size}"


class Products(NamedTuple):
    """Matrix products of a workload, each `groups` times (m × k) · (k × n); arrays have the shape (products,)."""

    m: Counts
    n: Counts
    k: Counts
    groups: Counts
    fused: NDArray[np.bool_]
    """Whether it is an attention: two products, with a softmax between them, in one kernel."""

    @property
    def outputs(self) -> NDArray[np.float64]:
        """Elements of the results."""
        return self.m.astype(np.float64) * self.n * self.groups


def products(work: Workload, ops: NDArray[np.intp]) -> Products:
    """Some rows of a workload as products."""
    return Products(work.m[ops], work.n[ops], work.k[ops], work.groups[ops], work.kinds[ops] == "attention")


def output_tiles(work: Products, rows: int, columns: int, depth: int = 1) -> Blocks:
    """Each product's result in tiles of rows × columns, its sums in steps of `depth`."""
    count = tile_count(work.m, work.n, work.groups, rows, columns)
    padded = count.astype(np.float64) * (rows * columns * depth) * ceil_div(work.k, depth)
    return Blocks(count, _all(count, rows), _all(count, columns), _waste(work.outputs * work.k, padded), "output tile")


def tile_count(m: Counts, n: Counts, groups: Counts, rows: Counts | int, columns: Counts | int) -> Counts:
    """Tiles of rows × columns that cover `groups` results of m × n."""
    return ceil_div(m, rows) * ceil_div(n, columns) * groups


def chosen_tiles(work: Products, menu: Sequence[tuple[int, int]], units: int) -> Blocks:
    """The tiles of a GPU: of those that leave no unit empty the one that is done first, otherwise the smallest.

    A unit is done after waves × rows × columns outputs; of equals the largest tile is taken, which reads least. The
    menu is sorted, largest first. A tile's long side lies along the long side of the result. Attention is cut along
    its queries alone: its kernels keep a row of scores together.
    """
    wide = np.where(work.fused, 1, work.n)
    lying = wide > work.m
    long, short = (np.array(side, dtype=np.int64)[:, None] for side in zip(*menu, strict=True))
    rows, columns = np.where(lying, short, long), np.where(work.fused, work.n, np.where(lying, long, short))
    counts = tile_count(work.m, wide, work.groups, rows, np.where(work.fused, 1, columns))
    pick = _soonest(counts, rows * columns, units)[None]
    count, rows, columns = (np.take_along_axis(table, pick, axis=0)[0] for table in (counts, rows, columns))
    padded = count.astype(np.float64) * rows * columns
    return Blocks(count, rows, columns, _waste(work.outputs, padded), "output tile")


def _soonest(counts: Counts, areas: Counts, units: int) -> NDArray[np.intp]:
    """Row of the tile that keeps all units at work for the shortest; the last row where none does."""
    outputs = np.where(counts >= units, ceil_div(counts, units) * areas.astype(np.float64), np.inf)
    return np.where((counts < units).all(axis=0), len(counts) - 1, outputs.argmin(axis=0))


def lines(outputs: Counts, length: int, noun: str) -> Blocks:
    """Outputs in their order in memory, `length` to a block; an op that writes nothing is one block."""
    count = np.maximum(ceil_div(outputs, length), 1)
    padding = _waste(outputs, count.astype(np.float64) * length)
    return Blocks(count, _all(count, length), _all(count, 1), padding, noun)


def _waste(useful: Counts | NDArray[np.float64], padded: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - useful / np.maximum(padded, 1)


def _all(like: Counts, value: int) -> Counts:
    return np.full_like(like, value)
