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
from rooflint.kernels.decode import QUERY_BYTES, Caches, Decode, work_s
from rooflint.kernels.kernel import FITTED_IN, Terms, Times, Work, least
from rooflint.kernels.shapes import Numbers, columns_of

ROWS = 64
"""Rows of the matrix instructions that kernels for latents take: heads are padded to as many."""

SPLIT_ROWS = 16
"""The same of kernels that split caches where warps wait for their matrix instruction: FlashMLA has none for these."""

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

    op = "latent_decode"
    columns = Latents._fields
    rests_on = "calibrated on latent decode of Hopper and Blackwell"

    @property
    def topic(self) -> str | None:
        """By what the cache stores, of latents as DeepSeek's."""
        measured = {(2.0, True): "mla_decode", (1.0, True): "mla_decode_fp8", (2.0, False): "mla_decode_whole"}
        as_measured = (self.rank, self.rope) == (RANK, ROPE) and self.precision == FITTED_IN
        return measured.get((self.cache_bytes, self.split)) if as_measured else None

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
        streamed = stream.work_bytes_s(self.bytes_moved(work), work, chip, constants.stream)
        whole = self._whole_s(work.sizes, chip, constants)
        found = [_times(whole, streamed, np.hypot(whole, streamed), stream.launch_s(chip, constants.latent))]
        if self.split:
            caches, own = self._small_blocks(work.sizes, chip, constants), constants.decode
            alone, together = (
                work_s(caches, bytes_s, chip, own, constants.stream) for bytes_s in (np.zeros_like(streamed), streamed)
            )
            found.append(_times(alone, streamed, together, stream.launch_s(chip, own)))
        return least(found)

    def _copy_clocks(self, elements: int, constants: Constants) -> float:
        """Of so many elements of each latent of a step, before it: two steps do not fit into an SM. [clock]"""
        return decode.KEYS * elements * self.cache_bytes / constants.stream.l2_bytes

    def _whole_s(self, sizes: Latents, chip: Chip, constants: Constants) -> Numbers:
        """Blocks of ROWS heads that walk through a whole cache each, dealt to the SMs in waves. [s]"""
        caches = self.caches(sizes, chip, constants)
        copied = self._copy_clocks(self.rank + self.rope, constants)
        step = ROWS * decode.KEYS * caches.score_clocks + copied
        waves = np.ceil(caches.caches * caches.rows / ROWS / chip.sms)
        clocks = np.ceil(caches.tokens / decode.KEYS) * step + constants.decode.block_clocks
        found: Numbers = waves * clocks * chip.clock_s
        return found

    def _small_blocks(self, sizes: Latents, chip: Chip, constants: Constants) -> Caches:
        """Blocks of SPLIT_ROWS heads that may be split into parts; each copies latents as keys, and again as values.

        SGLang, srt/layers/attention/triton_ops/decode_attention.py at 03cd2ec.
        """
        caches, rows = self.caches(sizes, chip, constants), float(SPLIT_ROWS)
        copied = self._copy_clocks(2 * self.rank + self.rope, constants)
        score = caches.score_clocks + copied / (rows * decode.KEYS)
        blocks = caches.caches * np.ceil(sizes.heads / rows)
        return caches._replace(caches=blocks, rows=np.full_like(blocks, rows), score_clocks=score)

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
