"""What depends on files that changed since the last run, judged before everything else.

A run of the whole suite keeps what each claim asked for, how long it took, and digests of all files that claims read.
The next one first judges the claims that asked for what changed, says what fails, and then judges everything. Only the
order rests on what was kept: without it, or with something else in its place, verdicts and exit status are the same.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_rooflint.golden.kinds import Claim, Context
from pytest_rooflint.suite import store
from pytest_rooflint.suite.dependencies import Changed, Dependencies, noted
from pytest_rooflint.suite.judge import Trial, brief, caught, judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict, in_blocks, tally
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.text import counted, some
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.registry import PACKAGED, Registry

FILE = "check.json"
LIMIT_S = 0.7
"""CPU time that the claims which are judged first may take together; slower ones follow with the rest. [s]"""
ALONE_S = 1.5
"""The same where nothing follows. [s]"""
SEARCH_S = 1.5
"""CPU time after which no further search for causes is begun. [s]"""
QUICK_S = 0.01
"""CPU time of a claim that counts as quick. [s]"""
MOST = 10
"""Causes of failures that are printed in full."""
LINES = 5
"""Failures that have a line where none is printed in full."""


@dataclass(frozen=True)
class Asked:
    """What a claim asked for when it was judged."""

    file: str
    """Its golden file."""
    id: str
    names: tuple[str, ...]
    """Devices and architectures, such as `device nvidia/t4`."""
    goldens: tuple[str, ...]
    """Further golden files."""
    any_golden: bool
    """Whether it may have read any golden file."""
    seconds: float
    """CPU time that it took. [s]"""
    failed: bool = False

    @classmethod
    def of(
        cls, claim: Claim, read: Dependencies, registry: Registry, seconds: float, *, failed: bool = False
    ) -> "Asked":
        """What was noted of a claim, with the architectures of the devices that it asked for."""
        names = {" ".join(name) for name in read.names}
        for section, device in read.names:
            if section == "device":
                with suppress(RooflintError):
                    names.add(f"architecture {registry.get(device).architecture}")
        goldens = tuple(sorted(map(shown, read.goldens)))
        any_golden = read.any_golden(claim)
        return cls(shown(claim.file), claim.id, tuple(sorted(names)), goldens, any_golden, seconds, failed)

    def rests_on(self, changed: Changed[str, str]) -> bool:
        """Whether what changed may move the verdict."""
        return changed.concern(self.file, goldens=self.goldens, any_golden=self.any_golden, names=self.names)


@dataclass(frozen=True)
class Record:
    """What a run keeps for the next one."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of files by their names."""
    claims: tuple[Asked, ...] = ()
    folders: tuple[str, ...] = ()
    """Where the run was started, and its golden and specs folders: names of files depend on them."""
    is_red: bool = False
    """Whether the run failed."""

    @property
    def failed(self) -> Mapping[tuple[str, str], float]:
        """(file, id) of the claims that failed, with the time of each. [s]"""
        last = {(one.file, one.id): one for one in self.claims}  # of a claim that was run again
        return {key: one.seconds for key, one in last.items() if one.failed}


_RECORD = TypeAdapter(Record)


@dataclass(frozen=True)
class Judged:
    """What became of the claims that depend on changed files."""

    changed: Sequence[str]
    """Names of the files."""
    problems: Sequence[str]
    """Of changed golden files that cannot be read."""
    verdicts: Sequence[Verdict]
    left: int
    """Claims for which there was no time."""
    failed: int = 0
    """Claims that failed in the last run, and are judged again."""

    @property
    def fails(self) -> bool:
        """Whether something is wrong."""
        return bool(self.problems) or any(one.outcome == "fail" for one in self.verdicts)

    def sentences(self, told: set[str] | None = None, *, blocks: bool = True) -> Iterator[str]:
        """The changed files, and a block for each cause of failures; adds to `told` which claims have one.

        Without blocks, a line for each of a few failures.
        """
        if self.changed:
            yield f"changed since the last run: {some(self.changed)}"
        if self.failed:
            yield f"{counted(self.failed, 'claim')} failed in the last run"
        yield from self.problems
        fails = [one for one in self.verdicts if one.outcome == "fail"]
        if blocks:
            yield from in_blocks(fails, MOST, told)
        else:
            yield from islice(in_blocks(fails, 0), LINES)


