"""Candidates among facts: a rate, clock, count or width of another device, precision or operating point.

`candidate_causes` names facts that may be wrong; `substitutions` are printed figures that were derived with one factor
of another device, clock, count or rate.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rooflint.base.errors import InputError
from rooflint.base.facts import Fact, Factor
from rooflint.base.precision import PRECISIONS
from rooflint.base.text import some
from rooflint.base.units import BYTES, BYTES_PER_S, OPS_PER_MAC, SI_PREFIXES, UnitError, format_number, parse_quantity
from rooflint.diagnosis.causes import Case, Cause, Span, ratio_text
from rooflint.diagnosis.explanations import Explanation
from rooflint.diagnosis.figures import Figure, figures
from rooflint.diagnosis.values import COUNTS, exchanged, is_built, is_clock, is_plain, round_value
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.registry import Registry

FASTER = 1.25  # a clock that is needed is not much above those that the device has
FEWEST_PEERS = 4

_NARROW = frozenset(name for name, one in PRECISIONS.items() if one.bits <= (16 if one.floating else 8))
FAMILIES = (_NARROW, frozenset(PRECISIONS) - _NARROW)
"""Precisions whose rates are taken for one another: matrix rates of 16 bit and less, and the wide ones."""

REASON = "; it is the "


def other_clocks(case: Case, factor: Factor) -> Iterator[Cause]:
    """A wrong clock, where the right one is another clock of the same device."""
    assert factor.fact and case.hardware
    for other in _clock_facts(case.hardware):
        if other.path != factor.fact.path and not math.isclose(other.value, factor.value):
            text = f"{short(factor.fact)} {factor.fact.display} is used instead of {_owner(other)} {other.display}"
            yield Cause(text, factor.value / other.value, 1.5, factor.fact, factor.fact.with_value(other.value))


def _clock_facts(hardware: Hardware) -> list[Fact]:
    points = [fact for overlay in hardware.operating_points.values() for fact in overlay.values()]
    return [
        fact
        for fact in (*hardware.facts.values(), *points)
        if "clock" in fact.path.split(".")[-1] or ".clock_of." in fact.path or fact.path.startswith("clocks.")
    ]


def other_precisions(case: Case, factor: Factor) -> Iterator[Cause]:
    """The rate of another precision of the same unit is the right one."""
    assert factor.fact and case.hardware
    unit = case.hardware.units.get(case.unit or "")
    for precision in unit.precisions if unit else ():
        other = unit.facts[f"macs_per_clock.{precision}"] if unit else factor.fact
        if precision != case.precision and not math.isclose(other.value, factor.value):
            text = f"the expectation is the {precision} figure ({other.display}/clock)"
            yield Cause(text, factor.value / other.value, 1.8, of_claim=True)


def candidate_causes(case: Case, span: Span) -> list[Cause]:
    """Facts that would have to be another value, named where that value or the present one is known from elsewhere."""
    causes = rates(case, span, 1.0)
    denied = any(cause.fact and cause.repaired and cause.repaired.file != cause.fact.file for cause in causes)
    more = 0.5 if denied else 0.0  # a rate that contradicts the device's own architecture explains it already
    for factor in case.ladder.factors:
        if factor.fact and factor.name != "macs_per_clock":
            own = span.inverted() if factor.inverse else span
            found = _needed(case, own, factor.fact)
            causes += [replace(cause, factor=span.factor, cost=cause.cost + more) for cause in found]
        if factor.fact and factor.name == "groups" and case.hardware:
            causes += contradictions(case.hardware, factor.fact, span)
            causes += _of_full_die(case.hardware, factor.fact, span)
    return causes


def _of_full_die(hardware: Hardware, fact: Fact, span: Span) -> list[Cause]:
    """All groups of the silicon are counted, and fewer are enabled."""
    group = hardware.unit_groups.get(fact.path.split(".")[1], "")
    whole, wanted = hardware.full_groups(group), round_value(fact, span)
    if whole is None or wanted is None or not math.isclose(whole.result, fact.value) or wanted >= fact.value:
        return []
    text = f"{short(fact)} {fact.display} is the number of the full die; {wanted:g} {group} would have to be enabled"
    return [Cause(text, span.factor, 0.7, fact, fact.with_value(wanted))]


def contradictions(hardware: Hardware, fact: Fact, span: Span | None = None) -> list[Cause]:
    """The groups of a unit are not those that the other units of the same groups have: one SM count, one device."""
    unit = fact.path.split(".")[1]
    group = hardware.unit_groups.get(unit)
    alike = [
        other.facts["groups"]
        for name, other in hardware.units.items()
        if name != unit and other.group == group and "groups" in other.facts
    ]
    values = [other.value for other in alike]
    wanted = max(values, key=values.count, default=fact.value)
    share = fact.value / wanted
    if wanted == fact.value or (span and not span.holds(share)):
        return []
    having = some(other.path.split(".")[1] for other in alike if other.value == wanted)
    has = "has" if values.count(wanted) == 1 else "have"
    text = f"{short(fact)} {fact.display} is not the {wanted:g} {group} that {having} {has}"
    return [Cause(text, share, 0.6, fact, fact.with_value(wanted))]


def _needed(case: Case, span: Span, fact: Fact) -> Iterator[Cause]:
    """This fact alone is wrong; its right value, or its present one, is known from elsewhere."""
    others = _like(case, fact)
    low, high = fact.value / span.high, fact.value / span.low
    known = next((other.value for other in others if low <= other.value <= high), None)
    mistyped = exchanged(fact, low, high)
    wanted = known or mistyped or round_value(fact, span)
    if wanted is None or not _plausible(case, fact, wanted):
        return
    needed = fact.with_value(wanted)
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, wanted, rel_tol=1e-6):
        text = f"{short(fact)} {fact.display} is {times(span.factor)} the {inherited.display} of {_stem(inherited)}"
        yield Cause(text, span.factor, 0.8, fact, inherited)
        return
    needed, why = _of_bits(fact, _of_prefix(fact, needed))
    if wanted == mistyped and not known:
        why = ": two digits are exchanged"
    text = f"{short(fact)} {fact.display} would have to be {needed.display}{why}"
    # siblings often run at the same clock, and many devices have the same memory
    own = _own_clocks(case, fact) if is_clock(fact) else _siblings(case, fact) if is_part(fact) else others
    taken_from = some(_owner(other) for other in own if math.isclose(other.value, fact.value, rel_tol=1e-6))
    supported = any(math.isclose(other.value, wanted, rel_tol=1e-6) for other in others)
    if fact.path.endswith(".bus") and not others:  # of a memory that no other device has
        supported = math.frexp(wanted)[0] in (0.5, 0.75)
    if is_clock(fact) and not supported and not is_plain(wanted):
        return  # no clock is printed to the kilohertz
    if is_clock(fact) and not (taken_from or supported or is_outlier(case, fact, fact.value)):
        yield Cause(text, span.factor, 4.0, fact, needed, needs=2)  # nor from one claim alone
        return
    if is_part(fact) and not why and (usual := _usual_among_siblings(case, fact, wanted)):
        yield Cause(f"{text}, as in {usual}", span.factor, 0.9, fact, needed)
    elif taken_from and (supported or is_clock(fact)):
        yield Cause(f"{text}; {fact.display} is that of {taken_from}", span.factor, 1.2, fact, needed)
    else:
        cost = 1.7 if supported or wanted == mistyped else _unsupported_cost(fact, wanted)
        yield Cause(text, span.factor, cost, fact, needed)


def _of_prefix(fact: Fact, needed: Fact) -> Fact:
    """The value that a fact needs with the digits that it has, where its prefix is off by a thousand."""
    number, _, unit = fact.display.partition(" ")
    step = next((one for one in (3, -3) if math.isclose(needed.value, fact.value * 10.0**one, rel_tol=1e-6)), 0)
    wanted = SI_PREFIXES.get(unit[:1], 0) + step
    prefix = next((name for name, power in SI_PREFIXES.items() if name and power == wanted), "")
    try:
        written = replace(fact, quantity=parse_quantity(f"{number} {prefix}{unit[1:]}")) if step else needed
    except UnitError:  # the first letter is no prefix: MAC
        return needed
    return written if math.isclose(written.value, needed.value, rel_tol=1e-6) else needed


def _of_bits(fact: Fact, needed: Fact) -> tuple[Fact, str]:
    """The value that a fact needs, as it should be written, and which of bits and bytes was taken for the other."""
    eight = next((one for one in (8.0, 1 / 8) if math.isclose(fact.value / needed.value, one, rel_tol=1e-6)), None)
    if eight is None or fact.quantity.dimension not in (BYTES, BYTES_PER_S):
        return needed, ""
    if eight < 1 and "bit" in fact.display and not fact.path.endswith((".bus", ".pin_rate")):  # the digits are right
        needed = replace(fact, quantity=parse_quantity(fact.display.replace("bit", "B")))
    return needed, ": bits were taken for bytes" if eight > 1 else ": bytes were taken for bits"


def is_outlier(case: Case, fact: Fact, value: float) -> bool:
    """Whether a value is far from those that all other devices have there, where there are some."""
    peers = [facts[fact.path].value for facts in other_devices(case) if fact.path in facts]
    return len(peers) >= FEWEST_PEERS and not min(peers) / FASTER <= value <= max(peers) * FASTER


def other_devices(case: Case) -> Iterator[Facts]:
    """Facts of every other device that can be read."""
    if case.registry and case.hardware:
        own = case.hardware.id
        yield from (hardware.facts for hardware in case.registry.readable() if hardware.id != own)


def _unsupported_cost(fact: Fact, wanted: float) -> float:
    """Cost of a value that nothing else supports: less for a count that is a power of two."""
    if fact.path.split(".")[-1] in COUNTS:
        return 2.2 if math.log2(wanted).is_integer() and not math.log2(fact.value).is_integer() else 2.8
    return 3.2


def _plausible(case: Case, fact: Fact, wanted: float) -> bool:
    """Clocks are confused with one another, not with something of another size."""
    if not is_clock(fact) or case.hardware is None:
        return True
    if is_outlier(case, fact, fact.value):
        return not is_outlier(case, fact, wanted)
    others = _clock_facts(case.hardware)
    slow = [other for other in others if other is not fact and other.path in (fact.path, "clocks.base")]
    taken = any(math.isclose(other.value, fact.value) for other in slow)  # a slow clock stands for a fast one
    fastest = 3 * fact.value if taken or len(others) == 1 else FASTER * max(other.value for other in others)
    return fact.value / 3 <= wanted <= fastest


def departs(case: Case, fact: Fact, value: float) -> float:
    """Additional cost of a value of a memory or a link that no other device has, instead of one that others have.

    It is negative the other way round.
    """
    if not is_part(fact):
        return 0.0
    now, then = (
        any(math.isclose(other.value, one, rel_tol=1e-6) for other in _like(case, fact)) for one in (fact.value, value)
    )
    return 1.0 if now and not then else -0.4 if then and not now else 0.0


def can_have(case: Case, fact: Fact, value: float) -> bool:
    """Whether a fact can have a value: one that is built, or that it has in other devices or architectures."""
    if fact.path.endswith(".groups") and case.hardware:
        whole = case.hardware.full_groups(case.hardware.unit_groups.get(fact.path.split(".")[1], ""))
        if whole and value > whole.result:
            return False
    return is_built(fact, value) or any(other.value == value for other in _like(case, fact))


def _like(case: Case, fact: Fact) -> list[Fact]:
    """Facts that this one may have been taken from: clocks of the device, the same path of other architectures."""
    last = fact.path.split(".")[-1]
    if is_clock(fact):
        return [*_own_clocks(case, fact), *_siblings(case, fact)]
    if is_part(fact):
        return [*_siblings(case, fact), *(facts[fact.path] for facts in other_devices(case) if fact.path in facts)]
    if case.registry is None or last in ("groups", "capacity"):
        return _siblings(case, fact)
    names = (case.hardware.architecture, case.hardware.id) if case.hardware else ()
    above = [
        facts[fact.path] for name, facts in _architectures(case.registry) if name not in names and fact.path in facts
    ]
    return [*above, *_siblings(case, fact)]


def is_part(fact: Fact) -> bool:
    """Whether it is a property of bought parts, which devices share: of memory chips and their bus, or of links."""
    return fact.path.startswith("links.") or fact.path.endswith((".bus", ".pin_rate"))


def _usual_among_siblings(case: Case, fact: Fact, wanted: float) -> str:
    """Devices of the same die with the value that is needed, where most have it and none has the present one."""
    values = [(other.value, _stem(other)) for other in _siblings(case, fact)]
    having = [name for value, name in values if math.isclose(value, wanted, rel_tol=1e-6)]
    most = max(Counter(value for value, _ in values).values(), default=1)
    few = len(having) < most or (len(having) == 1 and len(values) > 1)
    if few or any(math.isclose(value, fact.value, rel_tol=1e-6) for value, _ in values):
        return ""
    return some(having)


def _own_clocks(case: Case, fact: Fact) -> list[Fact]:
    known = _clock_facts(case.hardware) if case.hardware else []
    return [other for other in known if (other.file, other.line) != (fact.file, fact.line)]


def _siblings(case: Case, fact: Fact) -> list[Fact]:
    """The same fact of other devices of the same die, where it stands in a file of their own."""
    if case.registry is None or case.hardware is None:
        return []
    found = [other.facts[fact.path] for other in case.registry.siblings(case.hardware) if fact.path in other.facts]
    return [other for other in found if (other.file, other.line) != (fact.file, fact.line)]


def _architectures(registry: Registry) -> Iterator[tuple[str, Facts]]:
    for name in readable(lambda: registry.architecture_files):
        try:
            yield name, registry.architecture(name).facts
        except InputError:
            continue


def _inherited(case: Case, fact: Fact) -> Fact | None:
    if case.registry is None or case.hardware is None or case.hardware.architecture is None:
        return None
    above = case.registry.architecture(case.hardware.architecture).facts.get(fact.path)
    return above if above and above.file != fact.file else None


def rates(case: Case, span: Span, convention: float) -> list[Cause]:
    """MAC/clock is another rate: of another architecture, of another precision, once the convention is taken out."""
    factor = next((factor for factor in case.ladder.factors if factor.name == "macs_per_clock"), None)
    if factor is None or factor.fact is None:
        return []
    fact, taken = factor.fact, factor.value / convention
    needed = _needed_rate(case, fact, span)
    if needed is None or math.isclose(needed, taken, rel_tol=1e-6):
        return []
    share = taken / needed
    what = f"macs_per_clock {format_number(taken)}" if convention == 1.0 else f"{format_number(taken)} MAC/clock"
    text = f"{what} is {times(share)} {_whose(case, fact, needed)}"
    known = _known_rates(case, taken)
    if convention != 1.0:  # two errors at once are likelier of rates that are taken for one another
        known = [one for one in known if _is_alike(one[2], case.precision)]
    nearest = min((cost for cost, _, _ in known), default=2.2)
    message = f"{text}{REASON}{_listed(known, nearest)}" if known else text
    if not known and convention != 1.0:
        return []
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, needed):  # the device contradicts its architecture, which is right
        return [Cause(message, share, min(nearest, 2.2) - 0.6, fact, inherited)]
    return [Cause(message, share, nearest, fact, fact.with_value(needed))]


def times(share: float) -> str:
    """`1/2 of` below one, `2 ×` above."""
    return f"{ratio_text(share)} of" if share < 1 else f"{ratio_text(share)} ×"


def _listed(known: list[tuple[float, str, str]], cost: float) -> str:
    """`FP16 rate of turing-tu104, volta-gv100; INT8 rate of …`: those of the least cost."""
    by_precision: dict[str, list[str]] = {}
    for price, name, precision in known:
        if price == cost:
            by_precision.setdefault(precision, []).append(name)
    told = {precision: some(_generation_by_generation(names)) for precision, names in by_precision.items()}
    return " or the ".join(f"{precision.upper()} rate of {names}" for precision, names in told.items())


def _generation_by_generation(names: list[str]) -> list[str]:
    """The first die of each generation, and then the others: three names of one would hide the next."""
    firsts = {name.partition("-")[0]: name for name in reversed(names)}
    return sorted(names, key=lambda name: firsts[name.partition("-")[0]] != name)


def _needed_rate(case: Case, fact: Fact, span: Span) -> float | None:
    """The rate that this peak needs: the architecture's own, or the power of two that fits."""
    inherited = _inherited(case, fact)
    if inherited and span.holds(fact.value / inherited.value):
        return inherited.value
    power = 2.0 ** round(math.log2(fact.value / span.middle))
    if power < 1 <= fact.value:  # a unit does a MAC a clock, unless its architecture is known to do less
        return None
    return power if span.holds(fact.value / power) else None


