"""`rooflint check`: the golden suite as pytest runs it, and on wish the report."""

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from rooflint.errors import RooflintError

EVIDENCE = Path("reports/out/evidence.json")

app = typer.Typer(add_completion=False)


class NoGoldenError(RooflintError):
    """Nobody said where the golden files are."""


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
        *([] if _names_files(context.args) else folders or configured()),
        *context.args,
    ]
    evidence.unlink(missing_ok=True)  # a run that breaks off must not leave the evidence of another one
    status = _run("pytest", *arguments)
    if report and evidence.is_file():
        rendered = _run("rooflint", "report", str(evidence))
        status = status or rendered
    raise typer.Exit(status)


def configured(project: Path = Path("pyproject.toml")) -> list[str]:
    """Golden folders of the project around us. Raises NoGoldenError where it names none."""
    text = project.read_text(encoding="utf-8") if project.is_file() else ""
    options = tomllib.loads(text).get("tool", {}).get("pytest", {}).get("ini_options", {})
    named = options.get("rooflint_golden", [])
    folders = shlex.split(named) if isinstance(named, str) else [str(folder) for folder in named]
    if not folders:
        raise NoGoldenError(
            f"{project}: want rooflint_golden under [tool.pytest.ini_options], found none; set it or pass --golden DIR"
        )
    return folders


def _names_files(arguments: list[str]) -> bool:
    """Whether the arguments themselves say what to run."""
    return any(not argument.startswith("-") and Path(argument.split("::")[0]).exists() for argument in arguments)


def _run(module: str, *arguments: str) -> int:
    """In a process of its own: pytest rewrites what it imports, and the harness does not import the report."""
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode
