"""The shape of what `rooflint explain gemm --format json` writes. SI base units are in the names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.facts import Fact, Grade
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES, BYTES_PER_S, OPS_PER_MAC, OPS_PER_S, SECONDS, format_number, format_quantity
from rooflint.devices.hardware import Hardware
from rooflint.devices.schema import Strict
from rooflint.kernels.breakdown import RESOURCES, Breakdown, Case, breakdowns, with_more
from rooflint.kernels.constants import ConstantsFile, Products
from rooflint.kernels.device_calibration import Calibration
from rooflint.kernels.residency import COLD, touched_bytes
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bar, Bars, Grid, Part, Prose, Section
from rooflint.output.table import Table

Positive = Annotated[float, Field(gt=0)]
Term = Literal["memory", "power", "arithmetic", "feed", "steps", "store", "reduction", "launch"]


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
    *("reduction_s", "launch_s"),
)

WAITS = {
    "memory": "the bytes: fewer of them (a narrower precision, operands left in L2) or more bandwidth",
    "power": "the power: the ops would draw more than the rated power if they ran at the units' rate",
    "arithmetic": "the matrix units: more of them, or tiles that leave fewer of them idle",
    "feed": "the operands of the tiles: a larger tile takes in fewer for each MAC",
    "steps": "the latency of steps along k: more splits of k, or more tiles side by side, would hide it",
    "store": "the result: each SM writes its tiles at its own rate",
    "reduction": "adding up the parts of k",
    "launch": "the launch: as long as a kernel that does nothing; fuse it, or batch it",
}
"""What a latency waits for, by the term that is most of it."""

CAVEATS = (
    "constants are fitted to bf16 alone; in other precisions they are carried over",
    "one kernel of a CUDA graph, in a short burst: a long run that heats up is slower, a launch from the host later",
)

CORES_CAVEATS = (
    "efficiency and energy are fitted to linear layers in fp32; all else is carried over from bf16 on matrix units",
    CAVEATS[1],
)
"""Where CUDA cores compute."""

MEASURED = tuple(
    f"nvidia/{name}"
    for name in ("ampere-ga100", "hopper-gh100", "ada-ad102", "blackwell-gb100", "blackwell-gb110", "blackwell-gb202")
)
"""Architectures of the GPUs whose measurements the constants are fitted to, and scored on."""


MEASURED_CORES = tuple(
    f"nvidia/{name}"
    for name in ("ampere-ga100", "hopper-gh100", "ada-ad104", "turing-tu104", "volta-gv100", "pascal-gp100")
)
"""The same of CUDA cores."""


@dataclass(frozen=True)
class Question:
    """A product on a device."""

    hardware: Hardware
    precision: str
    case: Case
    file: ConstantsFile
    own: Calibration | None = None
    """What its owner measured of the machine; it is in the case."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """m, n, k, batch."""
        return tuple(int(column.item()) for column in self.case.shape)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Of the device, then those of the machine's own calibration."""
        return (*self.case.chip.facts, *(self.own.facts.values() if self.own else ()))

    @property
    def roofline_s(self) -> float:
        """The plain roofline. [s]"""
        chip, shape = self.case.chip, self.case.shape
        compute = shape.macs.item() / (chip.sms * chip.macs_per_clock * chip.clock_hz)
        return max(compute, touched_bytes(shape, self.case.element_bytes).item() / chip.bandwidth_bytes_per_s)

    def over_folds(self) -> list[float]:
        """With the constants of each family left out. [s]"""
        cases = [self._with(self.file.without(family).products) for family in self.file.families()]
        if self.case.chip.cores:
            cases += [
                replace(self.case, cores=self.file.without(family).cores) for family in self.file.families("cores")
            ]
        return [case.latency_s() for case in cases] or [self.case.latency_s()]

    def _with(self, constants: Products) -> Case:
        """The same product with other constants, and the machine's own figures in their places."""
        if self.own is None:
            return replace(self.case, constants=constants)
        chip, constants = self.own.own.of(self.case.chip, constants)
        return replace(self.case, chip=chip, constants=constants)


def answer(question: Question) -> Answer:
    """The product, explained."""
    ones = breakdowns(question.case)
    twice = dict(with_more(question.case, MORE))
    m, n, k, batch = question.sizes
    times = f" × {batch}" if batch > 1 else ""
    return Answer(
        title=f"GEMM {m} × {n} × {k}{times} on {question.hardware.name}",
        subtitle=f"{question.hardware.label}, {question.precision}, {_warmth(question.case)}{_calibrated(question)}",
        sections=(
            _summary(question, ones[0]),
            _ladder(question.case, ones[0]),
            _bars(ones[0]),
            _more(ones[0], twice),
            _others(ones),
            _facts(question),
            Prose("What this is", caveats(question)),
        ),
        record=_record(question, ones, twice),
        listing=Table(LISTING, tuple(_listed(question, one) for one in ones)),
    )


def _warmth(case: Case) -> str:
    if case.copies == COLD:
        return "operands in memory"
    return f"{case.copies:.0f} set{'s' if case.copies != 1 else ''} of weights in turn"


def _calibrated(question: Question) -> str:
    return f", calibrated on {question.own.spec.name}" if question.own else ""


