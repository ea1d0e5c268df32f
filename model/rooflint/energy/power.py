"""Power of a device: at its printed peak beside its power limit, and at a rate that was measured.

    survey(Registry().get("nvidia/t4"), Energies(Coefficients(Registry())))[0].verdict

A power is a sum of terms: units at a rate of ops, the memory at a traffic, and idle power; each between the ends that
the coefficients leave open. docs/method-tdp.md has the formulas.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rooflint.base.facts import GRADES, Fact, Grade
from rooflint.base.units import OPS_PER_MAC
from rooflint.coefficients.nodes import NodeEnergies
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError
from rooflint.energy.model import Energies, EnergyError, idle_w, power_limit
from rooflint.hardware.device import ComputeUnit, Hardware, UndisclosedError, UnsupportedError

Cause = Literal["compute", "memory", "static"]

Verdict = Literal["sustains", "cannot sustain", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

TILES = "domain_flow"
"""The circuit of units that work together whatever their kind: the tiles of one array."""

ARRAYS = ("tensor_core", "systolic_mac", TILES)
"""Circuits of which one instruction feeds many MACs. Instructions are not counted; in other circuits each lane has its
own, and they take most of the power, so the verdict on those is never `sustains`."""

MISSING = (EnergyError, UnknownCoefficientError, UndisclosedError, UnsupportedError)
"""Errors that mean that a figure is not known, unlike errors of files."""


@dataclass(frozen=True)
class PowerTerm:
    """One cause of power: so many events a second at so much each, between the ends of what one costs."""

    name: str
    """`int8_tile arithmetic`, `hbm3`, `idle power`."""
    cause: Cause
    rate_per_s: float
    """Events a second; 1 where the coefficient is a power already."""
    unit: str
    """What is counted: `op`, `B`, `s`."""
    each: Coefficient
    """What one costs. [J], of idle power a second of it."""
    most_per_s: float | None = None
    """Events a second at the most, where that is not known; None where it is."""

    @property
    def low_w(self) -> float:
        """[W]"""
        return self.rate_per_s * self.each.low

    @property
    def typical_w(self) -> float:
        """[W]"""
        return self.rate_per_s * self.each.typical

    @property
    def high_w(self) -> float:
        """[W]"""
        rate_per_s = self.rate_per_s if self.most_per_s is None else self.most_per_s
        return rate_per_s * self.each.high


@dataclass(frozen=True, kw_only=True)
class Power:
    """A sum of terms. `low <= typical <= high`."""

    powers: tuple[PowerTerm, ...]
    left_out: tuple[str, ...] = ()
    """Terms without a known figure, in sentences: the power is at least the sum of the others."""

    @property
    def low_w(self) -> float:
        """Published arithmetic alone, the least that is moved, memory and idle power at their lowest. [W]"""
        return sum(power.low_w for power in self.powers)

    @property
    def typical_w(self) -> float:
        """All terms as typical, the memory with the least that is moved. [W]"""
        return sum(power.typical_w for power in self.powers)

    @property
    def high_w(self) -> float:
        """The whole datapath, the most that is moved, memory and idle power at their highest. [W]"""
        return sum(power.high_w for power in self.powers)


@dataclass(frozen=True)
class Load:
    """Units of a device that compute together in a precision, at their dense peak."""

    hardware: Hardware
    units: tuple[ComputeUnit, ...]
    precision: str

    @property
    def device(self) -> str:
        """`nvidia/t4`, `stillwater/kpu-t64 at 3w`."""
        return self.hardware.label

    @property
    def unit(self) -> str:
        """`tensor_core`, `int8_tile + matrix_tile`."""
        return " + ".join(unit.name for unit in self.units)

    @property
    def peak_ops_per_s(self) -> float:
        """Dense peak. [op/s]. Raises UndisclosedError."""
        return sum(unit.peak_ops_per_s(self.precision) for unit in self.units)


@dataclass(frozen=True, kw_only=True)
class PowerCheck(Power):
    """The power of a load, beside what its device is rated for."""

    load: Load
    limit: Fact

    @property
    def limit_w(self) -> float:
        """[W]"""
        return self.limit.value

    @property
    def low_ratio(self) -> float:
        """Lowest power over the limit. [1]"""
        return self.low_w / self.limit_w

    @property
    def ratio(self) -> float:
        """Typical power over the limit. [1]"""
        return self.typical_w / self.limit_w

    @property
    def high_ratio(self) -> float:
        """Highest power over the limit. [1]"""
        return self.high_w / self.limit_w

    @property
    def verdict(self) -> Verdict:
        """Decided by the whole interval; a power that lacks a term is never within the limit."""
        if self.low_ratio > 1:
            return "cannot sustain"
        return "sustains" if self.high_ratio <= 1 and not self.left_out else "undecided"

    @property
    def grade(self) -> Grade:
        """The weakest grade of what its coefficients rest on."""
        return max((power.each.grade for power in self.powers), key=GRADES.index)

    def cause_w(self, cause: Cause) -> float:
        """Typical power of one cause. [W]"""
        return sum(power.typical_w for power in self.powers if power.cause == cause)

    @property
    def j_per_op(self) -> float:
        """What an op of the load takes, typically. [J/op]"""
        return self.cause_w("compute") / self.load.peak_ops_per_s

    @property
    def exhausting_j_per_op(self) -> float:
        """At which energy of an op compute alone takes all of the limit. [J/op]"""
        return self.limit_w / self.load.peak_ops_per_s

    @property
    def exhausting_j_per_mac(self) -> float:
        """At which energy of a multiply-accumulate compute alone takes all of the limit. [J/MAC]"""
        return self.exhausting_j_per_op * OPS_PER_MAC

    @property
    def clock_share(self) -> float | None:
        """At which share of its clock the typical power is the limit. [1]

        Compute power goes with the clock alone: a lower voltage is not modelled. None where memory and idle power leave
        nothing.
        """
        left_w = self.limit_w - self.cause_w("memory") - self.cause_w("static")
        return left_w / self.cause_w("compute") if left_w > 0 else None

    @property
    def fitting_clock_hz(self) -> float | None:
        """The clock of the first unit at which the typical power is the limit. [Hz]"""
        share = self.clock_share
        return None if share is None else share * self.load.units[0].clock_hz(self.load.precision)


@dataclass(frozen=True)
class UnknownPower:
    """A device, or a load of it, whose power or limit is not known."""

    hardware: Hardware
    reason: str
    """Without the device, so that equal reasons can be grouped."""
    load: Load | None = None
    """None where it holds for the whole device."""

    @property
    def device(self) -> str:
        """`nvidia/t4`, `stillwater/kpu-t64 at 3w`."""
        return self.hardware.label


@dataclass(frozen=True)
class Work:
    """What a device does each second: ops of one kind of unit, and accesses to its fastest memory."""

    unit: str = ""
    """`tensor_core`; none where a device only moves bytes."""
    precision: str = ""
    ops_per_s: float = 0.0
    least_bytes_per_s: float = 0.0
    """What is moved at the least, and typically. [B/s]"""
    most_bytes_per_s: float | None = None
    """What is moved at the most; None for all that the memory can. [B/s]"""


@dataclass(frozen=True, kw_only=True)
class WorkPower(Power):
    """The power of some work."""

    hardware: Hardware
    work: Work

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What it rests on, each once."""
        return tuple(dict.fromkeys(fact for power in self.powers for fact in power.each.facts))

    def low_parts(self) -> Iterator[PowerTerm]:
        """The non-zero terms of the lowest power."""
        yield from (power for power in self.powers if power.low_w)


