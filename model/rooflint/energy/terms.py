"""Energy of a workload on a device, as terms that add up to the whole: so many events in each op, each at so much.

Compute, memory by level, the architecture's own events, and idle power over the latency. Nothing is clipped: a power
above the TDP is shown as what it is. docs/method-energy.md has the formulas.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import shown
from rooflint.base.facts import Fact, Grade, weakest
from rooflint.base.memo import kept
from rooflint.base.precision import precision
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError, of_range
from rooflint.energy.model import Energies, EnergyError, EnergyModel, idle_w
from rooflint.hardware.device import Hardware
from rooflint.mapping.allocate import chip_bytes, issued, operand_bytes, operands_per_mac
from rooflint.mapping.allocation import Allocation, Part
from rooflint.workloads.stack import Numbers, Sums, whole
from rooflint.workloads.workload import Workload, read_only

Group = Literal["compute", "memory", "control", "static"]
GROUPS: tuple[Group, ...] = get_args(Group)

Counts = NDArray[np.float64]
"""Events of each op, or bytes. Shape (ops,)"""

LANES_OF_STEP = 8
"""A step of a matrix instruction is that of eight threads."""

STEP_MACS = {True: 64, False: 512}
"""MACs of a step of a matrix instruction in 16 bits and more, and in 8 bits and less, by their printed energies: 110 pJ
are 64 times 1.5 pJ and 160 pJ 512 times 0.23 pJ and their operands."""

COUNTS_KEPT = 8
"""Counts of instructions of a workload that are kept: they depend on little of a device."""

LANE_BYTES = 4
"""Bytes that each lane of a warp requests from memory at once. [B]"""

LARGE_ARRAY, CORE_ARRAY = "mib1", "kib32"
"""The arrays that stand for the chip's large memory (L2, unified buffer) and for a core's L1."""


@dataclass(frozen=True, eq=False)
class Term:
    """One cause of energy; `counts` has the shape (ops,)."""

    name: str
    """`arithmetic`, `off-chip memory`, `instructions`, `idle power`, …"""
    group: Group
    counts: NDArray[np.float64]
    """Events in each op."""
    unit: str
    """What is counted: `op`, `B`, `instruction`, `s`."""
    each: Coefficient
    """What one costs. [J]"""

    @property
    def energy_j(self) -> NDArray[np.float64]:
        """Energy of each op, by typical figures. [J], shape (ops,)"""
        return np.asarray(self.counts * self.each.typical)

    def totals_j(self, sums: Sums) -> Numbers:
        """Energy of the whole workload, or of each table of a stack, by typical figures. [J]"""
        return sums(self.counts) * self.each.typical

    @property
    def total_j(self) -> float:
        """Energy of the whole workload. [J]"""
        return float(self.totals_j(whole))


@dataclass(frozen=True, eq=False)
class Energy:
    """What a workload takes on a device, as terms that add up to it."""

    terms: tuple[Term, ...]
    left_out: tuple[str, ...] = ()
    """Terms without a known figure, in sentences: the whole is at least the sum of the others."""

    @property
    def energy_j(self) -> NDArray[np.float64]:
        """Energy of each op. [J], shape (ops,)"""
        return np.asarray(np.sum([term.energy_j for term in self.terms], axis=0))

    def totals_j(self, sums: Sums) -> Numbers:
        """Energy of the whole workload, or of each table of a stack, by typical figures. [J]"""
        return sum(term.totals_j(sums) for term in self.terms)

    @property
    def total_j(self) -> float:
        """Energy of the whole workload. [J]"""
        return float(self.totals_j(whole))

    @property
    def ends_j(self) -> tuple[float, float]:
        """The lowest and the highest that the documents' figures allow, all terms at one end. [J]"""
        counts = [float(term.counts.sum()) for term in self.terms]
        each = [term.each for term in self.terms]
        low = sum(count * one.low for count, one in zip(counts, each, strict=True))
        return low, sum(count * one.high for count, one in zip(counts, each, strict=True))

    def of_group(self, group: Group) -> float:
        """What the terms of one group take. [J]"""
        return sum(term.total_j for term in self.terms if term.group == group)

    def groups(self) -> dict[Group, float]:
        """Energy by group, those that there are. [J]"""
        return {group: self.of_group(group) for group in GROUPS if any(term.group == group for term in self.terms)}

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All that it rests on, each once."""
        return tuple(dict.fromkeys(fact for term in self.terms for fact in term.each.facts))

    @property
    def grade(self) -> Grade:
        """The weakest grade of what it rests on."""
        return weakest(self.facts)


def energy_of(
    hardware: Hardware,
    work: Workload,
    allocation: Allocation,
    latency_s: NDArray[np.float64],
    energies: Energies,
    *,
    storage: str,
    moved: NDArray[np.float64] | None = None,
    wide: str | None = None,
) -> Energy:
    """The energy of a workload; `latency_s` is that of each op, allocation and workload are of the same ops.

    `moved` are the bytes that the memory outside of the chip moves; all that the ops read and write if None. `wide` is
    the precision of the ops that a policy leaves wide, if it is another one.

    Raises EnergyError or UnknownCoefficientError, either with the device's id, where a coefficient is not known.
    """
    model = EnergyModel(hardware, energies, allocation.compute, storage)
    inside = chip_bytes(allocation, work, storage)
    try:
        moved = work.bytes_moved(storage) if moved is None else moved
        terms = [*_compute(model, work, wide or model.compute), *_memory(model, work, inside, moved)]
    except UnknownCoefficientError as error:
        raise UnknownCoefficientError(f"{hardware.id}: {error}") from error
    left_out = []
    try:
        terms += control_terms(model, work, allocation, inside)
    except UnknownCoefficientError as error:
        left_out.append(f"control of the architecture is not counted: {error}")
    try:
        terms.append(Term("idle power", "static", latency_s, "s", idle_w(hardware, energies.coefficients)))
    except (EnergyError, UnknownCoefficientError) as error:
        left_out.append(f"idle power is not counted: {error}")
    return Energy(tuple(terms), tuple(left_out))


def _compute(model: EnergyModel, work: Workload, wide: str) -> Iterator[Term]:
    ops = work.column("ops")
    circuit = model.unit.circuit or "standard_cell"
    if wide != model.compute:
        narrow = work.narrow(model.storage)
        rest, ops = np.where(narrow, 0.0, ops), np.where(narrow, ops, 0.0)
        yield Term(f"arithmetic in {wide}", "compute", rest, "op", model.node.arithmetic(wide))
        yield Term(f"datapath in {wide}", "compute", rest, "op", model.node.datapath(wide, circuit))
    yield Term("arithmetic", "compute", ops, "op", model.node.arithmetic(model.compute))
    yield Term("datapath", "compute", ops, "op", model.node.datapath(model.compute, circuit))


def _memory(
    model: EnergyModel, work: Workload, inside: NDArray[np.float64], moved: NDArray[np.float64]
) -> Iterator[Term]:
    hardware, storage = model.hardware, model.storage
    outside = hardware.main_memory()
    yield Term("off-chip memory", "memory", moved, "B", model.energies.access(outside.name))
    yield Term("on-chip memory", "memory", inside, "B", model.node.sram(LARGE_ARRAY))
    if hardware.traits.is_cores:
        operands = operand_bytes(work, storage, operands_per_mac(model.unit, model.compute))
        yield Term("L1", "memory", operands, "B", model.node.sram(CORE_ARRAY))


def control_terms(model: EnergyModel, work: Workload, allocation: Allocation, inside: Counts) -> list[Term]:
    """The events of the device's own architecture; `inside` are the bytes of `chip_bytes`.

    Raises UnknownCoefficientError where nothing is known of its kind of architecture.
    """
    terms_of = CONTROL_TERMS.get(model.hardware.traits.control)
    if terms_of is None:
        raise UnknownCoefficientError(f"no control events are known of devices of kind {model.hardware.kind}")
    return list(terms_of(model, work, allocation, inside))


def _of_cpu(model: EnergyModel, work: Workload, allocation: Allocation, inside: Counts) -> Iterator[Term]:  # noqa: ARG001
    lanes = _macs_of_lane(model)
    yield Term("instructions", "control", issued(work, lanes, lanes), "instruction", _core(model))


def _macs_of_lane(model: EnergyModel) -> float:
    """MACs of one instruction of a lane: what it finishes in a clock, or one that takes it several clocks."""
    return max(1.0, model.unit.macs_per_clock(model.compute))


def _core(model: EnergyModel) -> Coefficient:
    """An instruction of a core: as measured on one out of order, at the least what one in order is said to take. [J]

    The measured one has its own operation in it, a light one: 0.1 pJ of 148 and more.
    """
    simple = _event(model, "instruction")
    events = model.energies.events(model.hardware.kind)
    measured = of_range(events.energy("retired"), "an instruction of an out-of-order core, with its operation")
    found = Coefficient(simple.low, measured.typical, measured.high, measured.basis, measured.facts)
    return found.as_estimate()  # of another core than this one


def _of_gpu(model: EnergyModel, work: Workload, allocation: Allocation, inside: Counts) -> Iterator[Term]:  # noqa: ARG001
    in_steps, rate = model.unit.circuit == "tensor_core", _macs_of_lane(model)
    if in_steps:
        rate = max(rate, STEP_MACS[precision(model.compute).bits > 8])
    width = _threads_of_warp(model)
    instructions, warps = _issued_in_warps(work, in_steps, rate, width)
    each = _event(model, "instruction")  # includes its operands, so a warp adds only scheduling
    yield Term("instructions", "control", instructions, "instruction", each)
    yield Term("warp scheduling", "control", warps, "warp instruction", _event(model, "schedule"))
    requests = np.ceil(inside / (width * LANE_BYTES))
    yield Term("coherence", "control", requests, "request", _event(model, "coherence"))


def _threads_of_warp(model: EnergyModel) -> float:
    """Threads of a warp. [1]. Raises EnergyError where the spec does not say them."""
    unit = model.unit
    fact = model.hardware.facts.get(f"warp_threads.{unit.group}")
    if fact is None:
        groups = unit.fact("groups")
        want = f"want 'warp_threads: {{{unit.group}: [value, source, where]}}' for the energy of a GPU, found none"
        raise EnergyError(f"{shown(groups.file)}:{groups.line}  {model.hardware.id}: {want}")
    return fact.value


@kept(COUNTS_KEPT)
def _issued_in_warps(work: Workload, in_steps: bool, macs_per_issue: float, width: float) -> tuple[Counts, Counts]:
    """Instructions of lanes and steps of matrix units, and those of warps. Shape (ops,) each"""
    repeats = work.column("repeats")
    macs, lanes = work.column("macs") / repeats, work.column("other_ops") / repeats
    steps = np.ceil(macs / macs_per_issue)
    if not in_steps:
        steps, lanes = np.zeros_like(macs), steps + lanes
    warps = np.ceil(lanes / width) + np.ceil(steps * LANES_OF_STEP / width)
    return read_only(repeats * (steps + lanes)), read_only(repeats * warps)


def _of_tpu(model: EnergyModel, work: Workload, allocation: Allocation, inside: Counts) -> Iterator[Term]:  # noqa: ARG001
    """No instruction and no coherence: a cell's neighbours hand it what it needs."""
    weights, rows, sums = _array_feed(work, allocation)
    yield Term("weights into the array", "memory", weights, "element", _event(model, "weight_shift"))
    yield Term("rows into the array", "memory", rows, "element", _event(model, "activation"))
    both = _event(model, "accumulator_write").plus(_event(model, "accumulator_read"))
    yield Term("accumulators", "memory", sums, "sum", both)


