"""Published powers of whole systems that run a network, golden/silicon/published/powers/*.yaml, beside predictions.

A system has hosts, fans and losses besides its accelerators, which cannot draw more than all of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import Text
from rooflint.hardware.spec_files import read_spec
from rooflint.kernels.chip import MissingFactError
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.predict import SILICON, Setting, predict
from rooflint.workloads.workload import Workload
from rooflint_calibration.networks import NetworkTable, NetworkTableSpec, RowSpec
from rooflint_calibration.package import PUBLISHED, tables_in
from rooflint_calibration.published import file_of, lines_of

TOPIC = "power"
FOLDER = f"{PUBLISHED}/powers"
"""The folder of a golden root with these tables; it has no claims."""

Watts = Annotated[float, Field(gt=0)]


class PowerRowSpec(RowSpec):
    """One published result with the power of the system that attained it."""

    system_w: Watts
    """Mean of all nodes at the wall while it ran, with their hosts. [W]"""
    nodes: Annotated[int, Field(ge=1)] = 1
    idle_w: Watts | None = None
    """The least before or after it, with hosts and idle accelerators; None where no document says it. [W]"""
    limit_w: Watts | None = None
    """The power that the submitter limited each accelerator to; None where it was not limited, or by clocks. [W]"""
    above: Text | None = None
    """Why its accelerators are predicted to draw more than the system drew; only of a row where they are."""


class PowerTableSpec(NetworkTableSpec):
    """One table: one network in one precision on many systems."""

    rows: Annotated[list[PowerRowSpec], Field(min_length=2)]


@dataclass(frozen=True)
class PowerTable(NetworkTable):
    """One table."""

    spec: PowerTableSpec

    @property
    def system_w(self) -> Numbers:
        """Published power of each system. [W], shape (rows,)"""
        return np.array([row.system_w for row in self.spec.rows])

    @property
    def explained(self) -> tuple[bool, ...]:
        """Whether a row says why its accelerators are predicted to draw more. Shape (rows,)"""
        return tuple(row.above is not None for row in self.spec.rows)


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """All tables of some golden folders."""
    return tables_in(FOLDER, roots)


def find(slug: str, roots: Iterable[Path]) -> PowerTable:
    """The table of that name. Raises RooflintError if there is none, InputError for an invalid one."""
    return read(file_of(slug, FOLDER, files(roots)))


def read(file: Path, text: str | None = None) -> PowerTable:
    """A table, or a text in its place. Raises InputError."""
    document, spec = read_spec(file, PowerTableSpec, text)
    return PowerTable(file, spec, lines_of(document, [row.device for row in spec.rows]))


@dataclass(frozen=True)
class Drawn:
    """What all accelerators of each system draw at its published rate, by the predicted energy of a sample."""

    low_w: Numbers
    typical_w: Numbers
    high_w: Numbers


def drawn(table: PowerTable, work: Workload, registry: Registry) -> Drawn:
    """By the kernel models, at full clocks. Raises MissingFactError for a device without kernel models."""
    energies = Energies.of(registry)

    def one(row: PowerRowSpec) -> tuple[float, float, float]:
        setting = Setting(table.spec.precision, fuse=table.spec.fuse, launch=row.launch, fidelity=SILICON)
        found = predict(registry.get(row.device), work.at_batch(row.batch), energies, setting)
        if found.fidelity != SILICON:
            raise MissingFactError(found.reasons["fidelity"])
        samples_per_s = row.per_s * table.spec.passes / row.batch
        low, high = found.energy.ends_j
        return low * samples_per_s, found.energy.total_j * samples_per_s, high * samples_per_s

    return Drawn(*np.array([one(row) for row in table.spec.rows]).T)


COLUMNS = ("system", "rate, 1/s", "system, W", "idle, W", "predicted, W", "range, W", "over the system")
EACH = ("limit of each, W", "predicted of each, W")
"""Of a table for readers: of all accelerators of a system, and of each."""


def header() -> list[str]:
    """Of a table for readers, in Markdown."""
    names = (*COLUMNS, *EACH)
    return [f"| {' | '.join(names)} |", f"|---|{'--:|' * (len(names) - 1)}"]


def lines(table: PowerTable, found: Drawn) -> Iterator[str]:
    """Each row for readers, in Markdown."""
    columns = zip(table.spec.rows, found.low_w, found.typical_w, found.high_w, strict=True)
    for row, low, typical, high in columns:
        watts = ".0f" if row.system_w >= 100 else ".1f"
        idle, limit = (format(one, watts) if one else "" for one in (row.idle_w, row.limit_w))
        cells = (
            f"{row.accelerators} × {row.device.rpartition('/')[2]}, {row.round}",
            f"{row.per_s:g}",
            *(format(row.system_w, watts), idle, format(typical, watts), f"{low:{watts}} … {high:{watts}}"),
            *(f"{typical / row.system_w:.2f}", limit, format(typical / row.accelerators, watts)),
        )
        yield f"| {' | '.join(cells)} |"
