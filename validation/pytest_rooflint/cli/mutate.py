"""`rooflint mutate`: which errors in the specs the claims would catch."""

import fnmatch
import gc
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import progress
from pytest_rooflint.golden import kinds
from pytest_rooflint.mutation import engine
from pytest_rooflint.mutation import score as scored
from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Subject, group_of, subjects
from pytest_rooflint.mutation.printed import as_md, as_text
from pytest_rooflint.mutation.score import FileScore, Result
from pytest_rooflint.mutation.store import FOLDER, PARSED, Store
from pytest_rooflint.mutation.unguarded import reasons_of, too_many
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.parsed import Parsed
from rooflint.base.project import limit, project_root, share
from rooflint.base.shards import Workers
from rooflint.base.text import counted
from rooflint.cli.options import Dask, Golden, Jobs, Ray, Specs
from rooflint_report.differences import Mutation, score_percent
from rooflint_report.evidence import add, as_json

FLOOR = "rooflint_mutation_floor"
INDEPENDENT_FLOOR = "rooflint_mutation_independent_floor"
CEILING = "rooflint_unguarded_ceiling"
BELOW_FLOOR = 3
"""Survivors that are listed where a floor is missed, although the score alone was asked for."""

app = typer.Typer(add_completion=False)


class Form(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


@app.command()
def mutate(
    golden: Golden = None,
    specs: Specs = None,
    only: Annotated[
        str, typer.Option(help="Only devices and architectures that match this pattern: 'nvidia/*'.")
    ] = "*",
    only_class: Annotated[str, typer.Option("--class", help="Only this mutation operator, such as other-clock.")] = "",
    floor: Annotated[
        float | None,
        typer.Option(help=f"Lowest score in per cent, instead of {FLOOR}.", min=0, max=100),
    ] = None,
    form: Annotated[Form, typer.Option("--format", "-f", help="Output format.")] = Form.TEXT,
    survivors: Annotated[str, typer.Option(help="Number of survivors to list, or all; 0 for the score alone.")] = "10",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep earlier outcomes.")] = False,
    evidence: Annotated[Path | None, typer.Option(help="Evidence file of a run to add the score to.")] = None,
    jobs: Jobs = 0,
    dask: Dask = "",
    ray: Ray = "",
) -> None:
    """Mutation-test the specs: inject common errors and count which claims catch them. Status 1 below the floor."""
    most, workers = _most(survivors), Workers(jobs, dask, ray)
    found = _found(golden, specs, only, only_class, floor, no_cache, workers)
    if evidence:
        add(evidence, mutation=found)
    typer.echo(_written(found, form, most), nl=False)
    if found.holds is False:
        raise typer.Exit(1)


def _found(
    golden: list[Path] | None,
    specs: list[Path] | None,
    only: str,
    only_class: str,
    floor: float | None,
    no_cache: bool,
    workers: Workers,
) -> Mutation:
    """The score of the mutants that match."""
    home = project_root()
    suite = Suite.of_project(golden, specs, None if no_cache else Parsed(home / PARSED, kinds.packages()))
    if not suite.spec_roots:
        raise RooflintError("no specs of your own to mutate: set rooflint_specs in pyproject.toml, or pass --specs DIR")
    store = None if no_cache else Store(home / FOLDER, suite)
    baseline = engine.baseline_of(suite, store)
    gc.freeze()  # the suite stays to the end, and cycles would be looked for in it again and again
    wanted = _wanted(store.subjects if store else tuple(subjects(suite)), only, only_class)
    found = _scores(wanted, only_class, baseline, store, workers)
    whole = only == "*" and not only_class
    independent = share(INDEPENDENT_FLOOR) if whole and floor is None else None
    ceiling = limit(CEILING) if whole and floor is None else None
    return scored.total(found, _floor(floor, whole=whole), independent, ceiling, reasons_of(suite))


def _scores(
    wanted: Sequence[Subject], only_class: str, baseline: Baseline, store: Store | None, workers: Workers
) -> list[FileScore]:
    """The score of each file; those of all classes are kept."""
    kept = store.scores(baseline) if store else {}
    known = {} if only_class else kept
    missing = [subject for subject in wanted if subject.key not in known]
    groups = [store.group(subject) if store else group_of(subject, baseline.suite) for subject in missing]
    with progress.bar("mutants", sum(len(group.mutants) for group in groups)) as advance:
        outcomes = engine.run(baseline, groups, range(len(groups)), workers=workers, store=store, progress=advance)
    new = {
        group.subject.key: scored.score_of(Result.of(group, outcomes[position], baseline, only_class or None), baseline)
        for position, group in enumerate(groups)
    }
    if store and new and not only_class:
        store.put_scores({**kept, **new}, baseline)
    found = {**known, **new}
    return [found[subject.key] for subject in wanted]


def _wanted(every: Sequence[Subject], only: str, only_class: str) -> list[Subject]:
    """Files that match. Raises RooflintError where none does."""
    if only_class and only_class not in OPERATORS:
        raise RooflintError(f"--class: unknown '{only_class}' (known: {', '.join(OPERATORS)})")
    found = [subject for subject in every if fnmatch.fnmatchcase(subject.id, only.lower())]
    if not found:
        raise RooflintError(f"--only: no device or architecture matches '{only}'")
    return found


def _floor(given: float | None, *, whole: bool) -> float | None:
    """The floor as a share; the project's own holds for all mutants, not for some."""
    if given is not None:
        return given / 100
    return share(FLOOR) if whole else None


def _most(survivors: str) -> int | None:
    if survivors == "all":
        return None
    if not survivors.isdigit():
        raise RooflintError(f"--survivors: want a number or all, found '{survivors}'")
    return int(survivors)


def _written(found: Mutation, form: Form, most: int | None) -> str:
    """The score in a format, with a remark on the floor at the end."""
    if form == Form.JSON:
        return as_json(found)
    remark = _failed(found) or ("" if most == 0 else _movable(found))
    most = BELOW_FLOOR if most == 0 and found.holds is False else most
    text = (as_md if form == Form.MD else as_text)(found, most)
    return f"{text}\n{remark}\n" if remark else text


def _failed(found: Mutation) -> str:
    """What misses a floor or the ceiling."""
    gross = found.gross
    if found.holds is False and gross.killed < gross.mutants:
        lost = gross.mutants - gross.killed
        noun = counted(lost, "mutant")
        return f"failed: claims miss {noun} of ×2 and more on corroborated peaks and bandwidths; they must miss none"
    failed = [
        f"failed: the {name} {score_percent(score)} is below the floor of {score_percent(floor)}"
        for name, score, floor, _ in _asked(found)
        if score is None or score < floor
    ]
    if too_many(found.guards):
        without = found.guards.unguarded - found.guards.reasoned
        more = f"{without} figures are unguarded without a reason, and {found.guards.ceiling} may be ({CEILING})"
        failed.append(f"failed: {more}; add a claim, or state the reason under 'unguarded:'")
    if failed:
        return "\n".join([*failed, "`rooflint mutate --only ID --survivors all` lists what one device lacks"])
    return ""


def _movable(found: Mutation) -> str:
    """Which floor, or the ceiling, a project can move to what it has reached."""
    for _, score, floor, option in _asked(found):
        if score_percent(score) != score_percent(floor):
            return f"the floor can be raised to {score_percent(score).removesuffix(' %')} ({option})"
    without = found.guards.unguarded - found.guards.reasoned
    if found.guards.ceiling is not None and without < found.guards.ceiling:
        return f"the ceiling can be lowered to {without} ({CEILING})"
    return ""


def _asked(found: Mutation) -> list[tuple[str, float | None, float, str]]:
    """The scores that have a floor: name, score, floor, setting."""
    floors = (
        ("score", found.score, found.floor, FLOOR),
        ("share killed by an independent source,", found.independent, found.independent_floor, INDEPENDENT_FLOOR),
    )
    return [(name, score, floor, option) for name, score, floor, option in floors if floor is not None]
