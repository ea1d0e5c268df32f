"""Prefill: attention of a whole sequence on itself.

A block is a number of queries of the heads that share keys, and walks along the keys in steps; the grid of blocks is
dealt to the SMs, as fast as their power allows. Bytes overlap with that, and the launch with nothing.
"""

import numpy as np

from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import gemm, stream
from rooflint.kernels.attention import Attention, score_clocks
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Prefill
from rooflint.kernels.shapes import Numbers, overlapped

KEYS = 32
"""Keys of a step: finer than most kernels' 64 or 128, as they cut their last step short."""

QUERIES = (64, 128)
"""Queries that an SM computes at a time, of all heads that share keys: short sequences fill a block together."""


def macs(shapes: Attention, *, causal: bool) -> Numbers:
    """Both products over the scores that count, 2 · tokens² · width a head; half of them in a causal sequence. [MAC]"""
    pairs = shapes.tokens**2 * (0.5 if causal else 1.0)
    return 2 * shapes.batch * shapes.heads * pairs * shapes.width


def bytes_moved(shapes: Attention, *, element_bytes: float, append_bytes: float) -> Numbers:
    """Q, K, V and the output once; K and V read and written again to go into a cache. [B]

    `append_bytes`: of an element in the cache; 0 where there is none, as in an encoder.
    """
    once = 2 * (shapes.query_elements * shapes.tokens + shapes.key_elements) * element_bytes
    appended = 2 * shapes.key_elements * (element_bytes + append_bytes) if append_bytes else 0.0
    return once + appended


def roofline_s(
    shapes: Attention, chip: Chip, *, causal: bool = True, element_bytes: float = 2.0, append_bytes: float = 0.0
) -> Numbers:
    """The plain roofline: all MACs at peak, or all bytes at full bandwidth. [s]"""
    compute = macs(shapes, causal=causal) / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    moved = bytes_moved(shapes, element_bytes=element_bytes, append_bytes=append_bytes)
    return np.maximum(compute, moved / chip.bandwidth_bytes_per_s)


def blocks(shapes: Attention, queries: int) -> Numbers:
    """Of so many queries, of the heads that share one head of keys. [1]"""
    return np.ceil(shapes.tokens * shapes.group / queries)


def steps(shapes: Attention, blocks: Numbers, *, causal: bool) -> Numbers:
    """Steps along the keys of all those blocks together. [1]

    The last block sees every step, the first of a causal sequence only its own; in between it grows evenly.
    """
    every = np.ceil(shapes.tokens / KEYS)
    return (blocks * every + np.maximum(blocks, every)) / 2 if causal else blocks * every


def fill_clocks(chip: Chip, constants: Prefill) -> float:
    """To fill and empty a block. [clock]

    Where warps wait for their matrix instructions two blocks share an SM, and one fills while the other computes.
    """
    return constants.block_clocks * (1.0 if chip.asynchronous else constants.sync_block)


def block_s(shapes: Attention, queries: int, chip: Chip, constants: Prefill, *, causal: bool) -> Numbers:
    """All blocks of that size, dealt to the SMs: an even share each, and the longest block comes last. [s]"""
    each = blocks(shapes, queries)
    step = queries * KEYS * score_clocks(shapes.width, chip, constants)
    fill = fill_clocks(chip, constants)
    work = steps(shapes, each, causal=causal) * step + each * fill
    longest = np.ceil(shapes.tokens / KEYS) * step + fill
    return (shapes.batch * shapes.kv_heads * work / chip.sms + longest) * chip.clock_s


def blocks_s(shapes: Attention, chip: Chip, constants: Prefill, *, causal: bool) -> Numbers:
    """What all blocks take, of the size that takes least, without their bytes. [s]"""
    least: Numbers = np.min([block_s(shapes, size, chip, constants, causal=causal) for size in QUERIES], axis=0)
    return least


def power_s(shapes: Attention, chip: Chip, constants: Constants, *, causal: bool) -> Numbers:
    """Time below which the ops would draw more than the rated power, each as much as one of a product. [s]"""
    return ops(shapes, causal=causal) * (gemm.energy_j_per_op(chip, constants.products) / chip.tdp_w)


def computed_s(shapes: Attention, chip: Chip, constants: Constants, *, causal: bool) -> Numbers:
    """What compute takes, without bytes: a kernel near the rated power is slowed before it is stopped. [s]"""
    within = blocks_s(shapes, chip, constants.prefill, causal=causal)
    powered = power_s(shapes, chip, constants, causal=causal)
    return overlapped(within, powered, constants.products.overlap)


def launch_s(chip: Chip, constants: Prefill) -> float:
    """Of the op, beside its work. [s]"""
    return constants.launch_clocks * chip.clock_s


def latency_s(
    shapes: Attention,
    chip: Chip,
    constants: Constants,
    *,
    causal: bool = True,
    element_bytes: float = 2.0,
    append_bytes: float = 0.0,
    warm: bool = False,
) -> Numbers:
    """Time of each attention, as an op of a CUDA graph. [s]

    `warm`: the same tensors were touched just before, as in a benchmark that repeats an op.
    """
    computed = computed_s(shapes, chip, constants, causal=causal)
    moved = bytes_moved(shapes, element_bytes=element_bytes, append_bytes=append_bytes)
    streamed = stream.bytes_s(moved, chip, constants.stream, warm=warm)
    found: Numbers = launch_s(chip, constants.prefill) + np.hypot(computed, streamed)
    return found


def ops(shapes: Attention, *, causal: bool = True) -> Numbers:
    """Work as published: 4 · batch · heads · tokens² · width / 2 of a causal sequence. [op]"""
    return OPS_PER_MAC * macs(shapes, causal=causal)
