"""`rooflint check`: the golden suite as pytest runs it, and on wish the report."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rooflint.errors import RooflintError
from rooflint.project import configured

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
    evidence: Annotated[Path, typer.Option(help="Where to write the evidence.")] = EVIDENCE,
) -> None:
    """Check the golden expectations against the specs. Further arguments go to pytest, such as -k int8 -x."""
    folders = [str(folder) for folder in golden or ()]
    arguments = [
        "-q",
        f"--rooflint-evidence={evidence}",
        *(f"--rooflint-golden={folder}" for folder in folders),
        *(f"--rooflint-specs={folder}" for folder in specs or ()),
        *([] if _names_files(context.args) else folders or _folders()),
        *context.args,
    ]
    if evidence.is_dir():
        raise CheckError(f"{evidence}: want a file for the evidence, found a folder")
    evidence.unlink(missing_ok=True)  # a run that breaks off must not leave the evidence of another one
    status = _run("pytest", *arguments)
    if report and evidence.is_file():
        rendered = _run("rooflint", "report", str(evidence))
        status = status or rendered
    raise typer.Exit(status)


def _folders() -> list[str]:
    """Golden folders of the project around us. Raises CheckError where it names none."""
    folders = [str(folder) for folder in configured("rooflint_golden")]
    if not folders:
        raise CheckError(
            "pyproject.toml: want rooflint_golden under [tool.pytest.ini_options], found none; "
            "set it or pass --golden DIR"
        )
    return folders


def _names_files(arguments: list[str]) -> bool:
    """Whether the arguments themselves say what to run; the word behind `-k` does not."""
    words = [word for before, word in zip(["", *arguments], arguments, strict=False) if before not in _WITH_A_WORD]
    return any(not word.startswith("-") and Path(word.split("::")[0]).exists() for word in words)


#: Options of pytest that take the next word.
_WITH_A_WORD = ("-k", "-m", "-p", "-n", "-c", "-o", "-r", "-W", "--maxfail", "--tb", "--junitxml", "--deselect")


def _run(module: str, *arguments: str) -> int:
    """In a process of its own: pytest rewrites what it imports, and the harness does not import the report."""
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode
