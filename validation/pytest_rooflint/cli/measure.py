"""`rooflint measure`: stopwatches for products, memory, networks and waits, and recordings of their results."""

import datetime
import math
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer

import rooflint_measure
from pytest_rooflint.cli.versions import compare_command
from pytest_rooflint.recordings import baselines, files, network_runs, runs
from pytest_rooflint.recordings.account import account, beside
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.git import state_of
from rooflint.base.precision import precision as precision_named
from rooflint.base.project import configured, project_root
from rooflint.base.text import sanitized
from rooflint.cli.options import Past, Prompt, Shape, Specs, shapes_of
from rooflint.hardware.device import Hardware
from rooflint.output.deliver import deliver
from rooflint_measure.record import Machine, Recording, read, write
from rooflint_measure.sensors.observer import observer
from rooflint_measure.stopwatches.network import MODES
from rooflint_report.evidence import add

app = typer.Typer(
    help="Measure products, memory and networks; record them.", no_args_is_help=True, add_completion=False
)

app.command("compare")(compare_command)

BASELINES = Path("validation/baselines")
LIBRARIES = ("numpy", "torch", "torchvision")
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
    list[str] | None, typer.Option("--precision", "-p", help="Only this precision; repeatable, or separated by commas.")
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
        add(evidence, "benchmarks", found)
    typer.echo(sanitized(found.text))
    raise typer.Exit(int(found.is_red))


# ---- stopwatches and recordings


@dataclass(frozen=True)
class Report:
    """Where the account of a recording goes, and which device it is about."""

    hardware: str
    form: str
    output: Path | None
    specs: list[Path] | None


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
        _measured(request, lambda results: runs.waits(request, lengths, results)), Report(hardware, form, output, specs)
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
    _print(_measured(request, lambda results: runs.gemms(request, results)), Report(hardware, form, output, specs))


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
        _measured(request, lambda results: runs.streams(request, results, size)), Report(hardware, form, output, specs)
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
    _print(
        _measured(request, lambda results: runs.gpu_anchors(request, results)), Report(hardware, form, output, specs)
    )


@app.command("network")
def network_command(
    names: Annotated[
        list[str],
        typer.Argument(help="Names that compare takes: resnet18, bert-base, file.py:factory, config.json, model.pt2."),
    ],
    device: Devices = None,
    precision: Precisions = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", "-b", help="Batch size; repeatable.", min=1)] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode", help=f"How it is run: {', '.join(MODES)}, attention=flash, or all; a+b is both at once."
        ),
    ] = None,
    channels_last: Annotated[
        bool, typer.Option("--channels-last", help="Use the channels-last memory format, in every mode.")
    ] = False,
    compiled: Annotated[bool, typer.Option("--compile", help="Compile with torch.compile, in every mode.")] = False,
    graph: Annotated[bool, typer.Option("--graph", help="Replay as a CUDA graph, in every mode.")] = False,
    flush: Annotated[bool, typer.Option("--flush", help="Empty the last-level cache before each call.")] = False,
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
    sweep = network_runs.Sweep(tuple(names), batches, tuple(modes), flush, prompt, past, shapes)
    _pin(cpus)
    found = []
    for one in device or ["cpu"]:
        request = runs.Request(one, _precisions(precision), (), threads, seconds, energy, _budget(budget))
        found.append(_measured(request, partial(network_runs.networks, request, sweep)))
    _print(found, Report(hardware, form, output, specs))


