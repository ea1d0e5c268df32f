"""Published rates of whole networks, golden/silicon/published/networks/*.yaml, predictions and trivial baselines.

A baseline is the datasheet's peak, or its bandwidth, times one constant; the constant of a row is the geometric mean of
all other rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rooflint.coefficients.library import FREE
from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import Id, Strict, Text, Word
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels.chip import MissingFactError
from rooflint.kernels.constants import GROUPS, constants_file
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.predict import ROOFLINE, SILICON, Setting, predict
from rooflint.workloads.workload import Workload
from rooflint_calibration.package import PUBLISHED, tables_in
from rooflint_calibration.published import PublishedSourceSpec, family_of, file_of, lines_of

TOPIC = "network"
"""What claims about these tables are about, where others are about a kind of kernel."""
FOLDER = f"{PUBLISHED}/networks"
"""The folder of a golden root with these tables; it has no claims."""


class RowSpec(Strict):
    """One published result."""

    device: Id
    per_s: Annotated[float, Field(gt=0)]
    """Samples a second of all accelerators together."""
    accelerators: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    """Samples that one accelerator runs together."""
    launch: Literal["stream", "graph"]
    round: Text
    submitter: Text
    system: Text


class NetworkTableSpec(Strict):
    """One table: one network in one precision on many devices."""

    title: Text
    workload: dict[str, Any]
    precision: Word
    fuse: bool
    passes: Annotated[int, Field(ge=1)] = 1
    """Samples of the network that a published one takes: steps of a diffusion, twice with guidance."""
    source: PublishedSourceSpec
    why: Text
    """How rows were picked and what was left out; what was fused, launched and padded."""
    rows: Annotated[Sequence[RowSpec], Field(min_length=2)]


@dataclass(frozen=True)
class NetworkTable:
    """One table."""

    file: Path
    spec: NetworkTableSpec
    lines: tuple[int, ...]
    """Line of each row in the file."""

    @property
    def slug(self) -> str:
        """Its name in claims."""
        return self.file.stem

    each = "sample"
    """What the rates are of."""

    def label(self, row: int) -> str:
        """A row for a reader."""
        of = self.spec.rows[row]
        return f"{of.device}, batch {of.batch}"

    @property
    def seconds(self) -> Numbers:
        """Time of one sample on one accelerator. [s], shape (rows,)"""
        return np.array([row.accelerators / row.per_s / self.spec.passes for row in self.spec.rows])


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    return tables_in(FOLDER, roots)


def find(slug: str, roots: Iterable[Path]) -> NetworkTable:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    return read(file_of(slug, FOLDER, files(roots)))


def read(file: Path, text: str | None = None) -> NetworkTable:
    """A table, or a text in its place. Raises InputError."""
    document, spec = read_spec(file, NetworkTableSpec, text)
    return NetworkTable(file, spec, lines_of(document, [row.device for row in spec.rows]))


# ---- Predictions

EnergiesOf = Callable[[Hardware], Energies]
"""What predictions of a device rest on, the constants of kernel times among it."""


def held_out(registry: Registry) -> EnergiesOf:
    """Constants that were fitted without the family of a device; those of all families where it has none."""
    file, shared = constants_file(registry), Energies.of(registry)
    families = {family for group in GROUPS for family in file.families(group)}
    without = {family: shared.at(file.without(family)) for family in families}
    return lambda device: without.get(family_of(device), shared)


def predicted_s(
    table: NetworkTable,
    work: Workload,
    registry: Registry,
    fidelity: str,
    *,
    cached: bool = True,
    energies: EnergiesOf | None = None,
) -> Numbers:
    """Time of one sample: expected, or the bound by the roofline, which has no launches. [s], shape (rows,)

    Raises MissingFactError for a device without kernel models, where `fidelity` is that of these.
    """
    of = energies or (lambda _: Energies.of(registry))

    def one(row: RowSpec) -> float:
        launch = row.launch if fidelity == SILICON else FREE
        setting = Setting(table.spec.precision, fuse=table.spec.fuse, launch=launch, fidelity=fidelity, cached=cached)
        device = registry.get(row.device)
        found = predict(device, work.at_batch(row.batch), of(device), setting)
        if found.fidelity != fidelity:
            raise MissingFactError(found.reasons["fidelity"])
        return found.latency_s / row.batch

    return np.array([one(row) for row in table.spec.rows])


def bound_s(table: NetworkTable, work: Workload, registry: Registry, *, cached: bool = True) -> Numbers:
    """The least time of one sample, by the roofline. [s], shape (rows,)"""
    return predicted_s(table, work, registry, ROOFLINE, cached=cached)


def baselines_s(table: NetworkTable, registry: Registry) -> Mapping[str, Numbers]:
    """Time of one sample by a figure of the datasheet and a constant, fitted to the other rows. [s], shape (rows,)"""
    devices = [registry.get(row.device) for row in table.spec.rows]
    rates = {
        "peak × constant": [working_peak_ops_per_s(one, table.spec.precision) for one in devices],
        "bandwidth × constant": [one.main_memory().bandwidth_bytes_per_s for one in devices],
    }
    return {name: of_others(table.seconds, np.array(rate)) for name, rate in rates.items()}


def of_others(seconds: Numbers, rate: Numbers) -> Numbers:
    """Constant over rate, whose constant is the geometric mean of all other rows. [s], shape (rows,)"""
    each = np.log(seconds * rate)
    return np.asarray(np.exp((each.sum() - each) / (len(each) - 1)) / rate)


def nearer(table: NetworkTable, predicted_s: Numbers, baselines: Iterable[Numbers]) -> list[str]:
    """Devices of the rows where a baseline is nearer than a prediction."""
    off, *others = (np.abs(np.log(seconds / table.seconds)) for seconds in (predicted_s, *baselines))
    beaten = np.min(others, axis=0) < off
    return [row.device.rpartition("/")[2] for row, one in zip(table.spec.rows, beaten, strict=True) if one]


def nearer_line(table: NetworkTable, names: Sequence[str]) -> str:
    """The same for a reader, in Markdown."""
    return f"| `{table.slug}` | {len(names)} of {len(table.seconds)} | {', '.join(names)} |"


class Order(NamedTuple):
    """How well predictions put devices in order."""

    spearman: float
    right: int
    """Pairs with the faster one predicted."""
    pairs: int


def order(predicted_s: Numbers, measured_s: Numbers) -> Order:
    """Rank correlation, and pairs of devices with the faster one predicted; equal predictions are wrong."""
    one, other = np.triu_indices(len(measured_s), 1)
    right = (predicted_s[one] - predicted_s[other]) * (measured_s[one] - measured_s[other]) > 0
    ranks = np.corrcoef(_ranks(predicted_s), _ranks(measured_s))[0, 1]
    return Order(float(ranks), int(right.sum()), len(one))


def _ranks(values: Numbers) -> Numbers:
    """Equal ones share the mean of their ranks."""
    among = np.sort(values)
    return np.asarray((np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")) / 2)
