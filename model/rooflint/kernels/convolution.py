"""Convolution: as the matrix product that it implicitly is, or by Winograd with fewer multiplications than counted.

    m = batch · height · width of the output, n = channels out, k = channels in · kernel height · its width, per group

Directly, the unfolded input is never written: its elements are read once from memory and again from the SM's own
storage. Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014. arXiv:1410.0759

On CUDA cores libraries compute dense 3 × 3 convolutions of stride 1 with fewer multiplications:

    fused          F(2 × 2, 3 × 3) in one kernel: 16 multiplications for 36, the transforms between the loads
    transformed    F(4 × 4, 3 × 3) in four: 36 for 144, and input, filters and output transformed through memory

Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. arXiv:1509.09308
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import gemm, stream, tile
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Products
from rooflint.kernels.kernel import Times, Work, peak_ops_per_s
from rooflint.kernels.products import Gemm, batch_menu, constants_in_fp8
from rooflint.kernels.shapes import (
    Numbers,
    Shapes,
    columns_of,
    memory_s,
    overlapped,
    shapes,
    touched_bytes,
    working_set_bytes,
)

WINOGRAD_GAIN = 4.0
"""MACs of a 3 × 3 convolution over those of F(4 × 4, 3 × 3), the largest tile that cuDNN computes: 9 · 16 / 36. [1]

Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. arXiv:1509.09308
"""


class Sizes(NamedTuple):
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


def convolution(*sizes: ArrayLike, **named: ArrayLike) -> Sizes:
    """Of sizes that are broadcast against one another; stride and groups are 1 if not said.

    Raises RooflintError for what cannot be.
    """
    omitted: dict[str, ArrayLike] = dict.fromkeys(Sizes._fields[max(len(sizes), 7) :], 1)
    found = Sizes(*columns_of(Sizes._fields, *sizes, **(omitted | named)))
    for name, channels in (("channels_in", found.channels_in), ("channels_out", found.channels_out)):
        if (channels % found.groups).any():
            raise RooflintError(f"{name}: want a multiple of the groups")
    return found


def as_product(convolutions: Sizes) -> Shapes:
    """The implicit matrix products, one for each group."""
    one = convolutions
    per_group = one.channels_in / one.groups * one.kernel_height * one.kernel_width
    return shapes(one.batch * one.height * one.width, one.channels_out / one.groups, per_group, one.groups)


def convolution_bytes(convolutions: Sizes, element_bytes: float) -> Numbers:
    """Input with its margin, weights and output, each once. [B]"""
    one = convolutions
    # where the stride skips over what no kernel covers, it is not read
    rows = _read_along(one.height, one.kernel_height, one.stride)
    columns = _read_along(one.width, one.kernel_width, one.stride)
    inputs = one.batch * one.channels_in * rows * columns
    weights = one.channels_out * one.channels_in / one.groups * one.kernel_height * one.kernel_width
    return element_bytes * (inputs + weights + one.batch * one.channels_out * one.height * one.width)


def direct_peak_gain(convolutions: Sizes) -> Numbers:
    """How far a convolution may exceed the peak by the count of direct MACs: 4 where Winograd applies, else 1. [1]

    "Attained is at most peak" holds of multiplications that are done. Dense 3 × 3 convolutions of stride 1 in FP32 or
    FP16 can be computed with 4 times fewer, so for those the law does not hold of counted ones.
    """
    one = convolutions
    applies = (one.kernel_height == 3) & (one.kernel_width == 3) & (one.stride == 1) & (one.groups == 1)
    return np.where(applies, WINOGRAD_GAIN, 1.0)


def _read_along(outputs: Numbers, kernel: Numbers, stride: Numbers) -> Numbers:
    """Elements of the input along a side that any output reads. [1]"""
    return (outputs - 1) * np.minimum(stride, kernel) + kernel


# ---- Winograd

KERNEL = 3
"""Height and width of the kernels that are transformed."""

FUSED_POINTS, FUSED_SIDE = 16, 2
POINTS, SIDE = 36, 4
"""Multiplications of a tile for each pair of channels, and outputs along its side."""

BLOCK_HEIGHT, BLOCK_WIDTH, BLOCK_CHANNELS, BLOCK_STEP = 8, 16, 32, 8
"""What a block of the fused kernel computes: outputs of one image, channels out, and channels in at a time.

