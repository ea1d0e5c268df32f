"""The roofline: breakpoint, attainable rate, and the latency of a network as a sum over its kernels.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for multicore architectures",
CACM 52(4), 2009. doi:10.1145/1498765.1498785
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rooflint.hardware.device import ComputeUnit, Hardware, Memory, working_peak_ops_per_s
from rooflint.workloads.reuse import bytes_from_memory
from rooflint.workloads.stack import Numbers, Sums, whole
from rooflint.workloads.workload import Workload, read_only


def breakpoint_ops_per_byte(peak_ops_per_s: Numbers, bandwidth_bytes_per_s: Numbers) -> Numbers:
    """Arithmetic intensity at which memory stops being the limit (its ridge point). [op/B]"""
    return peak_ops_per_s / bandwidth_bytes_per_s


def attainable_ops_per_s(intensity: Numbers, peak_ops_per_s: Numbers, bandwidth_bytes_per_s: Numbers) -> Numbers:
    """The roof over an arithmetic intensity in op/B: min(peak, intensity × bandwidth). [op/s]"""
    return np.minimum(peak_ops_per_s, intensity * bandwidth_bytes_per_s)


def compute_time_s(ops: Numbers, peak_ops_per_s: Numbers) -> Numbers:
    """Time to compute at peak. [s]"""
    return ops / peak_ops_per_s


def memory_time_s(bytes_moved: Numbers, bandwidth_bytes_per_s: Numbers) -> Numbers:
    """Time to move at full bandwidth. [s]"""
    return bytes_moved / bandwidth_bytes_per_s


def work_time_s(compute_s: Numbers, memory_s: Numbers) -> Numbers:
    """Work of one kernel: compute and memory overlap. [s]"""
    return np.maximum(compute_s, memory_s)


def kernel_time_s(compute_s: Numbers, memory_s: Numbers, overhead_s: Numbers = 0.0) -> Numbers:
    """One kernel: its work and the launch, which does not overlap with it. [s]"""
    return work_time_s(compute_s, memory_s) + overhead_s


@dataclass(frozen=True)
class Estimate:
    """The roofline estimate of a workload on a device; arrays have one entry an op, with all its repeats.

    On variants of a device peak, bandwidth and overhead are columns of the shape (variants, 1), and times have the
    shape (variants, ops).
    `rooflint.kernels.network` has the other fidelity, with the same properties.
    """

    hardware: str
    workload: str
    compute: str
    """Precision of the arithmetic."""
    storage: str
    """Precision of what is moved."""
    peak_ops_per_s: float
    bandwidth_bytes_per_s: float
    ops: NDArray[np.float64]
    bytes_moved: NDArray[np.float64]
    """By the memory; what a cache answers is not among it."""
    overhead_s: float
    """Per kernel. [s]"""
    launches: NDArray[np.float64]
    """Kernels of each op: as many as the op repeats."""
    peaks_ops_per_s: Numbers | None = field(default=None, kw_only=True)
    """Of each op, where a policy has ops compute in two precisions; else all have the same. [op/s], shape (ops,)"""
    is_calibrated: ClassVar[bool] = False
    """Whether the times are those of calibrated kernel models."""

    @cached_property
    def peak_s(self) -> NDArray[np.float64]:
        """Time of each op at its peak. Shape (ops,). [s]"""
        peak = self.peak_ops_per_s if self.peaks_ops_per_s is None else self.peaks_ops_per_s
        return np.asarray(compute_time_s(self.ops, peak))

    @property
    def compute_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return self.peak_s

    @cached_property
    def memory_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return np.asarray(memory_time_s(self.bytes_moved, self.bandwidth_bytes_per_s))

    @cached_property
    def work_s(self) -> NDArray[np.float64]:
        """Compute and memory together, without the launch. Shape (ops,). [s]"""
        return np.asarray(work_time_s(self.compute_s, self.memory_s))

    @property
    def launch_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return self.launches * self.overhead_s

    @property
    def kernel_models(self) -> NDArray[np.str_]:
        """By which model each op is timed. Shape (ops,)"""
        return np.full(len(self.ops), "roofline")

    @cached_property
    def kernel_s(self) -> NDArray[np.float64]:
        """Work and launch. Shape (ops,). [s]"""
        return read_only(np.asarray(self.work_s + self.launch_s))

    def latencies_s(self, sums: Sums) -> Numbers:
        """Of the whole workload, or of each table of a stack: kernels run one after the other. [s]"""
        return sums(self.kernel_s)

    @property
    def latency_s(self) -> float:
        """Of the whole workload. [s]"""
        return float(self.latencies_s(whole))

    @property
    def intensity_ops_per_byte(self) -> float:
        """Of the whole workload. [op/B]"""
        return float(self.ops.sum() / self.bytes_moved.sum())

    @property
    def breakpoint_ops_per_byte(self) -> float:
        """Of the device at this precision. [op/B]"""
        return float(breakpoint_ops_per_byte(self.peak_ops_per_s, self.bandwidth_bytes_per_s))

    @property
    def efficiency(self) -> float:
        """Attained over peak rate; over the peak of each op, where they differ. [1]"""
        if self.peaks_ops_per_s is not None:
            return float(self.peak_s.sum()) / self.latency_s
        return float(compute_time_s(self.ops.sum(), self.peak_ops_per_s)) / self.latency_s

    def waits_of(self, sums: Sums) -> Mapping[str, Numbers]:
        """What each latency waits for: compute of some kernels, memory of others, launches; they add up to it. [s]"""
        work, computes = self.work_s, self.compute_s >= self.memory_s
        return {"compute": sums(work, computes), "memory": sums(work, ~computes), "launch": sums(self.launch_s)}

    @cached_property
    def waits_s(self) -> Mapping[str, float]:
        """What the latency of the whole workload waits for. [s]"""
        return {name: float(seconds) for name, seconds in self.waits_of(whole).items()}

    @property
    def bound(self) -> str:
        """What most of the latency waits for: `compute`, `memory` or `launch`."""
        return max(self.waits_s, key=lambda name: self.waits_s[name])


def cache_bytes(hardware: Hardware) -> Numbers:
    """Capacity of the largest cache or on-chip memory; 0 where none is known. [B]"""
    return reduce(np.maximum, (fact.value for fact in hardware.caches.values()), 0.0)


def estimate(
    hardware: Hardware,
    workload: Workload,
    *,
    compute: str,
    storage: str | None = None,
    unit: ComputeUnit | None = None,
    memory: Memory | None = None,
    overhead_s: float | None = None,
    cached: bool = False,
) -> Estimate:
    """The plain roofline of a workload on a device.

    The peak is that of the units that work together in `compute`, unless one is named; `storage` is `compute` by
    default. The launch overhead is the device's fact, or zero where it has none, unless one is given. Every byte comes
    from memory, unless `cached`: then the device's largest cache keeps what it can between ops.
    Raises UnsupportedError where the device cannot compute in that precision or has no memory, UndisclosedError where
    a rate is not disclosed.
    """
    return estimate_at(
        unit.peak_ops_per_s(compute) if unit else working_peak_ops_per_s(hardware, compute),
        (memory or hardware.main_memory()).bandwidth_bytes_per_s,
        hardware,
        workload,
        compute=compute,
        storage=storage or compute,
        overhead_s=overhead_s,
        cache_bytes=cache_bytes(hardware) if cached else 0.0,
    )


def estimate_at(
    peak_ops_per_s: float,
    bandwidth_bytes_per_s: float,
    hardware: Hardware,
    workload: Workload,
    *,
    compute: str,
    storage: str,
    overhead_s: float | None = None,
    cache_bytes: Numbers = 0.0,
    wide_ops_per_s: Numbers | None = None,
) -> Estimate:
    """The same under a given peak in op/s and bandwidth in B/s; the launch overhead is the device's unless given.

    `cache_bytes` is the capacity of a cache that keeps what it can between ops. `storage` may be a policy, of which
    `wide_ops_per_s` is the peak of ops that it leaves wide, where it is another one.
    """
    fact = hardware.facts.get("launch_overhead")
    own = fact.value if fact else 0.0
    return Estimate(
        hardware=hardware.id,
        workload=workload.name,
        compute=compute,
        storage=storage,
        peak_ops_per_s=peak_ops_per_s,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        ops=workload.column("ops"),
        bytes_moved=bytes_from_memory(workload, storage, cache_bytes),
        overhead_s=own if overhead_s is None else overhead_s,
        launches=workload.column("repeats"),
        peaks_ops_per_s=None
        if wide_ops_per_s is None
        else np.where(workload.narrow(storage), peak_ops_per_s, wide_ops_per_s),
    )
