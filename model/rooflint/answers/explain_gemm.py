"""The shape of what `rooflint explain gemm --format json` writes. SI base units are in the names."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.facts import Grade
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES, BYTES_PER_S, OPS_PER_MAC, OPS_PER_S, SECONDS, format_number, format_quantity
from rooflint.hardware.schema import Strict
from rooflint.kernels.breakdown import Breakdown
from rooflint.kernels.dispatch import RESOURCES, DeviceKernel, with_more
from rooflint.kernels.products import Fp8Gemm, Gemm
from rooflint.kernels.residency import COLD
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section
from rooflint.output.table import Table

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
    """Sets of weights that take turns; null where nothing is left of them in L2."""
    latency_s: Positive
    latency_low_s: Positive
    """With the constants of any family left out."""
    latency_high_s: Positive
    roofline_s: Positive
    kernel: GemmKernelRecord
    alternatives: list[GemmKernelRecord]
    twice: list[GemmMoreRecord]
    facts: list[GemmFactRecord]
    caveats: list[str]


# ---- The answer to `rooflint explain gemm`: the ladder of one matrix product, what binds it, and what would change i

MORE = 2.0
"""How much more of a resource is tried."""
OTHERS = 6
"""Tiles and splits that are shown beside the one taken."""
SAME = 0.005
"""A latency that changes by less does not wait for the resource."""

LISTING = (
    *("hardware", "precision", "m", "n", "k", "batch", "tile_m", "tile_n", "split", "waves", "bound", "latency_s"),
    *("main_s", "store_s", "kernel_s", "power_s", "memory_s", "l2_miss_share", "overlapped_s"),
    *("reduction_s", "launch_s", "quantise_s"),
)

WAITS = {
    "memory": "the bytes: fewer of them (a narrower precision, operands left in L2) or more bandwidth",
    "power": "the power: the ops would draw more than the rated power if they ran at the units' rate",
    "arithmetic": "the matrix units: more of them, or tiles that leave fewer of them idle",
    "feed": "the operands of the tiles: a larger tile takes in fewer for each MAC",
    "steps": "the latency of steps along k: more splits of k, or more tiles side by side, would hide it",
    "store": "the result: each SM writes its tiles at its own rate",
    "reduction": "adding up the parts of k",
    "quantise": "the kernel that makes its activations fp8: fuse it into what writes them",
    "launch": "the launch: as long as a kernel that does nothing; fuse it, or batch it",
}
"""What a latency waits for, by the term that is most of it."""


def apart(question: DeviceKernel) -> list[Breakdown]:
    """The one product by every tile and split that there are for it, the fastest first."""
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
    return Answer(
        title=f"GEMM {m} × {n} × {k}{times} on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {_precision(question)}, {_warmth(question)}{_calibrated(question)}",
        sections=(
            _summary(question, ones[0]),
            _ladder(question, ones[0]),
            _bars(ones[0]),
            _more(ones[0], twice),
            _others(ones),
            _facts(question),
            Prose("What this is", question.caveats),
        ),
        record=_record(question, ones, twice),
        listing=Table(LISTING, tuple(_listed(question, one) for one in ones)),
    )


def _precision(question: DeviceKernel) -> str:
    kernel = question.kernel
    return f"fp8 with one scale a {kernel.scale}" if isinstance(kernel, Fp8Gemm) else kernel.precision


def _warmth(question: DeviceKernel) -> str:
    copies = question.work.copies
    if copies == COLD:
        return "operands in memory"
    return f"{copies:.0f} set{'s' if copies != 1 else ''} of weights in turn"


def _calibrated(question: DeviceKernel) -> str:
    return f", calibrated on {question.own.spec.name}" if question.own else ""


def _summary(question: DeviceKernel, one: Breakdown) -> Section:
    ends, shape = _ends(question), question.work.sizes
    rate = format_quantity(
        OPS_PER_MAC * shape.macs.item() / one.latency_s, OPS_PER_S, unit=rate_unit(question.kernel.precision)
    )
    floor_s = question.floor_s.item()
    return Prose(
        "Latency",
        (
            f"{_time(one.latency_s)}, {rate}; {_time(min(ends))} to {_time(max(ends))} with constants that have not "
            f"seen one of the families{_off(question)}",
            f"{one.latency_s / floor_s:.3g} times the {_time(floor_s)} of the plain roofline",
            f"most of it waits for {_waits(question, one)}",
        ),
    )


def _ends(question: DeviceKernel) -> list[float]:
    """By the constants of each family left out. [s]"""
    return [seconds.item() for seconds in question.over_folds]


def _off(question: DeviceKernel) -> str:
    """How far off such predictions were, as the ends of the line say no more than how well constants are known."""
    errors = question.errors.values()
    if not errors:
        return ", which is not a confidence interval"
    said = TITLES[question.kernel.topic or ""]
    return (
        f", which is not a confidence interval: on families left out {said} were {min(errors):g} to "
        f"{max(errors):g} % off"
    )


TITLES = {
    "gemm": "bf16 products",
    "fp32": "fp32 products on CUDA cores",
    "fp8_tensor": "fp8 products with one scale a tensor, each after its quantise kernel,",
    "fp8_block": "fp8 products with one scale a block, each after its quantise kernel,",
}
"""What was measured of each topic."""


def _ladder(question: DeviceKernel, one: Breakdown) -> Section:
    beside = "beside the main loop" if question.chip.asynchronous else "after the main loop"
    assert isinstance(question.kernel, Gemm)
    bytes_moved = question.kernel.bytes_moved(question.work).item()
    moved = format_quantity(bytes_moved, BYTES)
    rate = format_quantity(bytes_moved / one.memory_s, BYTES_PER_S)
    rows = [
        ("  main loop", _time(one.main_s), _loop(one)),
        ("  store", _time(one.store_s), beside),
        ("kernel", _time(one.kernel_s), f"tile {one.tile}, k in {one.split}, {_waves(question, one)}"),
        ("power", _time(one.power_s), f"all ops at {format_number(question.chip.tdp_w)} W"),
        ("memory", _time(one.memory_s), f"{moved} at {rate}, {1 - one.miss_share:.0%} from L2"),
        ("together", _time(one.overlapped_s), "the longer of kernel and power, with memory beside it"),
        ("+ reduction", _time(one.reduction_s), f"{one.split} parts of k" if one.split > 1 else "k is whole"),
        ("+ launch", _time(one.launch_s), "kernel to kernel in a graph"),
        *([("+ quantise", _time(one.quantise_s), _quantised(question))] if one.quantise_s else []),
        ("= latency", _time(one.latency_s), f"most of it: {one.bound}"),
    ]
    return Grid("Ladder", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))


def _quantised(question: DeviceKernel) -> str:
    """What the kernel before moves: bf16 in, FP8 out."""
    activations = question.work.sizes.batch * question.work.sizes.m * question.work.sizes.k
    moved = format_quantity(3 * activations.item(), BYTES)
    return f"a kernel before it makes the activations fp8: {moved} and its launch"


def _waves(question: DeviceKernel, one: Breakdown) -> str:
    if question.chip.asynchronous:
        return f"{one.load:.3g} tiles an SM"
    return f"{one.load:.3g} tiles an SM in {one.waves:.0f} wave{'s' if one.waves != 1 else ''}"


def _loop(one: Breakdown) -> str:
    parts = (f"{name.removesuffix('s')} {clocks:.3g}" for name, clocks in one.clocks_per_k.items() if clocks)
    return "clocks per k: " + ", ".join(parts)


def _bars(one: Breakdown) -> Section:
    parts = (
        *(("compute and memory", one.overlapped_s), ("reduction", one.reduction_s), ("launch", one.launch_s)),
        ("quantise", one.quantise_s),
    )
    shown = tuple(Part(name, seconds, _time(seconds)) for name, seconds in parts if seconds)
    return Bars("What it adds up to", (Bar("latency", shown, _time(one.latency_s)),))


def _more(one: Breakdown, twice: dict[str, float]) -> Section:
    rows = sorted(((seconds / one.latency_s, name) for name, seconds in twice.items()))
    cells = tuple(
        (RESOURCES[name], _time(twice[name]), f"{ratio - 1:+.0%}" if ratio < 1 - SAME else "no change")
        for ratio, name in rows
    )
    return Grid("What would have to change", Table(("twice the", "latency", ""), cells))


def _others(ones: Sequence[Breakdown]) -> Section:
    rows = tuple(
        (str(one.tile), str(one.split), f"{one.waves:.3g}", _time(one.latency_s), one.bound)
        for one in ones[: OTHERS + 1]
    )
    return Grid("Tiles and splits", Table(("tile", "split", "waves", "latency", "bound"), rows), strong=(0,))


def _facts(question: DeviceKernel) -> Section:
    rows = tuple((fact.path, fact.display, fact.source.grade) for fact in question.facts)
    return Grid("Facts", Table(("fact", "value", "grade"), rows), f"constants: {_packages(question)}")


def _waits(question: DeviceKernel, one: Breakdown) -> str:
    said = WAITS[one.bound]
    return said.replace("matrix units", "CUDA cores") if question.chip.cores else said


def _packages(question: DeviceKernel) -> str:
    package = question.file.fit().package
    return f"{package}; {question.file.fit('cores').package}" if question.chip.cores else package


def _kernel(one: Breakdown) -> dict[str, Any]:
    return {
        "tile_m": one.tile.m,
        "tile_n": one.tile.n,
        "split": one.split,
        "waves": one.waves,
        "bound": one.bound,
        "latency_s": one.latency_s,
        "main_s": one.main_s,
        "store_s": one.store_s,
        "kernel_s": one.kernel_s,
        "power_s": one.power_s,
        "memory_s": one.memory_s,
        "l2_miss_share": one.miss_share,
        "overlapped_s": one.overlapped_s,
        "reduction_s": one.reduction_s,
        "launch_s": one.launch_s,
        "quantise_s": one.quantise_s,
    }


def _listed(question: DeviceKernel, one: Breakdown) -> tuple[Any, ...]:
    return (question.hardware.label, question.kernel.precision, *_sizes(question), *_kernel(one).values())


def _record(question: DeviceKernel, ones: Sequence[Breakdown], twice: dict[str, float]) -> GemmRecord:
    ends, copies = _ends(question), question.work.copies
    return GemmRecord.build(
        **{
            "hardware": question.hardware.label,
            "precision": question.kernel.precision,
            **dict(zip(("m", "n", "k", "batch"), _sizes(question), strict=True)),
            "copies": None if copies == COLD else int(copies),
            "latency_s": ones[0].latency_s,
            "latency_low_s": min(ends),
            "latency_high_s": max(ends),
            "roofline_s": question.floor_s.item(),
            "kernel": _kernel(ones[0]),
            "alternatives": [_kernel(one) for one in ones[1:]],
            "twice": [{"resource": name, "latency_s": seconds} for name, seconds in twice.items()],
            "facts": [
                {
                    "path": fact.path,
                    "value": fact.value,
                    "shown": fact.display,
                    "document": fact.source.document,
                    "where": fact.where,
                    "grade": fact.source.grade,
                }
                for fact in question.facts
            ],
            "caveats": list(question.caveats),
        }
    )


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)
