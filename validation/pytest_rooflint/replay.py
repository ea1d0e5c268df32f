"""Replays: another person's assumptions, put on a copy of a device, and set beside the sourced facts.

A replay is history, not truth. It counts neither as coverage nor as a kill; it shows that a printed figure follows from
its assumptions, and by what factor each of them departs from what is documented.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rooflint.claim import Claim
from pytest_rooflint.golden_schema import GivenSpec, Golden
from pytest_rooflint.laid_out import FIGURES, op_of
from rooflint.allocation import Allocation
from rooflint.diagnosis import ratio_text
from rooflint.errors import InputError, Problem
from rooflint.facts import Fact, Source
from rooflint.hardware import Hardware
from rooflint.mapping import LAYOUTS, allocate
from rooflint.precision import PRECISIONS, bytes_per_element, rate_unit
from rooflint.roofline import Estimate, estimate, estimate_at
from rooflint.schema import Wish
from rooflint.spec_files import read_override
from rooflint.specs import Registry
from rooflint.units import OPS_PER_MAC, OPS_PER_S, format_quantity
from rooflint.workload import Workload

_PEAK = Wish("a peak", OPS_PER_S, 1e6, 1e20, "33.8 TOP/s")
_CONVENTIONS = ("ops_per_mac", "bandwidth_share", "storage", "layout")

FULL = "full"
"""A layout that is no layout: every unit is said to hold work, whatever the workload."""

_OF_FULL: dict[str, Callable[[Allocation], float]] = {
    "units": lambda allocation: float(allocation.total[0]),
    "utilization": lambda allocation: 1.0,
}


def _wrong_convention(name: str, value: Any) -> str | None:
    """What is wrong with a convention; None if nothing is."""
    if name == "storage":
        return (
            None
            if isinstance(value, str) and value in PRECISIONS
            else f"want a precision out of {', '.join(PRECISIONS)}, found '{value}'"
        )
    if name == "layout":
        known = (*LAYOUTS, FULL)
        return None if value in known else f"want one of {', '.join(known)}, found '{value}'"
    if name not in _CONVENTIONS:
        return f"is no convention (known: {', '.join(_CONVENTIONS)})"
    try:
        number = fraction(value)
    except (ValueError, ZeroDivisionError):
        return f"want a number or a fraction such as 8/16, found '{value}'"
    return None if number > 0 and math.isfinite(number) else f"want a number above zero, found '{value}'"


@dataclass(frozen=True)
class Assumed:
    """A device as somebody assumed it to be."""

    label: str
    spec: GivenSpec
    sourced: Hardware
    """The device by its documented facts, at the operating point that the assumptions speak of."""
    hardware: Hardware
    """The same with the assumed facts in place."""
    typed_peak: Fact | None = None
    conventions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def units(self) -> list[str]:
        """The units that compute, together."""
        return self.spec.unit.split(" + ")

    @property
    def ops_per_mac(self) -> float:
        """How many ops the assumed peak counts for one MAC."""
        return float(self.conventions.get("ops_per_mac", OPS_PER_MAC))

    @property
    def bandwidth_share(self) -> float:
        """What share of its bandwidth the device is assumed to reach."""
        return fraction(self.conventions.get("bandwidth_share", 1))

    def peak_ops_per_s(self, precision: str) -> float:
        """The assumed peak, in the ops that it was counted in. [op/s]"""
        if self.typed_peak:
            return self.typed_peak.value
        derived = sum(self.hardware.unit(name).peak_ops_per_s(precision) for name in self.units)
        return derived * self.ops_per_mac / OPS_PER_MAC

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """The assumed bandwidth. [B/s]"""
        return self._memory(self.hardware) * self.bandwidth_share

    def _memory(self, hardware: Hardware) -> float:
        memory = hardware.memory(self.spec.memory) if self.spec.memory else hardware.main_memory()
        return memory.bandwidth_bytes_per_s

    def estimate(self, workload: Workload, compute: str, storage: str) -> Estimate:
        """The plain roofline under the assumptions."""
        return estimate_at(
            self.peak_ops_per_s(compute),
            self.bandwidth_bytes_per_s,
            self.hardware,
            workload,
            compute=compute,
            storage=str(self.conventions.get("storage", storage)),
        )

    @property
    def layout(self) -> str:
        """How blocks of work are assumed to lie on the units."""
        return str(self.conventions.get("layout", LAYOUTS[0]))

    def laid_out(self, figure: str, workload: Workload, compute: str) -> tuple[float, str]:
        """A figure of how the workload lies on the assumed units, and why; several units are one array of tiles."""
        unit = self.hardware.unit(self.units[0]) if len(self.units) == 1 else None
        full = self.layout == FULL
        layout = LAYOUTS[0] if full else self.layout
        allocation = allocate(self.hardware, workload, compute=compute, unit=unit, layout=layout)
        if full and figure in _OF_FULL:
            return float(_OF_FULL[figure](allocation)), "every unit is said to hold work"
        values = FIGURES[figure](allocation)
        op = op_of(allocation, values)
        return float(values[op]), allocation.reason(op)

    def sourced_estimate(self, workload: Workload, compute: str) -> Estimate:
        """The same workload on the documented device: storage in the precision of the arithmetic."""
        able = [self.sourced.units[name] for name in self.units if name in self.sourced.units]
        best = max(able, key=lambda unit: unit.peak_ops_per_s(compute), default=None)
        return estimate(self.sourced, workload, compute=compute, unit=best)

    def sourced_peak(self, precision: str) -> float:
        """The documented peak of the same units. [op/s]"""
        return sum(self.sourced.unit(name).peak_ops_per_s(precision) for name in self.units)


def fraction(value: Any) -> float:
    """`8/16` or a number."""
    above, _, below = str(value).partition("/")
    return float(above) / float(below or 1)


def assume(golden: Golden, registry: Registry) -> dict[str, Assumed]:
    """The assumptions of a file by label. Raises InputError for what cannot be assumed."""
    return {label: _assume(label, spec, golden, registry) for label, spec in golden.spec.given.items()}


def _assume(label: str, spec: GivenSpec, golden: Golden, registry: Registry) -> Assumed:
    document, path = golden.document, ("given", label)
    sources = {key: Source(key, s.document, s.grade, s.url) for key, s in golden.spec.sources.items()}
    sourced = registry.get(spec.hardware)
    sourced = sourced.at(spec.at) if spec.at else sourced
    found = {
        dotted: read_override(dotted, value, sources, document, (*path, "facts", dotted))
        for dotted, value in spec.facts.items()
    }
    problems = [fact for fact in found.values() if isinstance(fact, Problem)]
    problems += [
        document.problem((*path, "conventions", name), f"{name}: {wrong}")
        for name, value in spec.conventions.items()
        if (wrong := _wrong_convention(name, value))
    ]
    typed = _typed_peak(spec, sources, golden, (*path, "peak"), problems)
    if problems:
        raise InputError(problems)
    overlay = {dotted: fact for dotted, fact in found.items() if isinstance(fact, Fact)}
    return Assumed(label, spec, sourced, sourced.with_facts(overlay), typed, spec.conventions)


def _typed_peak(
    spec: GivenSpec, sources: Mapping[str, Source], golden: Golden, path: tuple[str, ...], problems: list[Problem]
) -> Fact | None:
    if spec.peak is None:
        return None
    try:
        raw = _PEAK.read(spec.peak)
    except ValueError as error:
        problems.append(golden.document.problem(path, f"peak: {error}"))
        return None
    if raw.source not in sources:
        problems.append(
            golden.document.problem(path, f"peak: unknown source '{raw.source}' (listed: {', '.join(sources)})")
        )
        return None
    return Fact("peak", raw.quantity, sources[raw.source], raw.where, golden.file, golden.document.line(path))


# ---- what they part from, for the report


def assumptions(assumed: Assumed, precision: str, storage: str) -> Iterator[dict[str, Any]]:
    """Each assumption beside the sourced fact, with the factor between them; last the peak, with the factor's parts."""
    parts = []
    for dotted in assumed.spec.facts:
        row = _row(assumed, dotted)
        if row["factor"] and dotted.startswith(tuple(f"units.{name}." for name in assumed.units)):
            parts.append(f"{row['factor_text']} ({dotted.split('.', 2)[2]})")
        yield row
    for row in _conventions(assumed, precision, storage):
        if row["what"] == "ops_per_mac":
            parts.append(f"{row['factor_text']} (a MAC counted as one op)")
        yield row
    yield _peak_row(assumed, precision, parts)


