"""`rooflint ledger`: every prediction of the matrix, into a file that a later `rooflint diff` can be held against."""

from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli.diff import roots_of
from rooflint.base.errors import RooflintError
from rooflint.cli.options import Specs
from rooflint.prediction.ledger import SUFFIX, write_ledger

app = typer.Typer(add_completion=False)


class LedgerError(RooflintError):
    """A ledger that cannot be written."""


@app.command()
def ledger(
    of: Annotated[str | None, typer.Argument(help="Revision or folder of specs; the working tree unless said.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file.")] = Path(f"ledger{SUFFIX}"),
    specs: Specs = None,
) -> None:
    """Write every prediction of the matrix as CSV in gzip: devices × networks × precisions × batches × fused or not."""
    from pytest_rooflint.history.side import opened  # noqa: PLC0415  # `rooflint --help` does without

    if not output.name.endswith(SUFFIX):
        raise LedgerError(f"{output}: want a file that ends in {SUFFIX}")
    with opened(of, roots_of(specs), Path.cwd()) as side:
        found = side.ledger()
        for said in side.left_out:
            typer.echo(said, err=True)
    try:
        write_ledger(found, output)
    except OSError as error:
        raise LedgerError(f"{output}: cannot be written: {error.strerror}") from error
    refused = len(found) - found.supported
    typer.echo(f"{output}: {found.supported} predictions, {refused} combinations are not supported")
