"""Which changed facts and claims make claims fail: each change is reverted in memory, and claims are judged again."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import Claim, Golden
from pytest_rooflint.history.changes import Change, architecture_changes, changes, system_changes
from pytest_rooflint.history.claim_matches import Pair
from pytest_rooflint.history.claim_sides import ClaimSide, Judged
from pytest_rooflint.mutation import tables
from pytest_rooflint.suite.dependencies import Name
from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, shown
from rooflint.base.facts import Fact, Place
from rooflint.base.memo import memoised
from rooflint.base.text import counted, fail_text
from rooflint.base.units import UnitError, parse_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.cost.rows import Rows
from rooflint.diagnosis.causes import ratio_text
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Architecture, Registry
from rooflint_report import claim_changes as records

PAIRED = 6
"""Changes up to which they are also reverted two by two."""
MOST = 60
"""Changes that are tried."""
OF_LAWS = 100
"""Trials of laws and audits of all devices up to which each change is reverted alone."""

_UNJUDGED = frozenset({"note", "why", "source", "where", "title", "removed", "unguarded", "sources", "claims"})
"""Keys of a golden file and of its claims that decide no verdict."""


@dataclass(frozen=True)
class _Row:
    """A fact of a file of coefficients, prices or places, and the file, in the base and now."""

    section: tables.Section
    then: Path
    now: Path
    old: Fact | None
    new: Fact | None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A changed fact, or a changed value of a golden file, that can be reverted."""

    file: str | None
    line: int | None
    path: str
    base: str | None
    head: str | None
    at: str | None = None
    places: frozenset[Place] = frozenset()
    """Where either side states the fact."""
    names: frozenset[Name] = frozenset()
    """Devices and architectures that hold it."""
    change: Change | None = None
    row: "_Row | None" = None
    golden: Path | None = None
    claims: Mapping[int, Claim | None] = field(default_factory=dict)
    """By its place in the golden file: the claim of the base; None for a new claim."""

    def concerns(self, old: Judged | None, new: Judged) -> bool:
        """Whether the verdict on a claim may rest on it, as it was read on either side."""
        if self.golden:
            own = new.claim.file == self.golden
            return own or self.golden in new.read.goldens or new.read.any_golden(new.claim)
        read = [one.read for one in (old, new) if one]
        if any(self.places & (one.places | one.present) for one in read):
            return True
        if self.base is not None and self.head is not None and not (self.change and self.change.trait):
            return False
        if self.row:  # a fact that is missing on one side is looked up there without a trace
            files = {str(self.row.then), str(self.row.now)}
            return any(place[0] in files for one in read for place in one.places)
        return any(self.names & one.names for one in read)


# ---- What changed


def candidates(before: ClaimSide, after: ClaimSide, found: Iterable[Pair]) -> Iterator[Candidate]:
    """All changes of facts and of claims between two sides."""
    yield from _of_devices(before, after)
    yield from _of_tables(before, after)
    yield from _of_claims(before, after, found)


def _of_devices(before: ClaimSide, after: ClaimSide) -> Iterator[Candidate]:
    old, new = before.specs, after.specs
    inherited = {new.shown(file) for file in new.registry.architecture_files.values()}
    names: dict[Change, set[Name]] = {}
    listed_by = (("device", changes), ("device", system_changes), ("architecture", architecture_changes))
    for section, listed in ((section, found(old, new)) for section, found in listed_by):
        for change, holders in listed.items():
            names.setdefault(change, set()).update((section, holder) for holder in holders)
    for change, holding in names.items():
        stated = change.old if _uncovers(change, inherited) else change.new or change.old
        sides = (before.suite.registry, after.suite.registry)
        facts = (_fact_of(_hardware(side, name), change) for side in sides for name in holding)
        yield Candidate(
            stated.file if stated else None,
            stated.line if stated else None,
            change.path,
            change.old.text if change.old else None,
            change.new.text if change.new else None,
            change.at,
            frozenset(fact.place for fact in facts if fact),
            frozenset(holding),
            change,
        )


def _uncovers(change: Change, inherited: Container[str]) -> bool:
    """Whether a device lost its own value, so that one of its architecture, which nothing changed, holds instead."""
    old, new = change.old, change.new
    return bool(old and new and new.file in inherited and old.file not in inherited)


def _hardware(registry: Registry, name: Name) -> Hardware:
    section, key = name
    return registry.get(key) if section == "device" else registry.architecture(key).as_hardware()


def _fact_of(hardware: Hardware, change: Change) -> Fact | None:
    facts = hardware.operating_points.get(change.at, {}) if change.at else hardware.facts
    return None if change.trait else facts.get(change.path)


def _of_tables(before: ClaimSide, after: ClaimSide) -> Iterator[Candidate]:
    """Facts of coefficients, prices and places in files that both sides have."""
    files = tables.files(before.suite)
    for (section, name), file in tables.files(after.suite).items():
        there = files.get((section, name))
        if there is None or before.suite.text(there) == after.suite.text(file):
            continue
        try:
            old, new = (
                tables.facts_of(section, one, side.suite.registry) for one, side in ((there, before), (file, after))
            )
        except InputError:  # a problem of the files, which is reported as such
            continue
        for path in dict.fromkeys((*old, *new)):
            one, other = old.get(path), new.get(path)
            stated = [fact for fact in (other, one) if fact]
            if len(stated) == 1 and section != "coefficients":
                continue  # a row of prices has its position in a list as its path
            if one and other and one.quantity == other.quantity:
                continue
            yield Candidate(
                shown(file),
                stated[0].line,
                path,
                one.display if one else None,
                other.display if other else None,
                places=frozenset(fact.place for fact in stated),
                row=_Row(section, there, file, one, other),
            )


def _of_claims(before: ClaimSide, after: ClaimSide, found: Iterable[Pair]) -> Iterator[Candidate]:
    """Changed claims; where the head of a file changed, all its claims together are one."""
    grouped: dict[tuple[Path, tuple[str | int, ...]], tuple[Any, Any, str, dict[int, Claim | None]]] = {}
    for old, new in found:
        if new is None:
            continue
        golden, here = _position(after.suite, new.claim)
        if old is None:
            if new.outcome == "fail":
                text = str(golden.document.data["claims"][here].get("expect", new.claim.subject))
                grouped[golden.file, ("claims", here)] = (None, text, new.claim.id, {here: None})
            continue
        then, there = _position(before.suite, old.claim)
        if path := _differing(then, there, golden, here):
            name = new.claim.id if path[0] == "claims" else str(path[-1])
            values = _text(then, (*path[:1], there, *path[2:]) if len(path) > 1 else path), _text(golden, path)
            claims = grouped.setdefault((golden.file, path), (*values, name, {}))[-1]
            claims[here] = replace(old.claim, file=new.claim.file, line=new.claim.line)
    for (file, path), (base, head, name, claims) in grouped.items():
        line = after.suite.read(file).document.line(path)
        yield Candidate(shown(file), line, name, base, head, golden=file, claims=claims)


def _position(suite: Suite, claim: Claim) -> tuple[Golden, int]:
    golden = suite.read(claim.file)
    return golden, golden.claims.index(claim)


def _differing(old: Golden, there: int, new: Golden, here: int) -> tuple[str | int, ...]:
    """Where a claim differs from the base: in its entry, else at the head of its file; empty where it does not."""
    if keys := _keys(old.document.data["claims"][there], new.document.data["claims"][here]):
        return ("claims", here, "expect" if "expect" in keys else keys[0])
    keys = _keys(old.document.data, new.document.data)
    return (keys[0],) if keys else ()


def _keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    every = dict.fromkeys((*new, *old))
    return [key for key in every if key not in _UNJUDGED and old.get(key) != new.get(key)]


def _text(golden: Golden, path: tuple[str | int, ...]) -> str | None:
    """What stands at a path, as it is written; None for nothing."""
    value: Any = golden.document.data
    for part in path:
        value = value[part] if isinstance(part, int) else value.get(part)
    return golden.document.texts.get(path) or (None if value is None else str(value))


# ---- The suite with some of the changes reverted


@dataclass(frozen=True, kw_only=True, eq=False)
class _Reverted(Registry):
    """A registry of now whose devices have some facts of the base."""

    origin: Registry
    base: Registry
    changes: Mapping[Name, Sequence[Change]]

    @property
    def source(self) -> Registry:
        """The registry that reads the files."""
        return self.origin.source

    @memoised
    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        found = self.origin.get(device)
        for change in self.changes.get(("device", device), ()):
            found = change.alone(found, self.base.get(device))
        return found

    @memoised
    def architecture(self, name: str) -> Architecture:
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        found = self.origin.architecture(name)
        for change in self.changes.get(("architecture", name), ()):
            there = self.base.architecture(name).as_hardware()
            found = replace(found, facts=change.alone(found.as_hardware(), there).facts)
        return found


def reverted(before: ClaimSide, after: ClaimSide, some: Iterable[Candidate]) -> Suite:
    """The suite of now without some changes."""
    suite, chosen = after.suite, tuple(some)
    here, base = suite.registry, before.suite.registry
    by_name: dict[Name, list[Change]] = {}
    for one in chosen:
        if one.change:
            for name in one.names:
                by_name.setdefault(name, []).append(one.change)
    registry = _Reverted(here.roots, here.texts, origin=here, base=base, changes=by_name)
    others = _tables(chosen, here, base) or here.others
    registry.__dict__.update(files=here.files, architecture_files=here.architecture_files, others=others)
    read = {golden.file: golden for golden in suite.goldens()}
    for one in chosen:
        if one.golden:
            golden = read[one.golden]
            claims = (one.claims.get(place) or claim for place, claim in enumerate(golden.claims))
            read[one.golden] = replace(golden, claims=tuple(claims))
    return replace(suite, registry=registry, _read=dict(read))


def _tables(some: Iterable[Candidate], here: Registry, base: Registry) -> dict[str, Any]:
    """Coefficients and rows with facts of the base; empty where none of them is changed."""
    coefficients, rows, then = Coefficients.of(here), Rows.of(here), Coefficients.of(base)
    changed = [(one.path, one.row) for one in some if one.row]
    for path, row in changed:
        if row.section == "coefficients":
            coefficients = coefficients.taking(path, then, row.then, row.now)
        elif row.new:
            rows = rows.with_fact(row.new, row.old)
    return {"coefficients": coefficients, "rows": rows} if changed else {}


# ---- Trials


def causes(before: ClaimSide, after: ClaimSide, found: Sequence[Pair]) -> records.Causes | None:
    """Why claims fail that did not in the base; None where none does."""
    failing = [new for old, new in found if new and new.outcome == "fail" and not (old and old.outcome == "fail")]
    if not failing:
        return None
    return _Trials(before, after, tuple(found), tuple(failing)).record()


@dataclass(frozen=True, eq=False)
class _Trials:
    """The claims of now under each set of reverted changes; a verdict is worked out once."""

    before: ClaimSide
    after: ClaimSide
    found: tuple[Pair, ...]
    failing: tuple[Judged, ...]
    verdicts: dict[tuple[str, frozenset[Candidate]], bool] = field(default_factory=dict)
    suites: dict[frozenset[Candidate], Suite] = field(default_factory=dict)

    @cached_property
    def relevant(self) -> Mapping[str, tuple[Candidate, ...]]:
        """By claim: the changes that it may rest on, if a failing one rests on them too."""
        every = tuple(candidates(self.before, self.after, self.found))
        then = {new.id: old for old, new in self.found if new}
        wanted = [one for one in every if any(one.concerns(then[new.id], new) for new in self.failing)]
        return {
            new.id: () if old and old.is_shared else tuple(one for one in wanted if one.concerns(old, new))
            for old, new in self.found
            if new and (new.outcome != "fail" or new in self.failing)
        }

    @cached_property
    def changes(self) -> tuple[Candidate, ...]:
        """The changes that failing claims rest on, those of most claims first."""
        number = Counter(one for new in self.failing for one in self.relevant[new.id])
        return tuple(one for one, _ in number.most_common())

    @cached_property
    def tried(self) -> tuple[Candidate, ...]:
        return self.changes[:MOST]

    def fails(self, one: Judged, without: Iterable[Candidate]) -> bool:
        """Whether a claim fails with some changes reverted. One that is new since the base passes where it is gone."""
        rest = frozenset(change for change in self.relevant[one.id] if change in without)
        if not rest or (self.is_broad(one) and len(rest) < len(self.relevant[one.id])):
            return one.outcome == "fail"
        key = one.id, rest
        if key not in self.verdicts:
            self.verdicts[key] = self._judge(one, rest)
        return self.verdicts[key]

    def is_broad(self, one: Judged) -> bool:
        """Whether a claim is a law or an audit of all devices, and too many of these concern too many changes.

        It is then judged without all of them, and without none: it takes up to a second, others take milliseconds.
        """
        return kinds.kind(one.claim.kind).foreign and self._of_laws > OF_LAWS

    @cached_property
    def _of_laws(self) -> int:
        """Trials of failing laws and audits, one change at a time."""
        return sum(len(self.relevant[one.id]) for one in self.failing if kinds.kind(one.claim.kind).foreign)

    def _judge(self, one: Judged, without: frozenset[Candidate]) -> bool:
        if without not in self.suites:
            self.suites[without] = reverted(self.before, self.after, without)
        suite, (_, place) = self.suites[without], _position(self.after.suite, one.claim)
        is_new = any(one.claim.file == gone.golden and gone.claims.get(place, one) is None for gone in without)
        return not is_new and outcome_of(suite.read(one.claim.file).claims[place], suite) == "fail"

    def blamed(self, one: Judged) -> tuple[Candidate, ...]:
        """The changes that make a claim fail: those without any one of which it passes, else the fewest together.

        Where it passes without either of two, the one that explains more of the other failures is the cause.
        """
        changes = [change for change in self.relevant[one.id] if change in self.tried]
        facts = [change for change in changes if not _adds(change)]
        changes = facts if not self.fails(one, facts) else changes
        if self.fails(one, changes):
            return ()
        if alone := {change: self.effect(change)[0] for change in changes if not self.fails(one, {change})}:
            return tuple(change for change, fixes in alone.items() if not any(fixes < more for more in alone.values()))
        pairs = (pair for pair in combinations(changes[:PAIRED], 2) if not self.fails(one, pair))
        if both := tuple(dict.fromkeys(change for pair in pairs for change in pair)):
            return both
        for change in changes.copy():
            rest = [other for other in changes if other is not change]
            changes = changes if self.fails(one, rest) else rest
        return tuple(changes)

    @memoised
    def effect(self, *without: Candidate) -> tuple[set[str], set[str]]:
        """Ids of the claims that stop failing, and of those that then fail, with some changes reverted."""
        fixes, breaks = set(), set()
        for one in self.judged:
            if one.outcome == "fail" and not self.fails(one, without):
                fixes.add(one.id)
            elif one.outcome != "fail" and self.fails(one, without):
                breaks.add(one.id)
        return fixes, breaks

    @cached_property
    def judged(self) -> list[Judged]:
        """Claims that rest on any of the changes; of those that pass, no laws and no audits of all devices."""
        some = (new for _, new in self.found if new and self.relevant.get(new.id))
        return [one for one in some if one.outcome == "fail" or not kinds.kind(one.claim.kind).foreign]

    def record(self) -> records.Causes:
        """All trials, the cause of most failures first."""
        blamed = {one.id: self.blamed(one) for one in self.failing}
        told = {change for one in self.failing if not self.is_broad(one) for change in blamed[one.id]}
        for one in filter(self.is_broad, self.failing):
            blamed[one.id] = tuple(change for change in blamed[one.id] if change in told) or blamed[one.id]
        claims = {change: [name for name, found in blamed.items() if change in found] for change in self.tried}
        alone = {change: self.effect(change) for change in self.tried}
        ranked = sorted(self.tried, key=lambda one: (-len(claims[one]), -len(alone[one][0]), len(alone[one][1])))
        pairs = list[records.Reverted]()
        for places in combinations(range(len(ranked)), 2) if len(ranked) <= PAIRED else ():
            both = [ranked[place] for place in places]
            fixes, breaks = self.effect(*both)
            either = [alone[one] for one in both]
            more = fixes.difference(*(one[0] for one in either)), breaks.difference(*(one[1] for one in either))
            pairs.append(_together(places, *more))
        unexplained = [name for name, found in blamed.items() if not found]
        return records.Causes(
            failing=[one.id for one in self.failing],
            changes=[_cause(one, claims[one], *alone[one]) for one in ranked],
            all_=_together(range(len(ranked)), *self.effect(*ranked)),
            pairs=pairs,
            unexplained=unexplained,
            untried=len(self.changes) - len(ranked),
            text=_sentence(
                len(self.failing), sum(map(bool, claims.values())), len(unexplained), len(self.changes) - len(ranked)
            ),
        )


def _adds(change: Candidate) -> bool:
    """Whether a change is a new claim: a fact that it finds wrong is blamed first."""
    return None in change.claims.values()


def _cause(one: Candidate, claims: list[str], fixes: set[str], breaks: set[str]) -> records.Cause:
    return records.Cause(
        file=one.file,
        line=one.line,
        path=one.path,
        at=one.at,
        base=one.base,
        head=one.head,
        factor=_factor(one.base, one.head),
        claims=claims,
        fixes=sorted(fixes),
        breaks=sorted(breaks),
    )


def _factor(base: str | None, head: str | None) -> str | None:
    """Head over base; None where they are not quantities of one dimension."""
    try:
        old, new = (parse_quantity(text or "") for text in (base, head))
    except UnitError:
        return None
    return ratio_text(new.value / old.value) if old.dimension == new.dimension and old.value > 0 else None


def _together(changes: Iterable[int], fixes: set[str], breaks: set[str]) -> records.Reverted:
    return records.Reverted(changes=list(changes), fixes=sorted(fixes), breaks=sorted(breaks))


def _sentence(failing: int, blamed: int, unexplained: int, untried: int) -> str:
    """`1 changed line makes 34 claims fail`, with the claims that no change explains."""
    verb = "makes" if blamed == 1 else "make"
    fail = f"{counted(failing - unexplained, 'claim')} fail"
    more = f" ({counted(untried, 'change')} not tried)" if untried else ""
    rest = f"no changed line explains why {fail_text(unexplained)}{more}"
    told = f"{counted(blamed, 'changed line')} {verb} {fail}" if blamed else ""
    return "; ".join(filter(None, (told, rest if unexplained else "")))
