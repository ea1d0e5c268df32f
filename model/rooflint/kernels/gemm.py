"""GEMM: what a matrix product takes on a GPU, by the tile and the split of k that take least.

Everything but the launch overlaps as (compute^p + memory^p)^(1/p). docs/method-silicon.md says why, and how well it
does on GPUs that the constants were not fitted on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels.chip import WARP, Chip, Cores
from rooflint.kernels.constants import CoreConstants, Products
from rooflint.kernels.shapes import Numbers, Shapes, alone, dram_bytes_per_s, miss_share, overlapped, split_s
from rooflint.kernels.tile import (
    Menu,
    Split,
    Tile,
    TileCost,
    clocks_per_k,
    cost,
    costs,
    kernel_clocks,
    least_clocks,
    load,
    loads,
    main_clocks,
    path_width,
    waves,
)

ROUNDED = 1e-12
"""Of a number, more than rounding can add up to. [1]"""

ENERGY_MACS = 512
"""MACs of an SM and clock at which `energy_pj` is stated."""

MATRIX_NODE_M, CORES_NODE_M = 5e-9, 10e-9
"""Size of the process at which the `energy_pj` of matrix units and of CUDA cores is stated. [m]"""

LANE_BYTES = 4.0
"""Of an element of the products that CUDA cores were measured with. [B]"""

PARTIAL_BYTES = 8
"""A partial sum of 4 B, written and read again. [B]"""

BLOCK = 16384
"""Numbers that are worked on together, so that what is in between stays in a core's cache: many shapes with one tile
and one split of k, few shapes with many."""


def energy_j_per_op(chip: Chip, constants: Products) -> float:
    """What one op costs at full power, all included; wider units move operands less far for each. [J/op]

    On matrix units it grows with the size of the process only in runs of minutes: tables of bursts say nothing of it.
    """
    width = chip.macs_per_clock / ENERGY_MACS
    held = chip.sustained and chip.node_m and chip.cores is None
    coarser = on_process(chip, MATRIX_NODE_M, constants) if held else 1.0
    return float(constants.energy_pj * 1e-12 * width**-constants.energy_exponent * coarser)


def on_process(chip: Chip, stated_m: float, constants: Products) -> float:
    """Energy of an op over that on a process named after another length. [1]"""
    return float((chip.node_m / stated_m) ** constants.process_exponent)


def power_s(shapes: Shapes, chip: Chip, constants: Products) -> Numbers:
    """Time below which the ops would draw more than the rated power. [s]"""
    return OPS_PER_MAC * shapes.macs * (energy_j_per_op(chip, constants) / chip.tdp_w)


def issued_power_s(
    k: Numbers, load: Numbers, tile: TileCost, kernel_s: Numbers, chip: Chip, constants: Products
) -> Numbers:
    """The same where CUDA cores compute: an instruction costs as much for what lies beyond the edge of a result. [s]"""
    issued = k * load * (chip.sms * tile.results)
    return throttled_s(OPS_PER_MAC * issued * (energy_j_per_op(chip, constants) / chip.tdp_w), kernel_s, chip)


def throttled_s(power_s: Numbers, kernel_s: Numbers, chip: Chip) -> Numbers:
    """No longer than a kernel of CUDA cores takes at the base clock, which a GPU holds at its rated power. [s]"""
    if chip.cores is None or not chip.cores.base_hz:
        return power_s
    return np.minimum(power_s, kernel_s * (chip.clock_hz / chip.cores.base_hz))


def overlapped_s(compute_s: Numbers, memory_s: Numbers, constants: Products) -> Numbers:
    """Compute and memory together. [s]"""
    return overlapped(compute_s, memory_s, constants.overlap)


def alone_s(together_s: Numbers, memory_s: Numbers, constants: Products) -> Numbers:
    """What compute takes by itself, where it takes so long together with memory. [s]"""
    return alone(together_s, memory_s, constants.overlap)


def reduction_s(shapes: Shapes, split: Split, chip: Chip, constants: Products) -> Numbers:
    """To add up the parts of k, which are small and just written. [s]"""
    partial = PARTIAL_BYTES * split * shapes.batch * shapes.m * shapes.n
    clocks = constants.reduction_clocks + partial / (constants.reduction_bytes * chip.sms)
    return clocks * chip.clock_s


def hits_bytes_per_s(chip: Chip, constants: Products) -> float:
    """What operands in L2 come at, which is no less than memory gives. [B/s]

    They pass two gates: the slices of L2, which are built to feed so many times what memory gives, and the SMs.
    """
    dram = dram_bytes_per_s(chip, constants)
    slices, sms = constants.l2_ratio * dram, constants.l2_bytes * chip.sms * chip.clock_hz
    return max(dram, 1 / float(overlapped(1 / slices, 1 / sms, constants.overlap)))


class Memory(NamedTuple):
    """What products read and write."""

    bytes_moved: Numbers
    miss_share: Numbers
    """Share that L2 does not answer. [1]"""
    seconds: Numbers
    """Of all bytes, from memory or from L2. [s]"""


def memory(
    bytes_moved: Numbers,
    working_set_bytes: Numbers,
    chip: Chip,
    constants: Products,
    missed: Numbers | None = None,
) -> Memory:
    """Of products that touch so much before the same weights come again, or that miss a known share of their bytes."""
    miss = miss_share(working_set_bytes, chip, constants) if missed is None else missed
    dram = dram_bytes_per_s(chip, constants)
    return Memory(bytes_moved, miss, split_s(bytes_moved, miss, dram, hits_bytes_per_s(chip, constants)))


def launch_s(chip: Chip, constants: Products) -> float:
    """From one kernel of a graph to the next, beside its own work. [s]"""
    published = constants.graph_launch_us * 1e-6 if chip.graph_launch_s is None else chip.graph_launch_s
    return published + constants.start_clocks * chip.clock_s


def work_s(
    shapes: Shapes,
    memory_s: Numbers,
    chip: Chip,
    constants: Products,
    element_bytes: float,
    menu: Menu,
) -> Numbers:
    """Time of each product without its launch, whose bytes take so long by themselves. [s]"""
    tiles, found = costs(menu.tiles, element_bytes, chip, constants), np.empty(len(shapes))
    for rows in chunks(len(shapes), 1):
        found[rows] = _block_s(shapes.part(rows), memory_s[rows], chip, constants, menu, tiles)
    return found


def _block_s(shapes: Shapes, memory: Numbers, chip: Chip, constants: Products, menu: Menu, tiles: TileCost) -> Numbers:
    """Without the launch. [s]"""
    each = loads(shapes, menu.tiles, chip)
    whole, parts = np.array(menu.splits[:1]), np.array(menu.splits[1:])
    best: Numbers = _split_s(shapes, tiles, each, whole, memory, chip, constants)[0]
    if not parts.size:
        return best
    floors = _Floors.of(shapes, tiles, memory, chip, constants)
    # where more parts take less, the most take so much less that of many shapes few need any other
    most = -1 if parts.size * len(shapes) > BLOCK else 0
    for cut in filter(len, (parts[most:], parts[:most])):
        worth = np.flatnonzero(best > floors.seconds(cut))
        if worth.size:
            few = shapes.part(worth)
            found = _split_s(few, tiles, each[..., worth], cut, memory[worth], chip, constants)
            found += reduction_s(few, cut[:, None], chip, constants)
            best[worth] = np.minimum(best[worth], found.min(axis=0))
    return best


class _Floors(NamedTuple):
    """What products whose k is cut take at least, whatever the tile."""

    work_s: Numbers
    """The bytes, all results in the tile whose main loop is best for one, or what that draws. [s]"""
    whole_s: Numbers
    """The latency of the steps along k, by one tile. [s]"""
    part_s: Numbers
    """To add up the results of one part. [s]"""
    fixed_s: float
    """Of a reduction, beside that. [s]"""

    @classmethod
    def of(cls, shapes: Shapes, tiles: TileCost, memory: Numbers, chip: Chip, constants: Products) -> "_Floors":
        each_s = chip.clock_s / chip.sms
        results = shapes.batch * shapes.m * shapes.n
        main = results * shapes.k
        main *= np.min(tiles.busy / tiles.results) * each_s
        draws = throttled_s(power_s(shapes, chip, constants), main, chip)
        return cls(
            work_s=np.maximum(np.maximum(main, draws), memory),
            whole_s=shapes.k * (tiles.least * chip.clock_s),
            part_s=results * (PARTIAL_BYTES * each_s / constants.reduction_bytes),
            fixed_s=constants.reduction_clocks * chip.clock_s,
        )

    def seconds(self, splits: NDArray[np.int_]) -> Numbers:
        """Of any of these splits of k. [s]"""
        found: Numbers = self.whole_s * (1 / splits.max())
        np.maximum(found, self.work_s, out=found)
        found += self.part_s * splits.min()
        found += self.fixed_s
        found *= 1 - ROUNDED
        return found


def chunks(things: int, numbers: int) -> Iterator[slice]:
    """Slices of things that are worked on at once, where each takes so many numbers."""
    step = max(1, BLOCK // numbers)
    yield from (slice(start, start + step) for start in range(0, things, step))


def _split_s(
    shapes: Shapes,
    tiles: TileCost,
    loads: Numbers,
    splits: NDArray[np.int_],
    memory: Numbers,
    chip: Chip,
    constants: Products,
) -> Numbers:
    """The least over all tiles by each split of k, without launch and reduction. Shape (splits, shapes). [s]"""
    compute = np.empty((len(splits), len(shapes)))
    for rows in chunks(len(shapes), len(loads)):
        k, each = shapes.k[rows], loads[..., rows]
        for some in chunks(len(splits), each.size):
            compute[some, rows] = _least_clocks(k, each, tiles, splits[some, None], chip, constants)
    compute *= chip.clock_s
    if not chip.cores:
        np.maximum(compute, power_s(shapes, chip, constants), out=compute)
    return overlapped_s(compute, memory, constants)


def _least_clocks(
    k: Numbers, loads: Numbers, tiles: TileCost, cut: NDArray[np.int_], chip: Chip, constants: Products
) -> Numbers:
    """Of the tile that takes least, by each split of k. Shape (splits, shapes). [clock]"""
    there = waves(loads * cut, chip)
    if not chip.cores:
        return least_clocks(k, there, tiles, cut, chip)
    clocks = kernel_clocks(k, there, tiles, cut, chip)
    limited = issued_power_s(k, loads, tiles, clocks * chip.clock_s, chip, constants)
    return np.asarray(np.maximum(clocks, limited * chip.clock_hz).min(axis=0))


# ---- One product term by term: which tile, how many waves, and what it waits for


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
    one = cost(tile, width, chip, constants)
    kernel = kernel_clocks(shape.k, there, one, split, chip) * chip.clock_s
    power = power_s(shape, chip, constants)
    if chip.cores:
        power = issued_power_s(shape.k, load(shape, tile, chip), one, kernel, chip, constants)
    reduction = reduction_s(shape, split, chip, constants) if split > 1 else np.zeros(1)
    return Breakdown(
        tile=tile,
        split=split,
        load=each.item(),
        waves=there.item(),
        arithmetic_clocks_per_k=arithmetic,
        feed_clocks_per_k=feed,
        latency_clocks_per_k=one.least,
        main_s=(main_clocks(shape.k, there, one, split) * chip.clock_s).item(),
        store_s=(there * one.store * chip.clock_s).item(),
        kernel_s=kernel.item(),
        power_s=power.item(),
        memory_s=memory.seconds.item(),
        miss_share=memory.miss_share.item(),
        overlapped_s=overlapped_s(np.maximum(kernel, power), memory.seconds, constants).item(),
        reduction_s=reduction.item(),
        launch_s=launch_s(chip, constants),
    )


# ---- CUDA cores: issue slots and the energy of an op differ where no matrix unit computes; all else is carried over


def issued_share(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that the schedulers can keep up with, if all other instructions take slots, too. [1]

    A scheduler issues one instruction a clock. Where 16 lanes belong to it (Volta, Turing, GA100) a multiply-add of a
    warp keeps them for two clocks, and every second slot is free; where 32 do (GA10x, Ada, Hopper, Blackwell) each
    other instruction takes the place of one, unless a scheduler has two dispatch units (Pascal).
    """
    multiply_adds = chip.macs_per_clock / WARP
    return cores.issued / (multiply_adds * (1 + constants.other_instructions))


def efficiency(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that instructions of a main loop leave to multiply-adds. [1]"""
    return min(1.0, issued_share(chip, cores, constants))


def constants_on(chip: Chip, products: Products, constants: CoreConstants) -> Products:
    """The constants of products as they hold on a chip: its own efficiency, energy and stores where CUDA cores compute.

    Lanes write results from their registers, a sector of L2 a clock; those of matrix units pass through an SM's memory.
    """
    if chip.cores is None:
        return products
    return replace(
        products,
        store_bytes=products.reduction_bytes / path_width(LANE_BYTES, chip),
        matrix_efficiency=efficiency(chip, chip.cores, constants),
        energy_pj=constants.energy_pj * on_process(chip, CORES_NODE_M, products),
        energy_exponent=0.0,
    )
