"""Attention: shapes to be timed, their work and bytes, and what one score costs an SM.

Prefill and decode share it: softmax(Q·Kᵀ)·V, block by block, without the scores ever leaving the SM, which is the form
of FlashAttention. Dao, Fu, Ermon, Rudra, Ré, "FlashAttention: Fast and Memory-Efficient Exact Attention with
IO-Awareness", NeurIPS 2022. arXiv:2205.14135; Shah et al., "FlashAttention-3", 2024. arXiv:2407.08608
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Prefill
from rooflint.kernels.shapes import Numbers

DEPTH = 16
"""Elements that a matrix instruction in bf16 takes along k, mma.m16n8k16 and wgmma.k16: a head is padded to as many."""


class Attention(NamedTuple):
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


def attention(
    batch: ArrayLike, heads: ArrayLike, kv_heads: ArrayLike, tokens: ArrayLike, width: ArrayLike
) -> Attention:
    """Shapes of sizes that are broadcast against one another.

    Raises RooflintError for a size below 1, and for heads that are no multiple of the heads of keys and values.
    """
    sizes = (batch, heads, kv_heads, tokens, width)
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(size, float)) for size in sizes))
    for name, column in zip(Attention._fields, columns, strict=True):
        if not (column >= 1).all():
            raise RooflintError(f"{name}: want 1 or more, found {column.min():g}")
    found = Attention(*(np.ascontiguousarray(column).ravel() for column in columns))
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
