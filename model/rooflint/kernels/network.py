"""Network: what every op of a workload takes on a GPU, each by its own formula, and the launches between them.

    kernel = work + launch
    launch = max(floor of the op in a graph, what its way of launching is published to cost)

`work` never is less than the roofline of the same row; docs/method-silicon-ops.md has the formulas.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.base.precision import bytes_per_element
from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels import decode, gemm, prefill, residency, stream
from rooflint.kernels.attention import Attention, attention
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.cuda_cores import constants_on
from rooflint.kernels.shapes import Numbers, shapes
from rooflint.kernels.ways import WAYS, Way, ways
from rooflint.networks.workload import Workload
from rooflint.roofline import Estimate, kernel_time_s


@dataclass(frozen=True)
class SiliconEstimate(Estimate):
    """What silicon takes; arrays have one entry an op, in the order of the workload's rows."""

    run: Workload
    chip: Chip
    shared: Constants
    launch_gap_s: float | None
    """What its way of launching is published to cost; None where launches are free. [s]"""
    found_by: NDArray[np.str_]
    alone_s: NDArray[np.float64]
    """Compute by itself: tiles, waves, fill, and the reduction of what was split. [s]"""
    streamed_s: NDArray[np.float64]
    """All bytes, from memory at the bandwidth that a stream attains. [s]"""
    together_s: NDArray[np.float64]
    """Both, as far as they overlap. [s]"""
    launched_s: NDArray[np.float64]

    @property
    def ways(self) -> NDArray[np.str_]:
        """By which formula each op is timed."""
        return self.found_by

    @property
    def compute_s(self) -> NDArray[np.float64]:
        """By itself. Shape (ops,). [s]"""
        return self.alone_s

    @property
    def memory_s(self) -> NDArray[np.float64]:
        """By itself. Shape (ops,). [s]"""
        return self.streamed_s

    @property
    def work_s(self) -> NDArray[np.float64]:
        """Compute and memory together. Shape (ops,). [s]"""
        return self.together_s

    @property
    def launch_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return self.launched_s

    @property
    def kernel_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return self.together_s + self.launched_s

    @property
    def roofline_s(self) -> NDArray[np.float64]:
        """What the plain roofline says of the work. Shape (ops,). [s]"""
        return roofline_s(self.ops, self.bytes_moved, self.chip)

    def on(self, chip: Chip) -> "SiliconEstimate":
        """The same run on another chip, launched in the same way."""
        plain = Estimate(
            self.hardware,
            self.workload,
            self.compute,
            self.storage,
            peak_ops_per_s(chip),
            chip.bandwidth_bytes_per_s,
            self.ops,
            self.bytes_moved,
            self.overhead_s,
        )
        return on_silicon(plain, self.run, chip, self.shared, self.launch_gap_s)


def on_silicon(
    plain: Estimate, run: Workload, chip: Chip, shared: Constants, launch_gap_s: float | None
) -> SiliconEstimate:
    """The same ops on silicon; `plain` is the roofline of `run` on that chip in the same precisions.

    Nothing is left in L2 by the op before: every byte comes from memory.
    """
    found_by, here = ways(run), held_on(chip, shared)
    alone, streamed, together = _work(plain, run, found_by, chip, here)
    return SiliconEstimate(
        plain.hardware,
        plain.workload,
        plain.compute,
        plain.storage,
        plain.peak_ops_per_s,
        plain.bandwidth_bytes_per_s,
        plain.ops,
        plain.bytes_moved,
        0.0 if launch_gap_s is None else launch_gap_s,
        run,
        chip,
        shared,
        launch_gap_s,
        found_by,
        alone,
        streamed,
        together,
        launches_s(found_by, chip, shared, launch_gap_s),
    )


def held_on(chip: Chip, shared: Constants) -> Constants:
    """The constants as they hold on a chip, whose products may run on CUDA cores."""
    return replace(shared, products=constants_on(chip, shared.products, shared.cores))


def peak_ops_per_s(chip: Chip) -> float:
    """Dense. [op/s]"""
    return OPS_PER_MAC * chip.sms * chip.macs_per_clock * chip.clock_hz


def roofline_s(ops: Numbers, bytes_moved: Numbers, chip: Chip) -> Numbers:
    """Time at peak or at full bandwidth, whichever is longer, without a launch. [s]"""
    roof: Numbers = kernel_time_s(ops / peak_ops_per_s(chip), bytes_moved / chip.bandwidth_bytes_per_s)
    return roof


