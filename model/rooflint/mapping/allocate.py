"""Allocation of a workload to the units of a device, and the traffic between units and the memory of the chip.

Ops lie on lanes, on thread groups, on systolic arrays or on tiles of several sizes; everything counts whole units. The
precision of the arithmetic decides the unit and the size of a block; no other unit is used in its place.
docs/method-allocation.md has the formulas, their sources and what is assumed.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError, shown, shown_short
from rooflint.base.facts import Fact
from rooflint.base.memo import kept
from rooflint.base.precision import bytes_per_element
from rooflint.hardware.device import ComputeUnit, Hardware, working_units
from rooflint.mapping.allocation import (
    Allocation,
    Part,
    Pool,
    Rows,
    UnitArray,
    chosen_tiles,
    lines,
    output_tiles,
    products,
)
from rooflint.workloads.workload import Workload, read_only

LAYOUTS = ("spread", "packed")
"""`spread`: as hardware deals blocks, each to the next unit; `packed`: a thread group is filled before the next one."""

TENSOR_TILES = ((256, 128), (128, 128), (128, 64), (64, 64))
"""Output tiles of matrix cores, largest first.

NVIDIA, Matrix Multiplication Background User's Guide DU-09799-001, section 2.3; its 256 × 64 is left out.
"""

VECTOR_TILES = ((128, 128), (128, 64), (64, 64), (64, 32))
"""Output tiles of vector lanes: 256 threads of 8 × 8 outputs (CUTLASS, SIMT GEMM), and smaller ones by assumption."""

ACCUMULATOR_BYTES = 128 * 1024
"""What the accumulators of a tile may take: half of a 256 KiB register file, as 256 × 128 of them in FP32 do."""

WARPS_PER_BLOCK = 4
OUTPUTS_PER_THREAD = 4
"""Thread blocks of ops that are no products: `num_threads` and `thread_work_size` of PyTorch's element-wise kernels."""

VECTOR_REGISTER = 8 * 128
"""Outputs in a register of a TPU's vector unit: 8 sublanes × 128 lanes. jax-ml scaling book, How to Think About TPUs"""


LAYOUTS_KEPT = 8
"""Layouts of a workload that are kept: many devices have units that lie alike, and many runs have the same device."""


class MappingError(RooflintError):
    """A unit whose layout is not known; the message has what is missing or wrong."""


class Laid(NamedTuple):
    """How a workload lies on units."""

    parts: tuple[Part, ...]
    facts: tuple[Fact, ...]


def allocate(
    hardware: Hardware,
    workload: Workload,
    *,
    compute: str,
    unit: ComputeUnit | None = None,
    layout: str = "spread",
    tile: tuple[int, int] | None = None,
) -> Allocation:
    """How a workload lies on a device when it computes in a precision.

    The units are those of `working_units`, or the one that is given. `tile` is an output tile (rows, columns) of a
    GPU, instead of the one that would be chosen.

    Raises UnsupportedError where the device does not compute in that precision, UndisclosedError where the vendor does
    not say, MappingError where the spec does not say how the unit is built.
    """
    if layout not in LAYOUTS:
        raise MappingError(f"unknown layout '{layout}' (known: {', '.join(LAYOUTS)})")
    if layout == "packed" and tile:
        raise MappingError("packed warps compute one output a thread; they have no output tiles")
    units = (unit,) if unit else working_units(hardware, compute)
    units[0].fact(f"macs_per_clock.{compute}")
    if layout == "packed":
        allocation = packed_warps(hardware, units[0], workload)
        return Allocation(hardware.id, workload.name, compute, workload.op_names, *allocation)
    return allocate_to(units, hardware, workload, compute=compute, tile=tile)


def allocate_to(
    units: Sequence[ComputeUnit],
    hardware: Hardware,
    workload: Workload,
    *,
    compute: str,
    tile: tuple[int, int] | None = None,
) -> Allocation:
    """The same to given units that work together, the fastest first, spread as hardware deals blocks."""
    allocation = _laid(hardware, workload, compute, units, tile)
    return Allocation(hardware.id, workload.name, compute, workload.op_names, *allocation)


