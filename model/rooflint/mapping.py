"""Mapping: how each op of a workload lies on the units of a device. docs/method-allocation.md has the formulas.

A unit holds work or it does not, so everything here counts whole units. The precision of the arithmetic decides the
unit and the size of a block; no other unit is used in its place.
"""

from rooflint.allocation import Allocation
from rooflint.hardware import ComputeUnit, Hardware
from rooflint.layouts import (
    Laid,
    MappingError,
    on_lanes,
    on_systolic_arrays,
    on_threads,
    on_tiles,
    packed_warps,
)
from rooflint.processor import working_units
from rooflint.workload import Workload

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
        raise MappingError(f"{hardware.id} does not say units.{unit.name}.circuit, so nobody knows how ops lie on it")
    if _in_threads(hardware, unit):
        return on_threads(hardware, unit, workload, compute, tile)
    if tile:
        raise MappingError(f"{hardware.id}: {unit.name} has no choice of output tiles; a GPU has")
    if unit.circuit == "domain_flow":
        return on_tiles([unit] if alone else working_units(hardware, compute), workload, compute)
    if unit.circuit == "systolic_mac" and hardware.kind != "cpu":
        return on_systolic_arrays(hardware, unit, workload, compute)
    return on_lanes(unit, workload, compute)


def _in_threads(hardware: Hardware, unit: ComputeUnit) -> bool:
    """Whether the unit sits in groups that schedule warps."""
    warps = f"resident_warps.{unit.group}" in hardware.facts
    return warps or (hardware.kind == "gpu" and unit.circuit in ("tensor_core", "cuda_core"))
