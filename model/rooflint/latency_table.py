"""Latency table: one network on many machines at many batches, without an estimate for each.

A kernel is bound by compute where its intensity is at least the machine's breakpoint. So with the kernels in the order
of their intensity, a prefix is bound by memory and the rest by compute, and two running sums per batch answer for every
machine with one search. The slow twin, `predict` for each, lives in the tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rooflint.coefficients import Coefficients
from rooflint.hardware import Hardware
from rooflint.launching import overhead
from rooflint.prediction import Setting
from rooflint.processor import working_peak_ops_per_s
from rooflint.roofline import breakpoint_ops_per_byte
from rooflint.workload import Workload

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Machines:
    """What the roofline needs of each machine in one precision; arrays have the shape (machines,)."""

    peak_ops_per_s: Floats
    bandwidth_bytes_per_s: Floats
    overhead_s: Floats
    """Of each kernel. [s]"""

    @classmethod
    def of(cls, devices: Sequence[Hardware], setting: Setting, coefficients: Coefficients) -> Self:
        """Those of devices as a prediction takes them, of a setting its precision and its way of launching.

        Raises UnsupportedError or UndisclosedError for a device that cannot compute in that precision or has no memory,
        UnknownCoefficientError for a way of launching that there is not.
        """
        paid = (overhead(device, coefficients, setting.launch) for device in devices)
        return cls(
            np.array([working_peak_ops_per_s(device, setting.compute) for device in devices], dtype=np.float64),
            np.array([device.main_memory().bandwidth_bytes_per_s for device in devices], dtype=np.float64),
            np.array([one.typical if one else 0.0 for one in paid], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.peak_ops_per_s)


def latencies_s(machines: Machines, work: Workload, batches: Sequence[int], storage: str) -> Floats:
    """Latency of a network at each batch on each machine: Σ max(ops / peak, bytes / bandwidth) + kernels × overhead.

    Shape (batches, machines). [s]. Raises WorkloadError where the network has one batch only.
    """
    table = [_at_one_batch(machines, work.at_batch(batch), storage) for batch in batches]
    return np.array(table, dtype=np.float64).reshape(len(batches), len(machines))


def _at_one_batch(machines: Machines, work: Workload, storage: str) -> Floats:
    """Shape (machines,). [s]"""
    ops, moved = work.ops.astype(np.float64), np.asarray(work.bytes_moved(storage), dtype=np.float64)
    intensity = np.divide(ops, moved, out=np.full_like(ops, np.inf), where=moved > 0)
    order = np.argsort(intensity, kind="stable")
    ridge = breakpoint_ops_per_byte(machines.peak_ops_per_s, machines.bandwidth_bytes_per_s)
    bound_by_memory = np.searchsorted(intensity[order], ridge, side="left")
    streamed = np.concatenate(([0.0], np.cumsum(moved[order])))[bound_by_memory]
    computed = np.concatenate(([0.0], np.cumsum(ops[order][::-1])))[len(ops) - bound_by_memory]
    waited = streamed / machines.bandwidth_bytes_per_s + computed / machines.peak_ops_per_s
    return np.asarray(waited + len(ops) * machines.overhead_s)
