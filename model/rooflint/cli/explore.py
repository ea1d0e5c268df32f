"""`rooflint explore`: hypothetical variants of a device."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from rooflint.api.exploration import Exploration, explore
from rooflint.api.predictions import network as net
from rooflint.base.errors import RooflintError, shown
from rooflint.base.shards import Workers
from rooflint.cli import options
from rooflint.cli.options import batch_of, batches_of, shapes_of
from rooflint.hardware.variant_spec import place_of
from rooflint.output.deliver import check_place, deliver
from rooflint.prediction.space import EXAMPLE

app = typer.Typer(add_completion=False)


Vary = Annotated[
    list[str],
    typer.Option(
        "--vary",
        help="A fact with values: SM.groups=64:256, SM.clock=x0.8:x1.2, memory.bandwidth=2:8TB/s; may be repeated.",
    ),
]
Networks = Annotated[
    list[str], typer.Option("--network", "-n", help="Networks that every variant runs, with commas or repeated.")
]


@app.command("explore")
def explore_command(
    base: options.DeviceName,
    vary: Vary,
    network: Networks,
    minimise: Annotated[
        str,
        typer.Option(help="latency, energy, cost, memory, power, balance (energy × latency), or facts that vary."),
    ] = "",
    maximise: Annotated[str, typer.Option(help="throughput, utilization, or facts that vary.")] = "",
    require: Annotated[str, typer.Option(help="Bounds that hold in every run, such as latency<1ms,power<300W.")] = "",
    batch: Annotated[str, typer.Option("--batch", "-b", help="Batch sizes with commas.")] = "1",
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="Precisions with commas (case-insensitive).")
    ] = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    cached: options.Cached = True,
    shape: options.Shape = None,
    prompt: options.Prompt = None,
    past: options.Past = 0,
    price: Annotated[
        str, typer.Option(help="Price of the base, such as '2.5 USD/h' or '1500 USD'; by default the newest known.")
    ] = "",
    samples: Annotated[
        int | None, typer.Option(help="Draw so many variants (Latin hypercube) instead of the whole grid.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --samples.", min=0)] = 0,
    plot: Annotated[str, typer.Option(help="Two quantities of the chart; by default the first two objectives.")] = "",
    save: Annotated[
        list[str] | None,
        typer.Option(help="Write a variant as a spec: 37=specs/hardware/acme/one.yaml, or latency=… for the fastest."),
    ] = None,
    form: options.Format = "",
    output: options.Output = None,
    specs: options.Specs = None,
    jobs: options.Jobs = 1,
    dask: options.Dask = "",
    ray: options.Ray = "",
) -> None:
    """Explore variants of a device: the best of them for networks, and which fact buys most."""
    wanted = _wanted(save or ())
    check_place(form, output)  # refused, as these are, before anything is predicted
    sizes = shapes_of(shape)
    if batch_of(None, sizes) > 1:
        raise RooflintError(f"--input: want a first size of 1 beside --batch, found {sizes[0][0]}")
    names = [word.strip() for text in network for word in text.split(",") if word.strip()]
    networks = [net(name, shape=sizes, prompt=prompt, past=past, specs=specs) for name in names]
    found = explore(
        base, _varied(vary), networks,
        minimise=minimise, maximise=maximise, require=require, precision=precision, batch=batches_of(batch, "--batch"),
        storage=storage, fuse=fuse, launch=launch, fidelity=fidelity, cached=cached, price=price, samples=samples,
        seed=seed, at=at, specs=specs, announce=_announce, workers=Workers(jobs, dask, ray),
    )  # fmt: skip
    deliver(found.answer(plot), form, output)
    for variant, file in wanted:
        _save(found, variant, Path(file))


def _wanted(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Variants to save and their files. Raises RooflintError for a file that is no place for a spec, or named twice."""
    found = [_pair(text, "--save", "37=specs/hardware/acme/one.yaml") for text in texts]
    for _, file in found:
        place_of(Path(file))
    if len({Path(file).resolve() for _, file in found}) < len(found):
        raise RooflintError("--save: two variants would be written to one file; choose another name for one of them")
    return found


def _varied(texts: list[str]) -> dict[str, str]:
    """Values by fact. Raises RooflintError for a text that is no pair, and for a fact that stands twice."""
    found: dict[str, str] = {}
    for name, values in (_pair(text, "--vary", EXAMPLE) for text in texts):
        if name in found:
            raise RooflintError(f"--vary: '{name}' stands twice; write its values as one list or range")
        found[name] = values
    return found


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, _, rest = (part.strip() for part in text.partition("="))
    if not name or not rest:
        raise RooflintError(f"{option}: want a pair such as {example}, found '{text}'")
    return name, rest


def _announce(what: str) -> None:
    typer.echo(what, err=True)


def _save(found: Exploration, variant: str, file: Path) -> None:
    root, name = place_of(file)
    found.save(variant, file)
    typer.echo(
        f"{file}: variant {variant}, a hypothetical device; rooflint peaks {name} --specs {shown(root)}", err=True
    )
