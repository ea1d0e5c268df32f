"""Trials of repairs: judge every claim again with one fact changed, and rank the repairs by their effect."""

from dataclasses import dataclass, field, replace

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base.facts import Fact
from rooflint.diagnosis.causes import Cause
from rooflint.diagnosis.diagnose import shortlist
from rooflint.hardware.device import Hardware

MOST_TRIALS = 100
"""Maximum number of different repairs that one run tries."""


@dataclass(frozen=True)
class Trial:
    """Tries repairs on a suite: every claim is judged again with one fact of a spec changed."""

    suite: Suite
    excuses: bool = True
    """Whether known disagreements are excused."""
    _outcomes: dict[str, bool] = field(default_factory=dict, repr=False)
    _effects: dict[tuple[Fact, float], tuple[int, int]] = field(default_factory=dict, repr=False)

    def ranked(self, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
        """The causes worth showing; first those whose repair fixes most claims and breaks none."""
        return tuple(shortlist(self._tried(cause) for cause in causes))

    def _tried(self, cause: Cause) -> Cause:
        if cause.fact is None or cause.repaired is None:
            return cause
        key = (cause.fact, cause.repaired.value)
        if key not in self._effects:
            if len(self._effects) >= MOST_TRIALS:
                return cause
            self._effects[key] = self._effect(cause.fact, cause.repaired)
        mends, breaks = self._effects[key]
        return replace(cause, mends=mends, breaks=breaks)

    def _effect(self, fact: Fact, repaired: Fact) -> tuple[int, int]:
        """Number of claims that the repair fixes, and number that it breaks."""
        held = set(self.suite.registry.holders(fact))
        changed = replace(self.suite, registry=self.suite.registry.with_fact(fact, repaired))
        mends = breaks = 0
        for claim in self.suite.claims():
            if claim.is_replay or not _concerns(claim, held, self.suite, fact):
                continue
            before, after = self._failed(claim), self._fails(claim, changed)
            mends += before and not after
            breaks += after and not before
        return mends, breaks

    def _failed(self, claim: Claim) -> bool:
        key = f"{claim.file}::{claim.id}"
        if key not in self._outcomes:
            self._outcomes[key] = self._fails(claim, self.suite)
        return self._outcomes[key]

    def _fails(self, claim: Claim, suite: Suite) -> bool:
        return outcome_of(claim, suite, excuses=self.excuses) == "fail"


def _concerns(claim: Claim, devices: set[str], suite: Suite, fact: Fact) -> bool:
    """Whether a claim may rest on a fact that these devices hold."""
    if claim.hardware:
        return claim.hardware in devices
    if claim.architecture:
        return _architecture(claim, suite).facts.get(fact.path) == fact
    return any(word.partition("@")[0] in devices for word in claim.subject.split())


def _architecture(claim: Claim, suite: Suite) -> Hardware:
    return suite.registry.architecture(str(claim.architecture)).as_hardware()