def _whose(case: Case, fact: Fact, needed: float) -> str:
    inherited = _inherited(case, fact)
    if inherited and math.isclose(inherited.value, needed):
        return f"{_stem(inherited)}'s {format_number(needed)}"
    return f"the {format_number(needed)} that this peak needs"


def _known_rates(case: Case, value: float) -> list[tuple[float, str, str]]:
    """(cost, architecture, precision) of every rate of that size of such a unit; near precisions cost less."""
    if case.registry is None or case.unit is None or case.precision is None:
        return []
    own = case.hardware.architecture if case.hardware else None
    found = []
    for name, facts in _architectures(case.registry):
        prefix = f"units.{case.unit}.macs_per_clock."
        for path, fact in facts.items():
            precision = path.removeprefix(prefix)
            if (
                path.startswith(prefix)
                and math.isclose(fact.value, value)
                and (name, precision) != (own, case.precision)
            ):
                distance = _distance(precision, case.precision, same=name == own)
                found.append((distance, name.rpartition("/")[2], precision))
    return found


def _distance(precision: str, wanted: str, *, same: bool) -> float:
    if precision == wanted or same:
        return 1.0
    return 1.1 if _is_alike(precision, wanted) else 4.0


def _is_alike(one: str | None, two: str | None) -> bool:
    return one == two or any({one, two} <= family for family in FAMILIES)


