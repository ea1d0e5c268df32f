"""Batch sweeps: one network on one device over batches, the batch that suits it, and where devices change places."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.prediction.comparison import Contender, Requirement, contend, least, score_of
from rooflint.prediction.metrics import batch_efficiency
from rooflint.prediction.predict import Prediction, Setting
from rooflint.workloads.workload import Workload

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
    """The prediction for one sample, which batches are compared with; None for a network with one fixed batch."""
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
    first = least((score_of(found, by), one) for one in sweeps if (found := one.at(batch)))
    return first[0] if len(first) == 1 else None


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