def _laid(
    hardware: Hardware, workload: Workload, compute: str, units: Sequence[ComputeUnit], tile: tuple[int, int] | None
) -> Laid:
    """The layout that the circuit of the first unit asks for."""
    unit = units[0]
    if unit.circuit is None:
        missing = f"units.{unit.name}.circuit, such as tensor_core or systolic_mac"
        raise MappingError(f"{hardware.id} does not say {missing}, so its layout is not known")
    if _in_threads(hardware, unit):
        return on_threads(hardware, unit, workload, compute, tile)
    if tile:
        raise MappingError(f"{hardware.id}: {unit.name} has no choice of output tiles; a GPU has")
    if unit.circuit == "domain_flow":
        return on_tiles(units, workload, compute)
    if unit.circuit == "systolic_mac" and not hardware.traits.is_cores:
        return on_systolic_arrays(hardware, unit, workload, compute)
    return on_lanes(unit, workload, compute)


def _in_threads(hardware: Hardware, unit: ComputeUnit) -> bool:
    warps = f"resident_warps.{unit.group}" in hardware.facts
    return warps or (hardware.traits.is_threaded and unit.circuit in ("tensor_core", "cuda_core"))


# ---- Layouts: each returns the parts of the workload that lie in the same way, and the facts that it rests on


def on_lanes(unit: ComputeUnit, work: Workload, compute: str) -> Laid:
    """CPU cores: outputs in memory order, one to a MAC lane; a core takes as many as it has lanes."""
    rate = unit.fact(f"macs_per_clock.{compute}")
    lanes = max(1, int(unit.per_group * rate.value))
    parts = _lane_parts(work, UnitArray(unit.group, (Pool(unit.groups),)), lanes)
    return Laid(parts, (unit.fact("groups"), unit.fact("per_group"), rate))


@kept(LAYOUTS_KEPT)
def _lane_parts(work: Workload, cores: UnitArray, lanes: int) -> tuple[Part, ...]:
    return (_in_lines(work, _all(work), lanes, "vector", cores),)


def on_threads(
    hardware: Hardware, unit: ComputeUnit, work: Workload, compute: str, tile: tuple[int, int] | None
) -> Laid:
    """GPU: products in output tiles, one tile to a group at a time; other ops in thread blocks, dealt in turn.

    A thread computes four outputs; where an op sums over a warp's width or more for each, a warp computes one.
    """
    facts = _warps(hardware, unit)
    groups, resident, width = (int(fact.value) for fact in facts)
    menu = tile_menu(unit.circuit, compute)
    return Laid(_thread_parts(work, unit.group, groups, resident, width, menu, tile), facts)