@dataclass
class First:
    """Judges first what depends on changes, and keeps what the next run needs for it."""

    suite: Suite
    file: Path
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    """What the claims of this run asked for, as plain data."""
    told: set[str] = field(default_factory=set)
    """Ids of the claims whose diagnosis was printed."""
    problems: set[str] = field(default_factory=set)
    """Problems of files that were printed."""

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Digests of the files as this run found them."""
        found = store.digests((*self.suite.golden_roots, *self.suite.registry.roots))
        return {self._anywhere(name): digest for name, digest in found.items()}

    def _anywhere(self, name: str) -> str:
        """A file by a name that other environments know: a hook of pre-commit and tox have copies of the shipped specs.

        Where the shipped specs are the project's own, they have their place in it.
        """
        is_copy = self._copy and name.startswith(self._copy)
        return f"rooflint/specs/{name.removeprefix(self._copy)}" if is_copy else name

    @cached_property
    def _copy(self) -> str:
        """The folder of the shipped specs; empty where they are the project's own."""
        return "" if self.suite.is_own(PACKAGED) else f"{shown(PACKAGED)}/"

    @cached_property
    def before(self) -> Record:
        """What the last run kept; nothing where it kept none, was about other folders, or something else wrote it."""
        return self._kept if self._kept.folders == self._folders else Record()

    @cached_property
    def _kept(self) -> Record:
        try:
            return _RECORD.validate_json(store.kept(self.file))
        except ValidationError:
            return Record()

    @property
    def why_nothing(self) -> str:
        """Why nothing is known of the last run."""
        then = self._kept.folders
        if not then:
            return "no earlier run of the whole suite was kept"
        if missing := [name for name in self._folders if name not in then]:
            return f"the last run did not cover {missing[0]}"
        extra = [name for name in then if name not in self._folders]
        return f"the last run also covered {(extra or then)[0]}"

    @property
    def _folders(self) -> tuple[str, ...]:
        roots = (*self.suite.golden_roots, *self.suite.registry.roots)
        return (str(Path.cwd()), *(self._anywhere(f"{shown(root)}/") for root in roots))

    def sentences(self, started_in: Path, *, excuses: bool, blocks: bool = True) -> Iterator[str]:
        """What changed since the last run, and what the claims that depend on it say; nothing where none is known."""
        found = self.judged(started_in, excuses=excuses, limit_s=LIMIT_S)
        if found is None or not (found.problems or found.verdicts):
            return
        yield from found.sentences(self.told, blocks=blocks)
        self.problems |= {*found.problems, *(str(one) for verdict in found.verdicts for one in verdict.unread)}
        if found.verdicts:
            rest = f"; {counted(found.left, 'more claim')} with the rest" if found.left else ""
            yield f"what depends on it, judged first: {tally(one.waiting for one in found.verdicts)}{rest}"

    def judged(self, started_in: Path, *, excuses: bool, limit_s: float, with_failed: bool = False) -> "Judged | None":
        """The claims that depend on what changed since the last run, as many as the limit of CPU time allows. [s]

        With those that failed in it, if asked for. None where no run was kept.
        """
        if not self.before.files:
            return None
        files = sorted({*self.before.files, *self.files})
        changed = [name for name in files if self.before.files.get(name) != self.files.get(name)]
        problems, wanted = self._wanted(set(changed))
        known = set(map(shown, self.suite.files))
        failed = {key: s for key, s in self.before.failed.items() if with_failed and key[0] in known}
        wanted |= failed
        verdicts = sorted(
            self._judged(wanted, started_in, excuses, limit_s), key=lambda one: (one.claim.file, one.claim.line)
        )
        left = len(wanted) - len(verdicts)
        return Judged(changed, problems, [*self._explained(verdicts, started_in, excuses)], left, len(failed))

    def _wanted(self, changed: set[str]) -> tuple[list[str], dict[tuple[str, str], float]]:
        """Problems of changed golden files; (file, id) of claims that depend on changes, with the time of each. [s]"""
        files = {shown(file): file for file in self.suite.files}
        goldens = files.keys() & changed
        moved = Changed(goldens, set(self._names(changed)))
        concerned = (one for one in self.before.claims if one.file in files and one.rests_on(moved))
        wanted = {(one.file, one.id): one.seconds for one in concerned if one.file not in goldens}
        known = {(one.file, one.id): one.seconds for one in self.before.claims if one.file in goldens}
        problems = list[str]()
        for name in sorted(goldens):
            try:
                ids = [(name, one.id) for one in self.suite.read(files[name]).claims]
            except InputError as error:
                problems += map(str, error.problems)
                continue
            wanted |= {one: known.get(one, 0.0) for one in ids}
        return problems, wanted

    def _judged(
        self, wanted: Mapping[tuple[str, str], float], started_in: Path, excuses: bool, limit_s: float
    ) -> Iterator[Verdict]:
        """Verdicts on as many claims as the limit allows: quick ones first, file by file, the file with most first."""
        files, most = {shown(file): file for file in self.suite.files}, Counter(name for name, _ in wanted)
        until = time.process_time() + limit_s
        order = sorted(wanted.items(), key=lambda one: (one[1] > QUICK_S, -most[one[0][0]], one[0][0], one[1]))
        for (name, claim_id), seconds in order:
            if time.process_time() + seconds < until:
                with suppress(InputError):  # the run says what cannot be read
                    claims = (one for one in self.suite.read(files[name]).claims if one.id == claim_id)
                    yield from (self._verdict(claim, started_in, partial(brief, excuses=excuses)) for claim in claims)

    def _explained(self, verdicts: Sequence[Verdict], started_in: Path, excuses: bool) -> Iterator[Verdict]:
        """The verdicts, those on failing claims with causes that were tried on others; laws are not.

        A claim that a tried repair fixes has that cause.
        """
        trial, known = Trial(self.suite, excuses=excuses), dict[str, tuple[Cause, ...]]()
        until = time.process_time() + SEARCH_S
        for one in verdicts:
            if one.nodeid in known:
                yield replace(one, causes=known[one.nodeid])
            elif one.outcome != "fail":
                yield one
            else:
                tried = trial if time.process_time() < until else None
                judged = partial(judge, nodeid=one.nodeid, excuses=excuses, trial=tried)
                found = self._verdict(one.claim, started_in, judged)
                best = [cause for cause in found.causes[:1] if not cause.breaks]
                known |= {name: found.causes for cause in best for name in trial.fixed(cause)}
                yield found

    def _names(self, changed: set[str]) -> Iterator[str]:
        """Devices and architectures whose files changed or are gone; no others where a file name is not an id."""
        registry = self.suite.registry
        for section, folder in (("device", "hardware"), ("device", "systems"), ("architecture", "architectures")):
            for root in registry.roots:
                below = f"{self._anywhere(shown(root / folder))}/"
                gone = (name for name in changed - self.files.keys() if name.startswith(below))
                yield from (f"{section} {Path(name.removeprefix(below)).with_suffix('').as_posix()}" for name in gone)
        with suppress(InputError):
            devices = {**registry.system_files, **registry.files}
            for section, files in (("device", devices), ("architecture", registry.architecture_files)):
                there = ((name, self._anywhere(shown(file))) for name, file in files.items())
                yield from (f"{section} {name}" for name, file in there if file in changed)

    def _verdict(self, claim: Claim, started_in: Path, judged: Callable[..., Verdict]) -> Verdict:
        nodeid = f"{shown(claim.file)}::{claim.id}"
        verdict = caught(claim, nodeid, lambda: judged(claim=claim, context=self.suite))
        return replace(verdict, nodeid=nodeid, options=self.suite.options, started_in=started_in, is_part=True)

    def keep(self, *, is_red: bool) -> None:
        """Keep it for the next run. Raises OSError."""
        found = {"files": self.files, "claims": self.asked, "folders": self._folders, "is_red": is_red}
        record = _RECORD.validate_python(found)
        store.keep(self.file, _RECORD.dump_json(record).decode())


