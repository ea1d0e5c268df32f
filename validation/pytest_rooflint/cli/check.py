"""`rooflint check`: the golden suite as pytest runs it, and on wish the report."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rooflint.base.errors import RooflintError

EVIDENCE = Path("reports/out/evidence.json")

app = typer.Typer(add_completion=False)


class CheckError(RooflintError):
    """What was asked for cannot be run."""


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def check(
    context: typer.Context,
    golden: Annotated[list[Path] | None, typer.Option(help="Golden folder instead of the project's own.")] = None,
    specs: Annotated[list[Path] | None, typer.Option(help="Specs folder instead of the project's own.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Render report.html and summary.md, also when red.")] = False,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Then set every fact wrong and count who notices; red below the floor.")
    ] = False,
    propose: Annotated[
        bool, typer.Option("--propose", help="Write proposal.patch beside the evidence: what would turn reds green.")
    ] = False,
    against: Annotated[
        str, typer.Option(metavar="REVISION", help="Then list what moved since then, and which fact moved it.")
    ] = "",
    evidence: Annotated[Path, typer.Option(help="Where to write the evidence.")] = EVIDENCE,
) -> None:
    """Check the golden expectations against the specs. Further arguments go to pytest, such as -k int8 -x."""
    folders = [f"golden={folder}" for folder in golden or ()] + [f"specs={folder}" for folder in specs or ()]
    arguments = ["-q", "--rooflint-only", f"--rooflint-evidence={evidence}"]
    arguments += [f"--rooflint-propose={evidence.with_name('proposal.patch')}"] if propose else []
    arguments += [*(f"--rooflint-{folder}" for folder in folders), *context.args]
    if evidence.is_dir():
        raise CheckError(f"{evidence}: want a file for the evidence, found a folder")
    evidence.unlink(missing_ok=True)  # a run that breaks off must not leave the evidence of another one
    status = _run("pytest", *arguments)
    if mutate and status:
        typer.echo("no mutation score: the suite is red")
    elif mutate:
        status = _mutated(evidence, folders)
    if against and evidence.is_file():
        status = _compared(against, evidence, specs or []) or status
    if report and evidence.is_file():
        rendered = _run("rooflint", "report", str(evidence))
        status = status or rendered
    raise typer.Exit(status)


def _mutated(evidence: Path, folders: list[str]) -> int:
    """The score, into the evidence."""
    return _run("rooflint", "mutate", f"--evidence={evidence}", "--survivors=3", *(f"--{folder}" for folder in folders))


def _compared(against: str, evidence: Path, specs: list[Path]) -> int:
    """What moved, into the evidence; only what cannot be compared is red."""
    return _run("rooflint", "diff", against, f"--evidence={evidence}", *(f"--specs={folder}" for folder in specs))


def _run(module: str, *arguments: str) -> int:
    """In a process of its own: pytest rewrites what it imports, and the harness does not import the report."""
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode
