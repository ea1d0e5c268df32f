"""`rooflint tdp estimate`: power of so many ALUs. `rooflint tdp registry`: which chips can sustain their peak."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from rooflint.answers.tdp_estimate import answer
from rooflint.answers.tdp_registry import answer as tdp_registry_answer
from rooflint.api.devices import registry
from rooflint.api.predictions import context
from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision as precision_named
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.coefficients.library import Coefficients
from rooflint.energy.power import survey
from rooflint.energy.tdp import Case, Factors, Hold, alus_of, clocks_of, estimate, over
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import listed
from rooflint.output.deliver import deliver

app = typer.Typer(help="Power from physics: can a chip keep its peak?", no_args_is_help=True, add_completion=False)

Spelt = Annotated[bool, typer.Option(help="The same as --compare with that word.", hidden=True)]


class By(StrEnum):
    """What to compare."""

    precisions = "precisions"
    circuits = "circuits"
    processes = "processes"


@app.command("estimate")
def estimate_command(
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="Precision of the arithmetic (case-insensitive).")
    ] = "fp16",
    alus: Annotated[
        str, typer.Option(help="How many ALUs, or a range: 1024:65536 doubles, 1000:4000:500 adds.")
    ] = "1024",
    process: Annotated[str, typer.Option(help="Process node, 3nm to 28nm.")] = "4nm",
    circuit: Annotated[str, typer.Option(help="Circuit of an ALU: tensor_core, x86_performance, …")] = "tensor_core",
    clock: Annotated[str, typer.Option(help="Clock, or a range such as 1GHz:2GHz:0.25GHz.")] = "1GHz",
    macs_per_clock: Annotated[float, typer.Option(help="MACs per clock of one ALU.")] = 1.0,
    compare: Annotated[
        list[By] | None, typer.Option(help="Compare all precisions, circuits or processes; repeatable.")
    ] = None,
    hold: Annotated[
        Hold,
        typer.Option(help="What all precisions share: the MACs per ALU (alus), or an ALU width of 64 bits (width)."),
    ] = Hold.alus,
    compare_precisions: Spelt = False,
    compare_circuits: Spelt = False,
    compare_processes: Spelt = False,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Estimate the power of a number of ALUs: energy per MAC factor by factor, watts, op/s per watt."""
    if not 0 < macs_per_clock <= 1e6:
        raise RooflintError(f"--macs-per-clock: want a number above 0 and up to 1e6, found '{macs_per_clock:g}'")
    counts, clocks_hz = alus_of(alus), clocks_of(clock)
    case = Case(precision, circuit, process, counts[0], clocks_hz[0], macs_per_clock, hold)
    spelt = dict(zip(By, (compare_precisions, compare_circuits, compare_processes), strict=True))
    wanted = [by.value for by in By if spelt[by] or by in (compare or ())]
    first = estimate(Factors(Coefficients(registry(specs))), case)
    deliver(answer(over(first, counts, clocks_hz), wanted), form, output)


@app.command("registry")
def registry_command(
    pattern: Annotated[
        str, typer.Argument(help="Words of a name, or a glob such as 'nvidia/*h100*'; all by default.")
    ] = "",
    at: Annotated[str, typer.Option("--at", help="Only at this operating point, such as 30w.")] = "",
    modes: Annotated[bool, typer.Option("--modes", help="Also at every operating point.")] = False,
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision (case-insensitive).")] = "",
    unit: Annotated[str, typer.Option(help="Only loads of this unit, such as tensor_core.")] = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Compare the power of devices at their dense peaks with their rated power."""
    if at and modes:
        raise RooflintError("--at names one operating point and --modes asks for all; want one of the two")
    wanted = precision_named(precision).name if precision else ""
    known, energies = context(specs)
    devices = [known.get(device) for device in listed(known, pattern or "*")]
    _check_unit(devices, unit)
    points = list(_points(devices, at, modes))
    found = [one for hardware in points for one in survey(hardware, energies, wanted, unit)]
    deliver(tdp_registry_answer(found, wanted, unit), form, output)


def _check_unit(devices: list[Hardware], unit: str) -> None:
    known = sorted({name for hardware in devices for name in hardware.units})
    if unit and unit not in known:
        raise RooflintError(f"--unit: want one of {', '.join(known) or 'none'}, found '{unit}'")


def _points(devices: list[Hardware], at: str, modes: bool) -> Iterator[Hardware]:
    """Devices at their default, one named or all operating points. Raises RooflintError if no device has the point."""
    if at:
        able = [hardware for hardware in devices if at in hardware.operating_points]
        if not able:
            known = sorted({name for hardware in devices for name in hardware.operating_points})
            wish = f"want one of {', '.join(known)}" if known else "no device asked for has an operating point"
            raise RooflintError(f"--at: {wish}, found '{at}'")
        yield from (hardware.at(at) for hardware in able)
        return
    for hardware in devices:
        yield from hardware.points() if modes else (hardware,)