def _summary(question: Question, one: Breakdown) -> Section:
    ends, shape = question.over_folds(), question.case.shape
    rate = format_quantity(
        OPS_PER_MAC * shape.macs.item() / one.latency_s, OPS_PER_S, unit=rate_unit(question.precision)
    )
    return Prose(
        "Latency",
        (
            f"{_time(one.latency_s)}, {rate}; {_time(min(ends))} to {_time(max(ends))} with constants that have not "
            f"seen one of the families{_off(question)}",
            f"{one.latency_s / question.roofline_s:.3g} times the {_time(question.roofline_s)} of the plain roofline",
            f"most of it waits for {_waits(question, one)}",
        ),
    )


def _off(question: Question) -> str:
    """How far off such predictions were, as the ends of the line say no more than how well constants are known."""
    errors = question.file.fit().errors.values()
    if not errors or question.case.chip.cores:
        return ", which is no error bar"
    return f", which is no error bar: on families left out bf16 products were {min(errors):g} to {max(errors):g} % off"


def _ladder(case: Case, one: Breakdown) -> Section:
    beside = "beside the main loop" if case.chip.asynchronous else "after the main loop"
    moved = format_quantity(touched_bytes(case.shape, case.element_bytes).item(), BYTES)
    rate = format_quantity(touched_bytes(case.shape, case.element_bytes).item() / one.memory_s, BYTES_PER_S)
    rows = [
        ("  main loop", _time(one.main_s), _loop(one)),
        ("  store", _time(one.store_s), beside),
        ("kernel", _time(one.kernel_s), f"tile {one.tile}, k in {one.split}, {_waves(case, one)}"),
        ("power", _time(one.power_s), f"all ops at {format_number(case.chip.tdp_w)} W"),
        ("memory", _time(one.memory_s), f"{moved} at {rate}, {1 - one.miss_share:.0%} from L2"),
        ("together", _time(one.overlapped_s), "the longer of kernel and power, with memory beside it"),
        ("+ reduction", _time(one.reduction_s), f"{one.split} parts of k" if one.split > 1 else "k is whole"),
        ("+ launch", _time(one.launch_s), "kernel to kernel in a graph"),
        ("= latency", _time(one.latency_s), f"most of it: {one.bound}"),
    ]
    return Grid("Ladder", Table(("term", "time", "how"), tuple(rows)), strong=(len(rows) - 1,))


def _waves(case: Case, one: Breakdown) -> str:
    if case.chip.asynchronous:
        return f"{one.load:.3g} tiles an SM"
    return f"{one.load:.3g} tiles an SM in {one.waves:.0f} wave{'s' if one.waves != 1 else ''}"


def _loop(one: Breakdown) -> str:
    parts = (
        (one.waves * one.arithmetic_clocks_per_k, "arithmetic"),
        (one.waves * one.feed_clocks_per_k, "feed"),
        (one.latency_clocks_per_k, "step"),
    )
    return "clocks per k: " + ", ".join(f"{name} {clocks:.3g}" for clocks, name in parts if clocks)


def _bars(one: Breakdown) -> Section:
    parts = (("compute and memory", one.overlapped_s), ("reduction", one.reduction_s), ("launch", one.launch_s))
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


def _facts(question: Question) -> Section:
    rows = tuple((fact.path, fact.display, fact.source.grade) for fact in question.facts)
    return Grid("Facts", Table(("fact", "value", "grade"), rows), f"constants: {_packages(question)}")


def _waits(question: Question, one: Breakdown) -> str:
    said = WAITS[one.bound]
    return said.replace("matrix units", "CUDA cores") if question.case.chip.cores else said


def _packages(question: Question) -> str:
    package = question.file.fit().package
    return f"{package}; {question.file.fit('cores').package}" if question.case.chip.cores else package


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
    }


def _listed(question: Question, one: Breakdown) -> tuple[Any, ...]:
    return (question.hardware.label, question.precision, *question.sizes, *_kernel(one).values())


def _record(question: Question, ones: Sequence[Breakdown], twice: dict[str, float]) -> GemmRecord:
    ends, copies = question.over_folds(), question.case.copies
    return GemmRecord.build(
        **{
            "hardware": question.hardware.label,
            "precision": question.precision,
            **dict(zip(("m", "n", "k", "batch"), question.sizes, strict=True)),
            "copies": None if copies == COLD else int(copies),
            "latency_s": ones[0].latency_s,
            "latency_low_s": min(ends),
            "latency_high_s": max(ends),
            "roofline_s": question.roofline_s,
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
            "caveats": list(caveats(question)),
        }
    )


def caveats(question: Question) -> tuple[str, ...]:
    """What a reader must know before they believe the latency."""
    architecture = question.hardware.architecture
    on_cores = question.case.chip.cores is not None
    known, said = (MEASURED_CORES, CORES_CAVEATS) if on_cores else (MEASURED, CAVEATS)
    first = []
    if architecture not in known:
        first.append(f"no GPU of {architecture} is among the measurements: how far off it is there, nobody has seen")
    if question.own and question.own.spec.precision != question.precision:
        first.append(f"the machine was calibrated in {question.own.spec.precision}; its figures are carried over")
    return (*first, *said)


def _time(seconds: float) -> str:
    return format_quantity(seconds, SECONDS)
