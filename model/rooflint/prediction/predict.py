"""Prediction of one network on one device, from one set of assumptions.

    predict(device, network("resnet18"), Energies(Coefficients(Registry())), Setting("fp16")).latency_s

All commands print, compare and record predictions of this module, so that they cannot disagree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.precision import POLICIES, WIDE, Policy
from rooflint.base.text import article
from rooflint.base.units import SECONDS, format_quantity
from rooflint.coefficients.library import FREE, launch_overhead
from rooflint.coefficients.ranges import Coefficient
from rooflint.energy.model import Energies, power_limit
from rooflint.energy.terms import Energy, energy_of
from rooflint.hardware.device import Hardware, peak_ops_per_s, working_units
from rooflint.kernels.chip import MissingFactError, chip_of
from rooflint.mapping.allocate import allocate_to
from rooflint.mapping.allocation import Allocation
from rooflint.roofline import Estimate, cache_bytes, estimate, estimate_at, kernel_time_s
from rooflint.workloads.footprint import Footprint, footprint
from rooflint.workloads.stack import Numbers, Sums, whole
from rooflint.workloads.workload import Workload, WorkloadError

if TYPE_CHECKING:  # what only --fidelity silicon needs is imported when it is asked for
    from rooflint.kernels.network import SiliconEstimate

T = TypeVar("T")

ROOFLINE, SILICON = FIDELITIES = ("roofline", "silicon")


class NotKnownError(RooflintError):
    """A quantity that is not known for this device and network; the message says why."""


@dataclass(frozen=True)
class UnitShare:
    """Units of one kind that hold work."""

    kind: str
    """`SM`, `MXU`, `core`, `tile`"""
    active: float
    """Over the time of the kernels that lie on them."""
    total: int
    of_latency: float
    """Share of the latency that these kernels take. [1]"""

    @property
    def utilization(self) -> float:
        """Share of the units. [1]"""
        return self.active / self.total

    def __str__(self) -> str:
        """`31.4/132 SM`."""
        return f"{self.active:.3g}/{self.total} {self.kind}"


@dataclass(frozen=True, eq=False)
class Prediction:
    """One network on one device at one operating point, batch and precision."""

    hardware: Hardware
    network: Workload
    """As it was captured, at the batch of this prediction."""
    run: Workload
    """What runs, one row a kernel: the same, or with its ops fused."""
    times: Estimate
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why there is no `allocation`, `energy`, `footprint` or `launch` overhead, or not the `fidelity` asked for."""
    launch: Coefficient | None = None
    """What a launch costs. [s]"""
    _allocation: Allocation | None = None
    _energy: Energy | None = None
    _footprint: Footprint | None = None

    @property
    def compute(self) -> str:
        """Precision of the arithmetic."""
        return self.times.compute

    @property
    def storage(self) -> str:
        """Precision of what is moved."""
        return self.times.storage

    @property
    def batch(self) -> int:
        """Samples that run together."""
        return self.run.batch

    @property
    def allocation(self) -> Allocation:
        """Which units hold work. Raises NotKnownError."""
        return self._known("allocation", self._allocation)

    @property
    def energy(self) -> Energy:
        """Energy of the whole batch, as terms. Raises NotKnownError."""
        return self._known("energy", self._energy)

    @property
    def footprint(self) -> Footprint:
        """Elements that live at once. Raises NotKnownError."""
        return self._known("footprint", self._footprint)

    def _known(self, what: str, found: T | None) -> T:
        if found is None:
            raise NotKnownError(self.reasons[what])
        return found

    def has(self, what: str) -> bool:
        """Whether `allocation`, `energy` or `footprint` is known."""
        return what not in self.reasons

    @property
    def fidelity(self) -> str:
        """`silicon`, or `roofline`: also where silicon was asked for and the device lacks a fact that it needs."""
        return SILICON if self.silicon else ROOFLINE

    @property
    def silicon(self) -> "SiliconEstimate | None":
        """Its times, where they are those of silicon."""
        return cast("SiliconEstimate", self.times) if self.times.is_calibrated else None

    @property
    def latency_s(self) -> float:
        """Time of the whole batch. [s]"""
        return self.times.latency_s

    @property
    def throughput_per_s(self) -> float:
        """Samples a second. [1/s]"""
        return self.batch / self.latency_s

    @property
    def peak_ops_per_s(self) -> float:
        """Dense peak of the units that work. [op/s]"""
        return self.times.peak_ops_per_s

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bandwidth of the main memory. [B/s]"""
        return self.times.bandwidth_bytes_per_s

    @property
    def attained_ops_per_s(self) -> float:
        """Ops over latency. [op/s]"""
        return float(self.times.ops.sum()) / self.latency_s

    @property
    def attained_bytes_per_s(self) -> float:
        """Bytes over latency. [B/s]"""
        return float(self.times.bytes_moved.sum()) / self.latency_s

    @property
    def compute_efficiency(self) -> float:
        """Attained over peak rate. [1]"""
        return self.times.efficiency

    @property
    def bandwidth_efficiency(self) -> float:
        """Attained over peak bandwidth. [1]"""
        return self.attained_bytes_per_s / self.bandwidth_bytes_per_s

    @property
    def intensity_ops_per_byte(self) -> float:
        """Arithmetic intensity of the whole network. [op/B]"""
        return self.times.intensity_ops_per_byte

    @property
    def breakpoint_ops_per_byte(self) -> float:
        """Intensity at which memory stops being the limit of the device. [op/B]"""
        return self.times.breakpoint_ops_per_byte

    @property
    def shares(self) -> Mapping[str, float]:
        """Seconds that the latency waits for compute, memory and launches; they add up to it. [s]"""
        return self.times.waits_s

    @property
    def bound(self) -> str:
        """What most of the latency waits for: compute, memory or launch."""
        return self.times.bound

    @property
    def launches(self) -> int:
        """Kernels that run, each as often as it does."""
        return int(self.run.repeats.sum())

    def launches_bound_by(self, name: str) -> int:
        """Kernels that wait for compute, memory or launch, as often as they run."""
        return int(self.run.repeats[np.array(self.bounds) == name].sum())

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """What each kernel waits for: the longest of its compute, memory and launch times."""
        compute, memory = self.times.compute_s, self.times.memory_s
        found = np.where(compute >= memory, "compute", "memory")
        return tuple(np.where(self.times.launch_s > np.maximum(compute, memory), "launch", found).tolist())

    def utilizations(self, sums: Sums) -> Numbers:
        """Share of units that hold work, over each latency. [1]. Raises NotKnownError."""
        seconds = self.times.kernel_s
        return sums(self.allocation.utilization * seconds) / sums(seconds)

    @property
    def utilization(self) -> float:
        """Share of units that hold work, over the latency. [1]. Raises NotKnownError."""
        return float(self.utilizations(whole))

    @cached_property
    def unit_shares(self) -> "tuple[UnitShare, ...]":
        """Each kind of unit that holds work, that with most of the latency first. Raises NotKnownError."""
        kinds = self.allocation.unit_names
        shares = (self._unit_share(str(kind)) for kind in dict.fromkeys(kinds.tolist()))
        return tuple(sorted(shares, key=lambda share: -share.of_latency))

    def _unit_share(self, kind: str) -> "UnitShare":
        same = self.allocation.unit_names == kind
        seconds = self.times.kernel_s[same]
        active = float(np.average(self.allocation.units[same], weights=seconds))
        return UnitShare(kind, active, int(self.allocation.total[same].max()), float(seconds.sum()) / self.latency_s)

    @property
    def units(self) -> str:
        """Units that hold work, of the kind that most of the latency goes to: `31.4/132 SM`. Raises NotKnownError."""
        return str(self.unit_shares[0])

    @property
    def latency_of_active_units_s(self) -> float:
        """Latency if only what holds work computes: idle slots of the waves and padding are paid for. [s]

        Σ max(compute / ((1 − idle slots) × (1 − padding)), memory) + launches; the plain roofline is the least that it
        can be. On silicon it is the latency, which counts tiles and waves. Raises NotKnownError.
        """
        useful = (1 - self.allocation.idle_slots) * (1 - self.allocation.padding)
        if self.silicon:
            return self.latency_s
        compute = np.divide(self.times.compute_s, useful, out=np.zeros_like(useful), where=useful > 0)
        return float(kernel_time_s(compute, self.times.memory_s, self.times.launch_s).sum())

    @property
    def energy_j(self) -> float:
        """Energy of the whole batch. [J]. Raises NotKnownError."""
        return self.energy.total_j

    @property
    def energy_per_sample_j(self) -> float:
        """Energy of one sample. [J]. Raises NotKnownError."""
        return self.energy_j / self.batch

    @property
    def power_w(self) -> float:
        """Energy over latency. [W]. Raises NotKnownError."""
        return self.energy_j / self.latency_s

    @property
    def ops_per_j(self) -> float:
        """Attained rate per watt, which is ops per joule. [op/J]. Raises NotKnownError."""
        return self.attained_ops_per_s / self.power_w

    @property
    def power_limit(self) -> Fact | None:
        """What the device may draw; None where it is not known."""
        return power_limit(self.hardware)

    @property
    def over_limit(self) -> float | None:
        """Power over that limit; None where one of the two is not known. [1]"""
        if not self.has("energy") or self.power_limit is None:
            return None
        return self.power_w / self.power_limit.value

    @property
    def complete(self) -> bool:
        """Whether the energy is known and no term is left out of it."""
        return self._energy is not None and not self._energy.left_out

    @property
    def activation_bytes(self) -> float:
        """The most activations that live at once. [B]. Raises NotKnownError."""
        return self.footprint.peak_activation_bytes(self.storage)

    @property
    def weight_bytes(self) -> float:
        """All weights. [B]. Raises NotKnownError."""
        return self.footprint.weight_bytes(self.storage)

    @property
    def cache_bytes(self) -> float:
        """Keys and values of all tokens. [B]. Raises NotKnownError."""
        return self.footprint.cache_bytes(self.storage)

    @property
    def peak_bytes(self) -> float:
        """Weights, keys and values, and the most that lives beside them. [B]. Raises NotKnownError."""
        return self.footprint.peak_bytes(self.storage)

    @property
    def fits(self) -> bool | None:
        """Whether the memory has room for it; None where footprint or capacity is not known."""
        memory = self.hardware.main_memory()
        if not self.has("footprint") or "capacity" not in memory.facts:
            return None
        return self.peak_bytes <= memory.capacity_bytes


@dataclass(frozen=True)
class Setting:
    """How a network is run."""

    compute: str
    """Precision of the arithmetic, or a policy, which says what is stored as well."""
    storage: str | None = None
    """Precision of what is moved; that of the arithmetic if None."""
    fuse: bool = False
    """Whether element-wise ops run in the kernels of their producers."""
    launch: str = "stream"
    """How kernels are launched: `stream`, `graph`, another mode of specs/launches.yaml, or `free` for no overhead."""
    fidelity: str = ROOFLINE
    """Whose times: those of the `roofline`, or of `silicon` where the device has all that they need."""
    cached: bool = True
    """Whether the device's largest cache keeps what it can from op to op; otherwise every byte comes from memory."""

    @property
    def policy(self) -> Policy | None:
        """The policy that it names; None for a precision, also where it names a format that is stored otherwise."""
        return POLICIES.get(self.compute) if self.storage is None else None

    def formats(self, hardware: Hardware) -> tuple[str, str]:
        """What a device computes the narrow products of a policy in, and all else; twice the same for a precision."""
        if self.policy is None:
            return self.compute, self.compute
        return _first(hardware, self.policy.compute), _first(hardware, WIDE)


