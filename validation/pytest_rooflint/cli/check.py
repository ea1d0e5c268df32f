"""`rooflint check`: run the golden suite, then optionally mutation testing, a comparison and the report."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pytest_rooflint.suite.store import EVIDENCE as MARK
from pytest_rooflint.suite.store import FOLDER, hide
from rooflint.base import git
from rooflint.base.errors import RooflintError
from rooflint.base.files import is_replaceable
from rooflint.base.project import configured, project_root
from rooflint.base.text import sanitized
from rooflint.cli.options import Dask, Golden, Jobs, Ray, Specs

EVIDENCE = Path("reports/out/evidence.json")

app = typer.Typer(add_completion=False)

Report = Annotated[bool, typer.Option("--report", help="Render report.html and summary.md, also after failures.")]
Mutate = Annotated[
    bool, typer.Option("--mutate", help="If all pass, mutation-test the specs; fail below the configured score.")
]
Propose = Annotated[
    bool, typer.Option("--propose", help="Write repairs of the failures to proposal.patch beside the evidence.")
]
Against = Annotated[
    str,
    typer.Option(
        metavar="REVISION",
        help="List what changed since a revision and why; fail if claims were lost without a reason.",
    ),
]
EvidenceFile = Annotated[
    Path | None, typer.Option("--evidence", help="File for the evidence.", show_default=f"{EVIDENCE} in the project")
]
Sarif = Annotated[
    Path | None,
    typer.Option("--sarif", help="File for the causes of failures as SARIF 2.1.0; renders the report, too."),
]
CodeQuality = Annotated[
    Path | None, typer.Option("--code-quality", help="The same as Code Quality of GitLab; renders the report, too.")
]
BenchmarkJson = Annotated[
    Path | None,
    typer.Option("--benchmark-json", help="Show what pytest-benchmark wrote beside the committed baseline."),
]
Watch = Annotated[bool, typer.Option("--watch", help="Keep running and judge again on every save; writes no evidence.")]
Changed = Annotated[
    bool,
    typer.Option(
        "--changed", help="Judge only what depends on files that changed since the last run, and write nothing."
    ),
]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def check(
    context: typer.Context,
    golden: Golden = None,
    specs: Specs = None,
    report: Report = False,
    mutate: Mutate = False,
    propose: Propose = False,
    against: Against = "",
    evidence: EvidenceFile = None,
    sarif: Sarif = None,
    code_quality: CodeQuality = None,
    benchmark_json: BenchmarkJson = None,
    watch: Watch = False,
    changed: Changed = False,
    jobs: Jobs = 0,
    dask: Dask = "",
    ray: Ray = "",
) -> None:
    """Test all claims against the specs. Further arguments go to pytest, such as -k int8 -x.

    --jobs, --dask and --ray are for --mutate.
    """
    shards = {"--jobs": jobs, "--dask": dask, "--ray": ray}
    if not (mutate or watch) and (given := [name for name, value in shards.items() if value]):
        raise RooflintError(f"{given[0]} needs --mutate; for the suite itself use -n (pytest-xdist)")
    if watch or changed:
        others = {"--report": report, "--mutate": mutate, "--propose": propose, "--against": against, **shards}
        others |= {"--benchmark-json": benchmark_json, "--sarif": sarif, "--code-quality": code_quality}
        others |= {"--evidence": evidence, "--changed": changed and watch}
        _refuse_beside("--watch" if watch else "--changed", others, context.args)
        if watch:
            raise typer.Exit(_watch(golden, specs))
    whole = _changed(golden, specs) if changed else ""
    home = project_root()
    evidence = evidence or _own_evidence(home)
    folders = [f"golden={folder}" for folder in golden or ()] + [f"specs={folder}" for folder in specs or ()]
    is_brief = not any(one.startswith(("-v", "--verbose")) for one in context.args)
    arguments = _arguments(is_brief=is_brief, is_compared=bool(against))
    arguments += [f"--rooflint-evidence={evidence}", f"--rooflint-store={home / FOLDER}"]
    arguments += [f"--rooflint-propose={evidence.parent / 'proposal.patch'}"] if propose else []
    arguments += [*(f"--rooflint-{folder}" for folder in folders), *context.args]
    _refuse_unknown(against)
    _clear(evidence)
    status = _run("pytest", *arguments)
    if mutate:
        options = [f"--evidence={evidence}", "--survivors=0", *(f"--{folder}" for folder in folders)]
        options += [f"{name}={value}" for name, value in shards.items() if value]
        status = _mutated(status, options, has_specs=bool(specs or configured("rooflint_specs")))
    if against and evidence.is_file():
        options = ["--claims", f"--evidence={evidence}", f"--judged={home / FOLDER}"]
        options += [f"--{folder}" for folder in folders]
        status = _compared(status, [against, *options], is_brief=is_brief)
    if benchmark_json and evidence.is_file():
        compared = _run("rooflint", "measure", "baseline", str(benchmark_json), f"--evidence={evidence}")
        status = status or (compared if compared > 1 else 0)  # slower is shown, and is no verdict on the specs
    if (report or sarif or code_quality) and evidence.is_file():
        status = _rendered(evidence, {"--sarif": sarif, "--code-quality": code_quality}) or status
    elif report and not status:
        typer.echo("no report: it is about claims, and no golden folder is configured")
    _end(status, whole)


def _own_evidence(home: Path) -> Path:
    with suppress(OSError):  # the run says what cannot be written
        hide((home / EVIDENCE).parent)
    return home / EVIDENCE


def _arguments(*, is_brief: bool, is_compared: bool) -> list[str]:
    """What pytest runs and prints; a comparison prints failures by their cause, so pytest does not."""
    found = ["-q", "--override-ini=console_output_style=classic"] if is_brief else []  # no [100%] behind an empty line
    found += ["--rooflint-only"]
    found += ["--rooflint-compared"] if is_compared else []
    return found + (["--tb=no", "-rN"] if is_brief and is_compared else [])


def _compared(status: int, arguments: list[str], *, is_brief: bool) -> int:
    """Exit status of the comparison, or that of the suite where it found nothing."""
    compared = _run("rooflint", "diff", *arguments)
    if status and compared > 1 and is_brief:
        typer.echo("the comparison failed; 'rooflint check' without --against shows the failing claims")
    return compared or status


def _refuse_beside(option: str, options: Mapping[str, object], arguments: list[str]) -> None:
    given = [*(name for name, value in options.items() if value), *arguments]
    if given:
        what = "all claims" if option == "--watch" else "claims"
        raise RooflintError(f"{option} judges {what} and writes nothing; remove {', '.join(given)}")


def _refuse_unknown(revision: str) -> None:
    """Refuse what cannot be compared with before the suite runs. Raises RooflintError."""
    try:
        if revision:
            git.revision(Path.cwd(), revision)
    except git.RevisionError as error:
        raise RooflintError(f"--against: {error}") from error


def _mutated(status: int, options: list[str], *, has_specs: bool) -> int:
    """Exit status of mutation testing, or that of the suite where it is skipped."""
    if status:
        typer.echo("mutation testing skipped: the suite has failures")
    elif not has_specs:
        typer.echo("mutation testing skipped: the project has no specs of its own")
    return status if status or not has_specs else _run("rooflint", "mutate", *options)


def _rendered(evidence: Path, files: Mapping[str, Path | None]) -> int:
    return _run("rooflint", "report", str(evidence), *(f"{name}={file}" for name, file in files.items() if file))


def _clear(evidence: Path) -> None:
    """Remove what an earlier run left, so that an aborted one shows none. Raises RooflintError for other files."""
    if evidence.is_dir():
        raise RooflintError(f"{evidence}: want a file for the evidence, found a folder")
    if not is_replaceable(evidence, MARK):
        raise RooflintError(f"{evidence}: is not evidence and is not replaced; name another file")
    evidence.unlink(missing_ok=True)


def _watch(golden: list[Path] | None, specs: list[Path] | None) -> int:
    from pytest_rooflint.session.watch import watch  # noqa: PLC0415  # a plain check judges in another process
    from pytest_rooflint.suite.suite import Suite  # noqa: PLC0415

    return watch(Suite.of_project(golden, specs), lambda text: typer.echo(sanitized(text)))


def _changed(golden: list[Path] | None, specs: list[Path] | None) -> str:
    """Why all claims have to be judged; empty for specs alone. Raises Exit where what changed was enough."""
    from pytest_rooflint.session.first import judge_changed  # noqa: PLC0415  # as above

    if not (golden or configured("rooflint_golden")) and (specs or configured("rooflint_specs")):
        return ""  # specs alone are checked at once
    found = judge_changed(golden, specs, project_root() / FOLDER, lambda text: typer.echo(sanitized(text)))
    if isinstance(found, int):
        raise typer.Exit(found)
    typer.echo(f"{found}, so all claims are judged")
    return found


def _end(status: int, whole: str) -> NoReturn:
    """Raises Exit, and says last why all claims were judged."""
    if whole:
        typer.echo(f"all claims were judged: {whole}")
    raise typer.Exit(status)


def _run(module: str, *arguments: str) -> int:
    """Run a module in a new process: pytest rewrites imports, and the harness does not import the report."""
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode
