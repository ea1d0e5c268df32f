"""Stopwatches beside each other on a busy-wait that records how long it did wait: bias, and seconds spent.

`python benchmarks/stopwatches.py` where rooflint and its peers are installed: pytest-benchmark, pyperf, torch; one that
is missing is said to be. All meet the same wait, in turn and back, each as its own documents start it. `--spin 8` keeps
eight processes busy meanwhile, for at most three minutes.

Each sample of a stopwatch is held against the waits of that sample, so that what a neighbour takes is on both sides;
what is left is what the stopwatch adds to a call. What it then reports (a least time, a median, a mean) is held against
the length that was asked for.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

from rooflint_measure.stopwatches.timing import Plan, take_in_turn

LENGTHS_S = (20e-6, 1e-3)
FOLDER, LENGTH = "STOPWATCHES_FOLDER", "STOPWATCHES_LENGTH_S"
"""Variables of the environment that tell pyperf's processes where to leave what they waited, and how long to wait."""


class Wait:
    """A call that takes at least so long, and keeps how long it took."""

    def __init__(self, length_s: float) -> None:
        self.waited_ns = array("q")
        length_ns, now, keep = round(length_s * 1e9), time.perf_counter_ns, self.waited_ns.append

        def call() -> None:
            begin = now()
            while (passed := now() - begin) < length_ns:
                pass
            keep(passed)

        self.call = call


@dataclass(frozen=True)
class Said:
    """What a stopwatch said of a wait."""

    samples_s: list[float]
    """Of a call each. [s]"""
    waited_s: list[float]
    """Of a call, as the wait has it, of the same calls. [s]"""
    reported_s: float
    """What a reader of it sees. [s]"""
    spent_s: float = 0.0
    note: str = ""
    """What else it says of its samples."""

    @property
    def bias(self) -> float:
        """What it adds to a call. [1]"""
        return median(one / other for one, other in zip(self.samples_s, self.waited_s, strict=True)) - 1


def last(waited_ns: "array[int]", samples: int, calls: int) -> list[float]:
    """Means of the last samples, of so many calls each. [s]"""
    kept = waited_ns[len(waited_ns) - samples * calls :]
    return [fmean(kept[first : first + calls]) / 1e9 for first in range(0, len(kept), calls)]


LONG = Plan(sample_s=0.02)
"""The default until 2026-11-21, whatever the load; on a quiet machine still the default."""


def ours(length_s: float, plan: Plan | None = None) -> Said:
    """Reports the least sample."""
    wait = Wait(length_s)
    (samples,) = take_in_turn([wait.call], plan=plan or Plan())
    waited_s = last(wait.waited_ns, len(samples.seconds), samples.calls)
    preempted = sum(map(bool, samples.preempted or ()))
    note = f"{len(samples.seconds)} samples of {1e3 * (samples.sample_s or 0):.3g} ms, {preempted} preempted"
    return Said(list(samples.seconds), waited_s, samples.best_s, note=note)


def torch_benchmark(length_s: float) -> Said:
    """Reports the median of its blocks."""
    from torch.utils.benchmark import Timer  # noqa: PLC0415

    wait = Wait(length_s)
    found = Timer("call()", globals={"call": wait.call}).blocked_autorange()
    samples_s = [one / found.number_per_run for one in found.raw_times]
    return Said(samples_s, last(wait.waited_ns, len(samples_s), found.number_per_run), found.median)


def pytest_benchmark(length_s: float) -> Said:
    """Reports, first of all, the least round."""
    import pytest  # noqa: PLC0415

    wait, found = Wait(length_s), []

    class Plugin:
        @pytest.fixture
        def length(self) -> Wait:
            return wait

        def pytest_benchmark_update_json(self, output_json: dict[str, list[dict[str, dict[str, object]]]]) -> None:
            found.append(output_json["benchmarks"][0]["stats"])

    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / f"test_{time.time_ns()}.py"  # a module of its own
        file.write_text("def test_wait(benchmark, length):\n    benchmark(length.call)\n", encoding="utf-8")
        options = ["-q", "-p", "no:cacheprovider", f"--rootdir={name}", "-c", os.devnull]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = pytest.main([*options, f"--benchmark-json={name}/out.json", str(file)], [Plugin()])
    if status or not found:
        raise RuntimeError("pytest-benchmark found nothing")
    (stats,) = found
    calls, samples_s = stats["iterations"], stats["data"]
    assert isinstance(calls, int)
    assert isinstance(samples_s, list)
    rounds = [one / 1.0 for one in samples_s]
    del wait.waited_ns[-1:]  # the call whose result it hands back
    return Said(rounds, last(wait.waited_ns, len(rounds), calls), min(rounds))


