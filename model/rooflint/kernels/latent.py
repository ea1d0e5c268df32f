"""Latent attention (MLA): all heads share one latent of each token, which is all that the cache keeps.

Prefill expands the latents to keys and values of every head and attends as usual, with keys that are wider than values.
Decode absorbs the expansion into the products before and after it, so that its heads attend to the latents themselves:
one cache of `rank` + `rope` elements a token is key and, without the `rope`, value of all heads at once.

DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model", 2024, section 2.1 and
appendix C. arXiv:2405.04434
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rooflint.kernels import attention, decode, stream
from rooflint.kernels.attention import ELEMENT_BYTES, Attention, OfSequences, Sequences
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.constants import Decode as DecodeConstants
from rooflint.kernels.decode import PARTIAL_BYTES, QUERY_BYTES, SPLITS, Caches, Decode
from rooflint.kernels.kernel import FITTED_IN, Terms, Times, Work, least
from rooflint.kernels.shapes import Numbers, columns_of

ROWS = 64
"""Rows of the matrix instructions that kernels for latents take: heads are padded to as many."""

VALUES = 256
"""Elements of values that a block of TensorRT-LLM's sums up at most where warps wait: more blocks share wider ones.

cpp/kernels/fmha_v2/src/fused_multihead_flash_attention_kernel_noloop_tiled.h: ctas_per_o_row; each computes all scores.
"""

SPLIT_ROWS, SPLIT_KEYS, READS = 16, 32, 3
"""Of SGLang's blocks, where warps wait: heads, latents of a step, and reads of a step of which each waits for the one
before: where the latents are, keys, values.

python/sglang/srt/layers/attention/triton_ops/decode_attention.py at 03cd2ec.
"""

RANK, ROPE, HEAD = 512, 64, 128
"""Elements of a latent, of its key with a position, and of a head, in DeepSeek-V2, V3 and Kimi K2."""


class Latents(NamedTuple):
    """One entry each; whole numbers, kept as floats."""

    batch: Numbers
    heads: Numbers
    tokens: Numbers
    """Of the sequence in prefill, of the cache with the new token in decode."""


def of_table(heads: Numbers, tokens: Numbers, widths: Numbers, read: Numbers, rank: float) -> Latents:
    """Decode of which the heads of all samples are known, and the elements that it reads: queries and latents.

    `widths` are those of a key and of a value together.
    """
    short = widths - rank
    batch = np.clip(np.round((read - heads * short) / (tokens * short)), 1.0, heads)
    return Latents(batch, heads / batch, tokens)


@dataclass(frozen=True)
class LatentAttention(OfSequences):
    """Prefill: every head has keys of `head` + `rope` elements and values of `head`; latents go into a cache."""

    causal: bool = True
    rank: int = RANK
    rope: int = ROPE
    head: int = HEAD

    op = "latent_attention"
    columns = Latents._fields
    rests_on = "not calibrated: the constants of prefill, checked on latent prefill"

    @property
    def topic(self) -> str | None:
        """A causal sequence of heads as DeepSeek's."""
        as_measured = (self.causal, self.rank, self.rope, self.head) == (True, RANK, ROPE, HEAD)
        return "mla_prefill" if as_measured and self.precision == FITTED_IN else None

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Latents:
        """Samples, heads and tokens."""
        return Latents(*columns_of(self.columns, *sizes, **named))

    def _expanded(self, sizes: Latents) -> Sequences:
        """Heads of their own keys, with as many elements as keys and values have on the mean."""
        batch, heads, tokens = sizes
        return Sequences(batch, heads, heads, tokens, np.full_like(batch, self.head + self.rope / 2))

    @property
    def _attention(self) -> Attention:
        return Attention(self.precision, causal=self.causal)

    def _work(self, work: Work) -> Work:
        """The same as attention."""
        sizes = self._expanded(work.sizes)
        return replace(work, sizes=sizes, bytes_moved=self.bytes_moved(work))

    def macs(self, work: Work) -> Numbers:
        """Both products over the scores that count. [MAC]"""
        return attention.macs(self._expanded(work.sizes), causal=self.causal)

    def tensor_bytes(self, work: Work) -> Numbers:
        """Q, K, V and the output once, and the latents read and written to go into a cache. [B]"""
        batch, heads, tokens = work.sizes
        appended = 2 * (self.rank + self.rope)
        moved: Numbers = batch * tokens * (heads * (4 * self.head + 2 * self.rope) + appended) * ELEMENT_BYTES
        return moved

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """One kernel, as attention with heads of that width."""
        return self._attention.time(self._work(work), chip, constants, gap_s)

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """What blocks do, their power, bytes and launch."""
        return self._attention.terms(self._work(work), chip, constants)


