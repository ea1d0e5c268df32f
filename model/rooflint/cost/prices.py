"""Prices of devices: rent, purchase, and the carbon of making them, each with its date and source."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

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
class Quote:
    """One row: a value, when it was printed, and by whom."""

    product: str
    """A device id, or the source's name of a product with several variants."""
    fact: Fact
    when: str
    """A date, 2025-03-03, or a year."""

    @property
    def citation(self) -> str:
        """`3.22 USD/h, 2025-03-03, Epoch AI …, row 17 (read)`."""
        source = self.fact.source
        return f"{self.fact.display}, {self.when}, {source.document}, {self.fact.where} ({source.grade})"


@dataclass(frozen=True, slots=True)
class RentPrice(Quote):
    """What one hour of one device costs at a provider."""

    provider: str
    region: str
    """As the source names it; empty where it names none."""
    instance: str
    terms: str

    @property
    def usd_per_h(self) -> float:
        """[USD/h]"""
        return self.fact.value * SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class PurchasePrice(Quote):
    """What one device costs to buy: `device`, in a `kit`, or as its `server_share`."""

    includes: str

    @property
    def usd(self) -> float:
        """[USD]"""
        return self.fact.value


@dataclass(frozen=True, slots=True)
class EmbodiedCarbon(Quote):
    """What making one device emitted: alone, or as its `server_share`."""

    includes: str

    @property
    def carbon_g(self) -> float:
        """[g]"""
        return self.fact.value


Q = TypeVar("Q", bound=Quote)


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

    def devices(self) -> list[str]:
        """Ids of all devices of which something is known. Raises InputError."""
        return sorted({device for layer in self._files.layers() for file in layer for device in file.spec.devices})

    def of(
        self, device: str, *, provider: str = "", region: str = "", date: str = "", terms: str = "on_demand"
    ) -> list[RentPrice]:
        """Rents of a device, newest first; of two of one day, the cheaper one first.

        `provider` and `region` are parts of their names, `date` is the day until which prices count.
        Raises UnknownDeviceError, NoPriceError or InputError.
        """
        wanted = {"terms": terms.replace("_", " "), "at": provider, "in": region, "until": date}
        known = self._first(device, _rents)
        found = [
            price
            for price in known
            if price.terms == terms
            and provider.lower() in price.provider.lower()
            and region.lower() in price.region.lower()
            and (not date or price.when <= date)
        ]
        if not found:
            having = sorted({f"{one.provider} {one.terms.replace('_', ' ')}" for one in known})
            raise _none("price per hour", device, wanted, having)
        return _newest(found)

    def purchases(self, device: str, *, includes: str = "device", date: str = "") -> list[PurchasePrice]:
        """Prices to buy a device, newest first. Raises UnknownDeviceError, NoPriceError or InputError."""
        known = self._first(device, _purchases)
        found = [price for price in known if price.includes == includes and (not date or price.when <= date)]
        if not found:
            having = sorted({one.includes.replace("_", " ") for one in known})
            raise _none("purchase price", device, {"as": includes.replace("_", " "), "until": date}, having)
        return _newest(found)

    def embodied(self, device: str) -> list[EmbodiedCarbon]:
        """Carbon of making a device, newest first. Raises UnknownDeviceError, NoPriceError or InputError."""
        if not (found := self._first(device, _embodied)):
            raise _none("embodied carbon", device, {}, [])
        return _newest(found)

    def _first(self, device: str, read: "Reader[Q]") -> list[Q]:
        if device not in self.registry.files:
            self.registry.get(device)  # raises, naming the nearest ones
        for layer in self._files.layers():
            found = [
                quote
                for file in layer
                if device in file.spec.devices
                for quote in read(file, "devices", device, file.spec.devices[device])
            ]
            if found:
                return found
        return []


Reader = Callable[[FactFile[PricesSpec], str, str, CostSpec], Sequence[Q]]


def _rents(file: FactFile[PricesSpec], section: str, product: str, cost: CostSpec) -> list[RentPrice]:
    facts = _facts(file, f"{section}.{product}.rent", "price")
    return [
        RentPrice(product, fact, row.date, row.provider, row.region or "", row.instance or "", row.terms)
        for fact, row in zip(facts, cost.rent, strict=True)
    ]


def _purchases(file: FactFile[PricesSpec], section: str, product: str, cost: CostSpec) -> list[PurchasePrice]:
    facts = _facts(file, f"{section}.{product}.purchase", "price")
    return [
        PurchasePrice(product, fact, row.date, row.includes) for fact, row in zip(facts, cost.purchase, strict=True)
    ]


def _embodied(file: FactFile[PricesSpec], section: str, product: str, cost: CostSpec) -> list[EmbodiedCarbon]:
    facts = _facts(file, f"{section}.{product}.embodied", "carbon")
    return [
        EmbodiedCarbon(product, fact, str(row.year), row.includes)
        for fact, row in zip(facts, cost.embodied, strict=True)
    ]


def _facts(file: FactFile[PricesSpec], path: str, key: str) -> Iterator[Fact]:
    position = 0
    while fact := file.facts.get(f"{path}.{position}.{key}"):
        yield fact
        position += 1


def _newest(quotes: list[Q]) -> list[Q]:
    cheapest = sorted(quotes, key=lambda quote: quote.fact.value)
    return sorted(cheapest, key=lambda quote: quote.when, reverse=True)


def _none(what: str, device: str, wanted: dict[str, str], having: list[str]) -> NoPriceError:
    asked = "".join(f", {word} {value}" for word, value in wanted.items() if value)
    known = f" (known: {', '.join(having)})" if having else ""
    return NoPriceError(f"no price known: {what} of {device}{asked}{known}")


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
    for position, rent in enumerate(cost.rent):
        fact = file.facts[f"{section}.{product}.rent.{position}.price"]
        kinds[f"rent {rent.terms}"].append((_year(rent.date), fact))
    for position, purchase in enumerate(cost.purchase):
        fact = file.facts[f"{section}.{product}.purchase.{position}.price"]
        kinds[f"purchase {purchase.includes}"].append((_year(purchase.date), fact))
    for position, embodied in enumerate(cost.embodied):
        fact = file.facts[f"{section}.{product}.embodied.{position}.carbon"]
        kinds[f"embodied {embodied.includes}"].append((embodied.year, fact))
    for dated in kinds.values():
        yield from _apart(product, dated)


def _year(date: str) -> int:
    return int(date[:4])


def _apart(product: str, dated: Sequence[tuple[int, Fact]]) -> Iterator[Problem]:
    for year, fact in dated:
        near = (other for when, other in dated if abs(when - year) <= NEAR_YEARS)
        lowest = min(near, key=lambda other: other.value)
        if fact.value > FAR * lowest.value:
            factor = f"is {fact.value / lowest.value:.3g} times the {lowest.display} in line {lowest.line}"
            message = f"{product}: {fact.display} {factor}; a price of a node, or a wrong unit?"
            yield Problem(fact.file, fact.line, message)
