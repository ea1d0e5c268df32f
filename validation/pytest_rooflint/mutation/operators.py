"""Mutation operators: common errors in facts; and the figures that a wrong fact can change.

Breakpoints, attainable rates and latencies are computed from these figures and from a workload, so they change only
with them. The energy of an operation follows from the process node. The year of launch is in none, nor is
the share of a memory that holds its error correction, which only times of kernels depend on.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from rooflint.base.errors import InputError, RooflintError
from rooflint.base.facts import Fact, leading_number
from rooflint.base.units import BYTES, BYTES_PER_S, HERTZ, OPS_PER_MAC, SECONDS, WATTS, format_number
from rooflint.hardware.device import ComputeUnit, Facts, Hardware, Memory
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import SYSTEM_READERS, FactKind, RawFact, kind_of
from rooflint.hardware.spec_files import PER_GROUP

#: Facts that are figures themselves, by the first part of their path.
_FIGURES = {
    *("tdp", "powers", "parts", "clocks", "caches", "launch_overhead", "dies", "process"),
    *("devices", "axes", "switches", "nics"),
    *PER_GROUP,
}


def quantities(hardware: Hardware) -> dict[str, float]:
    """Figures by name, without and at every operating point, in base units: `peak tensor_core fp16 @30w`."""
    modes = {"": hardware} | {f" @{mode}": hardware.at(mode) for mode in hardware.operating_points}
    return {f"{name}{mode}": value for mode, there in modes.items() for name, value in _figures(there)}


def _figures(hardware: Hardware) -> Iterator[tuple[str, float]]:
    for unit in hardware.units.values():
        yield from _of_unit(unit)
    for memory in hardware.memories.values():
        yield from _of_memory(memory)
    for link in hardware.links.values():
        yield f"link {link.name}", link.bandwidth_bytes_per_s
    for path, fact in hardware.facts.items():
        if path.split(".")[0] in _FIGURES:
            yield path, fact.value


def _of_unit(unit: ComputeUnit) -> Iterator[tuple[str, float]]:
    """Counts, clocks, rates, sparsity; and the peaks, where a vendor discloses all that they follow from."""
    for path, fact in unit.facts.items():
        yield f"{unit.name} {path}", fact.value
    for precision in unit.precisions:
        for sparse in (False, True):
            try:
                ladder = unit.derivation(precision, sparse=sparse)
            except RooflintError:
                continue
            yield f"peak {unit.name} {precision}{' sparse' if sparse else ''}", ladder.result


def _of_memory(memory: Memory) -> Iterator[tuple[str, float]]:
    if "capacity" in memory.facts:
        yield f"capacity {memory.name}", memory.capacity_bytes
    if memory.has_bandwidth:
        yield f"bandwidth {memory.name}", memory.bandwidth_bytes_per_s


# ---- Mutation operators: common errors in facts, each with the fact as it would then read

#: Mutation operators, the most specific first: where two of them give the same value, the first one counts.
OPERATORS: dict[str, str] = {
    "sparse-for-dense": "a rate holds the factor of structured sparsity already",
    "mac-op": "MAC are counted as op, or op as MAC",
    "memory-clock": "the clock of a memory is used as its data rate",
    "bits-bytes": "bits are taken for bytes, or bytes for bits",
    "direction": "a link is counted in one direction, or twice in both",
    "per-device": "what all devices of a system have is taken for one device, or the reverse",
    "si-iec": "GB is written where GiB is meant, or the reverse",
    "other-precision": "the rate of another precision of the same unit",
    "counted-twice": "a rate holds its whole group and is multiplied by the units of the group again",
    "fuller-die": "the count of the full die, or of the fullest one that is sold",
    "other-sku": "the value of another device of the same architecture",
    "other-mode": "the value of another operating point of the device",
    "other-clock": "another clock of the device",
    "other-field": "another field of the same kind: units per group for groups, the bus of another memory",
    "other-architecture": "the rate, or the units per group, of another architecture",
    "prefix": "a prefix is off by a thousand",
    "factor-1.5": "half as much again",
    "factor-2": "twice or half",
    "factor-4": "four times or a quarter",
    "factor-16": "sixteen times or a sixteenth",
    "digit": "a digit is off by one, dropped, or exchanged with its neighbour",
    "removed": "the fact is missing",
}

SAME = 1e-9
"""Values nearer to one another than this, as a share, are the same value."""

_PREFIXES = (("k", "Ki"), ("M", "Mi"), ("G", "Gi"), ("T", "Ti"))


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation operator applied to a fact."""

    operator: str
    """One of OPERATORS."""
    text: str
    """The error in words: `the rate of fp16`."""
    fact: Fact | None
    """The fact as it would read; None where it is removed."""
    also: tuple[str, ...] = ()
    """Further operators that give the same value."""

    @property
    def display(self) -> str:
        """The fact as the file would write it."""
        return self.fact.display if self.fact else "nothing"


