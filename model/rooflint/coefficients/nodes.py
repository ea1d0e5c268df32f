"""Energies of arithmetic, arrays and control at a process node, carried over from other nodes where none is printed.

A figure that a document gives for the node itself comes first. Elsewhere a printed figure is carried over, logic, SRAM
and DRAM each in its own way, and graded as an estimate. docs/method-energy.md has the formulas.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from rooflint.base.facts import Fact
from rooflint.base.memo import memoised
from rooflint.coefficients.checks import size_of
from rooflint.coefficients.library import Coefficients, Process
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError, of_fact, of_range
from rooflint.hardware.device import Facts

PRINTED, OLDER = "7nm", "45nm"
"""The two nodes for which documents print arithmetic in all formats and arrays in all sizes."""

RELATIVES = {"fp64": "fp32", "tf32": "fp32", "fp8": "fp16", "int4": "int8"}
"""Formats without a printed energy, and the format that theirs follows from by the factor of circuits.yaml."""


@dataclass(frozen=True)
class NodeEnergies:
    """Coefficients at one process node. Raises UnknownCoefficientError where documents do not suffice."""

    coefficients: Coefficients
    node: str
    """`4nm`"""

    @cached_property
    def process(self) -> Process:
        """What documents state for this very node."""
        return self.coefficients.process(self.node)

    @memoised
    def arithmetic(self, precision: str) -> Coefficient:
        """Half of a multiply and an add: what the circuits of an op cost, without anything around them. [J/op]"""
        own = _multiply_add(self.process, precision)
        if own:
            return own
        printed = _multiply_add(self.coefficients.process(PRINTED), precision)
        if printed:
            return printed.times(self.logic(PRINTED), f"{printed.basis}, carried to {self.node}")
        if precision not in RELATIVES:
            raise UnknownCoefficientError(f"no energy of {precision} arithmetic is known at any node")
        relative = RELATIVES[precision]
        factor = self._format(precision).times(1 / self._format(relative).typical)
        return self.arithmetic(relative).times(factor, f"{precision} as {factor.typical:g} × {relative} at {self.node}")

    @memoised
    def operation(self, precision: str, circuit: str) -> Coefficient:
        """An op with its datapath: registers, local wires and clocks of a unit of that circuit. [J/op]

        The power estimate of one document: energy of an FP32 op × format × circuit × overhead. A factor above 1 stands
        for a core's control, which is counted apart, so it counts as 1.
        """
        facts = self.coefficients.circuits()
        base = of_range(self.process.energy("op", "fp32"))
        dense = _bounded(facts[f"factors.{circuit}"]) if f"factors.{circuit}" in facts else of_one(circuit)
        around = of_fact(facts["overhead"], "overhead")
        return base.times(self._format(precision)).times(dense).times(around, f"{precision} op in a {circuit}")

    @memoised
    def datapath(self, precision: str, circuit: str) -> Coefficient:
        """What an op costs beyond its arithmetic: from nothing to what the power estimate says. [J/op]"""
        whole, bare = self.operation(precision, circuit), self.arithmetic(precision)
        rest = max(0.0, whole.typical - bare.typical)
        basis = f"the rest of a {whole.basis} at {self.node}"
        return Coefficient(0.0, rest, max(rest, whole.high - bare.low), basis, (*whole.facts, *bare.facts))

    @memoised
    def sram(self, array: str) -> Coefficient:
        """A byte read from an array: `kib8`, `kib32`, `mib1`. [J/B]

        Between the two nodes with printed figures by a power law; below the smaller one as there, because cells hardly
        shrink any more (0.021 µm² at N5 and at N3E), at the most shrinking like logic.
        """
        own = _maybe(self.process, "sram", array)
        if own:
            return own
        printed = of_range(self.coefficients.process(PRINTED).energy("sram", array))
        if _size(self.node) < _size(PRINTED):
            shrunk = printed.low * self.logic(PRINTED).low
            basis = f"{printed.basis}, as {self.node} cells hardly shrink"
            return Coefficient(shrunk, printed.typical, printed.high, basis, printed.facts)
        older = of_range(self.coefficients.process(OLDER).energy("sram", array))
        share = math.log(_size(self.node) / _size(PRINTED)) / math.log(_size(OLDER) / _size(PRINTED))
        typical = printed.typical * (older.typical / printed.typical) ** share
        basis = f"{array} array between {PRINTED} and {OLDER}"
        return Coefficient(printed.low, typical, older.high, basis, (*printed.facts, *older.facts))

    @memoised
    def logic(self, reference: str) -> Coefficient:
        """Energy of logic at this node over that at a reference node. [1]

        The ratio of two FP32 ops; the ends are those of a foundry's power at equal speed where it prints one.
        """
        if reference == self.node:
            return of_one(reference)
        ratio = _relative(self.coefficients, self.node).times(_inverse(_relative(self.coefficients, reference)))
        return replace(ratio, basis=f"logic at {self.node} over {reference}")

    def control(self, event: Coefficient, node: str) -> Coefficient:
        """An event of control that was given for another node, as logic. [J]"""
        return event if node == self.node else event.times(self.logic(node), f"{event.basis}, carried to {self.node}")

    def _format(self, precision: str) -> Coefficient:
        facts = self.coefficients.circuits()
        if f"precisions.{precision}" not in facts:
            raise UnknownCoefficientError(f"no energy of {precision} arithmetic is known at any node")
        return of_fact(facts[f"precisions.{precision}"], precision)


def _multiply_add(process: Process, precision: str) -> Coefficient | None:
    """Half of a multiply-add, where the node has both."""
    multiply, add = _maybe(process, "multiply", precision), _maybe(process, "add", precision)
    if multiply is None or add is None:
        return None
    return multiply.plus(add).times(0.5, f"half of a multiply and an add {precision} at {process.id}")


def _maybe(process: Process, kind: str, of: str) -> Coefficient | None:
    return of_range(process.energy(kind, of)) if f"{kind} {of}" in process.energies() else None


def _relative(coefficients: Coefficients, node: str) -> Coefficient:
    """Logic at a node over logic at the printed one: by FP32 ops, by a foundry's ratio, or by an FP32 multiply-add."""
    process, printed = coefficients.process(node), coefficients.process(PRINTED)
    own, base = _maybe(process, "op", "fp32"), of_range(printed.energy("op", "fp32"))
    if own:
        ratio = own.times(_inverse(base))
    else:
        ours, theirs = _multiply_add(process, "fp32"), _multiply_add(printed, "fp32")
        if ours is None or theirs is None:
            raise UnknownCoefficientError(f"{node}: no document says how its logic compares with {PRINTED}")
        ratio = ours.times(_inverse(theirs))
    return _widened(ratio, process.facts)


def _widened(ratio: Coefficient, facts: Facts) -> Coefficient:
    found = [facts[path] for path in facts if path.endswith(f"relative_power.{PRINTED}")]
    ends = [ratio.low, ratio.high, *(fact.value for fact in found)]
    return Coefficient(min(ends), ratio.typical, max(ends), ratio.basis, ratio.facts)


def _inverse(one: Coefficient) -> Coefficient:
    return Coefficient(1 / one.high, 1 / one.typical, 1 / one.low, f"1 / {one.basis}", one.facts)


def _bounded(fact: Fact) -> Coefficient:
    """A circuit's factor, at most 1."""
    value = min(1.0, fact.value)
    return Coefficient(value, value, value, "circuit", (fact,))


def of_one(basis: str) -> Coefficient:
    """A factor that changes nothing."""
    return Coefficient(1.0, 1.0, 1.0, basis)


def _size(node: str) -> float:
    found = size_of(node)
    if not found:
        raise UnknownCoefficientError(f"'{node}' is not a process node; want one such as 4nm")
    return found
