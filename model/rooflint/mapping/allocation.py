"""Allocations: which share of a device's units holds work, op by op."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.facts import Fact
from rooflint.mapping.blocks import Blocks, Counts, UnitArray

#: Rows of a workload's table.
Rows = NDArray[np.intp]


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
        return self._each(lambda part: part.array.held(part.blocks.count))

    @property
    def last_units(self) -> Counts:
        """Units that hold work in the last wave: fewer where the blocks are no multiple of a wave."""
        return self._each(lambda part: part.array.held(part.array.tail(part.blocks.count)))

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
        """The part that an op is in, and its row there."""
        part = next(part for part in self.parts if op in part.ops)
        return part, int(np.flatnonzero(part.ops == op)[0])

    def _each(self, column: Callable[[Part], Any], dtype: Any = np.int64) -> NDArray[Any]:
        """A column that each part fills for its ops."""
        table = np.empty(len(self), dtype=dtype)
        for part in self.parts:
            table[part.ops] = column(part)
        return table
