"""The text of a calibration: what `rooflint explain gemm --calibration` reads."""

from collections.abc import Iterator
from pathlib import Path

from rooflint.base.errors import InputError, RooflintError
from rooflint.devices.spec_files import read_spec
from rooflint.kernels.constants import ConstantsFile
from rooflint.kernels.device_calibration import DeviceCalibrationSpec
from rooflint_calibration.anchored import SPREADS
from rooflint_calibration.device_answer import Found
from rooflint_measure.record.recording import Recording
from rooflint_measure.stopwatches.anchors import Kind

KEYS: dict[str, Kind] = {"launch": "null", "matrix_factor": "peak", "dram_efficiency": "streaming"}


def text(found: Found, recording: Recording, file: ConstantsFile) -> str:
    """The whole file. Texts are quoted, as a driver may name a device as it likes."""
    fit, machine = file.fit(), recording.machine.device.replace('"', "'")
    document = f"recording of {machine}, {recording.file_name}"
    lines = [
        "# Written by rooflint calibrate device for rooflint explain gemm --calibration: of one machine, and no spec.",
        f'name: "{machine}"',
        f"hardware: {found.hardware.id}",
        f"precision: {found.precision}",
        "sources:",
        f'  recording: {{document: "{document}", grade: device}}',
        f'corrects: {{package: "{fit.package}", day: "{fit.day}"}}',
        *_facts(found),
    ]
    return "\n".join(lines) + "\n"


def checked(file: Path, text: str) -> None:
    """Refuse figures that no machine has, which nobody could read again. Raises RooflintError."""
    try:
        read_spec(file, DeviceCalibrationSpec, text)
    except InputError as error:
        said = "; ".join(problem.message for problem in error.problems)
        raise RooflintError(f"{file}: not written, as what was measured is of no such GPU: {said}") from None


def _facts(found: Found) -> Iterator[str]:
    values = {
        "launch": None if found.own.launch_s is None else f"{found.own.launch_s * 1e6:.4g} us",
        "matrix_factor": _digits(found.own.matrix_factor),
        "dram_efficiency": _digits(found.own.dram_efficiency),
    }
    for key, value in values.items():
        if value is not None:
            few = found.anchors.of(KEYS[key])
            products = ", ".join("×".join(map(str, size)) for size in few.sizes)
            weight = SPREADS[KEYS[key]].weight(len(few))
            yield f'{key}: [{value}, recording, "{products}; weight {weight:.0%}"]'


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"
