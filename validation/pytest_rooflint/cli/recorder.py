"""What the commands that measure share: observed runs, recordings of their results, and the device that they are of."""

import datetime
import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile

import typer

import rooflint_measure
from pytest_rooflint.recordings import files, runs
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError
from rooflint.base.git import state_of
from rooflint.base.project import NO_GOLDEN, configured
from rooflint.hardware.device import Hardware
from rooflint_measure.record import Measurement
from rooflint_measure.recording import Machine, Recording
from rooflint_measure.sensors.observer import observer

LIBRARIES = ("numpy", "torch", "torchvision", "transformers")


@dataclass(frozen=True)
class Report:
    """Where the account of a recording goes, and which device it is about."""

    hardware: str
    form: str
    output: Path | None
    specs: list[Path] | None


def measured(
    request: runs.Request,
    run: Callable[[runs.Results], None],
    begin: Callable[[runs.Results], None] = lambda _: None,
    hung: Callable[[], None] = lambda: None,
    grace_s: float = 0.0,
) -> Recording:
    """A recording of the results of a run, which ends with its budget. Raises RooflintError where there are none.

    `run` is called twice: its figures are counted, then measured. `begin` is called once before, and `hung` where a
    call does not return so long after the budget. [s]
    """
    runs.prepare(request)
    began = datetime.datetime.now(datetime.UTC)
    results = runs.Results(
        observer(request.device), progress, tell=tell, failing=lambda: runs.failing(request), budget_s=request.budget_s
    )

    def whole() -> None:
        begin(results)
        results.count(lambda: run(results))
        run(results)

    with runs.deadline(request.budget_s, hung, grace_s):
        results.take(whole)
    results.tell_rest()
    return recording(began, results.observer.machine(versions()), results.measurements, results.left_out)


def recording(
    began: datetime.datetime, machine: Machine, measurements: Sequence[Measurement], left_out: Mapping[str, str]
) -> Recording:
    """A recording by this command and these stopwatches. Raises RooflintError where nothing was measured."""
    if not measurements:
        alike = {why: [name for name, said in left_out.items() if said == why] for why in left_out.values()}
        reasons = "; ".join(f"{', '.join(names)}: {why}" for why, names in alike.items())
        raise RooflintError(f"nothing was measured ({reasons or 'no installed library matches the options'})")
    return Recording(
        taken=began.replace(microsecond=0),
        command=_command_line(),
        rooflint=version("rooflint"),
        commit=_commit(),
        machine=machine,
        measurements=tuple(measurements),
        left_out=left_out,
    )


def known(report: Report, machine: Machine) -> Hardware | None:
    """The device of --hardware, or else the one that the machine's own name means exactly."""
    return stated(report) or files.identified(machine, registry(report.specs))


def stated(report: Report) -> Hardware | None:
    """The device of --hardware. Raises RooflintError."""
    return files.stated(report.hardware, registry(report.specs)) if report.hardware else None


def golden_folder(given: Path | None) -> Path:
    """The folder of a project's golden files. Raises RooflintError where none is configured."""
    folders = [given] if given else configured("rooflint_golden")
    if not folders:
        raise RooflintError(NO_GOLDEN)
    if not folders[0].is_dir():
        raise RooflintError(f"{folders[0]}: no such folder; create it, or name the folder of golden files")
    return folders[0]


def place_of(folder: Path, hardware: Hardware | None, machine: Machine) -> Path:
    """The folder of a device's recordings within that of all; a slice of a device is another one."""
    is_known = hardware is not None and files.slice_of(hardware, machine) is None
    return folder / (hardware.id if hardware and is_known else files.UNKNOWN)


def writable(folder: Path) -> None:
    """Raise RooflintError for a folder that cannot be made, or in which no file can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RooflintError(f"{folder}: cannot be written ({error.strerror})") from None


def budget_s(text: str) -> float:
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


def progress(name: str) -> None:
    """Say on a terminal what is measured now."""
    if sys.stderr.isatty():
        typer.echo(f"… {name}", err=True)


def tell(line: str) -> None:
    """Write a line to standard error."""
    typer.echo(line, err=True)


def _command_line() -> str:
    """The command without folders, which may name the machine's owner."""
    return shlex.join(["rooflint", *map(_without_folder, sys.argv[1:])])


def _without_folder(word: str) -> str:
    """`--golden=/home/me/golden` is `--golden=golden`."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{option}{equals}{Path(value).name if Path(value).is_absolute() else value}"


def versions() -> dict[str, str]:
    """Those of the libraries that are installed."""
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
