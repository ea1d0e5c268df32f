"""Hardware: a device built from flat facts, its units and memories, and the derivations of peaks and bandwidths.

A new kind of device is a row of KINDS, besides its specs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Factor, Ladder, Source, sort_value
from rooflint.base.memo import memoised
from rooflint.base.precision import nearest
from rooflint.base.units import OPS_PER_MAC


@dataclass(frozen=True)
class DeviceKind:
    """What all devices of a kind have in common."""

    example: str = ""
    """The device that stands for the kind where a user names only the kind."""
    is_default: bool = False
    """The example is compared where a user names no device."""
    control: str = ""
    """The events that its control energy counts; none where it is not known."""
    is_cores: bool = False
    """Units are ports of cores: matrix arrays are laid out as lanes, operands pass an L1, unlike units add up."""
    is_threaded: bool = False
    """Matrix units and lanes sit in groups that schedule warps."""
    has_kernel_models: bool = False
    """Kernel times are calibrated."""


KINDS = {
    "cpu": DeviceKind("intel/xeon-8490h", is_default=True, control="cores", is_cores=True),
    "gpu": DeviceKind(
        "nvidia/h100-sxm5-80gb", is_default=True, control="warps", is_threaded=True, has_kernel_models=True
    ),
    "tpu": DeviceKind("google/tpu-v4", is_default=True, control="systolic"),
    "kpu": DeviceKind("stillwater/kpu-t256", is_default=True, control="dataflow"),
    "npu": DeviceKind(),
    "dsp": DeviceKind("ti/tms320c6678", is_cores=True),
}


T = TypeVar("T")

#: Facts by dotted path.
Facts = Mapping[str, Fact]


class UnsupportedError(RooflintError):
    """A unit, memory, precision or operating point that this device does not have; the message says which it has."""


class UnsupportedPrecisionError(UnsupportedError):
    """A precision in which this device does not compute."""

    def __init__(self, message: str, instead: str | None) -> None:
        super().__init__(message)
        self.instead = instead
        """The nearest precision that it has; None where it has none."""


class UndisclosedError(RooflintError):
    """A quantity that cannot be derived, because the vendor does not disclose what it follows from."""


@dataclass(frozen=True)
class ComputeUnit:
    """One kind of compute unit of a device: `groups` × `per_group` units, each `macs_per_clock` MACs a clock."""

    name: str
    group: str
    facts: Facts = field(repr=False)
    """Those of this unit, by the last part of their path: `groups`, `clock`, `macs_per_clock.int8`."""
    circuit: str | None = None
    undisclosed: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def groups(self) -> int:
        """Groups (SMs, CUs, cores) of the device."""
        return int(self.fact("groups").value)

    @property
    def per_group(self) -> int:
        """Units in one group."""
        return int(self.fact("per_group").value)

    @property
    def count(self) -> int:
        """Units of the device: groups × per group."""
        return self.groups * self.per_group

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions that this unit computes in."""
        return tuple(path.partition(".")[2] for path in self.facts if path.startswith("macs_per_clock."))

    def computes(self, precision: str) -> bool:
        """Whether it computes in a precision."""
        return f"macs_per_clock.{precision}" in self.facts

    def fact(self, path: str) -> Fact:
        """A fact of this unit. Raises UndisclosedError or UnsupportedError where there is none."""
        if path in self.facts:
            return self.facts[path]
        self.refuse_undisclosed(path)
        raise UnsupportedError(self._missing(path))

    def refuse_undisclosed(self, path: str) -> None:
        """Raise UndisclosedError where the spec lists this fact as undisclosed."""
        for prefix, reason in self.undisclosed.items():
            if not prefix or f"{path}.".startswith(f"{prefix}."):
                raise UndisclosedError(f"{self.name}.{path} is undisclosed: {reason}")

    def _missing(self, path: str) -> str:
        head, _, precision = path.partition(".")
        if head == "macs_per_clock":
            return f"{self.name} does not support {precision} (has: {', '.join(self.precisions) or 'none'})"
        if head == "sparsity":
            having = [name.partition(".")[2] for name in self.facts if name.startswith("sparsity.")]
            return f"{self.name} has no structured sparsity in {precision} (has: {', '.join(having) or 'none'})"
        return f"{self.name} has no fact '{path}'"

    def clock_hz(self, precision: str) -> float:
        """The clock that this precision runs at. [Hz]"""
        return self._clock(precision).value

    def _clock(self, precision: str) -> Fact:
        own = self.facts.get(f"clock_of.{precision}")
        return own or self.fact("clock")

    def macs_per_clock(self, precision: str) -> float:
        """Dense multiply-accumulates that one unit does in a clock. [MAC]"""
        return self.fact(f"macs_per_clock.{precision}").value

    def derivation(self, precision: str, *, sparse: bool = False) -> Ladder:
        """The peak as its factors. [op/s]

        groups × per group × MAC/clock × 2 op/MAC × clock, dense; `sparse` adds the sparsity factor.
        """
        rate = self.fact(f"macs_per_clock.{precision}")
        counts = self.count_ladder()
        clock = self._clock(precision)
        ladder = counts.times(
            Factor("macs_per_clock", rate.value, f"{rate.display}/clock", rate),
            Factor("ops_per_mac", OPS_PER_MAC, f"{OPS_PER_MAC} op/MAC"),
            Factor("clock", clock.value, clock.display, clock),
        )
        if not sparse:
            return ladder
        factor = self.fact(f"sparsity.{precision}")
        return ladder.times(Factor("sparsity", factor.value, f"{factor.display} (sparse)", factor))

    def _factor(self, name: str, display: str) -> Factor:
        fact = self.fact(name)
        return Factor(name, fact.value, display, fact)

    @memoised
    def peak_ops_per_s(self, precision: str) -> float:
        """Dense peak. [op/s]"""
        return self.derivation(precision).result

    def count_ladder(self) -> Ladder:
        """groups × per group."""
        return Ladder(
            (
                self._factor("groups", f"{self.groups} {self.group}"),
                self._factor("per_group", f"{self.per_group} {self.name}"),
            )
        )