def floors_s(chip: Chip, shared: Constants) -> dict[Way, float]:
    """What a kernel of each way takes in a graph beside its work. [s]"""
    product = gemm.launch_s(chip, shared.products)
    streamed = stream.launch_s(chip, shared.stream)
    return {
        "product": product,
        "convolution": product,
        "attention": prefill.launch_s(chip, shared.prefill),
        "decode": decode.launch_s(chip, shared.decode),
        "stream": streamed,
        "roofline": streamed,
    }


def launches_s(found_by: NDArray[np.str_], chip: Chip, shared: Constants, launch_gap_s: float | None) -> Numbers:
    """The floor of each op in a graph, or the gap of another way of launching where that is longer. [s]

    Both are what a kernel takes beside its work, so the longer holds, and never their sum. Zero where launches are
    free.
    """
    found = np.zeros(len(found_by))
    if launch_gap_s is None:
        return found
    for way, floor in floors_s(chip, shared).items():
        found[found_by == way] = max(floor, launch_gap_s)
    return found


class _Times(NamedTuple):
    """Of some ops. [s]"""

    alone: Numbers
    """Compute by itself."""
    streamed: Numbers
    """Bytes by themselves."""
    together: Numbers


@dataclass(frozen=True)
class _Ops:
    """Some rows of a table, on a chip."""

    m: Numbers
    n: Numbers
    k: Numbers
    groups: Numbers
    computed_s: Numbers
    """All ops of the row at the peak. [s]"""
    bytes_moved: Numbers
    element_bytes: float
    """Of an operand on an SM: as wide as it is stored, and no narrower than it is computed. [B]"""
    chip: Chip
    shared: Constants

    @cached_property
    def streamed_s(self) -> Numbers:
        """All bytes, from memory. [s]"""
        return stream.bytes_s(self.bytes_moved, self.chip, self.shared.stream, warm=False)

    @property
    def sequences(self) -> Attention:
        """Heads of all samples, each with keys of its own, as a table does not say who shares them; k is two widths."""
        return attention(1, self.groups, self.groups, self.n, np.maximum(self.k / 2, 1))


def _work(
    plain: Estimate, run: Workload, found_by: NDArray[np.str_], chip: Chip, shared: Constants
) -> tuple[Numbers, Numbers, Numbers]:
    """Compute alone, bytes alone, and both together. [s]"""
    computed = plain.ops / peak_ops_per_s(chip)
    element_bytes = max(bytes_per_element(plain.compute), bytes_per_element(plain.storage))
    alone, streamed, together = (np.zeros_like(computed) for _ in _Times._fields)
    for way in WAYS:
        rows = np.flatnonzero(found_by == way)
        if rows.size:
            m, n, k, groups = (column[rows].astype(np.float64) for column in (run.m, run.n, run.k, run.groups))
            some = _Ops(m, n, k, groups, computed[rows], plain.bytes_moved[rows], element_bytes, chip, shared)
            alone[rows], streamed[rows], together[rows] = _TIMES[way](some)
    # what joined a product's kernel, and the softmax of a sequence, are ops of the row that no formula counts
    return np.maximum(alone, computed), streamed, np.maximum(together, computed)


def _product(ops: _Ops) -> _Times:
    """A convolution is one implicitly; the bytes are those of the table."""
    streamed = residency.memory_s(ops.bytes_moved, 1.0, ops.chip, ops.shared.products)
    sizes = shapes(ops.m, ops.n, ops.k, ops.groups)
    together = gemm.work_s(sizes, streamed, ops.chip, ops.shared.products, element_bytes=ops.element_bytes)
    return _Times(gemm.alone_s(together, streamed, ops.shared.products), streamed, together)


def _attention(ops: _Ops) -> _Times:
    """No mask: a table counts all scores; and no cache to append to."""
    computed = prefill.computed_s(ops.sequences, ops.chip, ops.shared, causal=False)
    return _Times(computed, ops.streamed_s, np.hypot(computed, ops.streamed_s))


def _decode(ops: _Ops) -> _Times:
    alone, together = (
        decode.work_s(ops.sequences, streamed, ops.chip, ops.shared)
        for streamed in (np.zeros_like(ops.bytes_moved), ops.streamed_s)
    )
    return _Times(alone, ops.streamed_s, together)


def _stream(ops: _Ops) -> _Times:
    return _Times(ops.computed_s, ops.streamed_s, np.maximum(ops.computed_s, ops.streamed_s))


def _roofline(ops: _Ops) -> _Times:
    moved = ops.bytes_moved / ops.chip.bandwidth_bytes_per_s
    return _Times(ops.computed_s, moved, np.maximum(ops.computed_s, moved))


_TIMES: Mapping[str, Callable[[_Ops], _Times]] = MappingProxyType(
    {
        "product": _product,
        "convolution": _product,
        "attention": _attention,
        "decode": _decode,
        "stream": _stream,
        "roofline": _roofline,
    }
)
