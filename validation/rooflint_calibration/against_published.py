"""Predictions for the rows of a published table, with the table's way of timing."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import refuse
from rooflint.base.precision import bytes_per_element
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware, UndisclosedError, UnsupportedError
from rooflint.hardware.registry import Registry, UnknownDeviceError
from rooflint.kernels import convolution, gemm
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants, constants_file
from rooflint.kernels.convolution import Sizes
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.kernel import Kernel, Work
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint_calibration.published import OPTIONAL, OpName, Published
from rooflint_calibration.topics import PRODUCT, product_regime

Mask = NDArray[np.bool_]

RAN = "winograd"
"""The column that says which algorithm was run."""

LARGE_BYTES, SMALL_BYTES = 100e6, 1e6
"""Bytes of large and small streams: no measured L2 holds the first, all hold the second. [B]"""

STREAMS: Mapping[OpName, int] = MappingProxyType(
    {"layernorm": 1, "rmsnorm": 1, "softmax": 1, "gelu": 1, "silu": 1, "silu_mul": 2, "add": 2}
)
"""Number of tensors that an op reads to write one; `silu_mul` reads a gate and a value."""


class Given(NamedTuple):
    """What a prediction needs besides the table."""

    chip: Chip
    constants: Constants
    """Constants of CUDA cores fitted without the family of the chip."""


@dataclass(frozen=True)
class Counted:
    """Operations and bytes of each row of a table."""

    macs: Numbers
    """On matrix units. [MAC]"""
    bytes_moved: Numbers
    """Each tensor once. [B]"""
    most: Numbers
    """Factor by which the counted MACs may exceed the peak: above 1 where an algorithm saves some. [1]"""


def given_of(published: Published, registry: Registry) -> Given:
    """The device of a table as a chip, and all constants.

    Raises InputError for a device that is not known or has no latency in the precision, and RooflintError.
    """
    spec = published.spec
    try:
        device = registry.get(spec.device)
        chip = chip_of(device, spec.precision, Coefficients(registry).launches())
    except (UnknownDeviceError, UnsupportedError, UndisclosedError) as error:
        raise refuse(published.file, published.device_line, f"device: {error}") from None
    return Given(chip, constants_file(registry).without(family_of(device), ["cores"]))


def family_of(device: Hardware) -> str:
    """`volta` of nvidia/volta-gv100; empty where the architecture is not said."""
    return (device.architecture or "").rpartition("/")[2].partition("-")[0]


def predicted_s(published: Published, given: Given) -> Numbers:
    """Predicted time of each row, including what the clock measured besides the kernel. [s]"""
    graph = kernel_of(published, given.chip).predict(work_of(published, given.chip), given.chip, given.constants)
    return graph - gap_s(given) + beside_s(published, given)


def kernel_of(published: Published, chip: Chip) -> Kernel:
    """The shipped kernel model for the op of a table."""
    op, precision = published.spec.op, published.spec.precision
    if op not in STREAMS:
        return kernel_for(op, precision, chip)
    width = bytes_per_element(precision)
    return kernel_for("stream", precision, chip, reads=STREAMS[op], bytes_in=width, bytes_out=width)


def work_of(published: Published, chip: Chip) -> Work:
    """The rows of a table as input of their kernel model."""
    sizes = {name: column for name, column in published.sizes.items() if name != RAN}
    return kernel_of(published, chip).work(copies=1.0 if published.spec.warm else COLD, **sizes)


def beside_s(published: Published, given: Given) -> float:
    """Time measured besides the kernel: the gap to the next one in a graph, nothing, or the floor of a call. [s]"""
    floor = published.spec.floor
    return {"graph": gap_s(given), "kernel": 0.0, "host": floor.us * 1e-6 if floor else 0.0}[published.spec.timing]


def gap_s(given: Given) -> float:
    """From the end of one kernel of a graph to the start of the next; formulas have it in their launch. [s]"""
    products = given.constants.products
    return gemm.launch_s(given.chip, products) - products.start_clocks * given.chip.clock_s


def roofline_s(published: Published, given: Given) -> Numbers:
    """The plain roofline: dense peak or bandwidth. [s]"""
    return kernel_of(published, given.chip).floor_s(work_of(published, given.chip), given.chip)


def peak_s(counted: Counted, chip: Chip) -> Numbers:
    """Lower bound on the time of each row: its work at the dense peak. [s]"""
    return counted.macs / counted.most / (chip.sms * chip.macs_per_clock * chip.clock_hz)


def regimes(published: Published) -> Mapping[str, Mask]:
    """Parts of a table by name: by work where there is a product, by bytes of streams. Shape (rows,) each"""
    counted = counts(published)
    if published.spec.op in STREAMS:
        moved = counted.bytes_moved
        return {"all": np.ones(len(published), bool), "large": moved > LARGE_BYTES, "small": moved < SMALL_BYTES}
    return {regime: product_regime(regime, _products(published)) for regime in PRODUCT}


def counts(published: Published) -> Counted:
    """MACs and bytes of each row."""
    element_bytes, ones = bytes_per_element(published.spec.precision), np.ones(len(published))
    if published.spec.op in STREAMS:
        return Counted(np.zeros(len(published)), _stream_bytes(published), ones)
    product = _products(published)
    if published.spec.op == "convolution":
        found = convolutions(published)
        moved, most = convolution.touched_bytes(found, element_bytes), convolution.direct_peak_gain(found)
        return Counted(product.macs, moved, most)
    m, n, k, batch = product
    return Counted(product.macs, element_bytes * batch * (m * k + n * k + m * n), ones)


def label(published: Published, row: int) -> str:
    """`m 896, n 22016, k 4096`, without a batch, stride or groups of 1."""
    sizes = {name: column[row] for name, column in published.sizes.items()}
    said = {name: size for name, size in sizes.items() if size > 1 or name not in OPTIONAL.get(published.spec.op, ())}
    return ", ".join(f"{name} {size:g}" for name, size in said.items())


def _products(published: Published) -> Shapes:
    if published.spec.op == "convolution":
        return convolution.as_product(convolutions(published))
    return shapes(*(published.sizes[name] for name in ("m", "n", "k", "batch")))


def convolutions(published: Published) -> Sizes:
    """The sizes of a table of convolutions."""
    return convolution.convolution(**{name: column for name, column in published.sizes.items() if name != RAN})


def _stream_bytes(published: Published) -> Numbers:
    width, reads = bytes_per_element(published.spec.precision), STREAMS[published.spec.op]
    moved: Numbers = published.sizes["m"] * published.sizes["n"] * (reads * width + width)
    return moved
