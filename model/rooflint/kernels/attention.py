"""Sequences: shapes to be timed, their work and bytes, and what one score costs an SM.

Prefill and decode share it: softmax(Q·Kᵀ)·V, block by block, without the scores ever leaving the SM, which is the form
of FlashAttention. Dao, Fu, Ermon, Rudra, Ré, "FlashAttention: Fast and Memory-Efficient Exact Sequences with
IO-Awareness", NeurIPS 2022. arXiv:2205.14135; Shah et al., "FlashAttention-3", 2024. arXiv:2407.08608
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import gemm, stream
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Prefill
from rooflint.kernels.kernel import FITTED_IN, GA100, WITH_FP8, Kernel, Terms, Times, Work, beside
from rooflint.kernels.shapes import Numbers, columns_of, overlapped

ELEMENT_BYTES = 2.0
"""Of Q, K, V and the output in bf16. [B]"""

DEPTH = 16
"""Elements that a matrix instruction in bf16 takes along k, mma.m16n8k16 and wgmma.k16: a head is padded to as many."""


class Sequences(NamedTuple):
    """One entry each; whole numbers, kept as floats."""

    batch: Numbers
    heads: Numbers
    """Of queries."""
    kv_heads: Numbers
    """Of keys and values, each shared by heads / kv_heads of queries."""
    tokens: Numbers
    """Of the sequence in prefill, of the cache with the new token in decode."""
    width: Numbers
    """Elements of a head."""

    @property
    def group(self) -> Numbers:
        """Heads of queries that share keys and values. [1]"""
        return self.heads / self.kv_heads

    @property
    def query_elements(self) -> Numbers:
        """Of Q of one token in all heads and samples, as many as of the output."""
        return self.batch * self.heads * self.width

    @property
    def key_elements(self) -> Numbers:
        """Of K of all tokens and samples, as many as of V."""
        return self.batch * self.kv_heads * self.tokens * self.width


def sequences(*sizes: ArrayLike, **named: ArrayLike) -> Sequences:
    """Of sizes that are broadcast against one another.

    Raises RooflintError for a size below 1, and for heads that are no multiple of the heads of keys and values.
    """
    found = Sequences(*columns_of(Sequences._fields, *sizes, **named))
    uneven = np.flatnonzero(found.heads % found.kv_heads)
    if uneven.size:
        first = uneven[0]
        raise RooflintError(
            f"heads: want a multiple of the {found.kv_heads[first]:g} heads of keys and values, "
            f"found {found.heads[first]:g}"
        )
    return found


def score_clocks(width: Numbers, chip: Chip, constants: Prefill) -> Numbers:
    """What one score costs an SM: 2 · width MAC on the matrix units, and one exponential of a softmax. [clock]

    Warps that wait for their matrix instruction find exponentials before or after it. Asynchronous units compute
    beside them, √(matrix² + softmax²): schedules overlap the two, and none hides the shorter one fully.
    """
    padded = DEPTH * np.ceil(width / DEPTH)
    matrix = 2 * padded / (chip.macs_per_clock * constants.matrix_efficiency)
    softmax = 1 / chip.special_functions
    return np.hypot(matrix, softmax) if chip.asynchronous else matrix + softmax


# ---- A whole sequence on itself

KEYS = 32
"""Keys of a step: finer than most kernels' 64 or 128, as they cut their last step short."""

QUERIES = (64, 128)
"""Queries that an SM computes at a time, of all heads that share keys: short sequences fill a block together."""


def macs(shapes: Sequences, *, causal: bool) -> Numbers:
    """Both products over the scores that count, 2 · tokens² · width a head; half of them in a causal sequence. [MAC]"""
    pairs = shapes.tokens**2 * (0.5 if causal else 1.0)
    return 2 * shapes.batch * shapes.heads * pairs * shapes.width


def bytes_moved(shapes: Sequences, *, element_bytes: float, append_bytes: float) -> Numbers:
    """Q, K, V and the output once; K and V read and written again to go into a cache. [B]

    `append_bytes`: of an element in the cache; 0 where there is none, as in an encoder.
    """
    once = 2 * (shapes.query_elements * shapes.tokens + shapes.key_elements) * element_bytes
    appended = 2 * shapes.key_elements * (element_bytes + append_bytes) if append_bytes else 0.0
    return once + appended


def blocks(shapes: Sequences, queries: int) -> Numbers:
    """Of so many queries, of the heads that share one head of keys. [1]"""
    return np.ceil(shapes.tokens * shapes.group / queries)


def steps(shapes: Sequences, blocks: Numbers, *, causal: bool) -> Numbers:
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


def block_s(shapes: Sequences, queries: int, chip: Chip, constants: Prefill, *, causal: bool) -> Numbers:
    """All blocks of that size, dealt to the SMs: an even share each, and the longest block comes last. [s]"""
    each = blocks(shapes, queries)
    step = queries * KEYS * score_clocks(shapes.width, chip, constants)
    fill = fill_clocks(chip, constants)
    work = steps(shapes, each, causal=causal) * step + each * fill
    longest = np.ceil(shapes.tokens / KEYS) * step + fill
    return (shapes.batch * shapes.kv_heads * work / chip.sms + longest) * chip.clock_s


