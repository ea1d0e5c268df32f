"""What became of claims, recordings and guarded facts between a base and the present state, as typed records."""

from typing import Literal

from rooflint.base.text import changed, counted
from rooflint_report.differences import Compared, Delta
from rooflint_report.verdicts import Outcome, Record

ClaimChangeName = Literal["new", "removed", "loosened", "newly excused", "newly failing", "fixed", "still failing"]


class ChangedFact(Record):
    """A changed fact that the verdict on a claim depends on; its place is that of the new value, or of the old."""

    file: str | None
    line: int | None
    path: str
    at: str | None
    """The operating point; null for the device's own."""
    base: str | None
    """Its value in the base; null where the base does not state it."""
    head: str | None

    @property
    def change(self) -> str:
        """`tdp at 30w 40 W → 4 W`."""
        return changed(self.path, self.at, self.base, self.head)


class Loss(Record):
    """Something that no longer guards the specs, and what is said about it."""

    file: str
    line: int | None
    text: str
    """What was lost, in a phrase."""
    reason: str | None
    """The reason that is stated for it since the base."""
    write: str | None
    """What to write to state one; null where none is wanted."""


class ClaimChange(Loss):
    """A claim that changed: what it states, or its verdict."""

    id: str
    headline: str
    device: str | None
    change: ClaimChangeName
    base: Outcome | None
    """Verdict in the base; null for a new claim."""
    head: Outcome | None
    """Verdict now; null for a removed claim."""
    independent: bool
    """Whether a second source backs it, now or in the base."""
    moved_from: str | None
    """Its file in the base, if that had another name."""
    facts: list[ChangedFact]


class RecordingChange(Loss):
    """A recording of the base that has another content now, or is gone."""

    change: Literal["changed", "removed"]


class UnguardedFact(Loss):
    """A fact that an independent claim confirmed in the base, and none does now."""

    path: str
    at: str | None
    claims: list[str]
    """Ids of the claims that did, with their files in the base."""


class ClaimCounts(Record):
    """Claims on both sides, and what became of them."""

    base: int
    head: int
    unchanged: int
    """Passing or excused on both sides, and at least as strict as before."""
    new: int
    removed: int
    loosened: int
    newly_excused: int
    newly_failing: int
    fixed: int
    still_failing: int

    @property
    def changes(self) -> list[str]:
        """`2 new`, `1 removed`: what became of those that changed."""
        numbers = self.model_dump(exclude={"base", "head", "unchanged"})
        return [f"{number} {name.replace('_', ' ')}" for name, number in numbers.items() if number]


class Cause(ChangedFact):
    """A changed fact, or a changed value of a golden file, and the claims that fail because of it.

    The path of a golden value is the id of the claim, or the key at the head of the file.
    """

    factor: str | None
    """Head over base, `1/16`; null where they are not quantities of one dimension."""
    claims: list[str]
    """Ids of the claims that fail because of it; none for a change that is no cause."""
    fixes: list[str]
    """Claims that stop failing where it alone is reverted."""
    breaks: list[str]
    """Claims that pass now and fail where it alone is reverted."""


class Reverted(Record):
    """Several changes reverted together."""

    changes: list[int]
    """Their positions among the causes."""
    fixes: list[str]
    breaks: list[str]


def effect(one: Cause | Reverted) -> str:
    """`2 claims stop failing, no other fails`; `12 claims stop failing, 1 other fails`.

    Some of them were expected to fail in the base, so they do not pass.
    """
    fixes, breaks = len(one.fixes), len(one.breaks)
    stop = f"{counted(fixes, 'claim')} {'stops' if fixes == 1 else 'stop'} failing" if fixes else "none stops failing"
    fail = f"{breaks} {'others' if breaks > 1 else 'other'}" if breaks else "no other"
    return f"{stop}, {fail} {'fail' if breaks > 1 else 'fails'}"


class Causes(Record):
    """Why claims fail that did not in the base: each change of a fact or a claim reverted alone, then several."""

    failing: list[str]
    """Ids of the claims."""
    changes: list[Cause]
    """Changes that these claims depend on; the cause of most failures first, what causes none last."""
    all_: Reverted
    pairs: list[Reverted]
    """Of up to six changes; what neither of a pair fixes or breaks alone."""
    unexplained: list[str]
    """Claims that fail with all of them reverted, too."""
    untried: int
    """Further changes, which were not reverted."""
    text: str
    """The outcome in a sentence."""


class ClaimChanges(Record):
    """Claims of the present state counted against those of a base; both judged by the installed model."""

    schema_: Literal["rooflint-claims/1"] = "rooflint-claims/1"
    base: Compared
    head: Compared
    counts: ClaimCounts
    changes: list[ClaimChange]
    """In the order of the golden files; losses without a reason first."""
    recordings: list[RecordingChange]
    facts: list[UnguardedFact]
    causes: Causes | None = None
    """Null where no claim fails that did not in the base."""
    unreadable: list[str]
    """Problems of golden files and specs that cannot be read now; claims that rest on them are not compared. Of golden
    files of the base, the first each."""
    unstated: int
    """Losses without a stated reason, newly failing claims and unreadable files: more than 0 fails a check."""
    text: str
    """The whole in a sentence."""


class Differences(Delta):
    """Predictions and claims of two states, as `rooflint diff --claims --format json` writes them."""

    claim_changes: ClaimChanges