cuDNN calls it tile148t: of 1 image 4 × 8 tiles. The names of its kernels on Volta, Turing and Ampere say no other.
"""

OUTPUTS = tile.Tile(BLOCK_HEIGHT * BLOCK_WIDTH, BLOCK_CHANNELS)

INPUT_ADDS, FILTER_ADDS = 32, 28
"""Additions that transform one tile of the input, and one filter, for F(2 × 2, 3 × 3). Lavin, Gray, section 4.1"""

FUSED_KERNELS, KERNELS = 2, 4
"""Launches: a list of tiles and the product; three transforms and the product."""


def applies(convolutions: Sizes) -> NDArray[np.bool_]:
    """Which convolutions the algorithm is for. Shape (convolutions,)"""
    return direct_peak_gain(convolutions) > 1


def block_clocks(chip: Chip, products: Products, element_bytes: float) -> float:
    """What one channel in costs a block of the fused kernel: arithmetic with transforms, beside operands. [clock]"""
    tiles = BLOCK_HEIGHT * BLOCK_WIDTH / FUSED_SIDE**2
    multiplied = FUSED_POINTS * tiles * BLOCK_CHANNELS
    added = INPUT_ADDS * tiles + FILTER_ADDS * BLOCK_CHANNELS
    taken_in = (BLOCK_HEIGHT + KERNEL - 1) * (BLOCK_WIDTH + KERNEL - 1) + BLOCK_CHANNELS * KERNEL**2
    arithmetic = (multiplied + added) / (chip.macs_per_clock * products.matrix_efficiency)
    feed = element_bytes * taken_in / tile.feed_bytes(element_bytes, chip, products)
    return float(overlapped(arithmetic, feed, products.overlap))


def blocks(convolutions: Sizes) -> Numbers:
    """Blocks of the fused kernel; what is left of a block at the edge of an image is idle. [1]"""
    one = convolutions
    of_image = np.ceil(one.height / BLOCK_HEIGHT) * np.ceil(one.width / BLOCK_WIDTH)
    found: Numbers = one.batch * of_image * np.ceil(one.channels_out / BLOCK_CHANNELS)
    return found


def fused_compute_s(convolutions: Sizes, chip: Chip, products: Products, *, element_bytes: float) -> Numbers:
    """F(2 × 2, 3 × 3) in one kernel, without bytes and launches. [s]"""
    waves = np.ceil(blocks(convolutions) / chip.sms)
    steps = np.ceil(convolutions.channels_in / BLOCK_STEP) * BLOCK_STEP
    store = tile.store_clocks(OUTPUTS, element_bytes, chip, products)
    kernel = waves * (steps * block_clocks(chip, products, element_bytes) + store) * chip.clock_s
    multiplied = (
        tiles_of(convolutions, FUSED_SIDE) * FUSED_POINTS * convolutions.channels_in * convolutions.channels_out
    )
    power = OPS_PER_MAC * multiplied * gemm.energy_j_per_op(chip, products) / chip.tdp_w
    return np.maximum(kernel, gemm.throttled_s(power, kernel, chip))


def tiles_of(convolutions: Sizes, side: int) -> Numbers:
    """Tiles of that many outputs along a side, of all images. [1]"""
    one = convolutions
    return one.batch * np.ceil(one.height / side) * np.ceil(one.width / side)


def as_products(convolutions: Sizes) -> Shapes:
    """The products between the transforms of F(4 × 4, 3 × 3), one a point."""
    tiles = tiles_of(convolutions, SIDE)
    return shapes(tiles, convolutions.channels_out, convolutions.channels_in, POINTS)


def transform_bytes(convolutions: Sizes, element_bytes: float) -> Numbers:
    """What the three transforms read and write: input, filters, output, each as it is and as its points. [B]"""
    one, points = convolutions, POINTS * tiles_of(convolutions, SIDE)
    pixels, filters = one.batch * one.height * one.width, one.channels_in * one.channels_out
    inputs = (pixels + points) * one.channels_in
    outputs = (pixels + points) * one.channels_out
    return element_bytes * (inputs + (KERNEL**2 + POINTS) * filters + outputs)


def transformed_s(moved_bytes: Numbers, element_bytes: float, chip: Chip, constants: Constants) -> Numbers:
    """What transforms take that move so much: memory, or SMs, which gather and scatter it element by element. [s]"""
    per_clock = constants.cores.transform_bytes * tile.path_width(element_bytes, chip)
    gathered = moved_bytes / (per_clock * chip.sms * chip.clock_hz)
    return np.maximum(stream.bytes_s(moved_bytes, chip, constants.stream, warm=False), gathered)


# ---- The kernel models


MEASURED_RANGE = (
    "published fp16 convolutions took 1.0 to 2.2 times the prediction on a V100 and a T4, and 2.2 to 31 times where "
    "channels are no multiple of 8"
)
"""Of DeepBench's rows the middle nine tenths, and all with other channels; golden/silicon/published/deepbench-*."""


@dataclass(frozen=True)
class Convolution(Gemm):
    """Computed directly; the sizes are those of convolutions, or of the products that they are."""

    op = "convolution"
    columns = Sizes._fields
    measured_on: ClassVar[tuple[str, ...]] = ()
    rests_on = "not calibrated: takes the constants of matrix products"

    @property
    def topic(self) -> str | None:
        """None, because nothing is fitted to convolutions."""
        return None

    @property
    def caveats(self) -> tuple[str, ...]:
        """How far published measurements are off."""
        return (*super().caveats, MEASURED_RANGE)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Any:
        """As `convolution`."""
        return convolution(*sizes, **named)

    def product(self, work: Work) -> Shapes:
        """The implicit ones."""
        return work.sizes if isinstance(work.sizes, Shapes) else as_product(work.sizes)

    def products(self, chip: Chip, constants: Constants) -> Products:
        """The constants of products as they hold here; no convolution in FP8 was measured."""
        if self.precision == "fp8":
            return constants_in_fp8(constants, result_bytes=1.0)
        return super().products(chip, constants)

    def tensor_bytes(self, work: Work) -> Numbers:
        """Input, weights and output. [B]"""
        return convolution_bytes(work.sizes, work.element_bytes)

    def working_set_bytes(self, work: Work) -> Numbers:
        """Beyond number: nothing is left in L2. [B]"""
        return np.full_like(self.bytes_moved(work), np.inf)

    def macs(self, work: Work) -> Numbers:
        """Those that the largest transform leaves. [MAC]"""
        gain = direct_peak_gain(work.sizes) if isinstance(work.sizes, Sizes) else 1.0
        return self.product(work).macs / gain


