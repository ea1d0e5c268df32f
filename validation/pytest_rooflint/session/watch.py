"""`rooflint check --watch`: judge again on save, and only the claims that the changed files may have moved.

A claim is judged again where its own golden file changed, where it asked for a device or an architecture that was read
again, and where it asked for golden files that were. Any other file may concern every claim: tables of networks,
coefficients, recordings, published times, and whatever is new or gone.
"""

import datetime
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pytest_rooflint.audit import published
from pytest_rooflint.claims import audit
from pytest_rooflint.golden import workloads
from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.suite import world
from pytest_rooflint.suite.dependencies import Changed, Name, changes, is_read_by_name, noted
from pytest_rooflint.suite.judge import Trial, brief, caught, judge
from pytest_rooflint.suite.store import READ
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict, in_blocks, tally
from rooflint.base.errors import InputError, Problem, RooflintError, extra, shown, shown_short
from rooflint.base.text import counted, some

MOST = 10
"""Causes that are printed in full after one change; further failing claims take one line each."""
POLL_MS = 2000
"""How often the times of files are compared although no change was reported, as on some network drives. [ms]"""
Stamp = tuple[int, int, int]


# ---- What a claim asks for while it is judged


@dataclass(frozen=True)
class Judged:
    """The verdict on a claim, without causes, and what it rests on."""

    verdict: Verdict
    names: frozenset[Name]
    """Devices and architectures that it asked for."""
    goldens: frozenset[Path]
    """Golden files that it asked for."""
    any_golden: bool
    """Whether it may have read any golden file."""

    def rests_on(self, changed: Changed[Path, Name]) -> bool:
        """Whether what changed may move the verdict."""
        file = self.verdict.claim.file
        return changed.concern(file, goldens=self.goldens, any_golden=self.any_golden, names=self.names)

    @property
    def fails(self) -> bool:
        """Whether the claim fails."""
        return self.verdict.outcome == "fail"

    @property
    def failure(self) -> tuple[str | None, ...]:
        """What tells one failure of the claim from another."""
        verdict = self.verdict
        details = verdict.obtained.details if verdict.obtained else ""
        return verdict.ratio_text, verdict.reason, verdict.obtained_display, details


def _judged(claim: Claim, suite: Suite) -> Judged:
    context = noted(suite)
    verdict = caught(claim, _id(claim), partial(brief, claim, context))
    read = context.dependencies
    return Judged(verdict, frozenset(read.names), frozenset(read.goldens), read.any_golden(claim))


def _id(claim: Claim) -> str:
    return f"{shown(claim.file)}::{claim.id}"


# ---- What is known between two changes


@dataclass(frozen=True)
class State:
    """The suite with the verdict on each claim."""

    suite: Suite
    judged: Mapping[str, Judged] = field(default_factory=dict)
    """By the id of the claim."""
    problems: tuple[Problem, ...] = ()
    """Files that cannot be read, and what the suite as a whole lacks."""
    tables: frozenset[Path] = frozenset()
    """Tables that claims audit, wherever they are."""
    day: datetime.date | None = None
    """When all were judged, because expected failures end on a date; None where they have to be."""

    @property
    def failing(self) -> list[str]:
        """Ids of the claims that fail."""
        return [name for name, one in self.judged.items() if one.fails]

    @property
    def ok(self) -> bool:
        """Whether every claim was judged, none fails, and there is no problem."""
        return self.day is not None and not self.failing and not self.problems


def begin(suite: Suite) -> State:
    """Judge every claim."""
    return after(State(suite), ())[0]


