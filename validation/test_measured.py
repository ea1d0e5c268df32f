"""Stopwatches as benchmarks: `tox run -e measure`, with pytest-benchmark's table, JSON and compare flow.

The machine may be shared, so physics gates from one side only: no product beats the peak of its device, no stream its
memory, no network its roofline, and nothing is so slow that a unit must be wrong. How fast it is, the table says.
"""

import datetime
import hashlib
from functools import partial
from pathlib import Path

import pytest

from pytest_rooflint.recordings import network_runs, runs
from pytest_rooflint.recordings.account import share
from pytest_rooflint.recordings.bounds import table_of
from pytest_rooflint.recordings.files import identified
from pytest_rooflint.recordings.laws import LAWS, LawContext, findings
from pytest_rooflint.recordings.row import RecordedFile, Row
from rooflint.hardware.registry import Registry
from rooflint.workloads.load import network as tabled
from rooflint_measure.record import Measurement, Samples, Unavailable, label
from rooflint_measure.recording import Machine, Recording
from rooflint_measure.sensors.observer import observer
from rooflint_measure.stopwatches import gemm, network, products, stream
from rooflint_measure.stopwatches.gemm import NotMeasuredError
from rooflint_measure.stopwatches.timing import BusyWait

ROUNDS = 30
UNIT_ERROR = 0.02
"""Efficiency below which something is in other units: a slow hour costs a factor of ten, a milli for a micro 1000."""
NETWORKS = [("resnet18", 1), ("resnet18", 8), ("mobilenet_v2", 1), ("vit_b_16", 1)]


def pytest_generate_tests(metafunc):
    device = metafunc.config.getoption("--device")
    every = {"kernel": products.kernels, "passed": stream.passes}
    for name, known in every.items():
        if name in metafunc.fixturenames:
            found = list(known(device))
            metafunc.parametrize(name, found, ids=[one.name.replace(" ", "-") for one in found])


@pytest.fixture(scope="session")
def device(request):
    chosen = request.config.getoption("--device")
    runs.prepare(runs.Request(device=chosen))
    return chosen


@pytest.fixture(scope="session")
def watcher(device):
    return observer(device)


@pytest.fixture(scope="session")
def asked(watcher):
    """What laws may know, and None where the registry has no device of exactly this name."""
    registry = Registry()
    found = identified(watcher.machine({}), registry)
    return found and LawContext(
        found, registry, lambda one: table_of(one, lambda name, batch: tabled(name).at_batch(batch))
    )


@pytest.fixture(scope="session")
def seconds(request):
    return request.config.getoption("--measure-seconds")


@pytest.fixture
def timed(benchmark, watcher, device):
    """Times a call by pytest-benchmark, and returns a measurement of what it wrote down."""

    def run(subject, call, **more) -> Measurement:
        before = watcher.state()
        finished = call if device == "cpu" else partial(_finished, call)
        finished()
        benchmark.pedantic(finished, rounds=ROUNDS, warmup_rounds=3)
        found = Measurement(
            subject=subject,
            samples=Samples(seconds=tuple(benchmark.stats.stats.data), calls=1),
            conditions=watcher.conditions(before, watcher.state()),
            energy=Unavailable(reason="a benchmark meters none"),
            **more,
        )
        benchmark.extra_info |= {
            "subject": label(subject),
            "op_per_s": found.ops_per_s,
            "byte_per_s": found.bytes_per_s,
            "clock_hz": str(found.conditions.after.clock_hz),
        }
        return found

    return run


def _finished(call):
    import torch  # noqa: PLC0415  # only on a GPU

    call()
    torch.cuda.synchronize()


@pytest.fixture
def holds(asked, watcher):
    """Fails with what a law says of a measurement; skips where no spec, or nothing in it, says anything."""

    def check(found: Measurement, *names: str) -> None:
        if asked is None:
            pytest.skip(f"timed but not compared: the registry has no {watcher.machine({}).device}")
        row = Row(RecordedFile(Path("measured now"), _recording(found, watcher.machine({})), (1,)), 0)
        looked = [(name, finding) for name in names for finding in findings((row,), LAWS[name], asked)]
        for name, finding in looked:
            causes = "; ".join(cause.text for cause in finding.causes)
            assert finding.state != "breaks", f"{name}: {finding.text}. {causes}"
        if all(finding.state == "silent" for _, finding in looked):
            reasons = dict.fromkeys(finding.text for _, finding in looked) or [
                f"{asked.hardware.id} has no such figure"
            ]
            pytest.skip(f"timed but not compared: {'; '.join(reasons)}")

    return check


def _recording(found: Measurement, machine: Machine) -> Recording:
    now = datetime.datetime.now(datetime.UTC)
    return Recording(taken=now, command="pytest", rooflint="now", machine=machine, measurements=(found,))


def test_the_canary_is_what_no_commit_changes(benchmark):
    """Where it is slower, the machine is: `rooflint measure baseline` and `rooflint history` divide by it."""
    message = bytes(1 << 20)
    benchmark.pedantic(lambda: hashlib.sha256(message).digest(), rounds=ROUNDS, iterations=5, warmup_rounds=3)


def test_a_wait_takes_as_long_as_it_says(benchmark):
    benchmark.pedantic(BusyWait(20e-6).call(), rounds=ROUNDS, iterations=50, warmup_rounds=3)
    # from one side: no stopwatch may say less than the wait was long
    assert benchmark.stats.stats.min >= 20e-6


def test_a_product_stays_within_the_peak(kernel, timed, holds, asked, seconds):
    try:
        rates = {one.name: gemm.probe(one) for one in products.kernels(kernel.device) if one.precision == "fp32"}
        gemm.refuse_emulated(kernel, gemm.probe(kernel), max(rates.values(), default=None))
        best = gemm.peak(kernel, search_s=seconds / 2)
    except NotMeasuredError as error:
        pytest.skip(f"{kernel.name}: {error}")
    found = timed(best.subject, best.call)
    holds(found, "rate <= peak", "latency >= roofline")
    reached = share(found, asked.hardware)
    assert reached is None or reached > UNIT_ERROR  # None: the spec says nothing of that precision


def test_a_stream_stays_within_the_memory(passed, timed, holds):
    subject = stream.subject(passed, stream.cache_bytes(passed.device))
    size = subject.array_bytes
    found = timed(subject, passed.make(size), bytes_moved=float(stream.ARRAYS[passed.kernel] * size))
    holds(found, "bandwidth <= peak")


@pytest.mark.parametrize(("name", "batch"), NETWORKS, ids=[f"{name}-b{batch}" for name, batch in NETWORKS])
def test_a_network_takes_no_less_than_its_roofline(name, batch, device, timed, holds):
    if not products.has_torch():
        pytest.skip(runs.NO_TORCH)
    setting = network.Setting(precision="fp32", device=device, batch=batch)
    model = network_runs.model(name, batch, network_runs.Sweep((name,)))
    call = network.prepared(model, setting)
    holds(timed(network.subject(model, setting), call), "latency >= roofline", "macs = op table")
