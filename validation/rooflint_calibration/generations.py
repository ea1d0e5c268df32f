"""Published rates of language models that write tokens, golden/silicon/published/generations/*.yaml, and predictions.

An engine that is always full runs as many sequences as fit; one that has so many in all runs them in the fewest rounds,
each with as many. A sequence then takes its share of a prefill, and of a step
of decode for each token that it writes, at the mean length of the cache:

    seconds of a token = (prefill / sequences in it + tokens × step / sequences) / tokens

An engine that reads prompts beside the tokens that it writes can compute the ones while it waits for the bytes of the
others, so the bound is the longer of all that it computes and of what its steps move:

    bound = max(compute of prefill and of a step, bytes of a step), each for one token
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import numpy as np
from pydantic import Field

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import FREE
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import Id, Strict, Text, Word
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels.chip import MissingFactError
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.parallel import Pass, Split, place
from rooflint.prediction.predict import ROOFLINE, SILICON, Setting
from rooflint.prediction.run import PASS_TOKENS
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.footprint import footprint
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism
from rooflint.workloads.transformer import Step, table
from rooflint_calibration.networks import EnergiesOf, of_others
from rooflint_calibration.package import PUBLISHED, tables_in
from rooflint_calibration.published import PublishedSourceSpec, file_of, lines_of

TOPIC = "generation"
FOLDER = f"{PUBLISHED}/generations"
"""The folder of a golden root with these tables; it has no claims."""
MOST_SEQUENCES = 2048
"""Sequences that an engine runs together at most: the default of `max_batch_size` in TensorRT-LLM (`BuildConfig`).

