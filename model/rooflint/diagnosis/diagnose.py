"""Diagnosis of a wrong derived figure: from the ratio of obtained to expected to the fact or convention behind it.

A pure function of derivations, facts and the registry; it returns ranked causes. A cause is a factor with a sentence;
the ratio may be one factor or a product of two. Simplest first, several where the figures do not decide, none rather
than a guess.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from rooflint.base.facts import Fact
from rooflint.base.units import UnitError, parse_quantity
from rooflint.diagnosis.candidate_causes import (
    REASON,
    can_have,
    candidate_causes,
    departs,
    is_outlier,
    other_clocks,
    other_precisions,
    rates,
    short,
    times,
)
from rooflint.diagnosis.causes import (
    AS_SPARSE,
    PREFIX,
    Case,
    Cause,
    Span,
    conventions,
    counted_twice,
    ratio_text,
)
from rooflint.diagnosis.figures import Printed
from rooflint.diagnosis.identify import Identifier
from rooflint.diagnosis.labels import Asked
from rooflint.diagnosis.values import is_built

__all__ = ["CANDIDATES", "MAX_CAUSES", "Case", "Cause", "Span", "candidates", "diagnose", "ratio_text", "shortlist"]

_TELLING = {
    "macs_per_clock": "peak",
    "pin_rate": "bandwidth",
    "bandwidth": "bandwidth",
    "capacity": "capacity",
    "link_rate": "link",
    "tdp": "tdp",
}
"""Factors that tell which quantity a ladder derives."""
_IDENTITIES = frozenset({"another device", "another device + sparse for dense", "another mode", "another precision"})
DOUBT = 0.7
"""Additional cost of doubting an expectation, which was read in a document, rather than a fact."""
GIVEN = 1.5
"""Additional cost of doubting a fact that is given."""
_SIZES = frozenset({"capacity", "bandwidth", "pin_rate"})

MAX_CAUSES = 3
CANDIDATES = 16


def diagnose(case: Case) -> list[Cause]:
    """The simplest causes of the ratio of a case, ranked; empty where nothing explains it."""
    return shortlist(candidates(case))


def candidates(case: Case) -> list[Cause]:
    """Every cause that explains the ratio of a case, simplest first, to be tried out."""
    if not 0 < case.span.low <= case.span.high < math.inf:
        return []
    if _rests_on_given(case):
        known = [one for one in conventions(case) if case.span.holds(one.factor)]
        return sorted([*_identities(case)] or known, key=lambda cause: cause.cost)[:CANDIDATES]
    atoms = list(_atoms(case))
    singles = [atom for atom in atoms if case.span.holds(atom.factor)]
    singles += candidate_causes(case, case.span)
    pairs = [_pair(one, two) for one, two in combinations(atoms, 2) if case.span.holds(one.factor * two.factor)]
    pairs += _identities(case)
    for atom in conventions(case):
        pairs += [_pair(rate, atom) for rate in rates(case, case.span, atom.factor)]
    weighed = (_weighed(case, _repaired(case, cause)) for cause in (*singles, *pairs))
    found = _distinct(cause for cause in weighed if _can_be(case, cause))
    return sorted(found, key=lambda cause: cause.cost)[:CANDIDATES]


def shortlist(causes: Iterable[Cause], most: int = MAX_CAUSES, within: float = 0.6) -> list[Cause]:
    """The causes worth showing: those whose repair was tried, fixes most and breaks nothing, then the simplest.

    A cause that is much less simple than the best of its kind is left out.
    """
    asked = [cause for cause in causes if (cause.fixes or 0) >= cause.needs and not (cause.needs and cause.breaks)]
    are_tried = any(cause.fixes is not None for cause in asked)

    def fixes(cause: Cause) -> int:
        """Claims that the repair fixes; that of an expectation fixes its own claim."""
        return cause.fixes or int(are_tried and cause.of_claim)

    def cost(cause: Cause) -> float:
        return cause.cost + (DOUBT if are_tried and cause.of_claim else 0.0)

    ranked = sorted(asked, key=lambda cause: (bool(cause.breaks), -fixes(cause), cost(cause)))
    if not ranked:
        return []
    best = ranked[0]
    alike = [cause for cause in ranked if bool(cause.breaks) == bool(best.breaks)]
    if best.fixes is None:
        far = 3 * within if are_tried else within  # a fact that mends as many claims is not ruled out
        return [cause for cause in alike if cause.cost <= best.cost + far][:most]
    simplest = min(cause.cost for cause in alike if cause.fixes == best.fixes)
    reach = {cause: 3 * within if cause.fixes == best.fixes else within for cause in alike}  # a tie is not decided
    alike = [cause for cause in alike if cause.cost <= simplest + reach[cause]]
    settled = best.fixes > 1 and not best.breaks  # a repair that fixes several claims leaves little to guess
    return [cause for cause in alike if not (settled if cause.fixes is None else 2 * cause.fixes < best.fixes)][:most]


def _can_be(case: Case, cause: Cause) -> bool:
    """Whether a cause asks for no value that its fact cannot have."""
    return cause.fact is None or cause.repaired is None or can_have(case, cause.fact, cause.repaired.value)


def _weighed(case: Case, cause: Cause) -> Cause:
    """A repair to an outlier among devices costs more; a fact that is an outlier now costs less.

    A fact that is given is not repaired, and doubted last.
    """
    if cause.fact and case.is_given(cause.fact):
        return replace(cause, cost=cause.cost + GIVEN, repaired=None)
    if cause.fact is None or cause.repaired is None:
        return cause
    outlier_now, outlier_then = (is_outlier(case, cause.fact, fact.value) for fact in (cause.fact, cause.repaired))
    outlier_then = (
        outlier_then and cause.repaired.file == cause.fact.file
    )  # what the architecture states is not an outlier
    cost = cause.cost + (1.0 if outlier_then else 0.0) - (0.4 if outlier_now and not outlier_then else 0.0)
    return replace(cause, cost=cost + departs(case, cause.fact, cause.repaired.value))


def _repaired(case: Case, cause: Cause) -> Cause:
    """A convention is repaired in the fact that carries it: the rate in MAC, the rate per pin, a clock in kHz."""
    impossible = next(
        (
            one.fact
            for one in case.ladder.factors
            if one.name == "clock" and one.fact and not is_built(one.fact, one.fact.value)
        ),
        None,
    )
    if cause.text == PREFIX and impossible:
        return replace(cause, fact=impossible, repaired=impossible.with_value(impossible.value / cause.factor))
    carrier = next(
        (factor for factor in case.ladder.factors if factor.name in ("macs_per_clock", "pin_rate", "link_rate")), None
    )
    if cause.fact or carrier is None or carrier.fact is None or not cause.carried or case.is_given(carrier.fact):
        return cause
    factor = 1 / cause.factor if carrier.inverse else cause.factor
    repaired = carrier.fact.with_value(carrier.fact.value / factor)
    text = cause.text
    if carrier.name == "macs_per_clock":
        text = f"{short(carrier.fact)} {carrier.fact.display} is {times(factor)} {repaired.display}: {text}"
    return replace(cause, text=text, fact=carrier.fact, repaired=repaired)


def _other_prefixes(case: Case) -> Iterator[Cause]:
    """A size is written in powers of 1024 where powers of 1000 are meant, or the reverse."""
    for factor in case.ladder.factors:
        other = _with_other_prefix(factor.fact) if factor.fact and factor.name in _SIZES else None
        if factor.fact and other:
            binary = "i" in factor.fact.display.split(" ")[-1]
            text = f"{short(factor.fact)} {factor.fact.display} is written instead of {other.display}"
            share = factor.fact.value / other.value
            yield Cause(text, share, 0.9 if binary else 1.3, factor.fact, other)


def _with_other_prefix(fact: Fact) -> Fact | None:
    """`8 GiB` for `8 GB` and the reverse; None where a fact has neither prefix."""
    text = re.sub(r"\b([KMGT])i(?=B|bit)", r"\1", fact.quantity.text)
    if text == fact.quantity.text:
        text = re.sub(r"\b([MGT])(?=B|bit)", r"\1i", text)
    if text == fact.quantity.text:
        return None
    try:
        return replace(fact, quantity=parse_quantity(text))
    except UnitError:  # no such prefix of that unit
        return None


def _identities(case: Case) -> Iterator[Cause]:
    """The expectation is another known figure: another device's, a sparse one of another precision."""
    quantity = next((name for factor, name in _TELLING.items() if factor in _names(case)), None)
    if (
        quantity is None
        or case.registry is None
        or case.hardware is None
        or case.hardware.id not in case.registry.files
    ):
        return
    given = _rests_on_given(case)
    if quantity == "tdp" and not given:  # a round figure that many devices have, so nothing doubts the expectation
        return
    low, high = (case.ladder.result / edge for edge in (case.span.high, case.span.low))
    printed = Printed(math.sqrt(low * high), high - low, "")
    asked = Asked(quantity, case.precision, case.unit if quantity == "peak" else None, sparse=case.sparse or None)
    for explanation in Identifier(case.registry).explanations(printed, asked, [case.hardware.id]):
        within = case.span.low <= case.ladder.result / explanation.target <= case.span.high
        if within and (given or explanation.error in _IDENTITIES):
            cost = explanation.cost + (0.0 if given else DOUBT)
            sparse = explanation.error == "sparse for dense"
            text = f"the expectation {explanation.text}{', which is with structured sparsity' if sparse else ''}"
            yield Cause(text, case.span.factor, cost, of_claim=True, remedy=AS_SPARSE if sparse else "")


