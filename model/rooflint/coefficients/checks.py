"""Contradictions in files of energies, events, idle power and launch overheads: wrong units show between readings."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from rooflint.base.errors import Problem
from rooflint.base.facts import Fact
from rooflint.base.strict_yaml import Document
from rooflint.base.units import METRES, UnitError, parse_quantity
from rooflint.coefficients import schema
from rooflint.coefficients.ranges import Reading, reading_of
from rooflint.hardware.device import KINDS, Facts

FAR = 6
"""Readings of one thing that are further apart are refused: a unit is wrong (8 bit/B), or a count (16)."""


def size_of(node: str) -> float | None:
    """`4nm` → 4e-9; None for another name. [m]"""
    try:
        quantity = parse_quantity(node.replace("nm", " nm"))
    except UnitError:
        return None
    return quantity.value if quantity.dimension == METRES else None


def problems(spec: schema.EnergySpec, document: Document, facts: Facts) -> Iterator[Problem]:
    """Contradictions in a file of coefficients, each with its line."""
    name = document.file.stem
    if isinstance(spec, schema.ProcessSpec):
        if size_of(name) is None:
            yield Problem(document.file, 1, f"'{name}' is not a process node: want a name such as 4nm.yaml")
        yield from _wires(spec, facts)
        for key in sorted({path.split(".", 2)[2] for path in facts}):
            if not key.endswith(".capacity"):
                yield from far([fact for path, fact in facts.items() if path.split(".", 2)[2] == key])
    if isinstance(spec, schema.MemoryEnergySpec):
        broken = [problem for name in spec.readings for problem in incomplete(f"readings.{name}", document, facts)]
        yield from broken or _scopes(spec, facts)
    if isinstance(spec, schema.EventsSpec):
        if name not in KINDS:
            yield Problem(document.file, 1, f"'{name}' is not a kind of processor: want one of {', '.join(KINDS)}")
        events = [f"events.{name}.readings.{one}" for name, event in spec.events.items() for one in event.readings]
        idle = [f"idle.{name}" for name in spec.idle]
        broken = [problem for path in (*events, *idle) for problem in incomplete(path, document, facts)]
        yield from broken or _events(spec, facts)
    if isinstance(spec, schema.LaunchesSpec):
        yield from _launches(spec, document, facts)


def _wires(spec: schema.ProcessSpec, facts: Facts) -> Iterator[Problem]:
    """Random data changes every other bit, so its energy is half of a transition's; by rounding, not by more."""
    for name in spec.readings:
        half, whole = (facts.get(f"readings.{name}.wire.{key}") for key in ("random_bit", "transition"))
        if half and whole and not 0.4 < half.value / whole.value < 0.6:
            yield contradiction(half, whole, "is not about half of")


def incomplete(path: str, document: Document, facts: Facts) -> Iterator[Problem]:
    """What is missing from the reading at a dotted path, or runs backwards in it."""
    ends = {end: fact for end in ("low", "typical", "high") if (fact := facts.get(f"{path}.{end}"))}
    if "typical" not in ends and len(ends) < 2:
        yield document.problem(tuple(path.split(".")), f"{path}: want a typical value, or low and high")
    for lower, upper in pairwise(ends.values()):
        if lower.value > upper.value:
            yield contradiction(lower, upper, "is above")


def _scopes(spec: schema.MemoryEnergySpec, facts: Facts) -> Iterator[Problem]:
    """Readings of one scope that lie far apart, and a part that costs more than the whole by the same document."""
    for (name, one), (other, two) in combinations(spec.readings.items(), 2):
        first, second = (reading_of(each, facts, f"readings.{each}") for each in (name, other))
        if one.scope == two.scope:
            yield from far([first.low, first.high, second.low, second.high])
        yield from _part_above_whole(one.scope, first, two.scope, second)
        yield from _part_above_whole(two.scope, second, one.scope, first)


def _part_above_whole(scope: schema.Scope, part: Reading, other: schema.Scope, whole: Reading) -> Iterator[Problem]:
    same = part.low.source.document == whole.low.source.document
    is_part = schema.PARTS[scope] and schema.PARTS[scope] < schema.PARTS[other]
    if same and is_part and part.low.value > whole.high.value:
        yield contradiction(part.low, whole.high, f"is {scope} alone, and above the {other} of")


def far(facts: Sequence[Fact]) -> Iterator[Problem]:
    """Figures of one thing that lie too far apart."""
    if not facts:
        return
    lowest, highest = min(facts, key=lambda fact: fact.value), max(facts, key=lambda fact: fact.value)
    if highest.value > FAR * lowest.value:
        factor = f"is {highest.value / lowest.value:.3g} times"
        yield contradiction(highest, lowest, factor, "; wrong unit or prefix?")


