"""What a claim reads: devices and architectures by name, and the lines of the facts whose values it looked up.

A claim reads hardware from the registry alone. A registry that hands out facts which note that they are looked up thus
knows what a verdict rests on: a fact that a claim never looked up cannot change its verdict.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Self

from pytest_rooflint.suite.suite import Suite
from rooflint.base.facts import Fact, Place
from rooflint.base.memo import memoised
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.registry import Architecture, Registry

#: `("device", id)` or `("architecture", id)`: an id may name one of each.
Name = tuple[str, str]


@dataclass
class Dependencies:
    """What was read so far."""

    names: set[Name] = field(default_factory=set)
    places: set[Place] = field(default_factory=set)

    def looked_up(self, fact: Fact) -> None:
        """Note a fact."""
        self.places.add(fact.place)


class _TrackedFacts(Mapping[str, Fact]):
    """Facts that note each one that is looked up; their paths can be read without a note."""

    def __init__(self, facts: Facts, note: Callable[[Fact], None]) -> None:
        self.unread = facts
        self._note = note

    def __getitem__(self, path: str) -> Fact:
        fact = self.unread[path]
        self._note(fact)
        return fact

    def __contains__(self, path: object) -> bool:
        return path in self.unread

    def __iter__(self) -> Iterator[str]:
        return iter(self.unread)

    def __len__(self) -> int:
        return len(self.unread)


@dataclass(frozen=True)
class _TrackedHardware(Hardware):
    """The same device with tracked facts."""

    dependencies: Dependencies = field(default_factory=Dependencies, repr=False, compare=False)

    @classmethod
    def of(cls, hardware: Hardware, dependencies: Dependencies) -> "_TrackedHardware":
        """A device that notes what is looked up."""
        own = {one.name: getattr(hardware, one.name) for one in fields(Hardware)}
        points = {mode: tracked_facts(facts, dependencies) for mode, facts in hardware.operating_points.items()}
        changed = {"facts": tracked_facts(hardware.facts, dependencies), "operating_points": points}
        return cls(**{**own, **changed}, dependencies=dependencies)

    def _below(self, prefix: str) -> Facts:
        facts = _unread(self.facts)
        below = {path.removeprefix(prefix): fact for path, fact in facts.items() if path.startswith(prefix)}
        return tracked_facts(below, self.dependencies)

    def _overlaid(self, facts: Facts, overlay: Facts) -> Facts:
        return tracked_facts({**_unread(facts), **_unread(overlay)}, self.dependencies)


def tracked_facts(facts: Facts, dependencies: Dependencies) -> Facts:
    """Facts that note each one that is looked up."""
    return _TrackedFacts(facts, dependencies.looked_up)


def _unread(facts: Facts) -> Facts:
    """The facts without a note that they were looked up."""
    return facts.unread if isinstance(facts, _TrackedFacts) else facts


@dataclass(frozen=True, kw_only=True)
class NotedRegistry(Registry):
    """The same registry, with a note of the devices and architectures that were asked for."""

    origin: Registry
    dependencies: Dependencies

    @classmethod
    def over(cls, registry: Registry) -> Self:
        """A registry that has noted nothing yet. Raises InputError for a file name that is not an id."""
        noting = cls(registry.roots, registry.texts, origin=registry, dependencies=Dependencies())
        noting.__dict__.update(files=registry.files, architecture_files=registry.architecture_files)
        return noting

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("device", device))
        return self.origin.get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("architecture", name))
        return self.origin.architecture(name)

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean. Any device may be called so, and thus all are noted."""
        self.dependencies.names |= {("device", device) for device in self.files}
        return self.origin.match(name)


@dataclass(frozen=True, kw_only=True)
class TrackedRegistry(NotedRegistry):
    """The same registry, with a note of each fact that was looked up, too."""

    @memoised
    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("device", device))
        return _TrackedHardware.of(self.origin.get(device), self.dependencies)

    @memoised
    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("architecture", name))
        found = self.origin.architecture(name)
        return replace(found, facts=tracked_facts(found.facts, self.dependencies))

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean. Names are not facts, so this reads none."""
        return self.origin.match(name)


def tracked(suite: Suite) -> tuple[Suite, Dependencies]:
    """The suite on such a registry, and what it notes."""
    tracking = TrackedRegistry.over(suite.registry)
    return replace(suite, registry=tracking), tracking.dependencies
