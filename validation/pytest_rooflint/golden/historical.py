"""Formulas of old documents that the model does not use: counted energy, power and work, slowed small kernels, …

Only replays use them. Each parameter is cited like a fact; `PARAMETERS` lists the formulas with what they need.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_rooflint.golden.expect import ExpectationError, parse_expectation
from rooflint.base.errors import Problem
from rooflint.base.facts import Fact, Source
from rooflint.base.strict_yaml import Document, Path
from rooflint.base.units import (
    DIMENSIONLESS,
    JOULES_PER_BYTE,
    JOULES_PER_OP,
    OPS,
    SECONDS,
    Dimension,
    Quantity,
    UnitError,
    measure,
    parse_quantity,
)
from rooflint.roofline import Estimate
from rooflint.workloads.workload import Workload

FACTORS: dict[str, Dimension] = dict.fromkeys(("circuit", "format", "overhead", "vector_share"), DIMENSIONLESS)
"""Parameters of `counted_power` besides the energies of the nodes."""

_NODE = re.compile(r"(?P<energy>.+) at (?P<node>\d+) ?nm")


@dataclass(frozen=True)
class CountedPower:
    """Power of a chip's units at their peak: energy per op of the node, times judged factors, times the rate."""

    per_op_j: Mapping[str, float]
    """Energy of an FP32 op by node, such as `4nm`, before any factor. [J/op]"""
    circuit: float
    format: float
    overhead: float
    vector_share: float
    """Share of its peak at which the vector unit runs beside the tensor unit. [1]"""

    def tensor_w(self, ops_per_s: float, node: str) -> float:
        """Tensor unit: per_op × circuit × format × overhead × rate. [W]"""
        return self.per_op_j[node] * self.circuit * self.format * self.overhead * ops_per_s

    def vector_w(self, ops_per_s: float, node: str) -> float:
        """Vector unit: per_op × rate; the log gives it no factors. [W]"""
        return self.per_op_j[node] * ops_per_s

    def combined_w(self, tensor_ops_per_s: float, vector_ops_per_s: float, node: str) -> float:
        """The tensor unit at its peak and a share of the vector unit. [W]"""
        return self.tensor_w(tensor_ops_per_s, node) + self.vector_share * self.vector_w(vector_ops_per_s, node)


def read_nodes(text: str) -> dict[str, float]:
    """`1.2 pJ/op at 3 nm, 1.3 pJ/op at 4 nm` → {"3nm": 1.2e-12, "4nm": 1.3e-12}. Raises ValueError."""
    matches = [_NODE.fullmatch(part) for part in text.split(", ")]
    found = {f"{match['node']}nm": _quantity(match["energy"], JOULES_PER_OP).value for match in matches if match}
    if len(found) != len(matches):
        raise ValueError(f"want each node once, such as '1.2 pJ/op at 3 nm, 1.3 pJ/op at 4 nm'; found '{text}'")
    return found


def nodes_quantity(text: str) -> Quantity:
    """The energies of several nodes as one parameter; its value is that of the first."""
    return Quantity(next(iter(read_nodes(text).values())), JOULES_PER_OP, text)


# ---- energy and small kernels

_STEP = re.compile(r"(?P<times>\d+(?:\.\d+)?) below (?P<limit>\S+ \S+)")


@dataclass(frozen=True)
class CountedEnergy:
    """Energy per op, energy per byte, and a share of the TDP for the whole latency."""

    per_op_j: float
    per_byte_j: float
    idle_share: float

    def energy_j(self, ops: float, bytes_moved: float, tdp_w: float, latency_s: float) -> float:
        """Sum of ops × per_op, bytes × per_byte and idle_share × TDP × latency. [J]"""
        return ops * self.per_op_j + bytes_moved * self.per_byte_j + self.idle_share * tdp_w * latency_s


