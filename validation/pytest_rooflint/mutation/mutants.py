"""Mutants: every slip of every fact of the configured specs, grouped by the file that the fact stands in."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_rooflint.mutation.watched import Name
from pytest_rooflint.suite import Suite
from rooflint.facts import Fact
from rooflint.hardware import Hardware
from rooflint.slips import Slip, slips


@dataclass(frozen=True)
class Mutant:
    """One fact of one file, set wrong in one way."""

    fact: Fact
    slip: Slip

    @property
    def ratio(self) -> float:
        """The wrong value over the right one. [1]"""
        return self.slip.fact.value / self.fact.value

    @property
    def is_gross(self) -> bool:
        """Whether it is a factor of two or more, in either direction."""
        return not 0.5 < self.ratio < 2


@dataclass(frozen=True)
class Subject:
    """A spec file and its facts: a device with those of its operating points, or an architecture."""

    hardware: Hardware
    is_architecture: bool

    @property
    def id(self) -> str:
        """Of the device or the architecture."""
        return self.hardware.id

    @property
    def key(self) -> Name:
        """What a claim asks for: an id may name a device and an architecture."""
        return ("architecture" if self.is_architecture else "device", self.id)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Facts that stand in this file; what a device inherits is its architecture's."""
        points = (fact for overlay in self.hardware.operating_points.values() for fact in overlay.values())
        return tuple(fact for fact in (*self.hardware.facts.values(), *points) if fact.file == self.hardware.file)

    def mode(self, fact: Fact) -> str | None:
        """The operating point that a fact belongs to."""
        points = self.hardware.operating_points.items()
        return next((mode for mode, overlay in points if overlay.get(fact.path) == fact), None)


@dataclass(frozen=True)
class Group:
    """The mutants of one file, fact by fact."""

    subject: Subject
    mutants: tuple[Mutant, ...]
    refused: tuple[str, ...]
    """Classes of the slips that the schema refuses at the door."""


def groups(suite: Suite) -> Iterator[Group]:
    """All mutants of the configured specs; devices first, then the architectures of the same roots."""
    for subject in subjects(suite):
        found = [(fact, slips(fact, subject.hardware, suite.registry)) for fact in subject.facts]
        mutants = tuple(Mutant(fact, slip) for fact, made in found for slip in made.planted)
        yield Group(subject, mutants, tuple(name for _, made in found for name in made.refused))


def subjects(suite: Suite) -> Iterator[Subject]:
    """Devices and architectures whose files lie in the configured roots."""
    for device in suite.devices():
        yield Subject(suite.registry.get(device), is_architecture=False)
    own = tuple(root.resolve() for root in suite.spec_roots)
    for name, file in suite.registry.architecture_files.items():
        if any(file.resolve().is_relative_to(root) for root in own):
            yield Subject(suite.registry.architecture(name).as_hardware(), is_architecture=True)