def _array_feed(work: Workload, allocation: Allocation) -> tuple[Counts, Counts, Counts]:
    """Weights, elements of rows and partial sums that enter or leave the arrays. Shape (ops,) each."""
    weights, rows, sums = (np.zeros(len(work), dtype=np.float64) for _ in range(3))
    for part in allocation.parts:
        if part.fill_drain_clocks and len(part.ops):
            weights[part.ops], rows[part.ops], sums[part.ops] = _fed(part, work)
    return weights, rows, sums


def _fed(part: Part, work: Workload) -> tuple[Counts, Counts, Counts]:
    side = int(part.blocks.rows[0])
    m, n, k, groups = (column[part.ops].astype(np.float64) for column in (work.m, work.n, work.k, work.groups))
    groups = groups * work.repeats[part.ops]
    return groups * n * k, groups * m * k * np.ceil(n / side), groups * m * n * np.ceil(k / side)


def _of_kpu(model: EnergyModel, work: Workload, allocation: Allocation, inside: Counts) -> Iterator[Term]:  # noqa: ARG001
    """What is read from the chip's memory enters an array, as often as it is read."""
    yield Term("domain tracking", "control", work.column("ops"), "op", _event(model, "tracking"))
    leaving = work.column("elements_out")
    width = np.maximum(work.element_bytes(model.storage), np.finfo(np.float64).tiny)  # of a row that touches nothing
    entering = inside / width - leaving
    yield Term("injection", "memory", entering, "element", _event(model, "injection"))
    yield Term("extraction", "memory", leaving, "element", _event(model, "extraction"))


def _event(model: EnergyModel, name: str) -> Coefficient:
    """An event of the device's kind of processor at its node. [J]"""
    return model.energies.event(model.hardware, model.hardware.kind, name)


KindTerms = Callable[[EnergyModel, Workload, Allocation, Counts], Iterator[Term]]

CONTROL_TERMS: dict[str, KindTerms] = {"cores": _of_cpu, "warps": _of_gpu, "systolic": _of_tpu, "dataflow": _of_kpu}
"""Control terms by the control that a kind of device has."""