@dataclass(frozen=True)
class SmallKernels:
    """A kernel with few ops takes a multiple of its roofline time, both of compute and of memory."""

    steps: tuple[tuple[float, float], ...]
    """(ops, times), ascending: a kernel with fewer ops takes that many times as long."""

    def slowdown(self, ops: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factor on the time of each kernel; 1 from the last limit on. Shape (ops,). [1]"""
        times = [step[1] for step in self.steps]
        return np.select([ops < limit for limit, _ in self.steps], times, default=1.0)


@dataclass(frozen=True)
class SlowedEstimate(Estimate):
    """The roofline with a factor on the time of each kernel, but not on its launch."""

    slowdown: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))

    @property
    def compute_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return super().compute_s * self.slowdown

    @property
    def memory_s(self) -> NDArray[np.float64]:
        """Shape (ops,). [s]"""
        return super().memory_s * self.slowdown


@dataclass(frozen=True)
class CountedWork:
    """Work as another counter counts it: some kinds of ops alone, and a number of ops a MAC."""

    per_mac: float
    kinds: tuple[str, ...]
    """Kinds of op that it knows."""

    def ops(self, workload: Workload) -> NDArray[np.float64]:
        """Of each op; zero for a kind that it does not know. Shape (ops,). [op]"""
        counted = self.per_mac * workload.column("macs") + workload.column("other_ops")
        return np.where(np.isin(workload.kinds, self.kinds), counted, 0.0)


@dataclass(frozen=True)
class MeasuredEstimate(Estimate):
    """Work over a latency that the document measured."""

    measured_s: float = math.nan

    @property
    def latency_s(self) -> float:
        """As measured. [s]"""
        return self.measured_s


@dataclass(frozen=True)
class Formulas:
    """The formulas that one label of a replay names, with their parameters."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    """By `formula.parameter`."""

    @property
    def energy(self) -> CountedEnergy | None:
        """The energy formula, if the label has one."""
        if "counted_energy.per_op" not in self.facts:
            return None
        return CountedEnergy(*(self.facts[f"counted_energy.{name}"].value for name in PARAMETERS["counted_energy"]))

    @property
    def power(self) -> CountedPower | None:
        """The power formula, if the label has one."""
        nodes = self.facts.get("counted_power.per_op")
        if nodes is None:
            return None
        factors = {name: self.facts[f"counted_power.{name}"].value for name in FACTORS}
        return CountedPower(read_nodes(nodes.display), **factors)

    @property
    def work(self) -> CountedWork | None:
        """The count of work, if the label has one."""
        kinds = self.facts.get("counted_work.kinds")
        if kinds is None:
            return None
        return CountedWork(self.facts["counted_work.per_mac"].value, tuple(kinds.display.split(", ")))

    @property
    def measured_s(self) -> float | None:
        """The latency that the document measured, if the label has one. [s]"""
        fact = self.facts.get("measured.latency")
        return fact.value if fact else None

    def units(self, ops: float) -> float | None:
        """Units that a kernel with so many ops gets: the first step that it stays below; None without steps."""
        fact = self.facts.get("counted_units.units")
        if fact is None:
            return None
        steps = read_steps(fact.display)
        return next((units for limit, units in steps if ops < limit), steps[-1][1])

    def applied(self, estimate: Estimate) -> Estimate:
        """The estimate by these formulas."""
        if self.measured_s is not None:
            return MeasuredEstimate(**_fields(estimate), measured_s=self.measured_s)
        steps = self.facts.get("small_kernels.times")
        if steps is None:
            return estimate
        slowdown = SmallKernels(read_steps(steps.display)).slowdown(estimate.ops)
        return SlowedEstimate(**_fields(estimate), slowdown=slowdown)


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {one.name: getattr(estimate, one.name) for one in fields(estimate)}


def read_steps(text: str) -> tuple[tuple[float, float], ...]:
    """`10 below 10 MFLOP, 4 below 100 MFLOP` → ((1e7, 10), (1e8, 4)). Raises ValueError for anything else."""
    steps = []
    for part in text.split(", "):
        match = _STEP.fullmatch(part)
        limit = _ops(match["limit"]) if match else None
        if match is None or limit is None or float(match["times"]) <= 0:
            raise ValueError(f"want steps such as '10 below 10 MFLOP, 4 below 100 MFLOP'; found '{text}'")
        steps.append((limit, float(match["times"])))
    if steps != sorted(steps):
        raise ValueError(f"want the smallest limit first; found '{text}'")
    return tuple(steps)


def _ops(text: str) -> float | None:
    try:
        quantity = parse_quantity(text)
    except UnitError:
        return None
    return quantity.value if quantity.dimension == OPS and quantity.value > 0 else None


# ---- reading


def _steps_quantity(text: str) -> Quantity:
    return Quantity(max(times for _, times in read_steps(text)), DIMENSIONLESS, text)


def _kinds_quantity(text: str) -> Quantity:
    if not re.fullmatch(r"\w+(, \w+)*", text):
        raise ValueError(f"want kinds of op such as 'conv2d, linear'; found '{text}'")
    return Quantity(float(len(text.split(", "))), DIMENSIONLESS, text)


Reader = Callable[[str], Quantity]
"""Reads a parameter that has several values. Raises ValueError."""

#: Parameters of each formula, with their dimension or reader.
PARAMETERS: dict[str, dict[str, Dimension | Reader]] = {
    "counted_energy": {"per_op": JOULES_PER_OP, "per_byte": JOULES_PER_BYTE, "idle_share": DIMENSIONLESS},
    "counted_power": {"per_op": nodes_quantity, **FACTORS},
    "counted_units": {"units": _steps_quantity},
    "counted_work": {"per_mac": DIMENSIONLESS, "kinds": _kinds_quantity},
    "measured": {"latency": SECONDS},
    "small_kernels": {"times": _steps_quantity},
}


def read_formulas(
    given: Mapping[str, Mapping[str, Any]], sources: Mapping[str, Source], document: Document, path: Path
) -> tuple[Formulas, list[Problem]]:
    """The formulas of a label, and the problems in them."""
    read = [*_read(given, sources, document, (*path, "formula"))]
    facts = {one.path: one for one in read if isinstance(one, Fact)}
    return Formulas(facts), [one for one in read if isinstance(one, Problem)]


def _read(
    given: Mapping[str, Mapping[str, Any]], sources: Mapping[str, Source], document: Document, path: Path
) -> Iterator[Fact | Problem]:
    for name, values in given.items():
        if name not in PARAMETERS:
            yield document.problem((*path, name), f"unknown formula '{name}' (known: {', '.join(PARAMETERS)})")
            continue
        for parameter in {**PARAMETERS[name], **values}:
            place = (*path, name, parameter)
            if parameter not in PARAMETERS[name]:
                known = ", ".join(PARAMETERS[name])
                yield document.problem(place, f"{name} has no parameter '{parameter}' (has: {known})")
            elif parameter not in values:
                yield document.problem((*path, name), f"{name}: '{parameter}' is missing")
            else:
                yield _parameter(name, parameter, values[parameter], sources, document, place)


def _parameter(
    name: str, parameter: str, value: Any, sources: Mapping[str, Source], document: Document, place: Path
) -> Fact | Problem:
    match value:
        case [str() | int() | float() as text, str(key), str() | int() as where] if key in sources:
            pass
        case [_, str(key), _] if key not in sources:
            return document.problem(place, f"{parameter}: unknown source '{key}' (listed: {', '.join(sources)})")
        case _:
            return document.problem(place, f"{parameter}: want [value, source, where], found {value}")
    written = document.texts.get((*place, 0), str(text))
    try:
        quantity = _quantity(written, PARAMETERS[name][parameter])
    except ValueError as error:  # ExpectationError is one
        return document.problem(place, f"{parameter}: {error}")
    return Fact(f"{name}.{parameter}", quantity, sources[key], str(where), document.file, document.line(place))


def _quantity(text: str, dimension: Dimension | Reader) -> Quantity:
    """A printed value or an expression of such values. Raises ValueError."""
    if callable(dimension):
        return dimension(text)
    read = parse_expectation(text)
    if read.dimension != dimension:
        raise ExpectationError(f"want a value {measure(dimension)}, found '{text}'")
    return Quantity(read.value, dimension, text)
