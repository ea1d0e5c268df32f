"""Pointwise: kernels of known bytes, each a stream: quantise, element-wise, normalisation, softmax.

All take the ramp that was calibrated on quantise kernels; `calibrated` says which of them were measured at all.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rooflint.kernels import stream
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Stream
from rooflint.kernels.shapes import Numbers

MEASURED = "calibrated on quantise kernels of Hopper, Ada and Blackwell"
SAME_RAMP = "not calibrated: takes the ramp of quantise kernels"


class Kernel(NamedTuple):
    """What a kernel moves of each element of its tensor."""

    reads: int
    """Tensors of that many elements that are read; a row that stays in registers is read once."""
    writes: int
    """Tensors that are written."""
    calibrated: str
    """What its constants rest on."""


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "quantise": Kernel(1, 1, MEASURED),
        "unary": Kernel(1, 1, SAME_RAMP),
        "binary": Kernel(2, 1, SAME_RAMP),
        "normalisation": Kernel(1, 1, SAME_RAMP),
        "softmax": Kernel(1, 1, SAME_RAMP),
    }
)
"""Normalisation and softmax over rows that fit in an SM's shared memory; longer ones are read twice or more."""


def bytes_moved(kernel: Kernel, elements: Numbers, bytes_in: float, bytes_out: float) -> Numbers:
    """Each tensor once; bytes an element on the way in and out, 2 and 1 where bf16 becomes fp8. [B]"""
    return elements * (kernel.reads * bytes_in + kernel.writes * bytes_out)


def latency_s(
    kernel: Kernel,
    elements: Numbers,
    chip: Chip,
    constants: Stream,
    *,
    bytes_in: float,
    bytes_out: float,
    warm: bool = False,
) -> Numbers:
    """One kernel of a graph. [s]"""
    return stream.latency_s(bytes_moved(kernel, elements, bytes_in, bytes_out), chip, constants, warm=warm)
