"""Grid: carbon intensity and price of electricity by place, and the PUE of data centres.

    Grid(registry).carbon("gcp/us-central1")[0].g_per_kwh         # the newest year
    Grid(registry).electricity("gcp/us-central1")[0].place        # usa/iowa: of the place that it lies in

A place without a figure of its own takes that of the place that it lies in; `place` names it.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rooflint.base.errors import Problem, RooflintError
from rooflint.base.facts import Fact
from rooflint.base.units import JOULES_PER_KWH
from rooflint.cost.schema import GridSpec
from rooflint.hardware.registry import FactFile, LayeredFiles, Registry


class UnknownPlaceError(RooflintError):
    """A place that no root has; the message names the nearest ones."""


class NoReadingError(RooflintError):
    """A figure that is not published for a place, nor for those that it lies in."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one place and year."""

    place: str
    """The place that the figure is of."""
    year: int
    fact: Fact

    @property
    def g_per_kwh(self) -> float:
        """Of a carbon intensity. [g/kWh]"""
        return self.fact.value * JOULES_PER_KWH

    @property
    def usd_per_kwh(self) -> float:
        """Of a price of electricity. [USD/kWh]"""
        return self.fact.value * JOULES_PER_KWH

    @property
    def pue(self) -> float:
        """Of a PUE. [1]"""
        return self.fact.value

    @property
    def citation(self) -> str:
        """`380.9 g/kWh, deu 2023, Our World in Data …, DEU (read)`."""
        source = self.fact.source
        where = f"{source.document}, {self.fact.where} ({source.grade})"
        return f"{self.fact.display}, {self.place} {self.year}, {where}"


@dataclass(frozen=True)
class Grid:
    """Places of the registry's roots; of each place, the first root that has any figure of a kind wins."""

    registry: Registry

    @cached_property
    def _files(self) -> LayeredFiles[GridSpec]:
        return LayeredFiles(self.registry, "grid", GridSpec, _problems)

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is not an id."""
        return self._files.files(root)

    def check(self, file: Path) -> None:
        """Read a file for what is wrong with it. Raises InputError."""
        self._files.read(file)

    def places(self) -> list[str]:
        """Ids of all places. Raises InputError."""
        return sorted({place for layer in self._files.layers() for file in layer for place in file.spec.places})

    def carbon(self, place: str) -> list[Reading]:
        """Carbon intensity of a place, newest year first. Raises UnknownPlaceError, NoReadingError or InputError."""
        return self._of(place, "carbon", "intensity")

    def electricity(self, place: str) -> list[Reading]:
        """Price of electricity of a place, newest year first. Raises as `carbon` does."""
        return self._of(place, "electricity", "price")

    def pue(self, place: str) -> list[Reading]:
        """PUE of a place or of a provider's fleet, newest year first. Raises as `carbon` does."""
        return self._of(place, "pue", "factor")

    def around(self, place: str) -> list[str]:
        """The place, the one that it lies in, and so on. Raises UnknownPlaceError or InputError."""
        known = self.places()
        if place not in known:
            near = difflib.get_close_matches(place.lower(), known, n=3, cutoff=0.5)
            raise UnknownPlaceError(f"unknown place '{place}'" + (f"; nearest: {', '.join(near)}" if near else ""))
        found, here = [], place
        while here and here not in found:
            found.append(here)
            specs = (file.spec.places.get(here) for layer in self._files.layers() for file in layer)
            here = next((spec.within for spec in specs if spec and spec.within), "")
        return found

    def _of(self, place: str, quantity: str, key: str) -> list[Reading]:
        around = self.around(place)
        for here in around:
            if found := self._first(here, quantity, key):
                return sorted(found, key=lambda one: one.year, reverse=True)
        name = "PUE" if quantity == "pue" else quantity
        raise NoReadingError(f"no {name} known of {', nor of '.join(around)}")

    def _first(self, place: str, quantity: str, key: str) -> list[Reading]:
        """Figures of the first root that has any."""
        for layer in self._files.layers():
            found = [
                Reading(place, row.year, file.facts[f"places.{place}.{quantity}.{position}.{key}"])
                for file in layer
                if place in file.spec.places
                for position, row in enumerate(getattr(file.spec.places[place], quantity))
            ]
            if found:
                return found
        return []


def _problems(file: FactFile[GridSpec]) -> Iterator[Problem]:
    """A year that is given twice."""
    for place, spec in file.spec.places.items():
        for quantity in ("carbon", "electricity", "pue"):
            seen: dict[tuple[int, str], int] = {}
            for position, row in enumerate(getattr(spec, quantity)):
                path = ("places", place, quantity, position)
                key = (row.year, getattr(row, "accounting", "") or getattr(row, "sector", ""))
                if key in seen:
                    message = f"{row.year} is given already, in line {seen[key]}; keep one"
                    yield file.document.problem(path, f"places.{place}.{quantity}: {message}")
                seen.setdefault(key, file.document.line(path))
