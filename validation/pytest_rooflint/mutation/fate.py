"""The fate of a mutant: who could have noticed it, and who did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pytest_rooflint.judge import brief
from pytest_rooflint.mutation.baseline import Baseline, Stand, likeliest_first
from pytest_rooflint.mutation.mutants import Group, Mutant, Subject
from pytest_rooflint.suite import Suite
from pytest_rooflint.verdict import Verdict
from rooflint.facts import Fact
from rooflint.quantities import quantities
from rooflint.slips import SAME
from rooflint.specs import Registry

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
