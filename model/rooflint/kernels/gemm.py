"""GEMM: what a matrix product takes on a GPU, by the tile and the split of k that take least.

    latency_s(shapes(4096, 4096, 4096), chip_of(hardware, "bf16"), constants, element_bytes=2)

Everything but the launch overlaps as (compute^p + memory^p)^(1/p). docs/method-silicon.md says why, and how well it
does on GPUs that the constants were not fitted on.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import residency
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Numbers, Shapes, alone, overlapped
from rooflint.kernels.tile import TILES, Tile, kernel_clocks, load, splits, waves

ENERGY_MACS = 512
"""MACs of an SM and clock at which `energy_pj` is stated."""

PARTIAL_BYTES = 8
"""A partial sum of 4 B, written and read again. [B]"""

BLOCK = 8192
"""Shapes that are worked on together, so that what is in between stays in a core's cache."""


def energy_j_per_op(chip: Chip, constants: Products) -> float:
    """What one op costs at full power, all included; wider units move operands less far for each. [J/op]"""
    width = chip.macs_per_clock / ENERGY_MACS
    return float(constants.energy_pj * 1e-12 * width**-constants.energy_exponent)


def power_s(shapes: Shapes, chip: Chip, constants: Products) -> Numbers:
    """Time below which the ops would draw more than the rated power. [s]"""
    return OPS_PER_MAC * shapes.macs * (energy_j_per_op(chip, constants) / chip.tdp_w)


def overlapped_s(compute_s: Numbers, memory_s: Numbers, constants: Products) -> Numbers:
    """Compute and memory together. [s]"""
    return overlapped(compute_s, memory_s, constants.overlap)


def alone_s(together_s: Numbers, memory_s: Numbers, constants: Products) -> Numbers:
    """What compute takes by itself, where it takes so long together with memory. [s]"""
    return alone(together_s, memory_s, constants.overlap)


def reduction_s(shapes: Shapes, split: int, chip: Chip, constants: Products) -> Numbers:
    """To add up the parts of k, which are small and just written. [s]"""
    partial = PARTIAL_BYTES * split * shapes.batch * shapes.m * shapes.n
    clocks = constants.reduction_clocks + partial / (constants.reduction_bytes * chip.sms)
    return clocks * chip.clock_s


def hits_bytes_per_s(chip: Chip, constants: Products) -> float:
    """What operands in L2 come at, which is no less than memory gives. [B/s]

    They pass two gates: the slices of L2, which are built to feed so many times what memory gives, and the SMs.
    """
    dram = residency.dram_bytes_per_s(chip, constants)
    slices, sms = constants.l2_ratio * dram, constants.l2_bytes * chip.sms * chip.clock_hz
    return max(dram, 1 / float(overlapped(1 / slices, 1 / sms, constants.overlap)))


def launch_s(chip: Chip, constants: Products) -> float:
    """From one kernel of a graph to the next, beside its own work. [s]"""
    published = constants.graph_launch_us * 1e-6 if chip.graph_launch_s is None else chip.graph_launch_s
    return published + constants.start_clocks * chip.clock_s


def latency_s(
    shapes: Shapes, chip: Chip, constants: Products, *, element_bytes: float, copies: Numbers | float = COLD
) -> Numbers:
    """Time of each product, as one kernel of a CUDA graph. [s]

    `copies`: how many sets of weights take turns, so that L2 may hold them from one turn to the next; cold if not said.
    """
    many = np.broadcast_to(np.asarray(copies, float), shapes.m.shape)
    found = np.empty(len(shapes))
    for rows in _blocks(shapes):
        some = shapes.part(rows)
        memory = memory_s(some, chip, constants, element_bytes, many[rows])
        found[rows] = _block_s(some, memory, chip, constants, element_bytes) + launch_s(chip, constants)
    return found


def work_s(
    shapes: Shapes,
    memory_s: Numbers,
    chip: Chip,
    constants: Products,
    *,
    element_bytes: float,
    tiles: Sequence[Tile] | None = None,
    cuts: Sequence[int] | None = None,
) -> Numbers:
    """Time of each product without its launch, whose bytes take so long by themselves. [s]

    `tiles` and `cuts` of k, 1 first, are those that a library has; all unless said.
    """
    found = np.empty(len(shapes))
    for rows in _blocks(shapes):
        found[rows] = _block_s(shapes.part(rows), memory_s[rows], chip, constants, element_bytes, tiles, cuts)
    return found


def memory_s(shapes: Shapes, chip: Chip, constants: Products, element_bytes: float, copies: Numbers | float) -> Numbers:
    """Time of all bytes, from memory or from L2. [s]"""
    miss = residency.miss_share(residency.working_set_bytes(shapes, element_bytes, copies), chip, constants)
    dram = residency.dram_bytes_per_s(chip, constants)
    touched = residency.touched_bytes(shapes, element_bytes)
    return residency.split_s(touched, miss, dram, hits_bytes_per_s(chip, constants))


def _blocks(shapes: Shapes) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, len(shapes), BLOCK))


def _block_s(
    shapes: Shapes,
    memory: Numbers,
    chip: Chip,
    constants: Products,
    element_bytes: float,
    tiles: Sequence[Tile] | None = None,
    cuts: Sequence[int] | None = None,
) -> Numbers:
    """Without the launch. [s]"""
    menu = TILES if tiles is None else tiles
    loads = np.stack([load(shapes, tile, chip) for tile in menu])
    whole, *parts = splits(chip) if cuts is None else cuts
    best = _split_s(shapes, menu, loads, whole, memory, chip, constants, element_bytes)
    # no split takes less than its bytes and a reduction: many shapes need not try
    worth = np.flatnonzero(best > memory + constants.reduction_clocks * chip.clock_s)
    few, loads, memory = Shapes(*(column[worth] for column in shapes)), loads[:, worth], memory[worth]
    for split in parts:
        best[worth] = np.minimum(best[worth], _split_s(few, menu, loads, split, memory, chip, constants, element_bytes))
    return best


def _split_s(
    shapes: Shapes,
    tiles: Sequence[Tile],
    loads: Numbers,
    split: int,
    memory: Numbers,
    chip: Chip,
    constants: Products,
    element_bytes: float,
) -> Numbers:
    """The least over all tiles where k is cut in so many parts, without the launch. [s]"""
    clocks = np.full(len(shapes), np.inf)
    for tile, each in zip(tiles, loads, strict=True):
        there = waves(each * split, chip)
        np.minimum(clocks, kernel_clocks(shapes.k, there, tile, split, element_bytes, chip, constants), out=clocks)
    compute = np.maximum(clocks * chip.clock_s, power_s(shapes, chip, constants))
    found = overlapped_s(compute, memory, constants)
    return found if split == 1 else found + reduction_s(shapes, split, chip, constants)
