"""`rooflint report`: from an evidence file to the two files of a report."""

from pathlib import Path
from typing import Annotated

import typer

from rooflint.base.files import write_whole
from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.page import render_html
from rooflint_report.summary import render_summary

app = typer.Typer(add_completion=False)

EVIDENCE = Path("reports/out/evidence.json")


@app.command()
def report(
    evidence: Annotated[Path, typer.Argument(help="The evidence that a run of the golden suite wrote.")] = EVIDENCE,
    html: Annotated[Path | None, typer.Option(help="The page; report.html beside the evidence unless given.")] = None,
    summary: Annotated[Path | None, typer.Option(help="The Markdown; summary.md beside it unless given.")] = None,
) -> None:
    """Render the evidence of a run as one HTML page and a Markdown summary.

    Status 0 says that both were written, red or green; 2, that the evidence cannot be read or a file not be written.
    """
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


def render(evidence: Path, html: Path, summary: Path) -> list[tuple[Path, int]]:
    """Write both, and return each with its size in bytes."""
    content = load_evidence(evidence)
    texts = {html: render_html(content), summary: render_summary(content)}
    for path, text in texts.items():
        write_whole(path, text)
    return [(path, len(text.encode())) for path, text in texts.items()]


def _size(length: int) -> str:
    """Write a length in bytes: 364 B, 758 kB."""
    return f"{length} B" if length < 1000 else f"{length / 1000:.0f} kB"
