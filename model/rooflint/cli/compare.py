"""`rooflint compare NETWORK`: which device for this network, why, and what if."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from rooflint.answers.compare import MAPPED
from rooflint.answers.explanation import METRICS
from rooflint.api import predictions as api
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.cli import options
from rooflint.cli.options import Specs, shape_of
from rooflint.hardware.device import Hardware
from rooflint.hardware.select import select_devices
from rooflint.output.deliver import deliver
from rooflint.prediction.comparison import WINS, Comparison, Contender, requirements

app = typer.Typer(add_completion=False)


class Level(StrEnum):
    """Level of detail."""

    summary = "summary"
    detailed = "detailed"
    subgraph = "subgraph"


@app.command("compare")
def compare_command(
    network: options.Network,
    hardware: options.Devices = None,
    batch: options.Batch = 1,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    level: Annotated[
        Level, typer.Option("--level", "-l", help="Level of detail: per device, or per kernel.")
    ] = Level.summary,
    baseline: Annotated[str, typer.Option(help="Device or kind to compare the others with; by default gpu.")] = "",
    require: Annotated[
        str, typer.Option(help="Bounds, such as energy<100mJ,latency<50ms,memory<512MB,power<15W.")
    ] = "",
    explain: Annotated[
        tuple[str, str] | None, typer.Option(help="Two of the devices: why the second differs from the first.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help=f"Metric of --explain and of --level subgraph: {', '.join(METRICS)}.")
    ] = "energy",
    sort: Annotated[str, typer.Option(help=f"Sort by one of {', '.join(WINS)}, best first; by default as typed.")] = "",
    top: Annotated[
        int | None, typer.Option(help="Show only this many, after --sort (by default energy).", min=1)
    ] = None,
    shape: options.Shape = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Compare devices on a network: energy, latency, memory, units; which wins, by what factor, and why."""
    _check(level, metric, sort)
    found = api.compare(
        api.network(network, shape=shape_of(shape)), hardware or explain, precision=precision, batch=batch,
        storage=storage or None, fuse=fuse, launch=launch, fidelity=fidelity, at=at, specs=specs,
    )  # fmt: skip
    if sort or top:
        found = found.sorted_by(sort or "energy", top)

    def named(name: str) -> Contender:
        return _named(found, select_devices(registry(specs), [name], at), name)

    question = replace(
        found.question,
        level=level.value,
        baseline=named(baseline) if baseline else None,
        wanted=requirements(require),
        explained=(named(explain[0]), named(explain[1])) if explain else None,
        metric=metric,
    )
    deliver(found.answer(question), form, output)


def _check(level: Level, metric: str, sort: str) -> None:
    if sort and sort not in WINS:
        raise RooflintError(f"--sort: want one of {', '.join(WINS)}, found '{sort}'")
    if metric not in METRICS:
        raise RooflintError(f"--metric: want one of {', '.join(METRICS)}, found '{metric}'")
    if level is Level.subgraph and metric not in MAPPED:
        raise RooflintError(f"--metric: kernels have {' and '.join(MAPPED)}, not {metric}")


def _named(found: Comparison, devices: list[Hardware], name: str) -> Contender:
    """The contender with a name, parsed as by -d. Raises RooflintError if it is not among those compared."""
    keys = {(one.id, one.mode) for one in devices}
    matches = [one for one in found.contenders if (one.hardware.id, one.hardware.mode) in keys]
    if len(matches) != 1:
        having = ", ".join(one.typed for one in found.contenders)
        problem = "means several of them" if matches else "is not compared"
        raise RooflintError(f"'{name}' {problem} (compared: {having})")
    return matches[0]
