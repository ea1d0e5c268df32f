"""`rooflint calibrate`: how far the model is from published measurements.

`gemm` fits the constants of the latency on silicon again, leaving each family out in turn; `device` sets three of them
for one machine; `moved` and `power` fit nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from pytest_rooflint.commands import refit
from pytest_rooflint.commands.calibrate_attention import attention
from pytest_rooflint.commands.calibrate_cores import cores
from pytest_rooflint.commands.calibrate_device import device_command
from pytest_rooflint.commands.calibrate_moved import moved_command
from pytest_rooflint.commands.calibrate_power import power_command
from rooflint.commands.options import Specs, registry
from rooflint.table import Table, write

if TYPE_CHECKING:
    from pytest_rooflint.silicon.leave_out import Calibration, Progress

app = typer.Typer(
    help="Hold the model against published measurements: powers, and latencies whose constants are fitted to them.",
    no_args_is_help=True,
    add_completion=False,
)


app.command("power")(power_command)
app.command()(attention)
app.command("moved")(moved_command)
app.command()(cores)
app.command("device")(device_command)


@app.command()
def gemm(
    check: refit.Check = False,
    data: refit.Data = None,
    form: refit.Form = "text",
    specs: Specs = None,
) -> None:
    """Fit to all families and to all but one, score each on the one it has not seen, and write specs/silicon.yaml."""
    from pytest_rooflint.silicon import package  # noqa: PLC0415  # `rooflint --help` does without
    from pytest_rooflint.silicon.constants_text import moved, rewritten  # noqa: PLC0415
    from pytest_rooflint.silicon.leave_out import calibrate, load  # noqa: PLC0415
    from rooflint.silicon.constants import silicon_file  # noqa: PLC0415

    known = registry(specs)
    file = silicon_file(known)
    names = [name for name, constant in file.spec.constants.items() if constant.found == "fitted"]
    with _progress() as progress:
        measured = load(data or package.data_folder(), known, progress)
        found = calibrate(measured, file.constants, names, file.spec.fit.rows_per_family, progress)
    typer.echo(write(scores(found), form), nl=False)
    for device, one in measured.measured.items():
        left_out = {why: rows for why, rows in one.dropped.items() if rows}
        typer.echo(f"{device}: {len(one)} shapes; left out: {left_out or 'none'}", err=True)
    if check:
        refit.judge(moved(found.constants, file.constants, names))
    elif data is None:
        refit.save(file.file, lambda text, said: rewritten(text, found, names, said), package.label(), len(names))


def scores(found: "Calibration") -> Table:
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
