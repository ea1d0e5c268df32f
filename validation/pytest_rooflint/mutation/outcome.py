"""Mutants: every slip of every fact of the configured specs, grouped by the file that the fact stands in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pytest_rooflint.mutation.baseline import Baseline, Name, Stand, likeliest_first
from pytest_rooflint.mutation.operators import SAME, Slip, quantities, slips
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.facts import Fact
from rooflint.devices.hardware import Hardware
from rooflint.devices.registry import Registry


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


# ---- The fate of a mutant: who could have noticed it, and who did

#: What may be said of a mutant. `equivalent`: it moves no figure of the model. `uncorroborated`: no independently
#: sourced claim speaks of a figure that it moves. `within-digits`: one does, but its source printed too few digits to
#: tell. `killable`: it moves such a figure beyond the printed digits.
Standing = Literal["equivalent", "uncorroborated", "within-digits", "killable"]


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    standing: Standing
    killed_by: str | None = None
    """Id of a claim that turned red."""
    witness: str | None = None
    """Id of the corroborated claim whose figure it moves beyond the printed digits."""


def fates(group: Group, baseline: Baseline) -> Iterator[Fate]:
    """The fate of each mutant of a group, in its order."""
    benches: dict[Fact, _Bench] = {}
    for mutant in group.mutants:
        if mutant.fact not in benches:
            benches[mutant.fact] = _Bench(group.subject, mutant.fact, baseline)
        yield benches[mutant.fact].fate(mutant)


@dataclass(frozen=True)
class _Bench:
    """One fact with everything that may rest on it."""

    subject: Subject
    fact: Fact
    baseline: Baseline

    @cached_property
    def holders(self) -> tuple[str, ...]:
        """Devices that hold the fact: the file's own, or those of the architecture that do not say otherwise."""
        return tuple(self.baseline.suite.registry.holders(self.fact))

    @cached_property
    def stands(self) -> list[Stand]:
        """Claims that may rest on it, likeliest first."""
        names = [*(("device", device) for device in self.holders), self.subject.key]
        return likeliest_first(self.baseline.concerning(names), self.fact)

    def fate(self, mutant: Mutant) -> Fate:
        """Ask the claims, and no more of them than it takes."""
        trial = _Trial(self._planted(mutant), {})
        standing, witness = self._standing(trial)
        killer = next((stand.id for stand in self._order(witness) if trial.after(stand).outcome == "fail"), None)
        if standing == "uncorroborated" and killer is None and not self.matters:
            standing = "equivalent"
        return Fate(standing, killer, witness.id if witness else None)

    def _planted(self, mutant: Mutant) -> Suite:
        suite = self.baseline.suite
        return replace(suite, registry=suite.registry.with_fact(mutant.fact, mutant.slip.fact, self.holders))

    def _standing(self, trial: "_Trial") -> tuple[Standing, Stand | None]:
        """Where the corroborated claims leave it, and the first that it moves beyond its digits."""
        standing: Standing = "uncorroborated"
        for stand in self.corroborated:
            after = trial.after(stand)
            if stand.moved(after):
                standing = "within-digits"
                if stand.moved_beyond_digits(after):
                    return "killable", stand
        return standing, None

    @cached_property
    def corroborated(self) -> list[Stand]:
        """Those of the claims in which two documents meet."""
        return [stand for stand in self.stands if stand.corroborated]

    def _order(self, witness: Stand | None) -> Sequence[Stand]:
        return [witness, *self.stands] if witness else self.stands

    @cached_property
    def matters(self) -> bool:
        """Whether any figure of any device changes with the fact.

        Each figure is a product in which a fact stands at most once, so that doubling it tells for every other value.
        """
        registry = self.baseline.suite.registry
        changed = registry.with_fact(self.fact, self.fact.with_value(2 * self.fact.value), self.holders)
        if self.subject.is_architecture:
            before, after = (one.architecture(self.subject.id).as_hardware() for one in (registry, changed))
            return differ(quantities(before), quantities(after))
        return any(_differs(device, registry, changed) for device in self.holders)


def _differs(device: str, before: Registry, after: Registry) -> bool:
    return differ(quantities(before.get(device)), quantities(after.get(device)))


def differ(one: dict[str, float], two: dict[str, float]) -> bool:
    """Whether figures of the same names are not all the same."""
    return any(abs(two[name] - value) > SAME * abs(value) for name, value in one.items())


@dataclass(frozen=True)
class _Trial:
    """The suite with one fact set wrong; each claim is judged once."""

    suite: Suite
    judged: dict[int, Verdict] = field(repr=False)

    def after(self, stand: Stand) -> Verdict:
        """The verdict with the wrong fact."""
        key = id(stand)
        if key not in self.judged:
            self.judged[key] = brief(stand.claim, self.suite)
        return self.judged[key]
