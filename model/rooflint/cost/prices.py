"""Prices of devices by the hour and to buy, each with its date and source."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from rooflint.base.errors import Problem, RooflintError
from rooflint.base.facts import Fact
from rooflint.base.units import SECONDS_PER_HOUR
from rooflint.cost.schema import CostSpec, PricesSpec
from rooflint.hardware.registry import FactFile, LayeredFiles, Registry

FAR = 6
"""Prices of one device on the same terms that lie further apart are refused: a node of eight, or a wrong unit."""

NEAR_YEARS = 3
"""Prices further apart in time are not compared: a P100 fell from 10 500 to 1100 USD in six years."""


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
    """Of a rent."""

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
        """`3.22 USD/h, 2025-03-03, Epoch AI …, row 17 (read)`."""
        source = self.fact.source
        return f"{self.fact.display}, {self.date}, {source.document}, {self.fact.where} ({source.grade})"


@dataclass(frozen=True)
class Prices:
    """Rows of the registry's roots; of each device, the first root that has any rows of a kind wins."""

    registry: Registry

    @cached_property
    def _files(self) -> LayeredFiles[PricesSpec]:
        return LayeredFiles(self.registry, "prices", PricesSpec, lambda file: problems(file, self.registry))

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is not an id."""
        return self._files.files(root)

    def check(self, file: Path) -> None:
        """Read a file for what is wrong with it. Raises InputError."""
        self._files.read(file)

    def rents(self, device: str) -> list[Price]:
        """Rents on demand, newest first; of two of one day, the cheaper one first.

        Raises UnknownDeviceError, NoPriceError or InputError.
        """
        known = self.known(device, "rent")
        having = {f"{one.provider} {one.terms}" for one in known}
        return _on_terms("on demand", known, f"price per hour of {device}, terms on demand", having)

    def purchases(self, device: str) -> list[Price]:
        """Prices to buy the device alone, in the same order. Raises as `rents` does."""
        known = self.known(device, "purchase")
        return _on_terms("device", known, f"purchase price of {device}, as device", {one.terms for one in known})

    def known(self, device: str, kind: Literal["rent", "purchase"]) -> list[Price]:
        """The prices of a device on all terms, in the same order. Raises UnknownDeviceError or InputError."""
        if device not in self.registry.files:
            self.registry.get(device)  # raises, naming the nearest ones
        for layer in self._files.layers():
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
    seen: dict[tuple[str | None, ...], int] = {}
    for position, row in enumerate(cost.rent):
        path = (section, product, "rent", position)
        key = (row.provider, row.region, row.instance, row.terms, row.date)
        if key in seen:
            message = f"{row.provider} has a price of {row.date} already, in line {seen[key]}; keep one"
            yield file.document.problem(path, f"{section}.{product}.rent: {message}")
        seen.setdefault(key, file.document.line(path))


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
