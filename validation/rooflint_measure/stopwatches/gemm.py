"""The peak that a library reaches in a precision: a probe, a search for the best size, long samples of that.

The search looks for the size of a matrix product at which the library is fastest: the plateau of its rate over size.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from rooflint.base.errors import RooflintError
from rooflint.base.precision import PRECISIONS
from rooflint.base.units import OPS_PER_MAC
from rooflint_measure.record import Gemm, Measurement
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches.clocks import Call, Clock, EventClock, HostClock
from rooflint_measure.stopwatches.products import Kernel, Make, Shape, import_torch
from rooflint_measure.stopwatches.timing import LEAST_S, Plan, measure, take_in_turn

PROBE_SIZES = (64, 256, 512)
PROBE_S = 0.1
"""Of calls at each of these, and no more of them where the first takes longer. [s]"""
EMULATED = 0.1
"""Share of the fp32 rate under which a CPU computes a narrower precision by conversion. [1]

Zen 3, which has none, reaches 0.006 in bf16, fp16 and int8; beside other processes fp32 itself is many times slower.
"""
SEARCH_S = 5.0
"""For the search of a kernel, by default. [s]"""
TRIALS = 50
"""Trials of shapes that fit into a search, at least. [1]"""
TRIAL_LIMIT_S = 0.2
"""A trial of one shape takes no longer. [s]"""
CALL_LIMIT_S = 1.0
"""A shape whose product takes longer is not tried again. [s]"""
FINALISTS = 5
"""Shapes that are timed in turn before one is chosen, so that a slow moment chooses none."""
FINAL = 0.6
"""The finalists are timed for this share of the time of the search."""
FINAL_CALLS = 5
"""Of each finalist, at least: two to warm up and three samples."""
FINAL_LIMIT_S = 3.0
"""But not longer. [s]"""
AROUND_S = 1.0
"""Operands and first calls take about so long beside that. [s]"""

SAMPLES, SAMPLE_S = 400, 0.003
"""Of a measurement: how many at most, and how long each is at least. [1], [s]"""


class NotMeasuredError(RooflintError):
    """A kernel that this machine cannot run, or that is not worth its time; the message is the reason."""


class NoTimeError(NotMeasuredError):
    """What would take longer than there is time left; with more time it can be measured."""

    def __init__(self, reason: str, needs_s: float = 0.0) -> None:
        super().__init__(reason)
        self.needs_s = needs_s
        """How long it takes at least. [s]"""


# ---- The search for the best size

AGREE = 0.01
"""Two rates are the same where they differ by less."""
ROUNDS = 4
"""Of refinement, at most."""
AGAIN = 3
"""So many of the fastest are tried once more in each round, so that a slow moment does not hide one."""

Rate = Callable[[Shape], float | None]
"""op/s of a product of that shape, in a short trial; None where it does not fit the memory or the time."""


@dataclass
class Search:
    """Every shape that was tried, with its rate. [op/s]"""

    rate: Rate
    rates: dict[Shape, float] = field(default_factory=dict)

    def try_shape(self, shape: Shape) -> None:
        """One more trial; the best of a shape counts, or 0 where it does not run."""
        self.rates[shape] = max(self.rate(shape) or 0.0, self.rates.get(shape, 0.0))

    @property
    def best(self) -> Shape:
        """The fastest so far; of equals the one that was tried first."""
        return max(self.rates, key=lambda shape: self.rates[shape])

    def fastest(self, count: int) -> list[Shape]:
        """So many, best first."""
        return sorted((one for one in self.rates if self.rates[one]), key=lambda one: -self.rates[one])[:count]


def search(rate: Rate, first: int, last: int, multiple: int = 64) -> Search:
    """Squares in powers of two up to the last, then neighbours of the best until none is faster.

    A neighbour that is faster by more than 1 % is the new best; the search ends where the two best agree within that.
    The sides of neighbours are multiples of `multiple`, so that tiles and vectors are full.
    """
    found = Search(rate)
    size = first
    while size <= last:
        found.try_shape((size, size, size))
        size *= 2
    for _ in range(ROUNDS):
        best, best_rate = found.best, found.rates[found.best]
        if not best_rate:
            break  # nothing runs at any size
        for shape in dict.fromkeys([*found.fastest(AGAIN), *_neighbours(best, multiple, last)]):
            found.try_shape(shape)
        if found.best == best or found.rates[found.best] <= (1 + AGREE) * best_rate:
            break
    return found


def _neighbours(shape: Shape, multiple: int, last: int) -> Iterator[Shape]:
    """Squares between the powers of two, then one side longer or shorter, then flat and deep ones."""
    m, n, k = shape
    factors: tuple[tuple[float, float, float], ...] = (
        *((factor,) * 3 for factor in (0.75, 1.5)),
        *((2, 1, 1), (1, 2, 1), (1, 1, 2), (0.5, 1, 1), (1, 0.5, 1), (1, 1, 0.5)),
        *((2, 2, 0.5), (0.5, 0.5, 2)),
    )
    for a, b, c in factors:
        new = _rounded(m * a, multiple), _rounded(n * b, multiple), _rounded(k * c, multiple)
        if max(new) <= last and new != shape:
            yield new


def _rounded(size: float, multiple: int) -> int:
    return max(multiple, round(size / multiple) * multiple)


# ---- The peak


@dataclass(frozen=True)
class Peak:
    """The product at which a library is fastest, ready to be called again."""

    subject: Gemm
    call: Call
    clock: Clock
    call_name: str
    shapes_tried: int
    """By the search."""


def clock_of(device: str) -> Clock:
    """The clock of a device."""
    if device == "cpu":
        return HostClock()
    torch = import_torch()
    return EventClock(torch.mps if device == "mps" else torch.cuda)


def probe(kernel: Kernel, clock: Clock | None = None) -> float:
    """Rate of a small product. [op/s]. Raises NotMeasuredError where there is none."""
    clock, rate = clock or clock_of(kernel.device), 0.0
    make = next(iter(kernel.calls.values()))
    for size in PROBE_SIZES:
        try:
            call = make((size, size, size))
            call()
            took_s = _best(call, clock, PROBE_S)
        except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError) as error:
            raise NotMeasuredError(first_line(error)) from error
        rate = OPS_PER_MAC * size**3 / took_s
        if took_s > PROBE_S:
            break
    return rate


def refuse_emulated(kernel: Kernel, rate: float, fp32_rate: float | None) -> None:
    """Raise NotMeasuredError for a precision that the device has no instructions for. Rates in op/s."""
    if kernel.lacks:
        raise NotMeasuredError(kernel.lacks)
    narrow = PRECISIONS[kernel.precision].bits < PRECISIONS["fp32"].bits
    if kernel.device == "cpu" and narrow and fp32_rate and rate < EMULATED * fp32_rate:
        raise NotMeasuredError(
            f"not native here: a small product runs at {rate / 1e9:.3g} GOP/s, in fp32 at {fp32_rate / 1e9:.3g}"
        )


def peak(kernel: Kernel, clock: Clock | None = None, search_s: float = SEARCH_S) -> Peak:
    """The call and the size at which the library is fastest. Raises NotMeasuredError."""
    clock, share_s = clock or clock_of(kernel.device), search_s / len(kernel.calls)
    found = {
        name: search(_rate(make, clock, share_s), kernel.first, kernel.last, kernel.multiple)
        for name, make in kernel.calls.items()
    }
    name, shape, call = _final(kernel, found, clock, _final_s(search_s))
    m, n, k = shape
    subject = Gemm(precision=kernel.precision, library=kernel.library, m=m, n=n, k=k)
    return Peak(subject, call, clock, name, sum(len(one.rates) for one in found.values()))


def peak_s(search_s: float = SEARCH_S) -> float:
    """About how long `peak` takes. [s]"""
    return search_s + _final_s(search_s) + AROUND_S


def _final_s(search_s: float) -> float:
    return min(FINAL_LIMIT_S, FINAL * search_s)


def measured(
    kernel: Kernel, *, observer: Observer, found: Peak, plan: Plan | None = None, energy_s: float = 0.0
) -> Measurement:
    """A measurement of the peak that was found."""
    details = {**kernel.details, "call": found.call_name, "shapes_looked_at": found.shapes_tried}
    return measure(
        found.subject,
        found.call,
        observer=observer,
        plan=plan,
        clock=found.clock,
        energy_s=energy_s,
        details=details,
    )


def _rate(make: Make, clock: Clock, seconds: float) -> Rate:
    """A short trial: the best of a few calls, or None where the product does not fit or the time is over.

    A product that would not end in time at the best rate so far is not begun.
    """
    end, trial_s, best = time.perf_counter() + seconds, min(TRIAL_LIMIT_S, seconds / TRIALS), 0.0

    def rate(shape: Shape) -> float | None:
        nonlocal best
        ops, left_s = OPS_PER_MAC * math.prod(shape), end - time.perf_counter()
        if left_s < 0 or ops > best * min(CALL_LIMIT_S, left_s) > 0:
            return None
        try:
            call = make(shape)
            if clock.seconds(call, 1) > CALL_LIMIT_S:
                return None
            found = ops / _best(call, clock, trial_s)
        except (RuntimeError, MemoryError):  # torch's out of memory is a RuntimeError
            return None
        best = max(best, found)
        return found

    return rate


def _best(call: Call, clock: Clock, seconds: float) -> float:
    """The least time of a call, among as many as begin in that time. [s]"""
    end, best_s = time.perf_counter() + seconds, math.inf
    while time.perf_counter() < end:
        best_s = min(best_s, max(clock.seconds(call, 1), LEAST_S))
    return best_s


def _final(kernel: Kernel, found: dict[str, Search], clock: Clock, limit_s: float) -> tuple[str, Shape, Call]:
    """The fastest of the fastest, timed in turn for so long. [s]"""
    pairs = [(rate, name, shape) for name, one in found.items() for shape, rate in one.rates.items() if rate]
    able = list(_together(kernel, _affordable(sorted(pairs, reverse=True)[:FINALISTS], limit_s)))
    if not able:
        raise NotMeasuredError(f"no size from {kernel.first} on ran within {CALL_LIMIT_S:g} s a call")
    if len(able) == 1:
        return able[0]
    plan = Plan(sample_s=SAMPLE_S, samples=60, warm_up_s=0.05, limit_s=limit_s, least=3)
    turns = take_in_turn([call for _, _, call in able], clock=clock, plan=plan)
    rates = [math.prod(shape) / samples.best_s for (_, shape, _), samples in zip(able, turns, strict=True)]
    return able[max(range(len(able)), key=rates.__getitem__)]


def _affordable(pairs: list[tuple[float, str, Shape]], limit_s: float) -> Iterator[tuple[str, Shape]]:
    """As many as can be called often enough in that time, the first at least. [s]"""
    for number, (rate, name, shape) in enumerate(pairs):
        limit_s -= FINAL_CALLS * OPS_PER_MAC * math.prod(shape) / rate
        if number and limit_s < 0:
            return
        yield name, shape


def _together(kernel: Kernel, pairs: Iterable[tuple[str, Shape]]) -> Iterator[tuple[str, Shape, Call]]:
    """As many of them as fit the memory together, the first at least."""
    for name, shape in pairs:
        try:
            yield name, shape, kernel.calls[name](shape)
        except (RuntimeError, MemoryError):
            return


def first_line(error: Exception) -> str:
    """The first line of a library's message, which may be long."""
    text = str(error).strip().split("\n")[0]
    return (text[:160] or type(error).__name__).rstrip(". ")


def plan_of(seconds: float) -> Plan:
    """Short samples for at most so many seconds.

    A sample is shorter than the slice of time that a scheduler gives to others: on a shared machine, every
    window of 20 ms contains another process, and the best of them reaches 0.4 of the rate of the quiet moments
    between. It is still fifty thousand steps of the clock.
    """
    return replace(Plan(), samples=SAMPLES, sample_s=SAMPLE_S, limit_s=seconds)
