"""`rooflint ledger`: every prediction of the matrix, in a file that a later `rooflint diff` can compare with."""

from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli.diff import roots_of
from pytest_rooflint.history.side import opened
from rooflint.base.errors import RooflintError
from rooflint.cli.options import Specs
from rooflint.prediction.ledger import SUFFIX, write_ledger

app = typer.Typer(add_completion=False)


class LedgerError(RooflintError):
    """A ledger that cannot be written."""


@app.command()
def ledger(
    of: Annotated[str | None, typer.Argument(help="Revision or folder of specs; by default the working tree.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path(f"ledger{SUFFIX}"),
    specs: Specs = None,
) -> None:
    """Write every prediction of the matrix as CSV in gzip: devices × networks × precisions × batches × fused or not."""
    if not output.name.endswith(SUFFIX):
        raise LedgerError(f"{output}: want a file that ends in {SUFFIX}")
    with opened(of, roots_of(specs), Path.cwd()) as side:
        found = side.ledger()
        for sentence in side.left_out:
            typer.echo(sentence, err=True)
    try:
        write_ledger(found, output)
    except OSError as error:
        raise LedgerError(f"{output}: cannot be written: {error.strerror}") from error
    refused = len(found) - found.supported
    typer.echo(f"{output}: {found.supported} predictions, {refused} combinations are not supported")
