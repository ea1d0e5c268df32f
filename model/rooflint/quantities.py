"""Every figure that the model takes from the facts of a device, by name: what a wrong fact can move.

Breakpoints, attainable rates and latencies are computed from these and from a workload, so they move only with them.
The process node and the year of launch are in none.
"""

from collections.abc import Iterator

from rooflint.errors import RooflintError
from rooflint.hardware import ComputeUnit, Hardware, Memory

#: Facts that stand for themselves, by the first part of their path.
_ALONE = (
    "tdp",
    "powers",
    "parts",
    "clocks",
    "caches",
    "launch_overhead",
    "full_die",
    "dies",
    "resident_warps",
    "warp_threads",
    "warp_schedulers",
    "special_function_units",
)


def quantities(hardware: Hardware) -> dict[str, float]:
    """Figures by name, without and at every operating point, in base units: `peak tensor_core fp16 @30w`."""
    modes = {"": hardware} | {f" @{mode}": hardware.at(mode) for mode in hardware.operating_points}
    return {f"{name}{mode}": value for mode, there in modes.items() for name, value in _figures(there)}


def _figures(hardware: Hardware) -> Iterator[tuple[str, float]]:
    for unit in hardware.units.values():
        yield from _of_unit(unit)
    for memory in hardware.memories.values():
        yield from _of_memory(memory)
    for path, fact in hardware.facts.items():
        if path.split(".")[0] in _ALONE:
            yield path, fact.value


def _of_unit(unit: ComputeUnit) -> Iterator[tuple[str, float]]:
    """Counts, clocks, rates, sparsity; and the peaks, where a vendor discloses all that they follow from."""
    for path, fact in unit.facts.items():
        yield f"{unit.name} {path}", fact.value
    for precision in unit.precisions:
        for sparse in (False, True):
            try:
                ladder = unit.derivation(precision, sparse=sparse)
            except RooflintError:
                continue
            yield f"peak {unit.name} {precision}{' sparse' if sparse else ''}", ladder.result


def _of_memory(memory: Memory) -> Iterator[tuple[str, float]]:
    if "capacity" in memory.facts:
        yield f"capacity {memory.name}", memory.capacity_bytes
    if memory.has_bandwidth:
        yield f"bandwidth {memory.name}", memory.bandwidth_bytes_per_s
