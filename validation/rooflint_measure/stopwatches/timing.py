"""The loop around every stopwatch: warm up, find how many calls make a sample, take samples, keep all of them.

`measure` puts the conditions around it: the state before, samples in turn with a reference, the state after, energy.
`measured_wait` checks it all by a busy-wait of known length.
"""

import math
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint_measure.record import Energy, Measurement, Reference, Samples, State, Subject, Unavailable, Wait
from rooflint_measure.sensors.host import Disturbance, Watch, involuntary_switches
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.sensors.power import PowerSource
from rooflint_measure.stopwatches.clocks import Call, Clock, EventClock, HostClock
from rooflint_measure.stopwatches.length import LONGEST_S, SampleLength, shortest_s

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    sample_s: float | None = None
    """A sample takes at least this long. None: 20 ms, and on the host's clock as much less as the load asks for. [s]"""
    samples: int = 25
    """Of 20 ms; up to `MOST_TIMES` as many where they are shorter."""
    warm_up_s: float = 0.3
    """Before the first sample that counts: caches, pages, clocks."""
    limit_s: float = 20.0
    """No sample begins after this, once there are `least` of them."""
    least: int = 5


LEAST_S = 1e-9
"""A clock that has not moved counts as this much. [s]"""
MOST_TIMES = 32
"""Short samples are up to so many times as many as long ones, so that some of them are undisturbed."""


@dataclass
class Column:
    """Samples as they come, with what disturbed each."""

    seconds: list[float] = field(default_factory=list)
    disturbances: list[Disturbance] = field(default_factory=list)
    preempted: list[int | None] = field(default_factory=list)

    def take(self, sample_s: Callable[[], float], watch: Watch) -> None:
        """One more sample, the time of one call, while a watch looks on."""
        watch.start()
        before = involuntary_switches()
        self.seconds.append(sample_s())
        self.preempted.append(_since(before))
        self.disturbances.append(watch.stop())

    def samples(self, calls: int, warm_up_s: Iterable[float] = (), sample_s: float | None = None) -> Samples:
        """All of them; what the watch does not know of every sample is left unknown."""
        return Samples(
            seconds=tuple(self.seconds),
            calls=calls,
            sample_s=sample_s,
            warm_up_s=tuple(warm_up_s),
            preempted=_known(self.preempted),
            stolen_s=_known([one.stolen_s for one in self.disturbances]),
            queued_s=_known([one.queued_s for one in self.disturbances]),
            throttled={number: one.reasons for number, one in enumerate(self.disturbances) if one.reasons},
        )


def _since(before: int | None) -> int | None:
    """How often this thread has lost its core since then; None where that is not counted."""
    now = None if before is None else involuntary_switches()
    return None if before is None or now is None else now - before


def _known(values: list[N | None]) -> tuple[N, ...] | None:
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


@dataclass
class _Timed:
    call: Call
    clock: Clock
    length: SampleLength
    calls: int = 1
    warm_up_s: list[float] = field(default_factory=list)
    column: Column = field(default_factory=Column)

    def warm_up(self, plan: Plan) -> None:
        """More calls until they fill a sample, fewer where the load asks for it, and on until the machine is warm."""
        spent_s = 0.0
        while True:
            before = involuntary_switches()
            took_s = self._in_a_row_s()
            switches = _since(before)
            self.warm_up_s.append(took_s / self.calls)
            spent_s += took_s
            if self.filled_s < self.length.seconds:
                wanted = round(1.1 * self.length.seconds / self.call_s)
                self.calls = max(self.calls + 1, min(2 * self.calls, wanted))
            elif self.calls > 1 and self.length.halved(switches):
                self.shorten(self.length.seconds)
            elif spent_s >= plan.warm_up_s and (self.calls == 1 or self.length.is_settled):
                return

    def shorten(self, seconds: float) -> None:
        """Fewer calls, so that a sample takes as long as this. [s]"""
        self.length.seconds, self.calls = seconds, max(1, math.ceil(seconds / self.call_s))

    @property
    def call_s(self) -> float:
        """The least time of one call so far, where the clock moved. [s]"""
        return min((each for each in self.warm_up_s if each > LEAST_S), default=self.warm_up_s[-1])

    @property
    def filled_s(self) -> float:
        """What a sample takes when nothing disturbs it. [s]"""
        return self.calls * self.call_s

    def seconds(self) -> float:
        """Time of one call. [s]"""
        return self._in_a_row_s() / self.calls

    def _in_a_row_s(self) -> float:
        return max(self.clock.seconds(self.call, self.calls), LEAST_S)


