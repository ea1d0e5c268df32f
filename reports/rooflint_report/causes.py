"""Failing claims by cause: the one grouping that terminal, page, comment, annotations and SARIF share."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePosixPath

from rooflint.base.text import changed, counted, fail_text, short_id, some, workflow_command
from rooflint.base.units import UnitError, format_number, parse_quantity
from rooflint.output import sarif
from rooflint_report.claim_changes import Cause as Change
from rooflint_report.claim_changes import Causes, Loss, Reverted, effect
from rooflint_report.evidence import Evidence, Problem
from rooflint_report.verdicts import Cause, Place, Verdict

ANNOTATIONS = 10
"""GitHub shows so many of one step."""
NAMED = 8
"""Claims that a message names."""
RELATED = 100
"""Claims whose places a result of SARIF has."""


def name(verdict: Verdict) -> str:
    """Of a claim, in the comparison with a base: `golden/peaks/acme/x1.yaml::peak-core-int8`."""
    return f"{verdict.file}::{verdict.id}"


def by_cause(
    fails: Sequence[Verdict], places: Iterable[Place] = (), changes: Causes | None = None
) -> list[list[Verdict]]:
    """Failing claims with one cause together, each claim once; groups in the order of their first claim.

    The cause is the change since the base that makes a claim fail; else a repair that was seen to fix several claims
    and to break none; else the fact that the first candidate cause names, with what to write there; else the reason for
    which claims of a file have no figure, such as an unknown device. In a group those
    that name the repair come first, then the clearest; those that fail because of several changes come last.
    """
    keys, several = dict[str, object](), set[str]()
    for number, change in enumerate(changes.changes if changes else ()):
        for claim in change.claims:
            several |= {claim} & keys.keys()
            keys.setdefault(claim, number)
    named = set[str]()
    for place in places:
        members = [one for one in fails if one.nodeid in place.ids or name(one) in place.fixed]
        if place.fixes > 1 and not place.breaks and len(members) > 1:
            for one in members:
                keys.setdefault(name(one), (place.file, place.line, place.path, place.to))
            named.update(place.ids)
    groups = dict[object, list[Verdict]]()
    for one in fails:
        first = one.causes[0] if one.causes else None
        fact = (first.file, first.line, first.path, first.repair) if first and first.file else None
        said = (one.file, one.reason) if one.reason and not one.obtained else one.nodeid
        groups.setdefault(keys.get(name(one), fact or said), []).append(one)

    def last(one: Verdict) -> tuple[object, ...]:
        by_change = isinstance(keys.get(name(one)), int)
        return (name(one) in several, not by_change and one.nodeid not in named, *_unclear(one))

    return [sorted(group, key=last) for group in groups.values()]


def _unclear(one: Verdict) -> tuple[bool, bool, bool, int, str, int]:
    """Sorts the clearest claim first: a figure, of a device, of the fewest facts, so that few of them can be wrong."""
    return one.ratio is None, one.hardware is None, one.at is not None, len(one.facts), one.file, one.line


def likely(verdict: Verdict, change: Change) -> list[Cause]:
    """Candidate causes that can be true where a change makes a claim fail: reverting it is known to mend the claim.

    They ask for the value of the base; where the claim itself was changed, they name no fact.
    """
    if change.file == verdict.file:
        return [one for one in verdict.causes if one.file is None]
    there = change.file, change.line
    return [one for one in verdict.causes if (one.file, one.line) == there and _is_same(one.repair, change.base)]


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts state one value: `10 Gbit/s` and `10.0 Gbit/s`."""
    if one is None or other is None:
        return False
    try:
        first, second = parse_quantity(one), parse_quantity(other)
    except UnitError:
        return one == other
    return first.dimension == second.dimension and math.isclose(first.value, second.value, rel_tol=DIGITS)


DIGITS = 1e-3
"""Relative difference up to which a repair, which is printed in a few digits, is the value of the base."""


LONGEST_TITLE = 100
"""Letters of a change in a title."""


