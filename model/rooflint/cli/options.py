"""Options that several commands share."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from rooflint.base.errors import RooflintError
from rooflint.base.files import configured
from rooflint.base.precision import precision
from rooflint.coefficients.launch_overheads import FREE, MODES
from rooflint.coefficients.library import Coefficients
from rooflint.devices.hardware import Hardware
from rooflint.devices.registry import Registry
from rooflint.energy.model import Energies
from rooflint.networks.load import network
from rooflint.networks.workload import Workload
from rooflint.prediction.predict import FIDELITIES, ROOFLINE, Setting

Format = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md, or what other parts add.")]
Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="Specs folder, instead of the project's own.", exists=True, file_okay=False),
]


def chosen(device: str, at: str, specs: list[Path] | None) -> Hardware:
    """The device that a person means, at an operating point if one is named."""
    hardware = registry(specs).find(device)
    return hardware.at(at) if at else hardware


def registry(specs: list[Path] | None) -> Registry:
    """Given folders, or those of the project around us, in front of the packaged specs."""
    return Registry.of(specs or configured("rooflint_specs"))


# ---- What a user asks of a network on devices: options that `compare`, `analyze`, `models` and `sweep` share, resolv

EXAMPLES = {
    "cpu": "intel/xeon-8490h",
    "gpu": "nvidia/h100-sxm5-80gb",
    "tpu": "google/tpu-v4",
    "kpu": "stillwater/kpu-t256",
}
"""One device of each kind, for a kind that is named and for a question that names none."""

DEFAULT_PRECISION, DEFAULT_LAUNCH = "bf16", "stream"

Network = Annotated[
    str, typer.Argument(help="Network of torchvision (resnet18), package.module:factory, or a .pt2 program.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--hardware",
        "-d",
        help="Ids, unique parts, globs or kinds, with commas or repeated; t4, 'nvidia/l*', orin@30w.",
    ),
]
Mode = Annotated[str, typer.Option("--at", help="Operating point of all devices, such as 30w; or say DEVICE@30w.")]
Batch = Annotated[int, typer.Option("--batch", "-b", help="Samples that run together.", min=1)]
Compute = Annotated[str, typer.Option("--precision", "-p", help="Precision of the arithmetic, in any case.")]
Storage = Annotated[str, typer.Option("--storage", help="Precision of what is moved, if not that of the arithmetic.")]
Fuse = Annotated[bool, typer.Option("--fuse/--no-fuse", help="Run element-wise ops in the kernels of their producers.")]
Launch = Annotated[str, typer.Option("--launch", help=f"How kernels are launched: {', '.join(MODES)}, or {FREE}.")]
Fidelity = Annotated[
    str, typer.Option("--fidelity", help="Latencies of the roofline, or of silicon where a GPU has what they need.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; its suffix names the format.")]
Form = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md or html.")]
Shape = Annotated[str, typer.Option("--input", help="Shape of the input, batch first, such as 1,3,224,224.")]


def setting_of(
    compute: str, storage: str = "", fuse: bool = False, launch: str = "stream", fidelity: str = ROOFLINE
) -> Setting:
    """Precisions in any case, a mode of launching, a fidelity. Raises RooflintError for one that there is not."""
    if launch not in (*MODES, FREE):
        raise RooflintError(f"unknown way of launching '{launch}' (known: {', '.join((*MODES, FREE))})")
    if fidelity not in FIDELITIES:
        raise RooflintError(f"--fidelity: want {' or '.join(FIDELITIES)}, found '{fidelity}'")
    kept = precision(storage).name if storage else None
    return Setting(precision(compute).name, kept, fuse, launch, fidelity)


def workload_of(name: str, batch: int, shape: str = "") -> Workload:
    """The table of a network at a batch. Raises RooflintError.

    The batch of a shape is only that of the capture; the one that is asked for is made of it.
    """
    return network(name, _shapes(shape)).at_batch(batch)


def _shapes(text: str) -> list[list[int]]:
    if not text:
        return []
    try:
        return [[int(size) for size in text.split(",")]]
    except ValueError:
        raise RooflintError(f"--input: want sizes with commas, such as 1,3,224,224, found '{text}'") from None


def repeated(batch: int, setting: Setting, at: str = "") -> str:
    """The options of a run that differ from the defaults, as a user types them."""
    options = {
        "-b": str(batch) if batch > 1 else "",
        "-p": setting.compute if setting.compute != DEFAULT_PRECISION else "",
        "--storage": setting.storage or "",
        "--launch": setting.launch if setting.launch != DEFAULT_LAUNCH else "",
        "--fidelity": setting.fidelity if setting.fidelity != ROOFLINE else "",
        "--at": at,
    }
    typed = "".join(f" {name} {value}" for name, value in options.items() if value)
    return typed + (" --fuse" if setting.fuse else "")


def energies_of(specs: list[Path] | None) -> tuple[Registry, Energies]:
    """The devices of the project, and the coefficients of energy."""
    devices = registry(specs)
    return devices, Energies(Coefficients(devices))


def devices_of(registry_: Registry, asked: Iterable[str] | None, at: str = "") -> list[Hardware]:
    """Devices in the order in which they were asked for, each once; one of each kind if nobody asked.

    Raises RooflintError for a name that no device answers to, and for a part that is not unique.
    """
    words = [word.strip() for text in asked or () for word in text.split(",") if word.strip()] or list(EXAMPLES)
    found: dict[tuple[str, str | None], Hardware] = {}
    for word in words:
        name, _, mode = word.partition("@")
        for hardware in _named(registry_, name):
            placed = hardware.at(mode or at) if mode or at else hardware
            found.setdefault((placed.id, placed.mode), placed)
    return list(found.values())


def device_of(registry_: Registry, name: str, at: str = "") -> Hardware:
    """The one device that a name means. Raises RooflintError where it means several or none."""
    found = devices_of(registry_, [name], at)
    if len(found) != 1:
        raise RooflintError(f"'{name}' means {len(found)} devices; want one")
    return found[0]


def _named(registry_: Registry, name: str) -> Iterator[Hardware]:
    if name.lower() in EXAMPLES:
        yield registry_.get(EXAMPLES[name.lower()])
    elif any(sign in name for sign in "*?["):
        matches = registry_.match(name)
        if not matches:
            raise RooflintError(f"no device matches '{name}' ({len(registry_.ids())} are known)")
        yield from map(registry_.get, matches)
    else:
        yield registry_.find(name)
