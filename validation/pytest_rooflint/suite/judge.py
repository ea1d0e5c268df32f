"""Judge a claim: obtain the figure, compare it with the expectation, rank the causes of a failure by trials."""

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import Expectation
from pytest_rooflint.golden.kinds import (
    DIVISOR,
    Claim,
    ClaimError,
    Context,
    ContradictionError,
    Obtained,
    UnavailableError,
    Xfail,
)
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Outcome, Verdict
from rooflint.base.errors import InputError, RooflintError, shown, shown_short
from rooflint.base.facts import Fact
from rooflint.base.text import article, counted
from rooflint.base.units import measure
from rooflint.diagnosis.candidate_causes import short
from rooflint.diagnosis.causes import AS_SPARSE, Cause, Span, ratio_text
from rooflint.diagnosis.diagnose import MAX_CAUSES, candidates, shortlist
from rooflint.hardware.device import UndisclosedError

SMALL = 1e-3
"""A failing ratio nearer to one than this is printed with all its digits."""
DRIFT = 1e-3
"""How far a known disagreement may move, as a share of its ratio, before it is another one."""


def judge(
    claim: Claim,
    nodeid: str,
    context: Context,
    *,
    today: datetime.date | None = None,
    excuses: bool = True,
    trial: "Trial | None" = None,
) -> Verdict:
    """The verdict on a claim. An error in a file ends in a verdict, never in a traceback.

    Without `excuses` a known disagreement fails like any other. With a `trial` the causes are tried on other claims.
    """
    ranking = trial.ranked if trial else _simplest
    verdict = _judged(claim, nodeid, context, today, excuses)
    expectation, obtained = claim.expectation, verdict.obtained
    if verdict.causes:  # facts contradict one another, so no figure was obtained
        return replace(verdict, causes=ranking(verdict.causes))
    if obtained is None or verdict.outcome in ("pass", "undecided"):
        return verdict
    if expectation is None:
        # a wrong fact that other claims found explains an order better than what the devices lack
        related = trial.related(verdict) if trial and len(obtained.others) > 1 else ()
        return replace(verdict, causes=related or ranking(obtained.causes) or (trial.related(verdict) if trial else ()))
    excused = claim.xfail.ratio if excuses and claim.xfail else None
    if verdict.ratio is None or (expectation.holds(obtained.value) and not excused):
        return verdict
    if trial and verdict.outcome == "fail":
        trial.say("searching for causes")
    rounded = _rounded(expectation, verdict.ratio)
    causes = (*obtained.causes, *rounded, *_causes(obtained, *_sought(expectation, excused, verdict.ratio), context))
    ranked = (ranking if verdict.outcome == "fail" else _simplest)(causes)
    if trial and verdict.outcome == "fail":
        ranked = trial.with_outlier(claim, ranked)
    if excused and is_known_wrong(verdict):
        verdict = replace(verdict, reason=_known_wrong(verdict, ranked))
    return replace(verdict, causes=ranked)


def _rounded(expectation: Expectation, ratio: float) -> tuple[Cause, ...]:
    """The expectation, where its last zeros are no digits that the source printed."""
    if abs(ratio - 1) > expectation.rounding:
        return ()
    text = f"the last zeros of {expectation.text} are rounded"
    remedy = f"write the digits that are printed, or '± {100 * expectation.rounding:.2g} %' and 'why:'"
    return (Cause(text, ratio, 1.5, of_claim=True, remedy=remedy),)


