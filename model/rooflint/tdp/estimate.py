"""Estimates: energy of a MAC, power and peak of so many ALUs, with the published arithmetic as the lower end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from rooflint.coefficient import Coefficient
from rooflint.facts import Ladder
from rooflint.node_energy import NodeEnergies
from rooflint.tdp.factors import Factors
from rooflint.tdp.ladder import mac_ladder, rate_ladder
from rooflint.tdp.widths import Hold
from rooflint.units import OPS_PER_MAC


@dataclass(frozen=True)
class Case:
    """What is estimated: so many ALUs of a circuit at a node, in a precision, at a clock."""

    precision: str
    circuit: str
    node: str
    alus: int
    clock_hz: float
    macs_per_clock: float = 1.0
    """Of one ALU, where no width is held; else of each 64 bits."""
    hold: Hold = Hold.alus


@dataclass(frozen=True)
class TdpEstimate:
    """The estimate of one case."""

    case: Case
    factors: Factors

    @cached_property
    def mac(self) -> Ladder:
        """Energy of one MAC. [J/MAC]"""
        return mac_ladder(self.factors, self.case.node, self.case.circuit, self.case.precision)

    @cached_property
    def rate(self) -> Ladder:
        """MACs in a second, every ALU at work in every clock. [MAC/s]"""
        case = self.case
        return rate_ladder(case.precision, case.alus, case.macs_per_clock, case.clock_hz, case.hold)

    @property
    def energy_j_per_mac(self) -> float:
        """Energy of one MAC. [J/MAC]"""
        return self.mac.result

    @property
    def power_w(self) -> float:
        """Power of all ALUs at work. [W]"""
        return self.energy_j_per_mac * self.rate.result

    @property
    def ops_per_s(self) -> float:
        """Peak of the ALUs. [op/s]"""
        return self.rate.result * OPS_PER_MAC

    @property
    def ops_per_j(self) -> float:
        """Ops for each joule; op/s for each watt. [op/J]"""
        return OPS_PER_MAC / self.energy_j_per_mac

    @cached_property
    def arithmetic(self) -> Coefficient:
        """A multiply and an add as published or carried to the node, without anything around them. [J/MAC]"""
        energies = NodeEnergies(self.factors.coefficients, self.case.node)
        return energies.arithmetic(self.case.precision).times(OPS_PER_MAC)

    @property
    def arithmetic_w(self) -> float:
        """Power of that arithmetic alone. [W]"""
        return self.arithmetic.typical * self.rate.result


def estimate(factors: Factors, case: Case) -> TdpEstimate:
    """The estimate of a case whose names are in any spelling. Raises UnknownFactorError."""
    read = replace(
        case,
        precision=factors.precision(case.precision),
        circuit=factors.circuit(case.circuit),
        node=factors.node(case.node),
    )
    return TdpEstimate(read, factors)


def over(first: TdpEstimate, alus: Sequence[int], clocks_hz: Sequence[float]) -> tuple[TdpEstimate, ...]:
    """The same at every count of ALUs and every clock."""
    return tuple(_like(first, alus=count, clock_hz=clock_hz) for count, clock_hz in product(alus, clocks_hz))


def compared(one: TdpEstimate, by: str) -> tuple[TdpEstimate, ...]:
    """The same in every precision, circuit or process that there are factors for. Raises KeyError for another word."""
    cases = {
        "precisions": lambda: [_like(one, precision=name) for name in one.factors.precisions],
        "circuits": lambda: [_like(one, circuit=name) for name in one.factors.circuits],
        "processes": lambda: [_like(one, node=name) for name in one.factors.bases],
    }
    return tuple(cases[by]())


def _like(one: TdpEstimate, **changes: object) -> TdpEstimate:
    return TdpEstimate(replace(one.case, **changes), one.factors)  # type: ignore[arg-type]
