"""`rooflint report`: render an evidence file."""

from pathlib import Path
from typing import Annotated

import typer

EVIDENCE = Path("reports/out/evidence.json")


def report(
    evidence: Annotated[Path, typer.Argument(help="The evidence that a run of the golden suite wrote.")] = EVIDENCE,
    html: Annotated[Path | None, typer.Option(help="The page; report.html beside the evidence unless given.")] = None,
    summary: Annotated[Path | None, typer.Option(help="The Markdown; summary.md beside it unless given.")] = None,
) -> None:
    """Render the evidence of a run as one HTML page and a Markdown summary.

    Status 0 says that both were written, red or green; 2, that the evidence cannot be read or a file not be written.
    """
    from rooflint_report.render import EvidenceError, render  # noqa: PLC0415  # `rooflint --help` does without

    try:
        written = render(
            evidence, html or evidence.with_name("report.html"), summary or evidence.with_name("summary.md")
        )
    except EvidenceError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"{error.filename}: cannot be written ({error.strerror})", err=True)
        raise typer.Exit(2) from None
    for path, size in written:
        typer.echo(f"{path}  {_size(size)}")


def _size(length: int) -> str:
    """Write a length in bytes: 364 B, 758 kB."""
    return f"{length} B" if length < 1000 else f"{length / 1000:.0f} kB"