@dataclass(frozen=True)
class LatentDecode(Decode):
    """Decode in the absorbed form: all heads of one new token attend to the latents of its sequence.

    The products that absorb the expansion, heads of `head` × `rank` before and `rank` × `head` after it, are products
    of their own.
    """

    rank: int = RANK
    rope: int = ROPE
    split: bool = True
    """Whether a library may split caches where warps wait for their matrix instruction: SGLang does, TensorRT-LLM does
    not."""
    whole: bool = True
    """Whether one may walk through whole caches there; where False, all split them."""

    op = "latent_decode"
    columns = Latents._fields
    rests_on = "calibrated on latent decode of Hopper, Ada, Blackwell and RTX PRO"

    @property
    def topic(self) -> str | None:
        """By what the cache stores, of latents as DeepSeek's."""
        measured = {
            (2.0, True, True): "mla_decode",
            (2.0, False, True): "mla_decode_whole",
            (2.0, True, False): "mla_decode_parts",
            (1.0, True, True): "mla_decode_fp8",
        }
        as_measured = (self.rank, self.rope) == (RANK, ROPE) and self.precision == FITTED_IN
        return measured.get((self.cache_bytes, self.split, self.whole)) if as_measured else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """Where a library may be slower than the fastest."""
        whole = (
            "on Ampere, Ada and RTX PRO TensorRT-LLM does not split caches: one sequence of 8192 tokens takes 9 to 18 "
            "times as long there"
        )
        return (*super().caveats, whole)

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Latents:
        """Samples, heads and tokens, the new one included."""
        return Latents(*columns_of(self.columns, *sizes, **named))

    def caches(self, sizes: Any, chip: Chip, constants: Constants) -> Caches:
        """One a sample."""
        batch, heads, tokens = sizes
        width = np.full_like(batch, self.rank + self.rope / 2)
        score = attention.score_clocks(width, chip, constants.prefill)
        return Caches(batch, tokens, ROWS * np.ceil(heads / ROWS), score, batch * heads * self.rank)

    def own(self, constants: Constants) -> DecodeConstants:
        """Those fitted to latents."""
        return constants.latent

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """As decode; where warps wait for their matrix instruction, by the one of two kernels that takes least."""
        if chip.asynchronous:
            return super().time(work, chip, constants, gap_s)
        caches = self.caches(work.sizes, chip, constants)
        streamed = stream.work_bytes_s(self.bytes_moved(work), work, chip, constants.stream)
        launch, found = stream.launch_s(chip, constants.latent), []
        if self.whole or not self.split:
            blocks = self._whole_s(caches, chip, constants)
            found.append(_times(blocks, streamed, np.hypot(blocks, streamed), launch))
        if self.split:
            blocks = caches.caches * np.ceil(work.sizes.heads / SPLIT_ROWS)
            small = caches._replace(caches=blocks, rows=np.full_like(blocks, SPLIT_ROWS))
            alone, together = (
                self._in_parts_s(small, other, chip, constants) for other in (np.zeros_like(streamed), streamed)
            )
            found.append(_times(alone, streamed, together, launch))
        return least(found)

    def _copy_clocks(self, elements: float, constants: Constants) -> float:
        """Of so many elements to an SM. [clock]"""
        return elements * self.cache_bytes / constants.stream.l2_bytes

    def _whole_s(self, caches: Caches, chip: Chip, constants: Constants) -> Numbers:
        """Blocks of ROWS heads and VALUES elements of values that walk through a whole cache each. [s]

        An SM has room for two, of which one copies latents while the other computes; alone, a block does both in turn.
        """
        shares = np.ceil(self.rank / VALUES)
        elements = self.rank + self.rope + self.rank / shares
        score = attention.score_clocks(np.full_like(caches.tokens, elements / 2), chip, constants.prefill)
        computed = ROWS * decode.KEYS * score
        copied = self._copy_clocks(decode.KEYS * elements, constants)
        blocks = shares * caches.caches * caches.rows / ROWS
        alone = blocks <= chip.sms
        step = np.where(alone, computed + copied, 2 * np.hypot(computed, copied))
        waves = np.where(alone, 1.0, np.ceil(blocks / (2 * chip.sms)))
        clocks = waves * (np.ceil(caches.tokens / decode.KEYS) * step + constants.decode.block_clocks)
        found: Numbers = clocks * chip.clock_s
        return found

    def _in_parts_s(self, small: Caches, streamed_s: Numbers, chip: Chip, constants: Constants) -> Numbers:
        """Blocks of SPLIT_ROWS heads and a part of a cache, and sums that read one part after the other. [s]

        The grid has as many parts as a cache may need: the power of two from the number of SMs on (SGLang,
        triton_backend.py at 0085842: _mla_decode_kv_splits_cap). Blocks without latents read that they have none.
        """
        own, read = constants.latent, constants.latent_parts.read_clocks
        grid, every = 2 ** np.ceil(np.log2(chip.sms)), np.ceil(small.tokens / SPLIT_KEYS)
        copied = self._copy_clocks(SPLIT_KEYS * (2 * self.rank + self.rope), constants)
        step = SPLIT_ROWS * SPLIT_KEYS * small.score_clocks + copied + READS * read
        ways = []
        for split in SPLITS:
            parts = np.minimum(split, every)
            walked = np.maximum(small.caches * parts / chip.sms, 1.0) * np.ceil(every / split) * step
            idle = small.caches * np.maximum(grid - parts, 0.0) / chip.sms * read
            summed = parts * (read + PARTIAL_BYTES * small.output_elements / (chip.sms * constants.stream.l2_bytes))
            clocks = own.block_clocks + own.reduction_clocks + idle + summed
            ways.append(np.hypot(walked * chip.clock_s, streamed_s) + clocks * chip.clock_s)
        found: Numbers = np.min(ways, axis=0)
        return found

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """As decode; where one of two kernels is taken, its work and launch."""
        if chip.asynchronous:
            return super().terms(work, chip, constants)
        found = self.time(work, chip, constants)
        return {"work": found.together_s, "launch": found.launch_s()}

    def macs(self, work: Work) -> Numbers:
        """Keys of rank + rope elements, values of rank. [MAC]"""
        batch, heads, tokens = work.sizes
        found: Numbers = batch * heads * tokens * (2 * self.rank + self.rope)
        return found

    def tensor_bytes(self, work: Work) -> Numbers:
        """The latents once for all heads, and Q and the output of one token. [B]"""
        batch, heads, tokens = work.sizes
        asked = heads * (2 * self.rank + self.rope) * QUERY_BYTES
        moved: Numbers = batch * (tokens * (self.rank + self.rope) * self.cache_bytes + asked)
        return moved


def _times(compute_s: Numbers, memory_s: Numbers, together_s: Numbers, launch_s: float) -> Times:
    return Times(compute_s, memory_s, together_s, np.full((1, len(memory_s)), launch_s))
