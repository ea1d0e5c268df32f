"""`rooflint models DEVICE NETWORK…`: many networks on one device."""

from typing import Annotated

import typer

from rooflint.answers.models import answer
from rooflint.api import predictions as api
from rooflint.base.errors import RooflintError
from rooflint.cli import options
from rooflint.cli.options import DeviceName, Specs
from rooflint.hardware.select import select_device
from rooflint.output.deliver import deliver
from rooflint.prediction.comparison import Contender, contend
from rooflint.workloads.tables import workload_ids

app = typer.Typer(add_completion=False)


@app.command("models")
def models_command(
    device: DeviceName,
    networks: Annotated[
        list[str] | None, typer.Argument(help="Networks; those with a committed table if none.")
    ] = None,
    batch: options.Batch = 1,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Latency, energy, memory and units of many networks on one device."""
    setting = api.setting(precision, storage or None, fuse, launch, fidelity)
    known, energies = api.context(specs)
    hardware = select_device(known, device, at)
    found: list[tuple[str, Contender]] = []
    refused: list[str] = []
    for name in networks or workload_ids():
        try:
            one = contend(hardware, api.network(name).at_batch(batch), energies, setting)
        except RooflintError as error:
            refused.append(str(error))
            continue
        found.append((name.rpartition("/")[2], one))
    if not found:
        raise RooflintError("\n".join(refused))
    deliver(answer(found, setting, batch, refused), form, output)