@dataclass(frozen=True, slots=True)
class Mutations:
    """All mutations of one fact."""

    accepted: tuple[Mutation, ...]
    refused: tuple[str, ...]
    """Operators whose value the schema refuses: half an SM, a clock in THz."""


#: (operator, error in words, the value as a file would write it)
_Attempt = tuple[str, str, str]


def mutations(fact: Fact, hardware: Hardware, registry: Registry) -> Mutations:
    """The mutations of a fact that a device holds (or an architecture, as a device), in a fixed order."""
    accepted: dict[str, Mutation] = {}
    refused: dict[str, str] = {}
    for name, text, value in sorted(_attempts(fact, hardware, registry), key=lambda one: _RANK[one[0]]):
        mutated = _reread(fact, value, of_system=hardware.joined is not None)
        if mutated is None:
            refused.setdefault(value, name)
        elif not math.isclose(mutated.value, fact.value, rel_tol=SAME):
            key = f"{mutated.value:.12g}"
            first = accepted.setdefault(key, Mutation(name, text, mutated))
            if name not in (first.operator, *first.also):
                accepted[key] = replace(first, also=(*first.also, name))
    if registry.needs(fact, registry.holders(fact)):
        return Mutations(tuple(accepted.values()), (*refused.values(), "removed"))
    return Mutations((*accepted.values(), Mutation("removed", "the fact is missing", None)), tuple(refused.values()))


_RANK = {name: rank for rank, name in enumerate(OPERATORS)}
_kind_of = cache(kind_of)


@cache
def _kind_of_system(path: str) -> FactKind | None:
    return kind_of(path, SYSTEM_READERS)


def _reread(fact: Fact, value: str, *, of_system: bool) -> Fact | None:
    """The fact as read from a file; None for what the schema refuses."""
    kind = _kind_of_system(fact.path) if of_system else _kind_of(fact.path)
    if kind is None:
        return None
    try:
        raw: RawFact = kind.read([value, fact.source.key, fact.where])
    except ValueError:  # PydanticCustomError is one
        return None
    return replace(fact, quantity=raw.quantity)


def _attempts(fact: Fact, hardware: Hardware, registry: Registry) -> Iterator[_Attempt]:
    for find in (_conventions, _confused_fields, _confused_clocks, _digits):
        yield from find(fact, hardware)
    yield from _other_modes(fact, hardware)
    yield from _other_devices(fact, hardware, registry)
    yield from _other_architectures(fact, hardware, registry)
    if fact.quantity.dimension in (WATTS, SECONDS):
        yield "factor-1.5", "half as much again", times(fact, 1.5)
    for factor in (2, 4, 16):
        yield f"factor-{factor}", f"{factor} times the value", times(fact, factor)
        yield f"factor-{factor}", f"1/{factor} of the value", times(fact, 1 / factor)


