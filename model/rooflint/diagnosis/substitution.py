"""Substitution: a figure derived with one factor of another device, clock, count or rate."""

import fnmatch
import math
from collections.abc import Iterator

from rooflint.base.errors import InputError
from rooflint.base.facts import Factor
from rooflint.base.units import OPS_PER_MAC
from rooflint.diagnosis.candidate_causes import FAMILIES
from rooflint.diagnosis.figures import Explanation, Figure, figures
from rooflint.hardware.registry import Registry

FEWEST = 64
"""Smallest op per clock for which the number of units may be taken for a rate."""


def substitutions(registry: Registry, figure: Figure) -> Iterator[Explanation]:
    """What a figure would be with another factor in it; nothing for a sum over several units."""
    for factor in figure.ladders[0].factors if len(figure.ladders) == 1 else ():
        if factor.fact is None or factor.inverse:
            continue
        if factor.name in ("groups", "count"):
            yield from _other_counts(registry, figure, factor)
        if factor.name == "clock":
            yield from _other_clocks(registry, figure, factor)
        if factor.name == "macs_per_clock":
            yield from _other_rates(registry, figure, factor)
            yield from _counts_as_rates(figure)


def _other_counts(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    hardware = figure.hardware
    group = hardware.unit_groups.get(str(figure.unit), figure.subject)
    whole = hardware.full_groups(group)
    if whole and whole.result > factor.value and figure.part is None:
        instead = f"of the full die instead of the {factor.value:g} enabled"
        text = f"is computed with the {whole.result:g} {group} {instead}"
        target = figure.value * whole.result / factor.value
        yield Explanation("full die", text, target, 1.4, figure, whole.factors[0].fact)
    for other in registry.siblings(hardware):
        fact = other.facts.get(_path(factor))
        if fact and fact.value != factor.value:
            text = f"is computed with the {fact.value:g} {group} of {other.id} instead of {factor.value:g}"
            yield Explanation("another count", text, figure.value * fact.value / factor.value, 2.0, figure, fact)


def _path(factor: Factor) -> str:
    return factor.fact.path if factor.fact else ""


def _other_clocks(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    for own in figures(figure.hardware):
        if own.quantity == "clock" and own.mode is None and own.value != factor.value:
            text = f"is computed with the {own.subject} clock, {own.shown()}, instead of {factor.display}"
            cost = 1.35 if own.subject in ("base", "boost") else 1.5
            target = figure.value * own.value / factor.value
            yield Explanation("another clock", text, target, cost, figure, own.facts[0])
    for other in registry.siblings(figure.hardware):
        fact = other.facts.get(_path(factor))
        if fact and fact.value != factor.value:
            text = f"is computed with the clock of {other.id}, {fact.display}, instead of {factor.display}"
            yield Explanation("another clock", text, figure.value * fact.value / factor.value, 2.1, figure, fact)


def _other_rates(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    """Rates of other architectures of the same vendor, in precisions that are taken for one another."""
    prefix, own = f"units.{figure.unit}.macs_per_clock.", str(figure.hardware.architecture)
    for name in fnmatch.filter(registry.architecture_files, f"{own.partition('/')[0]}/*"):
        try:
            facts = registry.architecture(name).facts
        except InputError:
            continue
        for path, fact in facts.items() if name != own else ():
            precision = path.removeprefix(prefix)
            if path.startswith(prefix) and fact.value != factor.value and _alike(precision, figure):
                rate = f"{precision.upper()} rate of {name.rpartition('/')[2]}, {fact.display}/clock"
                text = f"is computed with the {rate}, instead of {factor.display}"
                cost = 1.8 if precision == figure.precision else 1.9
                cost += 0.4 * max(0.0, math.log2(fact.value / factor.value) - 1)  # rates are taken for near ones
                target = figure.value * fact.value / factor.value
                yield Explanation("another rate", text, target, cost, figure, fact)


def _alike(precision: str, figure: Figure) -> bool:
    """Whether rates of two precisions are taken for one another."""
    return precision == figure.precision or any({precision, figure.precision} <= family for family in FAMILIES)


def _counts_as_rates(figure: Figure) -> Iterator[Explanation]:
    """The number of SMs, once or twice, stands for what one SM does in a clock."""
    factors = {factor.name: factor.value for factor in figure.ladders[0].factors}
    per_clock = factors["per_group"] * factors["macs_per_clock"] * OPS_PER_MAC if "per_group" in factors else 0.0
    group = figure.hardware.unit_groups.get(str(figure.unit), "group")
    for times in (1, 2) if per_clock and figure.quantity == "peak" and not figure.is_matrix else ():
        rate = times * factors["groups"]
        if rate != per_clock and rate >= FEWEST:
            text = (
                f"takes {rate:g}, {times} × the number of {group}s, for the {per_clock:g} op that each does in a clock"
            )
            yield Explanation("count for rate", text, figure.value * rate / per_clock, 1.6, figure)
