"""Bounds of a measured time: the roofline estimate, and the floor, a strict lower bound; causes of faster times.

Between the two a measurement is faster than the estimate for an ordinary reason: a cache held what the roofline moves,
or a convolution was computed with fewer multiplications. Below the floor, it contradicts the spec.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pytest_rooflint.recordings.row import Row
from rooflint.base.errors import RooflintError
from rooflint.base.facts import Fact, Ladder
from rooflint.base.precision import bytes_per_element
from rooflint.base.units import BYTES, HERTZ, OPS_PER_MAC, format_number, format_quantity
from rooflint.diagnosis.candidate_causes import REASON
from rooflint.diagnosis.causes import Case, Cause, Span
from rooflint.diagnosis.diagnose import candidates
from rooflint.hardware.device import Hardware, UnsupportedError, working_peak_ops_per_s, working_units
from rooflint.hardware.registry import Registry
from rooflint.roofline import compute_time_s, estimate, kernel_time_s, memory_time_s
from rooflint.workloads.networks import find_network, network_named
from rooflint.workloads.workload import Workload
from rooflint_measure.record import Gemm, Measurement, Network, Stream

WINOGRAD = 4.0
"""A convolution of 3 × 3 may take a quarter of its multiplications: F(4 × 4, 3 × 3) has 36 for 144. [1]

Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. arXiv:1509.09308
"""

Networks = Callable[[Network], Workload]
"""The op table of a network at its batch and tokens. Raises RooflintError for one that has none here."""


def table_of(one: Network, of_torchvision: Callable[[str, int], Workload]) -> Workload:
    """The op table of a recorded network: by its configuration, or as `of_torchvision` finds it by name and batch.

    Raises RooflintError for a model of a user, whose code is not here.
    """
    if one.tokens is not None:
        return network_named(one.name).workload(one.batch, one.tokens, one.past)
    if configured := find_network(one.name):
        return configured.workload(one.batch)
    if ":" in one.name or one.name.endswith((".json", ".pt2")):
        raise RooflintError(f"{one.name}: is a model of a user, which has no op table here")
    return of_torchvision(one.name, one.batch)


@dataclass(frozen=True)
class Bounds:
    """Time bounds of one measurement."""

    roofline_s: float
    """The estimate. [s]"""
    floor_s: float
    """The least time, even with warm caches and fewer multiplications. [s]"""
    bound: str
    """What the estimate waits for: `compute`, `memory`, `launch`."""
    allowances: tuple[str, ...]
    """Why less than the estimate is possible."""
    ladders: tuple[Ladder, ...]
    """Derivations of the peak and the bandwidth, whichever it uses."""
    unit: str | None = None
    """The unit that computes, where it is a single one."""

    @property
    def binding(self) -> tuple[Ladder, ...]:
        """The binding ladders: those of the peak or of the bandwidth."""
        computes = self.bound == "compute"
        return tuple(one for one in self.ladders if any(part.name == "clock" for part in one.factors) is computes)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts that the bounds rest on."""
        return tuple(chain.from_iterable(ladder.facts for ladder in self.ladders))


def bounds(row: Row, hardware: Hardware, networks: Networks) -> Bounds | None:
    """Bounds of a measurement; None for what does not depend on a device, such as a wait.

    Raises UnsupportedError or UndisclosedError where the device does not say enough, RooflintError for a network
    without op table.
    """
    match row.subject:
        case Gemm():
            return _of_gemm(row, hardware)
        case Stream() if row.measurement.bytes_moved:
            return _of_stream(row, hardware)
        case Network():
            return _of_network(row, hardware, networks)
    return None


def peaks(hardware: Hardware, precision: str) -> tuple[Ladder, ...]:
    """Peaks of the units that work together in a precision. Raises as `working_units` does."""
    return tuple(unit.derivation(precision) for unit in working_units(hardware, precision))


def best_rate(measurement: Measurement, hardware: Hardware) -> tuple[Ladder, ...]:
    """Upper bound of a measured rate: the peak of its precision, or the bandwidth. [op/s] or [B/s]

    Raises UnsupportedError or UndisclosedError where the device does not say.
    """
    if precision := getattr(measurement.subject, "precision", None):
        return peaks(hardware, precision)
    if not isinstance(measurement.subject, Stream):
        return ()
    return (hardware.main_memory().derivation(),)


