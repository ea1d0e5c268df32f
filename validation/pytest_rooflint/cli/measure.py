"""`rooflint measure`: stopwatches for products, memory, networks and waits, and recordings of what they say."""

import datetime
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_rooflint.cli.measure_compare import compare_command
from rooflint.base.errors import RooflintError
from rooflint.base.files import configured
from rooflint.base.precision import precision as precision_named
from rooflint.cli.options import Specs, registry
from rooflint.output.deliver import deliver

if TYPE_CHECKING:
    from pytest_rooflint.measuring.runs import Asked, Taken
    from rooflint.devices.hardware import Hardware
    from rooflint_measure.record.recording import Machine, Recording

app = typer.Typer(
    help="Measure products, memory and networks; record them.", no_args_is_help=True, add_completion=False
)
app.command("compare")(compare_command)

LIBRARIES = ("numpy", "torch", "torchvision")
WAITS_S = (20e-6, 1e-3)
"""Lengths of the busy-waits of a record. [s]"""
NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "vit_b_16")
"""Networks of a record: convolutions small and large, depthwise ones, attention."""
BATCHES = (1, 8)

Device = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:1.")]
Precisions = Annotated[
    list[str] | None, typer.Option("--precision", "-p", help="Only this precision; may be repeated, or have commas.")
]
Libraries = Annotated[list[str] | None, typer.Option("--library", help="Only this library; may be repeated.")]
Threads = Annotated[int, typer.Option(help="Threads of a library; its own choice without.", min=0)]
Seconds = Annotated[float, typer.Option(help="Seconds for each figure, about.", min=0.1, max=600.0)]
EnergyS = Annotated[float, typer.Option("--energy", help="Seconds of a metered run after each.", min=0.0, max=600.0)]
StatedId = Annotated[str, typer.Option("--hardware", help="Exact id of the device, if its name does not tell it.")]
Form = Annotated[str, typer.Option("--format", "-f", help="text, json (a recording), csv, md or html.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; its suffix names the format.")]
CacheMb = Annotated[float, typer.Option("--cache", help="Last-level cache in MB, if the system does not say.", min=0.0)]


@dataclass(frozen=True)
class Told:
    """Where an account goes, and what the device is said to be."""

    hardware: str
    form: str
    output: Path | None
    specs: list[Path] | None


