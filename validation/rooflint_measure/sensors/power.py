"""Power and energy: counters of energy, and meters of power that are sampled and integrated."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint_measure.record import Energy, Unavailable


class PowerLost(RooflintError):  # noqa: N818  # an event
    """A source that does not answer any more, or cannot tell the energy of a run; the message is the reason."""


class Run(NamedTuple):
    """A run as a source of power saw it."""

    calls: int
    seconds: float
    joules: float
    resolution_j: float
    """Step of the source. [J]"""
    max_w: float | None = None
    """The most during the run; None where it is not known. [W]"""


class PowerSource(ABC):
    """A counter of energy, or a meter of power, of one device."""

    def __init__(
        self,
        name: str,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`name` is what a recording calls it: `nvml energy counter`, `rapl package`."""
        self.name, self._clock, self._sleep = name, clock, sleep

    def idle_w(self, seconds: float) -> float:
        """Power with nothing of ours running, averaged over a while. Raises PowerLost. [W]"""
        found = self._measured(lambda: self._rest(seconds))
        return found.joules / found.seconds

    def metered(self, run: Callable[[], int], idle_w: float) -> Energy | Unavailable:
        """Energy of a run, which returns the number of calls that it made, beside an idle power measured before.

        Not available where the device stops answering, or where the source cannot tell the energy of such a run.
        """
        try:
            found = self._measured(run)
        except PowerLost as error:
            return Unavailable(reason=str(error))
        return Energy(source=self.name, idle_w=idle_w, **found._asdict())

    def tick(self) -> None:  # noqa: B027  # most sources look by themselves
        """A moment within a run, at which a counter is read for the power since the last one."""

    @abstractmethod
    def _measured(self, run: Callable[[], int]) -> Run:
        """Raises PowerLost."""

    def _rest(self, seconds: float) -> int:
        self._sleep(seconds)
        return 0


def integral_j(times_s: Sequence[float], powers_w: Sequence[float]) -> float:
    """∫P dt by trapezoids, exact where the power changes evenly from sample to sample. [J]"""
    if len(times_s) < 2:
        raise PowerLost("want at least two samples of power to integrate")
    return float(np.trapezoid(np.asarray(powers_w, float), np.asarray(times_s, float)))


# ---- Counters: energy is the difference of two readings

POLL_S = 0.001
"""Between two readings of a counter while its step is measured. [s]"""


LEAST_WINDOW_S = 0.1
"""Over which a counter gives a power, at least. [s]"""
STEPS_OF_WINDOW = 10
"""Steps of the counter in such a window, so that a step too many is a tenth of the power. [1]"""


class Unwrapped:
    """A counter that wraps around at the end of its range, made to grow for ever."""

    def __init__(self, read: Callable[[], int], values: int) -> None:
        self._read, self._values = read, values
        self._last: int | None = None
        self._total = 0

    def __call__(self) -> int:
        """Counts since the first call; correct if the counter wraps at most once between two calls."""
        now = self._read()
        if self._last is not None:
            self._total += (now - self._last) % self._values
        self._last = now
        return self._total


