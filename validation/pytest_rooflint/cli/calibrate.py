"""What the fits of `rooflint calibrate` share: their options, how a refit is judged, and how it is written."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_rooflint.cli.calibrate_device import device
from pytest_rooflint.cli.calibrate_power import power
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured, write_whole
from rooflint.base.units import percent
from rooflint.cli import options
from rooflint.cli.options import Specs, registry
from rooflint.devices.registry import Registry
from rooflint.output.answer import write
from rooflint.output.deliver import deliver
from rooflint.output.table import Cell, Table
from rooflint_calibration.base import NoCalibrationError, answer_request, model_at
from rooflint_calibration.regressions import changes, compare
from rooflint_calibration.regressions_answer import answer
from rooflint_calibration.topics import TOPICS

TOLERANCE = 0.02
"""A constant that is refitted within this share of the committed one is the same: solvers differ in last digits."""

Check = Annotated[
    bool, typer.Option("--check", help=f"Write nothing; status 1 if a constant moves by over {TOLERANCE:.0%}.")
]
Data = Annotated[Path | None, typer.Option(help="Score a folder, not the installed package; writes nothing.")]
Form = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md: of the scores.")]


class CalibrateError(RooflintError):
    """Constants that cannot be written."""


def judge(moved: Mapping[str, float]) -> None:
    """Say which constants would move, and by what share. Raises Exit, with status 1 where one moves too far."""
    far = {name: share for name, share in moved.items() if abs(share) > TOLERANCE}
    for name, share in far.items():
        typer.echo(f"{name}: the fit is {share:+.1%} from the committed one", err=True)
    typer.echo(f"{len(moved) - len(far)} of {len(moved)} constants are reproduced within {TOLERANCE:.0%}", err=True)
    raise typer.Exit(1 if far else 0)


def save(file: Path, rewritten: Callable[[str, dict[str, str]], str], package: str, count: int) -> None:
    """Write a file of constants anew, with package and day. Raises CalibrateError."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    text = file.read_text(encoding="utf-8")
    try:
        write_whole(file, rewritten(text, {"package": package, "day": day}))
    except OSError as error:
        raise CalibrateError(f"{file}: cannot be written ({error.strerror})") from None
    typer.echo(f"wrote {count} constants to {file}", err=True)


# ---- `rooflint calibrate attention`: fit streams, attention and FP8 again, leaving each family out in turn

if TYPE_CHECKING:
    from rooflint_calibration.rows import Recorded
    from rooflint_calibration.score import Score

    Scores = Mapping[tuple[str, str, str], tuple[Score, Score]]


def attention(
    check: Check = False,
    data: Data = None,
    form: Form = "text",
    specs: Specs = None,
) -> None:
    """Fit streams, attention and FP8 without each family, score all ops on it, and write specs/silicon_ops.yaml."""
    from rooflint.kernels.constants import (  # noqa: PLC0415
        OPS_GROUPS,
        constants_file,
    )
    from rooflint_calibration import package  # noqa: PLC0415  # `rooflint --help` does without
    from rooflint_calibration.ops_fit import (  # noqa: PLC0415
        calibrate,
        load,
    )
    from rooflint_calibration.ops_text import (  # noqa: PLC0415
        moved,
        rewritten,
    )

    known = registry(specs)
    file = constants_file(known)
    folder = data or package.data_folder()
    names = {group: file.fitted(group) for group in OPS_GROUPS}
    recorded, chips = load(folder, known)
    found = calibrate(recorded, chips, file)
    scores = {(family, *key): pair for family, fold in found.folds.items() for key, pair in fold.scores.items()}
    typer.echo(write(table(scores), form), nl=False)
    for line in left_out(recorded):
        typer.echo(line, err=True)
    if check:
        judge(moved(found.constants, file.constants, names))
    elif data is None:
        count = sum(map(len, names.values()))
        save(file.file("stream").path, lambda text, said: rewritten(text, found, names, said), package.label(), count)


