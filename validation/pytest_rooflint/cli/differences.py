"""`rooflint diff` and `ledger`: what another state of the specs would change."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import progress
from pytest_rooflint.history import claim_text, watched
from pytest_rooflint.history import summary as moved
from pytest_rooflint.history.changes import Change
from pytest_rooflint.history.claim_changes import claim_changes
from pytest_rooflint.history.claim_sides import ClaimSide, Known, sides
from pytest_rooflint.history.comparison import compare
from pytest_rooflint.history.side import LedgerSide, Side, opened, repository
from pytest_rooflint.session.first import FILE, First
from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_atomically
from rooflint.base.git import base_of
from rooflint.base.project import configured
from rooflint.base.shards import Workers
from rooflint.base.text import sanitized
from rooflint.cli.options import Dask, Golden, Jobs, Ray, Specs
from rooflint.hardware.registry import PACKAGED
from rooflint.prediction import ledger as ledgers
from rooflint_report.causes import ANNOTATIONS, of_evidence
from rooflint_report.claim_changes import ClaimChanges, Differences
from rooflint_report.differences import Delta, Watched
from rooflint_report.evidence import Evidence, add, as_json, load_evidence
from rooflint_report.sections.section import worst_first

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
    claims: Annotated[
        bool,
        typer.Option("--claims", help="Also compare the claims; status 1 if one was lost without a stated reason."),
    ] = False,
    judged: Annotated[
        Path | None, typer.Option(hidden=True, help="Folder of the record that the run of the evidence just kept.")
    ] = None,
    golden: Golden = None,
    specs: Specs = None,
) -> None:
    """Compare the predictions of two states of the specs: which changed, by what factor, because of which fact."""
    if golden and not claims:
        raise RooflintError("--golden needs --claims: predictions rest on no golden file")
    run = load_evidence(evidence) if evidence and claims else None
    known = (run, judged) if run and judged else None
    found, counted, watching = _found(old, new, _roots(specs), golden, claims=claims, known=known)
    if evidence:
        more = {"claim_changes": counted, "watched": watching}
        add(evidence, delta=found, **{name: one for name, one in more.items() if one})
    run = run.model_copy(update={"delta": found, "claim_changes": counted, "watched": watching}) if run else None
    said = claim_text.lines(counted, run) if counted else []
    is_red = bool(said) and said[-1].startswith(claim_text.FAILED)
    form, most = form or _form(output), None if everything else moved.FEW if evidence else moved.MOST
    whole = Differences.model_construct(**dict(found), claim_changes=counted) if counted else found
    text = as_json(whole) if form == Form.JSON else (moved.as_md if form == Form.MD else moved.as_text)(found, most)
    if is_red:  # why, before all that moved
        typer.echo("\n".join([*said[:-1], ""]), err=form != Form.TEXT)
    _print(text, output)
    _say(watching, err=form != Form.TEXT)
    far = fail_over is not None and _moved_over(found, fail_over)
    if far:
        typer.echo(f"failed: a prediction changed by more than ×{fail_over:g}", err=True)
    if said:
        typer.echo("\n".join(["", *(said[-1:] if is_red else said)]), err=form != Form.TEXT)
    if run and os.environ.get("GITHUB_ACTIONS") == "true":
        _annotate(run, err=form != Form.TEXT)
    if far or (counted and counted.unstated):
        raise typer.Exit(1)


def _print(text: str, output: Path | None) -> None:
    """To the file, or to the terminal. Raises RooflintError."""
    if not output:
        typer.echo(text, nl=False)
        return
    try:
        write_atomically(output, text)
    except OSError as error:
        raise RooflintError(f"{output}: cannot be written: {error.strerror}") from error


def _say(watching: Sequence[Watched], *, err: bool) -> None:
    for one in watching:
        typer.echo(sanitized(one.text), err=err)
    for line in watched.notices(watching) if os.environ.get("GITHUB_ACTIONS") == "true" else ():
        typer.echo(line, err=err)


def _annotate(run: Evidence, *, err: bool) -> None:
    """The changed lines and other causes of failures, for GitHub's runner."""
    fails = worst_first(one for one in run.verdicts if one.outcome == "fail")
    for one in of_evidence(run, fails)[:ANNOTATIONS]:
        typer.echo(one.annotation, err=err)


