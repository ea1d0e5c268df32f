"""Latency table: one network on many machines at many batches, without an estimate for each.

A kernel is bound by compute where its intensity is at least the machine's breakpoint. So with the kernels in the order
of their intensity, a prefix is bound by memory and the rest by compute, and two running sums per batch answer for every
machine with one search. The slow twin, `predict` for each, lives in the tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rooflint.coefficients.library import Coefficients, launch_overhead
from rooflint.devices.hardware import Hardware, working_peak_ops_per_s
from rooflint.energy.model import Energies
from rooflint.networks.workload import Workload
from rooflint.prediction.comparison import Contender, Requirement, contend, score_of
from rooflint.prediction.metrics import batch_efficiency
from rooflint.prediction.predict import Prediction, Setting
from rooflint.roofline import breakpoint_ops_per_byte

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
        paid = (launch_overhead(device, coefficients, setting.launch) for device in devices)
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


# ---- Batch sweeps: one network on one device over batches, and the batch that suits it

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)

ENOUGH = 0.95
"""Share of the highest throughput at which a larger batch only adds latency."""

NEARLY = 1.01
"""Energy over the least at which a larger batch saves nothing worth its latency."""


@dataclass(frozen=True)
class BatchSweep:
    """A device in one precision over ascending batches; without predictions where it cannot run the network."""

    contender: Contender
    """The device with its last prediction, or with the reason why there is none."""
    setting: Setting
    predictions: tuple[Prediction, ...]
    single: Prediction | None
    """The same for one sample, against which batches are held; None for a network that has one batch only."""
    label: str
    """`h100-sxm5-80gb`, with its precision where there are several: `h100-sxm5-80gb int8`."""

    def at(self, batch: int) -> Prediction | None:
        """The prediction for a batch."""
        return next((one for one in self.predictions if one.batch == batch), None)

    def efficiency(self, found: Prediction) -> float | None:
        """Throughput of a batch over that of as many single samples at once. [1]"""
        return batch_efficiency(self.single, found) if self.single else None

    def best(self, wanted: Sequence[Requirement] = ()) -> Prediction | None:
        """The smallest batch with 95 % of the highest throughput, of those that fit and keep all requirements."""
        able = [one for one in self.predictions if one.fits is not False and all(each.met(one) for each in wanted)]
        most = max((one.throughput_per_s for one in able), default=0.0)
        return next((one for one in able if one.throughput_per_s >= ENOUGH * most), None)

    def most_frugal(self) -> Prediction | None:
        """The smallest batch with the least energy per inference, to 1 %; None where no energy is wholly known."""
        known = [(energy, one) for one in self.predictions if (energy := score_of(one, "energy")) is not None]
        least = min((energy for energy, _ in known), default=0.0)
        return next((one for energy, one in known if energy <= NEARLY * least), None)

    def turns(self) -> tuple[tuple[Prediction, Prediction], ...]:
        """Neighbouring batches between which something else becomes what the latency waits for."""
        return tuple((one, two) for one, two in pairwise(self.predictions) if one.bound != two.bound)


@dataclass(frozen=True)
class Crossover:
    """Two neighbouring batches between which another device becomes the better one."""

    before: int
    after: int
    """Batches."""
    winner_before: BatchSweep
    winner_after: BatchSweep


def sweep(
    devices: Sequence[Hardware],
    work: Workload,
    energies: Energies,
    settings: Sequence[Setting],
    batches: Sequence[int] = BATCHES,
) -> tuple[BatchSweep, ...]:
    """Each device in each setting over the batches. Raises WorkloadError for a batch that the network does not have."""
    ascending = sorted(set(batches))
    tables = [work.at_batch(batch) for batch in ascending]
    single = None if work.fixed_batch and work.batch > 1 else work.at_batch(1)
    alone = len({setting.compute for setting in settings}) == 1
    return tuple(_swept(device, tables, single, energies, setting, alone) for device in devices for setting in settings)


def _swept(
    device: Hardware,
    tables: Sequence[Workload],
    single: Workload | None,
    energies: Energies,
    setting: Setting,
    alone: bool,
) -> BatchSweep:
    runs = [contend(device, table, energies, setting) for table in tables]
    label = runs[-1].short if alone else f"{runs[-1].short} {setting.compute}"
    found = tuple(one.found for one in runs if one.found)
    base = contend(device, single, energies, setting).found if single and found else None
    return BatchSweep(runs[-1], setting, found, base, label)


def leader(sweeps: Sequence[BatchSweep], batch: int, by: str) -> BatchSweep | None:
    """The best of them at a batch by a criterion or by balance; None in a tie and where it is known of none."""
    scored = [(score, one) for one in sweeps if (score := _score(one, batch, by)) is not None]
    best = min((score for score, _ in scored), default=0.0)
    first = [one for score, one in scored if math.isclose(score, best, rel_tol=1e-9)]
    return first[0] if len(first) == 1 else None


def _score(one: BatchSweep, batch: int, by: str) -> float | None:
    found = one.at(batch)
    return None if found is None else score_of(found, by)


def crossovers(sweeps: Sequence[BatchSweep], by: str) -> tuple[Crossover, ...]:
    """Where, over the batches that all can run, the best by a criterion changes from one sweep to another."""
    able = [one for one in sweeps if one.predictions]
    batches = [found.batch for found in able[0].predictions] if able else []
    leaders = [(batch, one) for batch in batches if (one := leader(able, batch, by))]
    return tuple(
        Crossover(before, after, first, second)
        for (before, first), (after, second) in pairwise(leaders)
        if first is not second
    )