@dataclass(frozen=True)
class WinogradConvolution(Convolution):
    """On CUDA cores, by the algorithm that takes least, as a library finds by trying all."""

    precision: str = "fp32"

    measured_on = tuple(f"nvidia/{name}" for name in ("volta-gv100", "turing-tu104", "pascal-gp100", "ampere-ga100"))
    rests_on = "takes the constants of fp32 products, except 3 × 3 of stride 1, which were measured"

    @property
    def topic(self) -> str | None:
        """Of published tables."""
        return "winograd"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is counted."""
        return (
            "operations are counted as in a direct convolution: Winograd needs 2.25 to 4 times fewer, so the "
            "attained rate may exceed the peak, and the energy is too high",
        )

    def products(self, chip: Chip, constants: Constants) -> Products:
        """Of kernels that convolve: they put their results in order in an SM's memory before they store."""
        return replace(super().products(chip, constants), store_bytes=constants.products.store_bytes)

    def algorithms(self, work: Work, chip: Chip, constants: Constants) -> Mapping[str, Times]:
        """By each algorithm; infinite where one does not apply."""
        found = {"direct": super().time(work, chip, constants)}
        if isinstance(work.sizes, Sizes):
            fits = applies(work.sizes)
            for name, times in (("fused", self._fused), ("transformed", self._transformed)):
                one = times(work, chip, constants)
                found[name] = one._replace(together_s=np.where(fits, one.together_s, np.inf))
        return found

    def chosen(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> NDArray[np.str_]:
        """The algorithm that takes least, launched in that way. Shape (ops,)"""
        found = self.algorithms(work, chip, constants)
        return np.array(list(found))[_least(found, gap_s)]

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """By the algorithm that takes least with its launches."""
        found = self.algorithms(work, chip, constants)
        least, ops = _least(found, gap_s), np.arange(len(found["direct"].together_s))
        compute, memory, together = (np.stack([one[part] for one in found.values()])[least, ops] for part in range(3))
        floors = np.zeros((KERNELS, len(ops)))
        for position, one in enumerate(found.values()):
            floors[: len(one.floors_s), least == position] = one.floors_s[:, least == position]
        return Times(compute, memory, together, floors)

    def least_s(self, work: Work, chip: Chip) -> Numbers:
        """With the multiplications that the largest transform leaves."""
        counted = super().least_s(work, chip)
        if not isinstance(work.sizes, Sizes):
            return counted
        saved = as_product(work.sizes).macs * (1 - 1 / direct_peak_gain(work.sizes))
        return np.asarray(counted - OPS_PER_MAC * saved / peak_ops_per_s(chip))

    def _fused(self, work: Work, chip: Chip, constants: Constants) -> Times:
        here = self.products(chip, constants)
        compute = fused_compute_s(work.sizes, chip, here, element_bytes=work.element_bytes)
        memory = memory_s(self.bytes_moved(work), 1.0 if work.missed is None else work.missed, chip, here)
        launch = np.full((FUSED_KERNELS, len(compute)), gemm.launch_s(chip, here))
        return Times(compute, memory, gemm.overlapped_s(compute, memory, here), launch)

    def _transformed(self, work: Work, chip: Chip, constants: Constants) -> Times:
        """The product finds what the transforms have just written in L2 where it fits."""
        here, sizes, width = super().products(chip, constants), as_products(work.sizes), work.element_bytes
        between = gemm.memory(touched_bytes(sizes, width), working_set_bytes(sizes, width, 1.0), chip, here)
        product = gemm.work_s(sizes, between.seconds, chip, here, width, batch_menu(chip))
        besides = np.maximum(self.bytes_moved(work) - convolution_bytes(work.sizes, width), 0.0)
        moved = transformed_s(transform_bytes(work.sizes, width) + besides, width, chip, constants)
        launch = np.full((KERNELS, len(product)), gemm.launch_s(chip, here))
        compute = gemm.alone_s(product, between.seconds, here)
        return Times(compute, between.seconds + moved, product + moved, launch)


def _least(found: Mapping[str, Times], gap_s: float | None) -> NDArray[np.int_]:
    least: NDArray[np.int_] = np.argmin([one.together_s + one.launch_s(gap_s) for one in found.values()], axis=0)
    return least
