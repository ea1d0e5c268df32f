"""The first hour on a FAKE of NVML, without a GPU: stopwatches measure nothing, and faults happen where a test says.

`python -m tests.validation.recordings.rehearsal FAULT NAME ARGUMENT…` runs the command itself in a process of its own,
with a fault of `Bench` at the figure NAME, so that a test may kill it; the fault `none` is none.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pytest_rooflint.cli import recorder
from pytest_rooflint.recordings import first_hour, network_runs, runs
from pytest_rooflint.recordings.journal import Journal
from rooflint_measure.record import Gemm, Launch, Network, Stream, Wait
from rooflint_measure.sensors.gpu import NvidiaGpu
from rooflint_measure.sensors.observer import GpuObserver
from rooflint_measure.stopwatches import anchors, gemm, network, products, stream, timing
from rooflint_measure.stopwatches.gemm import Peak
from rooflint_measure.stopwatches.network import Model
from rooflint_measure.stopwatches.products import Kernel
from rooflint_measure.stopwatches.timing import Plan, measure

PLAN = Plan(sample_s=0.02, samples=3, warm_up_s=0.02, limit_s=100.0)
NETWORKS = ("resnet18", "alexnet")
ALL = 2 + 1 + 1 + 2 + 6 + 2 * 2 * 4
"""Waits, product, pass, launches, anchors, and two networks at two batches in four modes."""


class RealClock:
    """Time as it is, for a meter that is read beside a run."""

    sleep = staticmethod(time.sleep)

    @property
    def now_s(self):
        return time.perf_counter()


class Bench:
    """Stopwatches that measure nothing: each returns a time of the fake GPU, and faults happen at the figures named."""

    def __init__(self, fakes, root, clock=None):
        self.fakes, self.faults, self.taken = fakes, {}, []
        self.gpu = fakes.FakeGpu(**({"clock": clock} if clock else {}))
        self.observer = GpuObserver(NvidiaGpu(fakes.FakeNvml(self.gpu), "handle 0"), root)

    def measured(self, name, subject, **more):
        self.taken.append(name)
        if name in self.faults:
            self.faults[name]()

        class Clock:
            def seconds(clock, call, calls):  # noqa: N805
                self.gpu.clock.sleep(1e-3 * calls)
                return 1e-3 * calls

        return measure(subject, lambda: None, observer=self.observer, plan=PLAN, clock=Clock(), **more)

    def run(self, file, names=NETWORKS, budget_s=3600.0, lines=None, energy_s=0.0):
        """All steps, as the command runs them, and the journal."""
        lines = [] if lines is None else lines
        journal = Journal.of(file, "cuda", self.observer.machine({}))
        results = runs.Results(self.observer, tell=lines.append, failing=self.failing, budget_s=budget_s)
        first_hour.resumed(results, journal, lambda _: None, lines.append)
        request = runs.Request("cuda", seconds=1.0, energy_s=energy_s)
        results.count(lambda: first_hour.everything(request, results, names))
        first_hour.everything(request, results, names)
        return results

    def failing(self):
        return "the device no longer answers: CUDA error" if self.gpu.clock.now_s >= self.gpu.vanishes_at_s else ""

    # ---- faults

    def driver(self):
        """The device falls off the bus."""
        self.gpu.vanishes_at_s = self.gpu.clock.now_s
        raise RuntimeError("CUDA error: unspecified launch failure\nmore")

    def memory(self):
        """A network that does not fit."""
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.\nmore")

    def heat(self):
        """The clock is held back from here on."""
        self.gpu.reasons = 0x40

    def neighbour(self):
        """Another process comes."""
        self.gpu.processes.append((1, 5 << 30))

    def cap(self):
        """Somebody lowers the power limit."""
        self.gpu.limit_w, self.gpu.reasons = 350.0, 0x4

    def kill(self):
        """`kill -9`."""
        os.kill(os.getpid(), signal.SIGKILL)

    def slow(self):
        """A call that takes longer than there is time."""
        time.sleep(30)

    def hang(self):
        """A call of a driver that does not return, and sees no signal."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(30)


def install(found, patch):
    """Put the stopwatches of a bench in the place of those that need a GPU."""
    # what else runs on the machine of the tests disturbs nothing
    patch.setattr(timing, "involuntary_switches", lambda: None)
    product = Gemm(precision="fp16", library="cublas", m=512, n=512, k=512)
    kernel = Kernel("fp16", "cublas", "cuda", {"torch.mm": None})
    patch.setattr(products, "has_torch", lambda: True)
    patch.setattr(products, "kernels", lambda device: [kernel])
    patch.setattr(gemm, "probe", lambda kernel: 1e12)
    patch.setattr(gemm, "peak", lambda kernel, search_s: Peak(product, lambda: None, None, "torch.mm", 1))
    patch.setattr(gemm, "measured", lambda *_, energy_s=0.0, **how: found.measured("gemm", product, energy_s=energy_s))
    patch.setattr(network_runs, "reference", lambda request, name: Peak(product, lambda: None, None, "mm", 1))
    patch.setattr(network_runs, "model", lambda name, batch, sweep: Model(name, None, (), batch * 10**9))
    patch.setattr(stream, "passes", lambda device: [stream.Pass("triad", "torch", device, None)])
    triad = Stream(kernel="triad", library="torch", array_bytes=10**8)
    patch.setattr(stream, "measured", lambda one, **_: found.measured("stream", triad, bytes_moved=1e8))
    patch.setattr(anchors, "native", lambda device: "fp16")
    patch.setattr(anchors, "measured", lambda shape, *_, **more: found.measured(f"anchor {shape}", product))
    patch.setattr(anchors, "launches", lambda way, *_, **more: found.measured(way, Launch(way=way, library="torch")))
    patch.setattr(timing, "measured_wait", lambda s, **_: found.measured("wait", Wait(wanted_s=s)))

    def of_network(model, setting, **_):
        one = Network(name=model.name, batch=setting.batch, precision="fp16", library="torch", macs=model.macs)
        words = [word for word in ("compiled", "graph", "channels_last") if getattr(setting, word)]
        return found.measured(" ".join([model.name, f"b{setting.batch}", *words]), one)

    patch.setattr(network, "measured", of_network)


def main(fault, name, *words):
    """The command, as a user types it."""
    from tests.validation.measure import fake_nvml  # noqa: PLC0415  # a test loads it by its own fixture

    from pytest_rooflint.cli.measure import app  # noqa: PLC0415

    bench = Bench(fake_nvml, Path(tempfile.mkdtemp()) / "no proc", RealClock())
    if fault != "none":
        bench.faults[name] = getattr(bench, fault)
    with pytest.MonkeyPatch.context() as patch:
        install(bench, patch)
        patch.setattr(recorder, "observer", lambda device: bench.observer)
        patch.setattr(runs, "prepare", lambda request: None)
        patch.setattr(runs, "failing", lambda request: bench.failing())
        networks = [word for one in NETWORKS for word in ("--network", one)]
        app(["first-hour", "--device", "cuda", *networks, *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