def _rests_on_given(case: Case) -> bool:
    """Whether all facts of a figure are given, so that the expectation is wrong, as in an audit."""
    facts = case.ladder.facts
    return bool(facts) and all(map(case.is_given, facts))


def _names(case: Case) -> set[str]:
    return {factor.name for factor in case.ladder.factors}


def _pair(one: Cause, two: Cause) -> Cause:
    fix = one if one.fact else two
    carried = one.carried and two.carried
    text = f"{one.text}; and {two.text}"
    return Cause(text, one.factor * two.factor, one.cost + two.cost, fix.fact, fix.repaired, (one, two), carried)


def _distinct(causes: Iterable[Cause]) -> Iterator[Cause]:
    """Each explanation once; of those that ask for the same repair the simplest, with what the next one adds."""
    found: dict[object, Cause] = {}
    for cause in sorted(causes, key=lambda cause: cause.cost):
        trivial = any(abs(part.factor - 1) < 1e-6 for part in cause.parts)
        cancels = len(cause.parts) == 2 and abs(cause.parts[0].factor * cause.parts[1].factor - 1) < 1e-6
        fix = (cause.fact.path, cause.repair) if cause.fact and cause.repair else cause.text
        if trivial or cancels:
            continue
        first = found.setdefault(fix, cause)
        reason = cause.text.partition(REASON)[2]
        if reason and REASON not in first.text and not first.parts and not cause.parts:
            found[fix] = replace(first, text=f"{first.text}{REASON}{reason}")
    yield from found.values()


def _atoms(case: Case) -> Iterator[Cause]:
    yield from conventions(case)
    yield from _other_prefixes(case)
    for factor in case.ladder.factors:
        if factor.fact is None or factor.inverse:
            continue
        if factor.name in ("groups", "per_group"):
            yield from counted_twice(factor)
        if factor.name == "clock" and case.hardware:
            yield from other_clocks(case, factor)
        if factor.name == "macs_per_clock" and case.hardware:
            yield from other_precisions(case, factor)
