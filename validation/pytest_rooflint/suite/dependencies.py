"""What a claim reads: devices, architectures and golden files, and the lines of the facts whose values it looked up.

A claim reads hardware from the registry alone. A registry that hands out facts which note that they are looked up thus
knows what a verdict rests on: a fact that a claim never looked up cannot change its verdict.
"""

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Claim, Golden
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Place
from rooflint.base.memo import memoised
from rooflint.coefficients.library import Coefficients, TrackedCoefficients
from rooflint.cost.rows import Rows
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.lookups import TrackedFacts, TrackedHardware
from rooflint.hardware.registry import Architecture, Registry

if TYPE_CHECKING:
    from rooflint.workloads.workload import Workload

#: `("device", id)` or `("architecture", id)`: an id may name one of each.
Name = tuple[str, str]


@dataclass
class Dependencies:
    """What was read so far."""

    names: set[Name] = field(default_factory=set)
    places: set[Place] = field(default_factory=set)
    present: set[Place] = field(default_factory=set)
    """Places of the facts that were asked whether they are there."""
    goldens: set[Path] = field(default_factory=set)
    """Golden files."""
    folders: bool = False
    """Whether the golden folders themselves were asked for."""

    def any_golden(self, claim: Claim) -> bool:
        """Whether the claim, of which this was noted, may have read any golden file."""
        return self.folders and not kinds.kind(claim.kind).rows_alone

    def beyond(self, others: Iterable["Dependencies"]) -> "Dependencies":
        """What was read besides what others read."""
        found = replace(self)
        for one in others:
            found.names, found.places = found.names - one.names, found.places - one.places
            found.present, found.goldens = found.present - one.present, found.goldens - one.goldens
        return found

    def add(self, other: "Dependencies") -> None:
        """Add what another noted."""
        self.names |= other.names
        self.places |= other.places
        self.present |= other.present
        self.goldens |= other.goldens
        self.folders |= other.folders

    def looked_up(self, fact: Fact) -> None:
        """Note a fact."""
        self.places.add(fact.place)

    def asked_for(self, fact: Fact) -> None:
        """Note a fact that was asked whether it is there."""
        self.present.add(fact.place)


F = TypeVar("F")
N = TypeVar("N")


@dataclass(frozen=True)
class Changed(Generic[F, N]):
    """Golden files, and names of devices and architectures, that changed."""

    goldens: AbstractSet[F]
    names: AbstractSet[N]

    def concern(self, file: F, *, goldens: Iterable[F], any_golden: bool, names: Iterable[N]) -> bool:
        """Whether they may move a claim of this file that read these golden files, or any, and these names."""
        own = file in self.goldens or any(one in self.goldens for one in goldens)
        return own or (any_golden and bool(self.goldens)) or any(one in self.names for one in names)


def is_read_by_name(suite: Suite, file: Path) -> bool:
    """Whether claims note when they read a file: a golden file, or that of a device or an architecture."""
    registry = suite.registry
    return suite.owns(file) or file in {*registry.files.values(), *registry.architecture_files.values()}


def changes(before: Suite, now: Suite, changed: Collection[Path]) -> Changed[Path, Name]:
    """Golden files among changed ones, and the devices and architectures that they concern."""
    goldens = frozenset(file for file in changed if now.owns(file))
    return Changed(goldens, frozenset(_names(before.registry, now.registry, frozenset(changed) - goldens)))


def _names(before: Registry, now: Registry, changed: frozenset[Path]) -> Iterator[Name]:
    """Architectures and devices of changed files, and the devices of such architectures, as they were or are."""
    bases = {name for name, file in now.architecture_files.items() if file in changed}
    yield from (("architecture", name) for name in bases)
    for device, file in now.files.items():
        if file in changed or (bases and any(_may_rest_on(registry, device, bases) for registry in (before, now))):
            yield "device", device


def _may_rest_on(registry: Registry, device: str, architectures: set[str]) -> bool:
    try:
        return registry.get(device).architecture in architectures
    except RooflintError:  # it may rest on any
        return True


def tracked_facts(facts: Facts, dependencies: Dependencies) -> Facts:
    """Facts that note each one that is looked up, or asked whether it is there."""
    return TrackedFacts(facts, dependencies.looked_up, dependencies.asked_for)


