"""Calibrated times of single GPU kernels: the question of `rooflint explain`, with arrays in and arrays out."""

from pathlib import Path
from typing import Any

from rooflint.api.devices import Specs, hardware_of, registry
from rooflint.base.precision import precision as precision_named
from rooflint.hardware.device import Hardware
from rooflint.kernels import dispatch
from rooflint.kernels.dispatch import DeviceKernel
from rooflint.kernels.shapes import COLD, Numbers


def kernel(
    op: str,
    on: str | Hardware,
    *,
    precision: str = "bf16",
    copies: Numbers | float = COLD,
    calibration: Path | str | None = None,
    sustained: bool = False,
    at: str = "",
    specs: Specs = None,
    **sizes: Any,
) -> DeviceKernel:
    """Kernels of one kind on a GPU, one for each entry of the sizes, which are broadcast against one another.

        kernel("gemm", "h100-sxm5", m=4096, n=[1, 8, 64], k=8192, precision="fp8").seconds

    Args:
        op: `gemm` (m, n, k, batch), `convolution`, `attention`, `decode`, `stream` or `quantise`.
        on: a device, or its name.
        precision: of the arithmetic.
        copies: sets of weights that take turns, as in a benchmark; by default none is left in L2.
        calibration: figures of your own machine, as `rooflint calibrate device --save` writes them.
        sustained: as kernels of a run of minutes, whose power is held, as networks are predicted; else of a burst.
        at: operating point, such as `30w`.
        specs: folders of specs, in front of the packaged ones.
        sizes: of the op, and its options, such as `scale="block"` of FP8 products.

    The result has `seconds`, `terms` (seconds by term), `floor_s` (the roofline), `error_band` (held-out error),
    `regime_notes` (that of ops like these) and `caveats`. Raises RooflintError for an unknown op, size or option, and
    for a device that lacks a fact.
    """
    known = registry(specs)
    name, file = precision_named(precision).name, Path(calibration) if calibration else None
    device = hardware_of(known, on, at)
    return dispatch.kernel(
        op, device, known, precision=name, copies=copies, calibration=file, sustained=sustained, **sizes
    )
