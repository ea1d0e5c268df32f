"""`rooflint analyze NETWORK DEVICE`: everything about one network on one device."""

from typing import Annotated

import typer

from rooflint.answers.analyze import answer
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.output.deliver import deliver
from rooflint.prediction.comparison import contend
from rooflint.prediction.cost import Ledgers, Place, spending
from rooflint.prediction.predict import predict

app = typer.Typer(add_completion=False)


@app.command("analyze")
def analyze_command(
    network: options.Network,
    device: Annotated[str, typer.Argument(help="Id, alias, unique part, or kind; orin@30w names an operating point.")],
    batch: options.Batch = 1,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    region: Annotated[str, typer.Option(help="Place whose grid emits: a country, gcp/us-central1, world.")] = "world",
    electricity: Annotated[str, typer.Option(help="Place whose electricity is paid for.")] = "usa/virginia",
    pue: Annotated[str, typer.Option(help="Fleet or campus whose PUE holds.")] = "fleet/industry",
    years: Annotated[float, typer.Option(help="Years that a bought device runs.", min=0.1)] = 4.0,
    load: Annotated[float, typer.Option(help="Share of the time that it works.", min=0.01, max=1.0)] = 1.0,
    shape: options.Shape = "",
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Time, units, energy, memory, money and carbon of a network on a device, down to each kernel."""
    setting = options.setting_of(precision, storage, fuse, launch, fidelity)
    registry, energies = options.energies_of(specs)
    hardware = options.device_of(registry, device, at)
    work = options.workload_of(network, batch, shape)
    one = contend(hardware, work, energies, setting)
    found = one.prediction  # raises with the reason
    single = None if work.fixed_batch and batch > 1 else predict(hardware, work.at_batch(1), energies, setting)
    place = Place(region, electricity, pue, years, load)
    deliver(answer(one, setting, single, spending(found, Ledgers.of(registry), place)), form, output)