def take_in_turn(
    calls: list[Call], *, clock: Clock | None = None, plan: Plan | None = None, watch: Watch | None = None
) -> list[Samples]:
    """Samples of several calls, one of each in turn, so that a slow moment of the machine falls on all of them.

    The order changes from round to round: 1 2 3, 3 2 1, 1 2 3 …
    """
    plan, watch, clock = plan or Plan(), watch or Watch(), clock or HostClock()
    turns = [_Timed(call, clock, _length(plan, clock)) for call in calls]
    for turn in turns:
        turn.warm_up(plan)
    least_s = min(turn.length.seconds for turn in turns)
    for turn in turns:  # samples of all calls are as short, so that the load falls on all of them alike
        if turn.length.seconds > least_s:
            turn.shorten(least_s)
    count = _count(plan, turns)
    watch.expect(count * len(turns))
    began = time.perf_counter()
    for number in range(count):
        if number >= plan.least and time.perf_counter() - began > plan.limit_s:
            break
        for turn in turns if number % 2 == 0 else reversed(turns):
            turn.column.take(turn.seconds, watch)
    return [turn.column.samples(turn.calls, turn.warm_up_s, turn.length.seconds or None) for turn in turns]


def _length(plan: Plan, clock: Clock) -> SampleLength:
    """The length to begin with; only what runs on the host itself loses time to others on the host."""
    if plan.sample_s is not None:
        return SampleLength.fixed(plan.sample_s)
    return SampleLength(LONGEST_S, shortest_s()) if isinstance(clock, HostClock) else SampleLength.fixed(LONGEST_S)


def _count(plan: Plan, turns: Sequence[_Timed]) -> int:
    """Samples of each call: as many as planned, more where the load made them short."""
    if plan.sample_s is not None:
        return plan.samples
    longest_s = max(max(turn.length.seconds, turn.filled_s) for turn in turns)
    return plan.samples * max(1, min(MOST_TIMES, int(LONGEST_S / longest_s)))


# ---- One measurement from start to end

STATES = 3
"""States that are read between the samples of a measurement."""
IDLE_S = 3.0
"""For the power of a device that does nothing, at most. [s]"""
OCCUPIED_S = 0.05
"""Work that is queued on an asynchronous device before its state is read. [s]"""
METERED_CHUNK_S = 0.1
"""A metered run reads the time this often. [s]"""

Details = Mapping[str, str | int | float]


def measure(
    subject: Subject,
    call: Call,
    *,
    observer: Observer,
    plan: Plan | None = None,
    clock: Clock | None = None,
    reference: tuple[Subject, Call] | None = None,
    bytes_moved: float | None = None,
    energy_s: float = 0.0,
    details: Details | None = None,
) -> Measurement:
    """Samples of a call under known conditions, in turn with those of a reference kernel where one is given.

    With `energy_s` above zero a metered run of that length follows, where the device has a source of power.
    """
    plan, clock = plan or Plan(), clock or HostClock()
    meter, idle_w = _idle(observer, energy_s)
    calls = [call, reference[1]] if reference else [call]
    before, watch = _state(observer), _StateWatch(observer, plan, _occupation(call, clock))
    samples, *others = take_in_turn(calls, clock=clock, plan=plan, watch=watch)
    conditions = observer.conditions(before, _state(observer), tuple(watch.states))
    energy = _energy(meter, _run(call, clock, energy_s, meter), idle_w, min(energy_s, IDLE_S))
    return Measurement(
        subject=subject,
        samples=samples,
        bytes_moved=bytes_moved,
        reference=Reference(subject=reference[0], samples=others[0]) if reference else None,
        conditions=conditions,
        energy=energy,
        details=dict(details or {}),
    )


def _idle(observer: Observer, energy_s: float) -> tuple[PowerSource | Unavailable, float]:
    """The source of power, and the idle power. [W]"""
    if energy_s <= 0:
        return Unavailable(reason="not requested"), 0.0
    meter = observer.power()
    if isinstance(meter, Unavailable):
        return meter, 0.0
    try:
        return meter, meter.idle_w(min(energy_s, IDLE_S))
    except RooflintError as error:
        return Unavailable(reason=str(error)), 0.0


def _energy(
    meter: PowerSource | Unavailable, run: Callable[[], int], idle_w: float, idle_s: float
) -> Energy | Unavailable:
    """Energy of the run, and the idle power after it.

    A source that fails loses the energy, not the times that were measured before; afterwards, the warm idle power.
    """
    if isinstance(meter, Unavailable):
        return meter
    try:
        found = meter.metered(run, idle_w)
    except RooflintError as error:
        return Unavailable(reason=str(error))
    if isinstance(found, Unavailable):
        return found
    with suppress(RooflintError):
        found = found.model_copy(update={"warm_idle_w": meter.idle_w(idle_s)})
    return found


