"""`rooflint analyze`, `compare`, `models` and `sweep`: networks on devices; `rooflint networks` lists networks.

What only one of them needs is imported when it runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import rooflint
from rooflint.answers.compare import MAPPED, Question
from rooflint.answers.insights import METRICS
from rooflint.api import predictions as api
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.suggestions import did_you_mean, nearest
from rooflint.base.text import UNKNOWN
from rooflint.cli import options
from rooflint.cli.options import DeviceName, Specs, batch_of, batches_of, shapes_of
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import select_device, select_devices
from rooflint.output.answer import Answer, write
from rooflint.output.deliver import deliver
from rooflint.output.sections import Table
from rooflint.prediction.comparison import WINS, Comparison, Contender, contend, requirements
from rooflint.prediction.sweep import BATCHES, sweep
from rooflint.workloads.networks import find_network
from rooflint.workloads.workload import Workload

if TYPE_CHECKING:
    from rooflint.prediction.cost import Place

app = typer.Typer(add_completion=False)

NOT_TRAINING = ("shape", "past", "generate", "fuse", "require", "phase", "cp")

AlsoDevice = Annotated[str, typer.Option("--hardware", "-d", help="The same as DEVICE, as other commands have it.")]
Region = Annotated[str, typer.Option(help="Place of the grid, for its carbon: a country, gcp/us-central1, world.")]


@app.command("analyze")
def analyze_command(
    context: typer.Context,
    network: options.Network,
    device: options.OneDevice = "",
    hardware: AlsoDevice = "",
    batch: options.BatchOrInput = None,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    cached: options.Cached = True,
    region: Region = "world",
    electricity: Annotated[str, typer.Option(help="Place of the electricity price.")] = "usa/virginia",
    pue: Annotated[str, typer.Option(help="Fleet or campus whose PUE applies.")] = "fleet/industry",
    years: Annotated[float, typer.Option(help="Service life of a purchased device, in years.", min=0.1)] = 4.0,
    load: Annotated[float, typer.Option(help="Share of the time that the device is busy.", min=0.01, max=1.0)] = 1.0,
    shape: options.Shape = None,
    prompt: options.Prompt = None,
    past: options.Past = 0,
    generate: options.Generate = None,
    phase: Annotated[str, typer.Option(help="Of a language model, prefill or decode alone, with all kernels.")] = "",
    require: Annotated[str, typer.Option(help="With --generate: bounds, such as first-token<500ms.")] = "",
    memory_share: options.MemoryShare = 1.0,
    tp: options.Tensor = 1,
    pp: options.Pipeline = 1,
    ep: options.Expert = 1,
    cp: options.Context = 1,
    train: options.Train = False,
    recompute: options.Recompute = "selective",
    dp: options.Data = 1,
    virtual_stages: options.VirtualStages = 1,
    sp: options.DivideTokens = False,
    zero: options.Zero = 0,
    micro_batch: options.MicroBatch = None,
    tower: options.Tower = "frozen",
    lora: options.Lora = 0,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Show time, units, energy, memory, cost and carbon of a network on a device, down to each kernel."""
    device, spread = _one_of(device, hardware), {"tp": tp, "pp": pp, "ep": ep}
    devices = {**spread, "cp": cp}
    shared: dict[str, Any] = {"precision": precision, "storage": storage, "launch": launch, "fidelity": fidelity}
    shared |= {"at": at, "specs": specs}
    step: dict[str, Any] = {"dp": dp, "sp": sp, "zero": zero, "virtual_stages": virtual_stages, "lora": lora}
    step |= {"recompute": recompute, "micro_batch": micro_batch, "tower": tower, **spread}
    if _is_training(context, train, step.keys() - spread):
        answer = rooflint.train(network, device, length=prompt, batch=batch, **step, **shared).answer()
        return deliver(answer, form, output)
    place, shared = _cost().Place(region, electricity, pue, years, load), {**shared, "fuse": fuse, "cached": cached}
    if tokens := _tokens(generate, devices.values(), phase):
        _refuse_beside({"input": shape, "past": past, "load": load != 1, "region": region != "world"}, generate)
        shared |= {"generate": tokens, "require": require, "memory_share": memory_share, **devices}
        written = rooflint.generate(network, [device], prompt=prompt, batch=batch or 1, site=place, **shared)
        return deliver(written.answer(kernels=True, phase=phase), form, output)
    _want_generate({"require": require, "memory-share": memory_share != 1})
    work = api.network(network, shape=shapes_of(shape), prompt=prompt, past=past, specs=specs)
    together = batch_of(batch, shapes_of(shape), work.batch)
    return deliver(_prediction(work, device, together, place, shared), form, output)