@dataclass(frozen=True)
class Culprit:
    """A changed line that makes claims fail."""

    cause: Change
    verdicts: list[Verdict]
    """Those claims, as the run judged them: the clearest first, those that another change explains, too, last."""

    @property
    def place(self) -> str:
        """`specs/hardware/acme/x1.yaml:15`."""
        return f"{self.cause.file}:{self.cause.line}" if self.cause.line else self.cause.file or self.cause.path

    @property
    def words(self) -> str:
        """What the diagnosis of most of these claims says and can be true; empty for none."""
        said = Counter(one.text for verdict in self.verdicts for one in likely(verdict, self.cause)[:1])
        return said.most_common(1)[0][0] if said else ""

    @property
    def factor(self) -> str:
        """`1/16`, `×16` or `×1.4`; empty where there is none."""
        factor = self.cause.factor or ""
        if not factor or factor.startswith("1/"):
            return factor
        return f"×{factor if self.ratio is None or '/' not in factor else format_number(self.ratio)}"

    @property
    def ratio(self) -> float | None:
        """The factor as a number; None where there is none."""
        try:
            return float(Fraction(self.cause.factor)) if self.cause.factor else None
        except (ValueError, ZeroDivisionError):
            return None

    @property
    def what(self) -> str:
        """What was changed, without its values: `tdp at 30w`."""
        return f"{self.cause.path} at {self.cause.at}" if self.cause.at else self.cause.path

    @property
    def short(self) -> str:
        """`ampere-ga10b tensor_core.macs_per_clock.int8 512 MAC → 32 MAC`; its place where that is too long."""
        cause = self.cause
        subject = f"{PurePosixPath(cause.file or '').stem} {cause.path.removeprefix('units.')}".strip()
        text = changed(subject, cause.at, cause.base, cause.head)
        return text if len(text) <= LONGEST_TITLE else f"{PurePosixPath(cause.file or '').name}:{cause.line or 1}"

    @property
    def fails(self) -> tuple[str, str]:
        """What fails because of it, and the likely reason, which may be empty."""
        return f"{fail_text(len(self.cause.claims))} because of it.", f" Likely: {self.words}." if self.words else ""

    @property
    def consequence(self) -> str:
        """What fails because of it, the likely reason, and what reverting it does."""
        return f"{''.join(self.fails)} Reverting it alone: {effect(self.cause)}{_broken(self.cause)}."

    @property
    def text(self) -> str:
        """The whole in words."""
        factor = f" ({self.factor})" if self.factor else ""
        return f"{self.cause.change}{factor}: {self.consequence}"


def culprits(evidence: Evidence) -> list[Culprit]:
    """The changes since the base that make claims fail, that of most failures first."""
    causes = evidence.claim_changes.causes if evidence.claim_changes else None
    fails = {name(one): one for one in evidence.verdicts if one.outcome == "fail"}
    changes = [one for one in causes.changes if one.claims] if causes else []
    times = Counter(claim for one in changes for claim in one.claims)

    def last(one: Verdict) -> tuple[object, ...]:
        return times[name(one)] > 1, *_unclear(one)

    return [Culprit(one, sorted((fails[claim] for claim in one.claims if claim in fails), key=last)) for one in changes]


def together(evidence: Evidence) -> str:
    """What reverting all changes does, where several make claims fail; else empty."""
    causes = evidence.claim_changes.causes if evidence.claim_changes else None
    several = causes and sum(bool(one.claims) for one in causes.changes) > 1
    return effect(causes.all_) + _broken(causes.all_) if causes and several else ""


def _broken(one: Change | Reverted) -> str:
    """`: golden/x.yaml::count`, the claims that fail then; empty for none."""
    return f": {some(map(short_id, one.breaks))}" if one.breaks else ""


def repairs(evidence: Evidence) -> list[Place]:
    """Repairs that were seen to fix several claims and to break none, but for those of the same claims."""
    found, fixed = list[Place](), set[str]()
    for one in evidence.places:
        if one.fixes > 1 and not one.breaks and one.to is not None and not fixed.issuperset(one.fixed or one.ids):
            found.append(one)
            fixed.update(one.fixed or one.ids)
    return found[:3]


def lost(evidence: Evidence) -> list[Loss]:
    """What was removed or weakened since the base without a stated reason."""
    found = evidence.claim_changes
    return [one for one in (*found.changes, *found.recordings, *found.facts) if one.write] if found else []


def problems(evidence: Evidence) -> list[str]:
    """What is wrong with files and with the suite, in sentences with places; of a fact, also its value in the base."""
    found = evidence.claim_changes.unreadable if evidence.claim_changes else []
    said = (f"{f'{one.file}:{one.line or 1}  ' if one.file else ''}{one.what}" for one in evidence.problems)
    return [*found, *(text for text in said if not any(one.startswith(text) for one in found))]


