"""Stream: what a kernel takes that moves bytes, from a tensor that fits in L2 to one that fills the memory.

    launch + bytes / what memory or L2 attains

A small tensor pays the launch and little else: so bandwidth ramps up with size. Constants are fitted to quantise
kernels; element-wise ops, normalisation and softmax are the same kernel with other bytes, and take the same ramp.
docs/method-silicon-ops.md has the measurements.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rooflint.base.precision import bytes_per_element
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, Decode, Prefill, Scales
from rooflint.kernels.constants import Stream as Ramp
from rooflint.kernels.kernel import WITH_FP8, Kernel, Times, Work
from rooflint.kernels.shapes import Numbers, columns_of, memory_s, miss_share, overlapped


class Elements(NamedTuple):
    """Of a tensor, one entry an op."""

    m: Numbers
    n: Numbers


def bytes_s(bytes_moved: Numbers, chip: Chip, constants: Ramp, *, warm: bool) -> Numbers:
    """Time to move bytes, from memory, or from L2 where the same bytes were touched just before. [s]"""
    miss = miss_share(bytes_moved, chip, constants) if warm else np.ones_like(bytes_moved)
    return memory_s(bytes_moved, miss, chip, constants)


def work_bytes_s(bytes_moved: Numbers, work: Work, chip: Chip, constants: Ramp) -> Numbers:
    """The same for the bytes of some work, which says what L2 still has of them. [s]"""
    if work.missed is None:
        return bytes_s(bytes_moved, chip, constants, warm=work.warm)
    return memory_s(bytes_moved, work.missed, chip, constants)


def corrected(chip: Chip, constants: Ramp) -> Chip:
    """The chip as kernels find it that write about as much as they read, where the memory holds its own ECC bits."""
    if not chip.ecc:
        return chip
    return replace(chip, bandwidth_bytes_per_s=constants.ecc_left * chip.bandwidth_bytes_per_s)


def launch_s(chip: Chip, constants: Ramp | Prefill | Decode) -> float:
    """From one kernel of a graph to the next, beside its work. [s]"""
    return constants.launch_clocks * chip.clock_s


@dataclass(frozen=True)
class Stream(Kernel):
    """A kernel that reads and writes tensors of m × n elements from one end to the other.

    Rows of a normalisation or a softmax fit in an SM's shared memory; longer ones are read twice or more.
    """

    reads: int = 1
    """Tensors that are read; a row that stays in registers is read once."""
    writes: int = 1
    bytes_in: float = 2.0
    bytes_out: float = 2.0
    """Of an element. [B]"""

    op = "stream"
    columns = ("m", "n")
    rests_on = "not calibrated: takes the ramp of quantise kernels"
    only_term = "memory"

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Elements:
        """Rows and columns of the tensor."""
        return Elements(*columns_of(self.columns, *sizes, **named))

    def tensor_bytes(self, work: Work) -> Numbers:
        """All tensors that are read and written. [B]"""
        m, n = work.sizes
        moved: Numbers = m * n * (self.reads * self.bytes_in + self.writes * self.bytes_out)
        return moved

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """One kernel; what it computes runs beside its bytes."""
        moved = work_bytes_s(self.bytes_moved(work), work, corrected(chip, constants.stream), constants.stream)
        computed = self.least_s(work, chip) + np.zeros_like(moved)
        floor = np.full((1, len(moved)), launch_s(chip, constants.stream))
        return Times(computed, moved, np.maximum(computed, moved), floor)


Given = Literal["known", "row", "block", "tensor"]
"""Whether a scale is known before, or found of each row, of each 128 elements of it, or of the whole tensor."""

TURN_BLOCKS, TURN_READS = 64, 4
"""Blocks of one warp that share the rows of 512 elements, and how often each waits for a part of a row.

