"""Winograd: dense 3 × 3 convolutions of stride 1 on CUDA cores, with fewer multiplications than counted.

    fused          F(2 × 2, 3 × 3) in one kernel: 16 multiplications for 36, the transforms between the loads
    transformed    F(4 × 4, 3 × 3) in four: 36 for 144, and input, filters and output transformed through memory

Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. arXiv:1509.09308
"""

import numpy as np
from numpy.typing import NDArray

from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import convolution, gemm, residency, stream, tile
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import CoreConstants, Products, Stream
from rooflint.kernels.convolution import Convolution
from rooflint.kernels.cuda_cores import constants_on
from rooflint.kernels.shapes import Numbers, Shapes, overlapped, shapes

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


def applies(convolutions: Convolution) -> NDArray[np.bool_]:
    """Which convolutions the algorithm is for. Shape (convolutions,)"""
    return convolution.direct_peak_gain(convolutions) > 1


def block_clocks(chip: Chip, products: Products, element_bytes: float) -> float:
    """What one channel in costs a block of the fused kernel: arithmetic with transforms, beside operands. [clock]"""
    tiles = BLOCK_HEIGHT * BLOCK_WIDTH / FUSED_SIDE**2
    multiplied = FUSED_POINTS * tiles * BLOCK_CHANNELS
    added = INPUT_ADDS * tiles + FILTER_ADDS * BLOCK_CHANNELS
    taken_in = (BLOCK_HEIGHT + KERNEL - 1) * (BLOCK_WIDTH + KERNEL - 1) + BLOCK_CHANNELS * KERNEL**2
    arithmetic = (multiplied + added) / (chip.macs_per_clock * products.matrix_efficiency)
    feed = element_bytes * taken_in / tile.feed_bytes(element_bytes, chip, products)
    return float(overlapped(arithmetic, feed, products.overlap))


def blocks(convolutions: Convolution) -> Numbers:
    """Blocks of the fused kernel; what is left of a block at the edge of an image is idle. [1]"""
    one = convolutions
    of_image = np.ceil(one.height / BLOCK_HEIGHT) * np.ceil(one.width / BLOCK_WIDTH)
    found: Numbers = one.batch * of_image * np.ceil(one.channels_out / BLOCK_CHANNELS)
    return found


def fused_s(convolutions: Convolution, chip: Chip, products: Products, *, element_bytes: float) -> Numbers:
    """F(2 × 2, 3 × 3) in one kernel, without launches. [s]"""
    waves = np.ceil(blocks(convolutions) / chip.sms)
    steps = np.ceil(convolutions.channels_in / BLOCK_STEP) * BLOCK_STEP
    store = tile.store_clocks(OUTPUTS, element_bytes, chip, products)
    clocks = waves * (steps * block_clocks(chip, products, element_bytes) + store)
    multiplied = (
        tiles_of(convolutions, FUSED_SIDE) * FUSED_POINTS * convolutions.channels_in * convolutions.channels_out
    )
    power = OPS_PER_MAC * multiplied * gemm.energy_j_per_op(chip, products) / chip.tdp_w
    memory = residency.memory_s(convolution.touched_bytes(convolutions, element_bytes), 1.0, chip, products)
    return gemm.overlapped_s(np.maximum(clocks * chip.clock_s, power), memory, products)


def tiles_of(convolutions: Convolution, side: int) -> Numbers:
    """Tiles of that many outputs along a side, of all images. [1]"""
    one = convolutions
    return one.batch * np.ceil(one.height / side) * np.ceil(one.width / side)


def as_products(convolutions: Convolution) -> Shapes:
    """The products between the transforms of F(4 × 4, 3 × 3), one a point."""
    tiles = tiles_of(convolutions, SIDE)
    return shapes(tiles, convolutions.channels_out, convolutions.channels_in, POINTS)


def transform_bytes(convolutions: Convolution, element_bytes: float) -> Numbers:
    """What the three transforms read and write: input, filters, output, each as it is and as its points. [B]"""
    one, points = convolutions, POINTS * tiles_of(convolutions, SIDE)
    pixels, filters = one.batch * one.height * one.width, one.channels_in * one.channels_out
    inputs = (pixels + points) * one.channels_in
    outputs = (pixels + points) * one.channels_out
    return element_bytes * (inputs + (KERNEL**2 + POINTS) * filters + outputs)


def transformed_s(
    convolutions: Convolution,
    chip: Chip,
    products: Products,
    streams: Stream,
    cores: CoreConstants,
    *,
    element_bytes: float,
) -> Numbers:
    """F(4 × 4, 3 × 3) in four kernels, without launches. [s]

    The product finds what the transforms have just written in L2 where it fits.
    """
    sizes = as_products(convolutions)
    memory = gemm.memory_s(sizes, chip, products, element_bytes, 1.0)
    work = gemm.work_s(sizes, memory, chip, products, element_bytes=element_bytes)
    moved = stream.bytes_s(transform_bytes(convolutions, element_bytes), chip, streams, warm=False)
    return work + moved / cores.transform_efficiency


def ways_s(
    convolutions: Convolution,
    chip: Chip,
    products: Products,
    streams: Stream,
    cores: CoreConstants,
    *,
    element_bytes: float,
) -> dict[str, Numbers]:
    """Time of each convolution by each algorithm, with its launches; infinite where it does not apply. [s]

    `products` are the constants of matrix units: those of CUDA cores are taken where the chip has them.
    """
    here, launch = constants_on(chip, products, cores), gemm.launch_s(chip, products)
    found = {"direct": convolution.latency_s(convolutions, chip, here, element_bytes=element_bytes)}
    if chip.cores is not None:
        fused = fused_s(convolutions, chip, here, element_bytes=element_bytes)
        split = transformed_s(convolutions, chip, here, streams, cores, element_bytes=element_bytes)
        fits = applies(convolutions)
        found["fused"] = np.where(fits, fused + FUSED_KERNELS * launch, np.inf)
        found["transformed"] = np.where(fits, split + KERNELS * launch, np.inf)
    return found


def latency_s(
    convolutions: Convolution,
    chip: Chip,
    products: Products,
    streams: Stream,
    cores: CoreConstants,
    *,
    element_bytes: float,
) -> Numbers:
    """Time of each convolution by the algorithm that takes least, as a library finds by trying all. [s]"""
    ways = ways_s(convolutions, chip, products, streams, cores, element_bytes=element_bytes)
    least: Numbers = np.min(list(ways.values()), axis=0)
    return least
