"""The claims of the working tree and those of a revision, judged in one process by the installed model.

A claim of the revision is not judged again where nothing that it read differs: it has the verdict of today's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import MEASURED, Claim
from pytest_rooflint.history.side import Side, Specs, repository
from pytest_rooflint.suite.dependencies import Changed, Dependencies, Name, tracked
from pytest_rooflint.suite.judge import brief, caught, silent
from pytest_rooflint.suite.store import READ
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Outcome
from rooflint.base import git
from rooflint.base.errors import InputError, Problem, RooflintError
from rooflint.base.facts import Place
from rooflint.base.files import write_atomically
from rooflint.base.project import NO_GOLDEN, configured, named, project

OPTION = "rooflint_golden"
_SECTIONS = {"hardware": "device", "systems": "device", "architectures": "architecture"}


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict on one side."""

    claim: Claim
    file: str
    """Its golden file, from the top of the repository."""
    outcome: Outcome
    independent: bool
    """Whether a second document agrees."""
    headline: str
    facts: tuple[Place, ...]
    """Places of the facts that its figure follows from."""
    read: "Dependencies | Later"
    unread: tuple[Problem, ...] = ()
    """What is wrong with specs that it rests on; it is not judged then."""
    is_shared: bool = False
    """Whether nothing that it read differs between the sides, so that the verdict is that of the other one."""

    @property
    def id(self) -> str:
        """`golden/x1.yaml::peak-mac_array-int8`."""
        return f"{self.file}::{self.claim.id}"

    @property
    def places(self) -> frozenset[Place]:
        """Places of the facts that it looked up or that its figure follows from."""
        return frozenset((*self.read.places, *self.facts))


@dataclass(frozen=True)
class Known:
    """What a run of the suite found of a claim of now, and what the claim asked for."""

    outcome: Outcome
    independent: bool
    headline: str
    facts: tuple[Place, ...]
    names: frozenset[Name]
    goldens: frozenset[str]
    any_golden: bool


@dataclass(frozen=True)
class Later:
    """What a claim read, which is found out once it is asked for."""

    judged: Callable[[], Judged]

    @cached_property
    def _read(self) -> "Dependencies | Later":
        return self.judged().read

    def __getattr__(self, name: str) -> Any:
        """As of Dependencies."""
        return getattr(self._read, name)


@dataclass(frozen=True, eq=False)
class ClaimSide:
    """Golden files and specs at one time."""

    suite: Suite
    specs: Specs
    top: Path
    """The folder that names of files begin at: the repository, or the copy of a revision."""
    now: Path
    """The top of the repository."""

    def name(self, file: Path) -> str:
        """A file as it is called from the top of the repository."""
        for folder in (self.top, self.now):
            if file.is_relative_to(folder):
                return file.relative_to(folder).as_posix()
        return file.as_posix()

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The golden files by name."""
        return {self.name(file): file for file in self.suite.files}

    @cached_property
    def recordings(self) -> Mapping[str, Path]:
        """The recordings by name."""
        found = (file for root in self.suite.golden_roots for file in sorted((root / MEASURED).rglob("*.json")))
        return {self.name(file): file for file in found}

    @cached_property
    def unreadable(self) -> Mapping[str, tuple[Problem, ...]]:
        """Golden files that cannot be read."""
        found = {}
        for name, file in self.files.items():
            try:
                self.suite.read(file)
            except InputError as error:
                found[name] = error.problems
        return found

    def inputs(self) -> dict[tuple[str, str], Path]:
        """Files that claims may read: ("golden", name), or ("hardware", id) and the like for specs."""
        found = {
            ("golden", self.name(file)): file for root in self.suite.golden_roots for file in sorted(root.rglob("*"))
        }
        for number, root in enumerate(self.specs.registry.roots):
            for file in sorted(root.rglob("*")):
                section, _, rest = file.relative_to(root).as_posix().partition("/")
                key = rest.rpartition(".")[0] if section in _SECTIONS else f"{number} {rest}"
                found.setdefault((section, key), file)
        return {key: file for key, file in found.items() if file.suffix in READ and file.is_file()}

    def judge(self, claim: Claim) -> Judged:
        """The verdict on a claim, with what it reads. A bug in a kind of claim fails the claim."""
        context = tracked(self.suite)
        verdict = caught(claim, "", lambda: brief(claim, context))
        verdict = verdict if verdict.is_at_fault else verdict.waiting
        return Judged(
            claim,
            self.name(claim.file),
            verdict.outcome,
            verdict.corroborated,
            verdict.headline,
            tuple(fact.place for fact in verdict.facts),
            context.dependencies,
            () if verdict.is_at_fault else verdict.unread,
        )

    def taken(self, claim: Claim, known: Known) -> Judged:
        """What a run found of a claim, which is judged again only where what it read is asked for."""
        found = known.outcome, known.independent, known.headline, known.facts
        return Judged(claim, self.name(claim.file), *found, Later(partial(self.judge, claim)))


def sides(old: Side, new: Side, given: Sequence[Path], here: Path) -> tuple[ClaimSide, ClaimSide]:
    """The claims of a revision and of the working tree; `given` golden folders hold for both.

    Where none are given, each side has those that its own project names. Raises RooflintError.
    """
    if not isinstance(old, Specs) or not isinstance(new, Specs) or old.home is None or new.home is not None:
        raise RooflintError(f"claims are compared between a revision and the working tree, not from {old.label}")
    top = repository(here)
    golden = [folder.resolve() for folder in given or configured(OPTION, project(here))]
    then = golden if given else _named_then(old, golden, top, here)
    if not golden and not then:
        raise RooflintError(NO_GOLDEN)
    before = ClaimSide(_suite(old, [_copied(old, root, top) for root in then]), old, old.home, top)
    if before.unreadable:  # tables may stand anywhere
        git.export(top, str(old.commit), top, old.home)
        before = ClaimSide(_suite(old, before.suite.golden_roots), old, old.home, top)
    return before, ClaimSide(_suite(new, golden), new, top, top)


def _suite(specs: Specs, golden: Sequence[Path]) -> Suite:
    return Suite(tuple(golden), specs.roots, specs.registry)


def _copied(old: Specs, root: Path, top: Path) -> Path:
    commit, home = str(old.commit), Path(str(old.home))
    return git.export(top, commit, root, home) if git.knows(top, commit, root) else root


def _named_then(old: Specs, golden: list[Path], top: Path, here: Path) -> list[Path]:
    """The golden folders that the project named at the revision; today's where it named none."""
    home, settings = Path(str(old.home)), project(here).resolve()
    if not settings.is_relative_to(top):
        return golden
    copy = home / settings.relative_to(top)
    with suppress(git.RevisionError, InputError):
        write_atomically(copy, git.git(top, "show", f"{old.commit}:{settings.relative_to(top).as_posix()}"))
        folders = [folder.resolve() for folder in named(OPTION, copy)]
        return [top / folder.relative_to(home) for folder in folders if folder.is_relative_to(home)] or golden
    return golden