def _prediction(work: Workload, device: str, batch: int, place: "Place", shared: Mapping[str, Any]) -> Answer:
    cost = _cost()
    found = api.predict(work, device, batch=batch, **shared)
    single = None if work.fixed_batch and batch > 1 else api.predict(work, device, batch=1, **shared)
    return found.answer(single, cost.cost_of(found, cost.CostTables.of(registry(shared["specs"])), place))


def _cost() -> Any:
    from rooflint.prediction import cost  # noqa: PLC0415

    return cost


def _sweeps() -> Any:
    from rooflint.answers import sweep  # noqa: PLC0415

    return sweep


def _one_of(argument: str, option: str) -> str:
    """The device that is named once. Raises RooflintError."""
    if bool(argument) == bool(option):
        found = f"'{argument}' and '{option}'" if argument else "none"
        raise RooflintError(
            f"analyze: want a device, such as h100-sxm5, behind the network or behind -d; found {found}"
        )
    return argument or option


TOKENS = 256
"""Tokens to write where decode is asked for, and not how many."""


def _tokens(generate: int | None, devices: Iterable[int], phase: str = "") -> int | None:
    """Tokens to write: those that are asked for, or the first one where a prompt is read alone by several devices."""
    if generate or not (phase or max(devices) > 1):
        return generate
    return 1 if phase in ("", "prefill") else TOKENS


class Level(StrEnum):
    """Level of detail."""

    summary = "summary"
    detailed = "detailed"
    subgraph = "subgraph"


Detail = Annotated[Level, typer.Option("--level", "-l", help="Level of detail: per device, or per kernel.")]
Require = Annotated[
    str,
    typer.Option(
        help="Bounds, such as energy<100mJ,latency<50ms,memory<512MB,power<15W; with --generate such as "
        "first-token<500ms,per-token<20ms."
    ),
]
Explain = Annotated[
    tuple[str, str] | None, typer.Option(help="Two of the devices: why the second differs from the first.")
]
Metric = Annotated[str, typer.Option(help=f"Metric of --explain and of --level subgraph: {', '.join(METRICS)}.")]