class CounterSource(PowerSource):
    """Energy of a device from a counter in joules that only grows."""

    def __init__(
        self,
        name: str,
        read_j: Callable[[], float],
        *,
        unit_j: float,
        longest_s: float = float("inf"),
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`unit_j` is what one count stands for; a run that takes longer than `longest_s` may have wrapped twice."""
        super().__init__(name, clock, sleep)
        self._read_j, self._unit_j, self._longest_s = read_j, unit_j, longest_s
        self._refresh_s = 0.0
        self._ticks: list[tuple[float, float]] = []

    def tick(self) -> None:
        """Keep the time and the counter. Raises PowerLost."""
        self._ticks.append((self._clock(), self._read_j()))

    def idle_w(self, seconds: float) -> float:
        """Average over at least `seconds`, from one step of the counter to another. [W]

        Learns on the way how often the counter is brought up to date, which is what limits a short run.
        """
        steps = self._steps(seconds)
        if len(steps) < 2:
            raise PowerLost(f"{self.name}: the counter did not move twice in {seconds:g} s; read it for longer")
        (first_s, first_j), (last_s, last_j) = steps[0], steps[-1]
        self._refresh_s = (last_s - first_s) / (len(steps) - 1)
        return (last_j - first_j) / (last_s - first_s)

    def _measured(self, run: Callable[[], int]) -> Run:
        begin_s, begin_j = self._clock(), self._read_j()
        self._ticks = [(begin_s, begin_j)]
        calls = run()
        end_s, end_j = self._clock(), self._read_j()
        seconds, joules = end_s - begin_s, end_j - begin_j
        if seconds > self._longest_s:
            raise PowerLost(f"{self.name}: may wrap twice in a run of {seconds:.3g} s; want {self._longest_s:.3g}")
        if joules <= 0:
            raise PowerLost(f"{self.name}: the counter did not move in a run of {seconds:.3g} s; run for longer")
        resolution_j = max(self._unit_j, self._refresh_s * joules / seconds)
        return Run(calls, seconds, joules, resolution_j, self._most_w())

    def _most_w(self) -> float | None:
        """The highest power between two ticks that are far enough apart for the steps of the counter. [W]"""
        least_s, powers = max(LEAST_WINDOW_S, STEPS_OF_WINDOW * self._refresh_s), []
        from_s, from_j = self._ticks[0]
        for now_s, now_j in self._ticks[1:]:
            if now_s - from_s >= least_s:
                powers.append((now_j - from_j) / (now_s - from_s))
                from_s, from_j = now_s, now_j
        return max(powers, default=None)

    def _steps(self, seconds: float) -> list[tuple[float, float]]:
        """(time, energy) whenever the counter changed. [s], [J]"""
        begin_s, last_j = self._clock(), self._read_j()
        steps: list[tuple[float, float]] = []
        while (now_s := self._clock()) - begin_s < seconds or (len(steps) < 2 and now_s - begin_s < 2 * seconds):
            self._sleep(POLL_S)
            now_j = self._read_j()
            if now_j != last_j:
                steps.append((self._clock(), now_j))
                last_j = now_j
        return steps


# ---- Meters: samples in a thread beside the run, integrated

INTERVAL_S = 0.01
"""Between two samples; most meters are brought up to date less often than that. [s]"""


LEAST_AVERAGES = 3
"""A run lasts so many times as long as a reading averages over; the first of them is left out."""


class Samples:
    """(time, power) from entering to leaving, both ends included, read by a thread of its own."""

    def __init__(self, read_w: Callable[[], float], clock: Callable[[], float], interval_s: float) -> None:
        self._read_w, self._clock, self._interval_s = read_w, clock, interval_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_done, name="power samples", daemon=True)
        self.times_s: list[float] = []
        self.powers_w: list[float] = []
        self.lost: PowerLost | None = None

    def __enter__(self) -> Self:
        """The first sample, then the thread."""
        self._take()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The thread ends; the last sample."""
        self._done.set()
        self._thread.join()
        if self.lost is None and kind is None:
            self._take()

    def _sample_until_done(self) -> None:
        while self.lost is None and not self._done.wait(self._interval_s):
            self._take()

    def _take(self) -> None:
        try:
            power_w = self._read_w()
        except PowerLost as error:
            self.lost = error
        else:
            self.times_s.append(self._clock())
            self.powers_w.append(power_w)


class SampledSource(PowerSource):
    """Energy of a device whose power can be asked for, by trapezoids between samples."""

    def __init__(
        self,
        name: str,
        read_w: Callable[[], float],
        *,
        interval_s: float = INTERVAL_S,
        averaged_s: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`read_w` raises PowerLost where the device does not answer any more; it averages over `averaged_s`."""
        super().__init__(name, clock)
        self._read_w, self._interval_s, self._averaged_s = read_w, interval_s, averaged_s

    def _measured(self, run: Callable[[], int]) -> Run:
        with Samples(self._read_w, self._clock, self._interval_s) as samples:
            calls = run()
        if samples.lost:
            raise samples.lost
        times_s, powers_w = self._settled(samples)
        # the mean of what is settled, for all of the run
        share = (samples.times_s[-1] - samples.times_s[0]) / (times_s[-1] - times_s[0])
        joules = integral_j(times_s, powers_w) * share
        # a change of power shows up to one sample late
        step_j = self._interval_s * (max(powers_w) - min(powers_w))
        return Run(calls, samples.times_s[-1] - samples.times_s[0], joules, step_j, max(powers_w))

    def _settled(self, samples: Samples) -> tuple[Sequence[float], Sequence[float]]:
        """(times, powers) that average over nothing of before the run. Raises PowerLost where the run is too short."""
        begin_s = samples.times_s[0] + self._averaged_s
        kept = [pair for pair in zip(samples.times_s, samples.powers_w, strict=True) if pair[0] >= begin_s]
        lasted_s = samples.times_s[-1] - samples.times_s[0]
        if self._averaged_s and lasted_s < LEAST_AVERAGES * self._averaged_s:
            wanted_s = LEAST_AVERAGES * self._averaged_s
            raise PowerLost(f"{self.name}: a run of {lasted_s:.3g} s is too short; run for {wanted_s:g} s")
        if len(kept) < 2:
            raise PowerLost(f"{self.name}: want two samples of power to integrate; run for longer")
        times_s, powers_w = zip(*kept, strict=True)
        return times_s, powers_w


Read = Callable[[], float | Unavailable]


def source_of(
    library: str, read_j: Read, read_w: Read, unit_j: Callable[[], float], averaged_s: float = 0.0
) -> PowerSource | Unavailable:
    """The energy counter where there is one, with its unit; else the power, sampled.

    `averaged_s` is what a reading of the power averages over. [s]
    """
    if not isinstance(read_j(), Unavailable):
        return CounterSource(f"{library} energy counter", lambda: or_lost(read_j()), unit_j=unit_j())
    power_w = read_w()
    if isinstance(power_w, Unavailable):
        return power_w
    over = f", averaged over {averaged_s:g} s" if averaged_s else ""
    return SampledSource(f"{library} power{over}", lambda: or_lost(read_w()), averaged_s=averaged_s)


def or_lost(found: float | Unavailable) -> float:
    """The value that was read. Raises PowerLost where there is none any more."""
    if isinstance(found, Unavailable):
        raise PowerLost(f"{found.reason}; the device answered before")
    return found
