"""Bytes of a call by hardware counters: perf on a FAKE counter, CUPTI on a FAKE of torch's profiler. No GPU ran it."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooflint_measure.record import Traffic, Unavailable
from rooflint_measure.stopwatches.traffic import COUNTED_CALLS, counted


class Clock:
    """A call takes a tenth of a second."""

    def __init__(self):
        self.calls = 0

    def seconds(self, call, calls):
        self.calls += calls
        return 0.1 * calls


class FakeCounter:
    """Bytes that grow by a megabyte with every call."""

    source = "a fake"

    def __init__(self, clock, fails=False):
        self.clock, self.fails, self.closed = clock, fails, False

    def read(self):
        if self.fails and self.clock.calls > 1:
            raise OSError(5, "Input/output error")
        return 1e6 * self.clock.calls

    def close(self):
        self.closed = True


def test_perf_counts_some_calls_and_says_how_many():
    clock = Clock()
    counter = FakeCounter(clock)
    # half a second of calls of 0.1 s
    assert counted(None, clock, "cpu", lambda: counter) == Traffic(bytes=1e6, calls=5, source="a fake")
    assert counter.closed


def test_a_counter_that_is_refused_or_fails_is_a_reason():
    refused = Unavailable(reason="no counters")
    assert counted(None, Clock(), "cpu", lambda: refused) is refused
    clock = Clock()
    counter = FakeCounter(clock, fails=True)
    assert counted(None, clock, "cpu", lambda: counter).reason == "perf stopped counting (Input/output error)"
    assert counter.closed
    assert "Metal" in counted(None, Clock(), "mps").reason


class FakeTorch:
    """torch.profiler as HolisticTraceAnalysis documents it: counters in the arguments of `cuda_profiler_range`."""

    def __init__(self, events=(), error=None):
        self.events, self.error, self.metrics = events, error, None
        activities = SimpleNamespace(CUDA="cuda")
        self.profiler = SimpleNamespace(
            ProfilerActivity=activities, profile=self._profile, _ExperimentalConfig=SimpleNamespace
        )
        self.cuda = SimpleNamespace(synchronize=lambda: None)

    def _profile(self, activities, experimental_config):
        self.metrics = experimental_config.profiler_metrics
        if self.error:
            raise self.error
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def export_chrome_trace(self, name):
        Path(name).write_text(json.dumps({"traceEvents": self.events}), encoding="utf-8")


RANGE = {
    "cat": "cuda_profiler_range",
    "args": {"dram__bytes_read.sum": 4e9, "dram__bytes_write.sum": "2e9", "other": 1},
}


def test_cupti_counts_reads_and_writes_of_a_range_of_calls():
    made = []
    torch = FakeTorch([RANGE, {"cat": "kernel", "args": {}}, {"name": "no category"}])
    found = counted(lambda: made.append(1), Clock(), "cuda:0", torch=torch)
    assert found == Traffic(bytes=6e9 / COUNTED_CALLS, calls=COUNTED_CALLS, source="CUPTI, dram__bytes")
    assert (len(made), torch.metrics) == (COUNTED_CALLS, ["dram__bytes_read.sum", "dram__bytes_write.sum"])


@pytest.mark.parametrize(
    ("torch", "reason"),
    [
        (FakeTorch(), "CUPTI counted nothing: that needs NVreg_RestrictProfilingToAdminUsers=0"),
        (FakeTorch(error=RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\nmore")), "CUPTI: CUPTI_ERROR_INSUFF"),
        (SimpleNamespace(profiler=SimpleNamespace()), "CUPTI: "),
    ],
)
def test_where_cupti_may_not_count_a_sentence_says_so(torch, reason):
    assert counted(lambda: None, Clock(), "cuda", torch=torch).reason.startswith(reason)