def _run(call: Call, clock: Clock, seconds: float, meter: PowerSource | Unavailable) -> Callable[[], int]:
    """Calls in a row for that long, a chunk at a time, so that the clock seldom waits; the meter looks after each."""
    tick = meter.tick if isinstance(meter, PowerSource) else None

    def run() -> int:
        made, chunk, end = 0, 1, time.perf_counter() + seconds
        while time.perf_counter() < end:
            took = clock.seconds(call, chunk)
            made += chunk
            if tick:
                tick()
            if took < METERED_CHUNK_S:
                chunk *= 2
        return made

    return run


def _occupation(call: Call, clock: Clock) -> Callable[[], None]:
    """Keeps a device busy while its state is read: between samples its queue is empty."""
    if isinstance(clock, EventClock):
        return lambda: clock.occupy(call, OCCUPIED_S)
    return lambda: None


def _state(observer: Observer) -> State:
    """The state of now, with the time of now."""
    return observer.state().model_copy(update={"read_at_s": time.time()})


class _StateWatch(Watch):
    """A watch that also reads the state of the machine a few times, between samples and never inside of one."""

    def __init__(self, observer: Observer, plan: Plan, occupy: Callable[[], None]) -> None:
        self._observer, self._watch, self._occupy = observer, observer.watch(), occupy
        self._every = plan.samples / (STATES + 1)
        self._every_s = plan.limit_s / (STATES + 1)
        self._stopped = 0
        self._began_s: float | None = None
        self.states: list[State] = []

    def expect(self, samples: int) -> None:
        self._every = samples / (STATES + 1)

    def start(self) -> None:
        self._began_s = time.perf_counter() if self._began_s is None else self._began_s
        self._watch.start()

    def stop(self) -> Disturbance:
        answer = self._watch.stop()
        self._stopped += 1
        if len(self.states) < STATES and self._is_due(len(self.states) + 1):
            self._occupy()
            self.states.append(_state(self._observer))
        return answer

    def _is_due(self, number: int) -> bool:
        """After a share of the samples, or of the time where calls are so long that the time is over before them."""
        spent_s = time.perf_counter() - (self._began_s or 0.0)
        return self._stopped >= number * self._every or spent_s >= number * self._every_s


# ---- A busy-wait of known length, which checks the stopwatch


@dataclass
class BusyWait:
    """A call that waits at least so long and keeps how long it really waited.

    It stamps its own begin and end. Outside of its stamps there is only the call itself and the turn of the loop,
    which is what a stopwatch adds.
    """

    wanted_s: float
    waited_ns: "array[int]" = field(default_factory=lambda: array("q"))
    """Of every call, in order. [ns]"""

    def call(self) -> Call:
        """The wait itself; its names are bound beforehand, because looking them up would fall outside of the stamps."""
        wanted_ns, keep, now = round(self.wanted_s * 1e9), self.waited_ns.append, time.perf_counter_ns

        def wait() -> None:
            begin = now()
            end = begin + wanted_ns
            while (last := now()) < end:
                pass
            keep(last - begin)

        return wait

    def since(self, call: int) -> float:
        """Mean of what was waited from that call on. [s]"""
        return float(np.mean(self.waited_ns[call:])) / 1e9


class _CheckedClock(HostClock):
    """Asks the wait, after each reading, how long it really waited."""

    def __init__(self, wait: BusyWait) -> None:
        self._wait = wait
        self.waited_s: list[float] = []

    def seconds(self, call: Call, calls: int) -> float:
        """Time of all calls. [s]"""
        first = len(self._wait.waited_ns)
        took = super().seconds(call, calls)
        self.waited_s.append(self._wait.since(first))
        return took


def bias(reported_s: Sequence[float], waited_s: Sequence[float]) -> float:
    """By how much a stopwatch reports more than was waited; the median of all samples. [1]"""
    return float(np.median(np.divide(reported_s, waited_s)) - 1)


def measured_wait(wanted_s: float, *, observer: Observer, plan: Plan | None = None) -> Measurement:
    """A wait as any other call is measured; its own time and the bias of the stopwatch are in the details."""
    wait = BusyWait(wanted_s)
    clock = _CheckedClock(wait)
    found = measure(Wait(wanted_s=wanted_s), wait.call(), observer=observer, plan=plan, clock=clock)
    # before the readings that became samples lie those of the warm-up
    waited_s = clock.waited_s[-len(found.samples.seconds) :]
    details = {"waited_s": float(np.median(waited_s)), "bias": bias(found.samples.seconds, waited_s)}
    return found.model_copy(update={"details": details})
