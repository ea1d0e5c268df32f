"""Allocations: which share of a device's units holds the blocks into which ops are cut, op by op.

A block is the least that a unit can hold. Here are blocks, arrays of units, and what follows for each op from how its
blocks lie on an array; `rooflint.mapping.allocate` says how they lie on a device.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.facts import Fact
from rooflint.workloads.ops import ATTENTIONS
from rooflint.workloads.workload import Workload

Counts = NDArray[np.int64]

#: Rows of a workload's table.
Rows = NDArray[np.intp]


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

    def active(self, blocks: Counts) -> Counts:
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
        """The blocks of one op, in words: `24 output tiles of 128 × 128`."""
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


def products(work: Workload, ops: Rows) -> Products:
    """Some rows of a workload as products."""
    fused = np.isin(work.kinds[ops], sorted(ATTENTIONS))
    return Products(work.m[ops], work.n[ops], work.k[ops], work.groups[ops], fused)


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


# ---- What follows for each op


@dataclass(frozen=True, eq=False)
class Part:
    """Ops that lie on a device in the same way: which, how they are cut, and on what they lie."""

    ops: Rows
    blocks: Blocks
    array: UnitArray
    fill_drain_clocks: int = 0
    """Clocks in which an array of MACs is only partly at work: once an op. [1]"""


@dataclass(frozen=True, eq=False)
class Allocation:
    """How the ops of a workload lie on the units of a device; arrays have the shape (ops,).

    Utilization is not efficiency: a unit that waits for memory counts as active.
    """

    hardware: str
    workload: str
    compute: str
    """Precision of the arithmetic."""
    op_names: NDArray[np.str_]
    parts: tuple[Part, ...]
    """Each op is in one of them."""
    facts: tuple[Fact, ...] = ()
    """Facts of its units."""

    def __len__(self) -> int:
        return len(self.op_names)

    @property
    def units(self) -> Counts:
        """Units that hold work in the busiest wave, the first."""
        return self._each(lambda part: part.array.active(part.blocks.count))

    @property
    def last_units(self) -> Counts:
        """Units that hold work in the last wave: fewer where the blocks are no multiple of a wave."""
        return self._each(lambda part: part.array.active(part.array.tail(part.blocks.count)))

    @property
    def total(self) -> Counts:
        """Units that there are for such an op."""
        return self._each(lambda part: part.array.total)

    @property
    def unit_names(self) -> NDArray[np.str_]:
        """What is counted for each op: SM, MXU, core, tile."""
        longest = max(len(part.array.name) for part in self.parts)
        return self._each(lambda part: part.array.name, dtype=f"U{longest}")

    @property
    def blocks(self) -> Counts:
        """Blocks into which the outputs are cut."""
        return self._each(lambda part: part.blocks.count)

    @property
    def slots(self) -> Counts:
        """Blocks that all units together hold at a time."""
        return self._each(lambda part: part.array.slots)

    @property
    def waves(self) -> Counts:
        """Rounds in which the blocks are worked off."""
        return self._each(lambda part: part.array.waves(part.blocks.count))

    @property
    def padding(self) -> NDArray[np.float64]:
        """Share of the blocks' work that is on no element of the op. [1]"""
        return self._each(lambda part: part.blocks.padding, dtype=np.float64)

    @property
    def fill_drain_clocks(self) -> Counts:
        """Clocks of an op in which an array of MACs fills and drains; 0 on units that have none. [1]"""
        return self._each(lambda part: part.fill_drain_clocks)

    @property
    def utilization(self) -> NDArray[np.float64]:
        """Share of units that hold work, in the busiest wave. [1]"""
        return np.asarray(self.units / self.total)

    @property
    def idle_slots(self) -> NDArray[np.float64]:
        """Wave quantization: the share of all waves' slots that stays empty. [1]"""
        return np.asarray(1 - self.blocks / (self.waves * self.slots))

    def display(self, op: int) -> str:
        """The share of one op: `24/132 SM`."""
        return f"{self.units[op]}/{self.total[op]} {self.unit_names[op]}"

    def reason(self, op: int) -> str:
        """What decides, in words: `24 output tiles of 128 × 128`, and the waves where there are several."""
        part, place = self._place(op)
        blocks = part.blocks.text(place)
        waves = int(self.waves[op])
        if waves == 1:
            return blocks
        return f"{blocks} in {waves} waves of {part.array.slots}, {self.last_units[op]} {part.array.name} in the last"

    def _place(self, op: int) -> tuple[Part, int]:
        part = next(part for part in self.parts if op in part.ops)
        return part, int(np.flatnonzero(part.ops == op)[0])

    def _each(self, column: Callable[[Part], Any], dtype: Any = np.int64) -> NDArray[Any]:
        table = np.empty(len(self), dtype=dtype)
        for part in self.parts:
            table[part.ops] = column(part)
        return table
