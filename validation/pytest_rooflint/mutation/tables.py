"""Mutations of the files besides devices: coefficients, prices and places; and the registry that holds one of them.

Their facts are energies, times, shares and sums of money, so that their errors are factors and slips of units.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel

from pytest_rooflint.mutation.operators import SAME, Mutation, Mutations, times
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError
from rooflint.base.facts import Fact
from rooflint.base.units import DIMENSIONLESS, JOULES_PER_BYTE
from rooflint.coefficients.library import Coefficients, shape_of
from rooflint.cost.rows import Rows
from rooflint.cost.schema import GridSpec, PricesSpec
from rooflint.cost.tables import Grid, Prices
from rooflint.hardware.device import Facts
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import FactKind, kind_of, readers

Section = Literal["coefficients", "prices", "grid"]
SECTIONS: tuple[Section, ...] = get_args(Section)


def files(suite: Suite) -> dict[tuple[Section, str], Path]:
    """Files of the configured roots by what they hold and `events/gpu`; of two with one name the first."""
    registry, found = suite.registry, dict[tuple[Section, str], Path]()
    listed: Mapping[Section, Callable[[Path], list[Path]]] = {
        "coefficients": Coefficients.of(registry).files,
        "prices": Prices(registry).layered.files,
        "grid": Grid(registry).layered.files,
    }
    for section, files_of in listed.items():
        for root in suite.spec_roots:
            for file in files_of(root):
                name = file.relative_to(root.resolve()).with_suffix("").as_posix()
                found.setdefault((section, name), file)
    return found


def facts_of(section: Section, file: Path, registry: Registry) -> Facts:
    """The facts of a file. Raises InputError."""
    if section == "coefficients":
        return Coefficients.of(registry).facts(file)
    if section == "prices":
        return Prices(registry).layered.read(file).facts
    return Grid(registry).layered.read(file).facts


def mutations(fact: Fact, section: Section, registry: Registry) -> Mutations:
    """The mutations of a fact, in a fixed order."""
    accepted: dict[str, Mutation] = {}
    refused: list[str] = []
    for name, text, factor in _factors(fact):
        wrong = _reread(fact, times(fact, factor), section)
        if wrong is None or (section == "coefficients" and _refused(wrong, registry)):
            refused.append(name)
        elif not math.isclose(wrong.value, fact.value, rel_tol=SAME):
            accepted.setdefault(f"{wrong.value:.12g}", Mutation(name, text, wrong))
    if section == "coefficients" and registry_with(fact, None, registry) is None:
        return Mutations(tuple(accepted.values()), (*refused, "removed"))
    return Mutations((*accepted.values(), Mutation("removed", "the fact is missing", None)), tuple(refused))


def _factors(fact: Fact) -> Iterator[tuple[str, str, float]]:
    """(operator, error in words, factor)."""
    if fact.quantity.dimension == JOULES_PER_BYTE:
        yield "bits-bytes", "an energy per bit is written as that per byte", 8
        yield "bits-bytes", "an energy per byte is written as that per bit", 1 / 8
    if fact.quantity.dimension != DIMENSIONLESS:
        yield "prefix", "the prefix is a thousand times too large", 1000
        yield "prefix", "the prefix is a thousand times too small", 1 / 1000
    yield "factor-1.5", "half as much again", 1.5
    for factor in (2, 4, 16):
        yield f"factor-{factor}", f"{factor} times the value", factor
        yield f"factor-{factor}", f"1/{factor} of the value", 1 / factor


@cache
def _readers(model: type[BaseModel]) -> Mapping[str, FactKind]:
    return readers(model)


def _reread(fact: Fact, value: str, section: Section) -> Fact | None:
    """The fact as read from a file; None for what the schema refuses."""
    shapes: dict[Section, type[BaseModel]] = {"prices": PricesSpec, "grid": GridSpec}
    kind = kind_of(fact.path, _readers(shapes.get(section) or shape_of(fact.file)))
    if kind is None:
        return None
    try:
        raw = kind.read([value, fact.source.key, fact.where])
    except ValueError:  # PydanticCustomError is one
        return None
    return Fact(fact.path, raw.quantity, fact.source, fact.where, fact.file, fact.line)


def _refused(wrong: Fact, registry: Registry) -> bool:
    return Coefficients.of(registry).refuses(wrong.file, {wrong.path: wrong})


def registry_with(
    fact: Fact, other: Fact | None, registry: Registry, section: Section = "coefficients"
) -> Registry | None:
    """The same registry with another fact of a file, or without it; None where a coefficient's file is refused then."""
    if section != "coefficients":
        return _registry(fact, other, registry, "rows", Rows.of(registry).with_fact(fact, other))
    own = Coefficients.of(registry)
    try:
        found = own.with_facts(fact.file, {fact.path: other}) if other else own.without(fact.file, fact.path)
    except InputError:
        return None
    return _registry(fact, other, registry, "coefficients", found)


def _registry(fact: Fact, other: Fact | None, registry: Registry, name: str, found: object) -> Registry:
    twin = registry.with_fact(fact, other, ())
    tables = {"coefficients": Coefficients.of(registry), "rows": Rows.of(registry)}
    twin.__dict__.update(others={**tables, name: found})  # without what was worked out from them: it rests on the fact
    return twin


def matters(fact: Fact) -> bool:
    """Whether anything is computed with a fact: with the size of an array nothing is, its name tells it."""
    return not fact.path.endswith(".capacity")