@app.command("record")
def record_command(
    device: Device = "cpu",
    precision: Precisions = None,
    network: Annotated[list[str] | None, typer.Option(help=f"Networks instead of {', '.join(NETWORKS)}.")] = None,
    batch: Annotated[
        list[int] | None, typer.Option("--batch", "-b", help="Batch sizes instead of 1 and 8; repeatable.", min=1)
    ] = None,
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
    folder = _golden(golden) / "measured"
    request = runs.Request(device, _precisions(precision), (), threads, seconds, energy, _budget(budget))
    sweep = network_runs.Sweep(tuple(network or NETWORKS), tuple(batch or BATCHES))
    report = Report(hardware, "md", output, specs)
    # what would fail at the end fails before an hour of measuring
    _stated(report)
    _writable(folder)

    def everything(results: runs.Results) -> None:
        runs.waits(request, WAITS_S, results)
        runs.gemms(request, results)
        runs.streams(request, results)
        runs.gpu_anchors(request, results)
        network_runs.networks(request, sweep, results)

    found = _measured(request, everything)
    known = _known(report, found.machine)
    place = folder / (known.id if known else files.UNKNOWN)
    told = files.news(found, place)
    file = None if only_news and not told else write(place, found)
    _print(found, report)
    kept = f"recorded in {file}" if file else f"nothing new within {files.NEWS:.0%}; not recorded"
    typer.echo(f"{kept} ({told})" if told else kept, err=True)


def _writable(folder: Path) -> None:
    """Raise RooflintError for a folder that cannot be made, or in which no file can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RooflintError(f"{folder}: cannot be written ({error.strerror})") from None


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
    found = [(one, _known(report, one.machine)) for one in map(read, file)]
    shown = beside(found) if len(found) > 1 else account(*found[0], drawn=True)
    deliver(shown, report.form, report.output)


def _budget(text: str) -> float:
    """`10m`, `90s`, `1h` in seconds; without any, all the time. Raises RooflintError. [s]"""
    if not text:
        return math.inf
    number, unit = text[:-1], text[-1:]
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except (ValueError, KeyError):
        seconds = 0.0
    if not 0 < seconds <= 24 * 3600:
        raise RooflintError(f"--budget: want a time such as 90s, 10m or 1h, up to 24h, found '{text}'")
    return seconds


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


def _measured(request: runs.Request, run: Callable[[runs.Results], None]) -> Recording:
    """A recording of the results of a run. Raises RooflintError where there are none."""
    runs.prepare(request)
    began = datetime.datetime.now(datetime.UTC)
    results = runs.Results(
        observer(request.device), _progress, _tell, failing=lambda: runs.failing(request), budget_s=request.budget_s
    )
    run(results)
    if not results.measurements:
        reasons = "; ".join(f"{what}: {why}" for what, why in results.left_out.items())
        raise RooflintError(f"nothing was measured ({reasons or 'no installed library matches the options'})")
    return Recording(
        taken=began.replace(microsecond=0),
        command=_command_line(),
        rooflint=version("rooflint"),
        commit=_commit(),
        machine=results.observer.machine(_versions()),
        measurements=tuple(results.measurements),
        left_out=results.left_out,
    )


def _print(recordings: Recording | list[Recording], report: Report) -> None:
    several = [
        (one, _known(report, one.machine)) for one in (recordings if isinstance(recordings, list) else [recordings])
    ]
    shown = beside(several) if len(several) > 1 else account(*several[0])
    deliver(shown, report.form, report.output)


def _known(report: Report, machine: Machine) -> Hardware | None:
    """The device of --hardware, or else the one that the machine's own name means exactly."""
    return _stated(report) or files.identified(machine, registry(report.specs))


def _stated(report: Report) -> Hardware | None:
    """The device of --hardware. Raises RooflintError."""
    return files.stated(report.hardware, registry(report.specs)) if report.hardware else None


def _golden(given: Path | None) -> Path:
    """The folder of a project's golden files. Raises RooflintError where none is configured."""
    folders = [given] if given else configured("rooflint_golden")
    if not folders:
        raise RooflintError("want --golden FOLDER, or a project whose pyproject.toml names rooflint_golden")
    if not folders[0].is_dir():
        raise RooflintError(f"{folders[0]}: want the folder of golden files, found none")
    return folders[0]


def _progress(name: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"… {name}", err=True)


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _command_line() -> str:
    """The command without folders, which may name the machine's owner."""
    return shlex.join(["rooflint", *map(_without_folder, sys.argv[1:])])


def _without_folder(word: str) -> str:
    """`--golden=/home/me/golden` is `--golden=golden`."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{option}{equals}{Path(value).name if Path(value).is_absolute() else value}"


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The commit of the checkout that the stopwatches run from; an installed package has none."""
    folder = Path(rooflint_measure.__file__).parent
    if not (folder.parents[1] / "pyproject.toml").is_file():
        return None
    found = state_of(folder)
    return f"{found['commit']}{' with changes' if found['dirty'] else ''}" if found else None
