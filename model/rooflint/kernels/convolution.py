"""Convolution: as the matrix product that it implicitly is, with the bytes of its tensors. Not calibrated.

    m = batch · height · width of the output, n = channels out, k = channels in · kernel height · its width, per group

The unfolded input is never written: its elements are read once from memory and again from the SM's own storage.
Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014. arXiv:1410.0759
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rooflint.base.errors import RooflintError
from rooflint.kernels import gemm, residency
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.shapes import Numbers, Shapes, shapes

CALIBRATED = "not calibrated: takes the constants of matrix products"

WINOGRAD_GAIN = 4.0
"""MACs of a 3 × 3 convolution over those of F(4 × 4, 3 × 3), the largest tile that cuDNN computes: 9 · 16 / 36. [1]

Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. arXiv:1509.09308
"""


class Convolution(NamedTuple):
    """One entry each; sizes are whole numbers, kept as floats."""

    batch: Numbers
    channels_in: Numbers
    channels_out: Numbers
    height: Numbers
    """Of the output."""
    width: Numbers
    """Of the output."""
    kernel_height: Numbers
    kernel_width: Numbers
    stride: Numbers
    groups: Numbers


def convolution(
    batch: ArrayLike,
    channels_in: ArrayLike,
    channels_out: ArrayLike,
    height: ArrayLike,
    width: ArrayLike,
    kernel_height: ArrayLike,
    kernel_width: ArrayLike,
    stride: ArrayLike = 1,
    groups: ArrayLike = 1,
) -> Convolution:
    """Convolutions of sizes that are broadcast against one another. Raises RooflintError for what cannot be."""
    sizes = (batch, channels_in, channels_out, height, width, kernel_height, kernel_width, stride, groups)
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(size, float)) for size in sizes))
    for name, column in zip(Convolution._fields, columns, strict=True):
        if not (column >= 1).all():
            raise RooflintError(f"{name}: want 1 or more, found {column.min():g}")
    found = Convolution(*(np.ascontiguousarray(column).ravel() for column in columns))
    for name, channels in (("channels_in", found.channels_in), ("channels_out", found.channels_out)):
        if (channels % found.groups).any():
            raise RooflintError(f"{name}: want a multiple of the groups")
    return found


def as_product(convolutions: Convolution) -> Shapes:
    """The implicit matrix products, one for each group."""
    one = convolutions
    per_group = one.channels_in / one.groups * one.kernel_height * one.kernel_width
    return shapes(one.batch * one.height * one.width, one.channels_out / one.groups, per_group, one.groups)


def touched_bytes(convolutions: Convolution, element_bytes: float) -> Numbers:
    """Input with its margin, weights and output, each once. [B]"""
    one = convolutions
    # where the stride skips over what no kernel covers, it is not read
    rows = _read_along(one.height, one.kernel_height, one.stride)
    columns = _read_along(one.width, one.kernel_width, one.stride)
    inputs = one.batch * one.channels_in * rows * columns
    weights = one.channels_out * one.channels_in / one.groups * one.kernel_height * one.kernel_width
    return element_bytes * (inputs + weights + one.batch * one.channels_out * one.height * one.width)


def direct_peak_gain(convolutions: Convolution) -> Numbers:
    """How far a convolution may exceed the peak by the count of direct MACs: 4 where Winograd applies, else 1. [1]

    "Attained is at most peak" holds of multiplications that are done. Dense 3 × 3 convolutions of stride 1 in FP32 or
    FP16 can be computed with 4 times fewer, so for those the law does not hold of counted ones.
    """
    one = convolutions
    applies = (one.kernel_height == 3) & (one.kernel_width == 3) & (one.stride == 1) & (one.groups == 1)
    return np.where(applies, WINOGRAD_GAIN, 1.0)


def latency_s(convolutions: Convolution, chip: Chip, constants: Products, *, element_bytes: float) -> Numbers:
    """Time of each convolution computed directly, as one kernel of a CUDA graph, nothing left in L2. [s]"""
    products = as_product(convolutions)
    memory = residency.memory_s(touched_bytes(convolutions, element_bytes), 1.0, chip, constants)
    work = gemm.work_s(products, memory, chip, constants, element_bytes=element_bytes)
    return work + gemm.launch_s(chip, constants)


def _read_along(outputs: Numbers, kernel: Numbers, stride: Numbers) -> Numbers:
    """Elements of the input along a side that any output reads. [1]"""
    return (outputs - 1) * np.minimum(stride, kernel) + kernel
