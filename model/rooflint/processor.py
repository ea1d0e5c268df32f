"""Processor: which units of a device the arithmetic of a network runs on.

A module may hold several processors (CPU cores, a GPU, DLAs); a network runs on the one that the device is, on those of
its units that compute in the precision. docs/decisions/0014-units-are-counted-whole.md says why.
"""

from rooflint.hardware import ComputeUnit, Hardware, UnsupportedError


def working_units(hardware: Hardware, compute: str) -> tuple[ComputeUnit, ...]:
    """The units that work together in a precision, the one with the highest dense peak first.

    Of a GPU that of its thread groups alone: the CPU cores and the DLAs of a module are other processors. Of a tile
    array all tiles that compute in the precision. Of any other device the unit with the highest peak.
    Raises UnsupportedError where none computes in it (never a fallback), UndisclosedError where nobody can tell.
    """
    own = [unit for unit in hardware.units.values() if _schedules_warps(hardware, unit)]
    if hardware.kind == "gpu" and own:
        return (_best(hardware, own, compute),)
    first = hardware.best_unit(compute)
    if first.circuit != "domain_flow":
        return (first,)
    tiles = [unit for unit in hardware.units.values() if unit.circuit == "domain_flow" and compute in unit.precisions]
    return tuple(sorted(tiles, key=lambda unit: -unit.peak_ops_per_s(compute)))


def working_peak_ops_per_s(hardware: Hardware, compute: str) -> float:
    """Dense peak of the units that work together. [op/s]. Raises as `working_units` does."""
    return sum(unit.peak_ops_per_s(compute) for unit in working_units(hardware, compute))


def _schedules_warps(hardware: Hardware, unit: ComputeUnit) -> bool:
    return f"resident_warps.{unit.group}" in hardware.facts


def _best(hardware: Hardware, own: list[ComputeUnit], compute: str) -> ComputeUnit:
    able = [unit for unit in own if compute in unit.precisions]
    if able:
        return max(able, key=lambda unit: unit.peak_ops_per_s(compute))
    for unit in own:
        unit.refuse_hidden(f"macs_per_clock.{compute}")
    elsewhere = any(compute in unit.precisions for unit in hardware.units.values())
    having = sorted({name for unit in own for name in unit.precisions})
    where = f" on its {own[0].group}" if elsewhere else ""
    raise UnsupportedError(f"{hardware.id} does not support {compute}{where} (has: {', '.join(having)})")
