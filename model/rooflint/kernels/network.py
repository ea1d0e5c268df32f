"""Network: what every op of a workload takes on a GPU, each by the model of its kind, and the launches between them.

    kernel = work + launches
    launch = max(floor of the op in a graph, what its way of launching is published to cost)

`work` never is less than the roofline of what is done in the same row; docs/method-silicon-ops.md has the formulas.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rooflint.base.memo import kept
from rooflint.base.precision import bytes_per_element
from rooflint.kernels import experts, latent
from rooflint.kernels.attention import ELEMENT_BYTES, sequences
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.convolution import Sizes, WinogradConvolution, applies
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.kernel import Kernel, Work, peak_ops_per_s
from rooflint.kernels.products import Fp8Gemm, Gemm
from rooflint.kernels.shapes import Numbers, miss_share, shapes
from rooflint.roofline import Estimate, kernel_time_s
from rooflint.workloads.ops import ATTENTIONS, FUSES, MOVES, POOLS, REDUCTIONS, Window
from rooflint.workloads.reuse import kept_elements, reuse
from rooflint.workloads.workload import Workload

ModelName = Literal["product", "convolution", "attention", "decode", "latent_decode", "experts", "stream", "roofline"]
"""Kernel models by what a network calls them."""

MODELS: tuple[ModelName, ...] = get_args(ModelName)

OP_OF = {"product": "gemm", "roofline": "other"}
"""What the models call the op, where a network says something else."""

CALIBRATED: tuple[ModelName, ...] = ("product", "attention", "decode", "latent_decode", "experts")
"""Kernel models that are calibrated on measurements of the same kind of kernel."""

NORMS = frozenset({"batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm"})
SOFTMAX = frozenset({"softmax", "log_softmax"})

STREAMS = frozenset({*FUSES, *NORMS, *SOFTMAX, *POOLS.values(), *REDUCTIONS, "vector_norm", "rope", "glu", *MOVES})
"""Kinds that read their operands from one end to the other and do little with them. Ops that pick, sort or sample
read in another order, so the ramp of streams may not apply to them."""


@kept(1)
def models_of(work: Workload) -> NDArray[np.str_]:
    """The kernel model of each op. Shape (ops,)

    A depthwise convolution is a stream: one output a thread, and no matrix to cut into tiles. Attention of several new
    tokens on older ones was not measured: the roofline.
    """
    product, attended = work.is_product, np.isin(work.kinds, sorted(ATTENTIONS))
    causal, grouped = work.kinds == "causal_attention", work.kinds == "experts"
    whole = np.where(causal, work.n == work.m // 2 + 1, (work.kinds == "attention") & (work.m == work.n))
    convolved = product & np.char.startswith(work.kinds, "conv")
    one_column = (work.n == 1) & (work.groups > 1)
    streams = np.isin(work.kinds, sorted(STREAMS)) & ~product
    return np.select(
        [
            streams | (convolved & one_column),
            convolved,
            product & whole,
            product & (work.kinds == "attention") & (work.m == 1),
            product & (work.kinds == "latent_attention") & (work.m == 1),
            product & grouped & (work.elements_weight > 0),
            product & ~attended & ~grouped,
        ],
        ["stream", "convolution", "attention", "decode", "latent_decode", "experts", "product"],
        "roofline",
    )


@dataclass(frozen=True)
class SiliconEstimate(Estimate):
    """Calibrated times of a workload; arrays have one entry per op, in the order of the workload's rows."""

    run: Workload
    chip: Chip
    shared: Constants
    launch_gap_s: float | None
    """What its way of launching is published to cost; None where launches are free. [s]"""
    cached: bool
    """Whether L2 keeps what it can from op to op."""
    models: NDArray[np.str_]
    rows: tuple["Rows", ...]
    """The same ops by model, with what each is asked."""
    alone_s: NDArray[np.float64]
    """Compute by itself: tiles, waves, fill, and the reduction of what was split. [s]"""
    streamed_s: NDArray[np.float64]
    """All bytes, from memory at the bandwidth that a stream attains. [s]"""
    together_s: NDArray[np.float64]
    """Both, as far as they overlap. [s]"""
    launched_s: NDArray[np.float64]
    is_calibrated: ClassVar[bool] = True

    @property
    def kernel_models(self) -> NDArray[np.str_]:
        """By which model each op is timed. Shape (ops,)"""
        return self.models

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

    @property
    def quantise_s(self) -> float:
        """Of all kernels that make activations FP8, with their launches. [s]"""
        found = 0.0
        for one in self.rows:
            if isinstance(one.kernel, Gemm) and (first := one.kernel.before(one.work, self.chip, self.shared)):
                each = first.together_s + first.launch_s(self.launch_gap_s)
                found += float((self.launches[one.ops] * each).sum())
        return found

    @property
    def algorithms(self) -> NDArray[np.str_]:
        """How a library computes each op: direct, or by a Winograd algorithm. Shape (ops,)"""
        found = np.full(len(self.models), "direct", dtype="<U16")
        for one in self.rows:
            if isinstance(one.kernel, WinogradConvolution):
                found[one.ops] = one.kernel.chosen(one.work, self.chip, self.shared, self.launch_gap_s)
        return found

    @property
    def calibrated(self) -> NDArray[np.bool_]:
        """Whether each op is timed by constants that were measured on ops of its kind. Shape (ops,)"""
        found = np.isin(self.models, CALIBRATED)
        for one in self.rows:
            if isinstance(one.kernel, WinogradConvolution) and isinstance(one.work.sizes, Sizes):
                found[one.ops] = applies(one.work.sizes)
        return found

    @property
    def without_window(self) -> int:
        """Convolutions on CUDA cores that are timed directly because the op table does not say their window."""
        unsaid = np.array([not window for window in self.run.windows]) & (self.run.kinds == "conv2d")
        return int(unsaid[self.models == "convolution"].sum()) if self.chip.cores else 0

    def asked(self, op: int) -> tuple[Kernel, Work]:
        """The kernel model of one op, and its work alone."""
        (rows,) = (one for one in self.rows if op in one.ops)
        return rows.kernel, rows.work.part(np.flatnonzero(rows.ops == op))

    def on(self, chip: Chip) -> "SiliconEstimate":
        """The same run on another chip, launched in the same way."""
        plain = Estimate(**{field.name: getattr(self, field.name) for field in fields(Estimate)})
        roof = replace(plain, peak_ops_per_s=peak_ops_per_s(chip), bandwidth_bytes_per_s=chip.bandwidth_bytes_per_s)
        return on_silicon(roof, self.run, chip, self.shared, self.launch_gap_s, cached=self.cached)