def _simplest(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    return tuple(shortlist(causes))


def outcome_of(claim: Claim, context: Context, *, excuses: bool = True) -> Outcome:
    """The outcome alone, without a search for causes. A kind that raises counts as a failure here; `judge` raises."""
    try:
        return brief(claim, context, excuses=excuses).outcome
    except Exception:
        return "fail"


def caught(claim: Claim, nodeid: str, judging: Callable[[], Verdict]) -> Verdict:
    """A verdict; a bug in a kind of claim fails the claim instead of the run."""
    try:
        return judging()
    except Exception as error:
        return Verdict(claim, "fail", nodeid, reason=f"was not judged: {type(error).__name__}: {error}")


def brief(claim: Claim, context: Context, *, excuses: bool = True) -> Verdict:
    """The verdict without a search for causes."""
    return _judged(claim, "", context, None, excuses)


def _judged(claim: Claim, nodeid: str, context: Context, today: datetime.date | None, excuses: bool) -> Verdict:
    try:
        obtained = kinds.kind(claim.kind).obtain(claim, context)
    except (UndisclosedError, UnavailableError) as error:
        return _not_obtained(claim, nodeid, error)
    except ContradictionError as error:
        return Verdict(claim, "fail", nodeid, reason=str(error), causes=error.causes)
    except (RooflintError, ClaimError) as error:
        unread = error.problems if isinstance(error, InputError) else ()
        return Verdict(claim, "fail", nodeid, reason=str(error), unread=tuple(unread))
    if claim.undisclosed:
        return Verdict(claim, "fail", nodeid, obtained, reason="the facts are disclosed now; remove 'undisclosed'")
    verdict = _compared(claim, nodeid, obtained)
    if claim.xfail is None or not excuses:
        return verdict
    return _excused(verdict, claim.xfail, today or datetime.datetime.now(tz=datetime.UTC).date())


def _not_obtained(claim: Claim, nodeid: str, error: UndisclosedError | UnavailableError) -> Verdict:
    """Not validated here; a claim about undisclosed facts must say so, or it fails."""
    if claim.undisclosed or isinstance(error, UnavailableError):
        return Verdict(claim, "not validated here", nodeid, reason=str(error))
    return Verdict(claim, "fail", nodeid, reason=f"{error}; if that is final, add 'undisclosed: true' to the claim")


def _compared(claim: Claim, nodeid: str, obtained: Obtained) -> Verdict:
    expectation = claim.expectation
    if _is_open(obtained, expectation):
        return Verdict(claim, "undecided", nodeid, obtained, reason=obtained.doubt)
    if expectation is None:
        holds = bool(obtained.holds)
        backed = holds and corroborated(claim, obtained)
        return Verdict(claim, "pass" if holds else "fail", nodeid, obtained, corroborated=backed)
    if obtained.dimension != expectation.dimension:
        found, wanted = measure(expectation.dimension), measure(obtained.dimension)
        reason = f"'{expectation.text}' is {found}, {article(claim.kind)} is {wanted}"
        return Verdict(claim, "fail", nodeid, obtained, reason=reason)
    if not math.isfinite(obtained.value):
        return Verdict(claim, "fail", nodeid, obtained, reason="the obtained value is not a finite number")
    ratio = obtained.value / expectation.value
    span = Span(
        obtained.value / expectation.high, obtained.value / expectation.low if expectation.low > 0 else math.inf
    )
    agrees = expectation.holds(obtained.value)
    return Verdict(
        claim,
        "pass" if agrees else "fail",
        nodeid,
        obtained,
        ratio=ratio,
        ratio_text=ratio_text(ratio, span) if agrees or abs(ratio - 1) > SMALL else f"{ratio:.8g}",
        corroborated=agrees and corroborated(claim, obtained),
    )


def _is_open(obtained: Obtained, expectation: Expectation | None) -> bool:
    """Whether a doubtful figure is undecided: it may be too low, so only a value above the expectation fails."""
    if not obtained.doubt or (expectation and obtained.dimension != expectation.dimension):
        return False
    return not obtained.holds if expectation is None else obtained.value <= expectation.high


def _sought(expected: Expectation, excused: Expectation | None, ratio: float) -> tuple[float, float]:
    """The interval that a repair must reach: the expectation, or where a known disagreement moved, the old ratio."""
    if excused is None or _excuses(excused, ratio, expected):
        return expected.low, expected.high
    return expected.low * excused.low, expected.high * excused.high


def _causes(obtained: Obtained, low: float, high: float, context: Context) -> Iterator[Cause]:
    def given(fact: Fact) -> bool:
        return not context.is_own(fact.file)

    for term, case in obtained.cases(low, high, context.registry):
        for cause in candidates(replace(case, given=given)):
            if term == DIVISOR:
                yield replace(cause, factor=1 / cause.factor, parts=())
            elif term:
                yield replace(cause, text=f"{term} alone is off by {cause.factor_text}: {cause.text}", parts=())
            else:
                yield cause


def _excused(verdict: Verdict, xfail: Xfail, today: datetime.date) -> Verdict:
    """An expected failure must fail by its figure, and not after its date."""
    if verdict.outcome not in ("pass", "fail"):
        return verdict
    if reason := _unexcused(verdict, xfail, today):
        return replace(verdict, outcome="fail", corroborated=False, reason=reason)
    if verdict.reason:  # it failed for another reason than its figure
        return verdict
    return replace(verdict, outcome="xfail", reason=xfail.reason)


def _unexcused(verdict: Verdict, xfail: Xfail, today: datetime.date) -> str | None:
    """Why an expected failure does not excuse a verdict; None where it does, or where no figure was obtained."""
    if is_known_wrong(verdict):
        return _known_wrong(verdict, ())
    if today > xfail.until:
        return f"the expected failure ended on {xfail.until}; settle it or set a later date ({xfail.reason})"
    if verdict.outcome == "pass":
        return f"passes although it is expected to fail; remove 'xfail' ({xfail.reason})"
    expected = verdict.claim.expectation
    if verdict.reason or not (xfail.ratio and verdict.ratio and expected):
        return None
    if not _excuses(xfail.ratio, verdict.ratio, expected):
        return f"the ratio is {verdict.ratio_text}, but the expected failure has {xfail.ratio.text} ({xfail.reason})"
    return None


def is_known_wrong(verdict: Verdict) -> bool:
    """Whether the obtained figure equals one that the claim holds to be wrong.

    No claim does so where the question is open (`open: true`), or where its kind infers the figure from the model.
    """
    claim, obtained = verdict.claim, verdict.obtained
    if claim.xfail is None or claim.xfail.ratio is None or claim.xfail.open or kinds.kind(claim.kind).inferred:
        return False
    return bool(claim.expectation and obtained and verdict.ratio and claim.expectation.holds(obtained.value))


def _known_wrong(verdict: Verdict, causes: tuple[Cause, ...]) -> str:
    """The line of the spec that is likeliest wrong, then what its figure equals, with the sources of both."""
    claim = verdict.claim
    suspects = (*(cause.fact for cause in causes if cause.fact), *verdict.facts)
    spec = ""
    if suspects:
        fact = suspects[0]
        spec = (
            f"{shown_short(fact.file)}:{fact.line}  {fact.path} {fact.display} ({fact.source.document}, {fact.where}): "
        )
    printed = claim.expectation.text if claim.expectation else ""
    why = claim.xfail.reason if claim.xfail else ""
    return (
        f"{spec}your spec now equals a figure known to be wrong, {printed} of {claim.source}: {why}. "
        "Correct the spec and keep 'xfail'"
    )


def _excuses(excused: Expectation, ratio: float, expected: Expectation) -> bool:
    """Whether a ratio equals the excused one within the digits of both."""
    low, high = excused.low * expected.low / expected.value, excused.high * expected.high / expected.value
    return low * (1 - DRIFT) <= ratio <= high * (1 + DRIFT)


def corroborated(claim: Claim, obtained: Obtained) -> bool:
    """Whether two documents agree: no fact was read in the claim's document, and neither side is an estimate.

    A figure without facts (the ops of a workload) is counted here and printed elsewhere, and so corroborated.
    """
    return not claim.is_replay and not kinds.kind(claim.kind).inferred and is_second(claim, obtained.facts)


def is_second(claim: Claim, facts: Iterable[Fact]) -> bool:
    """Whether a claim quotes another document than these facts, and neither side is an estimate."""
    if claim.source is None:
        return False
    sources = [fact.source for fact in facts]
    own = {_title(source.document) for source in sources}
    judged = any(source.grade == "estimate" for source in sources)
    return not judged and claim.source.grade != "estimate" and _title(claim.source.document) not in own


@lru_cache(maxsize=4096)
def _title(document: str) -> frozenset[str]:
    """The words of a title, so that punctuation and order do not matter."""
    return frozenset(re.findall(r"[a-z0-9]+(?:\.[a-z0-9]+)*", document.casefold()))


# ---- trials of repairs: every claim judged again with one fact changed

MOST_TRIALS = 100
"""Maximum number of different repairs that one run tries."""


Noted = Mapping[str, Any] | None
"""What a claim asked for, as plain data; None where that is not noted."""
Noting = Callable[[Callable[[Context], Verdict], Claim, Suite], tuple[Verdict, Noted]]
"""Judges a claim of a suite in a context that notes what it asks for."""


def unnoted(judged: Callable[[Context], Verdict], _: Claim, suite: Suite) -> tuple[Verdict, Noted]:
    """The verdict on a claim, and nothing noted."""
    return judged(suite), None


def silent(_: str) -> None:
    """Says nothing of a search."""


class Effect(NamedTuple):
    """What the repair of a fact does to the claims."""

    fixes: list[str]
    """Claims that pass with it, as `golden/x.yaml::id`."""
    breaks: int
    """Claims that fail with it and pass without."""
    asking: frozenset[str]
    """Documents whose figures agree with it and not without."""
    backing: frozenset[str]
    """Documents whose figures agree without it alone."""


@dataclass(frozen=True)
class Trial:
    """Tries repairs on a suite: every claim is judged again with one fact of a spec changed."""

    suite: Suite
    excuses: bool = True
    """Whether known disagreements are excused."""
    laws: bool = False
    """Whether failing claims about all devices are judged again with the best repairs, which takes seconds."""
    judged: Collection[str] | None = None
    """Keys of the claims that the run judges; None for all. Other claims about all devices are not tried."""
    say: Callable[[str], None] = silent
    """Tells what a search is at, which may take seconds, and at its end nothing."""
    noting: Noting = unnoted
    """How claims are judged as the suite is."""
    _outcomes: dict[str, bool] = field(default_factory=dict, repr=False)
    """Whether claims fail as the suite is."""
    _passed: dict[str, tuple[Verdict, Noted]] = field(default_factory=dict, repr=False)
    """Passing claims that were judged before their turn."""
    _effects: dict[tuple[Fact, float], "Effect"] = field(default_factory=dict, repr=False)
    _figures: dict[str, Verdict] = field(default_factory=dict, repr=False)

    def verdict(self, claim: Claim, nodeid: str) -> tuple[Verdict, Noted]:
        """The verdict on a claim with its causes, and what the claim asked for.

        A claim that passed when the search for causes needed its outcome is not judged again.
        """
        key = key_of(claim)
        if key in self._passed:
            verdict, noted = self._passed.pop(key)
            return replace(verdict, nodeid=nodeid), noted
        judged = partial(judge, claim, nodeid, excuses=self.excuses, trial=self)
        verdict, noted = self.noting(judged, claim, self.suite)
        self._outcomes[key] = verdict.outcome == "fail"
        return replace(verdict, causes=tuple(self._possible(cause, claim) for cause in verdict.causes)), noted

    def _possible(self, cause: Cause, claim: Claim) -> Cause:
        """A cause whose remedy can be written: no document is claimed to print the sparse figure twice."""
        if cause.remedy != AS_SPARSE:
            return cause
        for other in self.suite.read(claim.file).claims:
            same = (other.kind, other.subject, other.source) == (claim.kind, claim.subject, claim.source)
            if same and other.option("sparse"):
                return replace(cause, remedy=f"line {other.line} quotes the sparse figure; quote the dense one here")
        return cause

    def ranked(self, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
        """The causes worth showing; first those whose repair fixes most claims and breaks none."""
        tried = []
        for number, cause in enumerate(causes, 1):
            self.say(f"trying repair {number} of {len(causes)}")
            tried.append(self._tried(cause))
        self.say("")
        return tuple(shortlist(tried))

    def _tried(self, cause: Cause) -> Cause:
        if cause.fact is None or cause.repaired is None:
            return cause
        key = (cause.fact, cause.repaired.value)
        if key not in self._effects:
            if len(self._effects) >= MOST_TRIALS:
                return cause
            self._effects[key] = self._effect(cause.fact, cause.repaired)
        effect = self._effects[key]
        return replace(cause, fixes=len(effect.fixes), breaks=effect.breaks)

    def with_outlier(self, claim: Claim, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
        """The causes after the expectation itself, where each repair breaks claims that more documents back."""
        first = causes[0] if causes else None
        if first is None or not (first.breaks and first.fact and first.repaired and claim.source):
            return causes
        effect = self._effects[(first.fact, first.repaired.value)]
        own = set() if first.fact.source.grade == "estimate" else {first.fact.source.document}
        wanted = {claim.source.document, *effect.asking}
        if len((own | effect.backing) - wanted) < len(wanted - own - effect.backing):
            return causes
        others = effect.backing - wanted
        backed = f" ({counted(len(others), 'other document')})" if others else ""
        text = (
            f"the expectation is the outlier: {short(first.fact)} {first.repair} would break "
            f"{counted(first.breaks, 'claim')}{backed}"
        )
        return (Cause(text, first.factor, first.cost, of_claim=True), *causes)[:MAX_CAUSES]

    def fixed(self, cause: Cause) -> list[str]:
        """The claims that the repair of a cause fixes, as `golden/x.yaml::id`; none where it was not tried."""
        key = (cause.fact, cause.repaired.value) if cause.fact and cause.repaired else None
        return self._effects[key].fixes if key in self._effects else []

    def related(self, verdict: Verdict) -> tuple[Cause, ...]:
        """Causes of failing figures of the same devices whose repair fixes this claim, too, and breaks none.

        An order or a bound tells that a fact is wrong; what its value should be only a figure tells.
        """
        claim, obtained = verdict.claim, verdict.obtained
        names = (*(obtained.others if obtained else ()), *([claim.hardware] if claim.hardware else ()))
        devices = {name.partition("@")[0] for name in names}
        places = {fact.place for fact in verdict.facts}
        found = dict[tuple[object, str | None], Cause]()
        for figure in self._failing_figures(devices) if places else ():
            for cause in figure.causes:
                if cause.fact and cause.fact.place in places and not cause.breaks and _name(claim) in self.fixed(cause):
                    found.setdefault((cause.fact.place, cause.repair), cause)
        return tuple(shortlist(found.values()))

    def _failing_figures(self, devices: set[str]) -> Iterator[Verdict]:
        """Verdicts on the failing claims about these devices that expect a figure of their facts."""
        for claim in self.suite.claims():
            is_figure = claim.expectation and not claim.is_replay and not kinds.kind(claim.kind).inferred
            if is_figure and claim.hardware in devices and self._failed(claim):
                name = _name(claim)
                if name not in self._figures:
                    judged = partial(judge, claim, name, self.suite, excuses=self.excuses, trial=self)
                    self._figures[name] = caught(claim, name, judged)
                yield self._figures[name]

    def _effect(self, fact: Fact, repaired: Fact) -> "Effect":
        """What the repair of a fact does to the claims.

        Laws are judged again only with a repair that fixes several claims and breaks none.
        """
        held = set(self.suite.registry.holders(fact))
        changed = replace(self.suite, registry=self.suite.registry.with_fact(fact, repaired))
        fixes, breaks, asking, backing = list[str](), 0, set[str](), set[str]()
        for claim in self.suite.claims():
            if claim.is_replay or not _concerns(claim, held, self.suite, fact):
                continue
            before, after = self._failed(claim), self._fails(claim, changed)
            fixes += [_name(claim)] if before and not after else []
            breaks += after and not before
            if before != after and claim.source and claim.expectation and not kinds.kind(claim.kind).inferred:
                (asking if before else backing).add(claim.source.document)
        if self.laws and len(fixes) > 1 and not breaks:
            left = (claim for claim in self._failing_laws if _name(claim) not in fixes)
            fixes += [_name(claim) for claim in left if not self._fails(claim, changed)]
        return Effect(fixes, breaks, frozenset(asking), frozenset(backing))

    @cached_property
    def _failing_laws(self) -> list[Claim]:
        """Failing claims about all devices."""
        laws = (claim for claim in self.suite.claims() if kinds.kind(claim.kind).foreign)
        return [one for one in laws if (self.judged is None or key_of(one) in self.judged) and self._failed(one)]

    def _failed(self, claim: Claim) -> bool:
        key = key_of(claim)
        if key not in self._outcomes:
            self._outcomes[key] = self._fails_as_it_is(claim, key)
        return self._outcomes[key]

    def _fails_as_it_is(self, claim: Claim, key: str) -> bool:
        try:
            verdict, noted = self.noting(partial(brief, claim, excuses=self.excuses), claim, self.suite)
        except Exception:  # a bug in a kind of claim, which the claim itself shows
            return True
        if verdict.outcome == "pass":
            self._passed[key] = verdict, noted
        return verdict.outcome == "fail"

    def _fails(self, claim: Claim, suite: Suite) -> bool:
        return outcome_of(claim, suite, excuses=self.excuses) == "fail"


def key_of(claim: Claim) -> str:
    """What a claim is known by within a run."""
    return f"{claim.file}::{claim.id}"


def _name(claim: Claim) -> str:
    return f"{shown(claim.file)}::{claim.id}"


def _concerns(claim: Claim, devices: set[str], suite: Suite, fact: Fact) -> bool:
    """Whether a claim may rest on a fact that these devices hold."""
    if claim.hardware:
        return claim.hardware in devices
    if claim.architecture:
        return suite.registry.architecture(claim.architecture).as_hardware().facts.get(fact.path) == fact
    return any(word.partition("@")[0] in devices for word in claim.subject.split())
