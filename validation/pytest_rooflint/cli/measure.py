"""`rooflint measure`: stopwatches for products, memory, networks and waits, and recordings of their results."""

import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli.first_hour import first_hour_command
from pytest_rooflint.cli.recorder import (
    Report,
    budget_s,
    golden_folder,
    known,
    measured,
    place_of,
    stated,
    tell,
    writable,
)
from pytest_rooflint.cli.versions import compare_command
from pytest_rooflint.recordings import baselines, files, network_runs, runs
from pytest_rooflint.recordings.account import account, beside
from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision as precision_named
from rooflint.base.project import project_root
from rooflint.base.text import sanitized
from rooflint.cli.options import Past, Prompt, Shape, Specs, shapes_of
from rooflint.output.deliver import deliver
from rooflint_measure.recording import Recording, read_all, write
from rooflint_measure.stopwatches.network import ATTENTION, DTYPES, MODES, QUANTIZED
from rooflint_report.evidence import add

app = typer.Typer(
    help="Measure products, memory and networks; record them.", no_args_is_help=True, add_completion=False
)

app.command("compare")(compare_command)
app.command("first-hour")(first_hour_command)

BASELINES = Path("validation/baselines")
WAITS_S = (20e-6, 1e-3)
"""Lengths of the busy-waits of a record. [s]"""
NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "vit_b_16")
"""Networks of a record: convolutions small and large, depthwise ones, attention."""
BATCHES = (1, 8)

Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1 or mps.")]
Devices = Annotated[
    list[str] | None, typer.Option("--device", help="cpu, cuda, cuda:1 or mps; cpu by default; repeatable.")
]
Budget = Annotated[
    str, typer.Option("--budget", help="Time for everything, such as 10m: figures get shorter, then fewer.")
]
Precisions = Annotated[
    list[str] | None,
    typer.Option(
        "--precision",
        "-p",
        help="Only this precision, such as fp32, tf32, bf16, fp16 or int8; repeatable, or with commas.",
    ),
]
Libraries = Annotated[list[str] | None, typer.Option("--library", help="Only this library; repeatable.")]
Threads = Annotated[int, typer.Option(help="Threads of a library; by default its own choice.", min=0)]
Seconds = Annotated[float, typer.Option(help="Approximate seconds for each figure.", min=0.1, max=600.0)]
EnergyS = Annotated[
    float,
    typer.Option("--energy", help="Seconds of a run with energy measurement after each figure.", min=0.0, max=600.0),
]
StatedId = Annotated[str, typer.Option("--hardware", help="Exact id of the device, if its name does not identify it.")]
Form = Annotated[str, typer.Option("--format", "-f", help="text, json (a recording), csv, md or html.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; its suffix names the format.")]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        help=f"How a network is run, in inference mode: {', '.join(MODES)}, attention={'|'.join(ATTENTION)}, or all; "
        "a+b is both at once; repeatable.",
    ),
]
CacheMb = Annotated[
    float, typer.Option("--cache", help="Last-level cache in MB, if the system does not report it.", min=0.0)
]

# ---- `rooflint measure baseline`: what pytest-benchmark wrote beside a committed file


@app.command("baseline")
def baseline_command(
    file: Annotated[Path, typer.Argument(help="What --benchmark-json wrote.")],
    folder: Annotated[
        Path | None,
        typer.Option("--baselines", help="Folder of baselines.", show_default=f"{BASELINES} in the project"),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Factor from which a benchmark is slower.", min=1.01)
    ] = baselines.THRESHOLD,
    evidence: Annotated[Path | None, typer.Option(help="Evidence file of a run to add the result to.")] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep it as the baseline of this machine instead of comparing.")
    ] = False,
) -> None:
    """Compare benchmarks with the committed baseline of the same machine; status 1 if one is slower or gone."""
    folder = folder or project_root() / BASELINES
    if save:
        typer.echo(f"{baselines.save(file, folder)}: written")
        return
    found = baselines.compared(file, folder, threshold)
    if evidence:
        add(evidence, benchmarks=found)
    typer.echo(sanitized(found.text))
    raise typer.Exit(int(found.is_red))


# ---- stopwatches and recordings


