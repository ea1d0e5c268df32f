"""Kernel: the model of one kind of op; what every model is asked, and what it answers.

    kernel.predict(kernel.work(4096, 4096, 4096), chip, constants)      time of each op, as kernels of a CUDA graph [s]

`dispatch.kernel_for` chooses the model of an op in a precision on a chip.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.precision import bytes_per_element
from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import BANDS, Constants
from rooflint.kernels.shapes import COLD, Numbers

FITTED_IN = "bf16"
"""The precision of the measurements on matrix units; in others constants are carried over, unless a model says so."""

GA100 = "nvidia/ampere-ga100"
WITH_FP8 = tuple(
    f"nvidia/{name}" for name in ("hopper-gh100", "ada-ad102", "blackwell-gb100", "blackwell-gb110", "blackwell-gb202")
)
"""Architectures whose matrix units were measured; the first one has no FP8."""

Terms = Mapping[str, Numbers]
"""Seconds of each op by term."""


class Regimes(NamedTuple):
    """Of each op: what limits it, and how many rows or tokens it has. Errors differ most by these."""

    limit: NDArray[np.int_]
    """Position in LIMITS. Shape (ops,)"""
    band: NDArray[np.int_]
    """Position of the band of its rows, of which BANDS has the ends. Shape (ops,)"""


@dataclass(frozen=True)
class Work:
    """Ops of one kind; columns have one entry an op."""

    sizes: Any
    """Shapes, Convolution, Attention or Elements; None where nothing but bytes is known."""
    element_bytes: float
    """Of an operand on an SM. [B]"""
    copies: Numbers | float = COLD
    """Sets of weights in turn; where finite, whatever else an op reads was touched just before."""
    bytes_moved: Numbers | None = None
    """With what else the kernel moves; None: each tensor of the op once. [B]"""
    stored_bytes: float | None = None
    """Of an element in `bytes_moved`; None: element_bytes. [B]"""
    ops: Numbers | None = None
    """With what joined the kernel; None: those of the op itself. [op]"""
    missed: Numbers | None = None
    """Share of its bytes that L2 does not answer, as ops before it left them; None: as `copies` say. [1]"""

    @property
    def warm(self) -> bool:
        """Whether the same tensors were touched just before, as in a benchmark that repeats an op."""
        return bool(np.all(np.isfinite(self.copies)))

    def part(self, rows: NDArray[Any]) -> "Work":
        """Some of the ops, by position or by a mask."""
        sizes = None if self.sizes is None else type(self.sizes)(*(column[rows] for column in self.sizes))
        copies = self.copies[rows] if isinstance(self.copies, np.ndarray) else self.copies
        moved, ops, missed = (None if one is None else one[rows] for one in (self.bytes_moved, self.ops, self.missed))
        return replace(self, sizes=sizes, copies=copies, bytes_moved=moved, ops=ops, missed=missed)


class Times(NamedTuple):
    """Of some ops, each by all its kernels. [s]"""

    compute_s: Numbers
    """By itself."""
    memory_s: Numbers
    """By itself."""
    together_s: Numbers
    """Both, as far as they overlap."""
    floors_s: Numbers
    """What each launch takes in a graph beside its work; 0 where an op has no such launch. Shape (launches, ops)"""

    def launch_s(self, gap_s: float | None = 0.0) -> Numbers:
        """All launches, each its floor in a graph or the gap of another way of launching, whichever is longer. [s]

        None: launches are free.
        """
        if gap_s is None:
            return np.zeros_like(self.together_s)
        each = np.where(self.floors_s > 0, np.maximum(self.floors_s, gap_s), 0.0)
        return np.asarray(each.sum(axis=0))

    @property
    def seconds(self) -> Numbers:
        """In a CUDA graph. [s]"""
        return self.together_s + self.launch_s()


@dataclass(frozen=True)
class Kernel(ABC):
    """Options are fields; everything else is asked of a chip, and of constants."""

    precision: str = FITTED_IN

    op: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()
    """What its sizes are called, in this order."""
    measured_on: ClassVar[tuple[str, ...]] = ()
    """Architectures whose measurements it is calibrated on."""
    rests_on: ClassVar[str] = ""
    """What its constants rest on, in the precision of the measurements."""
    counted: ClassVar[str] = "rows"
    """What `rows` counts."""
    only_term: ClassVar[str] = "work"
    """What all but the launch is called, where a model has no other terms."""

    @property
    def topic(self) -> str | None:
        """Whose errors hold of it, as a prediction claim calls it; None where it was not measured."""
        return None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader must know before they believe a latency."""
        return ()

    @abstractmethod
    def sizes(self, *sizes: ArrayLike, **named: ArrayLike) -> Any:
        """The sizes of ops, by position or by name. Raises RooflintError for what cannot be."""

    @abstractmethod
    def time(self, work: Work, chip: Chip, constants: Constants, gap_s: float | None = 0.0) -> Times:
        """Time of each op; `gap_s` matters where a library chooses between algorithms of one and of several kernels."""

    @abstractmethod
    def tensor_bytes(self, work: Work) -> Numbers:
        """Each tensor of each op once. [B]"""

    def bytes_moved(self, work: Work) -> Numbers:
        """What each op reads and writes: what the work says, otherwise each tensor once. [B]"""
        return self.tensor_bytes(work) if work.bytes_moved is None else work.bytes_moved

    def macs(self, work: Work) -> Numbers | float:
        """Multiply-accumulates of each op; 0 where the model counts none. [MAC]"""
        return 0.0

    def terms(self, work: Work, chip: Chip, constants: Constants) -> Terms:
        """Time of each op in a graph by term; the terms of an op add up to what is predicted of it. [s]"""
        found = self.time(work, chip, constants)
        return {self.only_term: found.together_s, "launch": found.launch_s()}

    def rows(self, work: Work) -> Numbers:
        """Rows of each op, which are tokens in a language model. [1]"""
        return np.asarray(work.sizes[0])

    def regimes(self, work: Work, chip: Chip, constants: Constants) -> Regimes:
        """What takes longest in the prediction of each op, and its rows."""
        found = self.time(work, chip, constants)
        limit = np.argmax([found.compute_s, found.memory_s, found.launch_s()], axis=0)
        return Regimes(limit, np.searchsorted(BANDS, self.rows(work)))

    def floor_s(self, work: Work, chip: Chip) -> Numbers:
        """The roofline: what must be computed at peak or what must be moved at full bandwidth. [s]"""
        moving = self.bytes_moved(work) / chip.bandwidth_bytes_per_s
        return np.asarray(np.maximum(self.macs(work) / chip.macs_per_s, moving))

    def alpha_beta_s(self, work: Work, chip: Chip, constants: Constants) -> Numbers | None:
        """Latencies, and what must be sent at full bandwidth; None of what sends nothing to other devices. [s]"""
        return None

    def work(self, *sizes: ArrayLike, copies: Numbers | float = COLD, **named: ArrayLike) -> Work:
        """Ops of these sizes. Raises RooflintError for what cannot be."""
        return Work(self.sizes(*sizes, **named), bytes_per_element(self.precision), copies)

    def predict(self, work: Work, chip: Chip, constants: Constants) -> Numbers:
        """Time of each op, as kernels of a CUDA graph. [s]"""
        return self.time(work, chip, constants).seconds

    def least_s(self, work: Work, chip: Chip) -> Numbers:
        """All that is done, at the peak; 0 of what computes nothing that is counted. [s]"""
        return np.zeros(1) if work.ops is None else work.ops / peak_ops_per_s(chip)

    def at(self, precision: str) -> Self:
        """The same in another precision."""
        return replace(self, precision=precision)