def survey(
    hardware: Hardware, energies: Energies, precision: str = "", unit: str = ""
) -> list[PowerCheck | UnknownPower]:
    """Every load of a device at its point, or those of a precision and of a unit; reasons where something is missing.

    Never empty.
    """
    if reason := _missing_fact(hardware):
        return [UnknownPower(hardware, reason)]
    wanted = [
        load
        for load in loads(hardware)
        if precision in ("", load.precision) and (not unit or unit in (one.name for one in load.units))
    ]
    if not wanted:
        return [UnknownPower(hardware, _no_load(hardware, precision, unit))]
    return [_checked(load, energies) for load in wanted]


def _missing_fact(hardware: Hardware) -> str:
    if "process" not in hardware.facts:
        return "no process node is known"
    return "" if power_limit(hardware) else "no power limit is known"


def _no_load(hardware: Hardware, precision: str, unit: str) -> str:
    if not any(True for _ in loads(hardware)):
        return next(iter(hardware.undisclosed.values()), "no rate of a unit is known")
    return f"it does not compute in {precision or 'any precision'}{f' on a {unit}' if unit else ''}"


def _checked(load: Load, energies: Energies) -> PowerCheck | UnknownPower:
    try:
        return check_load(load, energies)
    except MISSING as error:
        return UnknownPower(load.hardware, str(error).removeprefix(f"{load.hardware.id}: "), load)


def loads(hardware: Hardware) -> Iterator[Load]:
    """Each unit in each of its precisions; tiles of one array that compute in it work together."""
    units = hardware.units.values()
    tiles = [unit for unit in units if unit.circuit == TILES]
    for unit in units:
        if unit.circuit != TILES:
            yield from (Load(hardware, (unit,), precision) for precision in unit.precisions)
    for precision in dict.fromkeys(name for tile in tiles for name in tile.precisions):
        yield Load(hardware, tuple(tile for tile in tiles if precision in tile.precisions), precision)


