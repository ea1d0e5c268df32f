"""Power of ALUs from a node, a circuit, a precision and a clock: ranges, factors, derivations and estimates.

The factors are facts of `specs/process` and `specs/circuits.yaml`. docs/method-tdp.md has the formulas.
"""

import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import TypeVar

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.precision import PRECISIONS
from rooflint.base.precision import precision as precision_named
from rooflint.base.units import HERTZ, OPS_PER_MAC, UnitError, format_number, format_quantity, parse_quantity
from rooflint.coefficients.checks import size_of
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.nodes import NodeEnergies
from rooflint.coefficients.ranges import Coefficient
from rooflint.hardware.device import Facts

DATAPATH_BITS = 64
"""Width of one ALU where the width is constant: that of the widest precision. [bit]"""


class Hold(StrEnum):
    """What stays the same from precision to precision."""

    alus = "alus"
    """An ALU does as many MACs per clock in any of them."""
    width = "width"
    """An ALU is 64 bits wide and does as many MACs per clock as fit side by side; a TF32 takes 32 bits."""


def packed_macs(precision: str, hold: Hold) -> float:
    """MACs that fit into one ALU side by side. [1]"""
    return DATAPATH_BITS / precision_named(precision).bits if hold is Hold.width else 1.0


MOST = 64
"""Values of one range."""
MOST_ALUS = 10**9
SLOWEST_HZ, FASTEST_HZ = 1e6, 20e9
"""Outside of these a clock has a wrong prefix."""

N = TypeVar("N", int, float)


class RangeError(RooflintError):
    """A number or a range that cannot be parsed; the message shows a valid one."""


def alus_of(text: str) -> list[int]:
    """Counts of ALUs. Raises RangeError."""
    return _values(text, _count, "--alus")


def clocks_of(text: str) -> list[float]:
    """Clocks. [Hz]. Raises RangeError."""
    found = _values(text, _hertz, "--clock")
    for clock_hz in found:
        if not SLOWEST_HZ <= clock_hz <= FASTEST_HZ:
            ends = " … ".join(format_quantity(end, HERTZ) for end in (SLOWEST_HZ, FASTEST_HZ))
            shown = format_quantity(clock_hz, HERTZ)
            raise RangeError(f"--clock: {shown} is outside {ends}; wrong unit or prefix?")
    return found


def _values(text: str, read: Callable[[str], N], option: str) -> list[N]:
    words = text.split(":")
    if len(words) > 3:
        raise RangeError(f"{option}: want low:high or low:high:step, found '{text}'")
    numbers = [read(word.strip()) for word in words]
    low, high, step = numbers[0], numbers[min(1, len(words) - 1)], numbers[2:]
    if high < low:
        raise RangeError(f"{option}: want a range from low to high, found '{text}'")
    count = _steps(low, high, step)
    if count > MOST:
        raise RangeError(f"{option}: want at most {MOST} values, found '{text}', which has {count}")
    return [low + number * step[0] if step else low * 2**number for number in range(count)]


def _steps(low: float, high: float, step: Sequence[float]) -> int:
    """Values from low to high, which is one of them if a step ends there to a millionth."""
    steps = (high - low) / step[0] if step else math.log2(high / low)
    return math.floor(steps + 1e-6) + 1


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= MOST_ALUS:
        raise RangeError(
            f"--alus: want a whole number from 1 to {MOST_ALUS} or a range such as 1024:65536, found '{text}'"
        )
    return int(text)


def _hertz(text: str) -> float:
    spaced = re.sub(r"(?<=[0-9.])(?=[A-Za-z])", " ", text, count=1)
    expected = "--clock: want a clock with its unit, such as 1.83GHz, or a range such as 1GHz:2GHz:0.25GHz"
    try:
        quantity = parse_quantity(spaced)
    except UnitError as error:
        raise RangeError(f"{expected}: {error}") from error
    if quantity.dimension != HERTZ or quantity.value <= 0:
        raise RangeError(f"{expected}, found '{text}'")
    return quantity.value


class UnknownFactorError(RooflintError):
    """A node, a circuit or a precision that the estimate has no factor for; the message names the nearest."""