def _first(hardware: Hardware, formats: Sequence[str]) -> str:
    """The first of some formats that a device computes in; the first of all where it has none of them."""
    able = (form for form in formats if any(unit.computes(form) for unit in hardware.units.values()))
    return next(able, formats[0])


def _check_policy(work: Workload, setting: Setting) -> None:
    """Raises WorkloadError for a policy of a network whose table does not tell its weights apart."""
    if setting.policy and work.roles is None:
        want = f"want a precision, such as {' or '.join(setting.policy.compute)}"
        raise WorkloadError(f"{work.name}: its table does not say which weights {setting.compute} makes narrow; {want}")


def predict(hardware: Hardware, work: Workload, energies: Energies, setting: Setting) -> Prediction:
    """The prediction of a workload on a device.

    Raises UnsupportedError where the device does not compute in that precision, UndisclosedError where that is not
    disclosed, WorkloadError for a table that cannot be fused and for a policy of a network that does not say what its
    weights are, UnknownCoefficientError for an unknown launch mode. What else is not known becomes a reason.
    """
    _check_policy(work, setting)
    run = work.fused() if setting.fuse else work
    compute, wide = setting.formats(hardware)
    overhead = launch_overhead(hardware, energies.coefficients, setting.launch)
    units = working_units(hardware, compute)
    times = estimate_at(
        peak_ops_per_s(units, compute),
        hardware.main_memory().bandwidth_bytes_per_s,
        hardware,
        run,
        compute=compute,
        storage=setting.storage or setting.compute,
        overhead_s=overhead.typical if overhead else 0.0,
        cache_bytes=cache_bytes(hardware) if setting.cached else 0.0,
        wide_ops_per_s=peak_ops_per_s(working_units(hardware, wide), wide) if wide != compute else None,
    )
    reasons: dict[str, str] = {}
    if setting.fidelity == SILICON:
        try:
            times = _on_silicon(hardware, run, times, energies, setting)
        except MissingFactError as error:
            reasons["fidelity"] = f"{error}; its latency is that of the roofline, a lower bound"
    allocation = _or_reason(reasons, "allocation", lambda: allocate_to(units, hardware, run, compute=compute))
    live = _or_reason(reasons, "footprint", lambda: footprint(run))

    def spent() -> Energy:
        if allocation is None:
            raise NotKnownError(reasons["allocation"])
        return energy_of(
            hardware, run, allocation, times.kernel_s, energies,
            storage=times.storage, moved=times.bytes_moved, wide=wide,
        )  # fmt: skip

    energy = _or_reason(reasons, "energy", spent)
    floors = times.is_calibrated and overhead is None
    if setting.launch != FREE and not floors:
        reasons |= _launch_reason(hardware, energies, setting.launch, overhead)
    return Prediction(hardware, work, run, times, reasons, overhead, allocation, energy, live)


