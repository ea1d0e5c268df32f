"""Breakdown: one matrix product term by term: which tile, how many waves, and what it waits for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rooflint.kernels import residency
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import CoreConstants, Products
from rooflint.kernels.cuda_cores import constants_on
from rooflint.kernels.gemm import latency_s, launch_s, memory_s, overlapped_s, power_s, reduction_s
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Shapes
from rooflint.kernels.tile import (
    Tile,
    choices,
    clocks_per_k,
    kernel_clocks,
    latency_per_k,
    load,
    main_clocks,
    store_clocks,
    waves,
)


@dataclass(frozen=True)
class Case:
    """One product on one chip."""

    shape: Shapes
    chip: Chip
    constants: Products
    """Of products on matrix units."""
    element_bytes: float
    copies: float = COLD
    cores: CoreConstants | None = None
    """What differs on CUDA cores; a chip of those needs it."""

    @property
    def here(self) -> Products:
        """The constants as they hold on this chip."""
        return constants_on(self.chip, self.constants, self.cores) if self.cores else self.constants

    def latency_s(self) -> float:
        """[s]"""
        return float(
            latency_s(self.shape, self.chip, self.here, element_bytes=self.element_bytes, copies=self.copies).item()
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

    @property
    def latency_s(self) -> float:
        """All of it. [s]"""
        return self.overlapped_s + self.reduction_s + self.launch_s

    @property
    def compute_s(self) -> float:
        """The kernel, or what its power allows. [s]"""
        return max(self.kernel_s, self.power_s)

    @property
    def bound(self) -> str:
        """What most of the latency is: memory, power, arithmetic, feed, steps, store, reduction or launch."""
        longest = max(self.memory_s, self.compute_s)
        beside = {"reduction": self.reduction_s, "launch": self.launch_s}
        name, seconds = max(beside.items(), key=lambda one: one[1])
        if seconds > longest:
            return name
        if self.memory_s >= self.compute_s:
            return "memory"
        return "power" if self.power_s >= self.kernel_s else self._kernel_bound

    @property
    def _kernel_bound(self) -> str:
        per_k = {
            "arithmetic": self.waves * self.arithmetic_clocks_per_k,
            "feed": self.waves * self.feed_clocks_per_k,
            "steps": self.latency_clocks_per_k,
        }
        parts = {"store": self.store_s, max(per_k, key=lambda name: per_k[name]): self.main_s}
        return max(parts, key=lambda name: parts[name])


def breakdowns(case: Case) -> list[Breakdown]:
    """Every tile with every split, the fastest first."""
    return sorted((_breakdown(case, tile, split) for tile, split in choices(case.chip)), key=lambda one: one.latency_s)


def _breakdown(case: Case, tile: Tile, split: int) -> Breakdown:
    shape, chip, constants, width = case.shape, case.chip, case.here, case.element_bytes
    each = load(shape, tile, chip) * split
    there = waves(each, chip)
    arithmetic, feed = clocks_per_k(tile, width, chip, constants)
    kernel = kernel_clocks(shape.k, there, tile, split, width, chip, constants) * chip.clock_s
    power = power_s(shape, chip, constants)
    memory = memory_s(shape, chip, constants, width, case.copies)
    miss = residency.miss_share(residency.working_set_bytes(shape, width, case.copies), chip, constants)
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
        memory_s=memory.item(),
        miss_share=miss.item(),
        overlapped_s=overlapped_s(np.maximum(kernel, power), memory, constants).item(),
        reduction_s=reduction.item(),
        launch_s=launch_s(chip, constants),
    )


RESOURCES = {
    "sms": "SMs",
    "macs_per_clock": "MAC/clock of an SM",
    "clock_hz": "clock",
    "l2_bytes": "L2 capacity",
    "bandwidth_bytes_per_s": "bandwidth",
    "tdp_w": "rated power",
}
"""Inputs of a chip by what a reader calls them."""


def with_more(case: Case, factor: float) -> Iterator[tuple[str, float]]:
    """(resource, latency) where a chip had so much more of it, one at a time. [s]"""
    for name in RESOURCES:
        more = replace(case.chip, **{name: getattr(case.chip, name) * factor})
        yield name, replace(case, chip=more).latency_s()
