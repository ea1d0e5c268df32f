"""Figures of a device with their derivations, and numbers as they are printed.

A peak, a bandwidth, a capacity, a power, a count, a bus, a clock, a rate per clock: what published tables have.
`figures(hardware)` lists them, so that a number of a table can be identified.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from rooflint.base import units
from rooflint.base.facts import Fact, Factor, Ladder
from rooflint.base.memo import memoised
from rooflint.base.precision import PRECISIONS, rate_unit
from rooflint.base.units import format_number, format_quantity
from rooflint.hardware.device import ComputeUnit, Hardware, Memory, UndisclosedError, UnsupportedError

#: Quantities by the word that names them, with what they are measured in.
QUANTITIES: dict[str, units.Dimension] = {
    "peak": units.OPS_PER_S,
    "bandwidth": units.BYTES_PER_S,
    "link": units.BYTES_PER_S,
    "capacity": units.BYTES,
    "tdp": units.WATTS,
    "count": units.DIMENSIONLESS,
    "bus": units.BYTES,
    "clock": units.HERTZ,
    "memory_clock": units.HERTZ,
    "cache": units.BYTES,
    "rate": units.OPS,
}

SHARES, RATE = ("mfu", "hfu"), "achieved"
"""What tables of training runs print: shares of the peak, and the rate of a device."""
TRAINING = (*SHARES, RATE, "tokens", "network", "length")
"""The same and what it follows from: tokens a second, the network, the tokens of a sequence."""

BITS_PER_CLOCK = (2, 8, 16, 4, 1)
"""Bits that a pin carries in a clock as documents print it: of HBM, GDDR6, GDDR6X and GDDR5, and of the rate itself."""

#: Circuits that multiply whole matrices; the others are lanes of scalars.
MATRIX_CIRCUITS = frozenset({"tensor_core", "systolic_mac", "domain_flow"})


@dataclass(frozen=True)
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
    """The document that printed it, where it is not derived."""
    dispute: str | None = None
    """Why that document and the derivation disagree, where they do."""

    @cached_property
    def value(self) -> float:
        """In base units of its quantity."""
        return sum(ladder.result for ladder in self.ladders)

    @property
    def is_vendors(self) -> bool:
        """Whether a document of the vendor prints it: its title begins with the vendor's name."""
        title = (self.printed or "").casefold().split()
        return bool(title) and title[0] == self.hardware.id.partition("/")[0]

    @property
    def formula(self) -> str:
        """The derivation as a reader multiplies it."""
        return " + ".join(ladder.formula for ladder in self.ladders)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What it rests on."""
        return tuple(fact for ladder in self.ladders for fact in ladder.facts)

    @property
    def dimension(self) -> units.Dimension:
        """What it is measured in."""
        return QUANTITIES[self.quantity]

    @property
    def is_matrix(self) -> bool:
        """Whether it is a rate of units that multiply matrices."""
        known = self.hardware.units
        named = str(self.unit).split(" + ")
        return all(name in known and known[name].circuit in MATRIX_CIRCUITS for name in named)

    def shown(self, value: float | None = None) -> str:
        """A value of this quantity for a reader."""
        return show(self.quantity, self.value if value is None else value, self.precision)

    @property
    def with_other_prefix(self) -> float | None:
        """A capacity as it is printed loosely, 16 GB of 16 GiB; None for anything else. [B]"""
        display = (self.facts[0].display if self.facts else str(self.printed)) if self.quantity == "capacity" else ""
        share = 2**30 / 1e9
        return (self.value / share if "GiB" in display else self.value * share) if display else None

    @property
    def says(self) -> str:
        """`dense BF16 peak (tensor_core)`, `bandwidth (hbm3) at 30w`: the figure in words, without its device."""
        if self.quantity == "peak":
            words = f"{'sparse' if self.sparse else 'dense'} {str(self.precision).upper()} peak ({self.unit})"
        else:
            words = f"{self.quantity.replace('_', ' ')} ({self.subject})".removesuffix(" (rated)")
        words += f" per {self.part}" if self.part else ""
        return f"{words} at {self.mode}" if self.mode else words


def show(quantity: str, value: float, precision: str | None = None) -> str:
    """A value of a quantity as it is usually written: buses in bit, caches in MiB, counts bare, FP rates in FLOP/s."""
    if quantity == "bus":
        return f"{format_number(value * 8)} bit"
    if quantity == "cache":
        return f"{format_number(value / 2**20)} MiB" if value >= 2**20 else f"{format_number(value / 2**10)} KiB"
    if quantity == "rate":
        return f"{format_number(value)} op/clock"
    unit = rate_unit(precision) if quantity == "peak" and precision in PRECISIONS else None
    return format_quantity(value, QUANTITIES[quantity], digits=4, unit=unit)


@memoised
def figures(hardware: Hardware) -> tuple[Figure, ...]:
    """All figures of a device, of its parts, and at its operating points."""
    return tuple(_all(hardware))


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
        if "pin_rate" in memory.facts:
            yield from _memory_clocks(hardware, memory)
    for link in hardware.links.values():
        yield Figure(hardware, "link", link.name, (link.derivation(),))
    for name, fact in hardware.caches.items() if not hardware.traits.is_cores else ():  # each core has its own
        yield _single(hardware, "cache", name, fact)
    if "tdp" in hardware.facts:
        yield _single(hardware, "tdp", "rated", hardware.facts["tdp"])
    for path, fact in hardware.facts.items():
        if path.startswith("powers."):
            yield _single(hardware, "tdp", path.removeprefix("powers."), fact)
        if path.startswith("clocks."):
            yield _single(hardware, "clock", path.removeprefix("clocks."), fact)


def _single(hardware: Hardware, quantity: str, subject: str, fact: Fact) -> Figure:
    return Figure(hardware, quantity, subject, (Ladder((Factor(quantity, fact.value, fact.display, fact),)),))


def _memory_clocks(hardware: Hardware, memory: Memory) -> Iterator[Figure]:
    """The clock of a memory, which is printed in several ways: 19.5 Gbit/s are 9750 MHz or 1219 MHz. [Hz]"""
    rate = memory.facts["pin_rate"]
    for bits in BITS_PER_CLOCK:
        factors = (
            Factor("pin_rate", rate.value * 8, rate.display, rate),
            Factor("bits_per_clock", 1 / bits, f"1/{bits} clock/bit"),
        )
        yield Figure(hardware, "memory_clock", memory.name, (Ladder(factors if bits > 1 else factors[:1]),))


def _of_unit(hardware: Hardware, unit: ComputeUnit) -> Iterator[Figure]:
    for precision in unit.precisions:
        try:
            dense = unit.derivation(precision)
            yield Figure(hardware, "peak", f"{unit.name} {precision}", (dense,), unit.name, precision)
            yield _rate(hardware, unit, precision, dense)
            sparse = unit.derivation(precision, sparse=True)
        except (UndisclosedError, UnsupportedError):
            continue  # the peak is not disclosed, or there is no sparsity
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
        if figure.quantity == "peak" and figure.precision and (figure.is_matrix or figure.hardware.traits.is_cores):
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
    for part, fact in hardware.parts.items():
        share = Factor("parts", 1 / fact.value, f"1/{fact.display} ({part})", fact, inverse=True)
        for figure in whole:
            if figure.quantity in ("peak", "bandwidth", "capacity", "count", "bus", "cache"):
                ladders = tuple(ladder.times(share) for ladder in figure.ladders)
                yield replace(figure, ladders=ladders, part=part)


FLOOR = 3e-3
"""Relative difference below which two figures are one: no error is as small, and clocks are rounded by as much."""
NEARLY = 0.012
"""Relative difference that an explanation may leave: it may start from another rounding than ours."""
COARSE = 0.05
"""What a figure that is cut may lose at most."""
THREE_DIGITS = 6e-3
"""More than what rounding to three digits hides, which is 5e-3 at most."""
ONE_DIGIT = 0.015
"""Difference up to which a number of one digit is a figure that was rounded."""
COARSEST = 0.15
"""What rounding to a single digit may hide."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it is printed."""

    value: float
    """In base units of its quantity."""
    step: float
    """One unit of the last digit, in base units."""
    text: str

    def is_near(self, target: float, floor: float = FLOOR) -> bool:
        """Whether it may be that figure, rounded or cut at its last digit."""
        off = abs(self.value - target)
        step = self.step * (1 + 1e-9)
        if off <= floor * target or off <= min(step / 2, COARSEST * target):
            return True
        if 0 <= target - self.value < self.step * (1 - 1e-9) and off <= COARSE * target:  # cut
            return True
        if off > THREE_DIGITS * target:
            return False
        return math.isclose(float(f"{target:.2e}"), self.value, rel_tol=1e-9)  # zeros are no digits

    def span(self, floor: float = FLOOR) -> tuple[float, float]:
        """The smallest and the largest figure that it may be near to: a wide range, to look candidates up by."""
        share = max(floor, self.step / self.value, THREE_DIGITS)
        high = self.value / (1 - share) if share < 1 else math.inf
        return self.value / (1 + share) * (1 - 1e-6), high * (1 + 1e-6)

    def is_rounded(self, target: float) -> bool:
        """Whether it is that figure in two significant digits, 1300 for 1307, or nearly in one: 1000 for 989."""
        if target > 0 and abs(float(f"{target:.1e}") - self.value) <= 1e-9 * self.value:
            return True
        return target > 0 and self.off_by(target) <= ONE_DIGIT and float(f"{self.value:.0e}") == self.value

    def off_by(self, target: float) -> float:
        """Relative difference to a figure. [1]"""
        return abs(self.value / target - 1)


SIX_DIGITS = 5e-6
"""Relative difference that six digits leave, in which products of source code are written."""


def is_round(value: float) -> bool:
    """Whether a number has two digits at most."""
    return math.isclose(value, float(f"{value:.1e}"), rel_tol=1e-6)


def has_three_digits_of(figure: float, number: float) -> bool:
    """Whether a number is a figure that is rounded to three digits or cut after them."""
    unit = 10.0 ** (math.floor(math.log10(figure)) - 2)
    return math.isclose(number / unit, round(number / unit), rel_tol=SIX_DIGITS) and abs(number - figure) < unit
