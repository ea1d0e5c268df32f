"""Clocks: how long calls take on the host, with empty caches, on a CUDA device, and in a CUDA graph.

`torch.cuda` is an argument, so that the order of records and waits is tested without a GPU.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

WARM_UP_CALLS = 3
"""Before a capture: libraries choose kernels and take workspaces at their first calls, which a graph cannot hold."""

MOST_LAUNCHES = 1000
"""That wait in the queue of a device; a host that launches more has to wait itself."""

Call = Callable[[], object]


class Clock(Protocol):
    """Reads the time of calls, which may run on another device."""

    def seconds(self, call: Call, calls: int) -> float:
        """Time until `calls` calls in a row are all finished. [s]"""


class HostClock:
    """For calls that have finished when they return."""

    def seconds(self, call: Call, calls: int) -> float:
        """Monotonic, to the nanosecond; a turn of the loop costs some 20 ns beside the call. [s]"""
        loop = repeat(None, calls)
        begin = time.perf_counter_ns()
        for _ in loop:
            call()
        return (time.perf_counter_ns() - begin) / 1e9


def flusher(cache_bytes: int) -> Callable[[], object]:
    """Reads and writes twice as much as the cache holds, so that nothing else stays in it."""
    much = np.ones(2 * cache_bytes // 8)
    return lambda: np.add(much, 1.0, out=much)


@dataclass(frozen=True)
class FlushedHostClock:
    """For calls that have finished when they return and must find their operands in memory: each call after a flush."""

    flush: Callable[[], object]

    def seconds(self, call: Call, calls: int) -> float:
        """Time of the calls, without the flushes. [s]"""
        return sum(self._one(call) for _ in repeat(None, calls))

    def _one(self, call: Call) -> float:
        self.flush()
        begin = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - begin) / 1e9


# ---- CUDA


@dataclass(frozen=True)
class EventClock:
    """Reads two events on the current stream, which the device stamps itself; the host only waits for the second.

    With `flush`, which empties caches, every call has events of its own and the flushes are counted in none.
    """

    cuda: Any
    """`torch.cuda`, or what behaves like it."""
    flush: Callable[[], object] | None = None

    def seconds(self, call: Call, calls: int) -> float:
        """Time of the device between the first kernel of the first call and the last of the last. [s]"""
        self.cuda.synchronize()
        if self.flush is None:
            return self._between(call, calls)
        return sum(self._flushed(call, self.flush) for _ in repeat(None, calls))

    def occupy(self, call: Call, seconds: float) -> None:
        """Launch calls for about so long and return, so that a clock or a power is read of a device at work. [s]"""
        took_s = max(self.seconds(call, 1), seconds / MOST_LAUNCHES)
        for _ in repeat(None, math.ceil(seconds / took_s)):
            call()

    def _flushed(self, call: Call, flush: Callable[[], object]) -> float:
        flush()
        return self._between(call, 1)

    def _between(self, call: Call, calls: int) -> float:
        begin, end = (self.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in repeat(None, calls):
            call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3  # milliseconds


@dataclass(frozen=True)
class GraphClock(EventClock):
    """Times one kernel of a graph that replays several alike."""

    kernels: int = 1

    def seconds(self, call: Call, calls: int) -> float:
        """Time until so many replays are finished, for each kernel of a replay. [s]"""
        return super().seconds(call, calls) / self.kernels

    def occupy(self, call: Call, seconds: float) -> None:
        """Launch as many replays as fill that time; each takes the time of all its kernels. [s]"""
        super().occupy(call, seconds / self.kernels)


def graphed(call: Call, cuda: Any) -> Call:
    """The kernels of a call as one graph: replayed, they are launched once, however many there are.

    What the call returns is overwritten at each replay. Raises what `cuda` does where a call cannot be captured.
    """
    aside = cuda.Stream()
    aside.wait_stream(cuda.current_stream())
    with cuda.stream(aside):
        for _ in repeat(None, WARM_UP_CALLS):
            call()
    cuda.current_stream().wait_stream(aside)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        returned = call()

    def replay(_reads: Call = call) -> object:
        # a graph knows addresses only: weights and input belong to the call, and must live as long as it is replayed
        graph.replay()
        return returned

    return replay
