"""`rooflint measure first-hour`: a device checked and measured within an hour, resumed where it was cut."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import recorder
from pytest_rooflint.cli.recorder import Report
from pytest_rooflint.recordings import first_hour, runs
from pytest_rooflint.recordings.first_hour import Check, Journal
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision as precision_named
from rooflint.base.text import counted
from rooflint.cli.options import Specs
from rooflint.output.deliver import deliver
from rooflint_measure.record import write
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
    golden: Annotated[Path | None, typer.Option(help="Golden folder, instead of the project's own.")] = None,
    hardware: Annotated[
        str, typer.Option("--hardware", help="Exact id of the device, if its name does not tell.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the account, such as hour.html.")
    ] = None,
    specs: Specs = None,
) -> None:
    """Check an unknown GPU, measure it for an hour at most, and say which claims hold; a cut run is resumed."""
    limit_s = recorder.budget_s(budget)
    if limit_s > LONGEST_S:
        raise RooflintError(f"--budget: want 60m at most, found '{budget}'")
    report = Report(hardware, "" if output else "text", output, specs)
    folder = recorder.golden_folder(golden) / "measured"
    recorder.stated(report)  # what would fail at the end fails before an hour of measuring
    recorder.writable(folder)
    names = tuple(precision_named(one).name for one in precision or ())
    request = runs.Request(device, names, (), 0, seconds, energy, limit_s * (1 - first_hour.RESERVED))
    kept = Journal.of(
        journal or Path(f"first-hour-{device.replace(':', '-')}.jsonl"),
        {"device": device, "software": recorder.versions()},
    )
    checked: list[Check] = []
    stopped: list[str] = []

    def everything(results: runs.Results) -> None:
        checked.extend(_checks(results, device))
        first_hour.resumed(results, kept)
        results.progress = first_hour.watched(results.observer, recorder.tell)
        first_hour.everything(request, results, network or first_hour.NETWORKS)
        stopped.append(first_hour.lost(results, kept))
        if results.stopped:
            count = sum(why == results.stopped for why in results.left_out.values())
            recorder.tell(f"{counted(count, 'figure')} left out: {results.stopped}")

    found = recorder.measured(request, everything)
    if stopped[0]:
        typer.echo(stopped[0], err=True)
        raise typer.Exit(STOPPED)
    known = recorder.known(report, found.machine)
    file = write(recorder.place_of(folder, known), found)
    first_hour.removed(kept)
    torch = sys.modules.get("torch")
    proposed = first_hour.proposals(found, first_hour.properties(found.machine, device, torch), known)
    answer = first_hour.told(found, known, registry(specs), checked, proposed, rehearsed=device == "cpu")
    deliver(answer, report.form, report.output)
    typer.echo(f"recorded in {file}", err=True)


def _checks(results: runs.Results, device: str) -> list[Check]:
    """Before anything runs; each that is not good is told at once."""
    observer, torch = results.observer, sys.modules.get("torch")
    old = old_driver(driver_version(), torch.version.cuda) if torch and device != "cpu" else ""
    found = first_hour.checks(observer.machine(recorder.versions()), observer.state(), observer.others(), old)
    for one in found:
        if one.is_good is False:
            recorder.tell(f"look: {one.name}: {one.text}")
    return found
