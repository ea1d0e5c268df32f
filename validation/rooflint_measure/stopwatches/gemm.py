"""The peak that a library reaches in a precision: a probe, a search for the best size, a long look there."""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rooflint.base.errors import RooflintError
from rooflint.base.precision import PRECISIONS
from rooflint.base.units import OPS_PER_MAC
from rooflint_measure.record.measurement import Gemm, Measurement
from rooflint_measure.stopwatches.cuda import EventClock
from rooflint_measure.stopwatches.products import Kernel, Make, Rate, Search, Shape, search
from rooflint_measure.stopwatches.session import Observer, measure
from rooflint_measure.stopwatches.timing import Call, Clock, HostClock, Plan, take_in_turn

PROBE_SIZES = (64, 256, 512)
PROBE_S = 0.1
"""Of calls at each of these, and no more of them where the first takes longer. [s]"""
EMULATED = 0.02
"""Share of the fp32 rate under which a CPU computes a narrower precision by conversion. [1]"""
SEARCH_S = 5.0
"""For the search of a kernel, if nobody says otherwise. [s]"""
LOOKS = 50
"""Looks at shapes that fit into a search, at least. [1]"""
LOOK_LIMIT_S = 0.2
"""A look at one shape takes no longer than that. [s]"""
CALL_LIMIT_S = 1.0
"""A shape whose product takes longer is not looked at again. [s]"""
FINALISTS = 5
"""Shapes that are timed in turn before one is chosen, so that a slow moment chooses none."""

SAMPLES, SAMPLE_S = 400, 0.003
"""Of a measurement: how many at most, and how long each is at least. [1], [s]"""


class NotMeasuredError(RooflintError):
    """A kernel that this machine cannot run, or that is not worth its time; the message is the reason."""


@dataclass(frozen=True)
class Peak:
    """Where a library is fastest, ready to be called again."""

    subject: Gemm
    call: Call
    clock: Clock
    way: str
    looked_at: int
    """Shapes that the search has seen."""


def clock_of(device: str) -> Clock:
    """Who reads the time there."""
    if device == "cpu":
        return HostClock()
    import torch  # noqa: PLC0415  # only on a GPU

    return EventClock(torch.cuda)


def probe(kernel: Kernel, clock: Clock | None = None) -> float:
    """Rate of a small product. [op/s]. Raises NotMeasuredError where there is none."""
    clock, rate = clock or clock_of(kernel.device), 0.0
    make = next(iter(kernel.ways.values()))
    for size in PROBE_SIZES:
        try:
            call = make((size, size, size))
            call()
            took_s = _best(call, clock, PROBE_S)
        except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError) as error:
            raise NotMeasuredError(_reason(error)) from error
        rate = OPS_PER_MAC * size**3 / took_s
        if took_s > PROBE_S:
            break
    return rate


def refuse_emulated(kernel: Kernel, rate: float, fp32_rate: float | None) -> None:
    """Raise NotMeasuredError for a precision that the CPU has no instructions for. Rates in op/s."""
    narrow = PRECISIONS[kernel.precision].bits < PRECISIONS["fp32"].bits
    if kernel.device == "cpu" and narrow and fp32_rate and rate < EMULATED * fp32_rate:
        raise NotMeasuredError(
            f"not native here: a small product runs at {rate / 1e9:.3g} GOP/s, in fp32 at {fp32_rate / 1e9:.3g}"
        )


def peak(kernel: Kernel, clock: Clock | None = None, search_s: float = SEARCH_S) -> Peak:
    """The way and the size at which the library is fastest. Raises NotMeasuredError."""
    clock, share_s = clock or clock_of(kernel.device), search_s / len(kernel.ways)
    found = {
        way: search(_rate(make, clock, share_s), kernel.first, kernel.last, kernel.multiple)
        for way, make in kernel.ways.items()
    }
    way, shape, call = _final(kernel, found, clock)
    m, n, k = shape
    subject = Gemm(precision=kernel.precision, library=kernel.library, m=m, n=n, k=k)
    return Peak(subject, call, clock, way, sum(len(one.seen) for one in found.values()))


def measured(
    kernel: Kernel, *, observer: Observer, plan: Plan | None = None, energy_s: float = 0.0, found: Peak | None = None
) -> Measurement:
    """A long look at the plateau, where `found` has it or a search finds it. Raises NotMeasuredError."""
    best = found or peak(kernel)
    details = {**kernel.details, "call": best.way, "shapes_looked_at": best.looked_at}
    return measure(
        best.subject,
        best.call,
        observer=observer,
        plan=plan,
        clock=best.clock,
        energy_s=energy_s,
        details=details,
    )


def _rate(make: Make, clock: Clock, seconds: float) -> Rate:
    """A short look: the best of a few calls, or nothing where the product does not fit, or when the time is over."""
    end, look_s = time.perf_counter() + seconds, min(LOOK_LIMIT_S, seconds / LOOKS)

    def rate(shape: Shape) -> float | None:
        m, n, k = shape
        if time.perf_counter() > end:
            return None
        try:
            call = make(shape)
            if clock.seconds(call, 1) > CALL_LIMIT_S:
                return None
            return OPS_PER_MAC * m * n * k / _best(call, clock, look_s)
        except (RuntimeError, MemoryError):  # torch's out of memory is a RuntimeError
            return None

    return rate


def _best(call: Call, clock: Clock, seconds: float) -> float:
    """The least time of a call, among as many as begin in that time. [s]"""
    end, best_s = time.perf_counter() + seconds, math.inf
    while time.perf_counter() < end:
        best_s = min(best_s, max(clock.seconds(call, 1), 1e-9))
    return best_s


def _final(kernel: Kernel, found: dict[str, Search], clock: Clock) -> tuple[str, Shape, Call]:
    """The fastest of the fastest, timed in turn."""
    pairs = [(rate, way, shape) for way, one in found.items() for shape, rate in one.seen.items() if rate]
    able = list(_together(kernel, [(way, shape) for _, way, shape in sorted(pairs, reverse=True)[:FINALISTS]]))
    if not able:
        raise NotMeasuredError(f"no size from {kernel.first} on ran within {CALL_LIMIT_S:g} s a call")
    plan = Plan(sample_s=SAMPLE_S, samples=60, warm_up_s=0.05, limit_s=3.0, least=3)
    turns = take_in_turn([call for _, _, call in able], clock=clock, plan=plan)
    rates = [math.prod(shape) / samples.best_s for (_, shape, _), samples in zip(able, turns, strict=True)]
    return able[max(range(len(able)), key=rates.__getitem__)]


def _together(kernel: Kernel, pairs: Iterable[tuple[str, Shape]]) -> Iterator[tuple[str, Shape, Call]]:
    """As many of them as fit the memory beside each other, the first at least."""
    for way, shape in pairs:
        try:
            yield way, shape, kernel.ways[way](shape)
        except (RuntimeError, MemoryError):
            return


def _reason(error: Exception) -> str:
    """The first line of what a library says, which may be a screenful."""
    text = str(error).strip().split("\n")[0]
    return (text[:160] or type(error).__name__).rstrip(". ")


def plan_of(seconds: float) -> Plan:
    """Short samples for at most so many seconds.

    A sample is shorter than the slice of time that a scheduler gives to others: on a machine that is shared, windows
    of 20 ms hold a stranger each and the best of them is 0.4 of what the quiet moments between show. It is still
    fifty thousand steps of the clock.
    """
    return replace(Plan(), samples=SAMPLES, sample_s=SAMPLE_S, limit_s=seconds)
