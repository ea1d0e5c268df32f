"""The answer to `rooflint explain gemm`: one matrix product on a GPU, term by term."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from rooflint.base.facts import Fact, Grade
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES, BYTES_PER_S, OPS_PER_MAC, OPS_PER_S, SECONDS, format_number, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.dispatch import RESOURCES, DeviceKernel, family_title, with_more
from rooflint.kernels.gemm import Breakdown, energy_j_per_op
from rooflint.kernels.products import Fp8Gemm, Gemm
from rooflint.kernels.shapes import COLD
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Cell, Grid, Part, Prose, Section, Table

Positive = Annotated[float, Field(gt=0)]
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


class GemmMoreRecord(Strict):
    """Twice as much of one resource."""

    resource: str
    latency_s: Positive


class GemmFactRecord(Strict):
    """One fact that it follows from."""

    path: str
    value: float
    shown: str
    document: str
    where: str
    grade: Grade


class GemmRecord(Record):
    """A matrix product on a GPU, explained."""

    schema_: Annotated[Literal["rooflint.explain.gemm/1"], Field(alias="schema")]
    hardware: str
    precision: str
    m: int
    n: int
    k: int
    batch: int
    copies: int | None
    """Sets of weights used in rotation; null where none of them is left in L2."""
    latency_s: Positive
    latency_low_s: Positive
    """With the constants of any family left out."""
    latency_high_s: Positive
    roofline_s: Positive
    regime: list[str]
    """What is known of the error of products that are limited like this one and have about as many rows."""
    kernel: GemmKernelRecord
    alternatives: list[GemmKernelRecord]
    twice: list[GemmMoreRecord]
    facts: list[GemmFactRecord]
    caveats: list[str]


# ---- the answer: the ladder of one matrix product, what binds it, and what would change it

MORE = 2.0
"""Factor by which each resource is increased."""
OTHERS = 6
"""Number of alternative tiles and splits to show."""
SAME = 0.005
"""Relative change of a latency below which a resource is reported as "no change"."""

LISTING = ("hardware", "precision", "m", "n", "k", "batch", *GemmKernelRecord.model_fields)

WAITS = {
    "memory": "the bytes moved: fewer (a narrower precision, operands left in L2) or more bandwidth would help",
    "power": "the power limit: at the full rate of the units the ops would draw more",
    "arithmetic": "the matrix units: more of them, or tiles that leave fewer of them idle, would help",
    "feed": "loading the operands of the tiles: a larger tile loads fewer bytes per MAC",
    "steps": "the latency of steps along k: more splits of k, or more concurrent tiles, would hide it",
    "store": "writing the result: each SM writes its tiles at a limited rate",
    "reduction": "adding up the parts of k",
    "quantise": "the kernel that quantises the activations to fp8: fuse it into their producer",
    "launch": "the launch overhead: fuse the kernel with others, or use a larger batch",
}
"""What limits a latency, by its largest term."""


def apart(question: DeviceKernel) -> list[Breakdown]:
    """The product with each available tile and split, fastest first."""
    assert isinstance(question.kernel, Gemm)
    return question.kernel.apart(question.work, question.chip, question.constants)


def _sizes(question: DeviceKernel) -> tuple[int, ...]:
    """m, n, k, batch."""
    return tuple(int(column.item()) for column in question.work.sizes)


def answer(question: DeviceKernel) -> Answer:
    """The product, explained."""
    ones = apart(question)
    twice = dict(with_more(question, MORE))
    m, n, k, batch = _sizes(question)
    times = f" × {batch}" if batch > 1 else ""
    calibrated = f", calibrated on {question.own.spec.name}" if question.own else ""
    return Answer(
        title=f"GEMM {m} × {n} × {k}{times} on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {_precision(question)}, {_warmth(question)}{calibrated}",
        sections=(
            _summary(question, ones[0]),
            _ladder(question, ones[0]),
            _bars(ones[0]),
            _more(question, ones[0], twice),
            _others(ones),
            _facts(question),
            Prose("Limitations", question.caveats),
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


def _summary(question: DeviceKernel, one: Breakdown) -> Section:
    ends, shape = _ends(question), question.work.sizes
    rate = format_quantity(
        OPS_PER_MAC * shape.macs.item() / one.latency_s, OPS_PER_S, unit=rate_unit(question.kernel.precision)
    )
    floor_s = question.floor_s.item()
    return Prose(
        "Latency",
        (
            f"{_time(one.latency_s)}, {rate}",
            f"{one.latency_s / floor_s:.3g} times the {_time(floor_s)} of the plain roofline",
            f"mostly limited by {_waits(question, one)}",
            _off(question),
            f"{_time(min(ends))} to {_time(max(ends))} by constants fitted without one of the GPU families; "
            "a range of fits, not a confidence interval",
        ),
    )


def _ends(question: DeviceKernel) -> list[float]:
    """By the constants of each family left out. [s]"""
    return [seconds.item() for seconds in question.over_folds]


def _off(question: DeviceKernel) -> str:
    """The error of such predictions on families that the fit had not seen."""
    errors = question.errors.values()
    if not errors:
        return f"error not known: no product in {question.kernel.precision} was measured"
    text = TITLES[question.kernel.topic or ""]
    own = question.own_error
    here = f"{own[1]:g} % on {family_title(own[0])}" if own else "not measured on its architecture"
    return (
        f"mean error of {text} on GPU families left out of the fit: "
        f"{here} ({min(errors):g} to {max(errors):g} % on all); {'; '.join(question.regime_notes)}"
    )


TITLES = {
    "gemm": "bf16 products",
    "fp32": "fp32 products on CUDA cores",
    "fp8_tensor": "fp8 products with one scale per tensor, quantise kernel included,",
    "fp8_block": "fp8 products with one scale per block, quantise kernel included,",
}
"""What was measured, by topic."""


def _ladder(question: DeviceKernel, one: Breakdown) -> Section:
    beside = "beside the main loop" if question.chip.asynchronous else "after the main loop"
    assert isinstance(question.kernel, Gemm)
    bytes_moved = question.kernel.bytes_moved(question.work).item()
    moved = format_quantity(bytes_moved, BYTES)
    rate = format_quantity(bytes_moved / one.memory_s, BYTES_PER_S)
    loop = (f"{name.removesuffix('s')} {clocks:.3g}" for name, clocks in one.clocks_per_k.items() if clocks)
    rows = [
        ("  main loop", _time(one.main_s), f"clocks per k: {', '.join(loop)}"),
        ("  store", _time(one.store_s), beside),
        ("kernel", _time(one.kernel_s), f"tile {one.tile}, k in {one.split}, {_waves(question, one)}"),
        ("power", _time(one.power_s), f"all ops at {format_number(question.chip.tdp_w)} W"),
        ("memory", _time(one.memory_s), f"{moved} at {rate}, {1 - one.miss_share:.0%} from L2"),
        ("together", _time(one.overlapped_s), _overlap(question, one)),
        ("+ reduction", _time(one.reduction_s), f"{one.split} parts of k" if one.split > 1 else "k is not split"),
        ("+ launch", _time(one.launch_s), "kernel to kernel in a graph"),
        *([("+ quantise", _time(one.quantise_s), _quantised(question))] if one.quantise_s else []),
        ("= latency", _time(one.latency_s), f"most of it: {one.bound}"),
    ]
    return Grid("Ladder", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))


def _overlap(question: DeviceKernel, one: Breakdown) -> str:
    """How the time of compute and that of memory add up."""
    longer = "kernel" if one.kernel_s >= one.power_s else "power"
    return f"they overlap: ({longer}^p + memory^p)^(1/p), p = {question.constants.products.overlap:.3g}"


def _quantised(question: DeviceKernel) -> str:
    """What the kernel before moves: bf16 in, FP8 out."""
    activations = question.work.sizes.batch * question.work.sizes.m * question.work.sizes.k
    moved = format_quantity(3 * activations.item(), BYTES)
    return f"a kernel before it quantises the activations to fp8: {moved} and its launch"


def _waves(question: DeviceKernel, one: Breakdown) -> str:
    if question.chip.asynchronous:
        return f"{one.load:.3g} tiles per SM"
    return f"{one.load:.3g} tiles per SM in {one.waves:.0f} wave{'s' if one.waves != 1 else ''}"


def _bars(one: Breakdown) -> Section:
    parts = (
        *(("compute and memory", one.overlapped_s), ("reduction", one.reduction_s), ("launch", one.launch_s)),
        ("quantise", one.quantise_s),
    )
    shown = tuple(Part(name, seconds, _time(seconds)) for name, seconds in parts if seconds)
    return Bars("Latency by term", (Bar("latency", shown, _time(one.latency_s)),))


def _more(question: DeviceKernel, one: Breakdown, twice: dict[str, float]) -> Section:
    rows = sorted(((seconds / one.latency_s, name) for name, seconds in twice.items()))
    cells = tuple(
        (RESOURCES[name], _time(twice[name]), f"{ratio - 1:+.0%}" if ratio < 1 - SAME else "no change")
        for ratio, name in rows
    )
    return Grid("Sensitivity to resources", Table(("twice the", "latency", ""), cells), _wider(question))


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
        (str(one.tile), str(one.split), f"{one.waves:.3g}", _time(one.latency_s), one.bound)
        for one in ones[: OTHERS + 1]
    )
    return Grid("Tiles and splits", Table(("tile", "split", "waves", "latency", "bound"), rows), strong=(0,))


def _facts(question: DeviceKernel) -> Section:
    rows = tuple((fact.path, fact.display, fact.source.grade) for fact in question.facts)
    kinds = ("products", "cores") if question.chip.cores else ("products",)
    packages = "; ".join(question.file.fit(kind).package for kind in kinds)
    return Grid("Facts", Table(("fact", "value", "grade"), rows), f"constants: {packages}")


def _waits(question: DeviceKernel, one: Breakdown) -> str:
    text = WAITS[one.bound]
    return text.replace("matrix units", "CUDA cores") if question.chip.cores else text


def _kernel(one: Breakdown) -> GemmKernelRecord:
    tile = one.tile
    return GemmKernelRecord.from_object(one, tile_m=tile.m, tile_n=tile.n, l2_miss_share=one.miss_share)


def _fact(fact: Fact) -> GemmFactRecord:
    document, grade = fact.source.document, fact.source.grade
    return GemmFactRecord.from_object(fact, shown=fact.display, document=document, grade=grade)


def _listing(question: DeviceKernel, ones: Sequence[Breakdown]) -> Table:
    asked: tuple[Cell, ...] = (question.hardware.label, question.kernel.precision, *_sizes(question))
    return Table(LISTING, tuple((*asked, *dict(_kernel(one)).values()) for one in ones))


def _record(question: DeviceKernel, ones: Sequence[Breakdown], twice: dict[str, float]) -> GemmRecord:
    ends, copies = _ends(question), question.work.copies
    return GemmRecord.build(
        hardware=question.hardware.label,
        precision=question.kernel.precision,
        **dict(zip(("m", "n", "k", "batch"), _sizes(question), strict=True)),
        copies=None if copies == COLD else int(copies),
        latency_s=ones[0].latency_s,
        latency_low_s=min(ends),
        latency_high_s=max(ends),
        roofline_s=question.floor_s.item(),
        regime=list(question.regime_notes),
        kernel=_kernel(ones[0]),
        alternatives=[_kernel(one) for one in ones[1:]],
        twice=[GemmMoreRecord(resource=name, latency_s=seconds) for name, seconds in twice.items()],
        facts=[_fact(fact) for fact in question.facts],
        caveats=list(question.caveats),
    )


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)
