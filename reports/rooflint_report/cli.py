"""Writing a file so that a reader sees the old one or the new one, never half of it."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rooflint_report.evidence import EvidenceError, load_evidence
from rooflint_report.page import render_html
from rooflint_report.summary import render_summary


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target, then rename over it; the folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the mask of this process; reading it means setting it, so it is put back at once."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- From an evidence file to the two files of a report

__all__ = ["EvidenceError", "render"]


def render(evidence: Path, html: Path, summary: Path) -> list[tuple[Path, int]]:
    """Write both, and return each with its size in bytes."""
    content = load_evidence(evidence)
    texts = {html: render_html(content), summary: render_summary(content)}
    for path, text in texts.items():
        write_atomically(path, text)
    return [(path, len(text.encode())) for path, text in texts.items()]


# ---- `rooflint report`: render an evidence file

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
    from rooflint_report.evidence import EvidenceError  # noqa: PLC0415  # `rooflint --help` does without

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