def on_silicon(
    plain: Estimate,
    run: Workload,
    chip: Chip,
    shared: Constants,
    launch_gap_s: float | None,
    *,
    cached: bool = True,
) -> SiliconEstimate:
    """The same ops on silicon; `plain` is the roofline of `run` on that chip in the same precisions.

    L2 still has what was touched shortly before, by the same constants as for a product that is repeated; nothing if
    not `cached`.
    """
    touched = run.bytes_moved(plain.storage)
    missed = missed_share(run, plain.storage, chip, shared) if cached else np.ones(len(run))
    from_memory = touched * missed
    rows = tuple(rows_of(plain, run, chip, missed))
    alone, streamed, together, launched = (np.zeros(len(run.op_names)) for _ in range(4))
    for some in rows:
        times = some.kernel.time(some.work, chip, shared, launch_gap_s)
        # what joined a kernel, and the softmax of a sequence, are ops of the row that no formula counts
        least = some.kernel.least_s(some.work, chip)
        repeats = plain.launches[some.ops]
        moved = from_memory[some.ops] / repeats / chip.bandwidth_bytes_per_s
        alone[some.ops] = repeats * np.maximum(times.compute_s, least)
        streamed[some.ops] = repeats * np.maximum(times.memory_s, moved)
        together[some.ops] = repeats * np.maximum(times.together_s, np.maximum(least, moved))
        launched[some.ops] = repeats * times.launch_s(launch_gap_s)
    same = {field.name: getattr(plain, field.name) for field in fields(Estimate)}
    return SiliconEstimate(
        **same | {"overhead_s": launch_gap_s or 0.0, "bytes_moved": from_memory},
        run=run,
        chip=chip,
        shared=shared,
        launch_gap_s=launch_gap_s,
        cached=cached,
        models=models_of(run),
        rows=rows,
        alone_s=alone,
        streamed_s=streamed,
        together_s=together,
        launched_s=launched,
    )


def missed_share(run: Workload, storage: str, chip: Chip, shared: Constants) -> Numbers:
    """Share of the bytes of each op that L2 does not answer, by what was touched since they were. Shape (ops,). [1]"""
    width, found = bytes_per_element(storage), reuse(run)
    of_reads, of_weights = (
        miss_share(np.maximum(width * since, 1.0), chip, shared.products) for since in (found.distance, found.of_pass)
    )
    touched = np.asarray(run.elements_in + run.elements_weight + run.elements_out, np.float64)
    share = np.divide(kept_elements(run, of_reads, of_weights), touched, out=np.zeros_like(touched), where=touched > 0)
    return np.asarray(1 - np.minimum(share, 1.0))


def roofline_s(ops: Numbers, bytes_moved: Numbers, chip: Chip) -> Numbers:
    """Time at peak or at full bandwidth, whichever is longer, without a launch. [s]"""
    roof: Numbers = kernel_time_s(ops / peak_ops_per_s(chip), bytes_moved / chip.bandwidth_bytes_per_s)
    return roof


def rests_on(times: SiliconEstimate, model: ModelName) -> str:
    """What the constants of a kernel model rest on, in this run."""
    return "; ".join(dict.fromkeys(one.kernel.rests_on for one in times.rows if one.model == model))


@dataclass(frozen=True)
class Rows:
    """Ops of a table that are timed by one kernel model."""

    ops: NDArray[np.intp]
    """Their positions."""
    model: ModelName
    kernel: Kernel
    work: Work


