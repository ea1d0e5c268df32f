"""A busy-wait of known length: the answer that every stopwatch is held against.

The wait stamps its own begin and end and keeps what lay between. Outside of its stamps there is nothing but the call
itself and the turn of the loop that makes it, which is what a stopwatch adds.
"""

import time
from array import array
from dataclasses import dataclass, field

import numpy as np

from rooflint_measure.record.measurement import Measurement, Samples, Wait
from rooflint_measure.stopwatches.session import Observer, measure
from rooflint_measure.stopwatches.timing import Call, Clock, HostClock, Plan, take


@dataclass
class BusyWait:
    """A call that waits at least so long and keeps how long it did wait."""

    wanted_s: float
    waited_ns: "array[int]" = field(default_factory=lambda: array("q"))
    """Of every call, in order. [ns]"""

    def call(self) -> Call:
        """The wait itself; what it needs is bound beforehand, because a look-up would fall outside of the stamps."""
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
class Beside:
    """A clock that asks the wait, after each reading, what it waited meanwhile."""

    wait: BusyWait
    clock: Clock = field(default_factory=HostClock)
    waited_s: list[float] = field(default_factory=list)
    """Mean of the calls of each reading, as the wait has it. [s]"""

    def seconds(self, call: Call, calls: int) -> float:
        """As the clock says. [s]"""
        first = len(self.wait.waited_ns)
        took = self.clock.seconds(call, calls)
        self.waited_s.append(self.wait.since(first))
        return took


@dataclass(frozen=True)
class Waited:
    """What a stopwatch said of a wait, sample by sample beside what the wait said of itself."""

    reported_s: tuple[float, ...]
    waited_s: tuple[float, ...]

    @property
    def bias(self) -> float:
        """How much longer the stopwatch says, over the wait; the median of all samples. [1]"""
        return float(np.median(np.divide(self.reported_s, self.waited_s)) - 1)


def held_against(wanted_s: float, *, clock: Clock | None = None, plan: Plan | None = None) -> Waited:
    """Time a wait of that length, with the loop of every stopwatch, and ask the wait."""
    wait = BusyWait(wanted_s)
    beside = Beside(wait, clock or HostClock())
    samples = take(wait.call(), clock=beside, plan=plan)
    return _waited(samples, beside)


def measured(wanted_s: float, *, observer: Observer, plan: Plan | None = None) -> Measurement:
    """A wait as any other call is measured; its own word, and the bias of the stopwatch, stand in the details."""
    wait = BusyWait(wanted_s)
    beside = Beside(wait)
    found = measure(Wait(wanted_s=wanted_s), wait.call(), observer=observer, plan=plan, clock=beside)
    said = _waited(found.samples, beside)
    details = {"waited_s": float(np.median(said.waited_s)), "bias": said.bias}
    return found.model_copy(update={"details": details})


def _waited(samples: Samples, beside: Beside) -> Waited:
    """The readings that became samples are the last ones; before them lie those of the warm-up."""
    return Waited(samples.seconds, tuple(beside.waited_s[-len(samples.seconds) :]))
