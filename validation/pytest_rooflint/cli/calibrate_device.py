"""`rooflint calibrate device`: adjust three figures to products measured on one GPU, and print the benefit."""

from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.recordings import files
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_whole
from rooflint.base.precision import precision as precision_named
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import KINDS, Hardware
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.output.deliver import deliver
from rooflint_calibration import anchors, package
from rooflint_calibration.device_answer import Found, answer, published_answer
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import TOPICS
from rooflint_measure.record import Recording, read

File = Annotated[Path | None, typer.Argument(help="A recording of a GPU (rooflint measure anchors, record).")]


def device(
    file: File = None,
    published: Annotated[
        bool, typer.Option("--published", help="Without a recording: every published GPU by its own rows.")
    ] = False,
    hardware: Annotated[str, typer.Option("--hardware", help="Exact id of the device, if its name is ambiguous.")] = "",
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="bf16 or fp16; by default the first in the recording.")
    ] = "",
    save: Annotated[Path | None, typer.Option(help="YAML for rooflint explain gemm --calibration.")] = None,
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Adjust launch, matrix units and memory of one GPU to its own null, peak and streaming products."""
    known = registry(specs)
    if published or file is None:
        if not published or file is not None or save is not None:
            raise RooflintError("want a recording of a GPU, or --published by itself")
        deliver(published_answer(_published(known)), form, output)
        return
    recording = read(file)
    found = _found(file, recording, hardware, precision, known)
    deliver(answer(found), form, output)
    if save:
        _save(save, found, recording, known)


def _save(file: Path, found: Found, recording: Recording, known: Registry) -> None:
    device = found.hardware.id
    text = anchors.calibration_text(found.own, found.anchors, device, found.precision, recording, constants_file(known))
    anchors.check_calibration(file, text)
    try:
        write_whole(file, text)
    except OSError as error:
        raise RooflintError(f"{file}: cannot be written ({error.strerror})") from None
    typer.echo(f"wrote {file}: rooflint explain gemm … -d {device} --calibration {file}", err=True)


def _found(file: Path, recording: Recording, stated: str, precision: str, known: Registry) -> Found:
    """The figures of a recording. Raises RooflintError for one without anchors."""
    device = _device(file, recording, stated, known)
    name = anchors.precision_of(file, recording, precision and precision_named(precision).name)
    products = anchors.of_recording(recording, name)
    chip = chip_of(device, name, Coefficients(known).launches())
    shared = anchors.Setting(chip, constants_file(known).constants, name)
    found, why = _benefit(device, name, products, known)
    return Found(
        hardware=device,
        precision=name,
        anchors=products,
        shared=shared,
        own=anchors.own_figures(products, shared),
        missing=tuple(anchors.missing(recording, name)),
        disturbed=tuple(row.name for row in anchors.recorded(recording, name) if not row.samples.quiet_s),
        benefit=found,
        no_benefit=why,
    )


def _device(file: Path, recording: Recording, stated: str, known: Registry) -> Hardware:
    """The GPU of a recording. Raises RooflintError for a CPU, and for an ambiguous name."""
    machine = recording.machine
    if not KINDS[machine.kind].has_kernel_models:
        raise RooflintError(
            f"{shown(file)}: want a recording of a GPU, found one of a {machine.kind} ({machine.device}); "
            "kernel times are modelled for GPUs only"
        )
    found = files.stated(stated, known) if stated else files.identified(machine, known)
    if found is None:
        raise RooflintError(f"{shown(file)}: cannot identify '{machine.device}'; add --hardware ID")
    return found


def _benefit(device: Hardware, precision: str, products: Rows, known: Registry) -> tuple[anchors.Benefit | None, str]:
    """Errors on published rows of the device, or why there are none."""
    if device.id not in package.FAMILY_OF or precision != TOPICS["gemm"].precision:
        return None, f"no {precision} products of {device.label} are published; --published shows other GPUs"
    try:
        data = package.data_folder()
        return anchors.benefit(device.id, data, known, constants_file(known), lambda published: products), ""
    except package.NotInstalledError as error:
        return None, f"published products of {device.label} cannot be read: {error}"


def _published(known: Registry) -> dict[str, anchors.Benefit]:
    """Of every published device, with anchors among its rows. Raises NotInstalledError."""
    file, data = constants_file(known), package.data_folder()
    return {name: anchors.benefit(name, data, known, file) for name in package.FAMILY_OF}