@dataclass(frozen=True)
class Memory:
    """A memory of a device: a bus of so many bits, each at so many bits a second."""

    name: str
    facts: Facts = field(repr=False)

    def fact(self, path: str) -> Fact:
        """A fact of this memory. Raises UnsupportedError where there is none."""
        if path in self.facts:
            return self.facts[path]
        raise UnsupportedError(f"{self.name} has no fact '{path}' (has: {', '.join(self.facts) or 'none'})")

    @property
    def capacity_bytes(self) -> float:
        """[B]"""
        return self.fact("capacity").value

    @cached_property
    def bandwidth_bytes_per_s(self) -> float:
        """bus × rate per pin, or the stated bandwidth. [B/s]"""
        return self.derivation().result

    def derivation(self) -> Ladder:
        """The bandwidth as factors. [B/s]"""
        if "bandwidth" in self.facts:
            only = self.facts["bandwidth"]
            return Ladder((Factor("bandwidth", only.value, only.display, only),))
        bus, rate = self.fact("bus"), self.fact("pin_rate")
        return Ladder(
            (
                Factor("bus", bus.value * 8, bus.display, bus),
                Factor("pin_rate", rate.value * 8, rate.display, rate),
                Factor("bytes_per_bit", 1 / 8, "1/8 B/bit"),
            )
        )

    @property
    def has_bandwidth(self) -> bool:
        """Whether its bandwidth is known."""
        return "bandwidth" in self.facts or {"bus", "pin_rate"} <= set(self.facts)


DIRECTIONS = 2
"""A link carries data both ways at once, and data sheets print the sum."""


