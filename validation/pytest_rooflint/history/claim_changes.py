"""What became of the claims, recordings and guarded facts of a base, and the reason that is stated for each loss."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pytest_rooflint.history.changes import Change
from pytest_rooflint.history.claim_matches import Pair, looser, pairs
from pytest_rooflint.history.claim_reasons import Reasons
from pytest_rooflint.history.claim_sides import ClaimSide, Judged, Known, judged
from pytest_rooflint.history.culprits import causes
from pytest_rooflint.mutation import tables
from pytest_rooflint.suite.judge import silent
from rooflint.base.errors import Problem, RooflintError, shown
from rooflint.base.facts import Fact, Place
from rooflint.base.files import file_digest
from rooflint.base.text import counted, fail_text
from rooflint_report import claim_changes as records
from rooflint_report.claim_changes import ClaimChangeName
from rooflint_report.differences import Compared

EXCUSED = ("xfail", "not validated here", "undecided")
LOST: tuple[ClaimChangeName, ...] = ("removed", "loosened", "newly excused")
"""Changes that want a reason."""

FactKey = tuple[str, str, str]
"""File below its root, path and operating point of a fact: what both sides call it."""


def claim_changes(
    before: ClaimSide,
    after: ClaimSide,
    changes: Iterable[Change],
    known: Mapping[str, Known] = MappingProxyType({}),
    say: Callable[[str], None] = silent,
) -> records.ClaimChanges:
    """The claims of two sides compared; `changes` are the facts that differ between their specs.

    `known` is what a run just found of claims of now. Says meanwhile what it is at.
    """
    old, new = judged(before, after, known, say)
    say("searching for causes")
    found = _Found(before, after, old, new, Reasons(before, after, old, new), tuple(changes))
    return found.record()


@dataclass(frozen=True, eq=False)
class _Found:
    before: ClaimSide
    after: ClaimSide
    old: Sequence[Judged]
    new: Sequence[Judged]
    reasons: Reasons
    facts: tuple[Change, ...]

    def record(self) -> records.ClaimChanges:
        """All that changed, losses without a reason first."""
        changes = sorted(self.changes, key=lambda one: (not _is_red(one), one.file, one.line or 0))
        recordings, facts = list(self.recordings()), list(self.unguarded())
        unreadable = [f"{problem}{self._then(problem)}" for problem in self._problems]
        unreadable += [
            f"{name} of {self.before.specs.label} cannot be read any more, so its claims are not compared: "
            f"line {problems[0].line}, {problems[0].message}"
            for name, problems in self.before.unreadable.items()
        ]
        losses = sum(one.write is not None for one in (*changes, *recordings, *facts))
        fails = sum(map(_newly_fails, changes))
        files = len({problem.file for problem in self._problems})
        numbers = Counter(one.change.replace(" ", "_") for one in changes)
        names = [name for name in records.ClaimCounts.model_fields if name not in ("base", "head", "unchanged")]
        counts = {name: numbers[name] for name in names}
        same = len(self.pairs) - len(changes) - self._hidden
        return records.ClaimChanges(
            base=Compared(label=self.before.specs.label, commit=self.before.specs.commit),
            head=Compared(label=self.after.specs.label, commit=self.after.specs.commit),
            counts=records.ClaimCounts(base=len(self.old), head=len(self.new), unchanged=same, **counts),
            changes=changes,
            recordings=recordings,
            facts=facts,
            causes=causes(self.before, self.after, self.pairs),
            unreadable=unreadable,
            unstated=losses + fails + files,
            text=f"{_outcome(losses, fails, files, self._hidden)}; {self._both}",
        )

    @property
    def _both(self) -> str:
        return f"{counted(len(self.old), 'claim')} in {self.before.specs.label}, {len(self.new)} now"

    @cached_property
    def pairs(self) -> list[Pair]:
        return pairs(self.old, self.new, self.before.files, self.after.files)

    @cached_property
    def changes(self) -> list[records.ClaimChange]:
        return [change for old, new in self.pairs if (change := self._change(old, new))]

    @cached_property
    def _losses(self) -> Mapping[str, records.ClaimChange]:
        """Losses by the id of the claim in the base."""
        found = ((old, self._change(old, new)) for old, new in self.pairs if old)
        return {old.id: change for old, change in found if change and change.change in LOST}

    @cached_property
    def _problems(self) -> list[Problem]:
        """Of golden files and specs that cannot be read now."""
        specs = (problem for one in self.new for problem in one.unread)
        return [*dict.fromkeys(chain(chain.from_iterable(self.after.unreadable.values()), specs))]

    def _then(self, problem: Problem) -> str:
        """The value in the base of a fact that cannot be read."""
        path, _, _ = problem.message.partition(":")
        name = self._below(problem.file)
        fact = None if Path(name).is_absolute() else _Stated(self.before).find((name, path, ""))  # a golden file
        return f"; {fact.display} in the base" if fact else ""

    @property
    def _hidden(self) -> int:
        """Claims of the base that are in files, or rest on specs, which cannot be read now."""
        return sum(self._is_hidden(old, new) for old, new in self.pairs if old)

    def _is_hidden(self, old: Judged, new: Judged | None) -> bool:
        return bool(new.unread) if new else old.file in self.after.unreadable

    def _change(self, old: Judged | None, new: Judged | None) -> records.ClaimChange | None:
        if old is not None and self._is_hidden(old, new):
            return None
        if old is not None and new is not None:
            return self._changed(old, new)
        if new is not None:
            return self._record("new", None, new, "", None, None)
        if old is None:
            return None
        reason, file = self.reasons.of_claim(old), self.reasons.home(old.file)
        where = f"{self.reasons.place(file)}: removed: {{{old.claim.id}: REASON}}" if file else None
        write = None if reason else where or self.reasons.write_file(old.file)
        text = "is removed" if file else f"is removed with {old.file}"
        return self._record("removed", old, None, text, reason, write)

    def _changed(self, old: Judged, new: Judged) -> records.ClaimChange | None:
        was, now = old.outcome, new.outcome
        why = new.claim.why if new.claim.why != old.claim.why else None
        again = " (another than before)" if new.claim.why else ""
        write = f"{shown(new.claim.file)}:{new.claim.line}: why: REASON{again}"
        if now in EXCUSED and was not in EXCUSED:
            xfail, then = new.claim.xfail, old.claim.xfail
            if now == "xfail" and xfail:
                why = xfail.reason if then is None or then.reason != xfail.reason else None
                write = f"{shown(new.claim.file)}:{new.claim.line}: another reason under xfail"
            return self._record("newly excused", old, new, f"{was}, now {now}", why, None if why else write)
        if now == "fail" and was != "fail":  # whatever else changed, it is told by the cause
            return self._record("newly failing", old, new, f"{was}, now fail", None, None)
        if text := looser(old, new):
            return self._record("loosened", old, new, text, why, None if why else write)
        if now == "fail":
            return self._record("still failing", old, new, "", None, None)
        if was != "pass" and now == "pass":
            return self._record("fixed", old, new, f"{was}, now pass", None, None)
        return None

    def _record(
        self,
        change: ClaimChangeName,
        old: Judged | None,
        new: Judged | None,
        text: str,
        reason: str | None,
        write: str | None,
    ) -> records.ClaimChange:
        one = new or old
        assert one is not None  # a pair has a side
        moved = old.file if old and new and old.file != new.file else None
        return records.ClaimChange(
            id=one.claim.id,
            file=shown(new.claim.file) if new else self.reasons.place(one.file),
            line=one.claim.line,
            headline=one.headline,
            device=one.claim.hardware or one.claim.architecture,
            change=change,
            base=old.outcome if old else None,
            head=new.outcome if new else None,
            independent=any(side.independent for side in (old, new) if side),
            moved_from=moved,
            text=text,
            reason=reason,
            write=write,
            facts=self._facts(old, new),
        )

    # ---- facts that a claim depends on

    @cached_property
    def _changed_facts(self) -> Mapping[tuple[str | None, str, str], list[Change]]:
        """Changed facts by where either side states them."""
        found = defaultdict(list)
        for change in self.facts:
            for stated in filter(None, (change.old, change.new)):
                found[stated.file, change.path, change.at or ""].append(change)
        return found

    def _facts(self, old: Judged | None, new: Judged | None) -> list[records.ChangedFact]:
        found = dict[Change, None]()
        for one, side in ((old, self.before), (new, self.after)):
            for file, path, at in sorted(one.places) if one and self.facts else ():
                name = side.name(Path(file)) if side is self.before else shown(Path(file))
                found |= dict.fromkeys(self._changed_facts.get((name, path, at), ()))
        return [_fact(change) for change in found]

    # ---- recordings

    def recordings(self) -> Iterator[records.RecordingChange]:
        """Recordings that are gone or say something else; one that only moved is neither."""
        kept = {file_digest(file) for file in self.after.recordings.values()}
        for name, file in self.before.recordings.items():
            if name not in self.after.recordings and file_digest(file) in kept:
                continue
            if name in self.after.recordings and file_digest(file) == file_digest(self.after.recordings[name]):
                continue
            change: Literal["changed", "removed"] = "changed" if name in self.after.recordings else "removed"
            reason = self.reasons.of_file(name)
            text = "has another content than in the base" if change == "changed" else "is removed"
            write = None if reason else self.reasons.write_file(name)
            yield records.RecordingChange(
                file=self.reasons.place(name), line=None, text=text, reason=reason, write=write, change=change
            )

    # ---- facts without an independent claim

    def unguarded(self) -> Iterator[records.UnguardedFact]:
        """Facts of now that an independent claim confirmed in the base, and none does any more.

        Where such a claim fails now, the suite is red and the fact is still guarded.
        """
        then, now = self._backed(self.old), self._backed(self.new)
        after = {old.id: new for old, new in self.pairs if old}
        states = _Stated(self.after)
        for key, claims in then.items():
            fails = any((new := after[one.id]) and new.outcome == "fail" for one in claims)
            fact = None if key in now or fails else states.find(key)
            if fact and not any(self._is_hidden(one, after[one.id]) for one in claims):
                yield self._unguarded(fact, claims)

    def _backed(self, found: Iterable[Judged]) -> dict[FactKey, list[Judged]]:
        """Facts that independent claims follow from, with the claims."""
        backed: dict[FactKey, list[Judged]] = {}
        for one in found:
            for place in dict.fromkeys(one.facts) if one.independent and not one.claim.is_replay else ():
                backed.setdefault(self._key(place), []).append(one)
        return backed

    def _key(self, place: Place) -> FactKey:
        file, path, at = place
        return self._below(Path(file)), path, at

    def _below(self, file: Path) -> str:
        """A spec file below its root; equal devices of the base are those of now."""
        roots = (*self.before.specs.registry.roots, *self.after.specs.registry.roots)
        return next((file.relative_to(root) for root in roots if file.is_relative_to(root)), file).as_posix()

    def _unguarded(self, fact: Fact, claims: Sequence[Judged]) -> records.UnguardedFact:
        homes = [self.reasons.home(one.file) for one in claims]
        stated = [self.reasons.stated.get(f"{home}::{fact.path}") for home in homes if home]
        reason = next(filter(None, stated), None)
        if reason is None:
            lost = [self._losses.get(one.id) for one in claims]
            reasons = [one.reason if one else None for one in lost]
            reason = "; ".join(dict.fromkeys(filter(None, reasons))) if all(reasons) else None
        file = next(filter(None, homes), None)
        place = f"{self.reasons.place(file)}: " if file else "a golden file of the device: "
        return records.UnguardedFact(
            file=shown(fact.file),
            line=fact.line,
            text=f"{fact.path} {fact.display} has lost its last independent claim",
            reason=reason,
            write=None if reason else f"{place}removed: {{{fact.path}: REASON}}, or a reason for each of its claims",
            path=fact.path,
            at=fact.at or None,
            claims=[one.id for one in claims],
        )


def _is_red(one: records.ClaimChange) -> bool:
    """Whether a change of a claim fails a check: a loss without a reason, or a claim that fails now."""
    return one.write is not None or _newly_fails(one)


def _newly_fails(one: records.ClaimChange) -> bool:
    return one.write is None and one.head == "fail" and one.base != "fail"


def _fact(change: Change) -> records.ChangedFact:
    stated = change.new or change.old
    return records.ChangedFact(
        file=stated.file if stated else None,
        line=stated.line if stated else None,
        path=change.path,
        at=change.at,
        base=change.old.text if change.old else None,
        head=change.new.text if change.new else None,
    )


def _outcome(losses: int, fails: int, files: int, hidden: int) -> str:
    """What is red, in a phrase."""
    parts = [f"{fail_text(fails)} that did not before"] if fails else []
    rest = f" ({counted(hidden, 'claim')} {'rests' if hidden == 1 else 'rest'} on {'it' if files == 1 else 'them'})"
    parts += [f"{counted(files, 'file')} cannot be read{rest if hidden else ''}"] if files else []
    parts += [f"{counted(losses, 'check')} removed or weakened without a stated reason"] if losses else []
    return ", ".join(parts) or "nothing was lost without a reason"


@dataclass(frozen=True, eq=False)
class _Stated:
    """Looks facts up in the specs of now by what both sides call them."""

    side: ClaimSide

    def find(self, key: FactKey) -> Fact | None:
        """The fact of now; None where it is gone."""
        name, path, at = key
        section, _, rest = name.partition("/")
        subject = rest.rpartition(".")[0]
        try:
            if section == "hardware":
                device = self.side.specs.registry.get(subject)
                return (device.operating_points.get(at, {}) if at else device.facts).get(path)
            if section == "architectures":
                return self.side.specs.registry.architecture(subject).facts.get(path)
            roots = (root / name for root in self.side.specs.registry.roots)
            file = next((file for file in roots if file.is_file()), None)
            table: tables.Section = "prices" if section == "prices" else "grid" if section == "grid" else "coefficients"
            return tables.facts_of(table, file, self.side.specs.registry).get(path) if file else None
        except RooflintError:
            return None
