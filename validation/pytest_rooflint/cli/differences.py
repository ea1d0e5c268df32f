"""`rooflint diff`, `ledger` and `mutate`: what another state of the specs, or an error in them, would change."""

import fnmatch
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import progress
from pytest_rooflint.evidence.build import add
from pytest_rooflint.history import summary as moved
from pytest_rooflint.history.comparison import compare
from pytest_rooflint.history.side import opened, repository
from pytest_rooflint.mutation import engine
from pytest_rooflint.mutation import score as scored
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Baseline, Group, groups
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, share, write_atomically
from rooflint.base.git import base_of
from rooflint.base.shards import Workers
from rooflint.base.text import counted
from rooflint.cli.options import Dask, Golden, Jobs, Specs
from rooflint.hardware.registry import PACKAGED
from rooflint.prediction import ledger as ledgers
from rooflint_report.differences import Delta, Mutation, score_percent
from rooflint_report.evidence import as_json

FLOOR = "rooflint_mutation_floor"

app = typer.Typer(add_completion=False)


class Form(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


SUFFIXES = {".txt": Form.TEXT, ".json": Form.JSON, ".md": Form.MD}


@app.command()
def diff(
    old: Annotated[
        str | None,
        typer.Argument(help="Revision, folder of specs or ledger; by default where HEAD left the default branch."),
    ] = None,
    new: Annotated[
        str | None, typer.Argument(help="Revision, folder of specs or ledger; by default the working tree.")
    ] = None,
    form: Annotated[
        Form | None, typer.Option("--format", "-f", help="Output format; by default that of the suffix of -o.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write instead of the terminal.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all changes of predictions, not only the largest.")
    ] = False,
    fail_over: Annotated[
        float | None,
        typer.Option("--fail-over", help="Exit with status 1 if a prediction changed by more than this factor.", min=1),
    ] = None,
    evidence: Annotated[Path | None, typer.Option(help="Evidence file of a run to add the difference to.")] = None,
    specs: Specs = None,
) -> None:
    """Compare the predictions of two states of the specs: which changed, by what factor, because of which fact."""
    found = _found(old, new, _roots(specs))
    if evidence:
        add(evidence, "delta", found)
    form, most = form or _form(output), None if everything else moved.MOST
    text = as_json(found) if form == Form.JSON else (moved.as_md if form == Form.MD else moved.as_text)(found, most)
    if output:
        try:
            write_atomically(output, text)
        except OSError as error:
            raise RooflintError(f"{output}: cannot be written: {error.strerror}") from error
    else:
        typer.echo(text, nl=False)
    if fail_over is not None and _moved_over(found, fail_over):
        typer.echo(f"failed: a prediction changed by more than ×{fail_over:g}", err=True)
        raise typer.Exit(1)


def _roots(specs: list[Path] | None) -> tuple[Path, ...]:
    """The folders whose devices are predicted: the given ones, the project's own, or the packaged specs."""
    given = specs or configured("rooflint_specs")
    return tuple(folder.resolve() for folder in given) or (PACKAGED.resolve(),)


def _found(old: str | None, new: str | None, roots: tuple[Path, ...]) -> Delta:
    here = Path.cwd()
    with ExitStack() as stack:
        before = stack.enter_context(opened(old or base_of(repository(here)), roots, here))
        after = stack.enter_context(opened(new, roots, here))
        return moved.summary(compare(before, after))


def _form(output: Path | None) -> Form:
    if output is None:
        return Form.TEXT
    if output.suffix not in SUFFIXES:
        raise RooflintError(f"{output}: want a file that ends in {', '.join(SUFFIXES)}, or --format")
    return SUFFIXES[output.suffix]


def _moved_over(found: Delta, factor: float) -> bool:
    """Whether a prediction moved by more than a factor, up or down, or is not known any more."""
    return any(
        move.unknown or (move.low is not None and move.high is not None and max(move.high, 1 / move.low) > factor)
        for move in found.moves
    )


@app.command()
def ledger(
    revision: Annotated[
        str | None, typer.Argument(help="Revision or folder of specs; by default the working tree.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .csv.gz, or .parquet.")] = Path(
        f"ledger{ledgers.SUFFIX}"
    ),
    specs: Specs = None,
    jobs: Jobs = 1,
    dask: Dask = "",
) -> None:
    """Write every prediction of the matrix: devices × networks × precisions × batches × fused or not."""
    if not output.name.endswith(ledgers.SUFFIXES):
        raise RooflintError(f"{output}: want a file that ends in {' or '.join(ledgers.SUFFIXES)}")
    with opened(revision, _roots(specs), Path.cwd()) as side:
        with progress.bar("devices", len({device for device, _ in side.points})) as advance:
            found = side.ledger_by(Workers(jobs, dask), advance)
        for sentence in side.left_out:
            typer.echo(sentence, err=True)
    try:
        ledgers.write_ledger(found, output)
    except OSError as error:
        raise RooflintError(f"{output}: cannot be written: {error.strerror}") from error
    refused = len(found) - found.supported
    typer.echo(f"{output}: {found.supported} predictions, {refused} combinations are not supported")


# ---- mutation testing


@app.command()
def mutate(
    golden: Golden = None,
    specs: Specs = None,
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
    baseline = Baseline.of(Suite.of_project(golden, specs))
    all_groups = list(groups(baseline.suite))
    wanted = _wanted(all_groups, only, only_class)
    store = None if no_cache else engine.Store(engine.FOLDER, baseline)
    with progress.bar("mutants", sum(len(all_groups[position].mutants) for position in wanted)) as advance:
        outcomes = engine.run(baseline, all_groups, wanted, jobs=jobs or engine.cores(), store=store, progress=advance)
    result = scored.Result.of(all_groups, outcomes, baseline.backed, only_class or None)
    found = scored.summary(result, baseline, _floor(floor, whole=only == "*" and not only_class))
    if evidence:
        add(evidence, "mutation", found)
    typer.echo(_written(found, form, most), nl=False)
    if found.holds is False:
        raise typer.Exit(1)


def _wanted(all_groups: Sequence[Group], only: str, only_class: str) -> list[int]:
    """Positions of the groups that match. Raises RooflintError where none does."""
    if only_class and only_class not in OPERATORS:
        raise RooflintError(f"--class: unknown '{only_class}' (known: {', '.join(OPERATORS)})")
    found = [
        position for position, group in enumerate(all_groups) if fnmatch.fnmatchcase(group.subject.id, only.lower())
    ]
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
    text = (scored.as_md if form == Form.MD else scored.as_text)(found, most)
    remark = _remark(found)
    return f"{text}\n{remark}\n" if remark else text


def _remark(found: Mutation) -> str:
    """A remark on the floor."""
    score, floor, gross = found.score, found.floor, found.gross
    if found.holds is False and gross.killed < gross.mutants:
        lost = gross.mutants - gross.killed
        noun = counted(lost, "mutant")
        return f"failed: claims miss {noun} of ×2 and more on corroborated peaks and bandwidths; they must miss none"
    if found.holds is False:
        return f"failed: the score {score_percent(score)} is below the floor of {score_percent(floor)}"
    if floor is not None and score_percent(score) != score_percent(floor):
        return f"the floor can be raised to {score_percent(score).removesuffix(' %')} ({FLOOR})"
    return ""
