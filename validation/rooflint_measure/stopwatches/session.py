"""One measurement from start to end: the state before, samples in turn with a reference, the state after, energy."""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from rooflint.base.errors import RooflintError
from rooflint_measure.record.measurement import Conditions, Energy, Measurement, Reference, State, Subject, Unavailable
from rooflint_measure.record.recording import Machine
from rooflint_measure.stopwatches.cuda import EventClock
from rooflint_measure.stopwatches.timing import Call, Clock, HostClock, Plan, Seen, Watch, take_in_turn

LOOKS = 3
"""States that are read between the samples of a measurement."""
IDLE_S = 2.0
"""For the power of a device that does nothing, at most. [s]"""
OCCUPIED_S = 0.05
"""A device that works while its host does something else is given so much to do before it is looked at. [s]"""
METERED_CHUNK_S = 0.1
"""A metered run asks for the time so often. [s]"""

Details = Mapping[str, str | int | float]


class Metered(Protocol):
    """A source of power, as a session needs it."""

    @property
    def name(self) -> str:
        """What a recording calls it."""

    def idle_w(self, seconds: float) -> float:
        """Power with nothing running. [W]"""

    def metered(self, run: Callable[[], int], idle_w: float) -> Energy | Unavailable:
        """Energy of a run, which says how many calls it made."""


class Observer(Protocol):
    """Who says what the machine is and does, as a session needs it."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The fingerprint."""

    def state(self) -> State:
        """Clocks, temperature, power and load just now."""

    def watch(self) -> Watch:
        """Who sees what disturbs a sample."""

    def power(self) -> Metered | Unavailable:
        """The source of power, or why there is none."""

    def conditions(self, before: State, after: State, during: tuple[State, ...] = ()) -> Conditions:
        """The states around a measurement, with what the process has set."""


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
    before, watch = observer.state(), _Looking(observer, plan, len(calls), _occupation(call, clock))
    samples, *others = take_in_turn(calls, clock=clock, plan=plan, watch=watch)
    conditions = observer.conditions(before, observer.state(), tuple(watch.seen))
    energy = _energy(meter, _run(call, clock, energy_s), idle_w)
    return Measurement(
        subject=subject,
        samples=samples,
        bytes_moved=bytes_moved,
        reference=Reference(subject=reference[0], samples=others[0]) if reference else None,
        conditions=conditions,
        energy=energy,
        details=dict(details or {}),
    )


def _idle(observer: Observer, energy_s: float) -> tuple[Metered | Unavailable, float]:
    """The source of power, and what it says while nothing of ours runs. [W]"""
    if energy_s <= 0:
        return Unavailable(reason="nobody asked for energy"), 0.0
    meter = observer.power()
    if isinstance(meter, Unavailable):
        return meter, 0.0
    try:
        return meter, meter.idle_w(min(energy_s, IDLE_S))
    except RooflintError as error:
        return Unavailable(reason=str(error)), 0.0


def _energy(meter: Metered | Unavailable, run: Callable[[], int], idle_w: float) -> Energy | Unavailable:
    """Of the run; a source that fails on the way costs the energy and no time that was measured before."""
    if isinstance(meter, Unavailable):
        return meter
    try:
        return meter.metered(run, idle_w)
    except RooflintError as error:
        return Unavailable(reason=str(error))


def _run(call: Call, clock: Clock, seconds: float) -> Callable[[], int]:
    """Calls in a row for that long, a chunk at a time, so that a clock that waits does so seldom."""

    def run() -> int:
        made, chunk, end = 0, 1, time.perf_counter() + seconds
        while time.perf_counter() < end:
            took = clock.seconds(call, chunk)
            made += chunk
            if took < METERED_CHUNK_S:
                chunk *= 2
        return made

    return run


def _occupation(call: Call, clock: Clock) -> Callable[[], None]:
    """What keeps a device busy while it is looked at: between samples it has waited for all of its work."""
    if isinstance(clock, EventClock):
        return lambda: clock.occupy(call, OCCUPIED_S)
    return lambda: None


class _Looking:
    """A watch that also reads the state of the machine a few times, between samples and never inside of one."""

    def __init__(self, observer: Observer, plan: Plan, columns: int, occupy: Callable[[], None]) -> None:
        self._observer, self._watch, self._occupy = observer, observer.watch(), occupy
        self._every = plan.samples * columns / (LOOKS + 1)
        self._every_s = plan.limit_s / (LOOKS + 1)
        self._stopped = 0
        self._began_s: float | None = None
        self.seen: list[State] = []

    def start(self) -> None:
        self._began_s = time.perf_counter() if self._began_s is None else self._began_s
        self._watch.start()

    def stop(self) -> Seen:
        answer = self._watch.stop()
        self._stopped += 1
        if len(self.seen) < LOOKS and self._is_due(len(self.seen) + 1):
            self._occupy()
            self.seen.append(self._observer.state())
        return answer

    def _is_due(self, look: int) -> bool:
        """After a share of the samples, or of the time where calls are so long that the time is over before them."""
        spent_s = time.perf_counter() - (self._began_s or 0.0)
        return self._stopped >= look * self._every or spent_s >= look * self._every_s
