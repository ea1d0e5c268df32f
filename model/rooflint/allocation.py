"""Allocations: which share of a device's units holds work, op by op."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooflint.blocks import Blocks
from rooflint.facts import Fact
from rooflint.unit_array import Counts, UnitArray


@dataclass(frozen=True, eq=False)
class Part:
    """Ops that lie on a device in the same way: how they are cut, and on what they lie."""

    blocks: Blocks
    array: UnitArray
    fill_drain_clocks: int = 0
    """Clocks in which an array of MACs is only partly at work: once an op. [1]"""


@dataclass(frozen=True, eq=False)
class Allocation:
    """How the ops of a workload lie on the units of a device; arrays have the shape (ops,).

    Utilization is not efficiency: a unit that waits for memory holds work.
    """

    hardware: str
    workload: str
    compute: str
    """Precision of the arithmetic."""
    op_names: NDArray[np.str_]
    is_product: NDArray[np.bool_]
    """Whether an op lies as the matrix product that it is; the others lie output by output."""
    products: Part
    others: Part
    facts: tuple[Fact, ...] = ()
    """What the device says of its units."""

    def __len__(self) -> int:
        return len(self.op_names)

    @property
    def units(self) -> Counts:
        """Units that hold work in the busiest wave, the first."""
        return self._either(*(part.array.held(part.blocks.count) for part in self._parts))

    @property
    def last_units(self) -> Counts:
        """Units that hold work in the last wave: fewer where the blocks are no multiple of a wave."""
        return self._either(*(part.array.held(part.array.tail(part.blocks.count)) for part in self._parts))

    @property
    def total(self) -> Counts:
        """Units that there are for such an op."""
        return self._either(*(part.array.total for part in self._parts))

    @property
    def blocks(self) -> Counts:
        """Blocks into which the outputs are cut."""
        return self._either(*(part.blocks.count for part in self._parts))

    @property
    def slots(self) -> Counts:
        """Blocks that all units together hold at a time."""
        return self._either(*(part.array.slots for part in self._parts))

    @property
    def waves(self) -> Counts:
        """Rounds in which the blocks are worked off."""
        return self._either(*(part.array.waves(part.blocks.count) for part in self._parts))

    @property
    def padding(self) -> NDArray[np.float64]:
        """Share of the blocks' work that is on no element of the op. [1]"""
        products, others = self._parts
        return np.where(self.is_product, products.blocks.padding, others.blocks.padding)

    @property
    def fill_drain_clocks(self) -> Counts:
        """Clocks of an op in which an array of MACs fills and drains; 0 on units that have none. [1]"""
        return self._either(*(part.fill_drain_clocks for part in self._parts))

    @property
    def utilization(self) -> NDArray[np.float64]:
        """Share of units that hold work, in the busiest wave. [1]"""
        return np.asarray(self.units / self.total)

    @property
    def idle_slots(self) -> NDArray[np.float64]:
        """Wave quantization: the share of all waves' slots that stays empty. [1]"""
        return np.asarray(1 - self.blocks / (self.waves * self.slots))

    def display(self, op: int) -> str:
        """`24/132 SM`."""
        part = self._part(op)
        return f"{self.units[op]}/{part.array.total} {part.array.name}"

    def reason(self, op: int) -> str:
        """Which quantity decides, in words: `24 output tiles of 128 × 128`, and the waves where there are several."""
        part, blocks, waves = self._part(op), int(self.blocks[op]), int(self.waves[op])
        rows, columns = part.blocks.rows[op], part.blocks.columns[op]
        size = f"{rows} × {columns}" if columns > 1 else f"{rows} output{'s' if rows > 1 else ''}"
        said = f"{blocks} {part.blocks.noun}{'s' if blocks > 1 else ''} of {size}"
        if waves == 1:
            return said
        return f"{said} in {waves} waves of {part.array.slots}, {self.last_units[op]} {part.array.name} in the last"

    def displays(self) -> Iterator[str]:
        """Each op's `display`."""
        return (self.display(op) for op in range(len(self)))

    @property
    def _parts(self) -> tuple[Part, Part]:
        return self.products, self.others

    def _part(self, op: int) -> Part:
        return self.products if self.is_product[op] else self.others

    def _either(self, products: Counts | int, others: Counts | int) -> NDArray[np.int64]:
        return np.where(self.is_product, products, others)
