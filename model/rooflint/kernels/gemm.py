"""GEMM: what a matrix product takes on a GPU, by the tile and the split of k that take least.

Everything but the launch overlaps as (compute^p + memory^p)^(1/p). docs/method-silicon.md says why, and how well it
does on GPUs that the constants were not fitted on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import residency
from rooflint.kernels.chip import WARP, Chip, Cores
from rooflint.kernels.constants import CoreConstants, Products
from rooflint.kernels.shapes import Numbers, Shapes, alone, overlapped
from rooflint.kernels.tile import Menu, Tile, kernel_clocks, load, waves

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


class Memory(NamedTuple):
    """What products read and write."""

    bytes_moved: Numbers
    miss_share: Numbers
    """Share that L2 does not answer. [1]"""
    seconds: Numbers
    """Of all bytes, from memory or from L2. [s]"""


def memory(bytes_moved: Numbers, working_set_bytes: Numbers, chip: Chip, constants: Products) -> Memory:
    """Of products that touch so much before the same weights come again."""
    miss = residency.miss_share(working_set_bytes, chip, constants)
    dram = residency.dram_bytes_per_s(chip, constants)
    return Memory(bytes_moved, miss, residency.split_s(bytes_moved, miss, dram, hits_bytes_per_s(chip, constants)))


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
    found = np.empty(len(shapes))
    for rows in _blocks(shapes):
        found[rows] = _block_s(shapes.part(rows), memory_s[rows], chip, constants, element_bytes, menu)
    return found


def _blocks(shapes: Shapes) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, len(shapes), BLOCK))


def _block_s(
    shapes: Shapes,
    memory: Numbers,
    chip: Chip,
    constants: Products,
    element_bytes: float,
    menu: Menu,
) -> Numbers:
    """Without the launch. [s]"""
    loads = np.stack([load(shapes, tile, chip) for tile in menu.tiles])
    whole, *parts = menu.splits
    best = _split_s(shapes, menu.tiles, loads, whole, memory, chip, constants, element_bytes)
    # no split takes less than its bytes and a reduction: many shapes need not try
    worth = np.flatnonzero(best > memory + constants.reduction_clocks * chip.clock_s)
    few, loads, memory = Shapes(*(column[worth] for column in shapes)), loads[:, worth], memory[worth]
    for split in parts:
        best[worth] = np.minimum(
            best[worth], _split_s(few, menu.tiles, loads, split, memory, chip, constants, element_bytes)
        )
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


# ---- CUDA cores: issue slots and the energy of an op differ where no matrix unit computes; all else is carried over


def issued_share(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that the schedulers can keep up with, if all other instructions take slots, too. [1]

    A scheduler issues one instruction a clock. Where 16 lanes belong to it (Volta, Turing, GA100) a multiply-add of a
    warp keeps them for two clocks, and every second slot is free; where 32 do (Pascal, GA10x, Ada, Hopper,
    Blackwell) each other instruction takes the place of one.
    """
    multiply_adds = chip.macs_per_clock / WARP
    return cores.schedulers / (multiply_adds * (1 + constants.other_instructions))


def efficiency(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that a main loop attains. [1]"""
    return min(constants.fma_efficiency, issued_share(chip, cores, constants))


def energy_pj(cores: Cores, constants: CoreConstants) -> float:
    """What one op costs at full power, all included: proportional to the size that the process is named after. [pJ]"""
    return constants.energy_pj_per_nm * cores.node_m * 1e9


def constants_on(chip: Chip, products: Products, constants: CoreConstants) -> Products:
    """The constants of products as they hold on a chip: its own efficiency and energy where CUDA cores compute."""
    if chip.cores is None:
        return products
    return replace(
        products,
        matrix_efficiency=efficiency(chip, chip.cores, constants),
        energy_pj=energy_pj(chip.cores, constants),
        energy_exponent=0.0,
    )
