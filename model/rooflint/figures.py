"""Figures: everything that a device can be quoted with, each with the derivation behind it.

A peak, a bandwidth, a capacity, a power, a count, a bus, a clock, a rate per clock: what stands in tables that people
publish. `figures(hardware)` lists them, so that a number in such a table can be recognised as one of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rooflint.facts import Fact, Factor, Ladder
from rooflint.hardware import ComputeUnit, Hardware, UndisclosedError, UnsupportedError
from rooflint.precision import PRECISIONS, rate_unit
from rooflint.units import (
    BYTES,
    BYTES_PER_S,
    DIMENSIONLESS,
    HERTZ,
    OPS,
    OPS_PER_S,
    WATTS,
    Dimension,
    format_number,
    format_quantity,
)

#: Quantities by the word that names them, with what they are measured in.
QUANTITIES: dict[str, Dimension] = {
    "peak": OPS_PER_S,
    "bandwidth": BYTES_PER_S,
    "capacity": BYTES,
    "tdp": WATTS,
    "count": DIMENSIONLESS,
    "bus": BYTES,
    "clock": HERTZ,
    "rate": OPS,
}

#: Circuits that multiply whole matrices; the others are lanes of scalars.
MATRIX_CIRCUITS = frozenset({"tensor_core", "systolic_mac", "domain_flow"})


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of one device."""

    hardware: Hardware
    quantity: str
    """A key of QUANTITIES."""
    subject: str
    """`tensor_core fp16`, `hbm3`, `SM`."""
    ladders: tuple[Ladder, ...]
    """One product, or the terms of a sum over several units."""
    unit: str | None = None
    precision: str | None = None
    sparse: bool = False
    part: str | None = None
    """The part of the device that it speaks of; None for the whole."""

    mode: str | None = None
    """The operating point; None for the device's own."""
    printed: str | None = None
    """Where it is no derivation but what a document printed: the document."""
    dispute: str | None = None
    """Why that document and the derivation disagree, where they do."""

    @property
    def value(self) -> float:
        """In base units of its quantity."""
        return sum(ladder.result for ladder in self.ladders)

    @property
    def formula(self) -> str:
        """The derivation as a reader multiplies it."""
        return " + ".join(ladder.formula for ladder in self.ladders)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What it rests on."""
        return tuple(fact for ladder in self.ladders for fact in ladder.facts)

    @property
    def dimension(self) -> Dimension:
        """What it is measured in."""
        return QUANTITIES[self.quantity]

    @property
    def is_matrix(self) -> bool:
        """Whether it is a rate of units that multiply matrices."""
        units = self.hardware.units
        named = str(self.unit).split(" + ")
        return all(name in units and units[name].circuit in MATRIX_CIRCUITS for name in named)

    def shown(self, value: float | None = None) -> str:
        """A value of this quantity for a reader."""
        return show(self.quantity, self.value if value is None else value, self.precision)

    @property
    def says(self) -> str:
        """`dense BF16 peak (tensor_core)`, `bandwidth (hbm3) at 30w`: the figure in words, without its device."""
        if self.quantity == "peak":
            words = f"{'sparse' if self.sparse else 'dense'} {str(self.precision).upper()} peak ({self.unit})"
        else:
            words = f"{self.quantity} ({self.subject})".removesuffix(" (rated)")
        words += f" per {self.part}" if self.part else ""
        return f"{words} at {self.mode}" if self.mode else words


def show(quantity: str, value: float, precision: str | None = None) -> str:
    """A value of a quantity as people write it: buses in bit, counts bare, floating-point rates in FLOP/s."""
    if quantity == "bus":
        return f"{format_number(value * 8)} bit"
    if quantity == "rate":
        return f"{format_number(value)} op/clock"
    unit = rate_unit(precision) if quantity == "peak" and precision in PRECISIONS else None
    return format_quantity(value, QUANTITIES[quantity], digits=4, unit=unit)


def figures(hardware: Hardware) -> tuple[Figure, ...]:
    """All figures of a device, of its parts, and at its operating points."""
    known = vars(hardware)  # kept beside its cached properties: an audit asks for them thousands of times
    if "figures" not in known:
        known["figures"] = tuple(_all(hardware))
    found: tuple[Figure, ...] = known["figures"]
    return found


def _all(hardware: Hardware) -> Iterator[Figure]:
    whole = list(_whole(hardware))
    yield from whole
    yield from _of_parts(hardware, whole)
    for mode in hardware.operating_points if hardware.mode is None else ():
        for figure in _whole(hardware.at(mode)):
            if figure.quantity in ("peak", "bandwidth", "tdp", "clock"):
                yield replace(figure, hardware=hardware, mode=mode)


def _whole(hardware: Hardware) -> Iterator[Figure]:
    peaks = [figure for unit in hardware.units.values() for figure in _of_unit(hardware, unit)]
    yield from peaks
    yield from _sums(peaks)
    yield from _of_groups(hardware)
    for memory in hardware.memories.values():
        if memory.has_bandwidth:
            yield Figure(hardware, "bandwidth", memory.name, (memory.derivation(),))
        for key in ("capacity", "bus"):
            if key in memory.facts:
                yield _single(hardware, key, memory.name, memory.facts[key])
    if "tdp" in hardware.facts:
        yield _single(hardware, "tdp", "rated", hardware.facts["tdp"])
    for path, fact in hardware.facts.items():
        if path.startswith("powers."):
            yield _single(hardware, "tdp", path.removeprefix("powers."), fact)
        if path.startswith("clocks."):
            yield _single(hardware, "clock", path.removeprefix("clocks."), fact)


def _single(hardware: Hardware, quantity: str, subject: str, fact: Fact) -> Figure:
    return Figure(hardware, quantity, subject, (Ladder((Factor(quantity, fact.value, fact.display, fact),)),))


def _of_unit(hardware: Hardware, unit: ComputeUnit) -> Iterator[Figure]:
    for precision in unit.precisions:
        try:
            dense = unit.derivation(precision)
            yield Figure(hardware, "peak", f"{unit.name} {precision}", (dense,), unit.name, precision)
            yield _rate(hardware, unit, precision, dense)
            sparse = unit.derivation(precision, sparse=True)
        except (UndisclosedError, UnsupportedError):
            continue  # no peak that anybody could derive, or no sparsity
        yield Figure(hardware, "peak", f"{unit.name} {precision}", (sparse,), unit.name, precision, sparse=True)
    try:
        yield Figure(hardware, "count", unit.name, (unit.count_ladder(),), unit.name)
    except (UndisclosedError, UnsupportedError):
        return
    if "clock" in unit.facts:
        yield _single(hardware, "clock", unit.name, unit.facts["clock"])


def _rate(hardware: Hardware, unit: ComputeUnit, precision: str, peak: Ladder) -> Figure:
    """What one group (an SM, a CU, a core) does in a clock. [op]"""
    kept = tuple(factor for factor in peak.factors if factor.name not in ("groups", "clock"))
    return Figure(hardware, "rate", f"{unit.name} {precision}", (Ladder(kept),), unit.name, precision)


def _sums(figures: list[Figure]) -> Iterator[Figure]:
    """Several units that work side by side in one precision: tensor cores and DLAs, tiles of several kinds."""
    alike: dict[tuple[str, bool, bool], list[Figure]] = {}
    for figure in figures:
        if figure.quantity == "peak" and figure.precision and (figure.is_matrix or figure.hardware.kind == "cpu"):
            alike.setdefault((figure.precision, figure.sparse, figure.is_matrix), []).append(figure)
    for terms in alike.values():
        groups = {term.hardware.unit_groups.get(str(term.unit)) for term in terms}
        if len(terms) > 1 and len(groups) == len(terms):
            names = " + ".join(str(term.unit) for term in terms)
            ladders = tuple(ladder for term in terms for ladder in term.ladders)
            yield replace(terms[0], subject=f"{names} {terms[0].precision}", ladders=ladders, unit=names)


def _of_groups(hardware: Hardware) -> Iterator[Figure]:
    """SMs, CUs, cores: once for all units that count as many of them."""
    seen: set[tuple[str, float]] = set()
    for unit in hardware.units.values():
        fact = unit.facts.get("groups")
        if fact and (unit.group, fact.value) not in seen:
            seen.add((unit.group, fact.value))
            yield _single(hardware, "count", unit.group, fact)


def _of_parts(hardware: Hardware, whole: list[Figure]) -> Iterator[Figure]:
    for path, fact in hardware.facts.items():
        if not path.startswith("parts."):
            continue
        part = path.removeprefix("parts.")
        share = Factor("parts", 1 / fact.value, f"1/{fact.display} ({part})", fact, inverse=True)
        for figure in whole:
            if figure.quantity in ("peak", "bandwidth", "capacity", "count", "bus"):
                ladders = tuple(ladder.times(share) for ladder in figure.ladders)
                yield replace(figure, ladders=ladders, part=part)
