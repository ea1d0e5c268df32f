"""Errors of whole networks: how far predictions are from published tables, to which no constant was fitted.

Each row is predicted by constants that were fitted without the family of its GPU. `rooflint calibrate networks` writes
the errors into specs/silicon.yaml, from where predictions of networks quote them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import yaml

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import MissingFactError
from rooflint.kernels.constants import FamilyErrorSpec, NetworkErrorsSpec
from rooflint.kernels.shapes import Numbers
from rooflint.prediction.predict import SILICON
from rooflint.workloads.workload import Workload
from rooflint_calibration import generations, networks
from rooflint_calibration.evaluation import Score, score
from rooflint_calibration.published import family_of

BLOCK = re.compile(r"^  networks:[^\n]*\n(?:    [^\n]*\n)*", re.MULTILINE)
"""The errors of all tables."""

WIDTH = 200
"""Of a line in YAML, as yamllint allows it. [characters]"""


@dataclass(frozen=True)
class Held:
    """One table with its predictions, each by constants without the family of its device."""

    slug: str
    title: str
    precision: str
    writes: bool
    """Whether its rates are of tokens that are written."""
    families: Sequence[str]
    """Of each row."""
    predicted_s: Numbers
    seconds: Numbers

    @property
    def score(self) -> Score:
        """Of all rows."""
        return score(self.predicted_s, self.seconds)

    @property
    def by_family(self) -> Mapping[str, Score]:
        """Of the rows of each family, in the order in which they come."""
        found, families = {}, np.array(self.families)
        for family in dict.fromkeys(self.families):
            rows = families == family
            found[family] = score(self.predicted_s[rows], self.seconds[rows])
        return found

    def errors(self, name: str) -> NetworkErrorsSpec:
        """What is written of it, under a name for readers."""
        every = self.score
        return NetworkErrorsSpec(
            name=name,
            precision=self.precision,
            writes=self.writes,
            rows=every.rows,
            error=_percent(every.mape),
            bias=_percent(every.bias),
            families={
                family: FamilyErrorSpec(rows=one.rows, error=_percent(one.mape))
                for family, one in self.by_family.items()
            },
        )


def _percent(share: float) -> float:
    return round(100 * share, 1)


Build = Callable[[Any, tuple[Path, ...]], Workload]
"""Reads the workload of a table."""


def held_out(roots: Sequence[Path], registry: Registry, build: Build) -> list[Held]:
    """All tables of networks of some golden folders, and all of tokens; without rows that have no kernel models.

    Raises InputError or RooflintError.
    """
    found = [*_networks(roots, registry, build), *_generations(roots, registry)]
    if not found:
        raise RooflintError(f"no table of networks in {', '.join(str(root / networks.FOLDER) for root in roots)}")
    return found


def _networks(roots: Sequence[Path], registry: Registry, build: Build) -> Iterator[Held]:
    unseen = networks.held_out(registry)
    for table in map(networks.read, networks.files(roots)):
        work = build(table.spec.workload, registry.roots)

        def predict(one: networks.NetworkTable, work: Workload = work) -> Numbers:
            return networks.predicted_s(one, work, registry, SILICON, energies=unseen)

        yield from _held(table, registry, predict, writes=False)


def _generations(roots: Sequence[Path], registry: Registry) -> Iterator[Held]:
    unseen = networks.held_out(registry)

    def predict(one: generations.GenerationTable) -> Numbers:
        return generations.predicted_s(one, registry, SILICON, unseen)

    for table in map(generations.read, generations.files(roots)):
        yield from _held(table, registry, predict, writes=True)


def _held(table: Any, registry: Registry, predict: Callable[[Any], Numbers], *, writes: bool) -> Iterator[Held]:
    """The rows that have kernel models; nothing where none has."""
    families, predicted, seconds = [], [], []
    for row, measured_s in zip(table.spec.rows, table.seconds, strict=True):
        alone = replace(table, spec=table.spec.model_copy(update={"rows": [row]}))
        with suppress(MissingFactError):
            predicted.append(predict(alone).item())
            families.append(family_of(registry.get(row.device)))
            seconds.append(measured_s)
    if predicted:
        arrays = np.array(predicted), np.array(seconds)
        yield Held(table.slug, table.spec.title, table.spec.precision, writes, families, *arrays)


def rewritten(text: str, errors: Mapping[str, NetworkErrorsSpec]) -> str:
    """A file of constants with the errors of some tables instead of those that it has.

    Raises RooflintError for a file without a place for them.
    """
    if not (block := BLOCK.search(text)):
        raise RooflintError("the file of constants has no 'networks:' below 'fit:'")
    head = block.group().partition("\n")[0]
    dumped = {slug: one.model_dump() for slug, one in errors.items()}
    lines = yaml.safe_dump(dumped, default_flow_style=None, sort_keys=False, allow_unicode=True, width=WIDTH)
    return f"{text[: block.start()]}{head}\n{indent(lines, '    ')}{text[block.end() :]}"
