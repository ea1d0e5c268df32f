"""Laws of speed: a measurement beside the peak, the bandwidth and the roofline of its device."""

from pytest_rooflint.recordings.bounds import Bounds, bandwidth, bounds, cached_bytes, gemm_bytes, peaks
from pytest_rooflint.recordings.causes import causes, miscounted, uncertainty
from pytest_rooflint.recordings.finding import Asked, Finding, kept
from pytest_rooflint.recordings.row import Row
from rooflint.base.facts import Fact, Ladder
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES_PER_S, OPS_PER_BYTE, OPS_PER_S, SECONDS, format_number, format_quantity, percent
from rooflint.devices.hardware import working_peak_ops_per_s
from rooflint.diagnosis.causes import Cause
from rooflint.roofline import attainable_ops_per_s, breakpoint_ops_per_byte
from rooflint_measure.record.measurement import Gemm, Network, Stream

ROUNDING = 1e-9
"""Of floating-point arithmetic on both sides. [1]"""

DEEP = 0.5
"""A product waits for memory beyond doubt where its intensity is at most this share of the breakpoint. [1]"""


def rate(row: Row, asked: Asked) -> Finding | None:
    """Of a product: at most the peak of its precision, at the clock that was recorded."""
    if not isinstance(row.subject, Gemm):
        return None
    ladders = peaks(asked.hardware, row.subject.precision)
    peak, slack = sum(ladder.result for ladder in ladders), uncertainty(row, ladders)
    share = (row.measurement.ops_per_s or 0.0) / peak
    faster = f" × {format_number(1 + slack)} for the recorded clock" if slack else ""
    of_peak = format_quantity(peak, OPS_PER_S, unit=rate_unit(row.subject.precision))
    said = f"{_rate(row)} of a peak of {of_peak}{faster}"
    found = bounds(row, asked.hardware, asked.networks)
    if share <= (1 + slack) * (1 + ROUNDING):
        return kept(row, asked, said, tuple(fact for ladder in ladders for fact in ladder.facts))
    return _broken(row, asked, said, found, share)


def bandwidth_of_stream(row: Row, asked: Asked) -> Finding | None:
    """At most that of the memory, beyond what caches hold."""
    if not isinstance(row.subject, Stream):
        return None
    ladder = asked.hardware.main_memory().derivation()  # raises with the reason where nobody tells
    found = bounds(row, asked.hardware, asked.networks)
    if found is None:
        return None
    moved = format_quantity(row.measurement.bytes_per_s or 0.0, BYTES_PER_S)
    return _between(row, asked, f"{moved} of {format_quantity(ladder.result, BYTES_PER_S)}", found)


def latency(row: Row, asked: Asked) -> Finding | None:
    """At least that of the roofline, but for what caches and algorithms spare."""
    found = bounds(row, asked.hardware, asked.networks) if isinstance(row.subject, Gemm | Network) else None
    if found is None:
        return None
    took, least = (format_quantity(time_s, SECONDS) for time_s in (row.measurement.samples.best_s, found.roofline_s))
    return _between(row, asked, f"{took}, where the roofline has {least} ({found.bound})", found)


def macs(row: Row, asked: Asked) -> Finding | None:
    """As many as the op table of the network has."""
    if not isinstance(row.subject, Network):
        return None
    cause = miscounted(row, asked.networks(row.subject.name, row.subject.batch).total_macs)
    return Finding(row, "breaks", cause.text, causes=(cause,)) if cause else Finding(row, "keeps", "")


def memory_bound_rate(row: Row, asked: Asked) -> Finding | None:
    """Of a product that waits for memory: its intensity times what the best stream of its own session moved."""
    intensity = _deep_intensity(row, asked)
    if intensity is None:
        return None
    rows = row.taken.recording.measurements
    streams = [one.bytes_per_s for one in rows if isinstance(one.subject, Stream) and one.bytes_per_s]
    if not streams:
        return Finding(row, "silent", "no stream was timed in its recording")
    ladders = _ladders(row, asked)
    peak = working_peak_ops_per_s(asked.hardware, row.subject.precision)
    ratio = (row.measurement.ops_per_s or 0.0) / float(attainable_ops_per_s(intensity, peak, max(streams)))
    beside = f"{format_quantity(intensity, OPS_PER_BYTE)} × {format_quantity(max(streams), BYTES_PER_S)}"
    said = f"{_rate(row)}, {percent(ratio)} of {beside} of the best stream beside it"
    facts = tuple(fact for ladder in ladders for fact in ladder.facts)
    found = kept(row, asked, said, facts)
    if abs(ratio - 1) <= asked.within or (ratio < 1 and found.state == "disturbed"):
        return found
    why = "bytes are counted that a cache held" if ratio > 1 else "more bytes moved than were counted"
    return Finding(row, "breaks", said, facts, (Cause(why, ratio, 1.0),))


def _deep_intensity(row: Row, asked: Asked) -> float | None:
    """Of a product that must wait for memory; None for another one. [op/B]"""
    ladder = bandwidth(asked.hardware)
    held = cached_bytes(row, asked.hardware)
    if not isinstance(row.subject, Gemm) or ladder is None or held is None or gemm_bytes(row) <= held:
        return None
    intensity = (row.measurement.ops or 0) / gemm_bytes(row)
    peak = working_peak_ops_per_s(asked.hardware, row.subject.precision)
    return intensity if intensity <= DEEP * breakpoint_ops_per_byte(peak, ladder.result) else None


def _ladders(row: Row, asked: Asked) -> tuple[Ladder, ...]:
    ladder = bandwidth(asked.hardware)
    return (*peaks(asked.hardware, row.subject.precision), *([ladder] if ladder else []))


def _between(row: Row, asked: Asked, said: str, found: Bounds) -> Finding:
    """Slower than the roofline, excused above the floor, impossible below it."""
    best_s = row.measurement.samples.best_s
    slack = uncertainty(row, found.ladders) if found.bound == "compute" else 0.0
    if best_s * (1 + slack) >= found.roofline_s * (1 - ROUNDING):
        return kept(row, asked, said, found.facts)
    if not found.excuses:
        return _broken(row, asked, said, found, found.roofline_s / best_s)
    if best_s * (1 + slack) >= found.floor_s * (1 - ROUNDING):
        return Finding(row, "exempt", f"{said}: {', '.join(found.excuses)}", found.facts)
    floor = f"{said}, and with all that may be spared {format_quantity(found.floor_s, SECONDS)}"
    return _broken(row, asked, floor, found, found.floor_s / best_s)


def _broken(row: Row, asked: Asked, said: str, found: Bounds | None, beaten: float) -> Finding:
    """Noise only adds to a time, so this is a finding however noisy it is."""
    if found is None:
        return Finding(row, "breaks", said)
    several = tuple(causes(row, found, beaten, asked.hardware, asked.registry))
    return Finding(row, "breaks", f"{said}; beaten by {percent(beaten - 1)}", _binding(found), several)


def _binding(found: Bounds) -> tuple[Fact, ...]:
    return tuple(fact for ladder in found.binding for fact in ladder.facts)


def _rate(row: Row) -> str:
    return format_quantity(row.measurement.ops_per_s or 0.0, OPS_PER_S, unit=rate_unit(row.subject.precision))
