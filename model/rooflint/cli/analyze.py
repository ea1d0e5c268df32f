"""`rooflint analyze NETWORK DEVICE`: everything about one network on one device."""

from typing import Annotated

import typer

from rooflint.api import predictions as api
from rooflint.api.devices import registry
from rooflint.cli import options
from rooflint.cli.options import DeviceName, Specs, shape_of
from rooflint.output.deliver import deliver
from rooflint.prediction.cost import CostTables, Place, cost_of

app = typer.Typer(add_completion=False)


@app.command("analyze")
def analyze_command(
    network: options.Network,
    device: DeviceName,
    batch: options.Batch = 1,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    region: Annotated[
        str, typer.Option(help="Place of the grid, for its carbon: a country, gcp/us-central1, world.")
    ] = "world",
    electricity: Annotated[str, typer.Option(help="Place of the electricity price.")] = "usa/virginia",
    pue: Annotated[str, typer.Option(help="Fleet or campus whose PUE applies.")] = "fleet/industry",
    years: Annotated[float, typer.Option(help="Service life of a purchased device, in years.", min=0.1)] = 4.0,
    load: Annotated[float, typer.Option(help="Share of the time that the device is busy.", min=0.01, max=1.0)] = 1.0,
    shape: options.Shape = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Show time, units, energy, memory, cost and carbon of a network on a device, down to each kernel."""
    work = api.network(network, shape=shape_of(shape))

    def predicted(samples: int) -> api.Prediction:
        return api.predict(
            work, device, precision=precision, batch=samples, storage=storage or None, fuse=fuse, launch=launch,
            fidelity=fidelity, at=at, specs=specs,
        )  # fmt: skip

    found = predicted(batch)
    single = None if work.fixed_batch and batch > 1 else predicted(1)
    place = Place(region, electricity, pue, years, load)
    deliver(found.answer(single, cost_of(found, CostTables.of(registry(specs)), place)), form, output)