def contradiction(one: Fact, two: Fact, how: str, end: str = "") -> Problem:
    """The problem of two facts that cannot both be true, at the line of the first."""
    where = "" if two.line == one.line else f" in line {two.line}"
    return Problem(one.file, one.line, f"{one.path}: {one.display} {how} the {two.display}{where}{end}")


#: One reading of one event: the event, its node, and the reading.
OfEvent = tuple[schema.EventSpec, str | None, Reading]


def _events(spec: schema.EventsSpec, facts: Facts) -> Iterator[Problem]:
    found = {name: list(_readings_of(name, event, facts)) for name, event in spec.events.items()}
    for name, event in spec.events.items():
        yield from _outside(event, found[name])
        for (_, node, one), (_, other, two) in combinations(found[name], 2):
            yield from _apart(node, one, other, two)
    for readings in _together(found):
        yield from _parts(readings)
    for state in {one.state for one in spec.idle.values()}:
        ranges = [reading_of(name, facts, f"idle.{name}") for name, one in spec.idle.items() if one.state == state]
        yield from far([fact for one in ranges for fact in one.facts])


def _readings_of(name: str, event: schema.EventSpec, facts: Facts) -> Iterator[OfEvent]:
    for reading, one in event.readings.items():
        yield event, one.node, reading_of(reading, facts, f"events.{name}.readings.{reading}")


def _outside(event: schema.EventSpec, found: list[OfEvent]) -> Iterator[Problem]:
    low, high = schema.WINDOWS[event.per]
    for fact in (fact for _, _, one in found for fact in one.facts):
        if not low <= fact.value <= high:
            text = (
                f"'{fact.display}' per {event.per} is outside {low / schema.PICO:.10g} … {high / schema.PICO:.10g} pJ"
            )
            yield Problem(fact.file, fact.line, f"{fact.path}: {text}; wrong unit or prefix?")


def _apart(node: str | None, one: Reading, other: str | None, two: Reading) -> Iterator[Problem]:
    """Two readings of one event. At two nodes, the older may cost more by the ratio of the nodes, besides."""
    if node == other:
        yield from far([*one.facts, *two.facts])
    elif node and other:
        older, newer = (one, two) if _nanometres(node) > _nanometres(other) else (two, one)
        scale = max(_nanometres(node), _nanometres(other)) / min(_nanometres(node), _nanometres(other))
        if older.value > FAR * scale * newer.value or newer.value > FAR * older.value:
            how = f"is {older.value / newer.value:.3g} times"
            yield contradiction(older.facts[0], newer.facts[0], how, f", which nodes {node} and {other} do not explain")


def _nanometres(node: str) -> float:
    return (size_of(node) or 0) * 1e9


def _together(found: Mapping[str, list[OfEvent]]) -> Iterator[list[OfEvent]]:
    """Readings that can be compared as parts: of one document, at one node, counted by the same."""
    groups: dict[tuple[str, str | None, str], list[OfEvent]] = {}
    for event, node, one in (one for group in found.values() for one in group):
        groups.setdefault((one.facts[0].source.document, node, event.per), []).append((event, node, one))
    yield from groups.values()


def _parts(readings: list[OfEvent]) -> Iterator[Problem]:
    """Parts that together cost more than the whole; parts that overlap are compared with it one by one."""
    for event, _, whole in readings:
        parts = [(one, part) for one, _, part in readings if set(one.covers) < set(event.covers)]
        apart = all(not set(one.covers) & set(two.covers) for (one, _), (two, _) in combinations(parts, 2))
        for group in [parts] if apart else [[one] for one in parts]:
            total = sum(part.low.value for _, part in group)
            if group and total > whole.high.value * (1 + 1e-9):
                how = "is a part of, and with the others above," if len(group) > 1 else "is a part of, and above,"
                largest = max((part.low for _, part in group), key=lambda fact: fact.value)
                yield contradiction(largest, whole.high, how)


def _launches(spec: schema.LaunchesSpec, document: Document, facts: Facts) -> Iterator[Problem]:
    for kind, owners in spec.launches.items():
        for owner, modes in owners.items():
            for mode, launch in modes.items():
                paths = {one: f"launches.{kind}.{owner}.{mode}.readings.{one}" for one in launch.readings}
                broken = [problem for path in paths.values() for problem in incomplete(path, document, facts)]
                ends = [] if broken else [reading_of(one, facts, path) for one, path in paths.items()]
                yield from broken or far([fact for one in ends for fact in one.facts])
