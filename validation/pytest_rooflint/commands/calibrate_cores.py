"""`rooflint calibrate cores`: fit the constants of CUDA cores again, leaving each family out in turn."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_rooflint.commands import refit
from rooflint.commands.options import Specs, registry
from rooflint.project import configured
from rooflint.table import Cell, Table, write
from rooflint.whole_file import write_whole

if TYPE_CHECKING:
    from pytest_rooflint.silicon.cores_fit import Calibration


def cores(
    check: refit.Check = False,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    form: refit.Form = "text",
    specs: Specs = None,
) -> None:
    """Fit FP32 on CUDA cores to published tables without each family, and write specs/silicon_cores.yaml."""
    from pytest_rooflint.silicon.cores_fit import calibrate, load  # noqa: PLC0415  # `rooflint --help` does without
    from pytest_rooflint.silicon.cores_text import moved, rewritten  # noqa: PLC0415
    from rooflint.silicon.cuda_cores import NAMES, cores_file  # noqa: PLC0415

    known = registry(specs)
    file = cores_file(known)
    tables = load([folder.resolve() for folder in golden or configured("rooflint_golden")], known)
    found = calibrate(tables, file.constants)
    typer.echo(write(scores(found), form), nl=False)
    if check:
        refit.judge(moved(found.constants, file.constants))
        return
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    write_whole(file.file, rewritten(file.file.read_text(encoding="utf-8"), found, day))
    typer.echo(f"wrote {len(NAMES)} constants to {file.file}", err=True)


def scores(found: "Calibration") -> Table:
    """The errors on tables of families that were left out, beside the plain roofline's."""
    columns = ("left out", "table", "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    rows: list[tuple[Cell, ...]] = []
    for family, fold in found.folds.items():
        for table, (one, plain) in fold.scores.items():
            shares = (one.mape, one.bias, plain.mape, plain.bias)
            rows.append((family, table, one.rows, *(f"{100 * share:.1f}" for share in shares)))
    return Table(columns, tuple(rows))
