"""Replays: a device under assumed facts, beside the sourced one.

A replay puts the assumptions of a document (`given:`) on a copy of a device, so that its figures can be recomputed.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_rooflint.golden.historical import Formulas, read_formulas
from pytest_rooflint.golden.kinds import Claim, Context, Golden
from pytest_rooflint.golden.schema import GivenSpec
from rooflint.base.errors import InputError, Problem, RooflintError
from rooflint.base.facts import Fact, Source
from rooflint.base.memo import known
from rooflint.base.precision import PRECISIONS
from rooflint.base.units import OPS_PER_MAC, OPS_PER_S
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import FactKind
from rooflint.hardware.spec_files import read_override
from rooflint.mapping.allocate import LAYOUTS, allocate
from rooflint.mapping.allocation import Allocation
from rooflint.roofline import Estimate, estimate, estimate_at
from rooflint.workloads.workload import Workload

#: Figures of each op by name.
FIGURES: dict[str, Callable[[Allocation], NDArray[Any]]] = {
    "utilization": lambda allocation: allocation.utilization,
    "units": lambda allocation: allocation.units,
    "blocks": lambda allocation: allocation.blocks,
    "waves": lambda allocation: allocation.waves,
    "last_units": lambda allocation: allocation.last_units,
}


class WhichOpError(RooflintError):
    """A figure of one op, where the claim does not name the op, or names one that its workload lacks."""


def op_of(allocation: Allocation, figure: NDArray[Any], wanted: str | None = None) -> int:
    """Row of the op that is meant: the one with that name, or the first where all have the same figure.

    Raises WhichOpError where they differ, and for a name that no op has.
    """
    names = allocation.op_names.tolist()
    if wanted is not None:
        if wanted not in names:
            raise WhichOpError(f"{allocation.workload} has no op '{wanted}' (has: {', '.join(names[:6])}, …)")
        return int(names.index(wanted))
    differs = np.asarray(figure != figure[0])
    if differs.any():
        other = int(differs.argmax())
        raise WhichOpError(
            f"the ops of {allocation.workload} differ: {names[0]} {allocation.display(0)}, "
            f"{names[other]} {allocation.display(other)}; add 'op:'"
        )
    return 0


# ---- assumptions

_PEAK = FactKind("a peak", OPS_PER_S, 1e6, 1e20, "33.8 TOP/s")
_CONVENTIONS = ("ops_per_mac", "bandwidth_share", "compute", "storage", "layout")

FULL = "full"
"""A layout that ignores the workload: every unit is assumed to be active."""

_OF_FULL: dict[str, Callable[[Allocation], float]] = {
    "units": lambda allocation: float(allocation.total[0]),
    "utilization": lambda allocation: 1.0,
}


_OF_UNITS: dict[str, Callable[[float, float], float]] = {
    "units": lambda taken, total: taken,
    "utilization": lambda taken, total: taken / total,
}


def _wrong_convention(name: str, value: Any) -> str | None:
    """Why a convention is invalid; None where it is valid."""
    if name in ("compute", "storage"):
        return (
            None
            if isinstance(value, str) and value in PRECISIONS
            else f"want a precision out of {', '.join(PRECISIONS)}, found '{value}'"
        )
    if name == "layout":
        known = (*LAYOUTS, FULL)
        return None if value in known else f"want one of {', '.join(known)}, found '{value}'"
    if name not in _CONVENTIONS:
        return f"unknown convention (known: {', '.join(_CONVENTIONS)})"
    try:
        number = fraction(value)
    except (ValueError, ZeroDivisionError):
        return f"want a number or a fraction such as 8/16, found '{value}'"
    return None if number > 0 and math.isfinite(number) else f"want a number above zero, found '{value}'"


class NotGivenError(RooflintError):
    """A figure that needs an assumption which the replay does not give."""


@dataclass(frozen=True)
class Assumed:
    """A device under the assumptions of a document."""

    label: str
    spec: GivenSpec
    sourced: Hardware
    """The device by its documented facts, at the operating point of the assumptions."""
    hardware: Hardware
    """The same with the assumed facts in place."""
    typed_peak: Fact | None = None
    conventions: Mapping[str, Any] = field(default_factory=dict)
    formulas: Formulas = field(default_factory=Formulas)

    def precision(self, claimed: str) -> str:
        """The precision whose rate was used where another is claimed: an INT8 peak sold as FP32."""
        return str(self.conventions.get("compute", claimed))

    @property
    def units(self) -> list[str]:
        """Names of the units whose peaks add up."""
        return self.spec.unit.split(" + ")

    @property
    def ops_per_mac(self) -> float:
        """Ops that the assumed peak counts per MAC. [op/MAC]"""
        return float(self.conventions.get("ops_per_mac", OPS_PER_MAC))

    @property
    def bandwidth_share(self) -> float:
        """Share of its bandwidth that the device is assumed to reach. [1]"""
        return fraction(self.conventions.get("bandwidth_share", 1))

    def peak_ops_per_s(self, precision: str) -> float:
        """The assumed peak, with MACs counted as assumed. [op/s]"""
        if self.typed_peak:
            return self.typed_peak.value
        derived = sum(self.hardware.unit(name).peak_ops_per_s(self.precision(precision)) for name in self.units)
        return derived * self.ops_per_mac / OPS_PER_MAC

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """The assumed bandwidth. [B/s]"""
        return self._memory(self.hardware) * self.bandwidth_share

    def _memory(self, hardware: Hardware) -> float:
        memory = hardware.memory(self.spec.memory) if self.spec.memory else hardware.main_memory()
        return memory.bandwidth_bytes_per_s

    def estimate(self, workload: Workload, compute: str, storage: str) -> Estimate:
        """The roofline under the assumptions."""
        plain = estimate_at(
            self.peak_ops_per_s(compute),
            self.bandwidth_bytes_per_s,
            self.hardware,
            workload,
            compute=compute,
            storage=str(self.conventions.get("storage", storage)),
        )
        work = self.formulas.work
        return self.formulas.applied(replace(plain, ops=work.ops(workload)) if work else plain)

    def macs_per_clock(self, precision: str) -> float:
        """Multiply-accumulates of all assumed units in a clock. [MAC]"""
        units = (self.hardware.unit(name) for name in self.units)
        return sum(unit.count * unit.macs_per_clock(self.precision(precision)) for unit in units)

    @property
    def tdp_w(self) -> float:
        """The assumed TDP. [W]"""
        if "tdp" not in self.hardware.facts:
            raise NotGivenError(f"{self.label} has no tdp; give it under 'facts'")
        return self.hardware.facts["tdp"].value

    def energy_j(self, estimate: Estimate) -> float:
        """Energy of the whole workload by the assumed formula. [J]"""
        if self.formulas.energy is None:
            raise NotGivenError(f"{self.label} has no energies; give 'counted_energy' under 'formula'")
        ops, moved = float(estimate.ops.sum()), float(estimate.bytes_moved.sum())
        return self.formulas.energy.energy_j(ops, moved, self.tdp_w, estimate.latency_s)

    @property
    def layout(self) -> str:
        """The assumed layout of blocks on the units."""
        return str(self.conventions.get("layout", LAYOUTS[0]))

    def laid_out(self, figure: str, workload: Workload, compute: str) -> tuple[float, str]:
        """A figure of the workload's allocation to the assumed units, and why; several units are one array of tiles."""
        unit = self.hardware.unit(self.units[0]) if len(self.units) == 1 else None
        if unit and figure in _OF_UNITS and (taken := self.formulas.units(float(workload.ops[0]))) is not None:
            return _OF_UNITS[figure](taken, float(unit.groups)), f"{taken:g} units for {workload.ops[0]:g} op"
        full = self.layout == FULL
        layout = LAYOUTS[0] if full else self.layout
        allocation = allocate(self.hardware, workload, compute=self.precision(compute), unit=unit, layout=layout)
        if full and figure in _OF_FULL:
            return float(_OF_FULL[figure](allocation)), "every unit is assumed to be active"
        values = FIGURES[figure](allocation)
        op = op_of(allocation, values)
        return float(values[op]), allocation.reason(op)

    def sourced_estimate(self, workload: Workload, compute: str) -> Estimate:
        """The same workload on the documented device, stored in the precision of the arithmetic.

        A measured latency stays, and so does the peak that was measured beside it; only the work is the model's.
        """
        if self.formulas.measured_s is not None:
            taken = self.estimate(workload, compute, compute)
            return replace(taken, ops=workload.column("ops"))
        able = [self.sourced.units[name] for name in self.units if name in self.sourced.units]
        meant = self.precision(compute)
        best = max(able, key=lambda unit: unit.peak_ops_per_s(meant), default=None)
        return estimate(self.sourced, workload, compute=meant, unit=best)

    def sourced_peak(self, precision: str) -> float:
        """The documented peak of the same units. [op/s]"""
        return sum(self.sourced.unit(name).peak_ops_per_s(self.precision(precision)) for name in self.units)