def judge_changed(
    golden: Sequence[Path] | None, specs: Sequence[Path] | None, kept: Path, say: Callable[[str], None]
) -> int | str:
    """Judge what depends on files that changed since the last run, which left its record in a folder, or failed in it.

    Quick claims come first. The exit status; why all claims have to be judged where no run of the whole suite was kept
    there, or where one failed for another reason than a claim.
    """
    first = First(Suite.of_project(golden, specs), kept / FILE)
    found = first.judged(Path.cwd(), excuses=True, limit_s=ALONE_S, with_failed=True)
    if found is None:
        return first.why_nothing
    if first.before.is_red and not first.before.failed:
        return "the last run failed for another reason than a claim"
    if not (found.changed or found.failed):
        say("nothing changed since the last run")
        return 0
    for sentence in found.sentences():
        say(sentence)
    left = f"; {counted(found.left, 'slower claim')} left to a full run" if found.left else ""
    say(f"{'what depends on it' if found.changed else 'judged again'}: {tally(found.verdicts)}{left}")
    return int(found.fails)


def noting(judged: Callable[[Context], Verdict], claim: Claim, suite: Suite) -> tuple[Verdict, dict[str, Any] | None]:
    """The verdict on a claim, and what the claim asked for as plain data, which xdist can send.

    Nothing is noted where a file name is not an id.
    """
    try:
        context = noted(suite)
    except InputError:
        return judged(suite), None
    started = time.process_time()
    verdict = judged(context)
    seconds, failed = time.process_time() - started, verdict.outcome == "fail"
    return verdict, asdict(Asked.of(claim, context.dependencies, suite.registry, seconds, failed=failed))