def times(fact: Fact, factor: float) -> str:
    """The value times a factor, as a file would write it: `1830 MHz` × 2 → `3660 MHz`."""
    _, space, unit = fact.display.partition(" ")
    return f"{format_number(leading_number(fact.display) * factor, 9)}{space}{unit}"


# ---- conventions


def _conventions(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    if fact.path.split(".")[-1] == "pin_rate":
        yield "memory-clock", "the memory clock is used as the data rate", times(fact, 1 / 2)
    if fact.path.startswith(("links.", "nics.")) and fact.path.endswith(".rate"):
        yield "direction", "both directions of a link are taken for one", times(fact, 2)
        yield "direction", "half of one direction is taken", times(fact, 1 / 2)
    if hardware.joined:
        yield from _per_device(fact, hardware)
    if _is_rate(fact):
        yield from _rate_conventions(fact, hardware)
    if fact.quantity.dimension in (BYTES, BYTES_PER_S):
        yield "bits-bytes", "bytes are written as that many bits", times(fact, 8)
        yield "bits-bytes", "bits are written as that many bytes", times(fact, 1 / 8)
        yield from _binary(fact)
    if " " in fact.display and not _is_rate(fact):
        yield "prefix", "the prefix is a thousand times too large", times(fact, 1000)
        yield "prefix", "the prefix is a thousand times too small", times(fact, 1 / 1000)


def _is_rate(fact: Fact) -> bool:
    return ".macs_per_clock." in fact.path


def _rate_conventions(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    unit, precision = fact.path.split(".")[1], fact.path.split(".")[3]
    sparsity = hardware.facts.get(f"units.{unit}.sparsity.{precision}")
    if sparsity:
        yield "sparse-for-dense", "the sparse rate is taken for the dense one", times(fact, sparsity.value)
    yield "mac-op", "op are written as that many MAC", times(fact, OPS_PER_MAC)
    yield "mac-op", "a MAC is counted as one op", times(fact, 1 / OPS_PER_MAC)
    group = hardware.facts.get(f"units.{unit}.per_group")
    if group and group.value > 1:
        yield "counted-twice", f"the rate of a group, its {group.display} units together", times(fact, group.value)


def _per_device(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    """Network cards of a device for those of all of them, and back; links of a device for those of all devices."""
    devices = math.prod(one.value for path, one in hardware.facts.items() if path == "devices" or path[:5] == "axes.")
    if fact.path.startswith("nics.") and devices > 1:
        yield "per-device", "what one device has is taken for all of them", times(fact, 1 / devices)
        yield "per-device", "what all devices have is taken for each of them", times(fact, devices)


def _binary(fact: Fact) -> Iterator[_Attempt]:
    """`80 GB` → `80 GiB`, and back."""
    number, _, unit = fact.display.partition(" ")
    for si, iec in _PREFIXES:
        for one, two in ((si, iec), (iec, si)):
            if re.fullmatch(rf"{one}(B|bit)(/s)?", unit):
                other = two + unit.removeprefix(one)
                yield "si-iec", f"{other} is read as {unit}", f"{number} {other}"


# ---- facts taken for one another


def _confused_fields(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    there = _at_its_mode(fact, hardware)
    for path, other in there.items():
        if kind := _confused(fact.path, path):
            yield kind, f"the value of {path}", other.display


def _confused(path: str, other: str) -> str | None:
    """The operator that takes one path for another; None for paths that are not confused."""
    one, two = path.split("."), other.split(".")
    if path == other or one[-1] == "clock" or "clock_of" in one:
        return None
    if one[0] == two[0] == "units" and one[2:3] == two[2:3] == ["macs_per_clock"]:
        return "other-precision" if one[1] == two[1] else "other-field" if one[3] == two[3] else None
    counts = {"groups", "per_group"}
    if one[0] == two[0] == "units" and counts >= {one[-1], two[-1]}:
        return "other-field" if one[1] == two[1] or one[-1] == two[-1] else None
    if {one[0], two[0]} <= {"memories", "caches"} and one[-1] == two[-1]:
        return "other-field"
    return "other-field" if {one[0], two[0]} <= {"tdp", "powers"} else None


def _at_its_mode(fact: Fact, hardware: Hardware) -> Facts:
    """Facts of the device at the operating point that the fact belongs to, or without any."""
    return hardware.at(fact.at).facts if fact.at else hardware.facts


def _confused_clocks(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    if fact.quantity.dimension != HERTZ:
        return
    for path, other in _at_its_mode(fact, hardware).items():
        if other.quantity.dimension == HERTZ and path != fact.path:
            yield "other-clock", f"the value of {path}", other.display


def _other_modes(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:
    for mode, overlay in hardware.operating_points.items():
        if fact.path in overlay and fact.path in hardware.facts:
            yield "other-mode", f"the value at {mode}", overlay[fact.path].display
    if hardware.operating_points and fact.path in hardware.facts:
        yield "other-mode", "the value without an operating point", hardware.facts[fact.path].display


def _other_devices(fact: Fact, hardware: Hardware, registry: Registry) -> Iterator[_Attempt]:
    siblings = [(one.id, one.facts[fact.path]) for one in registry.siblings(hardware) if fact.path in one.facts]
    fullest = max(siblings, key=lambda one: one[1].value, default=None)
    whole = hardware.full_groups(hardware.unit_groups.get(fact.path.split(".")[1], "")) if _is_groups(fact) else None
    if whole and whole.result > fact.value:
        yield "fuller-die", "the count of the full die", f"{whole.result:g}"
    if fullest and _is_groups(fact) and fullest[1].value > fact.value:
        yield "fuller-die", f"the count of {fullest[0]}, the fullest that is sold", fullest[1].display
    for name, other in siblings:
        yield "other-sku", f"the value of {name}", other.display


def _is_groups(fact: Fact) -> bool:
    return fact.path.startswith("units.") and fact.path.endswith(".groups")


def is_compared(fact: Fact) -> bool:
    """Whether the value of another architecture may be taken for that of a fact."""
    return _is_rate(fact) or fact.path.endswith(".per_group")


def _other_architectures(fact: Fact, hardware: Hardware, registry: Registry) -> Iterator[_Attempt]:
    if not is_compared(fact):
        return
    own = (hardware.architecture, hardware.id)
    for name in registry.architecture_files:
        try:
            other = registry.architecture(name)
        except InputError:
            continue
        if other.id not in own and fact.path in other.facts:
            yield "other-architecture", f"the value of {other.id}", other.facts[fact.path].display


# ---- digits


def _digits(fact: Fact, hardware: Hardware) -> Iterator[_Attempt]:  # noqa: ARG001  # digits are mistyped anywhere
    number, space, unit = fact.display.partition(" ")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        return
    for what, mistyped in (*_neighbours(number), *_dropped(number), *_exchanged(number)):
        if mistyped[:1] not in ("", "0", ".") or mistyped.startswith("0."):
            yield "digit", what, f"{mistyped}{space}{unit}"


def _neighbours(number: str) -> Iterator[tuple[str, str]]:
    """The last digit one up, one down: `1830` → `1831`, `1829`."""
    decimals = len(number.partition(".")[2])
    for step in (1, -1):
        value = int(number.replace(".", "")) + step
        digits = f"{value:0{decimals + 1}d}"
        yield "the last digit is off by one", f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits


def _dropped(number: str) -> Iterator[tuple[str, str]]:
    for position, digit in enumerate(number):
        if digit != ".":
            yield f"a {digit} is dropped", f"{number[:position]}{number[position + 1 :]}".removesuffix(".")


def _exchanged(number: str) -> Iterator[tuple[str, str]]:
    for position, (one, two) in enumerate(pairwise(number)):
        if one != two and "." not in (one, two):
            yield f"{one} and {two} are exchanged", f"{number[:position]}{two}{one}{number[position + 2 :]}"
