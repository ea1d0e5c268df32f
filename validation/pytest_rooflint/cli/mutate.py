"""`rooflint mutate`: how many errors in the specs the claims would catch."""

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.evidence.build import add
from pytest_rooflint.mutation.engine import FOLDER, Progress, Store, cores, run
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Baseline, Group, groups
from pytest_rooflint.mutation.score import Result, as_md, as_text, percent, summary
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, share
from rooflint.base.text import counted
from rooflint_report.differences import Mutation
from rooflint_report.evidence import as_json

FLOOR = "rooflint_mutation_floor"

app = typer.Typer(add_completion=False)


class MutateError(RooflintError):
    """The arguments name nothing that can be mutated."""


class Form(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


@app.command()
def mutate(
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    specs: Annotated[list[Path] | None, typer.Option(help="Specs folder instead of the project's own.")] = None,
    only: Annotated[
        str, typer.Option(help="Only devices and architectures that match this pattern: 'nvidia/*'.")
    ] = "*",
    only_class: Annotated[str, typer.Option("--class", help="Only this mutation operator, such as other-clock.")] = "",
    jobs: Annotated[int, typer.Option(help="Number of processes; by default one per core.", min=0)] = 0,
    floor: Annotated[
        float | None,
        typer.Option(help=f"Lowest score in per cent, instead of {FLOOR}.", min=0, max=100),
    ] = None,
    form: Annotated[Form, typer.Option("--format", "-f", help="Output format.")] = Form.TEXT,
    survivors: Annotated[str, typer.Option(help="Number of survivors to list, or all.")] = "10",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep earlier outcomes.")] = False,
    evidence: Annotated[Path | None, typer.Option(help="Evidence file of a run to add the score to.")] = None,
) -> None:
    """Mutation-test the specs: inject common errors and count which claims catch them. Status 1 below the floor."""
    most = _most(survivors)
    baseline = Baseline.of(_suite(golden, specs))
    all_groups = list(groups(baseline.suite))
    wanted = _wanted(all_groups, only, only_class)
    store = None if no_cache else Store(FOLDER, baseline)
    with _progress(sum(len(all_groups[position].mutants) for position in wanted)) as progress:
        outcomes = run(baseline, all_groups, wanted, jobs=jobs or cores(), store=store, progress=progress)
    result = Result.of(all_groups, outcomes, baseline.backed, only_class or None)
    found = summary(result, baseline, _floor(floor, whole=only == "*" and not only_class))
    if evidence:
        add(evidence, "mutation", found)
    typer.echo(_written(found, form, most), nl=False)
    if found.holds is False:
        raise typer.Exit(1)


def _suite(golden: list[Path] | None, specs: list[Path] | None) -> Suite:
    given = [*(golden or ()), *(specs or ())]
    if missing := [folder for folder in given if not folder.is_dir()]:
        raise MutateError(f"{missing[0]}: want a folder, found none")
    roots = [folder.resolve() for folder in golden or configured("rooflint_golden")]
    if not roots:
        raise MutateError("no golden folder: set rooflint_golden in pyproject.toml, or pass --golden DIR")
    return Suite.of(roots, [folder.resolve() for folder in specs or configured("rooflint_specs")])


def _wanted(all_groups: Sequence[Group], only: str, only_class: str) -> list[int]:
    """Positions of the groups that match. Raises MutateError where none does."""
    if only_class and only_class not in OPERATORS:
        raise MutateError(f"--class: unknown '{only_class}' (known: {', '.join(OPERATORS)})")
    found = [
        position for position, group in enumerate(all_groups) if fnmatch.fnmatchcase(group.subject.id, only.lower())
    ]
    if not found:
        raise MutateError(f"--only: no device or architecture matches '{only}'")
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
        raise MutateError(f"--survivors: want a number or all, found '{survivors}'")
    return int(survivors)


@contextmanager
def _progress(total: int) -> Iterator[Progress]:
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console  # noqa: PLC0415  # only for people
    from rich.progress import Progress as Bar  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    with Bar(console=console, transient=True, auto_refresh=False) as bar:  # no thread: processes are forked beside it
        task = bar.add_task("mutants", total=total)

        def advance(done: int) -> None:
            bar.update(task, advance=done, refresh=True)

        yield advance


def _written(found: Mutation, form: Form, most: int | None) -> str:
    """The score in a format, with a remark on the floor at the end."""
    if form == Form.JSON:
        return as_json(found)
    write: Callable[[Mutation, int | None], str] = as_md if form == Form.MD else as_text
    remark = _remark(found)
    return write(found, most) + (f"\n{remark}\n" if remark else "")


def _remark(found: Mutation) -> str:
    """A remark on the floor."""
    score, floor, gross = found.score, found.floor, found.gross
    if found.holds is False and gross.killed < gross.mutants:
        lost = gross.mutants - gross.killed
        noun = counted(lost, "mutant")
        return f"failed: claims miss {noun} of ×2 and more on corroborated peaks and bandwidths; they must miss none"
    if found.holds is False:
        return f"failed: the score {percent(score)} is below the floor of {percent(floor)}"
    if floor is not None and percent(score) != percent(floor):
        return f"the floor can be raised to {percent(score).removesuffix(' %')} ({FLOOR})"
    return ""