def bandwidth(hardware: Hardware) -> Ladder | None:
    """Bandwidth of the main memory; None for a device without one."""
    try:
        return hardware.main_memory().derivation()
    except UnsupportedError:
        return None


def cached_bytes(row: Row, hardware: Hardware) -> float | None:
    """What all caches together can hold, by the spec or else by the recording; None where neither is known. [B]"""
    if hardware.caches:
        return sum(fact.value for fact in hardware.caches.values())
    streams = (one.subject for one in row.recorded.recording.measurements)
    known = [one.cache_bytes for one in streams if isinstance(one, Stream) and one.cache_bytes]
    return max(known, default=None)


def gemm_bytes(row: Measurement) -> float:
    """Bytes that a call of a product reads and writes: as recorded, or each operand once. [B]"""
    gemm = row.subject
    assert isinstance(gemm, Gemm)
    elements = gemm.batch * (gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n)
    return row.bytes_moved or elements * bytes_per_element(gemm.precision)


def _of_gemm(row: Row, hardware: Hardware) -> Bounds:
    gemm: Gemm = row.subject
    compute_s = compute_time_s(OPS_PER_MAC * gemm.macs, working_peak_ops_per_s(hardware, gemm.precision))
    memory_s, streamed_s, allowances = _moving(gemm_bytes(row.measurement), row, hardware)
    return Bounds(
        roofline_s=float(kernel_time_s(compute_s, memory_s)),
        floor_s=max(compute_s, streamed_s),
        bound="compute" if compute_s >= memory_s else "memory",
        allowances=allowances if memory_s > compute_s else (),
        **_rests_on(hardware, gemm.precision),
    )


def _of_stream(row: Row, hardware: Hardware) -> Bounds | None:
    ladder = bandwidth(hardware)
    if ladder is None:
        return None
    memory_s, streamed_s, allowances = _moving(row.measurement.bytes_moved or 0.0, row, hardware)
    return Bounds(memory_s, streamed_s, "memory", allowances, (ladder,))


def _of_network(row: Row, hardware: Hardware, networks: Networks) -> Bounds:
    network: Network = row.subject
    table = networks(network)
    peak = working_peak_ops_per_s(hardware, network.precision)
    roofline_s, bound = _estimated(hardware, table, network.precision)
    square = _may_be_winograd(table)
    least_macs = float((table.macs * (1 - square * (1 - 1 / WINOGRAD))).sum())
    weights = float(table.elements_weight.sum()) * bytes_per_element(network.precision)
    _, streamed_s, _ = _moving(weights, row, hardware)
    allowances = (
        *(["Winograd may save multiplications of 3 × 3 convolutions"] if square.any() else []),
        *([f"caches of {_size(row, hardware)} may hold data"]),
        *(["ops may be fused"] if len(table) > 1 else []),
    )
    return Bounds(
        roofline_s=roofline_s,
        floor_s=max(float(compute_time_s(OPS_PER_MAC * least_macs, peak)), streamed_s),
        bound=bound,
        allowances=allowances,
        **_rests_on(hardware, network.precision),
    )


def _estimated(hardware: Hardware, table: Workload, precision: str) -> tuple[float, str]:
    """Roofline time and bound of a network; only its arithmetic if the memory of the device is not known. [s]"""
    if bandwidth(hardware) is None:
        ops = OPS_PER_MAC * float(table.total_macs)
        return float(compute_time_s(ops, working_peak_ops_per_s(hardware, precision))), "compute"
    found = estimate(hardware, table, compute=precision)
    return found.latency_s, found.bound


def _may_be_winograd(table: Workload) -> Any:
    """Convolutions whose sums are as long as those of 3 × 3 windows. Shape [ops]."""
    return (table.kinds == "conv2d") & (table.k > 0) & (table.k % 9 == 0)


def _moving(moved_bytes: float, row: Row, hardware: Hardware) -> tuple[float, float, tuple[str, ...]]:
    """Roofline time, time of the bytes that exceed all caches, and the reason to allow times in between. [s]"""
    ladder = bandwidth(hardware)
    if ladder is None:
        return 0.0, 0.0, ()
    held = cached_bytes(row, hardware)
    left = 0.0 if held is None else max(moved_bytes - held, 0.0)
    text = f"caches of {_size(row, hardware)} may hold data"
    return float(memory_time_s(moved_bytes, ladder.result)), float(memory_time_s(left, ladder.result)), (text,)


def _size(row: Row, hardware: Hardware) -> str:
    held = cached_bytes(row, hardware)
    return "unknown size" if held is None else format_quantity(held, BYTES)