TensorRT-LLM, tensorrt_llm/quantization/utils/fp8_utils.py, per_token_quant_and_transform.
"""


@dataclass(frozen=True)
class Quantise(Stream):
    """Makes an m × k tensor in bf16 FP8."""

    bytes_out: float = 1.0
    given: Given = "known"

    op = "quantise"
    columns = ("m", "k")
    measured_on = WITH_FP8
    rests_on = "calibrated on quantise kernels of Hopper, Ada and Blackwell"

    @property
    def topic(self) -> str | None:
        """What the ramp is fitted to where the scale is known; otherwise what the constants of scales are."""
        if self.given == "block":
            return None
        return "quantise" if self.given == "known" else f"quantise_{self.given}"

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """Its bytes; of a tensor once more what is read, and beside them rows, each by a block or in turn."""
        told, of = super().time(work, chip, constants, gap_s), constants.scales
        if self.given == "tensor":
            moved = told.memory_s * (2 * self.bytes_in + self.bytes_out) / (self.bytes_in + self.bytes_out)
            launch = np.full_like(told.floors_s, of.tensor_launch_us * 1e-6)
            return Times(told.compute_s, moved, np.maximum(told.compute_s, moved), launch)
        if self.given == "row":
            blocks = rows_clocks(work.sizes, chip, of) * chip.clock_s
            together = overlapped(told.together_s, blocks, constants.products.overlap)
            launch = np.full_like(told.floors_s, of.row_launch_clocks * chip.clock_s)
            return Times(np.maximum(told.compute_s, blocks), told.memory_s, together, launch)
        if self.given == "block" and chip.tma and not chip.asynchronous:  # workstation Blackwell
            turns = turns_clocks(work.sizes.m, constants) * chip.clock_s
            together = overlapped(told.together_s, turns, constants.products.overlap)
            return told._replace(compute_s=np.maximum(told.compute_s, turns), together_s=together)
        return told


def rows_clocks(sizes: Elements, chip: Chip, constants: Scales) -> Numbers:
    """Of blocks that find the scale of a row each: of one of them, or of all, whichever is longer. [clock]"""
    rows, elements = sizes
    of_all = rows * (constants.row_clocks + elements * (constants.row_sm_clocks / chip.sms))
    return np.maximum(elements * constants.row_element_clocks, of_all)


def turns_clocks(rows: Numbers, constants: Constants) -> Numbers:
    """Of a warp that finds the scales of one row after the other, and waits for each read. [clock]"""
    return np.ceil(rows / TURN_BLOCKS) * (TURN_READS * constants.latent_parts.read_clocks)


QUANTISE = Quantise()
QUANTISE_ROWS = Quantise(given="row")
QUANTISE_BLOCKS = Quantise(given="block")
QUANTISE_TENSOR = Quantise(given="tensor")


@dataclass(frozen=True)
class Dequantise(Stream):
    """Makes a stored m × k tensor bf16 again, as before a product of weights that are kept in fewer bits."""

    stored: str = "fp8"
    """Precision of what is read, scales of its blocks included."""

    op = "dequantise"
    columns = ("m", "k")

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes_in", bytes_per_element(self.stored))


@dataclass(frozen=True)
class Other(Kernel):
    """An op that no model is for: its bytes and ops by the roofline, with the launch of a stream."""

    op = "other"
    rests_on = "not calibrated: the plain roofline, with the launch of a stream"
    only_term = "roofline"

    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> None:
        """None: of such an op nothing but bytes and ops is known."""

    def tensor_bytes(self, work: Work) -> Numbers:
        """Not known: the work says what is moved."""
        raise NotImplementedError

    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """At full bandwidth."""
        missed = 1.0 if work.missed is None else work.missed
        moved = self.bytes_moved(work) * missed / chip.bandwidth_bytes_per_s
        computed = self.least_s(work, chip) + np.zeros_like(moved)
        floor = np.full((1, len(moved)), launch_s(chip, constants.stream))
        return Times(computed, moved, np.maximum(computed, moved), floor)

    def floor_s(self, work: Work, chip: Chip) -> Numbers:
        """The roofline."""
        return np.maximum(super().floor_s(work, chip), self.least_s(work, chip))
