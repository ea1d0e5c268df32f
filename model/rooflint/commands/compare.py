"""`rooflint compare NETWORK`: which device for this network, why, and what if."""

from enum import StrEnum
from typing import Annotated

import typer

from rooflint.commands import asked
from rooflint.commands.options import Specs
from rooflint.comparison import Comparison, Contender, compare
from rooflint.comparison_answer import Question, answer
from rooflint.criteria import requirements
from rooflint.errors import RooflintError
from rooflint.explanation import METRICS
from rooflint.output import deliver

app = typer.Typer(add_completion=False)


class Level(StrEnum):
    """How deep to look."""

    summary = "summary"
    detailed = "detailed"
    subgraph = "subgraph"


@app.command("compare")
def compare_command(
    network: asked.Network,
    hardware: asked.Devices = None,
    batch: asked.Batch = 1,
    precision: asked.Compute = "bf16",
    storage: asked.Storage = "",
    at: asked.Mode = "",
    fuse: asked.Fuse = False,
    launch: asked.Launch = "stream",
    level: Annotated[Level, typer.Option("--level", "-l", help="How deep: per device, or per kernel.")] = Level.summary,
    baseline: Annotated[str, typer.Option(help="Device or kind that the others are set against; gpu.")] = "",
    require: Annotated[
        str, typer.Option(help="Bounds, such as energy<100mJ,latency<50ms,memory<512MB,power<15W.")
    ] = "",
    explain: Annotated[
        tuple[str, str] | None, typer.Option(help="Two of the devices: why the second differs from the first.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help=f"What --explain and subgraph speak of: {', '.join(METRICS)}.")
    ] = "energy",
    shape: asked.Shape = "",
    form: asked.Form = "",
    output: asked.Output = None,
    specs: Specs = None,
) -> None:
    """Compare devices on a network: energy, latency, memory, units; who wins, by what factor, and why."""
    setting = asked.setting_of(precision, storage, fuse, launch)
    if metric not in METRICS:
        raise RooflintError(f"--metric: want one of {', '.join(METRICS)}, found '{metric}'")
    wanted = requirements(require)
    registry, energies = asked.energies_of(specs)
    devices = asked.devices_of(registry, [*(hardware or ()), *(explain or () if hardware else ())], at)
    if explain and not hardware:
        devices = asked.devices_of(registry, explain, at)
    found = compare(devices, asked.workload_of(network, batch, shape), energies, setting)
    question = Question(
        level.value,
        _named(found, baseline) if baseline else None,
        wanted,
        (_named(found, explain[0]), _named(found, explain[1])) if explain else None,
        metric,
    )
    deliver(answer(found, question), form, output)


def _named(found: Comparison, name: str) -> Contender:
    """The contender that a name means: its kind, its id, or a unique part of it. Raises RooflintError."""
    wanted = name.lower().replace("@", " at ")
    kinds = [one for one in found.contenders if one.hardware.kind == wanted]
    matches = kinds[:1] or [one for one in found.contenders if wanted in (one.label, one.short)]
    matches = matches or [one for one in found.contenders if wanted in one.label]
    if len(matches) != 1:
        having = ", ".join(one.short for one in found.contenders)
        problem = "is ambiguous" if matches else "is not compared"
        raise RooflintError(f"'{name}' {problem} (compared: {having})")
    return matches[0]
