"""Runs all groups of mutants on several processes, and keeps outcomes in one file a group.

Kept outcomes are valid as long as nothing changes that the group depends on: our code and the kinds of claims, the op
tables, its own mutations (which contain the values of the facts), the specs of every device that its claims read, and
the golden files of those claims.
"""

import hashlib
import importlib.util
import json
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path

import pytest_rooflint
import rooflint
import rooflint_calibration
from pytest_rooflint.mutation.outcome import Baseline, Group, Outcome, groups, outcomes
from pytest_rooflint.suite.dependencies import Name
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_atomically
from rooflint.hardware.registry import Registry

FOLDER = Path(".rooflint/mutation")


class StoreError(RooflintError):
    """A folder in which outcomes cannot be kept."""


@dataclass(frozen=True)
class Store:
    """A folder of outcomes."""

    folder: Path
    baseline: Baseline
    _digests: dict[Path, str] = field(default_factory=dict, repr=False)

    def get(self, group: Group) -> tuple[Outcome, ...] | None:
        """The kept outcomes of a group; None where there are none, or a dependency changed."""
        try:
            found = json.loads(self._file(group).read_text(encoding="utf-8"))
            outcomes = tuple(Outcome(**row) for row in found["outcomes"])
        except (OSError, ValueError, TypeError, KeyError):  # absent, or written by something else
            return None
        return outcomes if found["key"] == self._key(group) and len(outcomes) == len(group.mutants) else None

    def put(self, group: Group, outcomes: Sequence[Outcome]) -> None:
        """Keep it. Raises StoreError where the folder cannot be written."""
        rows = [asdict(outcome) for outcome in outcomes]
        text = json.dumps({"key": self._key(group), "outcomes": rows}, ensure_ascii=False)
        try:
            if not (ignored := self.folder / ".gitignore").exists():
                write_atomically(ignored, "*\n")
            write_atomically(self._file(group), f"{text}\n")
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot keep results: {error.strerror}; run with --no-cache") from error

    def _file(self, group: Group) -> Path:
        return self.folder / group.subject.key[0] / f"{group.subject.id}.json"

    def _key(self, group: Group) -> str:
        parts = hashlib.sha256(self._common.encode())
        for file in sorted(self._files(group)):
            parts.update(f"{shown(file)} {self._digest(file)}\n".encode())
        for mutant in group.mutants:
            fact, mutation = mutant.fact, mutant.mutation
            parts.update(f"{fact.path} {fact.line} {mutation.operator} {mutation.fact.display}\n".encode())
        return parts.hexdigest()

    def _files(self, group: Group) -> set[Path]:
        registry = self.baseline.suite.registry
        names = {group.subject.key, *_heirs(group, registry)}
        claims = self.baseline.depending_on(names)
        needed = names.union(*(claim.dependencies.names for claim in claims))
        return {one.claim.file for one in claims} | {file for name in needed for file in _of(name, registry)}

    @cached_property
    def _common(self) -> str:
        """What every group depends on."""
        tables = (file for root in self.baseline.suite.spec_roots for file in (root / "workloads").rglob("*.yaml"))
        return "\n".join(self._digest(file) for file in sorted({*_code(), *tables}))

    def _digest(self, file: Path) -> str:
        if file not in self._digests:
            self._digests[file] = hashlib.sha256(file.read_bytes()).hexdigest()
        return self._digests[file]


def _heirs(group: Group, registry: Registry) -> Iterator[Name]:
    """Devices that inherit from an architecture."""
    if group.subject.is_architecture:
        for device in registry.ids():
            if registry.get(device).architecture == group.subject.id:
                yield "device", device


def _of(name: Name, registry: Registry) -> Iterator[Path]:
    """The file of a device and of its architecture; none for a name that does not exist."""
    section, named = name
    if section == "device" and named in registry.files:
        yield registry.files[named]
        section, named = "architecture", registry.get(named).architecture or ""
    if section == "architecture" and named in registry.architecture_files:
        yield registry.architecture_files[named]


def _code() -> tuple[Path, ...]:
    """Our own modules, and those of the kinds of claims that other packages add."""
    packages = [Path(str(package.__file__)).parent for package in (rooflint, pytest_rooflint, rooflint_calibration)]
    modules = (file for package in packages for file in package.rglob("*.py"))
    kinds = (importlib.util.find_spec(entry.module) for entry in entry_points(group="rooflint.claims"))
    origins = (Path(kind.origin) for kind in kinds if kind and kind.origin)
    return tuple(sorted({*modules, *origins}))


# ---- The run: groups of mutants on several processes, in any order, with the same result

#: Called with the number of mutants that were just finished.
Progress = Callable[[int], None]

_Work = tuple[Baseline, Sequence[Group]]
_shared: list[_Work] = []


class EngineError(RooflintError):
    """A run that could not be finished."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    baseline: Baseline,
    all_groups: Sequence[Group],
    wanted: Sequence[int],
    *,
    jobs: int = 1,
    store: Store | None = None,
    progress: Progress = lambda done: None,
) -> dict[int, tuple[Outcome, ...]]:
    """The outcomes of the wanted groups by their positions; kept ones are not computed again.

    Each group is kept as soon as it is done, so that an interrupted run continues where it stopped.
    """
    found: dict[int, tuple[Outcome, ...]] = {}
    for position in wanted:
        known = store.get(all_groups[position]) if store else None
        if known is not None:
            found[position] = known
            progress(len(known))
    missing = sorted(set(wanted) - set(found), key=lambda position: -len(all_groups[position].mutants))
    for position, new in _outcomes(baseline, all_groups, missing, jobs):
        found[position] = new
        if store:
            store.put(all_groups[position], new)
        progress(len(new))
    return {position: found[position] for position in wanted}


def _outcomes(
    baseline: Baseline, all_groups: Sequence[Group], missing: Sequence[int], jobs: int
) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
    if jobs == 1 or len(missing) < 2:
        yield from ((position, tuple(outcomes(all_groups[position], baseline))) for position in missing)
        return
    _shared.append((baseline, all_groups))  # a forked process finds it there
    pool = _pool(min(jobs, len(missing)), baseline.suite)
    try:
        with warnings.catch_warnings():  # the only threads here are those of a BLAS that is not called
            warnings.simplefilter("ignore", DeprecationWarning)
            tasks = [pool.submit(_one, position) for position in missing]
        for task in as_completed(tasks):
            yield task.result()
    except BrokenProcessPool as error:
        raise EngineError(
            "a worker process was killed; the results so far are kept, so run the command again"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        _shared.clear()


def _pool(jobs: int, suite: Suite) -> ProcessPoolExecutor:
    """Forked where that is safe, so that nothing is read twice; elsewhere each process reads the suite itself."""
    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    context = multiprocessing.get_context("fork" if forks else "spawn")
    return ProcessPoolExecutor(jobs, context, _prepare, (suite.golden_roots, suite.spec_roots))


def _prepare(golden: tuple[Path, ...], specs: tuple[Path, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer; half a message would block it
    if not _shared:
        suite = Suite.of(golden, specs)
        _shared.append((Baseline.of(suite), list(groups(suite))))


def _one(position: int) -> tuple[int, tuple[Outcome, ...]]:
    baseline, all_groups = _shared[0]
    return position, tuple(outcomes(all_groups[position], baseline))
