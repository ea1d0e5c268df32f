"""`rooflint diff`: which predictions changed between two states of the specs, and which fact changed them."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.evidence.build import add
from pytest_rooflint.history.comparison import compare
from pytest_rooflint.history.side import opened, repository
from pytest_rooflint.history.summary import MOST, as_md, as_text, summary
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, write_whole
from rooflint.base.git import base_of
from rooflint.cli.options import Specs
from rooflint.hardware.registry import PACKAGED
from rooflint_report.differences import Delta
from rooflint_report.evidence import as_json

app = typer.Typer(add_completion=False)


class Form(StrEnum):
    """How the difference is written down."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


class DiffError(RooflintError):
    """The arguments cannot be compared."""


_SUFFIXES = {".txt": Form.TEXT, ".json": Form.JSON, ".md": Form.MD}


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
    found = _found(old, new, roots_of(specs))
    if evidence:
        add(evidence, "delta", found)
    text = _written(found, form or _form(output), everything)
    if output:
        _write(output, text)
    else:
        typer.echo(text, nl=False)
    if fail_over is not None and _moved_over(found, fail_over):
        typer.echo(f"failed: a prediction changed by more than ×{fail_over:g}", err=True)
        raise typer.Exit(1)


def roots_of(specs: list[Path] | None) -> tuple[Path, ...]:
    """The folders whose devices are predicted: the given ones, the project's own, or the packaged specs."""
    given = specs or configured("rooflint_specs")
    return tuple(folder.resolve() for folder in given) or (PACKAGED.resolve(),)


def _found(old: str | None, new: str | None, roots: tuple[Path, ...]) -> Delta:
    here = Path.cwd()
    with ExitStack() as stack:
        before = stack.enter_context(opened(old or base_of(repository(here)), roots, here))
        after = stack.enter_context(opened(new, roots, here))
        return summary(compare(before, after))


def _form(output: Path | None) -> Form:
    if output is None:
        return Form.TEXT
    if output.suffix not in _SUFFIXES:
        raise DiffError(f"{output}: want a file that ends in {', '.join(_SUFFIXES)}, or --format")
    return _SUFFIXES[output.suffix]


def _written(found: Delta, form: Form, everything: bool) -> str:
    if form == Form.JSON:
        return as_json(found)
    write = as_md if form == Form.MD else as_text
    return write(found, None if everything else MOST)


def _write(output: Path, text: str) -> None:
    try:
        write_whole(output, text)
    except OSError as error:
        raise DiffError(f"{output}: cannot be written: {error.strerror}") from error


def _moved_over(found: Delta, factor: float) -> bool:
    """Whether a prediction moved by more than a factor, up or down, or is not known any more."""
    return any(
        move.unknown or (move.low is not None and move.high is not None and max(move.high, 1 / move.low) > factor)
        for move in found.moves
    )
