"""What cannot all be true of events, idle power and launches: a slip shows at a window, or where two readings meet."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import get_args

from rooflint.energy_checks import FAR, contradiction, far, incomplete, size_of
from rooflint.energy_schema import PICO, EnergySpec
from rooflint.errors import Problem
from rooflint.event_schema import WINDOWS, EventSpec, EventsSpec, LaunchesSpec
from rooflint.facts import Fact
from rooflint.hardware import Facts
from rooflint.schema import Kind
from rooflint.spread import Range, range_of
from rooflint.strict_yaml import Document

KINDS: tuple[str, ...] = get_args(Kind)

#: One reading of one event: the event, its node, and what is said.
Said = tuple[EventSpec, str | None, Range]


def event_problems(spec: EnergySpec, document: Document, facts: Facts) -> Iterator[Problem]:
    """What a file of events or launches says that cannot all be true, each with its line."""
    if isinstance(spec, EventsSpec):
        yield from _misnamed(document)
        events = [f"events.{name}.readings.{one}" for name, event in spec.events.items() for one in event.readings]
        idle = [f"idle.{name}" for name in spec.idle]
        broken = [problem for path in (*events, *idle) for problem in incomplete(path, document, facts)]
        yield from broken or _events(spec, facts)
    if isinstance(spec, LaunchesSpec):
        yield from _launches(spec, document, facts)


def _misnamed(document: Document) -> Iterator[Problem]:
    name = document.file.stem
    if name not in KINDS:
        yield Problem(document.file, 1, f"'{name}' is no kind of processor: want one of {', '.join(KINDS)}")


def _events(spec: EventsSpec, facts: Facts) -> Iterator[Problem]:
    said = {name: list(_said(name, event, facts)) for name, event in spec.events.items()}
    for name, event in spec.events.items():
        yield from _outside(event, said[name])
        for (_, node, one), (_, other, two) in combinations(said[name], 2):
            yield from _apart(node, one, other, two)
    for readings in _together(said):
        yield from _parts(readings)
    for state in {one.state for one in spec.idle.values()}:
        ranges = [range_of(name, facts, f"idle.{name}") for name, one in spec.idle.items() if one.state == state]
        yield from far([fact for one in ranges for fact in one.facts])


def _said(name: str, event: EventSpec, facts: Facts) -> Iterator[Said]:
    for reading, one in event.readings.items():
        yield event, one.node, range_of(reading, facts, f"events.{name}.readings.{reading}")


def _outside(event: EventSpec, said: list[Said]) -> Iterator[Problem]:
    low, high = WINDOWS[event.per]
    for fact in (fact for _, _, one in said for fact in one.facts):
        if not low <= fact.value <= high:
            text = f"'{fact.display}' per {event.per} is outside {low / PICO:.10g} … {high / PICO:.10g} pJ"
            yield Problem(fact.file, fact.line, f"{fact.path}: {text}; wrong unit or prefix?")


def _apart(node: str | None, one: Range, other: str | None, two: Range) -> Iterator[Problem]:
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


def _together(said: Mapping[str, list[Said]]) -> Iterator[list[Said]]:
    """Readings that can be compared as parts: of one document, at one node, counted by the same."""
    groups: dict[tuple[str, str | None, str], list[Said]] = {}
    for event, node, one in (one for group in said.values() for one in group):
        groups.setdefault((one.facts[0].source.document, node, event.per), []).append((event, node, one))
    yield from groups.values()


def _parts(readings: list[Said]) -> Iterator[Problem]:
    """Parts that together cost more than the whole; parts that share something are held against it one by one."""
    for event, _, whole in readings:
        parts = [(one, part) for one, _, part in readings if set(one.covers) < set(event.covers)]
        apart = all(not set(one.covers) & set(two.covers) for (one, _), (two, _) in combinations(parts, 2))
        for group in [parts] if apart else [[one] for one in parts]:
            total = sum(part.low.value for _, part in group)
            if group and total > whole.high.value * (1 + 1e-9):
                how = "is a part of, and with the others above," if len(group) > 1 else "is a part of, and above,"
                yield contradiction(_largest(group), whole.high, how)


def _largest(group: list[tuple[EventSpec, Range]]) -> Fact:
    return max((part.low for _, part in group), key=lambda fact: fact.value)


def _launches(spec: LaunchesSpec, document: Document, facts: Facts) -> Iterator[Problem]:
    for kind, owners in spec.launches.items():
        for owner, modes in owners.items():
            for mode, launch in modes.items():
                paths = {one: f"launches.{kind}.{owner}.{mode}.readings.{one}" for one in launch.readings}
                broken = [problem for path in paths.values() for problem in incomplete(path, document, facts)]
                ends = [] if broken else [range_of(one, facts, path) for one, path in paths.items()]
                yield from broken or far([fact for one in ends for fact in one.facts])