@dataclass(frozen=True, kw_only=True)
class NotedRegistry(Registry):
    """The same registry, with a note of the devices and architectures that were asked for."""

    origin: Registry
    dependencies: Dependencies

    @classmethod
    def over(cls, registry: Registry, read: Dependencies) -> Self:
        """A registry that notes what is asked for. Raises InputError for a file name that is not an id."""
        noting = cls(registry.roots, registry.texts, origin=registry, dependencies=read)
        noting.__dict__.update(
            files=registry.files, architecture_files=registry.architecture_files, others=registry.others
        )
        return noting

    @property
    def source(self) -> Registry:
        """The registry that reads the files."""
        return self.origin.source

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("device", device))
        return self.origin.get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("architecture", name))
        return self.origin.architecture(name)


@dataclass(frozen=True, kw_only=True)
class TrackedRegistry(NotedRegistry):
    """The same registry, with a note of each fact that was looked up, too."""

    @memoised
    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("device", device))
        return TrackedHardware.of(self.origin.get(device), self.dependencies.looked_up, self.dependencies.asked_for)

    @memoised
    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        self.dependencies.names.add(("architecture", name))
        found = self.origin.architecture(name)
        return replace(found, facts=tracked_facts(found.facts, self.dependencies))


@dataclass(frozen=True)
class Noted:
    """A suite as one claim sees it, with a note of what the claim asks for."""

    suite: Suite
    dependencies: Dependencies

    @property
    def registry(self) -> Registry:
        """Registry of devices and architectures."""
        return self.suite.registry

    @property
    def golden_roots(self) -> tuple[Path, ...]:
        """Folders that hold golden files."""
        self.dependencies.folders = True
        return self.suite.golden_roots

    def is_own(self, file: Path) -> bool:
        """Whether a spec file lies in the configured folders, where the user can change it."""
        return self.suite.is_own(file)

    def readable(self) -> Iterator[Hardware]:
        """The devices in the configured specs that can be read; all where none are configured."""
        return self.suite.readable()

    def device(self, claim: Claim, name: str | None = None) -> Hardware:
        """The device of a claim, or another that it names, at the claim's operating point."""
        return self.suite.device(claim, name)

    def workload(self, claim: Claim) -> "Workload":
        """The workload of a claim."""
        return self.suite.workload(claim)

    def read(self, file: Path) -> Golden:
        """A golden file. Raises InputError."""
        self.dependencies.goldens.add(file)
        return self.suite.read(file)


def noted(suite: Suite) -> Noted:
    """The suite with a note of names and golden files. Raises InputError for a file name that is not an id."""
    return _on(suite, NotedRegistry.over(suite.registry, Dependencies()))


def tracked(suite: Suite) -> Noted:
    """The same with a note of each fact that is looked up. Raises InputError for a file name that is not an id."""
    return _on(suite, tracking(suite.registry, Dependencies()))


def tracking(registry: Registry, read: Dependencies) -> TrackedRegistry:
    """The registry with a note of each fact that is looked up. Raises InputError for a file name that is not an id."""
    found, origin = TrackedRegistry.over(registry, read), Coefficients.of(registry)
    tracked = TrackedCoefficients(origin.registry, origin=origin, note=read.looked_up, there=read.asked_for)
    rows = Rows.of(registry).tracked(read.looked_up)
    found.__dict__.update(others={"coefficients": tracked, "rows": rows})
    return found


def _on(suite: Suite, registry: NotedRegistry) -> Noted:
    return Noted(suite.over(registry), registry.dependencies)


# ---- What a claim may read of a device besides the facts that it looks up, and what it reads of a fact


def outline(hardware: Hardware) -> str:
    """All that a device says but for its facts, of which it has the paths."""
    own = (getattr(hardware, one.name) for one in fields(hardware) if one.name not in _OF_FACTS)
    points = {mode: list(facts) for mode, facts in hardware.operating_points.items()}
    return "\n".join(map(repr, (*own, list(hardware.facts), points)))


_OF_FACTS = ("facts", "own_facts", "operating_points")


def statement(fact: Fact) -> str:
    """All that a fact says, but for its line."""
    number, source = fact.quantity, fact.source
    own = (
        fact.path,
        fact.at,
        str(fact.file),
        fact.where,
        number.text,
        number.value,
        number.step,
        str(number.dimension),
    )
    return repr((*own, source.key, source.document, source.grade, source.url))
