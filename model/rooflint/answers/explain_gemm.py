"""The answer to `rooflint explain gemm`: one matrix product on a GPU, term by term."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.explain_kernel import (
    MORE,
    KernelRecord,
    Positive,
    bars,
    conditions,
    facts,
    limitations,
    sensitivity,
    shared_fields,
    sizes_of,
    summary,
    time_text,
)
from rooflint.base.units import BYTES, BYTES_PER_S, HERTZ, format_number, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.dispatch import DeviceKernel, with_more
from rooflint.kernels.gemm import Breakdown, energy_j_per_op
from rooflint.kernels.products import Fp8Gemm, Gemm
from rooflint.kernels.shapes import COLD
from rooflint.output.answer import Answer
from rooflint.output.sections import Cell, Grid, Section, Table

Term = Literal["memory", "power", "arithmetic", "feed", "steps", "store", "reduction", "launch", "quantise"]


class GemmKernelRecord(Strict):
    """One tile with one split of k."""

    tile_m: int
    tile_n: int
    split: int
    waves: Positive
    bound: Term
    latency_s: Positive
    main_s: float
    store_s: float
    kernel_s: float
    power_s: float
    memory_s: float
    l2_miss_share: float
    overlapped_s: float
    reduction_s: float
    launch_s: float
    quantise_s: float
    """The kernel before it that makes activations fp8, with its launch; 0 in other precisions."""


class GemmRecord(KernelRecord):
    """A matrix product on a GPU, explained."""

    schema_: Annotated[Literal["rooflint.explain.gemm/1"], Field(alias="schema")]
    m: int
    n: int
    k: int
    batch: int
    copies: int | None
    """Sets of weights used in rotation; null where none of them is left in L2."""
    kernel: GemmKernelRecord
    alternatives: list[GemmKernelRecord]


# ---- the answer: the ladder of one matrix product, what binds it, and what would change it

OTHERS = 6
"""Number of alternative tiles and splits to show."""

LISTING = ("hardware", "precision", "m", "n", "k", "batch", *GemmKernelRecord.model_fields)

WAITS = {
    "memory": "the bytes moved: fewer (a narrower precision, operands left in L2) or more bandwidth would help",
    "power": "the power limit: at the full rate of the units the ops would draw more",
    "arithmetic": "the matrix units: more of them, or tiles that leave fewer of them idle, would help",
    "feed": "loading the operands of the tiles: a larger tile loads fewer bytes per MAC",
    "steps": "the latency of steps along k: more splits of k, or more concurrent tiles, would hide it",
    "store": "writing the result: each SM writes its tiles at a limited rate",
    "reduction": "adding up the parts of k",
    "quantise": "quantising the activations to fp8: fuse it into their producer",
    "launch": "the launch overhead: fuse the kernel with others, or use a larger batch",
}
"""What limits a latency, by its largest term."""

QUANTISED = "scales of the activations are found and used before it, launches included"


def apart(question: DeviceKernel) -> list[Breakdown]:
    """The product with each available tile and split, fastest first."""
    assert isinstance(question.kernel, Gemm)
    return question.kernel.apart(question.work, question.chip, question.constants)


def answer(question: DeviceKernel) -> Answer:
    """The product, explained."""
    ones = apart(question)
    twice = dict(with_more(question, MORE))
    m, n, k, batch = sizes_of(question)
    times = f" × {batch}" if batch > 1 else ""
    latency_s, waits = ones[0].latency_s, _waits(question, ones[0])
    return Answer(
        title=f"GEMM {m} × {n} × {k}{times} on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {_precision(question)}, {_warmth(question)}{conditions(question)}",
        sections=(
            summary(question, latency_s, waits, f"product in {question.kernel.precision}"),
            _ladder(question, ones[0]),
            _bars(ones[0]),
            sensitivity(latency_s, twice, _wider(question)),
            _others(ones),
            facts(question, *(("products", "cores") if question.chip.cores else ("products",))),
            limitations(question),
        ),
        record=_record(question, ones, twice),
        listing=_listing(question, ones),
    )


def _precision(question: DeviceKernel) -> str:
    kernel = question.kernel
    return f"fp8 with one scale per {kernel.scale}" if isinstance(kernel, Fp8Gemm) else kernel.precision


def _warmth(question: DeviceKernel) -> str:
    copies = question.work.copies
    if copies == COLD:
        return "operands in memory"
    return f"{copies:.0f} set{'s' if copies != 1 else ''} of weights in rotation"


def _ladder(question: DeviceKernel, one: Breakdown) -> Section:
    beside = "beside the main loop" if question.chip.asynchronous else "after the main loop"
    assert isinstance(question.kernel, Gemm)
    bytes_moved = question.kernel.bytes_moved(question.work).item()
    moved = format_quantity(bytes_moved, BYTES)
    rate = format_quantity(bytes_moved / one.memory_s, BYTES_PER_S)
    loop = (f"{name.removesuffix('s')} {clocks:.3g}" for name, clocks in one.clocks_per_k.items() if clocks)
    rows = [
        ("  main loop", time_text(one.main_s), f"clocks per k: {', '.join(loop)}"),
        ("  store", time_text(one.store_s), beside),
        ("kernel", time_text(one.kernel_s), f"tile {one.tile}, k in {one.split}, {_waves(question, one)}"),
        ("power", time_text(one.power_s), _power(question, one)),
        ("memory", time_text(one.memory_s), f"{moved} at {rate}, {1 - one.miss_share:.0%} from L2"),
        ("together", time_text(one.overlapped_s), _overlap(question, one)),
        ("+ reduction", time_text(one.reduction_s), f"{one.split} parts of k" if one.split > 1 else "k is not split"),
        (
            "+ launch",
            time_text(one.launch_s),
            "kernel to kernel in a graph (fitted; includes the start and end of a kernel)",
        ),
        *([("+ quantise", time_text(one.quantise_s), QUANTISED)] if one.quantise_s else []),
        ("= latency", time_text(one.latency_s), f"most of it: {one.bound}"),
    ]
    return Grid("Ladder", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))


def _power(question: DeviceKernel, one: Breakdown) -> str:
    """What it holds the kernel to: the rated power, or the base clock."""
    chip = question.chip
    watts = f"{format_number(chip.tdp_w)} W"
    if chip.cores and chip.cores.base_hz and one.power_s >= one.kernel_s * (chip.clock_hz / chip.cores.base_hz):
        return f"at the base clock, {format_quantity(chip.cores.base_hz, HERTZ)}, where {watts} allow less"
    return f"all ops at {watts}"


def _overlap(question: DeviceKernel, one: Breakdown) -> str:
    """How the time of compute and that of memory add up."""
    longer = "kernel" if one.kernel_s >= one.power_s else "power"
    return f"they overlap: ({longer}^p + memory^p)^(1/p), p = {question.constants.products.overlap:.3g}"


def _waves(question: DeviceKernel, one: Breakdown) -> str:
    if question.chip.asynchronous:
        return f"{one.load:.3g} tiles per SM"
    return f"{one.load:.3g} tiles per SM in {one.waves:.0f} wave{'s' if one.waves != 1 else ''}"


def _bars(one: Breakdown) -> Section:
    parts = (
        *(("compute and memory", one.overlapped_s), ("reduction", one.reduction_s), ("launch", one.launch_s)),
        ("quantise", one.quantise_s),
    )
    return bars(parts, one.latency_s)


def _wider(question: DeviceKernel) -> str:
    """Why wider matrix units help a product that power limits."""
    if question.chip.cores:
        return ""
    narrow = energy_j_per_op(question.chip, question.constants.products)
    wide = replace(question.chip, macs_per_clock=question.chip.macs_per_clock * MORE)
    saved = 1 - energy_j_per_op(wide, question.constants.products) / narrow
    return f"twice the MAC/clock of an SM also saves {saved:.0%} of the energy of an op"


def _others(ones: Sequence[Breakdown]) -> Section:
    rows = tuple(
        (str(one.tile), str(one.split), f"{one.waves:.3g}", time_text(one.latency_s), one.bound)
        for one in ones[: OTHERS + 1]
    )
    return Grid("Tiles and splits", Table(("tile", "split", "waves", "latency", "bound"), rows), strong=(0,))


def _waits(question: DeviceKernel, one: Breakdown) -> str:
    text = WAITS[one.bound]
    return text.replace("matrix units", "CUDA cores") if question.chip.cores else text


def _kernel(one: Breakdown) -> GemmKernelRecord:
    tile = one.tile
    return GemmKernelRecord.from_object(one, tile_m=tile.m, tile_n=tile.n, l2_miss_share=one.miss_share)


def _listing(question: DeviceKernel, ones: Sequence[Breakdown]) -> Table:
    asked: tuple[Cell, ...] = (question.hardware.label, question.kernel.precision, *sizes_of(question))
    return Table(LISTING, tuple((*asked, *dict(_kernel(one)).values()) for one in ones))


def _record(question: DeviceKernel, ones: Sequence[Breakdown], twice: Mapping[str, float]) -> GemmRecord:
    copies = question.work.copies
    return GemmRecord.build(
        **shared_fields(question, ones[0].latency_s, twice),
        **dict(zip(("m", "n", "k", "batch"), sizes_of(question), strict=True)),
        copies=None if copies == COLD else int(copies),
        kernel=_kernel(ones[0]),
        alternatives=[_kernel(one) for one in ones[1:]],
    )
