"""A busy-wait of known length, which checks the stopwatch.

The wait stamps its own begin and end and keeps what lay between. Outside of its stamps there is only the call
itself and the turn of the loop, which is what a stopwatch adds.
"""

import time
from array import array
from dataclasses import dataclass, field

import numpy as np

from rooflint_measure.record import Measurement, Samples, Wait
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches.clocks import Call, Clock, HostClock
from rooflint_measure.stopwatches.timing import Plan, measure, take


@dataclass
class BusyWait:
    """A call that waits at least so long and keeps how long it really waited."""

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


@dataclass
class CheckedClock:
    """A clock that asks the wait, after each reading, how long it really waited."""

    wait: BusyWait
    clock: Clock = field(default_factory=HostClock)
    waited_s: list[float] = field(default_factory=list)
    """Mean of the calls of each reading, by the wait's own stamps. [s]"""

    def seconds(self, call: Call, calls: int) -> float:
        """As the clock reads it. [s]"""
        first = len(self.wait.waited_ns)
        took = self.clock.seconds(call, calls)
        self.waited_s.append(self.wait.since(first))
        return took


@dataclass(frozen=True)
class Waited:
    """A wait as the stopwatch reports it, sample by sample, and as its own stamps do."""

    reported_s: tuple[float, ...]
    waited_s: tuple[float, ...]

    @property
    def bias(self) -> float:
        """By how much the stopwatch reports more than the wait; the median of all samples. [1]"""
        return float(np.median(np.divide(self.reported_s, self.waited_s)) - 1)


def check(wanted_s: float, *, clock: Clock | None = None, plan: Plan | None = None) -> Waited:
    """Time a wait of that length with the loop of every stopwatch."""
    wait = BusyWait(wanted_s)
    checked = CheckedClock(wait, clock or HostClock())
    samples = take(wait.call(), clock=checked, plan=plan)
    return _waited(samples, checked)


def measured(wanted_s: float, *, observer: Observer, plan: Plan | None = None) -> Measurement:
    """A wait as any other call is measured; its own time and the bias of the stopwatch are in the details."""
    wait = BusyWait(wanted_s)
    checked = CheckedClock(wait)
    found = measure(Wait(wanted_s=wanted_s), wait.call(), observer=observer, plan=plan, clock=checked)
    waited = _waited(found.samples, checked)
    details = {"waited_s": float(np.median(waited.waited_s)), "bias": waited.bias}
    return found.model_copy(update={"details": details})


def _waited(samples: Samples, checked: CheckedClock) -> Waited:
    """The readings that became samples are the last ones; before them lie those of the warm-up."""
    return Waited(samples.seconds, tuple(checked.waited_s[-len(samples.seconds) :]))