def fraction(value: Any) -> float:
    """The value of `8/16`, or of a number."""
    above, _, below = str(value).partition("/")
    return float(above) / float(below or 1)


def assumed(claim: Claim, context: Context) -> Mapping[str, Assumed]:
    """The assumptions of a replayed claim by label, worked out once per file. Raises InputError for invalid ones."""
    by_file = known(context, "assumed")
    if (claim.file,) not in by_file:
        golden, registry = context.read(claim.file), context.registry
        given = golden.spec.given.items()
        by_file[claim.file,] = {label: _assume(label, spec, golden, registry) for label, spec in given}
    found: Mapping[str, Assumed] = by_file[claim.file,]
    return found


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
    formulas, wrong_ones = read_formulas(spec.formula, sources, document, path)
    problems += wrong_ones
    if problems:
        raise InputError(problems)
    overlay = {dotted: fact for dotted, fact in found.items() if isinstance(fact, Fact)}
    return Assumed(label, spec, sourced, sourced.with_facts(overlay), typed, spec.conventions, formulas)


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


_SEPARATORS = re.compile(r" [</] ")


def is_ratio(claim: Claim) -> bool:
    """Whether it is about the figure of one label over that of another: `latency TPU / CPU`."""
    return " / " in claim.subject


def subject_of(claim: Claim) -> tuple[str, list[str]]:
    """The figure that a replayed claim is about, and its labels in order."""
    words = _SEPARATORS.sub(" ", claim.subject).split()
    named = words if claim.kind != "figure" else words[1:]
    return (words[0] if claim.kind == "figure" and words else claim.kind), named


def uses(claim: Claim) -> list[str]:
    """The labels that a replayed claim is about."""
    return [word for word in _SEPARATORS.sub(" ", claim.subject).split() if word in claim.given]
