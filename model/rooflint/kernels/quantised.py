"""Quantised: a matrix product in FP8, whose activations are made FP8 by a kernel of their own just before.

The weights were made FP8 once and for all, and the result is bf16. The product takes the constants of bf16 products, as
the chip in FP8 has its own MAC/clock, apart from the energy of an op and the kernels that libraries have in FP8; the
quantise kernel is a stream. docs/method-silicon-ops.md says how well that does.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from rooflint.kernels import gemm, pointwise, residency
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Products, Stream
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Numbers, Shapes
from rooflint.kernels.tile import PATH_BYTES, TILES, Tile, splits

WIDE_BYTES, NARROW_BYTES = 2.0, 1.0
"""Of an element in bf16 and in FP8. [B]"""

Scale = Literal["tensor", "block"]
"""What shares one: a whole tensor, or 128 elements along k."""

FEW_ROWS = 64
"""Up to so many rows kernels with one scale a tensor come in every size."""

LARGE = 128 * 128
"""Results of the least tile of theirs for more rows: libraries have fewer kernels in FP8 than in bf16."""

WHOLE = (1,)
"""Ways to cut k where each block has its scale: none, as a tile adds up what it has scaled."""


class Kernels(NamedTuple):
    """What a product can be computed by."""

    tiles: tuple[Tile, ...]
    splits: tuple[int, ...]


def kernels(scale: Scale, rows: float, chip: Chip) -> Kernels:
    """Those that libraries have for a product of so many rows.

    By tensor: CUTLASS as vLLM builds it, csrc/quantization/w8a8/cutlass, 128 × 128 or 256 × 128 where rows are not few.
    By block: DeepGEMM, which compiles the tile that suits a shape, and leaves k whole.
    """
    if scale == "block":
        return Kernels(TILES, WHOLE)
    return Kernels(tuple(tile for tile in TILES if rows <= FEW_ROWS or tile.m * tile.n >= LARGE), splits(chip))


def here(constants: Constants) -> Products:
    """Products of products as they hold in FP8: an op draws its share of one in bf16, and the output is as wide."""
    products = constants.products
    as_wide = (NARROW_BYTES / PATH_BYTES) ** -products.energy_exponent  # of a unit that does half the MACs, of 2 B
    return replace(
        products,
        energy_pj=products.energy_pj * as_wide * constants.quantised.energy_share,
        store_bytes=products.store_bytes * NARROW_BYTES / WIDE_BYTES,
    )


def quantise_s(shapes: Shapes, chip: Chip, constants: Stream, *, warm: bool = False) -> Numbers:
    """To make the activations FP8, with a scale that is known before. [s]"""
    elements = shapes.batch * shapes.m * shapes.k
    kernel = pointwise.KERNELS["quantise"]
    return pointwise.latency_s(
        kernel, elements, chip, constants, bytes_in=WIDE_BYTES, bytes_out=NARROW_BYTES, warm=warm
    )


def memory_s(shapes: Shapes, chip: Chip, products: Products, copies: Numbers | float) -> Numbers:
    """Time of all bytes of the product: operands in FP8, the result in bf16. [s]"""
    wider = (WIDE_BYTES - NARROW_BYTES) * shapes.batch * shapes.m * shapes.n
    working_set = residency.working_set_bytes(shapes, NARROW_BYTES, copies) + wider
    touched = residency.touched_bytes(shapes, NARROW_BYTES) + wider
    miss = residency.miss_share(working_set, chip, products)
    dram = residency.dram_bytes_per_s(chip, products)
    return residency.split_s(touched, miss, dram, gemm.hits_bytes_per_s(chip, products))


def latency_s(
    shapes: Shapes,
    chip: Chip,
    constants: Constants,
    *,
    scale: Scale = "tensor",
    copies: Numbers | float = COLD,
    warm: bool = False,
) -> Numbers:
    """The quantise kernel, then the product; `chip` is the GPU in FP8. [s]"""
    quantise = quantise_s(shapes, chip, constants.stream, warm=warm)
    return quantise + product_s(shapes, chip, constants, scale=scale, copies=copies)


def product_s(
    shapes: Shapes, chip: Chip, constants: Constants, *, scale: Scale = "tensor", copies: Numbers | float = COLD
) -> Numbers:
    """The product alone. [s]"""
    products = here(constants)
    memory = memory_s(shapes, chip, products, copies)
    found = np.empty(len(shapes))
    few = shapes.m <= FEW_ROWS
    for rows, most in ((few, FEW_ROWS), (~few, np.inf)):
        some = Shapes(*(column[rows] for column in shapes))
        tiles, cuts = kernels(scale, most, chip)
        found[rows] = gemm.work_s(
            some, memory[rows], chip, products, element_bytes=NARROW_BYTES, tiles=tiles, cuts=cuts
        )
    return found + gemm.launch_s(chip, products)