def _rests_on(hardware: Hardware, precision: str) -> dict[str, Any]:
    ladder, units = bandwidth(hardware), working_units(hardware, precision)
    return {
        "ladders": (*peaks(hardware, precision), *([ladder] if ladder else [])),
        "unit": units[0].name if len(units) == 1 else None,
    }


# ---- By how much a clock that was faster than documented explains a rate


MOST = 0.1
"""No boost adds more to a documented clock; on a device that runs faster still, the clock of the spec is wrong. [1]"""


@dataclass(frozen=True)
class ClockRatio:
    """The fastest clock that was recorded during a measurement, and the fact."""

    recorded_hz: float
    fact: Fact
    source: str

    @property
    def ratio(self) -> float:
        """Recorded over documented. [1]"""
        return self.recorded_hz / self.fact.value

    @property
    def uncertainty(self) -> float:
        """Allowed excess over the peak because the device ran faster than documented. [1]"""
        return min(max(self.ratio - 1, 0.0), MOST)

    def __str__(self) -> str:
        """`recorded at 1.98 GHz (nvml), the spec has 1830 MHz`."""
        source = f" ({self.source})" if self.source else ""
        return f"recorded at {format_quantity(self.recorded_hz, HERTZ)}{source}, the spec has {self.fact.display}"


def clock_ratio(row: Row, ladder: Ladder) -> ClockRatio | None:
    """Clock ratio of the unit whose peak a ladder derives; None where no clock was read."""
    facts = [factor.fact for factor in ladder.factors if factor.name == "clock" and factor.fact]
    seen = row.readings("clock_hz")
    if not facts or not seen:
        return None
    sources = dict.fromkeys(state.clock_source for state in row.states if state.clock_source)
    return ClockRatio(max(seen), facts[0], ", ".join(sources))


def uncertainty(row: Row, ladders: tuple[Ladder, ...]) -> float:
    """The largest of the units that compute. [1]"""
    return max((one.uncertainty for ladder in ladders if (one := clock_ratio(row, ladder))), default=0.0)


# ---- Causes of an impossible measurement: a clock, a count, or what a diagnosis finds in the factors of a peak

WORST, BEST = 0.6, 1.0
"""Efficiency of a kernel that beat a peak: above its rate the true peak is sought, and not far above."""


def causes(row: Row, found: Bounds, beaten: float, hardware: Hardware, registry: Registry) -> Iterator[Cause]:
    """Causes of a time that is shorter than its lower bound by a factor `beaten` > 1."""
    for ladder in found.binding:
        yield from of_ladder(row, ladder, beaten, hardware, registry, found.unit)
    what, work = ("peak", "ops") if found.bound == "compute" else ("bandwidth", "bytes")
    yield Cause(f"no known error: a factor of the {what} is too low, or too many {work} are counted", 1 / beaten, 3.0)


def of_ladder(
    row: Row, ladder: Ladder, beaten: float, hardware: Hardware, registry: Registry, unit: str | None = None
) -> Iterator[Cause]:
    """Causes of a rate that exceeds a derived one by a factor > 1."""
    clock = clock_ratio(row, ladder)
    if clock and clock.ratio >= beaten * (1 - 1e-9):  # the recorded clock explains the whole factor
        repaired = clock.fact.with_value(clock.recorded_hz)
        yield Cause(f"the clock is too low: {clock}", 1 / clock.ratio, 0.2, clock.fact, repaired)
    span = Span(WORST / beaten, BEST / beaten)  # of known errors; it is too uncertain to suggest a value
    precision = row.precision if unit else None
    for one in candidates(Case(ladder, span, hardware, registry, unit, precision)):
        guessed = "would have to be" in one.text and REASON not in one.text
        if one.fact and not one.parts and not guessed:
            text = one.text.replace("the expectation", "what was measured")
            yield replace(one, text=text, cost=one.cost + 0.3)


def miscounted(row: Row, table_macs: int) -> Cause | None:
    """Causes of a difference between the recorded work and the op table."""
    share = row.subject.macs / table_macs
    if abs(share - 1) < 1e-3:
        return None
    half = ", as if a MAC were one op" if abs(share - 0.5) < 1e-3 else ""
    counted, there = (f"{format_number(macs / 1e9)} GMAC" for macs in (row.subject.macs, table_macs))
    return Cause(f"the recording counts {counted}, the op table has {there}{half}", share, 0.1)
