"""Energy: what a workload takes on a device, as terms that add up to the whole. docs/method-energy.md has the formulas.

Compute, memory by level, the architecture's own events, and idle power over the latency; each term is so many events at
so much, and each coefficient has its sources. Nothing is clipped: a power above the TDP is shown as what it is.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rooflint.base.facts import Fact
from rooflint.coefficients.coefficients import Coefficients
from rooflint.coefficients.ranges import Coefficient, Spread, UnknownCoefficientError, of_fact, of_spread
from rooflint.devices.hardware import Hardware
from rooflint.energy.basis import Basis, Energies, EnergyError
from rooflint.energy.terms import Energy, Term, control_terms
from rooflint.mapping.allocate import chip_bytes, operand_bytes, operands_per_mac
from rooflint.mapping.allocation import Allocation
from rooflint.networks.workload import Workload

RATED = ("tdp", "powers.limit", "powers.measured_max")
"""What a device may draw, and what idle power is a share of where it was not measured: the first that it has."""

LARGE_ARRAY, CORE_ARRAY = "mib1", "kib32"
"""The arrays that stand for the chip's large memory (L2, unified buffer) and for a core's L1."""


def energy_of(
    hardware: Hardware,
    work: Workload,
    allocation: Allocation,
    latency_s: NDArray[np.float64],
    energies: Energies,
    *,
    storage: str,
) -> Energy:
    """The energy of a workload; `latency_s` is that of each op, allocation and workload are of the same ops.

    Raises EnergyError or UnknownCoefficientError, either with the device's id, where nobody says enough.
    """
    basis = Basis(hardware, energies, allocation.compute, storage)
    inside = chip_bytes(allocation, work, storage)
    try:
        terms = [*_compute(basis, work), *_memory(basis, work, inside)]
    except UnknownCoefficientError as error:
        raise UnknownCoefficientError(f"{hardware.id}: {error}") from error
    left_out = []
    try:
        terms += control_terms(basis, work, allocation, inside)
    except UnknownCoefficientError as error:
        left_out.append(f"control of the architecture is not counted: {error}")
    try:
        terms.append(_static(basis, latency_s))
    except (EnergyError, UnknownCoefficientError) as error:
        left_out.append(f"idle power is not counted: {error}")
    return Energy(tuple(terms), tuple(left_out))


def _compute(basis: Basis, work: Workload) -> Iterator[Term]:
    ops = work.ops.astype(np.float64)
    circuit = basis.unit.circuit or "standard_cell"
    yield Term("arithmetic", "compute", ops, "op", basis.node.arithmetic(basis.compute))
    yield Term("datapath", "compute", ops, "op", basis.node.datapath(basis.compute, circuit))


def _memory(basis: Basis, work: Workload, inside: NDArray[np.float64]) -> Iterator[Term]:
    hardware, storage = basis.hardware, basis.storage
    outside = hardware.main_memory()
    moved = np.asarray(work.bytes_moved(storage), dtype=np.float64)
    yield Term("off-chip memory", "memory", moved, "B", basis.energies.access(outside.name))
    yield Term("on-chip memory", "memory", inside, "B", basis.node.sram(LARGE_ARRAY))
    if hardware.kind == "cpu":
        operands = operand_bytes(work, storage, operands_per_mac(basis.unit, basis.compute))
        yield Term("L1", "memory", operands, "B", basis.node.sram(CORE_ARRAY))


def _static(basis: Basis, latency_s: NDArray[np.float64]) -> Term:
    """Idle power for as long as it takes."""
    return Term("idle power", "static", latency_s, "s", idle_w(basis.hardware, basis.energies.coefficients))


def idle_w(hardware: Hardware, coefficients: Coefficients) -> Coefficient:
    """Power of a device that is ready and does nothing: as measured on it, else a share of its rated power. [W]

    The share is that of measured devices of its kind, with a context where such were measured. Raises EnergyError or
    UnknownCoefficientError.
    """
    if "powers.idle" in hardware.facts:
        return of_fact(hardware.facts["powers.idle"], "idle power of the device")
    rated = power_limit(hardware)
    if rated is None:
        raise EnergyError(f"{hardware.id} has no rated power, so its idle power is not known")
    share = of_spread(_idle_share(hardware.kind, coefficients))
    return share.times(of_fact(rated, "rated power"), f"{share.said}, of {rated.display} rated power").as_estimate()


def _idle_share(kind: str, coefficients: Coefficients) -> Spread:
    try:
        return coefficients.idle_share(kind, "context")
    except UnknownCoefficientError:
        return coefficients.idle_share(kind)


def power_limit(hardware: Hardware) -> Fact | None:
    """The TDP, else the limit or the highest power that was measured; None where none is known. [W]"""
    return next((fact for path in RATED if (fact := hardware.facts.get(path))), None)
