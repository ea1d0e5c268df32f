"""A registry that notes who is asked for, so that what a claim depends on is known and not guessed.

A claim learns about hardware from the registry alone. What it asks for next can only follow from what it was told
before, so a fact of a device that it never asked for cannot change what it says.
"""

from dataclasses import dataclass, field, replace

from pytest_rooflint.suite import Suite
from rooflint.hardware import Hardware
from rooflint.specs import Architecture, Registry

#: `("device", id)` or `("architecture", id)`: an id may name one of each.
Name = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Watched(Registry):
    """The same registry, with a list of what was asked."""

    origin: Registry
    asked: set[Name] = field(default_factory=set)

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.asked.add(("device", device))
        return self.origin.get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.asked.add(("architecture", name))
        return self.origin.architecture(name)

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean. Names are no facts, so nobody was asked for one."""
        return self.origin.match(name)


def watched(suite: Suite) -> tuple[Suite, set[Name]]:
    """The suite on such a registry, and the names that it will have been asked for."""
    registry = suite.registry
    watching = Watched(registry.roots, origin=registry)
    watching.__dict__.update(files=registry.files, architecture_files=registry.architecture_files)
    return replace(suite, registry=watching), watching.asked
