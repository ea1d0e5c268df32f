"""`rooflint calibrate device`: what a few products of the user's own GPU say of it, and what that buys."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_whole
from rooflint.cli import options
from rooflint.cli.options import Specs, registry
from rooflint.output.deliver import deliver

if TYPE_CHECKING:
    from rooflint.devices.hardware import Hardware
    from rooflint.devices.registry import Registry
    from rooflint_calibration.anchored import Anchors
    from rooflint_calibration.device_answer import Found
    from rooflint_calibration.gain import Gains
    from rooflint_measure.record.recording import Recording

File = Annotated[Path | None, typer.Argument(help="A recording of a GPU (rooflint measure anchors, record).")]


def device_command(
    file: File = None,
    published: Annotated[
        bool, typer.Option("--published", help="Instead of a recording: every published GPU by its own rows.")
    ] = False,
    hardware: Annotated[
        str, typer.Option("--hardware", help="Exact id of the device, if its name does not tell it.")
    ] = "",
    precision: Annotated[str, typer.Option("--precision", "-p", help="bf16 or fp16; the first that there is.")] = "",
    save: Annotated[Path | None, typer.Option(help="YAML for rooflint explain gemm --calibration.")] = None,
    form: options.Form = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Set launch, matrix units and memory of one GPU by its own null, peak and streaming products."""
    from rooflint.kernels.constants import constants_file  # noqa: PLC0415
    from rooflint_calibration.calibration_text import (  # noqa: PLC0415
        checked,
        text,  # `rooflint --help` does without
    )
    from rooflint_calibration.device_answer import (  # noqa: PLC0415
        answer,
        published_answer,
    )
    from rooflint_measure.record.recording import read  # noqa: PLC0415

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
        written = text(found, recording, constants_file(known))
        checked(save, written)
        try:
            write_whole(save, written)
        except OSError as error:
            raise RooflintError(f"{save}: cannot be written ({error.strerror})") from None
        typer.echo(f"wrote {save}: rooflint explain gemm … -d {found.hardware.id} --calibration {save}", err=True)


def _found(file: Path, recording: "Recording", stated: str, precision: str, known: "Registry") -> "Found":
    """What the recording says. Raises RooflintError for one that says nothing of silicon."""
    from rooflint.base.precision import bytes_per_element  # noqa: PLC0415
    from rooflint.base.precision import precision as precision_named  # noqa: PLC0415
    from rooflint.coefficients.library import Coefficients  # noqa: PLC0415
    from rooflint.kernels.chip import chip_of  # noqa: PLC0415
    from rooflint.kernels.constants import constants_file  # noqa: PLC0415
    from rooflint_calibration import (  # noqa: PLC0415
        anchored,
        recorded_anchors,
    )
    from rooflint_calibration.device_answer import Found  # noqa: PLC0415

    device = _device(file, recording, stated, known)
    name = recorded_anchors.precision_of(file, recording, precision and precision_named(precision).name)
    rows = recorded_anchors.recorded(recording, name)
    anchors = recorded_anchors.of_recording(recording, name)
    chip = chip_of(device, name, Coefficients(known).launches())
    shared = anchored.Setting(chip, constants_file(known).constants.products, bytes_per_element(name))
    gains, why = _gains(device, name, anchors, known)
    return Found(
        device,
        name,
        anchors,
        shared,
        anchored.own_of(anchors, shared),
        tuple(recorded_anchors.missing(recording, name)),
        tuple(row.name for row in rows if not row.samples.quiet_s),
        gains,
        why,
    )


def _device(file: Path, recording: "Recording", stated: str, known: "Registry") -> "Hardware":
    """Which GPU it is of. Raises RooflintError for a CPU, and where nobody can tell."""
    from pytest_rooflint.recordings import files  # noqa: PLC0415

    machine = recording.machine
    if machine.kind != "gpu":
        raise RooflintError(
            f"{shown(file)}: want a recording of a GPU, found one of a {machine.kind} ({machine.device}); "
            "silicon is known of GPUs alone"
        )
    found = files.stated(stated, known) if stated else files.identified(machine, known)
    if found is None:
        raise RooflintError(f"{shown(file)}: no one device is called '{machine.device}'; say --hardware ID")
    return found


def _gains(device: "Hardware", precision: str, anchors: "Anchors", known: "Registry") -> "tuple[Gains | None, str]":
    """Errors on published rows of the device, or why there are none."""
    from rooflint.kernels.constants import constants_file  # noqa: PLC0415
    from rooflint_calibration import (  # noqa: PLC0415
        gain,
        package,
    )
    from rooflint_calibration.products import PRECISION  # noqa: PLC0415

    if not gain.is_published(device.id) or precision != PRECISION:
        return (
            None,
            f"no {precision} products of {device.label} are published to hold it against; --published shows others",
        )
    try:
        return gain.gain(device.id, anchors, package.data_folder(), known, constants_file(known)), ""
    except package.NotInstalledError as error:
        return None, f"published products of {device.label} to hold it against: {error}"


def _published(known: "Registry") -> "dict[str, Gains]":
    """Of every published device, by anchors among its rows. Raises NotInstalledError."""
    from rooflint.kernels.constants import constants_file  # noqa: PLC0415
    from rooflint_calibration import (  # noqa: PLC0415
        gain,
        package,
    )
    from rooflint_calibration.package import (  # noqa: PLC0415
        FAMILIES,
        devices,
    )

    file, data = constants_file(known), package.data_folder()
    return {name: gain.simulated(name, data, known, file) for family in FAMILIES for name in devices(family)}
