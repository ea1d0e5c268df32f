"""`rooflint history`: a line a commit of the main branch, and a page of how it went."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from rooflint.base.errors import RooflintError
from rooflint.base.files import write_atomically
from rooflint.base.project import project_root
from rooflint.base.text import counted, sanitized
from rooflint_measure.compare.steps import LEAST_BEFORE, Step, Trace, noise_of, smallest_step, trace
from rooflint_report.evidence import load_evidence
from rooflint_report.history import HistoryLine, add, line_of, measured_series, read, times_of
from rooflint_report.trend_page import Trend, TrendStep, computed, facts_of, render

app = typer.Typer(help="Keep a line a commit, and show the trend.", no_args_is_help=True, add_completion=False)

HISTORY = "history.jsonl"
PAGE = "trend.html"

File = Annotated[Path | None, typer.Option("--file", help="The history.", show_default=f"{HISTORY} in the project")]


@app.command("add")
def add_command(
    evidence: Annotated[
        list[Path], typer.Argument(help="Evidence of a run; sections that it lacks are taken from the others.")
    ],
    benchmark_json: Annotated[
        Path | None, typer.Option("--benchmark-json", help="What pytest-benchmark measured of this commit.")
    ] = None,
    canary: Annotated[str, typer.Option(help="Part of the name of the benchmark that no commit changes.")] = "canary",
    file: File = None,
) -> None:
    """Add the commit of a run, or write its line anew: the file has one line a commit, of at most 2 kB."""
    file = _file(file)
    times = times_of(benchmark_json, canary) if benchmark_json else None
    found = line_of([load_evidence(one) for one in evidence], times)
    try:
        is_new = add(file, found)
    except OSError as error:
        raise RooflintError(f"{file}: cannot be written: {error.strerror}") from error
    typer.echo(
        f"{file}: {found.sha[:12]} {'added' if is_new else 'written anew'}, {counted(len(read(file)), 'commit')}"
    )


@app.command("show")
def show_command(file: File = None) -> None:
    """Print the latest value of each series, and its last step with what caused it."""
    lines = read(_file(file))
    for one in trends(lines):
        typer.echo(sanitized(f"{one.name}: {one.display([*one.values.values()][-1])}"))
        for note in one.notes:
            typer.echo(sanitized(f"  {note}"))
        for step in one.steps[-1:]:
            causes = "; ".join(step.causes)
            typer.echo(sanitized(f"  {lines[step.at].sha[:12]} {step.text}: {causes}"))


@app.command("page")
def page_command(
    file: File = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page.", show_default=f"{PAGE} beside the history")
    ] = None,
    repository: Annotated[
        str, typer.Option(help="Address of the repository, for links to commits; on GitHub its own.")
    ] = "",
) -> None:
    """Draw the history as one HTML page, a small chart for each series."""
    file = _file(file)
    lines = read(file)
    server, name = (os.environ.get(f"GITHUB_{one}", "") for one in ("SERVER_URL", "REPOSITORY"))
    page = render(lines, trends(lines), repository or (f"{server}/{name}" if server and name else ""))
    output = output or file.parent / PAGE
    try:
        write_atomically(output, page)
    except OSError as error:
        raise RooflintError(f"{output}: cannot be written: {error.strerror}") from error
    typer.echo(f"{output}: {counted(len(lines), 'commit')}")


def _file(file: Path | None) -> Path:
    return file or project_root() / HISTORY


def trends(lines: Sequence[HistoryLine]) -> list[Trend]:
    """All series: what is computed, then what was measured, by machine."""
    return [*computed(lines), *_measured(lines)]


def _measured(lines: Sequence[HistoryLine]) -> Iterator[Trend]:
    for (machine, name), points in measured_series(lines).items():
        seconds = [one[1] for one in points]
        found = trace(seconds, [one[2] for one in points])
        yield Trend(
            f"{name} on {machine}",
            {at: value for at, value, _ in points},
            [_step(one, points[one.at][0], points[one.seen][0], lines) for one in found.steps],
            is_time=True,
            notes=[_sensitivity(seconds, found)],
            is_measured=True,
        )


def _step(one: Step, at: int, seen: int, lines: Sequence[HistoryLine]) -> TrendStep:
    change = f"×{one.factor:.3g}, seen {seen - at + 1} commits in" if seen > at else f"×{one.factor:.3g}"
    if one.of_machine:
        return TrendStep(at, change, ["the machine: the canary moved alike"])
    return TrendStep(at, change, facts_of(lines, at))


def _sensitivity(seconds: Sequence[float], found: Trace) -> str:
    """What would be seen of a slowdown, as far as this series' noise tells."""
    if len(seconds) < LEAST_BEFORE:
        return f"steps are looked for from {LEAST_BEFORE} commits on; there are {len(seconds)}"
    smallest, noise = smallest_step(seconds, found.levels), f"noise {100 * noise_of(seconds, found.levels):.2g} %"
    if smallest is None:
        return f"{noise}: no slowdown is sure to be found within 6 commits"
    return f"{noise}: a slowdown of {100 * (smallest - 1):.2g} % is found within 6 commits in 95 % of cases"
