"""Anchors on a FAKE torch.cuda: how they are timed, and what is said of one that does not fit."""

from contextlib import contextmanager

import pytest

from rooflint_measure.stopwatches.anchors import ANCHORS, GRAPH, SETS, measured, native
from rooflint_measure.stopwatches.clocks import GraphClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.timing import Plan

PLAN = Plan(sample_s=0.01, samples=3, warm_up_s=0.01)


class FakeEvent:
    def __init__(self, cuda):
        self.cuda = cuda

    def record(self):
        self.at_ms = self.cuda.now_ms

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.at_ms - self.at_ms


class FakeCuda:
    """A device on which each kernel takes as long; what is captured runs when it is replayed."""

    def __init__(self, kernel_ms):
        self.kernel_ms, self.now_ms, self.captured = kernel_ms, 0.0, None

    def kernel(self):
        if self.captured is None:
            self.now_ms += self.kernel_ms
        else:
            self.captured.append(self.kernel_ms)

    def synchronize(self):
        pass

    def Event(self, enable_timing):  # noqa: N802  # as torch calls it
        return FakeEvent(self)

    def Stream(self):  # noqa: N802
        return self

    def current_stream(self):
        return self

    def wait_stream(self, other):
        pass

    @contextmanager
    def stream(self, stream):
        yield

    def CUDAGraph(self):  # noqa: N802
        cuda = self

        class Graph:
            def __init__(self):
                self.kernels = []

            def replay(self):
                cuda.now_ms += sum(self.kernels)

        return Graph()

    @contextmanager
    def graph(self, graph):
        self.captured = graph.kernels
        yield
        self.captured = None


def take(cuda, observer, products=None, shape=(512, 512, 512)):
    calls = products or (lambda *_: [cuda.kernel] * SETS)
    return measured(shape, "bf16", "cuda", observer=observer, plan=PLAN, cuda=cuda, products=calls, library="cublas")


def test_a_product_is_timed_as_one_kernel_of_a_graph(stand_in):
    found = take(FakeCuda(kernel_ms=0.002), stand_in())
    assert found.samples.best_s == pytest.approx(2e-6)
    assert found.details[GRAPH] == SETS == found.subject.weight_copies
    assert found.name == "gemm-bf16-cublas-512x512x512-6w"


def test_what_does_not_fit_is_left_out_with_the_first_line_of_the_reason(stand_in):
    def too_large(*_):
        raise RuntimeError("CUDA out of memory.\nTried to allocate")

    with pytest.raises(NotMeasuredError, match=r"^CUDA out of memory\.$"):
        take(FakeCuda(1.0), stand_in(), too_large)


def test_a_clock_of_graphs_counts_each_kernel():
    cuda = FakeCuda(kernel_ms=3.0)
    # 4 replays of 6 kernels of 3 ms are 72 ms, 12 ms for each of the 6
    assert GraphClock(cuda, kernels=6).seconds(lambda: [cuda.kernel() for _ in range(6)], 4) == pytest.approx(0.012)


def test_a_gpu_is_occupied_as_long_as_was_asked():
    # 6 kernels of 2 ms are a replay of 12 ms: 36 ms are three of them, after the one that tells how long one takes
    cuda, replays = FakeCuda(kernel_ms=2.0), []
    GraphClock(cuda, kernels=6).occupy(lambda: replays.append([cuda.kernel() for _ in range(6)]), 0.036)
    assert len(replays) == 1 + 3


@pytest.mark.parametrize(("capability", "precision"), [((7, 5), "fp16"), ((8, 0), "bf16"), ((12, 0), "bf16")])
def test_a_gpu_is_measured_in_the_precision_that_it_has(capability, precision):
    class Driver:
        def get_device_capability(self, device):
            return {"cuda": capability}[device]

    assert native("cuda", Driver()) == precision


def test_no_shape_anchors_two_things():
    every = [shape for shapes in ANCHORS.values() for shape in shapes]
    assert len(set(every)) == len(every)