def _owner(fact: Fact) -> str:
    parts = fact.path.split(".")
    if parts[0] == "clocks":
        return f"the {parts[1]} clock"
    if parts[0] in ("units", "memories") and "clock" in fact.path:
        return f"the clock of {' '.join(part for part in parts[1:] if part not in ('clock', 'clock_of'))}"
    return _stem(fact)


def _stem(fact: Fact) -> str:
    return fact.file.stem


def short(fact: Fact) -> str:
    """The last part of a path: `macs_per_clock.int8`."""
    return ".".join(fact.path.split(".")[2:]) or fact.path


def readable(names: Callable[[], Iterable[str]]) -> list[str]:
    """Names of a registry; none where the name of a file is not an id."""
    try:
        return list(names())
    except InputError:
        return []


FEWEST = 64
"""Smallest op per clock for which the number of units may be taken for a rate."""


def substitutions(registry: Registry, figure: Figure) -> Iterator[Explanation]:
    """What a figure would be with another factor in it; nothing for a sum over several units."""
    for factor in figure.ladders[0].factors if len(figure.ladders) == 1 else ():
        if factor.fact is None or factor.inverse:
            continue
        if factor.name in ("groups", "count"):
            yield from _with_other_counts(registry, figure, factor)
        if factor.name == "clock":
            yield from _with_other_clocks(registry, figure, factor)
        if factor.name == "macs_per_clock":
            yield from _with_other_rates(registry, figure, factor)
            yield from _counts_as_rates(figure)


