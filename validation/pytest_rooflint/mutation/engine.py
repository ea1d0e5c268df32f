"""Runs all groups of mutants on several processes, in any order, with the same result.

Outcomes that are kept are not found out again.
"""

import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from pytest_rooflint.mutation.baseline import Baseline, JudgedClaim, checking
from pytest_rooflint.mutation.outcome import Group, Outcome, groups, outcomes
from pytest_rooflint.mutation.store import Store
from pytest_rooflint.suite import world
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError, shown


class FailingSuiteError(RooflintError):
    """A suite that fails before any mutation."""


def baseline_of(suite: Suite, store: Store | None = None) -> Baseline:
    """Every claim with its verdict. Raises FailingSuiteError where a claim or a file fails, and StoreError."""
    judged = None if store else tuple(JudgedClaim.of(one, suite) for one in checking(suite))
    baseline = store.baseline() if store else Baseline(suite, judged or ())
    failures = [f"{shown(one.claim.file)}:{one.claim.line}" for one in baseline.claims if one.outcome == "fail"]
    failures = failures or [str(problem) for problem in _problems(suite)]
    if failures:
        more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise FailingSuiteError(
            f"a failing suite has no mutation score; first fix {failures[0]}{more} (rooflint check)"
        )
    return baseline


def _problems(suite: Suite) -> list[object]:
    """Broken files, and problems of the suite as a whole."""
    problems: list[object] = []
    for file in suite.files:
        try:
            suite.read(file)
        except InputError as error:
            problems += error.problems
    return [*problems, *world.problems(suite)]


#: Called with the number of mutants that were just finished.
Progress = Callable[[int], None]

_Work = tuple[Baseline, Sequence[Group]]
_shared: list[_Work] = []


class EngineError(RooflintError):
    """A run that could not be finished."""


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
    found = {position: _known(all_groups[position], baseline, store) for position in wanted}
    missing = {position: [index for index, one in enumerate(known) if one is None] for position, known in found.items()}
    if kept := sum(one is not None for known in found.values() for one in known):
        progress(kept)
    for position, some, new in _outcomes(baseline, all_groups, missing, jobs):
        for index, one in zip(some, new, strict=True):
            found[position][index] = one
        if store and not (store.is_kept(all_groups[position], baseline) and not some):
            store.put(all_groups[position], _complete(found[position]), baseline)
        if some:
            progress(len(some))
    return {position: _complete(found[position]) for position in wanted}


def _known(group: Group, baseline: Baseline, store: Store | None) -> list[Outcome | None]:
    return store.known(group, baseline) if store else [None] * len(group.mutants)


def _complete(found: Sequence[Outcome | None]) -> tuple[Outcome, ...]:
    return tuple(one for one in found if one)


def _outcomes(
    baseline: Baseline, all_groups: Sequence[Group], missing: Mapping[int, Sequence[int]], jobs: int
) -> Iterator[tuple[int, Sequence[int], Sequence[Outcome]]]:
    """Outcomes of some mutants of each group, by the positions of both; groups of which none is missing come first."""
    yield from ((position, some, ()) for position, some in missing.items() if not some)
    left = sorted(((position, some) for position, some in missing.items() if some), key=lambda one: -len(one[1]))
    if jobs == 1 or len(left) < 2:
        yield from ((position, some, _of_some(all_groups[position], some, baseline)) for position, some in left)
        return
    _shared.append((baseline, all_groups))  # a forked process finds it there
    pool = _pool(min(jobs, len(left)), baseline.suite)
    try:
        with warnings.catch_warnings():  # the only threads here are those of a BLAS that is not called
            warnings.simplefilter("ignore", DeprecationWarning)
            tasks = [pool.submit(_one, position, some) for position, some in left]
        for task in as_completed(tasks):
            yield task.result()
    except BrokenProcessPool as error:
        raise EngineError(
            "a worker process was killed; the results so far are kept, so run the command again"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        _shared.clear()


def _of_some(group: Group, some: Sequence[int], baseline: Baseline) -> Sequence[Outcome]:
    """Outcomes of the mutants of a group at some positions."""
    return list(outcomes(replace(group, mutants=tuple(group.mutants[index] for index in some)), baseline))


def _pool(jobs: int, suite: Suite) -> ProcessPoolExecutor:
    """Forked where that is safe, so that nothing is read twice; elsewhere each process reads the suite itself."""
    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    context = multiprocessing.get_context("fork" if forks else "spawn")
    return ProcessPoolExecutor(jobs, context, _prepare, (suite.golden_roots, suite.spec_roots))


def _prepare(golden: tuple[Path, ...], specs: tuple[Path, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer; half a message would block it
    if not _shared:
        suite = Suite.of(golden, specs)
        _shared.append((baseline_of(suite), list(groups(suite))))


def _one(position: int, some: Sequence[int]) -> tuple[int, Sequence[int], Sequence[Outcome]]:
    baseline, all_groups = _shared[0]
    return position, some, _of_some(all_groups[position], some, baseline)
