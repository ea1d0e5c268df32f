"""Laws that every valid measurement obeys.

Each law examines one measurement of a recording and returns what it found; a claim is about all that it examines. Laws
of speed compare with the peak, the bandwidth and the roofline; laws of power compare an energy counter with the power
that was read, and with the limits of the device.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.recordings.bounds import (
    Bounds,
    Networks,
    bandwidth,
    bounds,
    cached_bytes,
    causes,
    gemm_bytes,
    miscounted,
    peaks,
    uncertainty,
)
from pytest_rooflint.recordings.row import Row, doubt
from rooflint.base import units
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact
from rooflint.base.precision import format_rate
from rooflint.base.units import format_number, format_quantity, percent
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.hardware.registry import Registry
from rooflint.roofline import attainable_ops_per_s, breakpoint_ops_per_byte
from rooflint_measure.record import Energy, Gemm, Network, Stream

State = Literal["keeps", "breaks", "exempt", "disturbed", "silent"]


@dataclass(frozen=True)
class LawContext:
    """What a law knows besides the measurement."""

    hardware: Hardware
    registry: Registry
    networks: Networks
    within: float = 0.0
    """By how much two figures may differ. [1]"""
    despite: tuple[str, ...] = ()
    """Throttle reasons that count as normal."""


@dataclass(frozen=True)
class Finding:
    """The result of a law for a measurement."""

    row: Row
    state: State
    text: str
    """The numbers, or why there are none."""
    facts: tuple[Fact, ...] = ()
    causes: tuple[Cause, ...] = ()


Look = Callable[[Row, LawContext], Finding | None]
"""Returns None for a measurement that the law is not about."""


def kept(row: Row, context: LawContext, text: str, facts: tuple[Fact, ...]) -> Finding:
    """The law holds, or it is undecided because the measurement was disturbed."""
    why = doubt(row, context.despite)
    return Finding(row, "disturbed", f"{text}; {why}", facts) if why else Finding(row, "keeps", text, facts)


# ---- speed

ROUNDING = 1e-9
"""Relative error of floating-point arithmetic on both sides. [1]"""

DEEP = 0.5
"""A product waits for memory beyond doubt where its intensity is at most this share of the breakpoint. [1]"""


def rate(row: Row, context: LawContext) -> Finding | None:
    """A product is at most as fast as the peak of its precision at the recorded clock."""
    if not isinstance(row.subject, Gemm):
        return None
    ladders = peaks(context.hardware, row.subject.precision)
    peak, slack = sum(ladder.result for ladder in ladders), uncertainty(row, ladders)
    share = (row.measurement.ops_per_s or 0.0) / peak
    faster = f" × {format_number(1 + slack)} for the recorded clock" if slack else ""
    of_peak = format_rate(peak, row.subject.precision)
    text = f"{_rate(row)} of a peak of {of_peak}{faster}"
    found = bounds(row, context.hardware, context.networks)
    if share <= (1 + slack) * (1 + ROUNDING):
        return kept(row, context, text, tuple(fact for ladder in ladders for fact in ladder.facts))
    return _broken(row, context, text, found, share)


def bandwidth_of_stream(row: Row, context: LawContext) -> Finding | None:
    """A stream is at most as fast as the memory, apart from what caches hold."""
    if not isinstance(row.subject, Stream):
        return None
    ladder = context.hardware.main_memory().derivation()  # raises with the reason where it is not known
    found = bounds(row, context.hardware, context.networks)
    if found is None:
        return None
    moved = format_quantity(row.measurement.bytes_per_s or 0.0, units.BYTES_PER_S)
    return _between(row, context, f"{moved} of {format_quantity(ladder.result, units.BYTES_PER_S)}", found)


def latency(row: Row, context: LawContext) -> Finding | None:
    """A latency is at least that of the roofline, apart from savings by caches and algorithms."""
    found = bounds(row, context.hardware, context.networks) if isinstance(row.subject, Gemm | Network) else None
    if found is None:
        return None
    took, least = (
        format_quantity(time_s, units.SECONDS) for time_s in (row.measurement.samples.best_s, found.roofline_s)
    )
    return _between(row, context, f"{took}, where the roofline has {least} ({found.bound})", found)


def macs(row: Row, context: LawContext) -> Finding | None:
    """A network has as many MACs as its op table."""
    if not isinstance(row.subject, Network):
        return None
    cause = miscounted(row, context.networks(row.subject).total_macs)
    return Finding(row, "breaks", cause.text, causes=(cause,)) if cause else Finding(row, "keeps", "")


def memory_bound_rate(row: Row, context: LawContext) -> Finding | None:
    """A memory-bound product runs at its intensity times the best stream of its recording."""
    intensity = _deep_intensity(row, context)
    if intensity is None:
        return None
    rows = row.recorded.recording.measurements
    streams = [one.bytes_per_s for one in rows if isinstance(one.subject, Stream) and one.bytes_per_s]
    if not streams:
        return Finding(row, "silent", "no stream was timed in its recording")
    ladder = bandwidth(context.hardware)
    ladders = (*peaks(context.hardware, row.subject.precision), *([ladder] if ladder else []))
    peak = working_peak_ops_per_s(context.hardware, row.subject.precision)
    ratio = (row.measurement.ops_per_s or 0.0) / float(attainable_ops_per_s(intensity, peak, max(streams)))
    beside = f"{format_quantity(intensity, units.OPS_PER_BYTE)} × {format_quantity(max(streams), units.BYTES_PER_S)}"
    text = f"{_rate(row)}, {percent(ratio)} of {beside} of the best stream beside it"
    facts = tuple(fact for ladder in ladders for fact in ladder.facts)
    found = kept(row, context, text, facts)
    if abs(ratio - 1) <= context.within or (ratio < 1 and found.state == "disturbed"):
        return found
    why = "some of the counted bytes came from a cache" if ratio > 1 else "more bytes moved than were counted"
    return Finding(row, "breaks", text, facts, (Cause(why, ratio, 1.0),))


def _deep_intensity(row: Row, context: LawContext) -> float | None:
    """Intensity of a product that is clearly memory-bound; None for others. [op/B]"""
    ladder = bandwidth(context.hardware)
    held = cached_bytes(row, context.hardware)
    if not isinstance(row.subject, Gemm) or ladder is None or held is None or gemm_bytes(row.measurement) <= held:
        return None
    intensity = (row.measurement.ops or 0) / gemm_bytes(row.measurement)
    peak = working_peak_ops_per_s(context.hardware, row.subject.precision)
    return intensity if intensity <= DEEP * breakpoint_ops_per_byte(peak, ladder.result) else None


def _between(row: Row, context: LawContext, text: str, found: Bounds) -> Finding:
    """Slower than the roofline: holds; between roofline and floor: exempt; below the floor: broken."""
    best_s = row.measurement.samples.best_s
    slack = uncertainty(row, found.ladders) if found.bound == "compute" else 0.0
    if best_s * (1 + slack) >= found.roofline_s * (1 - ROUNDING):
        return kept(row, context, text, found.facts)
    if not found.allowances:
        return _broken(row, context, text, found, found.roofline_s / best_s)
    if best_s * (1 + slack) >= found.floor_s * (1 - ROUNDING):
        return Finding(row, "exempt", f"{text}: {', '.join(found.allowances)}", found.facts)
    floor = f"{text}, with all allowed savings at least {format_quantity(found.floor_s, units.SECONDS)}"
    return _broken(row, context, floor, found, found.floor_s / best_s)


def _broken(row: Row, context: LawContext, text: str, found: Bounds | None, beaten: float) -> Finding:
    """Noise only adds to a time, so this is a finding even if the measurement is noisy."""
    if found is None:
        return Finding(row, "breaks", text)
    facts = tuple(fact for ladder in found.binding for fact in ladder.facts)
    several = tuple(causes(row, found, beaten, context.hardware, context.registry))
    return Finding(row, "breaks", f"{text}; beaten by {percent(beaten - 1)}", facts, several)


def _rate(row: Row) -> str:
    return format_rate(row.measurement.ops_per_s or 0.0, row.subject.precision)


# ---- power

LIMITS = ("powers.limit", "tdp")
"""Facts that limit the power of a device."""

COUNTER_ERRORS = (
    (1e3, "mJ are taken for J"),
    (1e-3, "J are taken for mJ"),
    (1e6, "µJ are taken for J"),
    (2.0, "energy is counted twice, of two packages or of two runs"),
    (0.5, "half of the energy is missing: one of two packages, or a counter that wrapped"),
)
"""Common errors of energy counters, by the ratio to the truth."""


def energy(row: Row, context: LawContext) -> Finding:
    """Energy of a metered run is the mean sampled power times the time."""
    counted = row.measurement.energy
    if not isinstance(counted, Energy):
        return Finding(row, "silent", str(counted))
    if counted.idle_w > counted.mean_w * (1 + context.within) + counted.resolution_j / counted.seconds:
        text = f"{_watts(counted.mean_w)} at work, below {_watts(counted.idle_w)} idle"
        cause = Cause("the idle power was read while something ran", counted.mean_w / counted.idle_w, 1.0)
        return Finding(row, "breaks", text, causes=(cause,))
    during = [state.power_w for state in row.measurement.conditions.during if isinstance(state.power_w, float)]
    if not during:
        return Finding(row, "silent", "no power was read while it ran")
    mean_w = sum(during) / len(during)
    expected_j = mean_w * counted.seconds
    product = f"{_watts(mean_w)} × {format_quantity(counted.seconds, units.SECONDS)}"
    text = f"{format_quantity(counted.joules, units.JOULES)}, {product} are {format_quantity(expected_j, units.JOULES)}"
    if abs(counted.joules - expected_j) <= context.within * expected_j + counted.resolution_j:
        return Finding(row, "keeps", text)
    return Finding(row, "breaks", text, causes=tuple(_counter_errors(counted, mean_w, context.within)))


def _counter_errors(counted: Energy, mean_w: float, within: float) -> Iterator[Cause]:
    """Counter errors whose factor is the ratio, within the tolerance."""
    ratio = counted.mean_w / mean_w
    yield from (Cause(text, factor, 1.0) for factor, text in COUNTER_ERRORS if abs(ratio / factor - 1) <= within)
    if counted.idle_w and abs((counted.mean_w + counted.idle_w) / mean_w - 1) <= within:
        yield Cause("the idle power is subtracted already", ratio, 0.8)


def power(row: Row, context: LawContext) -> Finding:
    """The mean power stays within the limits of driver and spec."""
    counted = row.measurement.energy
    if not isinstance(counted, Energy):
        return Finding(row, "silent", str(counted))
    driver_w = max(row.readings("power_limit_w"), default=None)
    fact = next((context.hardware.facts[path] for path in LIMITS if path in context.hardware.facts), None)
    limits = [(driver_w, "the driver's limit")] if driver_w else []
    limits += [(fact.value, f"{fact.path} of the spec")] if fact else []
    if not limits:
        return Finding(row, "silent", "neither the driver nor the spec has a limit")
    limit_w, whose = min(limits)
    text = f"{_watts(counted.mean_w)} on average, {whose} is {_watts(limit_w)}"
    facts = (fact,) if fact else ()
    if counted.mean_w <= limit_w * (1 + context.within) + counted.resolution_j / counted.seconds:
        return Finding(row, "keeps", text, facts)
    return Finding(row, "breaks", text, facts, tuple(_over(counted.mean_w, driver_w, fact)))


def _over(mean_w: float, driver_w: float | None, fact: Fact | None) -> Iterator[Cause]:
    if fact is None or mean_w <= fact.value:
        yield Cause("the counter sees more than the device that the driver limits", mean_w / (driver_w or mean_w), 1.0)
    elif driver_w and driver_w > fact.value:
        text = f"the driver allows {_watts(driver_w)}: another board, or another mode, than the spec's"
        yield Cause(text, mean_w / fact.value, 0.5, fact, fact.with_value(driver_w))
    else:
        yield Cause("the limit is too low, or the counter sees more than the device", mean_w / fact.value, 1.0, fact)


def _watts(power_w: float) -> str:
    return format_quantity(power_w, units.WATTS)


# ---- all of them


@dataclass(frozen=True)
class Law:
    """One law."""

    promise: str
    look: Look
    compares: bool = False
    """Whether it compares two figures, so that a claim must state a tolerance."""


LAWS: Mapping[str, Law] = {
    "rate <= peak": Law("no product is faster than the peak of its precision at the recorded clock", rate),
    "bandwidth <= peak": Law("no stream is faster than the memory, except for what caches hold", bandwidth_of_stream),
    "latency >= roofline": Law(
        "nothing takes less time than the roofline, except for what caches and algorithms save", latency
    ),
    "macs = op table": Law("a network's work is that of its op table", macs),
    "rate = intensity * bandwidth": Law(
        "a memory-bound product is as fast as the best stream of its recording allows",
        memory_bound_rate,
        compares=True,
    ),
    "energy = power * time": Law(
        "the energy counter agrees with the power that was read of the same work", energy, compares=True
    ),
    "power <= limit": Law("the mean power stays within the limits of driver and spec", power),
}


def findings(rows: tuple[Row, ...], law: Law, context: LawContext) -> Iterator[Finding]:
    """Findings on every measurement that a law covers; without a result, but with a reason, if facts are missing."""
    for row in rows:
        try:
            found = law.look(row, context)
        except (RooflintError, ClaimError) as error:
            found = Finding(row, "silent", str(error))
        if found is not None:
            yield found
