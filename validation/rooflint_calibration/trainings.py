"""Published rates of training, golden/silicon/published/trainings/*.yaml, and steps by the roofline.

Where a row names the system of its devices, and how they share the network, its step has what they exchange, and the
optimizer; otherwise both are left out. So is fusion, which saves bytes: the bound counts what is computed alone.

    seconds of a token = devices × (forward + backward + again + exchanged + optimizer) / tokens of all devices
    bound              = what of it is computed
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from rooflint.coefficients.library import FREE
from rooflint.energy.model import Energies
from rooflint.hardware.device import working_peak_ops_per_s
from rooflint.hardware.names import system_of
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import Id
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.parallel import Place, place
from rooflint.prediction.predict import Setting
from rooflint.prediction.training import Training, train
from rooflint.prediction.training_run import Recompute, Run
from rooflint.workloads.networks import Network, network_named
from rooflint.workloads.parallelism import Parallelism
from rooflint_calibration.generations import RatedRowSpec, RatedTable, RatedTableSpec, read_as
from rooflint_calibration.networks import of_others
from rooflint_calibration.package import PUBLISHED, tables_in
from rooflint_calibration.published import file_of

TOPIC = "training"
FOLDER = f"{PUBLISHED}/trainings"
"""The folder of a golden root with these tables; it has no claims."""


class TrainingRowSpec(RatedRowSpec):
    """One published run."""

    length: Annotated[int, Field(ge=1)]
    """Tokens of a sequence; a network that was built for more of them than its context has positions for them."""
    batch: Annotated[int, Field(ge=1)]
    """Sequences that a device computes at once."""
    recompute: Recompute
    system: Id | None = None
    """What the devices are part of, where it is known how they share the network; those that are left are `dp`."""
    tp: Annotated[int, Field(ge=1)] = 1
    pp: Annotated[int, Field(ge=1)] = 1
    virtual_stages: Annotated[int, Field(ge=1)] = 1
    ep: Annotated[int, Field(ge=1)] = 1
    sp: bool = False
    zero: Annotated[int, Field(ge=0, le=3)] = 0
    lora: Annotated[int, Field(ge=0)] = 0
    """Rank of the adapters that are trained alone."""
    micro_batches: Annotated[int, Field(ge=1)] = 1
    """Of a step."""

    @property
    def label(self) -> str:
        """For a reader."""
        how = f", {self.how}" if str(self.how) else ""
        return f"{self.network} on {self.devices} {self.device}{how}, {self.batch} × {self.length} tokens"

    @property
    def how(self) -> Parallelism:
        """How devices share the network, without those that have copies of it."""
        return Parallelism(self.tp, self.pp, self.ep, 1, self.virtual_stages, self.sp)


class TrainingTableSpec(RatedTableSpec):
    """Rates of tokens that a network is trained on."""

    rows: Annotated[list[TrainingRowSpec], Field(min_length=2)]


TrainingTable = RatedTable[TrainingTableSpec]


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    return tables_in(FOLDER, roots)


def find(slug: str, roots: Iterable[Path]) -> TrainingTable:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    return read(file_of(slug, FOLDER, files(roots)))


def read(file: Path, text: str | None = None) -> TrainingTable:
    """A table, or a text in its place. Raises InputError."""
    return read_as(TrainingTableSpec, file, text)


# ---- Predictions


def predicted_s(table: TrainingTable, registry: Registry) -> Numbers:
    """Time of a token by the roofline, without launches: no kernel of a backward pass was calibrated. [s], (rows,)"""
    rows = zip(table.spec.rows, _steps(table, registry), strict=True)
    return np.array([_of_token(step, step.step_s if row.system else _passes_s(step)) for row, step in rows])


def bound_s(table: TrainingTable, registry: Registry) -> Numbers:
    """The least time of a token: what is computed, at the peak. [s], shape (rows,)"""
    steps = _steps(table, registry)
    computed = ((one, sum(each.times.compute_s.sum() for each in one.whole.all)) for one in steps)
    return np.array([_of_token(one, one.run.micro_batches * seconds / one.run.how.pp) for one, seconds in computed])


def _of_token(step: Training, seconds: float) -> float:
    """Of a device. [s]"""
    return seconds * step.place.how.devices / step.run.tokens


def _passes_s(step: Training) -> float:
    return step.run.micro_batches * step.whole.seconds


def _steps(table: TrainingTable, registry: Registry) -> Iterator[Training]:
    energies, setting = Energies.of(registry), Setting(table.spec.precision, launch=FREE)
    for row in table.spec.rows:
        where, how = Place(registry.get(row.device)), Parallelism()
        if row.system:
            how = replace(row.how, dp=row.devices // row.how.devices)
            where = place(where.hardware, how, registry, system_of(registry, registry.get(row.system)))
        sequences = row.batch * row.micro_batches * how.copies
        run = Run(
            _network(row, registry), sequences, row.length, row.recompute, how, row.zero, row.batch, lora=row.lora
        )
        yield train(where, run, energies, setting)


def _network(row: TrainingRowSpec, registry: Registry) -> Network:
    found = network_named(row.network, (*registry.roots, PACKAGED))
    net = found.transformer
    return found if row.length <= net.context else replace(found, configuration=replace(net, context=row.length))


def baselines_s(table: TrainingTable, registry: Registry) -> Mapping[str, Numbers]:
    """Time of a token by the peak of the datasheet, and by 6 N over it, each with a constant fitted to the other rows.

    [s], shape (rows,)
    """
    rows = table.spec.rows
    peaks = np.array([working_peak_ops_per_s(registry.get(row.device), table.spec.precision) for row in rows])
    parameters = np.array([_network(row, registry).transformer.active_parameters for row in rows])
    rates = {"peak × constant": peaks, "peak over parameters × constant": peaks / parameters}
    return {name: of_others(table.seconds, rate) for name, rate in rates.items()}