@dataclass(frozen=True)
class Link:
    """A kind of link of a device to others: so many links, each at a rate in either direction."""

    name: str
    facts: Facts = field(repr=False)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Both directions of all links together. [B/s]"""
        return self.derivation().result

    def derivation(self, directions: int = DIRECTIONS) -> Ladder:
        """The bandwidth as factors, of both directions or of one. [B/s]"""
        count, rate = self.facts["count"], self.facts["rate"]
        return Ladder(
            (
                Factor("links", count.value, f"{count.display} {self.name}", count),
                Factor("link_rate", rate.value, rate.display, rate),
                Factor("directions", directions, "1 direction" if directions == 1 else f"{directions} directions"),
            )
        )


@dataclass(frozen=True)
class Joined:
    """How the devices of a system are joined."""

    device: str
    """Id of the device."""
    link: str
    """Those of its links that join them."""
    topology: str
    """`switch`, `mesh`, `torus`, or `host` where they meet at the host."""


SYSTEM = "system"
"""Kind and scope of the facts of a system, which is no device: it computes nothing by itself."""


@dataclass(frozen=True)
class Hardware:
    """One device with all its facts. `at("30w")` and `with_facts(…)` are new devices."""

    id: str
    name: str
    kind: str
    scope: str
    file: Path
    facts: Facts = field(repr=False)
    unit_groups: Mapping[str, str] = field(default_factory=dict, repr=False)
    circuits: Mapping[str, str] = field(default_factory=dict, repr=False)
    architecture: str | None = None
    aliases: tuple[str, ...] = ()
    die: str | None = None
    compute_capability: str | None = None
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False)
    operating_points: Mapping[str, Facts] = field(default_factory=dict, repr=False)
    undisclosed: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: str | None = None
    mode: str | None = None
    """The operating point that this device is at; None for its own."""
    joined: Joined | None = None
    """Of a system, whose facts these are; `rooflint.hardware.system` derives its bandwidths. None of a device."""
    own_facts: Facts | None = field(default=None, repr=False, compare=False)
    """At an operating point: the facts without it, so that another point replaces this one."""

    @property
    def traits(self) -> DeviceKind:
        """What all devices of its kind have in common."""
        return KINDS[self.kind]

    @property
    def label(self) -> str:
        """`nvidia/t4`, `nvidia/jetson-agx-orin-64gb at 30w`."""
        return f"{self.id} at {self.mode}" if self.mode else self.id

    @cached_property
    def units(self) -> Mapping[str, ComputeUnit]:
        """Compute units by name."""
        own = self._grouped.get("units", {})
        return {name: self._unit(name, own.get(name, {})) for name in dict.fromkeys((*self.unit_groups, *own))}

    def _unit(self, name: str, facts: Facts) -> ComputeUnit:
        own = f"units.{name}."
        hidden = {
            path: why
            for path, why in self.undisclosed.items()
            if f"{path}.".startswith(own) or own.startswith(f"{path}.")
        }
        return ComputeUnit(
            name,
            self.unit_groups.get(name, "group"),
            self._handed_out(facts),
            self.circuits.get(name),
            {f"{path}."[len(own) :].rstrip("."): why for path, why in hidden.items()},
        )

    @cached_property
    def memories(self) -> Mapping[str, Memory]:
        """Memories by name."""
        own = self._grouped.get("memories", {})
        return {name: Memory(name, self._handed_out(facts)) for name, facts in own.items()}

    @cached_property
    def caches(self) -> Mapping[str, Fact]:
        """Capacities of caches by name."""
        return {name: self.facts[f"caches.{name}.capacity"] for name in self._grouped.get("caches", {})}

    @cached_property
    def links(self) -> Mapping[str, Link]:
        """Kinds of links by name."""
        own = self._grouped.get("links", {})
        return {name: Link(name, self._handed_out(facts)) for name, facts in own.items()}

    @property
    def parts(self) -> Facts:
        """How many parts it is made of, by their name: `gcd`."""
        return self._handed_out({name: facts[""] for name, facts in self._grouped.get("parts", {}).items()})

    @cached_property
    def _grouped(self) -> Mapping[str, Mapping[str, Facts]]:
        """Facts by the first two parts of their paths and what is left of them: `units`, `tensor_core`, `clock`."""
        found: dict[str, dict[str, dict[str, Fact]]] = {}
        for path, fact in self._plain(self.facts).items():
            section, _, below = path.partition(".")
            name, _, rest = below.partition(".")
            found.setdefault(section, {}).setdefault(name, {})[rest] = fact
        return found

    @staticmethod
    def _plain(facts: Facts) -> Facts:
        """The facts as they can be copied."""
        return facts

    def _handed_out(self, facts: Facts) -> Facts:
        """The facts as parts of this device and copies of it hold them."""
        return facts

    def full_groups(self, group: str) -> Ladder | None:
        """Groups of that name that its silicon has, enabled or not: those of a full die × dies. None where unknown."""
        full, dies = self.facts.get(f"full_die.{group}"), self.facts.get("dies")
        if full is None:
            return None
        ladder = Ladder((Factor("full_die", full.value, f"{full.display} {group}", full),))
        return ladder.times(Factor("dies", dies.value, f"{dies.display} die", dies)) if dies else ladder

    @property
    def tdp_w(self) -> float | None:
        """Rated thermal design power. [W]"""
        return self.facts["tdp"].value if "tdp" in self.facts else None

    def unit(self, name: str) -> ComputeUnit:
        """The unit of that name. Raises UnsupportedError with those that exist."""
        return _pick(self.units, name, f"{self.id} has no unit")

    def memory(self, name: str) -> Memory:
        """The memory of that name. Raises UnsupportedError with those that exist."""
        return _pick(self.memories, name, f"{self.id} has no memory")

    def link(self, name: str) -> Link:
        """The links of that name. Raises UnsupportedError with those that exist."""
        return _pick(self.links, name, f"{self.id} has no link")

    @memoised
    def main_memory(self) -> Memory:
        """The memory that a network streams from: the one with the most bandwidth.

        Raises UnsupportedError for a device without memory of its own.
        """
        known = [memory for memory in self.memories.values() if memory.has_bandwidth]
        if not known:
            raise UnsupportedError(f"{self.id} has no memory with a known bandwidth")
        return max(known, key=lambda memory: sort_value(memory.bandwidth_bytes_per_s))

    def best_unit(self, precision: str) -> ComputeUnit:
        """The unit with the highest dense peak in a precision.

        Raises UnsupportedError where no unit computes in it (never a fallback), UndisclosedError where that is unknown.
        """
        return _fastest(self.units.values(), precision, f"{self.id} does not support {precision}")

    def at(self, mode: str) -> Self:
        """This device at an operating point: a new Hardware with the facts that the point changes.

        Raises UnsupportedError with the points that exist.
        """
        overlay = _pick(self.operating_points, mode, f"{self.id} has no operating point")
        own = self.facts if self.own_facts is None else self.own_facts
        return replace(self, facts=self._overlaid(own, overlay), own_facts=own, mode=mode)

    def points(self) -> Iterator[Self]:
        """This device, then at each of its operating points."""
        yield self
        yield from map(self.at, self.operating_points)

    def with_facts(self, overlay: Facts) -> Self:
        """A copy with some facts replaced or added."""
        own = None if self.own_facts is None else self._overlaid(self.own_facts, overlay)
        return replace(self, facts=self._overlaid(self.facts, overlay), own_facts=own)

    def _overlaid(self, facts: Facts, overlay: Facts) -> Facts:
        return self._handed_out({**self._plain(facts), **self._plain(overlay)})


def _fastest(units: Collection[ComputeUnit], precision: str, problem: str) -> ComputeUnit:
    """The unit with the highest dense peak in a precision. Raises UnsupportedError or UndisclosedError."""
    able = [unit for unit in units if unit.computes(precision)]
    if able:
        return max(able, key=lambda unit: sort_value(unit.peak_ops_per_s(precision)))
    for unit in units:
        unit.refuse_undisclosed(f"macs_per_clock.{precision}")
    having = sorted({name for unit in units for name in unit.precisions})
    raise UnsupportedPrecisionError(f"{problem} (has: {', '.join(having) or 'none'})", nearest(precision, having))


def _pick(things: Mapping[str, T], name: str, problem: str) -> T:
    if name in things:
        return things[name]
    raise UnsupportedError(f"{problem} '{name}' (has: {', '.join(things) or 'none'})")


@memoised
def working_units(hardware: Hardware, compute: str) -> tuple[ComputeUnit, ...]:
    """The units that work together in a precision, the one with the highest dense peak first.

    Of a GPU that of its thread groups alone: the CPU cores and the DLAs of a module are other processors. Of a tile
    array all tiles that compute in the precision. Of any other device the unit with the highest peak.
    Raises UnsupportedError where none computes in it (never a fallback), UndisclosedError where it is not disclosed.
    """
    own = [unit for unit in hardware.units.values() if f"resident_warps.{unit.group}" in hardware.facts]
    if hardware.traits.is_threaded and own:
        elsewhere = any(unit.computes(compute) for unit in hardware.units.values())
        where = f" on its {own[0].group}" if elsewhere else ""
        return (_fastest(own, compute, f"{hardware.id} does not support {compute}{where}"),)
    first = hardware.best_unit(compute)
    if first.circuit != "domain_flow":
        return (first,)
    tiles = [unit for unit in hardware.units.values() if unit.circuit == "domain_flow" and unit.computes(compute)]
    return tuple(sorted(tiles, key=lambda unit: -sort_value(unit.peak_ops_per_s(compute))))


def working_peak_ops_per_s(hardware: Hardware, compute: str) -> float:
    """Dense peak of the units that work together. [op/s]. Raises as `working_units` does."""
    return peak_ops_per_s(working_units(hardware, compute), compute)


def peak_ops_per_s(units: Iterable[ComputeUnit], compute: str) -> float:
    """Dense peak of units that work together. [op/s]. Raises UndisclosedError."""
    return sum(unit.peak_ops_per_s(compute) for unit in units)
