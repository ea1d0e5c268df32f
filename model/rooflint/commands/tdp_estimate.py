"""`rooflint tdp estimate`: energy of a MAC as a ladder, power and op/s per watt of so many ALUs."""

from enum import StrEnum
from typing import Annotated

import typer

from rooflint.answers.tdp_estimate import answer
from rooflint.coefficients import Coefficients
from rooflint.commands import asked
from rooflint.commands.options import Specs, registry
from rooflint.errors import RooflintError
from rooflint.output import deliver
from rooflint.tdp.estimate import Case, estimate, over
from rooflint.tdp.factors import Factors
from rooflint.tdp.ranges import alus_of, clocks_of
from rooflint.tdp.widths import Hold

Spelt = Annotated[bool, typer.Option(help="The same as --compare with that word.", hidden=True)]


class By(StrEnum):
    """What to compare."""

    precisions = "precisions"
    circuits = "circuits"
    processes = "processes"


def estimate_command(
    precision: Annotated[str, typer.Option("--precision", "-p", help="Of the arithmetic, in any case.")] = "fp16",
    alus: Annotated[
        str, typer.Option(help="How many ALUs, or a range: 1024:65536 doubles, 1000:4000:500 adds.")
    ] = "1024",
    process: Annotated[str, typer.Option(help="Process node, 3nm to 28nm.")] = "4nm",
    circuit: Annotated[str, typer.Option(help="How an ALU is built: tensor_core, x86_performance, …")] = "tensor_core",
    clock: Annotated[str, typer.Option(help="Clock, or a range such as 1GHz:2GHz:0.25GHz.")] = "1GHz",
    macs_per_clock: Annotated[float, typer.Option(help="MACs that one ALU does in a clock.")] = 1.0,
    compare: Annotated[
        list[By] | None, typer.Option(help="Also every precision, circuit or process; may be repeated.")
    ] = None,
    hold: Annotated[
        Hold, typer.Option(help="Over precisions, as many ALUs, or ALUs of 64 bits that hold as many MACs as fit.")
    ] = Hold.alus,
    compare_precisions: Spelt = False,
    compare_circuits: Spelt = False,
    compare_processes: Spelt = False,
    form: asked.Form = "",
    output: asked.Output = None,
    specs: Specs = None,
) -> None:
    """Estimate the power of so many ALUs: energy of a MAC factor by factor, watts, op/s per watt; compare and sweep."""
    if not 0 < macs_per_clock <= 1e6:
        raise RooflintError(f"--macs-per-clock: want a number above 0 and up to 1e6, found '{macs_per_clock:g}'")
    counts, clocks_hz = alus_of(alus), clocks_of(clock)
    case = Case(precision, circuit, process, counts[0], clocks_hz[0], macs_per_clock, hold)
    spelt = dict(zip(By, (compare_precisions, compare_circuits, compare_processes), strict=True))
    wanted = [by.value for by in By if spelt[by] or by in (compare or ())]
    first = estimate(Factors(Coefficients(registry(specs))), case)
    deliver(answer(over(first, counts, clocks_hz), wanted), form, output)
