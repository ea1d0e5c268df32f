"""Prices of devices, and carbon intensity and price of electricity by place and PUE of data centres, each with source.

    Prices(registry).rents("nvidia/t4")[0].usd_per_h              # the newest on demand
    Grid(registry).carbon("gcp/us-central1")[0].g_per_kwh         # the newest year
    Grid(registry).electricity("gcp/us-central1")[0].place        # usa/iowa: of the place that it lies in

A place without a figure of its own takes that of the place that it lies in; `place` names it.
"""

import difflib
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rooflint.base.errors import Problem, RooflintError
from rooflint.base.facts import Fact
from rooflint.base.memo import memoised
from rooflint.base.units import JOULES_PER_KWH, SECONDS_PER_HOUR
from rooflint.cost.schema import CostSpec, GridSpec, PricesSpec
from rooflint.hardware.registry import FactFile, LayeredFiles, Registry

FAR = 6
"""Prices of one device on the same terms that lie further apart are refused: a node of eight, or a wrong unit."""

NEAR_YEARS = 3
"""Prices further apart in time are not compared: a P100 fell from 10 500 to 1100 USD in six years."""


SHARES = ("kit", "server share")
"""What a device is bought as where it is not sold alone, the smaller first."""


class NoPriceError(RooflintError):
    """A price that is not known; the message has the device and the conditions."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a device costs, by the hour or to buy, when it was printed, and by whom."""

    fact: Fact
    date: str
    """2025-03-03"""
    terms: str
    """`on demand` or `marketplace` of a rent; `device`, `kit` or `server share`: what is bought."""
    provider: str = ""
    """Who rents it out; empty for a purchase."""

    @property
    def usd_per_h(self) -> float:
        """A rent. [USD/h]"""
        return self.fact.value * SECONDS_PER_HOUR

    @property
    def usd(self) -> float:
        """A purchase price. [USD]"""
        return self.fact.value

    @property
    def citation(self) -> str:
        """`3.22 USD/h, 2025-03-03, Epoch AI …, row 17 (read)`; a kit or a share of a server is named as one."""
        source = self.fact.source
        display = f"{self.fact.display} ({self.terms})" if self.terms in SHARES else self.fact.display
        return f"{display}, {self.date}, {source.document}, {self.fact.where} ({source.grade})"


@dataclass(frozen=True)
class Prices:
    """Rows of the registry's roots; of each device, the first root that has any rows of a kind wins."""

    registry: Registry

    @cached_property
    def layered(self) -> LayeredFiles[PricesSpec]:
        """The files of prices."""
        return LayeredFiles(self.registry, "prices", PricesSpec, lambda file: problems(file, self.registry))

    def rents(self, device: str) -> list[Price]:
        """Rents on demand, newest first; of two of one day, the cheaper one first.

        Raises UnknownDeviceError, NoPriceError or InputError.
        """
        known = self.known(device, "rent")
        having = {f"{one.provider} {one.terms}" for one in known}
        return _on_terms("on demand", known, f"price per hour of {device}, terms on demand", having)

    def purchases(self, device: str) -> list[Price]:
        """Prices to buy the device, in the same order: alone, else in a kit, else as its share of a server.

        Raises as `rents` does.
        """
        known = self.known(device, "purchase")
        sold_as = next((terms for terms in ("device", *SHARES) if any(one.terms == terms for one in known)), "device")
        return _on_terms(sold_as, known, f"purchase price of {device}{self._why_unsold(device)}", set())

    def _why_unsold(self, device: str) -> str:
        """The reason of the first root that gives one, in brackets."""
        files = (file for layer in self.layered.layers() for file in layer)
        reasons = (cost.unsold for file in files if (cost := file.spec.devices.get(device)) and cost.unsold)
        return next((f" ({reason})" for reason in reasons), "")

    def known(self, device: str, kind: Literal["rent", "purchase"]) -> list[Price]:
        """The prices of a device on all terms, in the same order. Raises UnknownDeviceError or InputError."""
        if device not in self.registry.files:
            self.registry.get(device)  # raises, naming the nearest ones
        for layer in self.layered.layers():
            if found := [price for file in layer for price in _read(file, device, kind)]:
                cheapest = sorted(found, key=lambda price: price.fact.value)
                return sorted(cheapest, key=lambda price: price.date, reverse=True)
        return []


def _read(file: FactFile[PricesSpec], device: str, kind: Literal["rent", "purchase"]) -> Iterator[Price]:
    cost = file.spec.devices.get(device, CostSpec())
    facts = [file.facts[f"devices.{device}.{kind}.{row}.price"] for row in range(len(getattr(cost, kind)))]
    if kind == "rent":
        for fact, rent in zip(facts, cost.rent, strict=True):
            yield Price(fact, rent.date, rent.terms.replace("_", " "), rent.provider)
    else:
        for fact, purchase in zip(facts, cost.purchase, strict=True):
            yield Price(fact, purchase.date, purchase.includes.replace("_", " "))


def _on_terms(terms: str, known: Sequence[Price], asked: str, having: set[str]) -> list[Price]:
    if found := [price for price in known if price.terms == terms]:
        return found
    others = f" (known: {', '.join(sorted(having))})" if having else ""
    raise NoPriceError(f"no price known: {asked}{others}")


