"""Changes: what two specs say differently, each with the devices that hold it and with what it makes of them alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pytest_rooflint.delta.side import Specs
from rooflint.facts import Fact
from rooflint.hardware import Facts, Hardware

T = TypeVar("T")

TRAITS = ("kind", "circuits", "unit_groups", "undisclosed")
"""What of a device is no fact, and predictions follow from it."""


@dataclass(frozen=True)
class Said:
    """What one side says, and where."""

    text: str
    file: str | None = None
    line: int | None = None
    document: str | None = None
    where: str | None = None
    grade: str | None = None


@dataclass(frozen=True)
class Change:
    """One thing that is another on the new side; one of the two is None where only one side says it."""

    path: str
    at: str | None
    """The operating point; None for the device's own."""
    old: Said | None
    new: Said | None
    trait: str | None = None
    """Which of TRAITS; None for a fact."""

    def alone(self, old: Hardware, new: Hardware) -> Hardware:
        """The old device, with what the new one says here and nowhere else."""
        if self.trait:
            taken: dict[str, Any] = {self.trait: self._trait(old, new)}
            return replace(old, **taken)
        if self.at is None:
            return replace(old, facts=_taken(old.facts, new.facts, self.path))
        point = _taken(old.operating_points[self.at], new.operating_points[self.at], self.path)
        return replace(old, operating_points={**old.operating_points, self.at: point})

    def _trait(self, old: Hardware, new: Hardware) -> object:
        before, after = getattr(old, str(self.trait)), getattr(new, str(self.trait))
        return after if isinstance(after, str) else _taken(before, after, self.path)


def _taken(old: Mapping[str, T], new: Mapping[str, T], path: str) -> dict[str, T]:
    """The old mapping with the new one's entry, or its absence, at one path."""
    kept = {name: value for name, value in old.items() if name != path or path in new}
    return {**kept, path: new[path]} if path in new else kept


def changes(old: Specs, new: Specs) -> dict[Change, tuple[str, ...]]:
    """What differs in devices that both sides have, with the devices that it changes.

    A fact of an architecture that many devices inherit is one change. Another source of the same value is none: it
    moves nothing.
    """
    found: dict[Change, list[str]] = {}
    for name in sorted(set(old.devices) & set(new.devices)):
        for change in _of_device(old, new, old.devices[name], new.devices[name]):
            found.setdefault(change, []).append(name)
    return {change: tuple(names) for change, names in found.items()}


def _of_device(old: Specs, new: Specs, before: Hardware, after: Hardware) -> Iterator[Change]:
    yield from _of_facts(old, new, None, before.facts, after.facts)
    for mode in before.operating_points:
        if mode in after.operating_points:
            yield from _of_facts(old, new, mode, before.operating_points[mode], after.operating_points[mode])
    for trait in TRAITS:
        yield from _of_trait(old, new, trait, before, after)


def _of_facts(old: Specs, new: Specs, mode: str | None, before: Facts, after: Facts) -> Iterator[Change]:
    for path in _names(before, after):
        one, other = before.get(path), after.get(path)
        if one is None or other is None or one.quantity != other.quantity:
            yield Change(path, mode, _fact(old, one), _fact(new, other))


def of_pair(old: Specs, new: Specs, one: Fact, other: Fact) -> Change:
    """A fact that both sides have."""
    return Change(one.path, None, _fact(old, one), _fact(new, other))


def _fact(side: Specs, fact: Fact | None) -> Said | None:
    if fact is None:
        return None
    source = fact.source
    return Said(fact.display, side.shown(fact.file), fact.line, source.document, fact.where, source.grade)


def _of_trait(old: Specs, new: Specs, trait: str, before: Hardware, after: Hardware) -> Iterator[Change]:
    one, other = _entries(before, trait), _entries(after, trait)
    for path in _names(one, other):
        if one.get(path) != other.get(path):
            said = _trait(old, before, one.get(path)), _trait(new, after, other.get(path))
            yield Change(path, None, *said, trait=trait)


def _entries(hardware: Hardware, trait: str) -> Mapping[str, str]:
    value = getattr(hardware, trait)
    return {trait: value} if isinstance(value, str) else value


def _trait(side: Specs, hardware: Hardware, text: str | None) -> Said | None:
    return None if text is None else Said(text, side.shown(hardware.file))


def _names(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))


def recited(old: Specs, new: Specs) -> int:
    """Facts that have the same value from another document or place; they move nothing."""
    found = {
        (new.within(other.file), other.line, path)
        for name in set(old.devices) & set(new.devices)
        for path, other in new.devices[name].facts.items()
        if (one := old.devices[name].facts.get(path))
        and one.quantity == other.quantity
        and _cites(one) != _cites(other)
    }
    return len(found)


def _cites(fact: Fact) -> tuple[str, str, str]:
    return fact.source.document, fact.source.grade, fact.where