@app.command("wait")
def wait_command(
    microseconds: Annotated[list[float] | None, typer.Argument(help="Lengths; 20 and 1000 without.")] = None,
    seconds: Seconds = 2.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Time busy-waits, and hold the stopwatch against what the wait itself says."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415  # `rooflint --help` does without

    lengths = [length * 1e-6 for length in microseconds] if microseconds else [*WAITS_S]
    if wrong := [length for length in lengths if not 0 < length <= 60]:
        raise RooflintError(f"want a wait above 0 and up to 60 s, found {wrong[0]:g} s")
    asked = runs.Asked(seconds=seconds)
    _tell(_measured(asked, lambda taken: runs.waits(asked, lengths, taken)), Told(hardware, form, output, specs))


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
    """Find the size at which each library multiplies fastest in each precision, and measure there."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415

    asked = runs.Asked(device, _precisions(precision), tuple(library or ()), threads, seconds, energy)
    _tell(_measured(asked, lambda taken: runs.gemms(asked, taken)), Told(hardware, form, output, specs))


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
    """Stream through arrays that no cache holds: copy, scale, triad and read, as bytes over time."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415

    asked = runs.Asked(device, (), tuple(library or ()), threads, seconds, energy)
    size = round(cache * 1e6) or None
    _tell(_measured(asked, lambda taken: runs.streams(asked, taken, size)), Told(hardware, form, output, specs))


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
    """Time the few products of a GPU that `rooflint calibrate device` reads: null, peak, streaming."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415

    if device == "cpu":
        raise RooflintError("--device: want cuda or cuda:1, found 'cpu'; anchors calibrate silicon, which is for GPUs")
    asked = runs.Asked(device, _precisions(precision), (), 0, seconds)
    _tell(_measured(asked, lambda taken: runs.anchored(asked, taken)), Told(hardware, form, output, specs))


@app.command("network")
def network_command(
    names: Annotated[list[str], typer.Argument(help="Networks of torchvision, such as resnet18.")],
    device: Device = "cpu",
    precision: Precisions = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", "-b", help="May be repeated.", min=1)] = None,
    channels_last: Annotated[bool, typer.Option("--channels-last", help="Channels innermost in memory.")] = False,
    compiled: Annotated[bool, typer.Option("--compile", help="Through torch.compile.")] = False,
    graph: Annotated[bool, typer.Option("--graph", help="Replay as a CUDA graph.")] = False,
    flush: Annotated[bool, typer.Option("--flush", help="Empty the last-level cache before each call.")] = False,
    threads: Threads = 0,
    seconds: Seconds = 10.0,
    energy: EnergyS = 0.0,
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Time networks of torchvision, in turn with the fastest product of the same precision."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415

    asked = runs.Asked(device, _precisions(precision), (), threads, seconds, energy)
    sweep = runs.Sweep(tuple(names), tuple(batch or (1,)), channels_last, compiled, graph, flush)
    _tell(_measured(asked, lambda taken: runs.networks(asked, sweep, taken)), Told(hardware, form, output, specs))


@app.command("record")
def record_command(
    device: Device = "cpu",
    precision: Precisions = None,
    network: Annotated[list[str] | None, typer.Option(help=f"Instead of {', '.join(NETWORKS)}.")] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", "-b", help="Instead of 1 and 8.", min=1)] = None,
    threads: Threads = 0,
    seconds: Seconds = 10.0,
    energy: EnergyS = 5.0,
    hardware: StatedId = "",
    golden: Annotated[Path | None, typer.Option(help="Golden folder, instead of the project's own.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the account.")] = None,
    specs: Specs = None,
) -> None:
    """Measure everything, add a recording to golden/measured/DEVICE and print its account in Markdown."""
    from pytest_rooflint.measuring import runs  # noqa: PLC0415
    from pytest_rooflint.recordings.files import UNKNOWN  # noqa: PLC0415
    from rooflint_measure.record.recording import write  # noqa: PLC0415

    folder = _golden(golden) / "measured"
    asked = runs.Asked(device, _precisions(precision), (), threads, seconds, energy)
    sweep = runs.Sweep(tuple(network or NETWORKS), tuple(batch or BATCHES))
    told = Told(hardware, "md", output, specs)
    # what would fail at the end is said before an hour of measuring, not after
    _stated(told)
    _writable(folder)

    def all_of_it(taken: "Taken") -> None:
        runs.waits(asked, WAITS_S, taken)
        runs.gemms(asked, taken)
        runs.streams(asked, taken)
        runs.anchored(asked, taken)
        runs.networks(asked, sweep, taken)

    found = _measured(asked, all_of_it)
    known = _known(told, found.machine)
    file = write(folder / (known.id if known else UNKNOWN), found)
    _tell(found, told)
    typer.echo(f"recorded in {file}", err=True)


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
    file: Annotated[Path, typer.Argument(help="A recording.", dir_okay=False)],
    hardware: StatedId = "",
    form: Form = "",
    output: Output = None,
    specs: Specs = None,
) -> None:
    """Show a recording beside what the model derives."""
    from rooflint_measure.record.recording import read  # noqa: PLC0415

    _tell(read(file), Told(hardware, form, output, specs))


def _precisions(asked: list[str] | None) -> tuple[str, ...]:
    """Names as the model spells them. Raises UnknownPrecisionError."""
    words = [word for text in asked or () for word in text.split(",") if word]
    return tuple(dict.fromkeys(precision_named(word).name for word in words))


def _measured(asked: "Asked", run: "Callable[[Taken], None]") -> "Recording":
    """A recording of what a run brings. Raises RooflintError where it brings nothing."""
    from pytest_rooflint.measuring.runs import (  # noqa: PLC0415
        Taken,
        prepare,
    )
    from rooflint_measure.record.recording import Recording  # noqa: PLC0415
    from rooflint_measure.stopwatches.conditions import observer  # noqa: PLC0415

    prepare(asked)
    began = datetime.datetime.now(datetime.UTC)
    taken = Taken(observer(asked.device), _progress)
    run(taken)
    if not taken.measurements:
        reasons = "; ".join(f"{what}: {why}" for what, why in taken.left_out.items())
        raise RooflintError(f"nothing was measured ({reasons or 'nothing that is installed was asked for'})")
    return Recording(
        taken=began.replace(microsecond=0),
        command=_typed(),
        rooflint=version("rooflint"),
        commit=_commit(),
        machine=taken.observer.machine(_versions()),
        measurements=tuple(taken.measurements),
        left_out=taken.left_out,
    )


def _tell(recording: "Recording", told: Told) -> None:
    from pytest_rooflint.measuring.account import account  # noqa: PLC0415

    deliver(account(recording, _known(told, recording.machine)), told.form, told.output)


def _known(told: Told, machine: "Machine") -> "Hardware | None":
    """What is stated, else what the machine's own name means exactly."""
    from pytest_rooflint.recordings.files import identified  # noqa: PLC0415

    return _stated(told) or identified(machine, registry(told.specs))


def _stated(told: Told) -> "Hardware | None":
    """What is stated by hand. Raises RooflintError."""
    from pytest_rooflint.recordings.files import stated  # noqa: PLC0415

    return stated(told.hardware, registry(told.specs)) if told.hardware else None


def _golden(given: Path | None) -> Path:
    """The folder of a project's golden files. Raises RooflintError where nobody names one."""
    folders = [given] if given else configured("rooflint_golden")
    if not folders:
        raise RooflintError("want --golden FOLDER, or a project whose pyproject.toml names rooflint_golden")
    if not folders[0].is_dir():
        raise RooflintError(f"{folders[0]}: want the folder of golden files, found none")
    return folders[0]


def _progress(name: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"… {name}", err=True)


def _typed() -> str:
    """The command without folders, which tell who owns the machine."""
    return shlex.join(["rooflint", *map(_placeless, sys.argv[1:])])


def _placeless(word: str) -> str:
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
    """Of the checkout that the stopwatches run from; an installed package has none."""
    import rooflint_measure  # noqa: PLC0415
    from rooflint_measure.identity.machine import commit  # noqa: PLC0415

    folder = Path(rooflint_measure.__file__).parent
    if not (folder.parents[1] / "pyproject.toml").is_file():
        return None
    found = commit(folder)
    return f"{found['commit']}{' with changes' if found['dirty'] else ''}" if found else None
