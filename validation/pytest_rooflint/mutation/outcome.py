"""Outcomes of mutants: every mutation of every fact of the specs, by file, and the claims that catch it.

A claim that never looked up a fact is not asked about its mutants: they cannot change its verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from pytest_rooflint.mutation import tables
from pytest_rooflint.mutation.baseline import Baseline, JudgedClaim
from pytest_rooflint.mutation.operators import SAME, Mutation, Mutations, mutations, quantities
from pytest_rooflint.suite.dependencies import Dependencies, Name, Noted, tracking
from pytest_rooflint.suite.judge import brief, caught
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.errors import InputError
from rooflint.base.facts import Fact, Place
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Architecture, Registry

# ---- Mutants, by file and fact


@dataclass(frozen=True)
class Mutant:
    """One fact of one file with one mutation."""

    fact: Fact
    mutation: Mutation

    @property
    def ratio(self) -> float | None:
        """The wrong value over the right one; None where there is no value. [1]"""
        return self.mutation.fact.value / self.fact.value if self.mutation.fact else None

    @property
    def is_gross(self) -> bool:
        """Whether it is a factor of two or more, in either direction."""
        return self.ratio is not None and not 0.5 < self.ratio < 2


@dataclass(frozen=True)
class Subject:
    """A spec file and its facts: a device with those of its operating points, an architecture, or a table."""

    hardware: Hardware
    """For a table its facts alone."""
    is_architecture: bool
    table: tables.Section | None = None
    """What the file holds where it is about no device."""

    @property
    def id(self) -> str:
        """Id of the device or the architecture; `events/gpu`."""
        return self.hardware.id

    @property
    def key(self) -> Name:
        """Its name as a dependency of claims: an id may name a device and an architecture."""
        return (self.table or ("architecture" if self.is_architecture else "device"), self.id)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Facts in this file; what a device inherits is its architecture's."""
        points = (fact for overlay in self.hardware.operating_points.values() for fact in overlay.values())
        return tuple(fact for fact in (*self.hardware.facts.values(), *points) if fact.file == self.hardware.file)

    def position(self, fact: Fact) -> int:
        """The position of one of its facts."""
        return self._positions[fact.place]

    @cached_property
    def _positions(self) -> Mapping[Place, int]:
        return {fact.place: position for position, fact in enumerate(self.facts)}


@dataclass(frozen=True)
class Group:
    """The mutants of one file, fact by fact."""

    subject: Subject
    mutants: tuple[Mutant, ...]
    refused: tuple[str, ...]
    """Operators whose value the schema refuses."""


def groups(suite: Suite) -> Iterator[Group]:
    """All mutants of the configured specs; devices first, then architectures and tables of the same roots."""
    yield from (group_of(subject, suite) for subject in subjects(suite))


def group_of(subject: Subject, suite: Suite) -> Group:
    """All mutants of a file."""
    found = [(fact, _mutations(fact, subject, suite.registry)) for fact in subject.facts]
    mutants = tuple(Mutant(fact, mutation) for fact, made in found for mutation in made.accepted)
    return Group(subject, mutants, tuple(name for _, made in found for name in made.refused))


def _mutations(fact: Fact, subject: Subject, registry: Registry) -> Mutations:
    if subject.table:
        return tables.mutations(fact, subject.table, registry)
    return mutations(fact, subject.hardware, registry)


def subjects(suite: Suite) -> Iterator[Subject]:
    """Devices, systems, architectures and tables whose files lie in the configured roots."""
    yield from (subject_of(("device", device), suite) for device in (*suite.devices(), *suite.systems()))
    for name, file in suite.registry.architecture_files.items():
        if suite.is_own(file):
            yield subject_of(("architecture", name), suite)
    for (section, name), file in tables.files(suite).items():
        with suppress(InputError):  # the suite as a whole reports it
            yield _table(section, name, file, suite.registry)


def subject_of(key: Name, suite: Suite) -> Subject:
    """The device or architecture of that name. Raises UnknownDeviceError or InputError."""
    section, name = key
    if section == "device":
        return Subject(suite.registry.get(name), is_architecture=False)
    for table in tables.SECTIONS:
        if section == table:
            return _table(table, name, tables.files(suite)[table, name], suite.registry)
    return Subject(suite.registry.architecture(name).as_hardware(), is_architecture=True)


def _table(section: tables.Section, name: str, file: Path, registry: Registry) -> Subject:
    facts = tables.facts_of(section, file, registry)
    return Subject(Hardware(name, name, "", "table", file, facts), is_architecture=False, table=section)


