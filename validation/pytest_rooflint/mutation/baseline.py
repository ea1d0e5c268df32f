"""The baseline of mutation testing: every claim on the specs as they are, with what it looks up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import Expectation, parse_expectation
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.mutation.operators import SAME
from pytest_rooflint.suite.dependencies import Dependencies, Noted, tracked
from pytest_rooflint.suite.judge import brief
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Outcome, Verdict
from rooflint.base.errors import shown
from rooflint.base.facts import Fact, Place
from rooflint.base.memo import memoised


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and what its verdict says on the specs as they are."""

    id: str
    """`golden/peaks/nvidia/t4.yaml::bandwidth-gddr6`, also in a worker process in another folder."""
    claim: Claim
    outcome: Outcome
    value: float | None
    """What the model obtains; None where it refuses."""
    corroborated: bool
    facts: frozenset[Place]
    """Places of the facts that the value follows from."""
    dependencies: Dependencies
    """What it reads."""

    @classmethod
    def of(cls, claim: Claim, suite: Suite) -> "JudgedClaim":
        """Judge a claim."""
        context = tracked(suite)
        verdict = brief(claim, context)
        value = verdict.obtained.value if verdict.obtained else None
        facts = frozenset(fact.place for fact in verdict.facts)
        read = context.dependencies
        read.present -= read.places
        return cls(id_of(claim), claim, verdict.outcome, value, verdict.corroborated, facts, read)

    @property
    def order(self) -> tuple[str, int, str]:
        """Place in the golden files."""
        return str(self.claim.file), self.claim.line, self.claim.id

    @property
    def is_recalled(self) -> bool:
        """Whether it quotes a document from memory."""
        return self.claim.source is not None and self.claim.source.grade == "recalled"

    @cached_property
    def printed(self) -> Expectation | None:
        """What the printed digits allow, whatever tolerance is stated."""
        expectation = self.claim.expectation
        if expectation is None or expectation.tolerance != "stated":
            return expectation
        return parse_expectation(expectation.text)

    def changed(self, after: Verdict) -> bool:
        """Whether the figure is another one, or exists in one of the two only."""
        if self.value is None or after.obtained is None:
            return (self.value is None) != (after.obtained is None)
        return abs(after.obtained.value - self.value) > SAME * abs(self.value)

    def changed_beyond_digits(self, after: Verdict) -> bool:
        """Whether the figure has left the interval of the printed digits.

        Where it lies outside already, by a stated tolerance, the interval is laid around it.
        """
        if self.printed is None or self.value is None or after.obtained is None:
            return self.changed(after)
        shift = 1.0 if self.printed.holds(self.value) else self.printed.value / self.value
        return not self.printed.holds(after.obtained.value * shift)


def id_of(claim: Claim) -> str:
    """`golden/peaks/nvidia/t4.yaml::bandwidth-gddr6`."""
    return f"{shown(claim.file)}::{claim.id}"


@dataclass(frozen=True)
class Baseline:
    """Every claim that may catch a mutant."""

    suite: Suite
    claims: tuple[JudgedClaim, ...]
    """All claims but replays, which count neither as coverage nor as a kill."""

    @memoised
    def context(self, claim_id: str) -> Noted:  # noqa: ARG002  # the key under which it is kept
        """The suite as a claim sees it in all trials, with a note of what it read in any of them."""
        return tracked(self.suite)

    @cached_property
    def _by_place(self) -> dict[Place, list[JudgedClaim]]:
        return self._by(lambda read: read.places)

    @cached_property
    def _by_presence(self) -> dict[Place, list[JudgedClaim]]:
        return self._by(lambda read: read.places | read.present)

    def _by(self, places: Callable[[Dependencies], set[Place]]) -> dict[Place, list[JudgedClaim]]:
        found: dict[Place, list[JudgedClaim]] = {}
        for claim in sorted(self.claims, key=lambda one: one.order):
            for place in places(claim.dependencies):
                found.setdefault(place, []).append(claim)
        return found

    def looking_up(self, fact: Fact) -> Sequence[JudgedClaim]:
        """Claims that look a fact up, in the order of the golden files."""
        return self._by_place.get(fact.place, ())

    def asking(self, fact: Fact) -> Sequence[JudgedClaim]:
        """Claims that look a fact up or ask whether it is there, in the same order."""
        return self._by_presence.get(fact.place, ())

    @cached_property
    def backed(self) -> frozenset[Place]:
        """Places of the facts that corroborated peaks and bandwidths rest on."""
        rates = (one for one in self.claims if one.corroborated and one.claim.kind in ("peak", "bandwidth"))
        return frozenset(place for one in rates for place in one.facts)

    @cached_property
    def independent(self) -> frozenset[str]:
        """Ids of the corroborated claims."""
        return frozenset(one.id for one in self.claims if one.corroborated)

    @cached_property
    def recalled(self) -> frozenset[str]:
        """Ids of those that quote a document from memory."""
        return frozenset(one.id for one in self.claims if one.corroborated and one.is_recalled)

    @cached_property
    def by_id(self) -> Mapping[str, JudgedClaim]:
        """Claims by their ids."""
        return {claim.id: claim for claim in self.claims}


def checking(suite: Suite) -> Iterator[Claim]:
    """Claims that check facts of the specs: no replay, no law, and none about a table of other people's figures."""
    return (one for one in suite.claims() if not (one.is_replay or kinds.kind(one.kind).foreign))