class Group(NamedTuple):
    """Ops of a table that a kernel model can be asked about at once."""

    model: ModelName
    ops: NDArray[np.intp]
    """Their positions."""
    sizes: Any
    carried: bool = False
    """Whether they read products of activations, which were never made FP8 beforehand."""


@kept(1)
def groups_of(run: Workload) -> tuple[Group, ...]:
    """All ops of a run, by kernel model; the same for every GPU."""
    return tuple(
        Group(model, ops, _sizes(run, ops, model), carried)
        for model in MODELS
        for ops, carried in _parts(run, model, np.flatnonzero(models_of(run) == model))
        if ops.size
    )


def _parts(run: Workload, model: ModelName, ops: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], bool]]:
    if model == "product":
        weights, fused = run.gets_rows[ops], run.in_fused[ops]
        yield ops[weights & ~fused], False
        yield ops[weights & fused], False
        yield ops[~weights], True
    elif model == "convolution":
        known = np.array([_is_plain(run.windows[op]) for op in ops], dtype=np.bool_)
        yield ops[known], False
        yield ops[~known], False
    elif model == "attention":
        causal = run.kinds[ops] == "causal_attention"
        yield ops[~causal], False
        yield ops[causal], False
    else:
        yield ops, False


PREFILL = {"causal": True, "append_bytes": ELEMENT_BYTES}
"""What the kernel of a causal sequence is asked: it was measured with keys and values in bf16 that it appends."""


def rows_of(plain: Estimate, run: Workload, chip: Chip, missed: Numbers) -> Iterator[Rows]:
    """All ops of a run, by kernel model, with what each is asked on a chip; L2 misses a share of the bytes of each."""
    touched, stored = run.bytes_moved(plain.storage), bytes_per_element(plain.storage)
    for model, ops, sizes, carried in groups_of(run):
        options = dict(PREFILL) if run.kinds[ops[0]] == "causal_attention" else {}
        if model == "latent_decode":
            rank = _rank(run, ops)
            options = {"rank": rank, "rope": int(run.k[ops[0]]) - 2 * rank}
        kernel = kernel_for(OP_OF.get(model, model), plain.compute, chip, carried=carried, **options)
        if isinstance(kernel, Fp8Gemm) and run.in_fused[ops[0]]:
            kernel = replace(kernel, quantises=False)
        # an operand is as wide on an SM as it is stored, and no narrower than it is computed, unless it is quantised
        width = bytes_per_element(plain.compute)
        width = width if isinstance(kernel, Fp8Gemm) else max(width, stored)
        once = plain.launches[ops]
        work = Work(
            sizes,
            width,
            bytes_moved=touched[ops] / once,
            stored_bytes=stored,
            ops=plain.ops[ops] / once,
            missed=missed[ops],
        )
        yield Rows(ops, model, kernel, work)


def _is_plain(window: tuple[int, ...]) -> bool:
    return bool(window) and Window(*window).dilation == 1


def _sizes(run: Workload, ops: NDArray[np.intp], model: ModelName) -> Any:
    m, n, k, groups = (column[ops].astype(np.float64) for column in (run.m, run.n, run.k, run.groups))
    if model == "convolution" and all(_is_plain(run.windows[op]) for op in ops):
        windows = np.array([run.windows[op] for op in ops], dtype=np.float64)
        kernel_height, kernel_width, stride, _, height, width = windows.T
        images, channels_in = m / (height * width), groups * k / (kernel_height * kernel_width)
        return Sizes(images, channels_in, groups * n, height, width, kernel_height, kernel_width, stride, groups)
    if model in ("product", "convolution"):
        return shapes(m, n, k, groups)
    if model == "experts":
        return experts.of_table(m, n, k, run.elements_weight[ops] / run.repeats[ops])
    if model == "latent_decode":
        return latent.of_table(groups, n, k, run.elements_in[ops] / run.repeats[ops], _rank(run, ops))
    if model in ("attention", "decode"):
        tokens = np.where(run.kinds[ops] == "causal_attention", m, n)
        return sequences(1, groups, _heads_of_keys(run, ops, tokens), tokens, np.maximum(k / 2, 1))  # k is two widths
    return None


def _rank(run: Workload, ops: NDArray[np.intp]) -> int:
    """Elements of a latent without its position: what each head gets."""
    first = ops[0]
    return int(run.elements_out[first] // (run.repeats[first] * run.groups[first]))


def _heads_of_keys(run: Workload, ops: NDArray[np.intp], tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """Heads of keys of all samples, from what is read beside the queries; as many as of queries where that is unclear.

    A mask, or what has joined the kernel, is read as well.
    """
    m, k, groups = (column[ops].astype(np.float64) for column in (run.m, run.k, run.groups))
    read = run.elements_in[ops] / run.repeats[ops] - groups * m * k / 2
    heads = read / (tokens * k)
    clear = (heads >= 1) & (heads == np.floor(heads)) & (groups % np.maximum(heads, 1) == 0)
    return np.where(clear, heads, groups)
