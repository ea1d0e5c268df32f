"""The comment for a pull request: what broke, why, where, what moved and what to run, in fifteen lines."""

import json
from dataclasses import dataclass

from rooflint.base.text import fail_text
from rooflint_report.causes import Culprit, by_cause, culprits, lost, name, problems
from rooflint_report.claim_changes import ClaimChange, ClaimChanges, Loss
from rooflint_report.differences import Delta, Watched
from rooflint_report.evidence import Evidence
from rooflint_report.post import SCHEMA
from rooflint_report.sections.section import counted, grouped
from rooflint_report.verdicts import Verdict

CULPRITS = 3
"""Changed lines that are in sight."""
LOSSES = 2
LINES = 15
"""At most, without what is folded."""
_FRAME = 4
"""Lines of every comment: the mark, the title, a blank line and the last one."""
FOLDED = 8
"""Causes in the folded list, and claims of each."""


@dataclass(frozen=True)
class Sides:
    """What was compared with what, with the addresses of both."""

    base: str
    head: str
    base_url: str | None
    head_url: str | None
    links: list[tuple[str, str]]
    """Further texts with their addresses."""

    @classmethod
    def of(cls, evidence: Evidence, found: ClaimChanges | Delta) -> "Sides":
        """Of a comparison of claims or of predictions."""
        hosting = evidence.run.hosting
        base, head = (found.base, found.head) if isinstance(found, ClaimChanges) else (found.old, found.new)
        return cls(
            base=base.label.removeprefix("revision "),
            head=_head(evidence) or head.label,
            base_url=hosting.commit_url(base.commit) if hosting and base.commit else None,
            head_url=hosting.commit_url(hosting.commit) if hosting else None,
            links=hosting.links if hosting else [],
        )


@dataclass(frozen=True)
class Comment:
    """What the template shows."""

    is_red: bool
    title: str
    culprits: list[Culprit]
    losses: list[str]
    moved: str
    watched: list[Watched]
    """Predictions that the project asks for and that moved, the farthest first."""
    rerun: str
    problems: list[str]
    """Of files that cannot be judged."""
    other_failures: list[list[Verdict]]
    """Failing claims that no changed line explains, by cause."""
    sides: Sides

    @property
    def lines(self) -> int:
        """Lines in sight without the table of watched predictions and the command that reruns a claim."""
        culprits = min(len(self.culprits), CULPRITS) + (len(self.culprits) > CULPRITS)
        losses = min(len(self.losses), LOSSES) + (len(self.losses) > LOSSES)
        folded = 2 if self.culprits or self.other_failures else 0
        return _FRAME + culprits + losses + bool(self.problems) + bool(self.moved) + folded

    @property
    def has_rerun(self) -> bool:
        """Whether there is room for the command."""
        return bool(self.rerun) and self.lines < LINES

    @property
    def table(self) -> list[Watched]:
        """Watched predictions for which a table has room; it takes three lines besides its rows, and one for others."""
        room = LINES - self.lines - self.has_rerun - 3
        return self.watched[: max(0, room if len(self.watched) <= room else room - 1)]


def comment(evidence: Evidence) -> Comment | None:
    """The comment on a run that was compared with a base; None for another, and where nothing changed."""
    found = evidence.claim_changes
    if found is None:
        return None
    fails = [one for one in evidence.verdicts if one.outcome == "fail"]
    blamed = culprits(evidence)
    explained = {claim for one in blamed for claim in one.cause.claims}
    others = [verdict for verdict in fails if name(verdict) not in explained]
    losses = [f"{_what(one)} {one.text}: restore it, or write in {one.write}" for one in lost(evidence)]
    slower = evidence.benchmarks.text if evidence.benchmarks and evidence.benchmarks.is_red else ""
    moved = "; ".join(filter(None, (moves(evidence), slower)))
    first = next((verdict for one in blamed for verdict in one.verdicts), next(iter(others), None))
    watched = sorted((one for one in evidence.watched if one.has_moved), key=lambda one: -one.distance)
    if not (blamed or others or losses or moved or watched or evidence.problems or found.unstated):
        return None
    return Comment(
        is_red=bool(fails or found.unstated or evidence.problems),
        title=_title(evidence, blamed, len(others)),
        culprits=blamed,
        losses=losses,
        moved=moved,
        watched=watched,
        rerun=first.rerun if first else "",
        problems=problems(evidence),
        other_failures=by_cause(others, evidence.places),
        sides=Sides.of(evidence, found),
    )


def _what(one: Loss) -> str:
    """The claim that was lost, or the file."""
    return one.headline if isinstance(one, ClaimChange) else one.file


def moves(evidence: Evidence) -> str:
    """How many predictions moved, and the farthest; empty where none did."""
    delta = evidence.delta
    if delta is None or not delta.moved.predictions:
        return ""
    all_ = f"{grouped(delta.moved.predictions)} of {counted(delta.matrix.predictions, 'prediction')} moved"
    factors = (f"{one.word} of {one.device} {one.factor}" for one in delta.moves if one.factor)
    farthest = next(factors, "")  # latencies first
    return f"{all_} on {counted(delta.moved.devices, 'device')}{f', farthest {farthest}' if farthest else ''}"


def _head(evidence: Evidence) -> str:
    """The commit of the run, and whether more was changed; empty without git."""
    hosting, git = evidence.run.hosting, evidence.run.git
    commit = (hosting.commit if hosting else git.commit if git else "") or ""
    return f"{commit[:12]}{' with uncommitted changes' if git and git.dirty and not hosting else ''}"


def to_post(evidence: Evidence, text: str | None) -> str | None:
    """The comment as the workflow that posts it reads it; None without a base, and outside a pull request."""
    hosting = evidence.run.hosting
    if text is None or hosting is None or hosting.pull_request is None:
        return None
    found = {"schema": SCHEMA, "pull_request": hosting.pull_request, "head": hosting.commit, "text": text}
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _title(evidence: Evidence, culprits: list[Culprit], others: int) -> str:
    found, fails = evidence.claim_changes, evidence.counts.fail
    problems = f"{counted(len(evidence.problems), 'problem')} in the files" if evidence.problems else ""
    if found and found.causes and culprits:
        rest = fail_text(others, "other claim") if others else ""
        explained = f"{found.causes.text}; in the base none of them fails"
        return "; ".join(filter(None, (explained, rest, problems)))
    if fails or problems:
        return " and ".join(filter(None, (fail_text(fails) if fails else "", problems)))
    return found.text if found and found.unstated else "Every claim holds as in the base"