# ---- the same as messages at lines of files


@dataclass(frozen=True)
class Message:
    """One cause at the line where it is mended."""

    rule: str
    title: str
    text: str
    file: str | None
    line: int | None
    claims: list[Verdict]

    @property
    def annotation(self) -> str:
        """As a command for GitHub's runner."""
        return workflow_command("error", self.title, self.text, self.file, self.line)


RULES = {
    "problem": "a file cannot be read, or the suite lacks something",
    "change": "a change since the base makes claims fail",
    "claim": "claims fail, with one likely cause",
}
"""What the rules of messages mean."""


def messages(
    fails: Sequence[Verdict],
    problems: Iterable[Problem],
    places: Iterable[Place] = (),
    changed_lines: Sequence[Culprit] = (),
) -> Iterator[Message]:
    """Problems of files, then changed lines, then the likely causes of other failures, in the order of `fails`."""
    for problem in problems:
        yield Message("problem", "rooflint", problem.what, problem.file, problem.line, [])
    for culprit in changed_lines:
        title = counted(len(culprit.cause.claims), "failing claim")
        yield Message("change", title, culprit.text, culprit.cause.file, culprit.cause.line, culprit.verdicts)
    explained = {claim for one in changed_lines for claim in one.cause.claims}
    for group in by_cause([one for one in fails if name(one) not in explained], places):
        yield _message(group)


def _message(group: list[Verdict]) -> Message:
    """At a fact of the project whose repair fixes claims and breaks none; else at the claim."""
    first = group[0]
    cause = first.causes[0] if first.causes else None
    settles = cause and cause.file and not cause.file.startswith("/") and cause.fixes and not cause.breaks
    at = cause if cause and settles else first
    title = first.headline if len(group) == 1 else counted(len(group), "failing claim")
    others = [one.headline for one in group[1:]]
    more = f", and {len(others) - NAMED} more" if len(others) > NAMED else ""
    also = f". For the same cause: {', '.join(others[:NAMED])}{more}" if others else ""
    lead = f"{first.headline}: " if others else ""
    return Message("claim", title, f"{lead}{_claim(first)}{also}", at.file, at.line, group)


def _claim(one: Verdict) -> str:
    expected = f"expected {one.expected.display}" if one.expected else ""
    obtained = f", obtained {one.obtained.display}" if one.obtained else ""
    ratio = f", ratio {one.ratio_text}" if one.ratio_text else ""
    reason = f"; {one.reason}" if one.reason else ""
    return f"{expected}{obtained}{ratio}{_likely(one.causes[0]) if one.causes else ''}{reason}"


def _likely(cause: Cause) -> str:
    fix = f" ({cause.file}:{cause.line}: write {cause.repair})" if cause.repair else ""
    return f"; {cause.text}{fix}"


def as_sarif(found: Sequence[Message]) -> str:
    """SARIF 2.1.0 for code scanning: one result a cause, with the places of its claims."""
    results = [
        sarif.Result(
            one.rule,
            "error",
            one.text,
            sarif.Place(one.file, one.line) if one.file else None,
            [sarif.Place(claim.file, claim.line, claim.headline) for claim in one.claims[:RELATED]],
        )
        for one in found
    ]
    return sarif.as_sarif(RULES, results)


def as_code_quality(found: Sequence[Message]) -> str:
    """Code Quality of GitLab: one issue a cause, whose fingerprint stays the same where lines move."""
    seen = Counter[tuple[str, str, str]]()
    issues = []
    for one in found:
        key = one.rule, one.file or "", min(map(name, one.claims), default=one.text)
        seen[key] += 1  # two lines of a file may make the same claim fail
        issue = {
            "description": one.text,
            "check_name": f"rooflint-{one.rule}",
            "fingerprint": hashlib.sha256(json.dumps([*key, seen[key]]).encode()).hexdigest(),
            "severity": "blocker" if one.rule == "problem" else "major",
            # GitLab wants a path; what has none is about the whole project
            "location": {"path": one.file or ".", "lines": {"begin": one.line or 1}},
        }
        issues.append(issue)
    return json.dumps(issues, ensure_ascii=False, indent=2) + "\n"


def of_evidence(evidence: Evidence, fails: Sequence[Verdict]) -> list[Message]:
    """The messages of a run; `fails` are its failing claims in the order wanted."""
    return [*messages(fails, evidence.problems, evidence.places, culprits(evidence))]
