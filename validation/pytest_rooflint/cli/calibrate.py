"""`rooflint calibrate`: fit the constants of kernel times again, list regressions, and compare with measurements."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress as Bar

from pytest_rooflint.cli.calibrate_device import device
from pytest_rooflint.cli.calibrate_power import power
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, write_whole
from rooflint.base.units import percent
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import ConstantsFile, constants_file
from rooflint.output.answer import write
from rooflint.output.deliver import deliver
from rooflint.output.sections import Cell, Table
from rooflint_calibration import fits, package
from rooflint_calibration.base import NoCalibrationError, answer_request, model_at
from rooflint_calibration.fits import Calibration, Fit, Progress, calibrate, relative_changes, rewritten
from rooflint_calibration.regressions import answer, changes, compare
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS

TOLERANCE = 0.02
"""A refitted constant within this share of the committed one is the same: solvers differ in the last digits."""

Check = Annotated[
    bool, typer.Option("--check", help=f"Write nothing; status 1 if a constant changes by over {TOLERANCE:.0%}.")
]
Data = Annotated[Path | None, typer.Option(help="Score a folder instead of the installed package; writes nothing.")]
Form = Annotated[str, typer.Option("--format", "-f", help="Of the scores: text, json, csv, md.")]

app = typer.Typer(
    help="Compare the model with published measurements: power, and kernel times whose constants are fitted to them.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(power)
app.command()(device)


class CalibrateError(RooflintError):
    """Constants that cannot be written."""


@app.command()
def gemm(check: Check = False, data: Data = None, form: Form = "text", specs: Specs = None) -> None:
    """Fit matrix products with and without each family, score each fold on its family, and write specs/silicon.yaml."""
    known = registry(specs)
    file = constants_file(known)
    with _progress() as progress:
        rows = fits.measured(["gemm"], data or package.data_folder(), known, progress)
        fit = fits.gemm_fit(rows, file.constants, file.fitted("products"), file.fit().rows_per_family)
        found = calibrate(fit, progress)
    _finish(fit, found, file, ("left out", "regime"), form, check=check, save=data is None)


@app.command()
def attention(check: Check = False, data: Data = None, form: Form = "text", specs: Specs = None) -> None:
    """Fit streams, attention and FP8 in the same way, score all other topics, and write specs/silicon_ops.yaml."""
    known = registry(specs)
    file = constants_file(known)
    fit = fits.ops_fit(fits.measured(BESIDE_PRODUCTS, data or package.data_folder(), known), file)
    _finish(fit, calibrate(fit), file, ("op", "left out", "part"), form, check=check, save=data is None)


@app.command()
def cores(
    check: Check = False,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    form: Form = "text",
    specs: Specs = None,
) -> None:
    """Fit FP32 on CUDA cores to published tables in the same way, and write specs/silicon_cores.yaml."""
    known = registry(specs)
    fit = fits.cores_fit([folder.resolve() for folder in golden or configured("rooflint_golden")], known)
    _finish(fit, calibrate(fit), constants_file(known), ("left out", "table"), form, check=check, save=True)


def score_table(found: Calibration, labels: tuple[str, ...]) -> Table:
    """Held-out scores beside those of the roofline baseline; `labels` are the columns that name a row."""
    columns = (*labels, "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    scores = found.scores
    subjects = dict.fromkeys(subject for subject, _, _ in scores)
    if "op" in labels:
        scores = {key: pair for subject in sorted(subjects) for key, pair in scores.items() if key[0] == subject}
    rows: list[tuple[Cell, ...]] = []
    for (subject, family, part), (one, baseline) in scores.items():
        names = {"op": subject, "table": subject, "left out": family, "part": part, "regime": part}
        shares = (one.mape, one.bias, baseline.mape, baseline.bias)
        rows.append((*(names[label] for label in labels), one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))


def _finish(
    fit: Fit, found: Calibration, file: ConstantsFile, labels: tuple[str, ...], form: str, *, check: bool, save: bool
) -> None:
    """Print the scores; then compare the constants with the committed ones, or write them."""
    typer.echo(write(score_table(found, labels), form), nl=False)
    for note in fit.notes:
        typer.echo(note, err=True)
    if check:
        _check(found, fit, file)
    elif save:
        _save(found, fit, file)


def _check(found: Calibration, fit: Fit, file: ConstantsFile) -> None:
    """Raises Exit, with status 1 if a constant changes too much."""
    changed = relative_changes(found.constants, file.constants, fit.names)
    far = {name: share for name, share in changed.items() if abs(share) > TOLERANCE}
    for name, share in far.items():
        typer.echo(f"{name}: the fit is {share:+.1%} from the committed one", err=True)
    typer.echo(f"{len(changed) - len(far)} of {len(changed)} constants are reproduced within {TOLERANCE:.0%}", err=True)
    raise typer.Exit(1 if far else 0)


def _save(found: Calibration, fit: Fit, file: ConstantsFile) -> None:
    """Write the constants with the package that they were fitted to and the day. Raises CalibrateError."""
    group = next(iter(fit.names))
    path, facts = file.file(group).path, {"day": datetime.datetime.now(tz=datetime.UTC).date().isoformat()}
    if group != "cores":
        facts["package"] = package.label()
    try:
        write_whole(path, rewritten(path.read_text(encoding="utf-8"), found, fit.names, facts))
    except OSError as error:
        raise CalibrateError(f"{path}: cannot be written ({error.strerror})") from None
    typer.echo(f"wrote {sum(map(len, fit.names.values()))} constants to {path}", err=True)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("calibrating", total=15)  # nine devices, one fit of all, five without one family
        yield lambda what: bar.update(task, advance=1, description=what)


# ---- `rooflint calibrate regressions`: measured rows that are predicted worse than at a revision

REGRESSION_TOLERANCE = 0.01
"""Share of a family's rows that may regress if fewer improve: refitted constants always move a few."""
ROWS = 500
"""Rows of each regime of each device."""


class TopicError(RooflintError):
    """An op without measurements."""


@app.command()
def regressions(
    base: Annotated[
        str | None, typer.Option(help="Revision to compare with; by default where HEAD left the default branch.")
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option("--op", help="gemm, prefill, decode, …; may be repeated. Default: all.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Share of a family's rows that may regress.", min=0, max=1)
    ] = REGRESSION_TOLERANCE,
    rows: Annotated[int, typer.Option(help="Rows of each regime of each device.", min=1)] = ROWS,
    form: options.Form = "",
    output: options.Output = None,
) -> None:
    """List measured rows that a revision predicts well and this tree predicts badly; status 1 if a family fails.

    A family fails if more of its rows regressed than is tolerated, and more than improved. Averages do not count.
    """
    for name in topics or ():
        if name not in TOPICS:
            raise TopicError(f"--op: want one of {', '.join(TOPICS)}, found '{name}'")
    known = Registry()
    try:
        with model_at(base, Path.cwd()) as old:
            label, between = old.label, changes(old.specs)
            found = compare(known, topics or list(TOPICS), rows, old.ask, lambda asked: answer_request(asked, known))
    except NoCalibrationError as error:
        typer.echo(str(error))
        return
    deliver(answer(found, label, tolerance, between), form, output)
    failed = [f"{one.topic} {one.family}" for one in found.families if one.fails(tolerance)]
    if failed:
        typer.echo(f"failed: over {percent(tolerance)} of the rows of {', '.join(failed)} regressed", err=True)
        raise typer.Exit(1)