def problems(file: FactFile[PricesSpec], registry: Registry) -> Iterator[Problem]:
    """Everything that is wrong with the rows of a file, each with its line."""
    yield from _unknown(file, registry)
    for section, costs in (("devices", file.spec.devices), ("products", file.spec.products)):
        for product, cost in costs.items():
            yield from _twice(file, section, product, cost)
            yield from _far(file, section, product, cost)


def _unknown(file: FactFile[PricesSpec], registry: Registry) -> Iterator[Problem]:
    for device in file.spec.devices:
        if device not in registry.files:
            try:
                registry.get(device)
            except RooflintError as error:
                yield file.document.problem(("devices", device), f"devices.{device}: {error}")


def _twice(file: FactFile[PricesSpec], section: str, product: str, cost: CostSpec) -> Iterator[Problem]:
    keys = [(row.provider, row.region, row.instance, row.terms, row.date) for row in cost.rent]
    for row, line in _repeated(file, (section, product, "rent"), keys):
        provider, *_, date = keys[row]
        message = f"{provider} has a price of {date} already, in line {line}; keep one"
        yield file.document.problem((section, product, "rent", row), f"{section}.{product}.rent: {message}")


def _repeated(file: FactFile[Any], path: tuple[str, ...], keys: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Rows of a list whose key an earlier row has, with the line of that one."""
    first: dict[Hashable, int] = {}
    for row, key in enumerate(keys):
        if key in first:
            yield row, file.document.line((*path, first[key]))
        first.setdefault(key, row)


def _far(file: FactFile[PricesSpec], section: str, product: str, cost: CostSpec) -> Iterator[Problem]:
    """Prices on the same terms, and of about the same time, that cannot be of the same thing."""
    kinds: dict[str, list[tuple[int, Fact]]] = defaultdict(list)
    rows = (
        *((f"rent.{row}.price", rent.terms, rent.date) for row, rent in enumerate(cost.rent)),
        *((f"purchase.{row}.price", one.includes, one.date) for row, one in enumerate(cost.purchase)),
        *((f"embodied.{row}.carbon", one.includes, str(one.year)) for row, one in enumerate(cost.embodied)),
    )
    for path, terms, date in rows:
        kind = path.partition(".")[0]
        kinds[f"{kind} {terms}"].append((int(date[:4]), file.facts[f"{section}.{product}.{path}"]))
    for dated in kinds.values():
        yield from _apart(product, dated)


def _apart(product: str, dated: Sequence[tuple[int, Fact]]) -> Iterator[Problem]:
    for year, fact in dated:
        near = (other for when, other in dated if abs(when - year) <= NEAR_YEARS)
        lowest = min(near, key=lambda other: other.value)
        if fact.value > FAR * lowest.value:
            factor = f"is {fact.value / lowest.value:.3g} times the {lowest.display} in line {lowest.line}"
            message = f"{product}: {fact.display} {factor}; a price of a node, or a wrong unit?"
            yield Problem(fact.file, fact.line, message)


# ---- Places


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
        """The value of a carbon intensity. [g/kWh]"""
        return self.fact.value * JOULES_PER_KWH

    @property
    def usd_per_kwh(self) -> float:
        """The value of a price of electricity. [USD/kWh]"""
        return self.fact.value * JOULES_PER_KWH

    @property
    def pue(self) -> float:
        """The value of a PUE. [1]"""
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
    def layered(self) -> LayeredFiles[GridSpec]:
        """The files of places."""
        return LayeredFiles(self.registry, "grid", GridSpec, grid_problems)

    def places(self) -> list[str]:
        """Ids of all places. Raises InputError."""
        return sorted({place for layer in self.layered.layers() for file in layer for place in file.spec.places})

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
            specs = (file.spec.places.get(here) for layer in self.layered.layers() for file in layer)
            here = next((spec.within for spec in specs if spec and spec.within), "")
        return found

    @memoised
    def _of(self, place: str, quantity: str, key: str) -> list[Reading]:
        around = self.around(place)
        for here in around:
            if found := self._first(here, quantity, key):
                return sorted(found, key=lambda one: one.year, reverse=True)
        name = "PUE" if quantity == "pue" else quantity
        raise NoReadingError(f"no {name} known of {', nor of '.join(around)}")

    def _first(self, place: str, quantity: str, key: str) -> list[Reading]:
        """Figures of the first root that has any."""
        for layer in self.layered.layers():
            found = [
                Reading(place, row.year, file.facts[f"places.{place}.{quantity}.{position}.{key}"])
                for file in layer
                if place in file.spec.places
                for position, row in enumerate(getattr(file.spec.places[place], quantity))
            ]
            if found:
                return found
        return []


def grid_problems(file: FactFile[GridSpec]) -> Iterator[Problem]:
    """A year that is given twice."""
    for place, spec in file.spec.places.items():
        for quantity in ("carbon", "electricity", "pue"):
            path, rows = ("places", place, quantity), getattr(spec, quantity)
            keys = [(row.year, getattr(row, "accounting", "") or getattr(row, "sector", "")) for row in rows]
            for row, line in _repeated(file, path, keys):
                message = f"{rows[row].year} is given already, in line {line}; keep one"
                yield file.document.problem((*path, row), f"places.{place}.{quantity}: {message}")
