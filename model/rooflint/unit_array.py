"""Unit arrays: the units of a device that hold work at the same time, and how blocks of work come to lie on them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