@dataclass(frozen=True)
class Factors:
    """What an estimate is multiplied of. Names are read in any case."""

    coefficients: Coefficients

    @cached_property
    def bases(self) -> dict[str, Fact]:
        """Energy of an FP32 op by node, smallest first. [J/op]"""
        processes = [self.coefficients.process(node) for node in self.coefficients.ids("process")]
        having = [process for process in processes if "op fp32" in process.energies()]
        having.sort(key=lambda process: _metres(process.id) or 0.0)
        return {process.id: process.energy("op", "fp32").best.low for process in having}

    @cached_property
    def circuits(self) -> dict[str, Fact]:
        """Factor by circuit, highest first. [1]"""
        found = _below("factors.", self.coefficients.circuits())
        return dict(sorted(found.items(), key=lambda one: -one[1].value))

    @cached_property
    def precisions(self) -> dict[str, Fact]:
        """Factor by precision, widest first. [1]"""
        found = _below("precisions.", self.coefficients.circuits())
        return {name: found[name] for name in PRECISIONS if name in found}

    @property
    def overhead(self) -> Fact:
        """Factor for the datapath around a unit. [1]"""
        return self.coefficients.circuits()["overhead"]

    def node(self, text: str) -> str:
        """`4nm` of `4 nm` or `4NM`. Raises UnknownFactorError with the nearest nodes."""
        name, size = "".join(text.lower().split()), _metres(text)
        if name in self.bases:
            return name
        if size is None:
            raise UnknownFactorError(f"unknown process '{text}'; want one of {', '.join(self.bases)}")
        near = sorted(self.bases, key=lambda node: abs((_metres(node) or 0.0) - size))[:2]
        nearest = ", ".join(node for node in self.bases if node in near)
        raise UnknownFactorError(f"no energy of an op is known at process '{text}'; nearest: {nearest}")

    def circuit(self, text: str) -> str:
        """`tensor_core` of `Tensor-Core`. Raises UnknownFactorError with the nearest."""
        name = "_".join(text.lower().replace("-", " ").split())
        if name in self.circuits:
            return name
        near = difflib.get_close_matches(name, self.circuits, n=1, cutoff=0.5)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UnknownFactorError(f"unknown circuit '{text}'; {meant}known: {', '.join(self.circuits)}")

    def precision(self, text: str) -> str:
        """`fp16` of `FP16`. Raises UnknownFactorError."""
        name = text.strip().lower()
        if name not in self.precisions:
            raise UnknownFactorError(
                f"no factor of precision '{text}' is known; want one of {', '.join(self.precisions)}"
            )
        return name


def _metres(text: str) -> float | None:
    """Size of a node in any spelling; None for another name. [m]"""
    return size_of("".join(text.lower().split()))


def _below(prefix: str, facts: Facts) -> dict[str, Fact]:
    return {path.removeprefix(prefix): fact for path, fact in facts.items() if path.startswith(prefix)}


def _factor(name: str, fact: Fact, what: str) -> Factor:
    return Factor(name, fact.value, f"{fact.display} {what}", fact)


@dataclass(frozen=True)
class Case:
    """What is estimated: so many ALUs of a circuit at a node, in a precision, at a clock."""

    precision: str
    circuit: str
    node: str
    alus: int
    clock_hz: float
    macs_per_clock: float = 1.0
    """MACs of one ALU, or of each 64 bits where the width of ALUs is held. [1]"""
    hold: Hold = Hold.alus


@dataclass(frozen=True)
class TdpEstimate:
    """The estimate of one case."""

    case: Case
    factors: Factors

    @cached_property
    def mac(self) -> Ladder:
        """Energy of one MAC. [J/MAC]"""
        case, base = self.case, self.factors.bases[self.case.node]
        return Ladder(
            (
                Factor("base", base.value, f"{base.display} at {case.node}", base),
                _factor("circuit", self.factors.circuits[case.circuit], case.circuit),
                _factor("precision", self.factors.precisions[case.precision], case.precision),
                Factor("ops", OPS_PER_MAC, f"{OPS_PER_MAC} op/MAC"),
                _factor("overhead", self.factors.overhead, "datapath"),
            )
        )

    @cached_property
    def rate(self) -> Ladder:
        """MACs in a second, every ALU at work in every clock. [MAC/s]"""
        case = self.case
        factors = [
            Factor("alus", case.alus, f"{case.alus} ALU"),
            Factor("macs_per_clock", case.macs_per_clock, f"{format_number(case.macs_per_clock)} MAC/clock"),
            Factor("clock", case.clock_hz, format_quantity(case.clock_hz, HERTZ)),
        ]
        if case.hold is Hold.width:
            side_by_side = f"{DATAPATH_BITS}/{precision_named(case.precision).bits} {case.precision} side by side"
            factors.insert(2, Factor("packed", packed_macs(case.precision, case.hold), side_by_side))
        return Ladder(tuple(factors))

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
    """The estimate at every count of ALUs and every clock."""
    return tuple(_like(first, alus=count, clock_hz=clock_hz) for count, clock_hz in product(alus, clocks_hz))


def compared(one: TdpEstimate, by: str) -> tuple[TdpEstimate, ...]:
    """The estimate in every precision, circuit or process with a factor. Raises KeyError for another word."""
    cases = {
        "precisions": lambda: [_like(one, precision=name) for name in one.factors.precisions],
        "circuits": lambda: [_like(one, circuit=name) for name in one.factors.circuits],
        "processes": lambda: [_like(one, node=name) for name in one.factors.bases],
    }
    return tuple(cases[by]())


def _like(one: TdpEstimate, **changes: object) -> TdpEstimate:
    return TdpEstimate(replace(one.case, **changes), one.factors)  # type: ignore[arg-type]
