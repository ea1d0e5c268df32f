"""What a claim reads: devices and architectures by name, and the lines of the facts whose values it looked up.

A claim reads hardware from the registry alone. A registry that hands out facts which note that they are looked up thus
knows what a verdict rests on: a fact that a claim never looked up cannot change its verdict.
"""

from dataclasses import dataclass, field, replace
from typing import Self

from pytest_rooflint.suite.suite import Suite
from rooflint.base.facts import Fact, Place
from rooflint.base.memo import memoised
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.lookups import TrackedFacts, TrackedHardware
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


def tracked_facts(facts: Facts, dependencies: Dependencies) -> Facts:
    """Facts that note each one that is looked up."""
    return TrackedFacts(facts, dependencies.looked_up)


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
        return TrackedHardware.of(self.origin.get(device), self.dependencies.looked_up)

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