# ---- The outcome of a mutant: which claims could catch it, and which do

#: `equivalent`: the mutant changes no figure of the model. `uncorroborated`: no independently sourced claim is about a
#: figure that it changes. `within-digits`: one is, but its source printed too few digits to tell. `killable`: it
#: changes such a figure beyond the printed digits.
Category = Literal["equivalent", "uncorroborated", "within-digits", "killable"]


@dataclass(frozen=True)
class Outcome:
    """How the claims judge a mutant."""

    category: Category
    killed_by: str | None = None
    """Id of a claim that fails; of a corroborated one wherever one does."""
    witness: str | None = None
    """Id of the corroborated claim whose figure it changes beyond the printed digits."""


@dataclass
class Basis:
    """What the outcomes of all mutants of a fact rest on, besides the fact and what its claims read without mutants."""

    asked: dict[str, None] = field(default_factory=dict)
    """Ids of the claims that were judged again; others looked the fact up, too, and were not needed."""
    read: Dependencies = field(default_factory=Dependencies)
    """What these claims read in a trial only."""
    compared: bool = False
    """Whether all figures of the devices that hold the fact were compared."""

    def add(self, other: "Basis") -> None:
        """Add what the outcomes of other mutants of the fact rest on."""
        self.asked |= other.asked
        self.read.add(other.read)
        self.compared |= other.compared


def outcomes(group: Group, baseline: Baseline) -> list[Outcome]:
    """The outcome of each mutant of a group, in its order."""
    return [outcome for outcome, _ in trials(group, baseline)]


def trials(group: Group, baseline: Baseline) -> Iterator[tuple[Outcome, Basis]]:
    """The same, with what the outcomes of each fact's mutants rest on, which is complete after the last of them."""
    of_fact: dict[Place, _FactTrial] = {}
    for mutant in group.mutants:
        trial = of_fact.setdefault(mutant.fact.place, _FactTrial(group.subject, mutant.fact, baseline))
        yield trial.outcome(mutant), trial.basis
    for trial in of_fact.values():
        trial.finish()