@kept(LAYOUTS_KEPT)
def _thread_parts(
    work: Workload,
    group: str,
    groups: int,
    resident: int,
    width: int,
    menu: tuple[tuple[int, int], ...],
    tile: tuple[int, int] | None,
) -> tuple[Part, ...]:
    tiled = work.is_product & ~work.is_depthwise  # a depthwise convolution is no matrix: a thread computes an output
    wide = ~work.is_product & (work.elements_in >= width * np.maximum(work.elements_out, 1))
    threads = UnitArray(group, (Pool(groups, max(1, resident // WARPS_PER_BLOCK)),))
    outputs = WARPS_PER_BLOCK * width * OUTPUTS_PER_THREAD
    in_tiles = np.flatnonzero(tiled)
    rows = products(work, in_tiles)
    blocks = output_tiles(rows, *tile) if tile else chosen_tiles(rows, menu, groups)
    return (
        Part(in_tiles, blocks, UnitArray(group, (Pool(groups),))),
        _in_lines(work, np.flatnonzero(wide), WARPS_PER_BLOCK, "thread block", threads),
        _in_lines(work, np.flatnonzero(~tiled & ~wide), outputs, "thread block", threads),
    )


def packed_warps(hardware: Hardware, unit: ComputeUnit, work: Workload) -> Laid:
    """One thread an output, and a group is filled with warps before the next one gets any: the fewest groups."""
    facts = _warps(hardware, unit)
    groups, resident, width = (int(fact.value) for fact in facts)
    array = UnitArray(unit.group, (Pool(groups, resident),), deep=True)
    return Laid((_in_lines(work, _all(work), width, "warp", array),), facts)


def on_systolic_arrays(hardware: Hardware, unit: ComputeUnit, work: Workload, compute: str) -> Laid:
    """Products in tiles of the array's own size, padded in m, n and k; other ops on the vector unit of each group."""
    side, per_cell = array_geometry(hardware, unit, compute)
    arrays = UnitArray(unit.name.upper(), (Pool(unit.count),))
    vectors = UnitArray(unit.group, (Pool(unit.groups),))
    parts = _array_parts(work, arrays, vectors, side, per_cell)
    return Laid(parts, (unit.fact("groups"), unit.fact("per_group"), unit.fact(f"macs_per_clock.{compute}")))


@kept(LAYOUTS_KEPT)
def _array_parts(work: Workload, arrays: UnitArray, vectors: UnitArray, side: int, per_cell: int) -> tuple[Part, ...]:
    tiled, others = _halves(work)
    blocks = output_tiles(products(work, tiled), side, side, side * per_cell)
    return (
        Part(tiled, blocks, arrays, fill_drain_clocks(side)),
        _in_lines(work, others, VECTOR_REGISTER, "register", vectors),
    )


def on_tiles(units: Sequence[ComputeUnit], work: Workload, compute: str) -> Laid:
    """Tiles of several sizes: blocks as large as the smallest tile's array; the largest tiles are filled first."""
    largest_first = sorted(units, key=lambda unit: -unit.macs_per_clock(compute))
    rates = [max(1, int(unit.macs_per_clock(compute))) for unit in largest_first]
    pools = (Pool(unit.groups, rate // rates[-1]) for unit, rate in zip(largest_first, rates, strict=True))
    array = UnitArray("tile", tuple(pools), deep=True)
    facts = tuple(fact for unit in units for fact in (unit.fact("groups"), unit.fact(f"macs_per_clock.{compute}")))
    return Laid(_tile_parts(work, array, rates[-1]), facts)


@kept(LAYOUTS_KEPT)
def _tile_parts(work: Workload, array: UnitArray, rate: int) -> tuple[Part, ...]:
    tiled, others = _halves(work)
    blocks = output_tiles(products(work, tiled), *nearly_square(rate))
    return Part(tiled, blocks, array), _in_lines(work, others, rate, "block", array)


def _all(work: Workload) -> Rows:
    return np.arange(len(work))


def _halves(work: Workload) -> tuple[Rows, Rows]:
    return np.flatnonzero(work.is_product), np.flatnonzero(~work.is_product)


def _in_lines(work: Workload, ops: Rows, length: int, noun: str, array: UnitArray) -> Part:
    return Part(ops, lines(work.elements_out[ops] // work.repeats[ops], length, noun), array)


def tile_menu(circuit: str | None, compute: str) -> tuple[tuple[int, int], ...]:
    """The output tiles of a unit whose accumulators fit, largest first; they have four bytes, in FP64 eight."""
    menu = TENSOR_TILES if circuit == "tensor_core" else VECTOR_TILES
    size = max(4.0, bytes_per_element(compute))
    return tuple(tile for tile in menu if math.prod(tile) * size <= ACCUMULATOR_BYTES)


def array_geometry(hardware: Hardware, unit: ComputeUnit, compute: str) -> tuple[int, int]:
    """Side of a square systolic array, and the MACs of one cell in a clock.

    The slowest precision does one MAC a cell, so 16 384 MAC are 128 × 128; a faster one does more along k.
    Raises MappingError where the rates are not those of a square array.
    """
    slowest = min(unit.macs_per_clock(precision) for precision in unit.precisions)
    side, rate = math.isqrt(int(slowest)), unit.fact(f"macs_per_clock.{compute}")
    if side * side != slowest or rate.value % slowest:
        below = 4 ** int(math.log(max(slowest, 1), 4))
        raise MappingError(
            f"{hardware.id}: {unit.name} is not a square array: its slowest rate is {slowest:g} MAC a clock, "
            f"{compute} {rate.display}; a systolic_mac does a square such as {below} or {4 * below} in its slowest "
            f"precision and multiples of it in others, at {shown_short(rate.file)}:{rate.line}; a unit that is built "
            "otherwise has another 'circuit:'"
        )
    return side, int(rate.value // slowest)


def fill_drain_clocks(side: int) -> int:
    """Clocks before the first and after the last of a stream of rows, in which not all cells work. [1]

    2 · rows + columns − 2, the part of the run time that no row is in. Samajdar et al., "A Systematic Methodology for
    Characterizing Scalability of DNN Accelerators using SCALE-Sim", ISPASS 2020, equation 1.
    """
    return 3 * side - 2


def nearly_square(area: int) -> tuple[int, int]:
    """Rows and columns of that area, as alike as whole numbers can be: 128 is 16 × 8."""
    columns = next(side for side in range(math.isqrt(area), 0, -1) if area % side == 0)
    return area // columns, columns


def _warps(hardware: Hardware, unit: ComputeUnit) -> tuple[Fact, Fact, Fact]:
    """Groups, warps that one of them holds, threads of a warp. Raises MappingError for a missing fact."""
    for path in (f"resident_warps.{unit.group}", f"warp_threads.{unit.group}"):
        if path not in hardware.facts:
            group = unit.fact("groups")
            key = path.partition(".")[0]
            want = f"want '{key}: {{{unit.group}: [value, source, where]}}' to lay ops out in warps, found none"
            raise MappingError(f"{shown(group.file)}:{group.line}  {hardware.id}: {want}")
    return (
        unit.fact("groups"),
        hardware.facts[f"resident_warps.{unit.group}"],
        hardware.facts[f"warp_threads.{unit.group}"],
    )


# ---- Traffic


def chip_bytes(allocation: Allocation, work: Workload, storage: str) -> NDArray[np.float64]:
    """Bytes that go between the units and the large memory of the chip. [B], shape (ops,)"""
    return _chip_bytes(work, allocation.parts, storage)


@kept(LAYOUTS_KEPT)
def _chip_bytes(work: Workload, parts: tuple[Part, ...], storage: str) -> NDArray[np.float64]:
    elements = np.asarray(work.elements_in + work.elements_weight + work.elements_out, dtype=np.float64)
    for part in parts:
        if part.blocks.noun == "output tile":
            read = _read(part, work) + work.elements_out[part.ops]
            elements[part.ops] = np.maximum(elements[part.ops], read)
    return read_only(elements * work.element_bytes(storage))


def _read(part: Part, work: Workload) -> NDArray[np.float64]:
    """Elements that tiles read: each its own rows and columns, over the whole sum; nothing lies beyond an edge.

    All rows once for each tile across, all columns once for each tile down. A systolic array holds its weights, so it
    reads the columns once.
    """
    m, n, k, groups = (column[part.ops].astype(np.float64) for column in (work.m, work.n, work.k, work.groups))
    groups = groups * work.repeats[part.ops]
    across = np.ceil(n / part.blocks.columns)
    down = 1.0 if part.fill_drain_clocks else np.ceil(m / part.blocks.rows)
    return np.asarray(groups * k * (m * across + n * down))


def operand_bytes(work: Workload, storage: str, operands_per_mac: float) -> NDArray[np.float64]:
    """Operands of the multiply-accumulates, and one for each other op, from the nearest memory. [B], shape (ops,)"""
    operands = work.macs * operands_per_mac + work.other_ops
    return np.asarray(operands * work.element_bytes(storage), dtype=np.float64)


def operands_per_mac(unit: ComputeUnit, compute: str) -> float:
    """What a unit reads for a multiply-accumulate, the other operand staying in a register. [1]

    One for each MAC of a lane; of a matrix unit the rows and the columns of a square: 2·√rate for rate MACs a clock.
    """
    if unit.circuit != "systolic_mac":
        return 1.0
    return min(1.0, 2 / math.sqrt(unit.macs_per_clock(compute)))


def issued(work: Workload, macs_per_issue: float, ops_per_issue: float) -> NDArray[np.float64]:
    """Instructions of single units: MACs / those of one issue, and other ops / lanes. [1], shape (ops,)"""
    macs, other_ops, repeats = work.macs / work.repeats, work.other_ops / work.repeats, work.repeats
    whole = np.where(work.is_product, np.ceil(macs / macs_per_issue), 0.0)
    return np.asarray(repeats * (whole + np.ceil(other_ops / ops_per_issue)))