def pyperf(length_s: float) -> Said:
    """Reports the mean over its processes."""
    import pyperf as perf  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        inherit = f"--inherit-environ={FOLDER},{LENGTH},PYTHONPATH"
        command = [sys.executable, __file__, "-o", f"{name}/out.json", "--quiet", inherit]
        environment = {**os.environ, FOLDER: name, LENGTH: repr(length_s)}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        (found,) = perf.BenchmarkSuite.load(f"{name}/out.json").get_benchmarks()
        waits = [_waits(file) for file in sorted(Path(name).glob("*.waits"))]
    samples_s: list[float] = []
    waited_s: list[float] = []
    for run, waited_ns in zip(found.get_runs(), waits, strict=True):
        if run.values:
            samples_s += run.values
            waited_s += last(waited_ns, len(run.values), run.get_total_loops())
    return Said(samples_s, waited_s, found.mean())


def beneath_pyperf(length_s: float) -> None:
    """What pyperf runs in its processes; each leaves what it waited under the time at which it ended."""
    import pyperf as perf  # noqa: PLC0415

    wait = Wait(length_s)
    perf.Runner().bench_func("wait", wait.call)
    if wait.waited_ns:
        file = Path(os.environ[FOLDER]) / f"{time.time_ns()}.waits"
        file.write_bytes(wait.waited_ns.tobytes())


def _waits(file: Path) -> "array[int]":
    waited_ns = array("q")
    waited_ns.frombytes(file.read_bytes())
    return waited_ns


STOPWATCHES: dict[str, tuple[str, Callable[[float], Said]]] = {
    "rooflint_measure": ("rooflint_measure", ours),
    "same, samples of 20 ms": ("rooflint_measure", lambda length_s: ours(length_s, LONG)),
    "torch.utils.benchmark": ("torch", torch_benchmark),
    "pytest-benchmark": ("pytest_benchmark", pytest_benchmark),
    "pyperf": ("pyperf", pyperf),
}


def timed(stopwatch: Callable[[float], Said], length_s: float) -> Said:
    """What it said, with the seconds that it took; imports are not counted, processes that it starts are."""
    began = time.perf_counter()
    said = stopwatch(length_s)
    return replace(said, spent_s=time.perf_counter() - began)


def rows(length_s: float, rounds: int) -> Iterator[tuple[str, list[Said]]]:
    """Each stopwatch with what it said in every round, forward and backward."""
    able = {name: run for name, (module, run) in STOPWATCHES.items() if importlib.util.find_spec(module)}
    for name, run in able.items():
        if name != "pyperf":  # which measures in processes of its own
            run(1e-6)  # imports
    said: dict[str, list[Said]] = {name: [] for name in able}
    for number in range(rounds):
        for name in list(able) if number % 2 == 0 else reversed(able):
            said[name].append(timed(able[name], length_s))
    yield from said.items()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spin", type=int, default=0, metavar="N", help="processes that keep the cores busy")
    parser.add_argument("--length-us", type=float, action="append", help="of the wait; 20 and 1000 by default")
    parser.add_argument("--without", action="append", default=[], choices=list(STOPWATCHES), help="such as pyperf")
    options = parser.parse_args()
    for name in options.without:
        del STOPWATCHES[name]
    for name, (module, _) in STOPWATCHES.items():
        if not importlib.util.find_spec(module):
            print(f"{name}: not installed")
    with spinning(options.spin):
        report([1e-6 * length for length in options.length_us or ()] or LENGTHS_S, options.rounds)


SPIN_S = 180
"""A spinning process ends by itself after so long. [s]"""
SPIN = f"import time\nend = time.monotonic() + {SPIN_S}\nwhile time.monotonic() < end: pass"


@contextlib.contextmanager
def spinning(processes: int) -> Iterator[None]:
    """So many processes that want a core all the time."""
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.terminate()
            one.wait()


def runnable() -> str:
    """Processes that run or want to, now; the load average follows minutes later."""
    file = Path("/proc/loadavg")
    return file.read_text(encoding="utf-8").split()[3].partition("/")[0] if file.exists() else "unknown"


def report(lengths_s: Sequence[float], rounds: int) -> None:
    """Print what each stopwatch says of waits of these lengths. [s]"""
    for length_s in lengths_s:
        print(f"\nwait of {length_s * 1e6:g} us, load {os.getloadavg()[0]:.1f}, {runnable()} runnable")
        own_s = 0.0
        for name, said in rows(length_s, rounds):
            spent_s = median(one.spent_s for one in said)
            own_s = own_s or spent_s
            bias = ", ".join(f"{100 * one.bias:+.3f}" for one in said)
            off = ", ".join(f"{100 * (one.reported_s / length_s - 1):+.3f}" for one in said)
            print(
                f"{name:22} adds {bias} %; reports {off} %; {spent_s:.2f} s, {spent_s / own_s:.2f} × ours",
                f"({said[-1].note})" if said[-1].note else "",
                flush=True,
            )


if __name__ == "__main__":
    if FOLDER in os.environ:
        beneath_pyperf(float(os.environ[LENGTH]))
    else:
        main()
