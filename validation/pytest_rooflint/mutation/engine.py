"""The engine: every group of mutants on every core, in any order, to the same result."""

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.fate import Fate, fates
from pytest_rooflint.mutation.mutants import Group, groups
from pytest_rooflint.mutation.store import Store
from pytest_rooflint.suite import Suite
from rooflint.errors import RooflintError

#: Told how many mutants are done, each time some are.
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
) -> dict[int, tuple[Fate, ...]]:
    """The fates of the wanted groups by their positions; what the store knows is not found out again.

    Each group is kept as soon as it is done, so that an interrupted run goes on where it stopped.
    """
    found: dict[int, tuple[Fate, ...]] = {}
    for position in wanted:
        known = store.get(all_groups[position]) if store else None
        if known is not None:
            found[position] = known
            progress(len(known))
    missing = sorted(set(wanted) - set(found), key=lambda position: -len(all_groups[position].mutants))
    for position, new in _fates(baseline, all_groups, missing, jobs):
        found[position] = new
        if store:
            store.put(all_groups[position], new)
        progress(len(new))
    return {position: found[position] for position in wanted}


def _fates(
    baseline: Baseline, all_groups: Sequence[Group], missing: Sequence[int], jobs: int
) -> Iterator[tuple[int, tuple[Fate, ...]]]:
    if jobs == 1 or len(missing) < 2:
        yield from ((position, tuple(fates(all_groups[position], baseline))) for position in missing)
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
        raise EngineError("a process was ended from outside; what was found out is kept, start again") from error
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


def _one(position: int) -> tuple[int, tuple[Fate, ...]]:
    baseline, all_groups = _shared[0]
    return position, tuple(fates(all_groups[position], baseline))
