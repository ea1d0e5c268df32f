"""`rooflint measure first-hour`: a device checked and measured within an hour, resumed where it was cut."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import recorder
from pytest_rooflint.cli.recorder import Report
from pytest_rooflint.recordings import first_hour, runs
from pytest_rooflint.recordings.first_hour import Check
from pytest_rooflint.recordings.journal import Journal
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision as precision_named
from rooflint.cli.options import Specs
from rooflint.output.deliver import deliver
from rooflint_measure.recording import Machine, Recording, write
from rooflint_measure.sensors.gpu import driver_version, old_driver

LONGEST_S = 3600.0
STOPPED = 3
"""Exit status of a run that did not end; 2 is that of a usage error."""


def first_hour_command(
    device: Annotated[str, typer.Option("--device", help="cuda or cuda:1; cpu for a rehearsal.")] = "cuda",
    budget: Annotated[str, typer.Option("--budget", help="Time for everything, up to 60m.")] = "60m",
    network: Annotated[list[str] | None, typer.Option(help="Networks instead of the ten; repeatable.")] = None,
    precision: Annotated[
        list[str] | None, typer.Option("--precision", "-p", help="Only this precision of networks; repeatable.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Seconds for each figure, at most.", min=0.1, max=60.0)] = 10.0,
    energy: Annotated[float, typer.Option("--energy", help="Seconds of each metered run.", min=0.0, max=60.0)] = 4.0,
    journal: Annotated[
        Path | None, typer.Option(help="Journal to write, and to go on from; first-hour-DEVICE.jsonl by default.")
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Measure nothing more; write a recording from the journal.")
    ] = False,
    golden: Annotated[Path | None, typer.Option(help="Golden folder, instead of the project's own.")] = None,
    hardware: Annotated[str, typer.Option(help="Exact id of the device, if its name does not tell.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the account: hour.html.")] = None,
    specs: Specs = None,
) -> None:
    """Check an unknown GPU, measure it for an hour at most, and say which claims hold; a cut run is resumed.

    Exit status 3: the run stopped early; the same command resumes it.
    """
    limit_s = recorder.budget_s(budget)
    if limit_s > LONGEST_S:
        raise RooflintError(f"--budget: want 60m at most, found '{budget}'")
    report = Report(hardware, "" if output else "text", output, specs)
    folder = recorder.golden_folder(golden) / "measured"
    recorder.stated(report)  # what would fail at the end fails before an hour of measuring
    recorder.writable(folder)
    names = tuple(precision_named(one).name for one in precision or ())
    file = journal or Path(f"first-hour-{device.replace(':', '-')}.jsonl")
    if finish:
        begun = Journal.read(file)
        rows = [*begun.measurements.values()]
        found = recorder.recording(begun.taken, begun.machine, rows, {**begun.ended, **begun.left_out})
        _end(_Hour(begun, begun.machine), found, report, folder)
        return
    request = runs.Request(device, names, (), 0, seconds, energy, limit_s * (1 - first_hour.RESERVED))
    hour: list[_Hour] = []

    def begin(results: runs.Results) -> None:
        machine = results.observer.machine(recorder.versions())
        kept = Journal.of(file, device, machine)
        hour.append(_Hour(kept, machine, results, _checks(results, machine, device)))
        first_hour.resumed(results, kept, recorder.progress, recorder.tell)

    found = recorder.measured(
        request,
        lambda results: first_hour.everything(request, results, network or first_hour.NETWORKS),
        begin,
        lambda: _hung(hour[0].journal if hour else None),
        first_hour.GRACE_S,
    )
    if hour[0].stopped:  # a device that is gone does not say any more what it is
        found = found.model_copy(update={"machine": hour[0].machine})
    _end(hour[0], found, report, folder)


@dataclass
class _Hour:
    """What is known of a first hour beside its measurements."""

    journal: Journal
    machine: Machine
    """As it was before anything ran."""
    results: runs.Results | None = None
    """None where nothing more is measured."""
    checked: list[Check] = field(default_factory=list)

    @property
    def stopped(self) -> str:
        """Why the run ended early, and what to do; empty where it ran to its end."""
        return first_hour.lost(self.results, self.journal) if self.results else ""


def _end(hour: _Hour, found: Recording, report: Report, folder: Path) -> None:
    """Write the recording, unless the same command is to go on, and the account."""
    known = recorder.known(report, found.machine)
    file = None if hour.stopped else write(recorder.place_of(folder, known, found.machine), found)
    if file:
        hour.journal.remove()
    torch = sys.modules.get("torch") if not hour.stopped else None
    proposed = first_hour.proposals(found, first_hour.properties(found.machine, hour.journal.device, torch), known)
    why = hour.stopped.partition(";")[0]
    events = hour.journal.events
    answer = first_hour.told(found, known, registry(report.specs), hour.checked, proposed, events, why)
    deliver(answer, report.form, report.output)
    typer.echo(f"recorded in {file}" if file else hour.stopped, err=True)
    if hour.stopped:
        raise typer.Exit(STOPPED)


def _hung(journal: Journal | None) -> None:
    """End a run whose driver does not return; what it measured is on the disk."""
    what = journal.now if journal and journal.now else "the driver"
    recorder.tell(f"{what} does not return{f'; {first_hour.kept(journal)}' if journal else ''}")
    os._exit(STOPPED)


def _checks(results: runs.Results, machine: Machine, device: str) -> list[Check]:
    """Before anything runs; each that is not good is told at once."""
    observer, torch = results.observer, sys.modules.get("torch")
    old = old_driver(driver_version(), torch.version.cuda) if torch and device != "cpu" else ""
    found = first_hour.checks(machine, observer.state(), observer.others(), old)
    for one in found:
        if one.is_good is False:
            recorder.tell(f"look: {one.name}: {one.text}")
    return found
