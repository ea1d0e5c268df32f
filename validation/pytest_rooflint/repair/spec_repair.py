"""Repairs of specs, and whether a value is unusual among other devices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_rooflint.repair.proposal import Key, Proposal, Refusal, State, is_misnamed, refuse_outside, reprint
from pytest_rooflint.suite.judge import Trial, judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base import strict_yaml
from rooflint.base.errors import shown
from rooflint.base.facts import Fact, leading_number
from rooflint.base.strict_yaml import PlaceError
from rooflint.diagnosis.candidate_causes import FEWEST_PEERS
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.registry import Registry


def is_odd(registry: Registry, fact: Fact, text: str) -> bool:
    """Whether a value is outside the range of other devices: at that path, or that key if the path is rare."""
    others = list(_others(registry, fact))
    peers = [one.value for one in others if one.path == fact.path]
    if len(peers) < FEWEST_PEERS:
        peers = [one.value for one in others]
    value = fact.value * leading_number(text) / leading_number(fact.display)
    return bool(peers) and not min(peers) <= value <= max(peers)


def _others(registry: Registry, fact: Fact) -> Iterator[Fact]:
    """Values of the same key on other devices, under any name of unit or memory."""
    for device in registry.readable():
        facts = device.facts.values()
        yield from (one for one in facts if _key(one) == _key(fact) and (one.file, one.line) != (fact.file, fact.line))


def _key(fact: Fact) -> tuple[str, ...]:
    """A path without the name of its unit or memory."""
    return tuple(word for place, word in enumerate(fact.path.split(".")) if place != 1)


# ---- A fact that one claim alone asks to change: which of the two is wrong, the figures cannot say

FEWEST_DIGITS = 4
"""Digits that any source may print."""


@dataclass(frozen=True)
class SingleClaim:
    """A single claim that asks for a repair, with its verdict."""

    suite: Suite
    verdict: Verdict
    key: Key
    excuses: bool

    @cached_property
    def written(self) -> str:
        """The text of its expectation; empty where it has none. Raises PlaceError."""
        if self.verdict.claim.expectation is None:
            return ""
        return strict_yaml.value_at(self.suite.text(self.key[0]), ("claims", self.key[1], "expect"))

    def refuse_guess(self, fact: Fact, new: str) -> None:
        """Refuse to replace a plausible fact by an unusual one. Raises Refusal, PlaceError."""
        claim, registry = self.verdict.claim, self.suite.registry
        if self.written and is_misnamed(claim, self.verdict, self.suite, self.written, excuses=self.excuses):
            raise Refusal("only one claim asks for it, and that claim passes with another prefix, or as sparse")
        if is_odd(registry, fact, new) > is_odd(registry, fact, fact.display):
            raise Refusal("only one claim asks for it, and no other device has a similar value")
        if digits(new) > max(digits(fact.display), FEWEST_DIGITS):
            raise Refusal("only one claim asks for it, and it has more digits than sources print")

    def remarks(self) -> Iterator[str]:
        """A warning that only one claim supports the repair, and the alternative quote. Raises PlaceError."""
        yield "only one claim asks for it; read both documents before you choose"
        claim = self.verdict.claim
        try:
            other = reprint(claim, self.verdict, self.suite, self.written, excuses=self.excuses)
        except Refusal:
            return
        yield f"instead of this one: {shown(claim.file)}:{claim.line} expect {self.written} → {other.expect}"


def digits(text: str) -> int:
    """Significant digits of a quantity as it is written: 4 of `1.300 GHz`, 2 of `1300`."""
    number = text.partition(" ")[0]
    return len(number.replace(".", "").lstrip("0") if "." in number else number.strip("0"))


# ---- Repairs of specs: facts whose repair fixes failing claims without breaking others


@dataclass(frozen=True)
class Candidate:
    """A repair that was tried in memory and broke nothing, with the failing claims that ask for it."""

    cause: Cause
    fact: Fact
    new: str
    names: tuple[str, ...]

    @property
    def change(self) -> str:
        """Old and new value with the place."""
        return f"{self.fact.path} {self.fact.display} → {self.new} at {shown(self.fact.file)}:{self.fact.line}"


@dataclass
class Repairs:
    """The failing claims of a run by their place, and a suite that is repaired step by step."""

    suite: Suite
    state: State
    wanted: Mapping[Key, str]
    """Ids of the failing claims of this run."""
    root: Path
    excuses: bool = True
    objections: dict[str, str] = field(default_factory=dict)
    """By claim: the objection to a repair that was tried."""
    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    """Verdicts on claims that still fail, with tried causes."""
    refused: set[tuple[Fact, str]] = field(default_factory=set)

    def proposals(self) -> Iterator[Proposal]:
        """Yield the best repair of the remaining failures until there is none."""
        while candidates := self._candidates():
            for candidate in candidates:
                if found := self._accepted(candidate, candidates):
                    yield found
                    break

    def _candidates(self) -> list[Candidate]:
        """Repairs that were tried and break nothing, those that fix most first."""
        trial = Trial(self.suite, excuses=self.excuses)
        found: dict[tuple[Fact, str], Candidate] = {}
        for (file, place), name in self.wanted.items():
            if (file, place) not in self.state.failures:
                continue
            claim = self.suite.read(file).claims[place]
            verdict = self.verdicts[file, place] = judge(claim, "", self.suite, excuses=self.excuses, trial=trial)
            for cause in verdict.causes:
                if cause.fact and cause.repair and cause.fixes and not cause.breaks:
                    key = (cause.fact, cause.repair)
                    names = found[key].names if key in found else ()
                    found[key] = Candidate(cause, *key, (*names, name))
        left = (candidate for key, candidate in found.items() if key not in self.refused)
        return sorted(left, key=self._rank)

    def _rank(self, candidate: Candidate) -> tuple[int, int, float]:
        """Sort key: most claims fixed, then facts that are unusual now, then the simplest cause."""
        registry, fact = self.suite.registry, candidate.fact
        odd = 2 * is_odd(registry, fact, candidate.new) - is_odd(registry, fact, fact.display)
        return -(candidate.cause.fixes or 0), odd, candidate.cause.cost

    def _accepted(self, candidate: Candidate, candidates: Iterable[Candidate]) -> Proposal | None:
        """Accept a repair if the whole project is no worse with it; otherwise note the objection."""
        try:
            before, after, suite, state = self._tried(candidate)
        except (Refusal, PlaceError) as error:
            self.refused.add((candidate.fact, candidate.new))
            self.objections |= dict.fromkeys(candidate.names, f"{candidate.change}: {error}")
            return None
        fixed = [key for key in self.state.failures if key not in state.failures]
        fixes = tuple(self.wanted[key] for key in fixed if key in self.wanted)
        alike = [other for other in candidates if other is not candidate and set(other.names) == set(candidate.names)]
        other_side = [remark for single in self._single(fixed) for remark in single.remarks()]
        remarks = (*_remarks(candidate.cause, len(fixed)), *other_side, *_alternatives(alike))
        self.suite, self.state = suite, state
        fact = candidate.fact
        return Proposal(fact.file, fact.line, fact.path, fact.display, candidate.new, before, after, fixes, remarks)

    def _tried(self, candidate: Candidate) -> tuple[str, str, Suite, State]:
        """Text before and after, and the project with it, read and judged as a whole. Raises Refusal, PlaceError."""
        file = candidate.fact.file
        refuse_outside(file, self.root)
        before = self.suite.text(file)
        after = strict_yaml.with_value(before, place_of(before, candidate.fact), candidate.new)
        suite = self.suite.with_text(file, after)
        state = self.state.after(self.suite, suite, file, excuses=self.excuses)
        if objection := state.objection(self.state):
            raise Refusal(objection)
        fixed = [key for key in self.state.failures if key not in state.failures]
        if not set(fixed) & set(self.wanted):
            raise Refusal("fixes nothing when it is written to the file")
        for single in self._single(fixed):
            single.refuse_guess(candidate.fact, candidate.new)
        return before, after, suite, state

    def _single(self, fixed: Sequence[Key]) -> list[SingleClaim]:
        """The one claim that a repair fixes; none where it fixes several."""
        if len(fixed) != 1:
            return []
        return [SingleClaim(self.suite, self.verdicts[fixed[0]], fixed[0], excuses=self.excuses)]


def place_of(text: str, fact: Fact) -> tuple[str | int, ...]:
    """Where the value of a fact stands in its file: among the facts, or at its operating point. Raises PlaceError."""
    place = ("operating_points", fact.at, fact.path) if fact.at else tuple(fact.path.split("."))
    if strict_yaml.line_of_key(text, place) == fact.line:
        return (*place, 0)
    raise PlaceError(f"{fact.path} is not written where it was read")


def _remarks(cause: Cause, fixed: int) -> Iterator[str]:
    yield f"factor {cause.factor_text}: {cause.text}"
    turn = "1 red claim turns" if fixed == 1 else f"{fixed} red claims turn"
    yield f"tried on every claim: {turn} green, none turns red"


def _alternatives(alike: Iterable[Candidate]) -> Iterator[str]:
    """Remarks on equivalent repairs: only one is proposed, because two together would hide an error."""
    for number, one in enumerate(alike):
        if not number:
            yield "undecided: other repairs fix the same claims; read the sources of each before you choose"
        yield f"instead of this one: {one.change}"
