"""`rooflint sweep NETWORK`: batches × precisions × devices, and the batch that suits each."""

from typing import Annotated

import typer

from rooflint.answers.sweep import answer
from rooflint.api import predictions as api
from rooflint.base.errors import RooflintError
from rooflint.cli import options
from rooflint.cli.options import Specs, shape_of
from rooflint.hardware.select import select_devices
from rooflint.output.deliver import deliver
from rooflint.prediction.comparison import requirements
from rooflint.prediction.sweep import BATCHES, sweep

app = typer.Typer(add_completion=False)


@app.command("sweep")
def sweep_command(
    network: options.Network,
    hardware: options.Devices = None,
    batches: Annotated[str, typer.Option(help="Batches with commas, such as 1,8,64.")] = ",".join(map(str, BATCHES)),
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="Precisions with commas (case-insensitive).")
    ] = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    require: Annotated[str, typer.Option(help="Bounds that the best batch must meet, such as latency<10ms.")] = "",
    shape: options.Shape = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Sweep batches: latency, throughput and energy, the best batch, and where one device overtakes another."""
    settings = [
        api.setting(name.strip(), storage or None, fuse, launch, fidelity)
        for name in precision.split(",")
        if name.strip()
    ]
    wanted = requirements(require)
    known, energies = api.context(specs)
    work = api.network(network, shape=shape_of(shape)).at_batch(1)
    found = sweep(select_devices(known, hardware, at), work, energies, settings, _batches(batches))
    deliver(answer(work, found, wanted), form, output)


def _batches(text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise RooflintError(f"--batches: want whole numbers with commas, such as 1,8,64, found '{text}'")
    return found