def least(found: Sequence[Times]) -> Times:
    """Each op by the one of several ways that takes least in a graph; the launches of a way are one."""
    best = np.argmin([one.seconds for one in found], axis=0)
    parts = np.array([(one.compute_s, one.memory_s, one.together_s, one.launch_s()) for one in found])
    compute, memory, together, launch = parts[best, :, np.arange(len(best))].T
    return Times(compute, memory, together, launch[None])


def peak_ops_per_s(chip: Chip) -> float:
    """Dense. [op/s]"""
    return OPS_PER_MAC * chip.macs_per_s


def beside(one: Terms, other: Terms, together_s: Numbers) -> Terms:
    """Terms of two that run beside each other and take so long together: the longer one whole. [s]"""
    first, second = (np.sum(list(terms.values()), axis=0) for terms in (one, other))
    longer = first >= second
    rest = together_s - np.maximum(first, second)
    return {
        **{name: np.where(longer, seconds, _part(seconds, first, rest)) for name, seconds in one.items()},
        **{name: np.where(longer, _part(seconds, second, rest), seconds) for name, seconds in other.items()},
    }


def _part(seconds: Numbers, whole: Numbers, rest: Numbers) -> Numbers:
    """The same part of what is left over. [s]"""
    return np.divide(seconds, whole, out=np.zeros_like(seconds), where=whole > 0) * rest
