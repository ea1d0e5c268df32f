"""What cannot be true in a file of prices: a price of a node among prices of chips, a day twice, an unknown device."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rooflint.economics_schema import CostSpec, PricesSpec
from rooflint.errors import Problem, RooflintError
from rooflint.facts import Fact
from rooflint.layered_files import FactFile
from rooflint.specs import Registry

FAR = 6
"""Prices of one device on the same terms that lie further apart are refused: a node of eight, or a wrong unit."""

NEAR_YEARS = 3
"""Of prices further apart in time nothing is said: a P100 fell from 10 500 to 1100 USD in six years."""


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
            said = f"{row.provider} has a price of {row.date} already, in line {seen[key]}; keep one"
            yield file.document.problem(path, f"{section}.{product}.rent: {said}")
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