def silicon_times(hardware: Hardware, run: Workload, energies: Energies, setting: Setting) -> "SiliconEstimate":
    """The times of a run on silicon alone, without a fallback to the roofline.

    Raises MissingFactError for a device that lacks an input, and for one that is not a GPU; else as `predict`.
    """
    _check_policy(run, setting)
    overhead = launch_overhead(hardware, energies.coefficients, setting.launch)
    typical = overhead.typical if overhead else 0.0
    compute, _ = setting.formats(hardware)
    plain = estimate(hardware, run, compute=compute, storage=setting.storage, overhead_s=typical)
    return _on_silicon(hardware, run, plain, energies, setting)


def _on_silicon(
    hardware: Hardware, run: Workload, plain: Estimate, energies: Energies, setting: Setting
) -> "SiliconEstimate":
    """Raises MissingFactError for a device that lacks an input, for one that is not a GPU, and for a policy."""
    if setting.policy:
        raise MissingFactError(f"kernels of {setting.compute} are not among the measurements of {hardware.label}")
    if not hardware.traits.has_kernel_models:
        raise MissingFactError(
            f"{hardware.label} is {article(hardware.kind)}, and kernel times are calibrated for GPUs only"
        )
    from rooflint.kernels.network import on_silicon  # noqa: PLC0415

    gap_s = None if setting.launch == FREE else plain.overhead_s
    chip = chip_of(hardware, setting.compute, energies.coefficients.launches(), sustained=True)
    return on_silicon(plain, run, chip, energies.silicon, gap_s, cached=setting.cached)


def _launch_reason(
    hardware: Hardware, energies: Energies, launch: str, overhead: Coefficient | None
) -> Mapping[str, str]:
    """What a reader must know of a launch overhead that is not the vendor's own."""
    if overhead is None:
        return {
            "launch": f"no launch overhead of {article(hardware.kind)} like {hardware.id} is known; counted as none"
        }
    if energies.coefficients.launch_overhead(hardware, launch):
        return {}
    instead = f"{format_quantity(overhead.typical, SECONDS)} ({overhead.basis}) is used instead"
    return {"launch": f"no {launch} launch overhead of {article(hardware.kind)} like {hardware.id} is known; {instead}"}


def _or_reason(reasons: dict[str, str], what: str, found: Callable[[], T]) -> T | None:
    try:
        return found()
    except RooflintError as error:
        reasons[what] = str(error)
        return None
