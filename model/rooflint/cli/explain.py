"""`rooflint explain gemm`: what one matrix product takes on a GPU, term by term, and what it waits for."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rooflint.answers.explain_gemm import Question, answer
from rooflint.api.devices import device as device_named
from rooflint.api.devices import registry
from rooflint.base.precision import bytes_per_element, precision
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.coefficients.library import Coefficients
from rooflint.kernels.breakdown import Case
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.device_calibration import calibration as calibrated
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import shapes
from rooflint.output.deliver import deliver

app = typer.Typer(
    help="A latency on silicon, term by term, and what it waits for.", no_args_is_help=True, add_completion=False
)


@app.callback()
def _group() -> None:
    """A latency on silicon, term by term, and what it waits for."""


@app.command()
def gemm(
    m: Annotated[int, typer.Argument(help="Rows of the result.", min=1)],
    n: Annotated[int, typer.Argument(help="Columns of the result.", min=1)],
    k: Annotated[int, typer.Argument(help="What is summed over.", min=1)],
    hardware: Annotated[str, typer.Option("--hardware", "-d", help="Id, alias, or a part of exactly one id.")],
    compute: options.Compute = "bf16",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Products of that shape at once.", min=1)] = 1,
    copies: Annotated[
        int, typer.Option(help="Sets of weights that take turns, as in a benchmark; 0: none is left in L2.", min=0)
    ] = 0,
    calibration: Annotated[
        Path | None, typer.Option(help="Figures of your own machine, as rooflint calibrate device --save writes them.")
    ] = None,
    at: options.Mode = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of an m × k by k × n product: tile, split, waves, bytes, power, and which of them binds."""
    name = precision(compute).name
    device = device_named(hardware, at, specs=specs)
    known = registry(specs)
    file, launches = constants_file(known), Coefficients(known).launches()
    chip, constants = chip_of(device, name, launches), file.constants
    own = calibrated(calibration, device.id, chip, file) if calibration else None
    if own:
        chip, products = own.own.of(chip, constants.products)
        constants = replace(constants, products=products)
    case = Case(
        shapes(m, n, k, batch), chip, constants.products, bytes_per_element(name), copies or COLD, constants.cores
    )
    deliver(answer(Question(device, name, case, file, own)), form, output)
