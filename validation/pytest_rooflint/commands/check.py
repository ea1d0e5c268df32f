"""`rooflint check`: the golden suite as pytest runs it, and on wish the report."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

EVIDENCE = Path("reports/out/evidence.json")

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def check(
    context: typer.Context,
    golden: Annotated[
        list[Path] | None, typer.Option(help="Golden folder; the project's configured ones unless given.")
    ] = None,
    specs: Annotated[
        list[Path] | None, typer.Option(help="Specs folder; the project's configured ones unless given.")
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="Render report.html and summary.md, also when red.")] = False,
    evidence: Annotated[Path, typer.Option(help="Where to write the evidence.")] = EVIDENCE,
) -> None:
    """Check the golden expectations against the specs. Further arguments go to pytest, such as -k int8 -x."""
    import pytest  # noqa: PLC0415  # `rooflint --help` does without

    folders = [str(folder) for folder in golden or ()]
    arguments = [
        f"--rooflint-evidence={evidence}",
        *(f"--rooflint-golden={folder}" for folder in folders),
        *(f"--rooflint-specs={folder}" for folder in specs or ()),
        *(folders or _configured(context.args)),
        *context.args,
    ]
    status = int(pytest.main(arguments))
    if report and evidence.is_file():
        status = status or _render(evidence)
    raise typer.Exit(status)


def _configured(arguments: list[str]) -> list[str]:
    """Golden folders of the project, unless the arguments name what to run."""
    if any(not argument.startswith("-") and Path(argument.split("::")[0]).exists() for argument in arguments):
        return []
    import tomllib  # noqa: PLC0415

    project = Path("pyproject.toml")
    if not project.is_file():
        return []
    options = (
        tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {}).get("pytest", {}).get("ini_options", {})
    )
    return [str(folder) for folder in options.get("rooflint_golden", [])]


def _render(evidence: Path) -> int:
    """Render in a process of its own: the harness does not import the report."""
    command = [sys.executable, "-m", "rooflint", "report", str(evidence)]
    return subprocess.run(command, check=False).returncode