def after(before: State, changed: Collection[Path]) -> tuple[State, list[str]]:
    """What is known after a change of files, and the ids of the claims that were judged for it."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    suite = _reread(before.suite, changed) if before.day == today else None
    everything = suite is None
    if suite is None:
        workloads.forget()
        old = before.suite
        suite = Suite.of(old.golden_roots, old.spec_roots, old.options, part=old.part)
    published.forget()
    claims, problems = _read(suite)
    try:
        suite.registry.files, suite.registry.architecture_files  # noqa: B018  # raises for what is not an id
    except InputError:
        return replace(before, suite=suite, problems=(*problems, *world.problems(suite)), day=None), []
    known = {} if everything else before.judged
    moved = changes(before.suite, suite, changed)
    judged = {_id(claim): known.get(_id(claim)) for claim in claims}
    again = [claim for claim in claims if (one := judged[_id(claim)]) is None or one.rests_on(moved)]
    judged |= {_id(claim): _judged(claim, suite) for claim in again}
    found = {name: one for name, one in judged.items() if one is not None}
    tables = frozenset(audit.table(claim) for claim in claims if claim.kind == audit.AUDIT.name)
    now = State(suite, found, (*problems, *world.problems(suite)), tables, today)
    return now, [_id(claim) for claim in again]


def _reread(suite: Suite, changed: Collection[Path]) -> Suite | None:
    """The suite with the changed files read again; None where a file changed that may concern any claim."""
    ours = all(is_read_by_name(suite, file) and (suite.owns(file) or file.is_file()) for file in changed)
    return suite.reread(changed) if ours else None


def _read(suite: Suite) -> tuple[list[Claim], list[Problem]]:
    """All claims, and the problems of the golden files that cannot be read."""
    claims, problems = list[Claim](), list[Problem]()
    for file in suite.files:
        try:
            claims += suite.read(file).claims
        except InputError as error:
            problems += error.problems
    return claims, problems


# ---- What is said


def sentences(before: State, now: State, judged: Collection[str], changed: Collection[Path] = ()) -> Iterator[str]:
    """What a change of files did: problems, full diagnoses of what fails now, and what passes again."""
    fresh = [one for one in now.problems if one not in before.problems or one.file in changed]
    yield from map(str, fresh)
    unread = tuple(str(one) for one in now.problems)
    failing = [now.judged[name] for name in judged if now.judged[name].fails]
    waiting = [one for one in failing if any(text in (one.verdict.reason or "") for text in unread)]
    red = [one for one in failing if one not in waiting and _is_news(one, before)]
    yield from _diagnoses(red, now.suite)
    if waiting:
        yield f"{counted(len(waiting), 'claim')} cannot be judged before these files can be read"
    yield from (f"passes again: {_line(now.judged[name].verdict)}" for name in _green(before, now))


def _is_news(one: Judged, before: State) -> bool:
    """Whether the claim did not fail before, or fails in another way."""
    other = before.judged.get(_id(one.verdict.claim))
    return other is None or not other.fails or other.failure != one.failure


def _green(before: State, now: State) -> list[str]:
    """Ids of claims that failed and no longer do."""
    return [name for name in before.failing if name in now.judged and not now.judged[name].fails]


def _diagnoses(failing: list[Judged], suite: Suite) -> Iterator[str]:
    """The verdicts as pytest prints them, one block a cause; further claims in one line each."""
    trial = Trial(suite)
    claims = [one.verdict.claim for one in failing]
    found = [caught(one, _id(one), partial(judge, one, _id(one), suite, trial=trial)) for one in claims]
    yield from in_blocks((replace(one, options=suite.options) for one in found), MOST)


def _line(verdict: Verdict) -> str:
    return f"{shown(verdict.claim.file)}:{verdict.claim.line}  {verdict.headline}"


def total(before: State, now: State) -> str:
    """How many claims turned red and green, and how many are red."""
    if now.day is None:
        return "no claim was judged; files have names that are not ids"
    red = len(set(now.failing) - set(before.failing))
    problems = f", {counted(len(now.problems), 'problem')}" if now.problems else ""
    return f"{red} turned red, {len(_green(before, now))} green; red now: {len(now.failing) or 'none'}{problems}"


# ---- The watch


def stamps(state: State) -> dict[Path, Stamp]:
    """Time of change, size and node of each file that claims read."""
    roots = (*state.suite.golden_roots, *state.suite.registry.roots)
    found = {file for root in roots for file in root.rglob("*") if file.suffix in READ}
    return dict(_stamps(found | state.tables))


def _stamps(files: Iterable[Path]) -> Iterator[tuple[Path, Stamp]]:
    for file in files:
        with suppress(OSError):  # gone meanwhile
            status = file.stat()
            yield file, (status.st_mtime_ns, status.st_size, status.st_ino)


class Watch:
    """Judges on every look what changed since the one before."""

    def __init__(self, suite: Suite, say: Callable[[str], None]) -> None:
        self.state = State(suite)
        self.say = say
        self.stamps = stamps(self.state)
        self.settled = False

    @property
    def ok(self) -> bool:
        """Whether everything was judged to the end and passes."""
        return self.settled and self.state.ok

    def start(self) -> None:
        """Judge every claim, and say what fails."""
        started = time.monotonic()
        before, self.state = self.state, begin(self.state.suite)
        self.say(f"{tally(one.verdict for one in self.state.judged.values())} ({_since(started)})")
        self._tell(before, list(self.state.judged))

    def look(self, touched: Collection[Path] = ()) -> None:
        """Judge again what files that changed, or that were reported, may concern."""
        now = stamps(self.state)
        changed = {file for file in {*self.stamps, *now} if self.stamps.get(file) != now.get(file)}
        changed |= now.keys() & set(touched)
        if not changed:
            return
        self.stamps, self.settled = now, False
        started, clock = time.monotonic(), time.strftime("%H:%M:%S")
        before = self.state
        self.state, judged = after(before, changed)
        self.say(
            f"\n{clock}  {some(shown(file) for file in sorted(changed))}: "
            f"{len(judged)} of {counted(len(self.state.judged), 'claim')} judged in {_since(started)}"
        )
        self._tell(before, judged, changed)
        self.say(total(before, self.state))

    def _tell(self, before: State, judged: Collection[str], changed: Collection[Path] = ()) -> None:
        for sentence in sentences(before, self.state, judged, changed):
            self.say(sentence)
        self.stamps |= dict(_stamps(self.state.tables - self.stamps.keys()))
        self.settled = True


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def watch(suite: Suite, say: Callable[[str], None]) -> int:
    """Judge all claims, then again on every save until Ctrl-C; 0 if at the end all pass, else 1.

    Raises RooflintError where watchfiles is not installed.
    """
    try:
        import watchfiles  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise RooflintError(f"--watch needs watchfiles; {extra('watch')}") from error
    watching = Watch(suite, say)
    folders = [root for root in (*suite.golden_roots, *suite.registry.roots) if root.is_dir()]
    with suppress(KeyboardInterrupt):
        watching.start()
        say(f"watching {', '.join(map(shown_short, folders))}; Ctrl-C ends")
        for events in watchfiles.watch(*folders, rust_timeout=POLL_MS, yield_on_timeout=True):
            watching.look([Path(file) for _, file in events])
    return 0 if watching.ok else 1
