"""`rooflint explain gemm`: what one matrix product takes on a GPU, term by term, and what it waits for."""

from pathlib import Path
from typing import Annotated

import typer

from rooflint.answers.explain_gemm import answer
from rooflint.api.kernels import kernel
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.kernels.shapes import COLD
from rooflint.output.deliver import deliver

app = typer.Typer(help="Explain a calibrated kernel time, term by term.", no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Explain a calibrated kernel time, term by term."""


@app.command()
def gemm(
    m: Annotated[int, typer.Argument(help="Rows of the result.", min=1)],
    n: Annotated[int, typer.Argument(help="Columns of the result.", min=1)],
    k: Annotated[int, typer.Argument(help="Length of each sum.", min=1)],
    hardware: Annotated[str, typer.Option("--hardware", "-d", help="Id, name, or words that exactly one device has.")],
    compute: options.Arithmetic = "bf16",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Products of that shape at once.", min=1)] = 1,
    copies: Annotated[
        int, typer.Option(help="Sets of weights used in rotation, as in a benchmark; 0: none stays in L2.", min=0)
    ] = 0,
    scale: Annotated[str, typer.Option(help="For fp8: one scale per tensor (default) or per block of 128.")] = "",
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration of your machine, written by rooflint calibrate device --save.")
    ] = None,
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of an m × k by k × n product: tile, split, waves, bytes, power, and the limit."""
    options_ = {"scale": scale.lower()} if scale else {}
    times = kernel(
        "gemm", hardware, precision=compute, copies=copies or COLD, calibration=calibration, at=at, specs=specs,
        m=m, n=n, k=k, batch=batch, **options_,
    )  # fmt: skip
    deliver(answer(times), form, output)