def _with_other_counts(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    hardware = figure.hardware
    group = hardware.unit_groups.get(str(figure.unit), figure.subject)
    whole = hardware.full_groups(group)
    if whole and whole.result > factor.value and figure.part is None:
        instead = f"of the full die instead of the {factor.value:g} enabled"
        text = f"is computed with the {whole.result:g} {group} {instead}"
        target = figure.value * whole.result / factor.value
        yield Explanation("full die", text, target, 1.4, figure, whole.factors[0].fact)
    for other, fact in _of_siblings(registry, figure, factor):
        text = f"is computed with the {fact.value:g} {group} of {other} instead of {factor.value:g}"
        yield Explanation("another count", text, figure.value * fact.value / factor.value, 2.0, figure, fact)


def _of_siblings(registry: Registry, figure: Figure, factor: Factor) -> Iterator[tuple[str, Fact]]:
    """The fact of a factor in other devices of the same architecture, where it is another value, by id."""
    for other in registry.siblings(figure.hardware):
        fact = other.facts.get(factor.fact.path) if factor.fact else None
        if fact and fact.value != factor.value:
            yield other.id, fact


def _with_other_clocks(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    for own in figures(figure.hardware):
        if own.quantity == "clock" and own.mode is None and own.value != factor.value:
            text = f"is computed with the {own.subject} clock, {own.shown()}, instead of {factor.display}"
            cost = 1.35 if own.subject in ("base", "boost") else 1.5
            target = figure.value * own.value / factor.value
            yield Explanation("another clock", text, target, cost, figure, own.facts[0])
    for other, fact in _of_siblings(registry, figure, factor):
        text = f"is computed with the clock of {other}, {fact.display}, instead of {factor.display}"
        yield Explanation("another clock", text, figure.value * fact.value / factor.value, 2.1, figure, fact)


def _with_other_rates(registry: Registry, figure: Figure, factor: Factor) -> Iterator[Explanation]:
    """Rates of other architectures of the same vendor, in precisions that are taken for one another."""
    prefix, own = f"units.{figure.unit}.macs_per_clock.", str(figure.hardware.architecture)
    for name, facts in _architectures(registry):
        same_vendor = name.partition("/")[0] == own.partition("/")[0]
        for path, fact in facts.items() if name != own and same_vendor else ():
            precision = path.removeprefix(prefix)
            if path.startswith(prefix) and fact.value != factor.value and _is_alike(precision, figure.precision):
                rate = f"{precision.upper()} rate of {name.rpartition('/')[2]}, {fact.display}/clock"
                text = f"is computed with the {rate}, instead of {factor.display}"
                cost = 1.8 if precision == figure.precision else 1.9
                cost += 0.4 * max(0.0, math.log2(fact.value / factor.value) - 1)  # rates are taken for near ones
                target = figure.value * fact.value / factor.value
                yield Explanation("another rate", text, target, cost, figure, fact)


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
