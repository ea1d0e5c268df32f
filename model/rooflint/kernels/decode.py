"""Decode: attention of one new token on a cache of keys and values.

Every byte of the cache is read once for two operations a head, so it is a stream; what is computed matters only where
many heads share keys. A long cache of few heads is split into parts, so that all SMs read, and the parts are combined.
The form is that of Flash-Decoding: Dao, Haziza, Massa, Sizov, 2023.
https://crfm.stanford.edu/2023/10/12/flashdecoding.html
"""

import numpy as np

from rooflint.kernels import residency, stream
from rooflint.kernels.attention import Attention, score_clocks
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Decode
from rooflint.kernels.shapes import Numbers

KEYS = 64
"""Keys of a step."""

ROWS = 16
"""Rows of the narrowest matrix instruction: heads that share keys are padded to as many."""

SPLITS = (1, 4, 16, 64)
"""Parts of a cache that are worked on side by side; a finer menu fits no better."""

QUERY_BYTES = 2.0
"""Of an element of Q and of the output, whatever the cache stores. [B]"""

PARTIAL_BYTES = 8
"""A partial sum of 4 B, written and read again. [B]"""


def macs(shapes: Attention) -> Numbers:
    """Both products over all scores: 2 · tokens · width a head. [MAC]"""
    return 2 * shapes.batch * shapes.heads * shapes.tokens * shapes.width


def bytes_moved(shapes: Attention, *, cache_bytes: float) -> Numbers:
    """K and V once, 2 · batch · kv_heads · tokens · width elements, and Q and the output of one token. [B]"""
    return 2 * shapes.key_elements * cache_bytes + 2 * shapes.query_elements * QUERY_BYTES


def roofline_s(shapes: Attention, chip: Chip, *, cache_bytes: float = 2.0) -> Numbers:
    """The plain roofline: all MACs at peak, or all bytes at full bandwidth. [s]"""
    compute = macs(shapes) / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    return np.maximum(compute, bytes_moved(shapes, cache_bytes=cache_bytes) / chip.bandwidth_bytes_per_s)


def part_s(shapes: Attention, split: int, chip: Chip, constants: Constants) -> Numbers:
    """All parts of all caches, dealt to the SMs in waves. [s]"""
    every = np.ceil(shapes.tokens / KEYS)
    rows = ROWS * np.ceil(shapes.group / ROWS)
    step = rows * KEYS * score_clocks(shapes.width, chip, constants.prefill)
    waves = np.maximum(shapes.batch * shapes.kv_heads * np.minimum(split, every) / chip.sms, 1.0)
    return waves * (np.ceil(every / split) * step + constants.decode.block_clocks) * chip.clock_s


def reduction_s(shapes: Attention, split: int, chip: Chip, constants: Constants) -> Numbers:
    """To combine the parts; nothing where there is one. [s]"""
    if split == 1:
        return np.zeros_like(shapes.batch)
    partial = PARTIAL_BYTES * split * shapes.query_elements
    combined = partial / residency.l2_bytes_per_s(chip, constants.stream)
    return constants.decode.reduction_clocks * chip.clock_s + combined


def work_s(shapes: Attention, streamed_s: Numbers, chip: Chip, constants: Constants) -> Numbers:
    """Time of each without its launch, whose bytes take so long by themselves: the parts that take least. [s]"""
    ways = [
        np.hypot(part_s(shapes, split, chip, constants), streamed_s) + reduction_s(shapes, split, chip, constants)
        for split in SPLITS
    ]
    least: Numbers = np.min(ways, axis=0)
    return least


def launch_s(chip: Chip, constants: Decode) -> float:
    """Of the op, beside its work. [s]"""
    return constants.launch_clocks * chip.clock_s


def latency_s(
    shapes: Attention, chip: Chip, constants: Constants, *, cache_bytes: float = 2.0, warm: bool = False
) -> Numbers:
    """Time of each attention, as an op of a CUDA graph. [s]

    `cache_bytes`: of an element of the cache. `warm`: the same cache was read just before, as in a benchmark.
    """
    streamed = stream.bytes_s(bytes_moved(shapes, cache_bytes=cache_bytes), chip, constants.stream, warm=warm)
    return launch_s(chip, constants.decode) + work_s(shapes, streamed, chip, constants)