@app.command("compare")
def compare_command(
    network: options.Network,
    hardware: options.Devices = None,
    batch: options.BatchOrInput = None,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    cached: options.Cached = True,
    level: Detail = Level.summary,
    baseline: Annotated[str, typer.Option(help="Device or kind to compare the others with; by default gpu.")] = "",
    require: Require = "",
    explain: Explain = None,
    metric: Metric = "energy",
    sort: Annotated[str, typer.Option(help=f"Sort by one of {', '.join(WINS)}, best first; by default as typed.")] = "",
    top: Annotated[
        int | None, typer.Option(help="Show only this many, after --sort (by default energy).", min=1)
    ] = None,
    shape: options.Shape = None,
    prompt: options.Prompt = None,
    past: options.Past = 0,
    generate: options.Generate = None,
    memory_share: options.MemoryShare = 1.0,
    tp: options.Tensor = 1,
    pp: options.Pipeline = 1,
    ep: options.Expert = 1,
    cp: options.Context = 1,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Compare devices on a network: energy, latency, memory, units; which wins, by what factor, and why."""
    _check(level, metric, sort)
    if tokens := _tokens(generate, (tp, pp, ep, cp)):
        one_phase = {"input": shape, "past": past, "level": level != Level.summary, "sort": sort, "top": top}
        _refuse_beside(one_phase | {"baseline": baseline, "explain": explain}, generate)
        written = rooflint.generate(
            network, hardware, prompt=prompt, generate=tokens, precision=precision, batch=batch or 1,
            storage=storage, fuse=fuse, launch=launch, fidelity=fidelity, cached=cached, at=at, require=require,
            memory_share=memory_share, tp=tp, pp=pp, ep=ep, cp=cp, specs=specs,
        )  # fmt: skip
        deliver(written.answer(), form, output)
        return
    _want_generate({"memory-share": memory_share != 1})
    sizes = shapes_of(shape)
    work = api.network(network, shape=sizes, prompt=prompt, past=past, specs=specs)
    together = batch_of(batch, sizes, work.batch)
    found = api.compare(
        work, hardware or explain, precision=precision, batch=together, storage=storage, fuse=fuse, launch=launch,
        fidelity=fidelity, cached=cached, at=at, specs=specs,
    )  # fmt: skip
    if sort or top:
        found = found.sorted_by(sort or "energy", top)

    question = _question(found, lambda name: select_devices(registry(specs), [name], at), baseline, explain)
    question = replace(question, level=level.value, wanted=requirements(require), metric=metric)
    question = replace(question, options=f"{question.options}{options.repeated(shape, specs)}")
    deliver(found.answer(question), form, output)


def _question(
    found: api.Comparison,
    devices: Callable[[str], list[Hardware]],
    baseline: str,
    explained: tuple[str, str] | None,
) -> Question:
    """What is asked of contenders by name. Raises RooflintError for one that is not compared."""

    def named(name: str) -> Contender:
        return _named(found, devices(name), name)

    return replace(
        found.question,
        baseline=named(baseline) if baseline else None,
        explained=(named(explained[0]), named(explained[1])) if explained else None,
    )


def _typed(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Those of the options that the command line has."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [f"--{name.replace('_', '-')}" for name, source in sources.items() if source and source.name != "DEFAULT"]


def _is_training(context: typer.Context, train: bool, step: Iterable[str]) -> bool:
    """Raises RooflintError for options of training without --train, and for others with it."""
    if not train and (given := _typed(context, step)):
        raise RooflintError(f"{given[0]} needs --train")
    if train and (given := _typed(context, NOT_TRAINING)):
        if given[0] == "--cp":
            raise RooflintError("--cp is not modelled for training; want no --cp")
        name = "--input" if given[0] == "--shape" else given[0]
        raise RooflintError(f"{name} cannot be used with --train, whose answer is one step")
    return train


def _refuse_beside(given: Mapping[str, object], generate: int | None) -> None:
    other = "--generate, whose answer has both phases" if generate else "--tp, --pp, --cp and --ep, which read a prompt"
    for option, value in given.items():
        if value:
            raise RooflintError(f"--{option} cannot be used with {other}")


def _want_generate(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise RooflintError(f"--{option} needs --generate, such as --generate 256")


def _check(level: Level, metric: str, sort: str) -> None:
    if sort and sort not in WINS:
        raise RooflintError(f"--sort: want one of {', '.join(WINS)}, found '{sort}'")
    if metric not in METRICS:
        raise RooflintError(f"--metric: want one of {', '.join(METRICS)}, found '{metric}'")
    if level is Level.subgraph and metric not in MAPPED:
        raise RooflintError(f"--metric: kernels have {' and '.join(MAPPED)}, not {metric}")


def _named(found: Comparison, devices: list[Hardware], name: str) -> Contender:
    """The contender with a name, parsed as by -d. Raises RooflintError if it is not among those compared."""
    keys = {(one.id, one.mode) for one in devices}
    matches = [one for one in found.contenders if (one.hardware.id, one.hardware.mode) in keys]
    if len(matches) != 1:
        having = ", ".join(one.typed for one in found.contenders)
        problem = "means several of them" if matches else "is not compared"
        raise RooflintError(f"'{name}' {problem} (compared: {having})")
    return matches[0]


@app.command("models")
def models_command(
    device: DeviceName,
    networks: Annotated[list[str] | None, typer.Argument(help="Networks; all that need no torch if none.")] = None,
    batch: options.BatchOrInput = None,
    precision: options.Compute = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    cached: options.Cached = True,
    shape: options.Shape = None,
    prompt: options.Prompt = None,
    past: options.Past = 0,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Latency, energy, memory and units of many networks on one device."""
    if (prompt or past) and not networks:
        raise RooflintError("--prompt and --past: want names of language models behind the device, found none")
    setting = api.setting(precision, storage, fuse, launch, fidelity, cached)
    known, energies = api.context(specs)
    hardware = select_device(known, device, at)
    sizes = shapes_of(shape)
    together = batch_of(batch, sizes)
    asked: dict[str, Any] = {"shape": sizes, "prompt": prompt, "past": past, "specs": specs}
    found: list[tuple[str, Contender]] = []
    refused: list[str] = []
    for name in networks or api.networks(specs):
        try:
            one = contend(hardware, api.network(name, **asked).at_batch(together), energies, setting)
        except RooflintError as error:
            refused.append(str(error))
            continue
        found.append((name.rpartition("/")[2], one))
    if not found:
        raise RooflintError("\n".join(refused))
    deliver(_sweeps().models_answer(found, setting, together, refused), form, output)


@app.command("networks")
def networks_command(
    pattern: Annotated[str, typer.Argument(help="Part of a name, such as llama.")] = "",
    form: options.Format = "text",
    specs: Specs = None,
) -> None:
    """List the networks that need no torch, with their parameters."""
    roots = registry(specs).roots
    names = api.networks(specs)
    found = [name for name in names if pattern.lower() in name.lower()]
    if not found:
        own = {name: name.rpartition("/")[2] for name in names}
        beginnings = {name: (name, *(one[: len(pattern) + more] for more in (0, 1))) for name, one in own.items()}
        near = did_you_mean(nearest(pattern.lower(), beginnings, cutoff=0.8))
        raise RooflintError(
            f"no network matches '{pattern}'{near or ';'} a torchvision network, an .onnx or .pt2 file also works"
        )
    is_read = form in ("text", "md")
    rows = tuple(_counted(name, roots, is_read) for name in found)
    typer.echo(write(Table(("network", "parameters", "active", "title"), rows), form), nl=False)
    if form == "text":
        typer.echo("active: those that a token is multiplied by; other torchvision networks need torch")


def _counted(name: str, roots: Sequence[Path], is_read: bool) -> tuple[Any, ...]:
    """For people in millions and billions; for programs whole numbers, empty for a captured network."""
    if (network := find_network(name, roots)) is None:
        return (name, *((UNKNOWN if is_read else None,) * 2), "captured from torchvision")
    net = network.configuration
    counts = (net.parameters, net.active_parameters)
    return (name, *(map(_many, counts) if is_read else counts), network.title)


def _many(count: int) -> str:
    return f"{count / 1e9:.4g} B" if count >= 1e9 else f"{count / 1e6:.4g} M"


@app.command("sweep")
def sweep_command(
    network: options.Network,
    hardware: options.Devices = None,
    batches: Annotated[
        str, typer.Option("--batches", "--batch", "-b", help="Batches with commas, such as 1,8,64; 1:64 doubles.")
    ] = ",".join(map(str, BATCHES)),
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="Precisions or policies with commas (case-insensitive).")
    ] = "bf16",
    storage: options.Storage = "",
    at: options.Mode = "",
    fuse: options.Fuse = False,
    launch: options.Launch = "stream",
    fidelity: options.Fidelity = "roofline",
    cached: options.Cached = True,
    require: Annotated[str, typer.Option(help="Bounds that the best batch must meet, such as latency<10ms.")] = "",
    shape: options.Shape = None,
    prompt: options.Prompt = None,
    past: options.Past = 0,
    generate: options.Generate = None,
    memory_share: options.MemoryShare = 1.0,
    tp: options.Tensors = "1",
    pp: options.Pipeline = 1,
    ep: options.Expert = 1,
    cp: options.Context = 1,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Sweep batches: latency, throughput and energy, the best batch, and where one device overtakes another."""
    names = [name.strip() for name in precision.split(",") if name.strip()]
    sizes_of_batch = batches_of(batches, "--batches")
    if tokens := _tokens(generate, (2 if tp != "1" else 1, pp, ep, cp)):
        _refuse_beside({"input": shape, "past": past}, generate)
        written = rooflint.generate(
            network, hardware, prompt=prompt, generate=tokens, precision=names, batch=sizes_of_batch, storage=storage,
            fuse=fuse, launch=launch, fidelity=fidelity, cached=cached, at=at, require=require,
            memory_share=memory_share, tp=batches_of(tp, "--tp"), pp=pp, ep=ep, cp=cp, specs=specs,
        )  # fmt: skip
        deliver(written.answer(), form, output)
        return
    _want_generate({"memory-share": memory_share != 1})
    settings = [api.setting(name, storage, fuse, launch, fidelity, cached) for name in names]
    wanted = requirements(require)
    known, energies = api.context(specs)
    sizes = shapes_of(shape)
    if batch_of(None, sizes) > 1:
        raise RooflintError(f"--input: want a first size of 1 beside --batches, found {sizes[0][0]}")
    work = api.network(network, shape=sizes, prompt=prompt, past=past, specs=specs).at_batch(1)
    found = sweep(select_devices(known, hardware, at), work, energies, settings, sizes_of_batch)
    deliver(_sweeps().sweep_answer(work, found, wanted), form, output)
