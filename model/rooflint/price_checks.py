"""What cannot be true in a file of prices: a price of a node among prices of chips, a day twice, an unknown device."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rooflint.economics_schema import CostSpec, PricesSpec, RentSpec
from rooflint.errors import Problem, RooflintError
from rooflint.facts import Fact
from rooflint.layered_files import FactFile
from rooflint.specs import Registry

FAR = 6
"""Prices of one device under one kind of terms that lie further apart are refused: a node of eight, or a wrong unit."""


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
    kinds: dict[str, list[Fact]] = defaultdict(list)
    for kind, key, rows in (
        ("rent", "price", cost.rent),
        ("purchase", "price", cost.purchase),
        ("embodied", "carbon", cost.embodied),
    ):
        for position, row in enumerate(rows):
            kinds[f"{kind} {_terms(row)}"].append(file.facts[f"{section}.{product}.{kind}.{position}.{key}"])
    for facts in kinds.values():
        yield from _apart(product, facts)


def _terms(row: object) -> str:
    return row.terms if isinstance(row, RentSpec) else str(getattr(row, "includes", ""))


def _apart(product: str, facts: Sequence[Fact]) -> Iterator[Problem]:
    lowest, highest = min(facts, key=lambda fact: fact.value), max(facts, key=lambda fact: fact.value)
    if highest.value > FAR * lowest.value:
        factor = f"is {highest.value / lowest.value:.3g} times the {lowest.display} in line {lowest.line}"
        message = f"{product}: {highest.display} {factor}; a price of a node, or a wrong unit?"
        yield Problem(highest.file, highest.line, message)