def blocks_s(shapes: Sequences, chip: Chip, constants: Prefill, *, causal: bool) -> Numbers:
    """What all blocks take, of the size that takes least, without their bytes. [s]"""
    least: Numbers = np.min(_by_size_s(shapes, chip, constants, causal=causal), axis=0)
    return least


def block_queries(shapes: Sequences, chip: Chip, constants: Prefill, *, causal: bool) -> NDArray[np.int_]:
    """Queries of a block of the size that takes least. Shape (ops,). [1]"""
    best = np.argmin(_by_size_s(shapes, chip, constants, causal=causal), axis=0)
    return np.asarray(np.array(QUERIES)[best])


def _by_size_s(shapes: Sequences, chip: Chip, constants: Prefill, *, causal: bool) -> list[Numbers]:
    return [block_s(shapes, size, chip, constants, causal=causal) for size in QUERIES]


def power_s(shapes: Sequences, chip: Chip, constants: Constants, *, causal: bool) -> Numbers:
    """Time below which the ops would draw more than the rated power, each as much as one of a product. [s]"""
    here = gemm.constants_on(chip, constants.products, constants.cores)
    return ops(shapes, causal=causal) * (gemm.energy_j_per_op(chip, here) / chip.tdp_w)


def computed_s(shapes: Sequences, chip: Chip, constants: Constants, *, causal: bool) -> Numbers:
    """What compute takes, without bytes: a kernel near the rated power is slowed before it is stopped. [s]"""
    within = blocks_s(shapes, chip, constants.prefill, causal=causal)
    powered = power_s(shapes, chip, constants, causal=causal)
    return overlapped(within, powered, constants.products.overlap)


def ops(shapes: Sequences, *, causal: bool = True) -> Numbers:
    """Work as published: 4 · batch · heads · tokens² · width / 2 of a causal sequence. [op]"""
    return OPS_PER_MAC * macs(shapes, causal=causal)


@dataclass(frozen=True)
class OfSequences(Kernel):
    """Attention of sequences, which was measured in bf16 alone."""

    columns: ClassVar[tuple[str, ...]] = Sequences._fields
    counted = "tokens"
    measured_on = (GA100, *WITH_FP8)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is carried over."""
        if self.precision == FITTED_IN:
            return ()
        return (f"attention was measured in {FITTED_IN}; its constants are used unchanged in {self.precision}",)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Any:
        """As `sequences`; tokens of a cache are counted with the new one."""
        return sequences(*sizes, **named)

    def rows(self, work: Work) -> Numbers:
        """Tokens of a sequence or of a cache. [1]"""
        tokens: Numbers = work.sizes.tokens
        return tokens


@dataclass(frozen=True)
class Attention(OfSequences):
    """Attention of a whole sequence on itself, in bf16.

    A block is a number of queries of the heads that share keys, and walks along the keys in steps; the grid of blocks
    is dealt to the SMs, as fast as their power allows. Bytes overlap with that, and the launch with nothing.
    """

    causal: bool = False
    append_bytes: float = 0.0
    """Of an element of a cache that K and V are appended to; 0 where there is none. [B]"""

    op = "attention"
    rests_on = "calibrated on prefill, checked on encoders"

    @property
    def topic(self) -> str | None:
        """Prefill was measured causal with a cache in bf16, encoders with neither."""
        measured = {(True, ELEMENT_BYTES): "prefill", (False, 0.0): "encoder"}
        return measured.get((self.causal, self.append_bytes)) if self.precision == FITTED_IN else None

    def macs(self, work: Work) -> Numbers:
        """Both products over the scores that count. [MAC]"""
        return macs(work.sizes, causal=self.causal)

    def tensor_bytes(self, work: Work) -> Numbers:
        """Q, K, V and the output, and K and V again to append them. [B]"""
        return bytes_moved(work.sizes, element_bytes=work.element_bytes, append_bytes=self.append_bytes)

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """One kernel."""
        computed = computed_s(work.sizes, chip, constants, causal=self.causal)
        streamed = stream.work_bytes_s(self.bytes_moved(work), work, chip, constants.stream)
        floor = np.full((1, len(computed)), stream.launch_s(chip, constants.prefill))
        return Times(computed, streamed, np.hypot(computed, streamed), floor)

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """What blocks do, their power, bytes and launch."""
        some, own = work.sizes, constants.prefill
        unfilled = replace(own, block_clocks=0.0)
        no_softmax = replace(chip, special_functions=np.inf)
        given = ((chip, own), (chip, unfilled), (no_softmax, unfilled))
        whole, loop, matrix = (blocks_s(some, on, one, causal=self.causal) for on, one in given)
        within = {"main loop": matrix, "softmax": loop - matrix, "fill": whole - loop}
        found = self.time(work, chip, constants)
        compute = beside(within, {"power": power_s(some, chip, constants, causal=self.causal)}, found.compute_s)
        return {**beside(compute, {"memory": found.memory_s}, found.together_s), "launch": found.launch_s()}
