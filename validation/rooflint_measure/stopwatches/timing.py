"""The loop around every stopwatch: warm up, find how many calls make a sample, take samples, keep all of them."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple, Protocol

from rooflint_measure.record.measurement import Samples

Call = Callable[[], object]


class Clock(Protocol):
    """Who reads the time of calls that may run elsewhere."""

    def seconds(self, call: Call, calls: int) -> float:
        """Time until `calls` calls in a row are all finished. [s]"""


class HostClock:
    """For what has finished when it returns."""

    def seconds(self, call: Call, calls: int) -> float:
        """Monotonic, to the nanosecond; a turn of the loop costs some 20 ns beside the call. [s]"""
        loop = repeat(None, calls)
        begin = time.perf_counter_ns()
        for _ in loop:
            call()
        return (time.perf_counter_ns() - begin) / 1e9


class Seen(NamedTuple):
    """What disturbed a sample."""

    stolen_s: float | None = None
    """CPU time that the hypervisor gave to others; None where nobody says. [s]"""
    queued_s: float | None = None
    """Time that our threads were ready and had no core; None where nobody says. [s]"""
    reasons: tuple[str, ...] = ()
    """For which clocks were held back."""


class Watch(Protocol):
    """Who sees what disturbs a sample."""

    def start(self) -> None:
        """A sample begins."""

    def stop(self) -> Seen:
        """It ended."""


class Blind:
    """A watch that sees nothing, and says so."""

    def start(self) -> None:
        """Nothing to remember."""

    def stop(self) -> Seen:
        """Nobody said."""
        return Seen()


@dataclass(frozen=True)
class Plan:
    """How long to look."""

    sample_s: float = 0.02
    """A sample takes at least this long, so that the clock's own step is nothing."""
    samples: int = 25
    warm_up_s: float = 0.3
    """Before the first sample that counts: caches, pages, clocks."""
    limit_s: float = 20.0
    """No sample begins after this, once there are `least` of them."""
    least: int = 5


@dataclass
class Column:
    """Samples as they come, with what disturbed each."""

    seconds: list[float] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def add(self, seconds: float, seen: Seen) -> None:
        """One more."""
        self.seconds.append(seconds)
        self.seen.append(seen)

    def samples(self, calls: int, warm_up_s: Iterable[float] = ()) -> Samples:
        """All of them; what the watch did not say of every sample is left unknown."""
        return Samples(
            seconds=tuple(self.seconds),
            calls=calls,
            warm_up_s=tuple(warm_up_s),
            stolen_s=_known([seen.stolen_s for seen in self.seen]),
            queued_s=_known([seen.queued_s for seen in self.seen]),
            throttled={number: seen.reasons for number, seen in enumerate(self.seen) if seen.reasons},
        )


def _known(values: list[float | None]) -> tuple[float, ...] | None:
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


@dataclass
class _Turn:
    call: Call
    clock: Clock
    calls: int = 1
    warm_up_s: list[float] = field(default_factory=list)
    column: Column = field(default_factory=Column)

    def warm_up(self, plan: Plan) -> None:
        """Double the calls until they fill a sample, and go on until the machine is warm."""
        spent = 0.0
        while True:
            took = max(self.clock.seconds(self.call, self.calls), 1e-9)
            self.warm_up_s.append(took / self.calls)
            spent += took
            if took < plan.sample_s:
                self.calls = max(self.calls + 1, min(2 * self.calls, round(1.1 * plan.sample_s * self.calls / took)))
            elif spent >= plan.warm_up_s:
                return

    def sample(self, watch: Watch) -> None:
        watch.start()
        took = self.clock.seconds(self.call, self.calls)
        self.column.add(max(took, 1e-9) / self.calls, watch.stop())


def take(call: Call, *, clock: Clock | None = None, plan: Plan | None = None, watch: Watch | None = None) -> Samples:
    """Samples of one call."""
    return take_in_turn([call], clock=clock, plan=plan, watch=watch)[0]


def take_in_turn(
    calls: list[Call], *, clock: Clock | None = None, plan: Plan | None = None, watch: Watch | None = None
) -> list[Samples]:
    """Samples of several calls, one of each in turn, so that a slow moment of the machine falls on all of them.

    Who goes first changes from round to round: 1 2 3, 3 2 1, 1 2 3 …
    """
    plan, watch, clock = plan or Plan(), watch or Blind(), clock or HostClock()
    turns = [_Turn(call, clock) for call in calls]
    for turn in turns:
        turn.warm_up(plan)
    began = time.perf_counter()
    for number in range(plan.samples):
        if number >= plan.least and time.perf_counter() - began > plan.limit_s:
            break
        for turn in turns if number % 2 == 0 else reversed(turns):
            turn.sample(watch)
    return [turn.column.samples(turn.calls, turn.warm_up_s) for turn in turns]