def table(scores: "Scores") -> Table:
    """The errors on families that were left out, beside the plain roofline's."""
    columns = ("op", "left out", "part", "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    rows: list[tuple[Cell, ...]] = []
    for (family, op, part), (one, plain) in sorted(scores.items(), key=lambda entry: entry[0][1]):
        shares = (one.mape, one.bias, plain.mape, plain.bias)
        rows.append((op, family, part, one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))


def left_out(recorded: "Mapping[str, Mapping[str, Recorded]]") -> list[str]:
    """A sentence for each op: its rows, and what was left out and why."""
    from rooflint_calibration.rows import together  # noqa: PLC0415

    sentences = []
    for op, ones in recorded.items():
        why = together(one.dropped for one in ones.values())
        sentences.append(f"{op}: {sum(map(len, ones.values()))} rows; left out: {why or 'none'}")
    return sentences


# ---- `rooflint calibrate cores`: fit the constants of CUDA cores again, leaving each family out in turn

if TYPE_CHECKING:
    from rooflint_calibration.cores_fit import Calibration


def cores(
    check: Check = False,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    form: Form = "text",
    specs: Specs = None,
) -> None:
    """Fit FP32 on CUDA cores to published tables without each family, and write specs/silicon_cores.yaml."""
    from rooflint.kernels.constants import constants_file, names  # noqa: PLC0415
    from rooflint_calibration.cores_fit import calibrate as cores_fit_calibrate  # noqa: PLC0415
    from rooflint_calibration.cores_fit import load as cores_fit_load  # noqa: PLC0415  # `rooflint --help` does without
    from rooflint_calibration.cores_text import moved as cores_text_moved  # noqa: PLC0415
    from rooflint_calibration.cores_text import rewritten as cores_text_rewritten  # noqa: PLC0415

    known = registry(specs)
    file = constants_file(known)
    tables = cores_fit_load([folder.resolve() for folder in golden or configured("rooflint_golden")], known)
    found = cores_fit_calibrate(tables, file.constants.cores)
    typer.echo(write(core_scores(found), form), nl=False)
    if check:
        judge(cores_text_moved(found.constants, file.constants.cores))
        return
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    path = file.file("cores").path
    write_whole(path, cores_text_rewritten(path.read_text(encoding="utf-8"), found, day))
    typer.echo(f"wrote {len(names('cores'))} constants to {path}", err=True)


def core_scores(found: "Calibration") -> Table:
    """The errors on tables of families that were left out, beside the plain roofline's."""
    columns = ("left out", "table", "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    rows: list[tuple[Cell, ...]] = []
    for family, fold in found.folds.items():
        for table, (one, plain) in fold.scores.items():
            shares = (one.mape, one.bias, plain.mape, plain.bias)
            rows.append((family, table, one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))


# ---- `rooflint calibrate regressions`: measured rows that are predicted worse than at a revision

REGRESSION_TOLERANCE = 0.01
"""Share of a family's rows that may regress if fewer improve: refitted constants always move a few."""
ROWS = 500
"""Rows of each regime of each device."""


class TopicError(RooflintError):
    """An op without measurements."""


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


# ---- `rooflint calibrate`: how far the model is from published measurements

if TYPE_CHECKING:
    from rooflint_calibration.leave_out import Calibration as leave_out_Calibration
    from rooflint_calibration.leave_out import Progress

app = typer.Typer(
    help="Hold the model against published measurements: powers, and latencies whose constants are fitted to them.",
    no_args_is_help=True,
    add_completion=False,
)


app.command()(power)
app.command()(attention)
app.command()(regressions)
app.command()(cores)
app.command()(device)


@app.command()
def gemm(
    check: Check = False,
    data: Data = None,
    form: Form = "text",
    specs: Specs = None,
) -> None:
    """Fit to all families and to all but one, score each on the one it has not seen, and write specs/silicon.yaml."""
    from rooflint.kernels.constants import constants_file  # noqa: PLC0415
    from rooflint_calibration import package  # noqa: PLC0415  # `rooflint --help` does without
    from rooflint_calibration.constants_text import moved as constants_text_moved  # noqa: PLC0415
    from rooflint_calibration.constants_text import rewritten as constants_text_rewritten  # noqa: PLC0415
    from rooflint_calibration.leave_out import calibrate as leave_out_calibrate  # noqa: PLC0415
    from rooflint_calibration.leave_out import load as leave_out_load  # noqa: PLC0415

    known = registry(specs)
    file = constants_file(known)
    names = file.fitted("products")
    with _progress() as progress:
        measured = leave_out_load(data or package.data_folder(), known, progress)
        found = leave_out_calibrate(measured, file.constants.products, names, file.fit().rows_per_family, progress)
    typer.echo(write(scores(found), form), nl=False)
    for name, one in measured.measured.items():
        left_out = {why: rows for why, rows in one.dropped.items() if rows}
        typer.echo(f"{name}: {len(one)} shapes; left out: {left_out or 'none'}", err=True)
    if check:
        judge(constants_text_moved(found.constants, file.constants.products, names))
    elif data is None:
        save(
            file.file("products").path,
            lambda text, said: constants_text_rewritten(text, found, names, said),
            package.label(),
            len(names),
        )


def scores(found: "leave_out_Calibration") -> Table:
    """The errors on families that were left out, beside the plain roofline's."""
    columns = ("left out", "regime", "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    rows: list[tuple[str | int, ...]] = []
    for family, fold in found.folds.items():
        for regime, one in fold.scores.items():
            plain = fold.roofline[regime]
            shares = (one.mape, one.bias, plain.mape, plain.bias)
            rows.append((family, regime, one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))


@contextmanager
def _progress() -> "Iterator[Progress]":
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console  # noqa: PLC0415  # only for people
    from rich.progress import Progress as Bar  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("calibrating", total=15)  # nine devices, one fit of all, five without one family
        yield lambda what: bar.update(task, advance=1, description=what)