@app.command("wait")
def wait_command(
    microseconds: Annotated[
        list[float] | None, typer.Argument(help="Lengths in microseconds; 20 and 1000 by default.")
    ] = None,
    seconds: Seconds = 2.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Time busy-waits of known length, to check the stopwatch."""
    lengths = [length * 1e-6 for length in microseconds] if microseconds else [*WAITS_S]
    if wrong := [length for length in lengths if not 0 < length <= 60]:
        raise RooflintError(f"want a wait above 0 and up to 60 s, found {wrong[0]:g} s")
    request = runs.Request(seconds=seconds)
    _print(
        measured(request, lambda results: runs.waits(request, lengths, results)), Report(hardware, form, output, specs)
    )


@app.command("gemm")
def gemm_command(
    device: Device = "cpu",
    precision: Precisions = None,
    library: Libraries = None,
    threads: Threads = 0,
    seconds: Seconds = 10.0,
    energy: EnergyS = 0.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Measure matrix products: each library in each precision, at its fastest size."""
    request = runs.Request(device, _precisions(precision), tuple(library or ()), threads, seconds, energy)
    _print(measured(request, lambda results: runs.gemms(request, results)), Report(hardware, form, output, specs))


@app.command("bandwidth")
def bandwidth_command(
    device: Device = "cpu",
    library: Libraries = None,
    threads: Threads = 0,
    cache: CacheMb = 0.0,
    seconds: Seconds = 6.0,
    energy: EnergyS = 0.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Measure bandwidth with arrays larger than the caches: copy, scale, triad and read."""
    request = runs.Request(device, (), tuple(library or ()), threads, seconds, energy)
    size = round(cache * 1e6) or None
    _print(
        measured(request, lambda results: runs.streams(request, results, size)), Report(hardware, form, output, specs)
    )


@app.command("anchors")
def anchors_command(
    device: Device = "cuda",
    precision: Precisions = None,
    seconds: Seconds = 2.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Time the products of a GPU that `rooflint calibrate device` needs: null, peak, streaming."""
    if device == "cpu":
        raise RooflintError("--device: want cuda or cuda:1, found 'cpu'; anchors calibrate silicon, which is for GPUs")
    request = runs.Request(device, _precisions(precision), (), 0, seconds)
    _print(measured(request, lambda results: runs.gpu_anchors(request, results)), Report(hardware, form, output, specs))


@app.command("network")
def network_command(
    names: Annotated[
        list[str],
        typer.Argument(help="Names that compare takes: resnet18, bert-base, file.py:factory, config.json, model.pt2."),
    ],
    device: Devices = None,
    precision: Annotated[
        list[str] | None,
        typer.Option(
            "--precision",
            "-p",
            help=f"{', '.join(DTYPES | QUANTIZED)}; fp32 by default; repeatable, or separated by commas.",
        ),
    ] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", "-b", help="Batch size; repeatable.", min=1)] = None,
    mode: Modes = None,
    channels_last: Annotated[
        bool, typer.Option("--channels-last", help="Use the channels-last memory format, in every mode.")
    ] = False,
    compiled: Annotated[bool, typer.Option("--compile", help="Compile with torch.compile, in every mode.")] = False,
    graph: Annotated[bool, typer.Option("--graph", help="Replay as a CUDA graph, in every mode.")] = False,
    flush: Annotated[bool, typer.Option("--flush", help="Empty the last-level cache before each call.")] = False,
    counters: Annotated[
        bool,
        typer.Option("--counters", help="Also count the bytes a GPU moves, with CUPTI; on a CPU perf is always tried."),
    ] = False,
    prompt: Prompt = None,
    past: Past = 0,
    shape: Shape = None,
    budget: Budget = "",
    cpus: Annotated[str, typer.Option("--cpus", help="CPUs to pin this process to: 0-3,8.")] = "",
    threads: Threads = 0,
    seconds: Seconds = 10.0,
    energy: EnergyS = 0.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Time networks with random weights, in turn with the fastest product of the same precision."""
    always = [
        word for word, chosen in (("channels_last", channels_last), ("compile", compiled), ("graph", graph)) if chosen
    ]
    modes = ["+".join([*always, *([one] if one != "eager" or not always else [])]) for one in mode or ["eager"]]
    shapes = tuple(map(tuple, shapes_of(shape)))
    batches = tuple(batch or (shapes[0][0] if shapes else 1,))
    sweep = network_runs.Sweep(tuple(names), batches, tuple(modes), flush, prompt, past, counters, shapes)
    _pin(cpus)
    each = runs.Request("", _precisions(precision), (), threads, seconds, energy)
    requests = [replace(each, device=one) for one in dict.fromkeys(device or ["cpu"])]
    for one in requests:  # a device that is not there is told before an hour on another
        runs.prepare(one)
    found, end_s = [], time.perf_counter() + budget_s(budget)
    for number, one in enumerate(requests):
        left_s = max(end_s - time.perf_counter(), 0.0)
        request = replace(one, budget_s=left_s / (len(requests) - number))
        if len(requests) > 1:
            tell(f"device {one.device}")
        found.append(measured(request, partial(network_runs.networks, request, sweep)))
    _print(found, Report(hardware, form, output, specs))


@app.command("record")
def record_command(
    device: Device = "cpu",
    precision: Precisions = None,
    network: Annotated[list[str] | None, typer.Option(help=f"Networks instead of {', '.join(NETWORKS)}.")] = None,
    batch: Annotated[
        list[int] | None, typer.Option("--batch", "-b", help="Batch sizes instead of 1 and 8; repeatable.", min=1)
    ] = None,
    mode: Modes = None,
    budget: Budget = "",
    threads: Threads = 0,
    seconds: Seconds = 10.0,
    energy: EnergyS = 5.0,
    hardware: StatedId = "",
    only_news: Annotated[
        bool, typer.Option("--only-news", help="Keep no recording that says what the machine's newest one says.")
    ] = False,
    golden: Annotated[Path | None, typer.Option(help="Golden folder, instead of the project's own.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the account.")] = None,
    specs: Specs = None,
) -> None:
    """Measure everything, add a recording to golden/measured/DEVICE and print its account in Markdown."""
    folder = golden_folder(golden) / "measured"
    request = runs.Request(device, _precisions(precision), (), threads, seconds, energy, budget_s(budget))
    sweep = network_runs.Sweep(tuple(network or NETWORKS), tuple(batch or BATCHES), tuple(mode or ["eager"]))
    report = Report(hardware, "md", output, specs)
    # what would fail at the end fails before an hour of measuring
    stated(report)
    writable(folder)

    def everything(results: runs.Results) -> None:
        each = runs.shared(request, results)
        steps = (
            (0.05, lambda: runs.waits(each, WAITS_S, results)),
            (0.35, lambda: runs.gemms(each, results)),
            (0.5, lambda: runs.streams(each, results)),
            (0.6, lambda: runs.gpu_anchors(each, results)),
        )
        results.in_steps(steps)
        network_runs.networks(each, sweep, results)

    found = measured(request, everything)
    place = place_of(folder, known(report, found.machine), found.machine)
    told = files.news(found, place)
    file = None if only_news and not told else write(place, found)
    _print(found, report)
    kept = f"recorded in {file}" if file else f"nothing new within {files.NEWS:.0%}; not recorded"
    typer.echo(f"{kept} ({told})" if told else kept, err=True)


@app.command("show")
def show_command(
    file: Annotated[list[Path], typer.Argument(help="A recording; several are compared.", dir_okay=False)],
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Show a recording beside the peaks that the model derives, or several beside one another, with charts."""
    report = Report(hardware, form, output, specs)
    found = [(one, known(report, one.machine)) for each in file for one in read_all(each)]
    shown = beside(found) if len(found) > 1 else account(*found[0], drawn=True)
    deliver(shown, report.form, report.output)


def _pin(text: str) -> None:
    """Bind this process to `0-3,8`. Raises RooflintError."""
    if not text:
        return
    try:
        spans = [(part.split("-")[0], part.split("-")[-1]) for part in text.split(",")]
        chosen = {cpu for first, last in spans for cpu in range(int(first), int(last) + 1)}
        os.sched_setaffinity(0, chosen)
    except ValueError:
        raise RooflintError(f"--cpus: want numbers of CPUs such as 0-3,8, found '{text}'") from None
    except (OSError, AttributeError):
        raise RooflintError(f"--cpus {text}: this process may not run on such CPUs") from None


def _precisions(given: list[str] | None) -> tuple[str, ...]:
    """Names as the model spells them. Raises UnknownPrecisionError."""
    words = [word for text in given or () for word in text.split(",") if word]
    return tuple(dict.fromkeys(precision_named(word).name for word in words))


def _print(recordings: Recording | list[Recording], report: Report) -> None:
    several = [
        (one, known(report, one.machine)) for one in (recordings if isinstance(recordings, list) else [recordings])
    ]
    shown = beside(several) if len(several) > 1 else account(*several[0])
    deliver(shown, report.form, report.output)