The bound has no such limit.
"""


class RatedRowSpec(Strict):
    """One published rate."""

    network: Id
    device: Id
    tokens_per_s: Annotated[float, Field(gt=0)]
    """Of all devices together."""
    devices: Annotated[int, Field(ge=1)] = 1

    @property
    @abstractmethod
    def label(self) -> str:
        """For a reader."""


class RatedTableSpec(Strict):
    """One table, in one precision."""

    title: Text
    precision: Word
    source: PublishedSourceSpec
    why: Text
    """How rows were picked and what was left out; what the lengths are means of."""
    rows: Sequence[RatedRowSpec]


Spec = TypeVar("Spec", bound=RatedTableSpec)


@dataclass(frozen=True)
class RatedTable(Generic[Spec]):
    """One table of tokens a second."""

    file: Path
    spec: Spec
    lines: tuple[int, ...]

    @property
    def slug(self) -> str:
        """Its name in claims."""
        return self.file.stem

    each = "token"
    """What the rates are of."""

    def label(self, row: int) -> str:
        """A row for a reader."""
        return self.spec.rows[row].label

    @property
    def seconds(self) -> Numbers:
        """Time of a token of one device, or of one group that shares the network. [s], shape (rows,)"""
        return np.array([row.devices / row.tokens_per_s for row in self.spec.rows])


def read_as(spec: type[Spec], file: Path, text: str | None = None) -> RatedTable[Spec]:
    """A table, or a text in its place. Raises InputError."""
    document, found = read_spec(file, spec, text)
    return RatedTable(file, found, lines_of(document, [row.label for row in found.rows]))


class GenerationRowSpec(RatedRowSpec):
    """One published result; its devices have the whole network each, or are groups of `tp` or `ep` that share it."""

    tp: Annotated[int, Field(ge=1)] = 1
    """Devices that share each product."""
    ep: Annotated[int, Field(ge=1)] = 1
    """Devices that share the experts, each with attention for sequences of its own."""
    prompt: Annotated[int, Field(ge=1)]
    generate: Annotated[int, Field(ge=1)]
    requests: Annotated[int, Field(ge=1)] | None = None
    """Sequences of the whole run, all there from its beginning; without them the engine never runs out of any."""
    where: Text | None = None

    @property
    def label(self) -> str:
        """For a reader."""
        shared = f" {self.how}" if self.how.devices > 1 else ""
        return f"{self.network} on {self.device}{shared}, {self.prompt} + {self.generate} tokens"

    @property
    def how(self) -> Parallelism:
        """How a network is shared."""
        return Parallelism(self.tp, 1, self.ep)


class GenerationTableSpec(RatedTableSpec):
    """Rates of tokens that are written."""

    rows: Annotated[list[GenerationRowSpec], Field(min_length=2)]


GenerationTable = RatedTable[GenerationTableSpec]


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    return tables_in(FOLDER, roots)


def find(slug: str, roots: Iterable[Path]) -> GenerationTable:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    return read(file_of(slug, FOLDER, files(roots)))


def read(file: Path, text: str | None = None) -> GenerationTable:
    """A table, or a text in its place. Raises InputError."""
    return read_as(GenerationTableSpec, file, text)


# ---- Predictions


def predicted_s(
    tables: GenerationTable, registry: Registry, fidelity: str, energies: EnergiesOf | None = None
) -> Numbers:
    """Time of a token, by kernel models or by the roofline without launches. [s], shape (rows,)

    Raises RooflintError for an unknown device or network, where not one sequence fits, and for a device without kernel
    models, where `fidelity` is that of these.
    """
    return np.array([passes.token_s for passes in _passes(tables, registry, fidelity, energies)])


def bound_s(tables: GenerationTable, registry: Registry) -> Numbers:
    """The least time of a token, whatever an engine runs beside each other. [s], shape (rows,)"""
    return np.array([passes.least_s for passes in _passes(tables, registry, ROOFLINE)])


@dataclass(frozen=True)
class _Passes:
    """What a token takes its share of."""

    prefill: Pass
    read: int
    """Sequences in it, on all devices."""
    step: Pass
    together: int
    """The same of a step."""
    generate: int

    @property
    def token_s(self) -> float:
        """One pass after the other. [s]"""
        return self.prefill.latency_s / self.read / self.generate + self.step.latency_s / self.together

    @property
    def least_s(self) -> float:
        """All that is computed, or the bytes of steps: a pass that does both reads weights once. [s]"""
        prefill, step = self.prefill.prediction.times, self.step.prediction.times
        computed = prefill.compute_s.sum() / self.read / self.generate + step.compute_s.sum() / self.together
        return float(max(computed, step.memory_s.sum() / self.together))


def _passes(
    tables: GenerationTable, registry: Registry, fidelity: str, energies: EnergiesOf | None = None
) -> Iterator[_Passes]:
    of = energies or (lambda _: Energies.of(registry))
    launch, most = ("graph", MOST_SEQUENCES) if fidelity == SILICON else (FREE, None)
    setting = Setting(tables.spec.precision, launch=launch, fidelity=fidelity)
    for row in tables.spec.rows:
        yield _of_row(row, registry, of(registry.get(row.device)), setting, most)


def _of_row(
    row: GenerationRowSpec, registry: Registry, energies: Energies, setting: Setting, most: int | None
) -> _Passes:
    net, device, how = _net(row, registry), registry.get(row.device), row.how
    split = Split(net, place(device, how, registry), energies, setting)
    past = row.prompt + row.generate // 2
    of_group = _sequences(split.own, device, setting.compute, past)
    if of_group < 1:
        raise RooflintError(f"{row.network} does not fit {split.place.label} with a sequence of {past} tokens")
    together = _at_once(min(of_group, most or of_group) * how.groups, row.requests)
    read = max(PASS_TOKENS // row.prompt, 1) * how.groups
    step = split.phase(together, 1, [Step(past)])
    prefill = split.phase(read, row.prompt, [Step(0)])
    for found in (step.prediction, prefill.prediction):
        if found.fidelity != setting.fidelity:
            raise MissingFactError(found.reasons["fidelity"])
    return _Passes(prefill, read, step, together, row.generate)


def _at_once(room: int, requests: int | None) -> int:
    """Sequences that run together: all that there is room for, or an equal share of so many as there are."""
    return room if requests is None else -(-requests // -(-requests // room))


def _net(row: GenerationRowSpec, registry: Registry) -> Transformer:
    return network_named(row.network, (*registry.roots, PACKAGED)).transformer


def _sequences(net: Transformer, device: Hardware, storage: str, past: int) -> int:
    """How many of that mean length fit a device beside its part of the weights."""
    one = footprint(table(net, 1, 1, [Step(past)]))
    room = device.main_memory().capacity_bytes - one.weight_bytes(storage)
    return int(room // one.cache_bytes(storage))


def baselines_s(tables: GenerationTable, registry: Registry) -> Mapping[str, Numbers]:
    """Time of a token by a figure of the datasheet, the parameters and a constant, fitted to the other rows.

    Peak over the parameters that a token meets, bandwidth over all that are read. [s], shape (rows,)
    """
    rows = [(registry.get(row.device), _net(row, registry), row.how.devices) for row in tables.spec.rows]
    rates = {
        "peak × constant": [
            count * working_peak_ops_per_s(device, tables.spec.precision) / net.active_parameters
            for device, net, count in rows
        ],
        "bandwidth × constant": [
            count * device.main_memory().bandwidth_bytes_per_s / net.parameters for device, net, count in rows
        ],
    }
    return {name: of_others(tables.seconds, np.array(rate)) for name, rate in rates.items()}