def _roots(specs: list[Path] | None) -> tuple[Path, ...]:
    """The folders whose devices are predicted: the given ones, the project's own, or the packaged specs."""
    given = specs or configured("rooflint_specs")
    return tuple(folder.resolve() for folder in given) or (PACKAGED.resolve(),)


def _found(
    old: str | None,
    new: str | None,
    roots: tuple[Path, ...],
    golden: list[Path] | None,
    *,
    claims: bool,
    known: tuple[Evidence, Path] | None,
) -> tuple[Delta, ClaimChanges | None, list[Watched]]:
    here = Path.cwd()
    with progress.bar("reading both sides", 3 if claims else 2) as advance, ExitStack() as stack:
        before = stack.enter_context(opened(old or base_of(repository(here)), roots, here))
        after = stack.enter_context(opened(new, roots, here))
        both = sides(before, after, golden or (), here) if claims else None
        advance(what="predicting both sides")
        watching = _watching(before, after)
        found = compare(before, after)
        delta = moved.summary(found)
        facts = (one.change for one in found.effects if isinstance(one.change, Change))
        advance(what="judging claims")
        said = partial(_in_bar, advance)
        judged = _judged(both[1], *known) if both and known else {}
        return delta, claim_changes(*both, facts, judged, said) if both else None, watching


def _in_bar(advance: progress.Advance, text: str) -> None:
    advance(0, what=text)


def _judged(side: ClaimSide, evidence: Evidence, folder: Path) -> dict[str, Known]:
    """What the run of some evidence found of the claims, by their ids with file.

    Nothing where a file could not be read, or changed since the run kept its record. A claim with a fact of a file that
    is not below the specs is left out, and so judged again.
    """
    kept = First(side.suite, folder / FILE)
    if evidence.problems or kept.before.files != kept.files:
        return {}
    asked = {(one.file, one.id): one for one in kept.before.claims}
    verdicts = {(one.file, one.id): one for one in evidence.verdicts}
    roots, found = side.suite.registry.roots, dict[str, Known]()
    for claim in side.suite.claims():
        key = shown(claim.file), claim.id
        if key not in asked or key not in verdicts:
            continue
        verdict, noted = verdicts[key], asked[key]
        files = [Path.cwd() / one.file for one in verdict.facts if one.file]
        if len(files) < len(verdict.facts) or not all(any(map(file.is_relative_to, roots)) for file in files):
            continue
        found[f"{side.name(claim.file)}::{claim.id}"] = Known(
            verdict.outcome,
            verdict.corroborated,
            verdict.headline,
            tuple((str(file), one.path, one.at) for file, one in zip(files, verdict.facts, strict=True)),
            frozenset((section, name) for section, _, name in (one.partition(" ") for one in noted.names)),
            frozenset(side.name(Path.cwd() / file) for file in noted.goldens),
            noted.any_golden,
        )
    return found


def _watching(before: Side, after: Side) -> list[Watched]:
    """The predictions that the project asks for; none of ledgers, which have no device to predict for."""
    if isinstance(before, LedgerSide) or isinstance(after, LedgerSide):
        return []
    return watched.watched(after, before)


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
    ray: Ray = "",
) -> None:
    """Write every prediction of the matrix: devices × networks × precisions × batches × fused or not."""
    if not output.name.endswith(ledgers.SUFFIXES):
        raise RooflintError(f"{output}: want a file that ends in {' or '.join(ledgers.SUFFIXES)}")
    with opened(revision, _roots(specs), Path.cwd()) as side:
        workers = Workers(jobs, dask, ray)
        if workers.is_one:
            found = side.ledger()
        else:
            with progress.bar("devices", len({device for device, _ in side.points})) as advance:
                found = side.ledger_by(workers, advance)
        for sentence in side.left_out:
            typer.echo(sentence, err=True)
    try:
        ledgers.write_ledger(found, output)
    except OSError as error:
        raise RooflintError(f"{output}: cannot be written: {error.strerror}") from error
    refused = len(found) - found.supported
    typer.echo(f"{output}: {found.supported} predictions, {refused} combinations are not supported")