def _row(assumed: Assumed, dotted: str) -> dict[str, Any]:
    taken, documented = assumed.hardware.facts[dotted], assumed.sourced.facts.get(dotted)
    if dotted.endswith(".bandwidth") and documented is None:
        memory = assumed.sourced.memory(dotted.split(".")[1])
        shown = format_quantity(memory.bandwidth_bytes_per_s, taken.quantity.dimension)
        return _beside(
            assumed,
            dotted,
            taken.display,
            shown,
            taken.value / memory.bandwidth_bytes_per_s,
            memory.derivation().facts[0],
        )
    factor = taken.value / documented.value if documented else None
    return _beside(assumed, dotted, taken.display, documented.display if documented else None, factor, documented)


def _beside(
    assumed: Assumed, what: str, taken: str, sourced: str | None, factor: float | None, fact: Fact | None
) -> dict[str, Any]:
    return {
        "what": what,
        "assumed": taken,
        "sourced": sourced,
        "factor": factor,
        "factor_text": None if factor is None else ratio_text(factor),
        "parts": [],
        "source": {"document": fact.source.document, "where": fact.where, "grade": fact.source.grade} if fact else None,
        "why": assumed.spec.why.get(what),
    }


def _conventions(assumed: Assumed, precision: str, storage: str) -> Iterator[dict[str, Any]]:
    if "ops_per_mac" in assumed.conventions:
        yield _beside(
            assumed,
            "ops_per_mac",
            f"{assumed.ops_per_mac:g} op/MAC",
            f"{OPS_PER_MAC} op/MAC",
            assumed.ops_per_mac / OPS_PER_MAC,
            None,
        )
    if "bandwidth_share" in assumed.conventions:
        yield _beside(
            assumed, "bandwidth_share", str(assumed.conventions["bandwidth_share"]), "1", assumed.bandwidth_share, None
        )
    if "layout" in assumed.conventions:
        yield _beside(assumed, "layout", assumed.layout, LAYOUTS[0], None, None)
    stored = str(assumed.conventions.get("storage", storage))
    if stored != precision:
        yield _beside(
            assumed,
            "storage",
            f"{stored}, {bytes_per_element(stored):g} B",
            f"{precision}, {bytes_per_element(precision):g} B",
            bytes_per_element(stored) / bytes_per_element(precision),
            None,
        )


def _peak_row(assumed: Assumed, precision: str, parts: list[str]) -> dict[str, Any]:
    taken = assumed.peak_ops_per_s(precision)
    documented = assumed.sourced_peak(precision)
    fact = assumed.typed_peak
    row = _beside(
        assumed,
        "peak",
        fact.display if fact else format_quantity(taken, OPS_PER_S, unit=rate_unit(precision)),
        format_quantity(documented, OPS_PER_S, unit=rate_unit(precision)),
        taken / documented,
        None,
    )
    return {**row, "what": f"peak {assumed.spec.unit} {precision}", "parts": parts, "why": assumed.spec.why.get("peak")}


def uses(claim: Claim) -> list[str]:
    """The labels that a replayed claim speaks of."""
    return [word for word in claim.subject.replace("<", " ").split() if word in claim.given]
