"""Against published: what the model says of the rows of a published table, timed in the way that the table was."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import refuse
from rooflint.base.precision import bytes_per_element
from rooflint.coefficients.library import Coefficients
from rooflint.devices.hardware import Hardware, UndisclosedError, UnsupportedError
from rooflint.devices.registry import Registry, UnknownDeviceError
from rooflint.kernels import convolution, gemm, pointwise, winograd
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants, CoreConstants, Products, constants_file
from rooflint.kernels.convolution import Convolution
from rooflint.kernels.cuda_cores import constants_on
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint_calibration.products import REGIMES
from rooflint_calibration.published import OPTIONAL, OpName, Published

Mask = NDArray[np.bool_]

RAN = "winograd"
"""The column that says which algorithm was run."""

LARGE_BYTES, SMALL_BYTES = 100e6, 1e6
"""Of what a stream moves: L2 of no measured GPU holds the one, that of all the other. [B]"""

KERNELS: Mapping[OpName, str] = MappingProxyType(
    {
        "layernorm": "normalisation",
        "rmsnorm": "normalisation",
        "softmax": "softmax",
        "gelu": "unary",
        "silu": "unary",
        "silu_mul": "binary",
        "add": "binary",
    }
)
"""Which kernel of known bytes an op is; `silu_mul` reads a gate and what it opens for."""


class Seen(NamedTuple):
    """What a formula needs besides the table."""

    chip: Chip
    products: Products
    """As they hold on the chip."""
    ops: Constants
    cores: CoreConstants
    """Of CUDA cores, as they were fitted without the family of the chip."""


@dataclass(frozen=True)
class Work:
    """What is counted of a table, whatever the model says of its time."""

    macs: Numbers
    """On matrix units. [MAC]"""
    bytes_moved: Numbers
    """Each tensor once. [B]"""
    most: Numbers
    """How far the peak by counted MACs may be exceeded: 1 but where an algorithm saves some. [1]"""


def seen(published: Published, registry: Registry) -> Seen:
    """The device of a table as the formulas want it, and all constants.

    Raises InputError for a device that is not known or has no latency in the precision, and RooflintError.
    """
    spec = published.spec
    try:
        device = registry.get(spec.device)
        chip = chip_of(device, spec.precision, Coefficients(registry).launches())
    except (UnknownDeviceError, UnsupportedError, UndisclosedError) as error:
        raise refuse(published.file, published.device_line, f"device: {error}") from None
    file = constants_file(registry)
    constants, cores = file.constants, file.without(family_of(device), ["cores"]).cores
    return Seen(chip, constants_on(chip, constants.products, cores), constants, cores)


def family_of(device: Hardware) -> str:
    """`volta` of nvidia/volta-gv100; empty where the architecture is not said."""
    return (device.architecture or "").rpartition("/")[2].partition("-")[0]


def predicted_s(published: Published, given: Seen) -> Numbers:
    """Time of each row, with what its clock saw beside the kernel. [s]"""
    kernel = _LATENCY[published.spec.op](published, given) - gap_s(given)
    return kernel + beside_s(published, given)


def beside_s(published: Published, given: Seen) -> float:
    """What the clock saw beside the kernel: the gap to the next one in a graph, nothing, or a call's floor. [s]"""
    floor = published.spec.floor
    return {"graph": gap_s(given), "kernel": 0.0, "host": floor.us * 1e-6 if floor else 0.0}[published.spec.timing]


def gap_s(given: Seen) -> float:
    """From the end of one kernel of a graph to the start of the next; formulas have it in their launch. [s]"""
    return gemm.launch_s(given.chip, given.products) - given.products.start_clocks * given.chip.clock_s


def roofline_s(published: Published, given: Seen) -> Numbers:
    """The plain roofline: dense peak or bandwidth. [s]"""
    counted = work(published)
    return np.maximum(peak_s(counted, given.chip), counted.bytes_moved / given.chip.bandwidth_bytes_per_s)


def peak_s(counted: Work, chip: Chip) -> Numbers:
    """Below what no row can be, whatever it reads. [s]"""
    return counted.macs / counted.most / (chip.sms * chip.macs_per_clock * chip.clock_hz)


def regimes(published: Published) -> Mapping[str, Mask]:
    """Parts of a table by name: by work where there is a product, by bytes of streams. Shape (rows,) each"""
    counted = work(published)
    if published.spec.op in KERNELS:
        moved = counted.bytes_moved
        return {"all": np.ones(len(published), bool), "large": moved > LARGE_BYTES, "small": moved < SMALL_BYTES}
    return {name: of(_products(published)) for name, of in REGIMES.items()}


def work(published: Published) -> Work:
    """MACs and bytes of each row."""
    element_bytes, ones = bytes_per_element(published.spec.precision), np.ones(len(published))
    if published.spec.op in KERNELS:
        return Work(np.zeros(len(published)), _stream_bytes(published), ones)
    product = _products(published)
    if published.spec.op == "convolution":
        found = convolutions(published)
        moved, most = convolution.touched_bytes(found, element_bytes), convolution.direct_peak_gain(found)
        return Work(product.macs, moved, most)
    m, n, k, batch = product
    return Work(product.macs, element_bytes * batch * (m * k + n * k + m * n), ones)


def label(published: Published, row: int) -> str:
    """`m 896, n 22016, k 4096`, without a batch, stride or groups of 1."""
    sizes = {name: column[row] for name, column in published.sizes.items()}
    said = {name: size for name, size in sizes.items() if size > 1 or name not in OPTIONAL.get(published.spec.op, ())}
    return ", ".join(f"{name} {size:g}" for name, size in said.items())


def _products(published: Published) -> Shapes:
    if published.spec.op == "convolution":
        return convolution.as_product(convolutions(published))
    return shapes(*(published.sizes[name] for name in ("m", "n", "k", "batch")))


def convolutions(published: Published) -> Convolution:
    """The sizes of a table of convolutions."""
    return convolution.convolution(**{name: column for name, column in published.sizes.items() if name != RAN})


def _stream_bytes(published: Published) -> Numbers:
    element_bytes = bytes_per_element(published.spec.precision)
    elements = published.sizes["m"] * published.sizes["n"]
    kernel = pointwise.KERNELS[KERNELS[published.spec.op]]
    return pointwise.bytes_moved(kernel, elements, element_bytes, element_bytes)


def _gemm_s(published: Published, given: Seen) -> Numbers:
    element_bytes, copies = bytes_per_element(published.spec.precision), 1.0 if published.spec.warm else COLD
    return gemm.latency_s(_products(published), given.chip, given.products, element_bytes=element_bytes, copies=copies)


def _convolution_s(published: Published, given: Seen) -> Numbers:
    element_bytes = bytes_per_element(published.spec.precision)
    return winograd.latency_s(
        convolutions(published),
        given.chip,
        given.products,
        given.ops.stream,
        given.cores,
        element_bytes=element_bytes,
    )


def _stream_s(published: Published, given: Seen) -> Numbers:
    element_bytes = bytes_per_element(published.spec.precision)
    return pointwise.latency_s(
        pointwise.KERNELS[KERNELS[published.spec.op]],
        published.sizes["m"] * published.sizes["n"],
        given.chip,
        given.ops.stream,
        bytes_in=element_bytes,
        bytes_out=element_bytes,
        warm=published.spec.warm,
    )


_LATENCY: Mapping[OpName, Callable[[Published, Seen], Numbers]] = MappingProxyType(
    {"gemm": _gemm_s, "convolution": _convolution_s, **dict.fromkeys(KERNELS, _stream_s)}
)
"""Of kernels in a graph, one after the other."""
