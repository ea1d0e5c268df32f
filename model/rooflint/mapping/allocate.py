"""Allocation of a workload to the units of a device, and the traffic between units and the memory of the chip.

Everything here counts whole units. The precision of the arithmetic decides the unit and the size of a block; no other
unit is used in its place. docs/method-allocation.md has the formulas.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rooflint.base.precision import bytes_per_element
from rooflint.hardware.device import ComputeUnit, Hardware, working_units
from rooflint.mapping.allocation import Allocation, Part
from rooflint.mapping.layouts import (
    Laid,
    MappingError,
    is_product,
    on_lanes,
    on_systolic_arrays,
    on_threads,
    on_tiles,
    packed_warps,
)
from rooflint.workloads.workload import Workload

LAYOUTS = ("spread", "packed")
"""`spread`: as hardware deals blocks, each to the next unit; `packed`: a thread group is filled before the next one."""


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
    chosen = unit or working_units(hardware, compute)[0]
    chosen.fact(f"macs_per_clock.{compute}")
    if layout == "packed":
        laid = packed_warps(hardware, chosen, workload)
    else:
        laid = _laid(hardware, workload, compute, chosen, alone=unit is not None, tile=tile)
    return Allocation(hardware.id, workload.name, compute, workload.op_names, *laid)


def _laid(
    hardware: Hardware,
    workload: Workload,
    compute: str,
    unit: ComputeUnit,
    *,
    alone: bool,
    tile: tuple[int, int] | None,
) -> Laid:
    """The layout that the circuit of a unit asks for."""
    if unit.circuit is None:
        raise MappingError(f"{hardware.id} does not say units.{unit.name}.circuit, so its layout is not known")
    if _in_threads(hardware, unit):
        return on_threads(hardware, unit, workload, compute, tile)
    if tile:
        raise MappingError(f"{hardware.id}: {unit.name} has no choice of output tiles; a GPU has")
    if unit.circuit == "domain_flow":
        return on_tiles([unit] if alone else working_units(hardware, compute), workload, compute)
    if unit.circuit == "systolic_mac" and not hardware.traits.is_cores:
        return on_systolic_arrays(hardware, unit, workload, compute)
    return on_lanes(unit, workload, compute)


def _in_threads(hardware: Hardware, unit: ComputeUnit) -> bool:
    """Whether the unit sits in groups that schedule warps."""
    warps = f"resident_warps.{unit.group}" in hardware.facts
    return warps or (hardware.traits.is_threaded and unit.circuit in ("tensor_core", "cuda_core"))


def chip_bytes(allocation: Allocation, work: Workload, storage: str) -> NDArray[np.float64]:
    """Bytes that go between the units and the large memory of the chip. [B], shape (ops,)"""
    elements = np.asarray(work.elements_in + work.elements_weight + work.elements_out, dtype=np.float64)
    for part in allocation.parts:
        if part.blocks.noun == "output tile":
            read = _read(part, work) + work.elements_out[part.ops]
            elements[part.ops] = np.maximum(elements[part.ops], read)
    return elements * bytes_per_element(storage)


def _read(part: Part, work: Workload) -> NDArray[np.float64]:
    """Elements that tiles read: each its own rows and columns, over the whole sum; nothing lies beyond an edge.

    All rows once for each tile across, all columns once for each tile down. A systolic array holds its weights, so it
    reads the columns once.
    """
    m, n, k, groups = (column[part.ops].astype(np.float64) for column in (work.m, work.n, work.k, work.groups))
    across = np.ceil(n / part.blocks.columns)
    down = 1.0 if part.fill_drain_clocks else np.ceil(m / part.blocks.rows)
    return np.asarray(groups * k * (m * across + n * down))


def operand_bytes(work: Workload, storage: str, operands_per_mac: float) -> NDArray[np.float64]:
    """Operands of the multiply-accumulates, and one for each other op, from the nearest memory. [B], shape (ops,)"""
    return np.asarray((work.macs * operands_per_mac + work.other_ops) * bytes_per_element(storage), dtype=np.float64)


def operands_per_mac(unit: ComputeUnit, compute: str) -> float:
    """What a unit reads for a multiply-accumulate, the other operand staying in a register. [1]

    One for each MAC of a lane; of a matrix unit the rows and the columns of a square: 2·√rate for rate MACs a clock.
    """
    if unit.circuit != "systolic_mac":
        return 1.0
    return min(1.0, 2 / math.sqrt(unit.macs_per_clock(compute)))


def issued(work: Workload, macs_per_issue: float, ops_per_issue: float) -> NDArray[np.float64]:
    """Instructions of single units: MACs / those of one issue, and other ops / lanes. [1], shape (ops,)"""
    whole = np.where(is_product(work), np.ceil(work.macs / macs_per_issue), 0.0)
    return np.asarray(whole + np.ceil(work.other_ops / ops_per_issue))
