"""`rooflint explain gemm`: what one matrix product takes on a GPU, term by term, and what it waits for."""

from pathlib import Path
from typing import Annotated

import typer

from rooflint.answers.explain_gemm import answer
from rooflint.api.kernels import kernel
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.kernels.residency import COLD
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
    scale: Annotated[
        str, typer.Option(help="In fp8: what has a scale of its own, tensor (if not said) or block of 128.")
    ] = "",
    calibration: Annotated[
        Path | None, typer.Option(help="Figures of your own machine, as rooflint calibrate device --save writes them.")
    ] = None,
    at: options.Mode = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of an m × k by k × n product: tile, split, waves, bytes, power, and which of them binds."""
    options_ = {"scale": scale.lower()} if scale else {}
    times = kernel(
        "gemm", hardware, precision=compute, copies=copies or COLD, calibration=calibration, at=at, specs=specs,
        m=m, n=n, k=k, batch=batch, **options_,
    )  # fmt: skip
    deliver(answer(times), form, output)