@dataclass(frozen=True)
class _FactTrial:
    """One fact with every claim that may depend on it."""

    subject: Subject
    fact: Fact
    baseline: Baseline
    basis: Basis = field(default_factory=Basis, repr=False)

    def finish(self) -> None:
        """Note what the claims that were asked read in trials, those of other facts included."""
        asked = [self.baseline.by_id[name] for name in self.basis.asked]
        for claim in asked:
            self.basis.read.add(self.baseline.context(claim.id).dependencies)
        self.basis.read = self.basis.read.beyond(claim.dependencies for claim in asked)

    @cached_property
    def holders(self) -> tuple[str, ...]:
        """Devices that hold the fact: the file's own, or those of the architecture that do not say otherwise."""
        return tuple(self.baseline.suite.registry.holders(self.fact))

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """Claims that look it up: corroborated ones first, of them recalled ones last, and those that rest on it."""
        return self._sorted(self.baseline.looking_up(self.fact))

    @cached_property
    def of_presence(self) -> list[JudgedClaim]:
        """Claims that look it up or ask whether it is there, in the same order."""
        return self._sorted(self.baseline.asking(self.fact))

    def _sorted(self, claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
        def key(one: JudgedClaim) -> tuple[bool, bool, bool]:
            return not one.corroborated, one.corroborated and one.is_recalled, self.fact.place not in one.facts

        return sorted(claims, key=key)

    def outcome(self, mutant: Mutant) -> Outcome:
        """Judge the claims, and no more of them than necessary."""
        wrong = mutant.mutation.fact
        mutated = self._with(wrong)
        held = frozenset(self.holders)
        trial = _Trial(tracking(mutated, self.basis.read), held, self.subject, self.baseline, self.basis)
        claims = self.claims if wrong else self.of_presence
        category, witness = self._category(trial, claims)
        likeliest = [witness, *claims] if witness else claims
        killer = next((claim.id for claim in likeliest if trial.after(claim).outcome == "fail"), None)
        if category == "uncorroborated" and killer is None:
            self.basis.compared = True
            matters = self.matters if wrong or self.subject.table else self._moves(mutated)
            category = category if matters else "equivalent"
        return Outcome(category, killer, witness.id if witness else None)

    def _with(self, wrong: Fact | None) -> Registry:
        registry = self.baseline.suite.registry
        if self.subject.table:
            return tables.registry_with(self.fact, wrong, registry, self.subject.table) or registry
        return registry.with_fact(self.fact, wrong, self.holders)

    @staticmethod
    def _category(trial: "_Trial", claims: Sequence[JudgedClaim]) -> tuple[Category, JudgedClaim | None]:
        """By the corroborated claims, with the first whose figure changes beyond its digits."""
        category: Category = "uncorroborated"
        for claim in (one for one in claims if one.corroborated):
            after = trial.after(claim)
            if claim.changed(after):
                category = "within-digits"
                if claim.changed_beyond_digits(after):
                    return "killable", claim
        return category, None

    @cached_property
    def matters(self) -> bool:
        """Whether any figure changes with the fact.

        Each figure is a product in which a fact occurs at most once, so that doubling it tells for every other value.
        """
        if self.subject.table:
            return tables.matters(self.fact)
        twice = self.fact.with_value(2 * self.fact.value)
        return self._moves(self.baseline.suite.registry.with_fact(self.fact, twice, self.holders))

    def _moves(self, changed: Registry) -> bool:
        """Whether any figure of the devices that hold the fact, or of the architecture itself, is another one."""
        registry = self.baseline.suite.registry
        if self.subject.is_architecture:
            before, after = (one.architecture(self.subject.id).as_hardware() for one in (registry, changed))
            return differ(quantities(before), quantities(after))
        return any(differ(quantities(registry.get(device)), quantities(changed.get(device))) for device in self.holders)


def differ(one: dict[str, float], two: dict[str, float]) -> bool:
    """Whether figures are not all the same, or one is missing from the second."""
    return any(name not in two or abs(two[name] - value) > SAME * abs(value) for name, value in one.items())


@dataclass(frozen=True)
class _Trial:
    """The suite with one mutated fact; each claim is judged once."""

    mutated: Registry
    """Notes what is read of the devices that hold the fact, which all claims share."""
    held: frozenset[str]
    subject: Subject
    baseline: Baseline
    basis: Basis
    judged: dict[str, Verdict] = field(default_factory=dict, repr=False)

    def after(self, claim: JudgedClaim) -> Verdict:
        """The verdict with the mutated fact."""
        if claim.id not in self.judged:
            self.basis.asked[claim.id] = None
            self.judged[claim.id] = caught(claim.claim, "", lambda: brief(claim.claim, self._context(claim)))
        return self.judged[claim.id]

    def _context(self, claim: JudgedClaim) -> Noted:
        noted, suite = self.baseline.context(claim.id), self.baseline.suite
        own, changed = noted.registry, self.mutated
        registry = _TrialRegistry(
            own.roots, own.texts, origin=own, mutated=changed, held=self.held, subject=self.subject
        )
        others = changed.others if self.subject.table else own.others
        registry.__dict__.update(
            files=suite.registry.files, architecture_files=suite.registry.architecture_files, others=others
        )
        return Noted(suite.over(registry), noted.dependencies)


@dataclass(frozen=True, kw_only=True)
class _TrialRegistry(Registry):
    """The registry of one claim, with a mutant in place of what holds its fact."""

    origin: Registry
    """Notes what the claim reads."""
    mutated: Registry
    held: frozenset[str]
    subject: Subject

    @property
    def source(self) -> Registry:
        """The registry that reads the files."""
        return self.origin.source

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        return (self.mutated if device in self.held else self.origin).get(device)

    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        is_mutated = self.subject.key == ("architecture", name)
        return (self.mutated if is_mutated else self.origin).architecture(name)


# ---- What a fact states

_KINDS = {
    "tdp": "power",
    "powers": "power",
    "caches": "capacity",
    "clocks": "clock",
    "process": "process node",
    "launched": "year of launch",
    "launch_overhead": "launch overhead",
    "idle": "share of idle power",
}
_OF_UNITS = {"clock": "clock", "clock_of": "clock", "macs_per_clock": "rate", "sparsity": "sparsity"}
_TABLES = {
    "process": "energy at a node",
    "memory": "energy of a memory",
    "events": "energy of an event",
    "circuits": "factor of circuits",
    "launches": "launch overhead",
    "prices": "price",
    "grid": "grid and PUE",
}


def kind_of(subject: Subject, fact: Fact) -> str:
    """What a fact states: `clock`, `power`, `energy of an event`."""
    first, *rest = fact.path.split(".")
    if first in _KINDS and not (subject.table and first == "process"):
        return _KINDS[first]
    if subject.table:
        return _TABLES[subject.id.partition("/")[0]]
    if first == "units":
        return _OF_UNITS.get(rest[1], "count")
    if first in ("links", "nics"):
        return "link"
    if first == "memories":
        return "capacity" if rest[1] == "capacity" else "bandwidth"
    return "count"