def check_load(load: Load, energies: Energies) -> PowerCheck:
    """The power of a load beside the limit of its device.

    Raises EnergyError, UnknownCoefficientError or UndisclosedError where the limit or the power of its units is not
    known; a memory or an idle power that is not known is left out, in words.
    """
    limit = power_limit(load.hardware)
    if limit is None:
        raise EnergyError(f"{load.hardware.id}: no power limit is known")
    hardware = load.hardware
    known, left_out = _known(
        ("memory", lambda: _memory_power(hardware, energies)), ("idle power", lambda: _idle_power(hardware, energies))
    )
    powers = (*_compute(load, energies), *known)
    return PowerCheck(load=load, limit=limit, powers=powers, left_out=(*_uncounted(load.units), *left_out))


def _known(*parts: tuple[str, Callable[[], PowerTerm]]) -> tuple[list[PowerTerm], list[str]]:
    """The terms whose figures are known, and the names of the others in sentences."""
    powers, left_out = [], []
    for name, part in parts:
        try:
            powers.append(part())
        except MISSING as error:
            left_out.append(f"{name} is not counted: {error}")
    return powers, left_out


def _uncounted(units: Iterable[ComputeUnit]) -> Iterator[str]:
    names = [unit.name for unit in units if unit.circuit not in ARRAYS]
    if names:
        yield f"the instructions of each lane of {' + '.join(names)} are not counted"


def _compute(load: Load, energies: Energies) -> Iterator[PowerTerm]:
    for unit in load.units:
        prefix = f"{unit.name} " if len(load.units) > 1 else ""
        node, rate = energies.node(load.hardware), unit.peak_ops_per_s(load.precision)
        yield _arithmetic_power(node, load.precision, rate, prefix)
        yield _datapath_power(node, unit, load.precision, rate, prefix)


def _arithmetic_power(node: NodeEnergies, precision: str, ops_per_s: float, prefix: str = "") -> PowerTerm:
    return PowerTerm(f"{prefix}arithmetic", "compute", ops_per_s, "op", node.arithmetic(precision))


def _datapath_power(
    node: NodeEnergies, unit: ComputeUnit, precision: str, ops_per_s: float, prefix: str = ""
) -> PowerTerm:
    each = node.datapath(precision, unit.circuit or "standard_cell")
    return PowerTerm(f"{prefix}datapath", "compute", ops_per_s, "op", each)


def _memory_power(hardware: Hardware, energies: Energies) -> PowerTerm:
    """An access to the memory with the most bandwidth, as often as that allows."""
    memory = hardware.main_memory()
    return PowerTerm(memory.name, "memory", memory.bandwidth_bytes_per_s, "B", energies.access(memory.name))


def _idle_power(hardware: Hardware, energies: Energies) -> PowerTerm:
    return PowerTerm("idle power", "static", 1.0, "s", idle_w(hardware, energies.coefficients))


def power_of(hardware: Hardware, work: Work, energies: Energies) -> WorkPower:
    """The power of a device that does some work.

    Raises EnergyError, UnknownCoefficientError, UndisclosedError or UnsupportedError where the arithmetic of its units
    is not known; a datapath, a memory or an idle power that is not known is left out, in words.
    """
    parts = [
        ("memory", lambda: _traffic_power(hardware, work, energies)),
        ("idle power", lambda: _idle_power(hardware, energies)),
    ]
    arithmetic, uncounted = list[PowerTerm](), list[str]()
    if work.unit:
        node, unit = energies.node(hardware), hardware.unit(work.unit)
        arithmetic = [_arithmetic_power(node, work.precision, work.ops_per_s)]
        uncounted = list(_uncounted([unit]))
        parts.insert(0, ("the datapath", lambda: _datapath_power(node, unit, work.precision, work.ops_per_s)))
    known, left_out = _known(*parts)
    powers = sorted((*arithmetic, *known), key=lambda power: power.cause == "memory")  # the memory comes last
    return WorkPower(hardware=hardware, work=work, powers=tuple(powers), left_out=(*uncounted, *left_out))


def _traffic_power(hardware: Hardware, work: Work, energies: Energies) -> PowerTerm:
    """The memory at the traffic of some work: at the most what it gives, where the work does not say."""
    full = _memory_power(hardware, energies)
    most = full.rate_per_s if work.most_bytes_per_s is None else work.most_bytes_per_s
    return replace(full, rate_per_s=work.least_bytes_per_s, most_per_s=most)