STEP = 100
"""Claims after which it is said how far the judging is."""


def judged(
    before: ClaimSide,
    after: ClaimSide,
    known: Mapping[str, Known] = MappingProxyType({}),
    say: Callable[[str], None] = silent,
) -> tuple[list[Judged], list[Judged]]:
    """All claims of both sides with their verdicts, in the order of the golden files.

    `known` is what a run just found of claims of now, by their ids with file; these are not judged again.
    """
    new, claims = [], after.suite.claims()
    for number, claim in enumerate(claims):
        if not number % STEP:
            say(f"judging claims: {number} of {len(claims)}")
        key = f"{after.name(claim.file)}::{claim.id}"
        new.append(after.taken(claim, known[key]) if key in known else after.judge(claim))
    by_id = {one.id: one for one in new}
    moved = _moved(before, after)
    old = []
    for claim in before.suite.claims():
        key = f"{before.name(claim.file)}::{claim.id}"
        same = by_id.get(key)
        shared = same is not None and moved is not None and not _concerned(same, moved, after, known.get(key))
        old.append(replace(same, claim=claim, is_shared=True) if same and shared else before.judge(claim))
    return old, new


def _moved(before: ClaimSide, after: ClaimSide) -> Changed[str, Name] | None:
    """What differs between the sides; None where that may concern any claim, such as another coefficient."""
    old, new = before.inputs(), after.inputs()
    goldens, names = set[str](), set[Name]()
    for key in {*old, *new}:
        if _same(old.get(key), new.get(key)):
            continue
        section, name = key
        if section == "golden" and not name.endswith(".json") and {name} & {*before.files, *after.files}:
            goldens.add(name)
        elif section in _SECTIONS and key in new:
            names.add((_SECTIONS[section], name))
        else:
            return None
    return Changed(goldens, names)


def _same(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None:
        return False
    return one == other or one.read_bytes() == other.read_bytes()


def _concerned(one: Judged, moved: Changed[str, Name], side: ClaimSide, known: Known | None) -> bool:
    """Whether what differs may move the verdict; tables of audits and files of foreign kinds may stand anywhere."""
    kind = one.claim.kind
    if kind == "audit" or not kinds.home(kind).startswith("pytest_rooflint."):
        return True
    if known:
        return moved.concern(one.file, goldens=known.goldens, any_golden=known.any_golden, names=known.names)
    goldens = map(side.name, one.read.goldens)
    names = _names(one.read, side)
    return moved.concern(one.file, goldens=goldens, any_golden=one.read.any_golden(one.claim), names=names)


def _names(read: Dependencies | Later, side: ClaimSide) -> Iterator[Name]:
    """Devices and architectures that were asked for, with the architectures of the devices."""
    for section, name in read.names:
        yield section, name
        if section == "device":
            with suppress(RooflintError):
                yield "architecture", str(side.specs.registry.get(name).architecture)
