"""Decode: attention of one new token on a cache of keys and values.

Every byte of the cache is read once for two operations a head, so it is a stream; what is computed matters only where
many heads share keys. A long cache of few heads is split into parts, so that all SMs read, and the parts are combined.
The form is that of Flash-Decoding: Dao, Haziza, Massa, Sizov, 2023.
https://crfm.stanford.edu/2023/10/12/flashdecoding.html
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels import stream
from rooflint.kernels.attention import OfSequences, Sequences, score_clocks
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.constants import Decode as DecodeConstants
from rooflint.kernels.constants import Stream as Ramp
from rooflint.kernels.kernel import FITTED_IN, Terms, Times, Work, beside
from rooflint.kernels.shapes import Numbers, l2_bytes_per_s

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


def macs(shapes: Sequences) -> Numbers:
    """Both products over all scores: 2 · tokens · width a head. [MAC]"""
    return 2 * shapes.batch * shapes.heads * shapes.tokens * shapes.width


def bytes_moved(shapes: Sequences, *, cache_bytes: float) -> Numbers:
    """K and V once, 2 · batch · kv_heads · tokens · width elements, and Q and the output of one token. [B]"""
    return 2 * shapes.key_elements * cache_bytes + 2 * shapes.query_elements * QUERY_BYTES


class Caches(NamedTuple):
    """Caches that are walked through, one entry an op."""

    caches: Numbers
    """Heads of keys of all samples."""
    tokens: Numbers
    rows: Numbers
    """Heads of queries that share a cache, padded to those of matrix instructions."""
    score_clocks: Numbers
    """What one score costs an SM. [clock]"""
    output_elements: Numbers
    """Of all heads."""


def part_s(caches: Caches, split: int, chip: Chip, own: DecodeConstants) -> Numbers:
    """All parts of all caches, dealt to the SMs in waves. [s]"""
    every = np.ceil(caches.tokens / KEYS)
    step = caches.rows * KEYS * caches.score_clocks
    waves = np.maximum(caches.caches * np.minimum(split, every) / chip.sms, 1.0)
    return waves * (np.ceil(every / split) * step + own.block_clocks) * chip.clock_s


def reduction_s(caches: Caches, split: int, chip: Chip, own: DecodeConstants, ramp: Ramp) -> Numbers:
    """To combine the parts; nothing where there is one. [s]"""
    if split == 1:
        return np.zeros_like(caches.caches)
    partial = PARTIAL_BYTES * split * caches.output_elements
    return own.reduction_clocks * chip.clock_s + partial / l2_bytes_per_s(chip, ramp)


def work_s(caches: Caches, streamed_s: Numbers, chip: Chip, own: DecodeConstants, ramp: Ramp) -> Numbers:
    """Time of each without its launch, whose bytes take so long by themselves: the parts that take least. [s]"""
    ways = [
        np.hypot(part_s(caches, split, chip, own), streamed_s) + reduction_s(caches, split, chip, own, ramp)
        for split in SPLITS
    ]
    least: Numbers = np.min(ways, axis=0)
    return least


class Ways(NamedTuple):
    """Times by the number of parts of a cache, without the launch. [s]"""

    memory_s: Numbers
    """All bytes, the same for each. Shape (ops,)"""
    parts_s: Numbers
    """Shape (splits, ops)"""
    sums_s: Numbers
    """To combine them. Shape (splits, ops)"""

    @property
    def seconds(self) -> Numbers:
        """Shape (splits, ops)"""
        found: Numbers = np.hypot(self.parts_s, self.memory_s) + self.sums_s
        return found


@dataclass(frozen=True)
class Decode(OfSequences):
    """Attention of one new token on a cache; Q and the output are bf16, whatever the cache stores."""

    cache_bytes: float = 2.0
    """Of an element of the cache. [B]"""

    op = "decode"
    rests_on = "calibrated on decode"

    @property
    def topic(self) -> str | None:
        """By what the cache stores."""
        measured = {2.0: "decode", 1.0: "decode_fp8"}
        return measured.get(self.cache_bytes) if self.precision == FITTED_IN else None

    def caches(self, sizes: Any, chip: Chip, constants: Constants) -> Caches:
        """What is walked through."""
        rows = ROWS * np.ceil(sizes.group / ROWS)
        score = score_clocks(sizes.width, chip, constants.prefill)
        return Caches(sizes.batch * sizes.kv_heads, sizes.tokens, rows, score, sizes.query_elements)

    def own(self, constants: Constants) -> DecodeConstants:
        """The constants that were fitted to it."""
        return constants.decode

    def macs(self, work: Work) -> Numbers:
        """Both products over all scores. [MAC]"""
        return macs(work.sizes)

    def tensor_bytes(self, work: Work) -> Numbers:
        """K and V, and Q and the output of one token. [B]"""
        return bytes_moved(work.sizes, cache_bytes=self.cache_bytes)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """All parts of the cache, and what combines them."""
        streamed = stream.work_bytes_s(self.bytes_moved(work), work, chip, constants.stream)
        caches, own = self.caches(work.sizes, chip, constants), self.own(constants)
        alone = work_s(caches, np.zeros_like(streamed), chip, own, constants.stream)
        floor = np.full((1, len(streamed)), stream.launch_s(chip, own))
        return Times(alone, streamed, work_s(caches, streamed, chip, own, constants.stream), floor)

    def parts(self, work: Work, chip: Chip, constants: Constants) -> NDArray[np.int_]:
        """In how many parts each cache is worked on: those that take least. Shape (ops,). [1]"""
        return np.asarray(np.array(SPLITS)[np.argmin(self._ways(work, chip, constants).seconds, axis=0)])

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """What the best number of parts does, bytes, the reduction and the launch."""
        caches, own = self.caches(work.sizes, chip, constants), self.own(constants)
        ways, unfilled = self._ways(work, chip, constants), replace(own, block_clocks=0.0)
        loops = np.array([part_s(caches, split, chip, unfilled) for split in SPLITS])
        best = np.argmin(ways.seconds, axis=0), np.arange(len(ways.memory_s))
        parts, sums = ways.parts_s[best], ways.sums_s[best]
        compute = {"main loop": loops[best], "fill": parts - loops[best]}
        overlapped = beside(compute, {"memory": ways.memory_s}, np.hypot(parts, ways.memory_s))
        launch = np.full(len(ways.memory_s), stream.launch_s(chip, own))
        return {**overlapped, "reduction": sums, "launch": launch}

    def _ways(self, work: Work, chip: Chip, constants: Constants) -> Ways:
        caches, own = self.caches(work.sizes, chip, constants), self.own(constants)
        memory = stream.work_bytes_s(self.bytes_moved(work), work, chip, constants.stream)
        parts = np.array([part_s(caches, split, chip, own) for split in SPLITS])
        sums = np.array([reduction_s(caches, split, chip, own, constants.stream) for split in SPLITS])
        return Ways(memory, parts, sums)
