"""One row of the files of prices and places: the fact that it states, for those who ask for that row alone.

    Rows.of(registry).price("nvidia/rtx-5090", "purchase", date="2025-01-06").display    # 1999 USD
    Rows.of(registry).reading("deu", "carbon", year=2023).display                        # 380.9 g/kWh

Prices age, so that no row stands for another one: `tables.py` takes the newest, and this module the one that is named.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Place
from rooflint.cost.schema import GridSpec, PricesSpec
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.registry import FactFile, LayeredFiles, Registry

PRICES = {"rent": "price", "purchase": "price", "embodied": "carbon"}
"""Kinds of rows of a device, with the key of their fact."""
READINGS = {"carbon": "intensity", "electricity": "price", "pue": "factor"}
"""Kinds of rows of a place, with the key of their fact."""

_KEYS = {**PRICES, **READINGS}


class NoRowError(RooflintError):
    """No row is the one that is asked for, or several are; the message says which there are."""


@dataclass(frozen=True)
class Rows:
    """The rows of a registry's files; of each device or place, the first root that has any of a kind wins."""

    prices: LayeredFiles[PricesSpec]
    places: LayeredFiles[GridSpec]
    note: Callable[[Fact], None] = lambda _: None
    """Told of each fact that is looked up."""
    changed: Mapping[Place, Fact | None] = field(default_factory=dict)
    """Facts that say something else here, or are missing, by where they are stated."""

    @classmethod
    def of(cls, registry: Registry) -> "Rows":
        """Those of a registry, read once; a registry may hold others than its files say."""
        if "rows" not in registry.others:
            registry.others["rows"] = cls(Prices(registry.source).layered, Grid(registry.source).layered)
        found: Rows = registry.others["rows"]
        return found

    def tracked(self, note: Callable[[Fact], None]) -> "Rows":
        """The same rows, which tell of each fact that is looked up."""
        return replace(self, note=note)

    def with_fact(self, fact: Fact, other: Fact | None) -> "Rows":
        """The same rows with another fact in one of them, or without it."""
        return replace(self, changed={**self.changed, fact.place: other})

    def price(self, device: str, kind: str, **wanted: Any) -> Fact:
        """A rent, a purchase price or the embodied carbon of a device. Raises NoRowError or InputError."""
        return self._one(self.prices.layers(), "devices", device, kind, wanted)

    def reading(self, place: str, kind: str, **wanted: Any) -> Fact:
        """Carbon intensity, price of electricity or PUE of the place itself. Raises NoRowError or InputError."""
        return self._one(self.places.layers(), "places", place, kind, wanted)

    def _one(
        self, layers: Iterator[list[FactFile[Any]]], section: str, name: str, kind: str, wanted: Mapping[str, Any]
    ) -> Fact:
        rows = next(filter(None, (list(_rows(files, section, name, kind)) for files in layers)), [])
        others = [fact for _, fact in rows]
        found = [
            fact for row, fact in rows if all(str(getattr(row, part)) == str(value) for part, value in wanted.items())
        ]
        asked = ", ".join((f"{name} {kind}", *(f"{part} {value}" for part, value in wanted.items())))
        if len(found) != 1:
            which = ", ".join(fact.where for fact in found or others) or "none"
            raise NoRowError(f"want one row of {asked}; found {len(found)} (rows: {which})")
        return self._as_it_is(found[0], asked)

    def _as_it_is(self, fact: Fact, asked: str) -> Fact:
        self.note(fact)
        found = self.changed.get(fact.place, fact)
        if found is None:
            raise NoRowError(f"{asked} is not known")
        return found


def _rows(files: list[FactFile[Any]], section: str, name: str, kind: str) -> Iterator[tuple[Any, Fact]]:
    """The rows of that kind of a device or place in some files, each with its fact."""
    for file in files:
        spec = getattr(file.spec, section).get(name)
        for position, row in enumerate(getattr(spec, kind) if spec else ()):
            yield row, file.facts[f"{section}.{name}.{kind}.{position}.{_KEYS[kind]}"]
