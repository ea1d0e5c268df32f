"""Clocks of the host, and of CUDA events and graphs on a FAKE torch.cuda."""

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from rooflint_measure.stopwatches import clocks
from rooflint_measure.stopwatches.clocks import (
    MOST_LAUNCHES,
    WARM_UP_CALLS,
    EventClock,
    FlushedHostClock,
    HostClock,
    flusher,
    graphed,
)


class FakeCuda:
    """Behaves like torch.cuda as far as the clock knows it: kernels cost device time, launches are asynchronous.

    Everything that happens is written down in order.
    """

    def __init__(self, kernel_ms=2.0):
        self.kernel_ms, self.now_ms, self.log, self.capturing = kernel_ms, 0.0, [], None

    def kernel(self):
        """What a call launches."""
        self.log.append("kernel")
        if self.capturing is None:
            self.now_ms += self.kernel_ms
        else:
            self.capturing.kernels += 1

    def synchronize(self):
        self.log.append("synchronize")

    def Event(self, enable_timing):  # noqa: N802  # as torch calls it
        assert enable_timing
        return FakeEvent(self)

    def Stream(self):  # noqa: N802
        return FakeStream(self, "aside")

    def current_stream(self):
        return FakeStream(self, "main")

    @contextmanager
    def stream(self, stream):
        self.log.append(f"on {stream.name}")
        yield

    def CUDAGraph(self):  # noqa: N802
        return FakeGraph(self)

    @contextmanager
    def graph(self, graph):
        self.log.append("capture")
        self.capturing = graph
        yield
        self.capturing = None


class FakeEvent:
    def __init__(self, cuda):
        self.cuda, self.at_ms, self.waited = cuda, None, False

    def record(self):
        self.cuda.log.append("record")
        self.at_ms = self.cuda.now_ms

    def synchronize(self):
        self.cuda.log.append("wait")
        self.waited = True

    def elapsed_time(self, end):
        assert end.waited, "torch raises where the end has not come"
        return end.at_ms - self.at_ms


class FakeStream:
    def __init__(self, cuda, name):
        self.cuda, self.name = cuda, name

    def wait_stream(self, other):
        self.cuda.log.append(f"{self.name} waits for {other.name}")


class FakeGraph:
    def __init__(self, cuda):
        self.cuda, self.kernels = cuda, 0

    def replay(self):
        self.cuda.log.append("replay")
        self.cuda.now_ms += self.kernels * self.cuda.kernel_ms


def test_events_stamp_the_calls_and_the_host_waits_for_the_last():
    # 5 kernels of 2 ms are 0.01 s
    cuda = FakeCuda(kernel_ms=2.0)
    assert EventClock(cuda).seconds(cuda.kernel, 5) == pytest.approx(0.01, rel=1e-12, abs=0)
    assert cuda.log == ["synchronize", "record", *["kernel"] * 5, "record", "wait"]


def test_flushes_are_counted_in_no_time():
    cuda = FakeCuda(kernel_ms=2.0)

    def flush():
        cuda.now_ms += 100.0

    assert EventClock(cuda, flush).seconds(cuda.kernel, 3) == pytest.approx(0.006, rel=1e-12, abs=0)


def test_a_device_is_left_with_work_in_its_queue():
    # 10 ms are five kernels of 2 ms; one more tells how long one takes, and nobody waits for the five
    cuda = FakeCuda(kernel_ms=2.0)
    EventClock(cuda).occupy(cuda.kernel, 0.010)
    assert cuda.log[-7:] == ["record", "wait", *["kernel"] * 5]


def test_a_queue_is_not_filled_beyond_what_it_holds():
    cuda = FakeCuda(kernel_ms=0.001)
    EventClock(cuda).occupy(cuda.kernel, 1.0)
    assert cuda.log.count("kernel") == 1 + MOST_LAUNCHES


def test_a_graph_is_captured_after_a_warm_up_aside_and_replayed_as_one():
    cuda = FakeCuda()

    def call():
        cuda.kernel()
        cuda.kernel()

    replay = graphed(call, cuda)
    assert cuda.log[: 2 + 2 * WARM_UP_CALLS] == [
        "aside waits for main",
        "on aside",
        *["kernel"] * (2 * WARM_UP_CALLS),
    ]
    assert cuda.log[-3:] == ["capture", "kernel", "kernel"]
    # 10 replays of two kernels of 2 ms
    assert EventClock(cuda).seconds(replay, 10) == pytest.approx(0.04, rel=1e-12, abs=0)


@pytest.mark.slow
def test_what_a_graph_reads_lives_as_long_as_it_is_replayed():
    cuda, weights = FakeCuda(), np.ones(4)
    kept = weakref.ref(weights)

    def call(weights=weights):
        cuda.kernel()

    replay = graphed(call, cuda)
    del call, weights
    gc.collect()
    assert kept() is not None, "a graph holds addresses: what lay there would belong to somebody else by now"
    replay()


def test_a_flush_touches_twice_the_cache():
    assert flusher(4096)().nbytes == 2 * 4096


def test_the_flush_lies_outside_of_the_time(monkeypatch):
    # the flush costs 1000 ns, the call 10 ns
    now = [0]
    monkeypatch.setattr(clocks.time, "perf_counter_ns", lambda: now[0])

    def spend(ns):
        now[0] += ns

    clock = FlushedHostClock(lambda: spend(1000))
    assert clock.seconds(lambda: spend(10), 3) == pytest.approx(30e-9, rel=1e-12, abs=0)


def test_a_host_clock_reads_the_time_of_all_calls(monkeypatch):
    # three calls of 10 ns, from a clock that stands at 1000
    now = [1000]
    monkeypatch.setattr(clocks.time, "perf_counter_ns", lambda: now[0])

    def spend():
        now[0] += 10

    assert HostClock().seconds(spend, 3) == pytest.approx(30e-9, rel=1e-12, abs=0)
