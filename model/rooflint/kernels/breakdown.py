"""Breakdown: one matrix product term by term: which tile, how many waves, and what it waits for."""

from dataclasses import dataclass

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.gemm import Memory, launch_s, overlapped_s, power_s, reduction_s
from rooflint.kernels.shapes import Shapes
from rooflint.kernels.tile import (
    Menu,
    Tile,
    clocks_per_k,
    kernel_clocks,
    latency_per_k,
    load,
    main_clocks,
    store_clocks,
    waves,
)


@dataclass(frozen=True)
class Breakdown:
    """A product with one tile and one split of k. Times are in seconds."""

    tile: Tile
    split: int
    load: float
    """Tiles for each SM, on average."""
    waves: float
    """Tiles of the busiest SM."""
    arithmetic_clocks_per_k: float
    """Of one tile."""
    feed_clocks_per_k: float
    """To take in the operands of one tile."""
    latency_clocks_per_k: float
    main_s: float
    store_s: float
    """Of all waves; beside the main loop where matrix units are asynchronous."""
    kernel_s: float
    power_s: float
    memory_s: float
    miss_share: float
    overlapped_s: float
    """Compute and memory together."""
    reduction_s: float
    launch_s: float
    quantise_s: float = 0.0
    """The kernel before it that makes activations FP8, with its launch; nothing in other precisions."""

    @property
    def latency_s(self) -> float:
        """All of it. [s]"""
        return self.overlapped_s + self.reduction_s + self.launch_s + self.quantise_s

    @property
    def compute_s(self) -> float:
        """The kernel, or what its power allows. [s]"""
        return max(self.kernel_s, self.power_s)

    @property
    def bound(self) -> str:
        """What most of the latency is: memory, power, arithmetic, feed, steps, store, reduction, launch or quantise."""
        longest = max(self.memory_s, self.compute_s)
        beside = {"reduction": self.reduction_s, "launch": self.launch_s, "quantise": self.quantise_s}
        name, seconds = max(beside.items(), key=lambda one: one[1])
        if seconds > longest:
            return name
        if self.memory_s >= self.compute_s:
            return "memory"
        return "power" if self.power_s >= self.kernel_s else self._kernel_bound

    @property
    def clocks_per_k(self) -> dict[str, float]:
        """What one step of 1 along k takes by each of what may bind it. [clock]"""
        return {
            "arithmetic": self.waves * self.arithmetic_clocks_per_k,
            "feed": self.waves * self.feed_clocks_per_k,
            "steps": self.latency_clocks_per_k,
        }

    @property
    def _kernel_bound(self) -> str:
        per_k = self.clocks_per_k
        parts = {"store": self.store_s, max(per_k, key=lambda name: per_k[name]): self.main_s}
        return max(parts, key=lambda name: parts[name])


def breakdowns(
    shape: Shapes, chip: Chip, constants: Products, element_bytes: float, menu: Menu, memory: Memory
) -> list[Breakdown]:
    """One product by every tile with every split of a menu; constants as they hold there."""
    return [
        _breakdown(shape, chip, constants, element_bytes, tile, split, memory)
        for split in menu.splits
        for tile in menu.tiles
    ]


def _breakdown(
    shape: Shapes, chip: Chip, constants: Products, width: float, tile: Tile, split: int, memory: Memory
) -> Breakdown:
    each = load(shape, tile, chip) * split
    there = waves(each, chip)
    arithmetic, feed = clocks_per_k(tile, width, chip, constants)
    kernel = kernel_clocks(shape.k, there, tile, split, width, chip, constants) * chip.clock_s
    power = power_s(shape, chip, constants)
    reduction = reduction_s(shape, split, chip, constants) if split > 1 else np.zeros(1)
    return Breakdown(
        tile=tile,
        split=split,
        load=each.item(),
        waves=there.item(),
        arithmetic_clocks_per_k=arithmetic,
        feed_clocks_per_k=feed,
        latency_clocks_per_k=latency_per_k(width, chip, constants),
        main_s=(main_clocks(shape.k, there, tile, split, width, chip, constants) * chip.clock_s).item(),
        store_s=(there * store_clocks(tile, width, chip, constants) * chip.clock_s).item(),
        kernel_s=kernel.item(),
        power_s=power.item(),
        memory_s=memory.seconds.item(),
        miss_share=memory.miss_share.item(),
        overlapped_s=overlapped_s(np.maximum(kernel, power), memory.seconds, constants).item(),
        reduction_s=reduction.item(),
        launch_s=launch_s(chip, constants),
    )
