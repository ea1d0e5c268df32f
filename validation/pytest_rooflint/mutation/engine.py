"""Runs all groups of mutants in shards, in any number of processes, with the same result.

Outcomes that are kept are not found out again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pytest_rooflint.mutation.baseline import Baseline, JudgedClaim, checking
from pytest_rooflint.mutation.outcome import Basis, Group, Mutant, Outcome, subject_of, trials
from pytest_rooflint.mutation.store import Store
from pytest_rooflint.suite import world
from pytest_rooflint.suite.dependencies import Name
from pytest_rooflint.suite.modules import Modules
from pytest_rooflint.suite.store import READ
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.files import folders_digest
from rooflint.base.shards import HERE, ClusterError, Workers, results
from rooflint.hardware.registry import Registry


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

FEW = 5000
"""Mutants that are not worth a second process: it takes as long to start and to read the specs as these to judge."""


def run(
    baseline: Baseline,
    all_groups: Sequence[Group],
    wanted: Sequence[int],
    *,
    workers: Workers = HERE,
    store: Store | None = None,
    progress: Progress = lambda done: None,
) -> dict[int, tuple[Outcome, ...]]:
    """The outcomes of the wanted groups by their positions; kept ones are not computed again.

    Each group is kept as soon as it is done, so that an interrupted run continues where it stopped. Raises ClusterError
    where workers cannot be used, and StoreError.
    """
    found = {position: _known(all_groups[position], baseline, store) for position in wanted}
    missing = {position: [index for index, one in enumerate(known) if one is None] for position, known in found.items()}
    if kept := sum(one is not None for known in found.values() for one in known):
        progress(kept)
    for position, some, new in _outcomes(baseline, all_groups, missing, workers):
        for index, (one, _) in zip(some, new, strict=True):
            found[position][index] = one
        if store and not (store.is_kept(all_groups[position], baseline) and not some):
            bases = [basis for _, basis in new]
            store.put(all_groups[position], _complete(found[position]), dict(zip(some, bases, strict=True)), baseline)
        if some:
            progress(len(some))
    return {position: _complete(found[position]) for position in wanted}


def _known(group: Group, baseline: Baseline, store: Store | None) -> list[Outcome | None]:
    return store.known(group, baseline) if store else [None] * len(group.mutants)


def _complete(found: Sequence[Outcome | None]) -> tuple[Outcome, ...]:
    return tuple(one for one in found if one)


def _outcomes(
    baseline: Baseline, all_groups: Sequence[Group], missing: Mapping[int, Sequence[int]], workers: Workers
) -> Iterator[tuple[int, Sequence[int], Sequence[tuple[Outcome, Basis]]]]:
    """Outcomes of some mutants of each group, by the positions of both; groups of which none is missing come first."""
    yield from ((position, some, ()) for position, some in missing.items() if not some)
    left = sorted(((position, some) for position, some in missing.items() if some), key=lambda one: -len(one[1]))
    groups_left = [_some(all_groups[position], some) for position, some in left]
    if workers.is_one or (sum(len(some) for _, some in left) < FEW and not (workers.dask or workers.ray)):
        found: Iterator[Sequence[tuple[Outcome, Basis]]] = (list(trials(group, baseline)) for group in groups_left)
    else:
        found = results(judge_shard, _shards(groups_left, baseline), workers)
    yield from ((position, some, new) for (position, some), new in zip(left, found, strict=True))


def _some(group: Group, some: Sequence[int]) -> Group:
    """A group with the mutants at some positions."""
    return replace(group, mutants=tuple(group.mutants[index] for index in some))


# ---- in shards


@dataclass(frozen=True)
class Shard:
    """Mutants of one file and the claims that look up its facts; a worker reads its own copy of the files."""

    golden_roots: tuple[Path, ...]
    part: tuple[Path, ...]
    """Folders within the golden folders whose claims alone count."""
    spec_roots: tuple[Path, ...]
    roots: tuple[Path, ...]
    """Roots of the registry."""
    digest: str
    subject: Name
    mutants: tuple[Mutant, ...]
    claims: tuple[JudgedClaim, ...]


def _shards(some: Sequence[Group], baseline: Baseline) -> list[Shard]:
    suite = baseline.suite
    folders = (suite.golden_roots, suite.part, suite.spec_roots, suite.registry.roots)
    files = suite_digest(suite)
    return [Shard(*folders, files, group.subject.key, group.mutants, _asked(group, baseline)) for group in some]


def _asked(group: Group, baseline: Baseline) -> tuple[JudgedClaim, ...]:
    """Claims that look up a fact of which the group has a mutant, or ask whether it is there."""
    facts = dict.fromkeys(mutant.fact for mutant in group.mutants)
    return tuple({claim.id: claim for fact in facts for claim in baseline.asking(fact)}.values())


def judge_shard(shard: Shard) -> list[tuple[Outcome, Basis]]:
    """The outcomes of a shard, and what each rests on.

    Raises ClusterError where the worker's code or files are not those of the shard.
    """
    suite = _suite_of(shard.golden_roots, shard.part, shard.spec_roots, shard.roots, shard.digest)
    return list(trials(Group(subject_of(shard.subject, suite), shard.mutants, ()), Baseline(suite, shard.claims)))


@lru_cache(maxsize=1)
def _suite_of(
    golden_roots: tuple[Path, ...],
    part: tuple[Path, ...],
    spec_roots: tuple[Path, ...],
    roots: tuple[Path, ...],
    digest: str,
) -> Suite:
    if missing := [str(root) for root in (*golden_roots, *roots) if not root.is_dir()]:
        raise ClusterError(f"a worker has no folder {', '.join(missing)}; give it the same folders as here")
    suite = Suite(golden_roots, spec_roots, Registry(roots), part=part)
    if suite_digest(suite) != digest:
        raise ClusterError("a worker has another version of rooflint, of the specs or of the golden files than here")
    return suite


def suite_digest(suite: Suite) -> str:
    """Of all that outcomes follow from: our code, the libraries, and the files of a suite."""
    files = folders_digest((*suite.golden_roots, *suite.registry.roots), [f"*{suffix}" for suffix in READ])
    return f"{Modules().everything()} {files}"
