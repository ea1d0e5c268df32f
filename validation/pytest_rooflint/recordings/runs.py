"""Runs of stopwatches on one device: the request, the results, and what was left out for which reason."""

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, TypeVar

from rooflint.base.errors import RooflintError, extra
from rooflint.base.precision import precision, rate_unit
from rooflint.base.text import counted
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, SECONDS, format_quantity
from rooflint_measure.record import Gemm, Measurement, Network
from rooflint_measure.sensors.gpu import driver_version, old_driver
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches import anchors, gemm, numpy_process, products, stream, timing
from rooflint_measure.stopwatches.gemm import NoTimeError, NotMeasuredError, Peak
from rooflint_measure.stopwatches.products import Kernel

T = TypeVar("T")

NO_TORCH = f"torch is not installed; {extra('torch')}"
TURNS_S = 1.0
"""The fastest products of several libraries are timed in turn for so long. [s]"""


@dataclass(frozen=True)
class Request:
    """Options that all stopwatches of a run share."""

    device: str = "cpu"
    precisions: tuple[str, ...] = ()
    """If empty, all precisions that the libraries have."""
    libraries: tuple[str, ...] = ()
    threads: int = 0
    """0 leaves the choice to the libraries."""
    seconds: float = 10.0
    """For each figure, about half of it for the search of the best size. [s]"""
    energy_s: float = 0.0
    """A metered run after each figure. [s]"""
    budget_s: float = math.inf
    """For everything. [s]"""

    def wants(self, precision_: str, library: str) -> bool:
        """Whether a kernel is part of the request."""
        return (not self.precisions or precision_ in self.precisions) and (
            not self.libraries or library in self.libraries
        )


STEP_SPENT = "the time for this step was spent"
"""Why a figure of one step is left out, so that the next step has its time."""


class TimeOver(BaseException):  # an event, which no `except Exception` around a library may hold back
    """The time for everything is over in the middle of a figure."""


@contextmanager
def deadline(seconds: float, hung: Callable[[], None] = lambda: None, grace_s: float = 0.0) -> Iterator[None]:
    """Raise TimeOver in this thread after a time, wherever it is. [s]

    A call of a driver that does not return sees no exception: after the grace `hung` is called, in a thread of its own.
    """
    if math.isinf(seconds):
        yield
        return

    def over(*_: object) -> None:
        raise TimeOver

    watchdog = threading.Timer(seconds + grace_s, hung)
    watchdog.daemon = True
    before = signal.signal(signal.SIGALRM, over) if hasattr(signal, "SIGALRM") else None
    try:
        if before is not None:  # else nothing raises TimeOver, and calls that do return would be cut
            watchdog.start()
            signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        watchdog.cancel()
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@dataclass
class Results:
    """Measurements so far, and what was left out. A failure costs one figure, a dead device those that follow."""

    observer: Observer
    progress: Callable[[str], None] = lambda _: None
    """Called with the name of each measurement before it begins."""
    begin: Callable[[str], None] = lambda _: None
    """Called with the name of each figure before it is measured, in case that the run does not live to keep it."""
    tell: Callable[[str], None] | None = None
    """Called with a line for each figure when it is there."""
    keep: Callable[[str, Measurement | str | None], None] = lambda *_: None
    """Called with the name and the measurement, or the reason why there is none; None where it is to be tried again."""
    failing: Callable[[], str] = lambda: ""
    """Asked after an error: why the device cannot go on; empty where it can."""
    budget_s: float = math.inf
    """For everything; what would begin later is left out. [s]"""
    until_s: float = math.inf
    """Since the beginning, for this step; what would begin later is left out, and the next step goes on. [s]"""
    done: Collection[str] = ()
    """Names that an earlier run measured, or left out for good."""
    measurements: list[Measurement] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    """Why nothing more is measured."""
    doing: str = ""
    """What takes time of no figure just now, such as an import."""
    counting: bool = False
    """Whether figures are counted, and none is measured."""
    expected: set[str] = field(default_factory=set)
    """Names of all figures that will come."""
    settled: set[str] = field(default_factory=set)
    """Those that are measured, left out, or being measured."""
    tried: int = 0
    """How many were begun."""
    shared_s: float = 0.0
    """Spent on what several figures need, such as the search of a peak product. [s]"""
    ahead_s: float = 0.0
    """About how much of that is to come. [s]"""
    began_s: float = field(default_factory=time.perf_counter)

    @property
    def spent_s(self) -> float:
        """Since it began. [s]"""
        return time.perf_counter() - self.began_s

    def add(self, name: str, measured: Callable[[], Measurement]) -> None:
        """Measure, or keep the reason why that failed."""
        if self.counting:
            self.expected.add(name)
            return
        self.settled.add(name)
        if name in self.done:
            return
        if not self.stopped and self.spent_s > self.budget_s:
            self.stopped = self._spent
        if why := self.stopped or (STEP_SPENT if self.spent_s > self.until_s else ""):
            self.left_out[name] = why
            return
        self.tried += 1
        self.progress(name)
        self.begin(name)
        try:
            self._keep(name, measured())
        except NoTimeError as error:
            self._keep(name, str(error), again=True)
        except NotMeasuredError as error:  # also what a driver that fails says of a first call
            self.stopped = self.failing()
            self._keep(name, str(error))
        except (RuntimeError, MemoryError, OSError, RooflintError) as error:  # of a driver, an allocator, a sensor
            self.stopped = self.failing()
            self._keep(name, f"{type(error).__name__}: {gemm.first_line(error)}")
        except (KeyboardInterrupt, TimeOver) as error:
            self._cut(error)
            self.left_out[name] = self.stopped
            self.keep(name, None)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Around what takes time of no figure: it is shown, and told where the time ends in it."""
        self.doing = what
        self.progress(what)
        yield
        self.doing = ""  # not after an error, so that `_cut` knows

    def leave_out(self, names: Collection[str], why: str, what: str = "") -> None:
        """Settle several figures at once, none of which is measured; `what` names all of them."""
        self.left_out |= dict.fromkeys([what] if what else names, why)
        self.settled.update(names)
        if self.tell:
            self.tell(f"{self._place}{what or ', '.join(names)}: {why}")

    def in_steps(self, steps: Sequence[tuple[float, Callable[[], None]]]) -> None:
        """Run steps, each until a share of the time left is spent, so that none takes that of those that follow."""
        began_s = self.spent_s
        for share, step in steps:
            self.until_s = began_s + share * (self.budget_s - began_s)
            self.take(step)
        self.until_s = math.inf

    def tell_rest(self) -> None:
        """Say which figures had no time, or no device any more."""
        for why in filter(None, (STEP_SPENT, self.stopped)):
            names = [name for name, said in self.left_out.items() if said == why]
            if names and self.tell:
                self.tell(f"{counted(len(names), 'figure')} left out ({', '.join(names)}): {why}")

    def count(self, step: Callable[[], None]) -> None:
        """Count the figures of a step before any is measured, so that the total is known from the beginning."""
        self.counting = True
        try:
            step()
        finally:
            self.counting = False

    def take(self, step: Callable[[], None]) -> None:
        """Run a step; what fails outside of its figures, such as a search, ends it, and a dead device ends the run."""
        try:
            step()
        except (RuntimeError, MemoryError, OSError) as error:
            if self.counting:  # it fails again, and is told, when it measures
                return
            self.stopped = self.stopped or self.failing()  # an import that was cut fails when it is tried again
            name = "the rest" if self.stopped else f"a step after {counted(self.tried, 'figure')}"
            self.left_out[name] = self.stopped or f"{type(error).__name__}: {gemm.first_line(error)}"
        except (KeyboardInterrupt, TimeOver) as error:
            self._cut(error)
            rest = sorted(self.expected - self.settled) or ["the rest"]
            self.left_out |= dict.fromkeys(rest, self.stopped)

    def _cut(self, error: BaseException) -> None:
        last = f", the last of them on {self.doing}" if self.doing else ""
        self.stopped = f"{self._spent}{last}" if isinstance(error, TimeOver) else "interrupted"

    @property
    def _spent(self) -> str:
        return f"the {format_quantity(self.budget_s, SECONDS, digits=3)} for measuring were spent"

    def _keep(self, name: str, found: Measurement | str, *, again: bool = False) -> None:
        """Take a figure, or the reason why there is none; `again` where a resumed run is to try once more."""
        if isinstance(found, str):
            self.left_out[name] = found
        else:
            self.measurements.append(found)
            self.left_out.pop(name, None)  # an earlier try may have failed
        if again:
            self.keep(name, None)
        elif not self.stopped:  # what a dead device did not do is tried again, too
            self.keep(name, found)
        if self.tell:
            self.tell(f"{self._place}{name}: {found if isinstance(found, str) else figure(found)}{self._left}")

    @property
    def _place(self) -> str:
        """`[3/12] `: the total is that of the beginning, also where figures are left out."""
        return f"[{len(self.settled & self.expected)}/{len(self.expected)}] " if self.expected else ""

    @property
    def _left(self) -> str:
        """`; 3 min left`, at the pace so far, within the budget."""
        to_come = len(self.expected - self.settled)
        if not to_come:
            return ""
        pace_s = (self.spent_s - self.shared_s) / self.tried
        left_s = min(self.ahead_s + pace_s * to_come, self.budget_s - self.spent_s)
        return f"; {minutes(max(left_s, 0.0))} left"


def minutes(seconds: float) -> str:
    """`40 s`, `12 min`."""
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def budget_text(seconds: float) -> str:
    """A value for --budget that has room for so many seconds: `5m`.

    In steps of 10 s, from 2 minutes on of a minute, and from 20 on of ten, so that few lines name many runs.
    """
    for least_s, step_s in ((1200, 600), (120, 60)):
        if seconds > least_s:
            return f"{math.ceil(seconds / step_s) * step_s // 60}m"
    return f"{max(10, 10 * math.ceil(seconds / 10))}s"


def figure(row: Measurement) -> str:
    """The figure of a measurement in a few words: a latency and a rate."""
    latency = format_quantity(row.samples.median_s, SECONDS)
    unit = rate_unit(row.subject.precision) if isinstance(row.subject, Gemm | Network) else ""
    if row.ops_per_s:
        return f"{latency}, {format_quantity(row.ops_per_s, OPS_PER_S, unit=unit)}"
    return f"{latency}, {format_quantity(row.bytes_per_s, BYTES_PER_S)}" if row.bytes_per_s else latency


def prepare(request: Request) -> None:
    """Set the device and the threads that torch uses. Raises RooflintError for a device that does not exist."""
    device, threads = request.device, request.threads
    kind, _, number = device.partition(":")
    if device not in ("cpu", "mps") and (kind != "cuda" or (number and not number.isdecimal())):
        raise RooflintError(f"--device: want cpu, cuda, cuda:1 or mps, found '{device}'")
    if not products.has_torch():
        if device != "cpu":
            raise RooflintError(f"--device {device}: {NO_TORCH}")
        return
    if device == "cpu" and not threads:
        return
    import torch  # noqa: PLC0415  # only where torch is measured

    if device == "mps" and not torch.backends.mps.is_available():
        raise RooflintError(f"--device mps: torch {torch.__version__} sees no Metal device")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            old = "" if count else old_driver(driver_version(), torch.version.cuda)
            because = f"; {old}" if old else ""
            raise RooflintError(
                f"--device {device}: torch {torch.__version__} sees {count or 'no'} CUDA devices{because}"
            )
        torch.cuda.set_device(int(number or 0))
    if threads:
        torch.set_num_threads(threads)


def failing(request: Request) -> str:
    """Why a device cannot go on after an error; empty where it can, and for a CPU."""
    if not request.device.startswith("cuda"):
        return ""
    torch = products.import_torch()
    try:
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    except RuntimeError as error:  # an error of a kernel stays with the context until the process ends
        return f"the device no longer answers: {gemm.first_line(error)}"
    return ""


def shared(request: Request, results: Results) -> Request:
    """The same with shorter figures, where all that are expected have no time for the length that was asked for."""
    each_s = results.budget_s / (2 * len(results.expected) or 1)
    return replace(request, seconds=min(request.seconds, max(1.0, each_s)))


def waits(request: Request, wanted_s: Iterable[float], results: Results) -> None:
    """Busy-waits of known length."""
    plan = gemm.plan_of(request.seconds / 2)
    for seconds in wanted_s:
        results.add(
            f"wait {seconds * 1e6:g} µs", partial(timing.measured_wait, seconds, observer=results.observer, plan=plan)
        )


def gemms(request: Request, results: Results) -> None:
    """The peak of every library in every requested precision."""
    every = products.kernels(request.device)
    kernels = [one for one in every if request.wants(one.precision, one.library)]
    for name in request.precisions:
        if not any(one.precision == precision(name).name for one in kernels):
            results.left_out[f"gemm {name}"] = "no installed library among the requested ones multiplies in it here"
    if not products.has_torch():
        results.left_out["gemm of torch"] = NO_TORCH
    probes = _Probes([one for one in every if one.precision == "fp32"])  # the reference, also where it is not requested
    for kernel in kernels:
        results.add(f"gemm {kernel.name}", partial(_gemm, request, kernel, probes, results.observer))


class _Probes:
    """Rates of small products, each computed when it is needed."""

    def __init__(self, fp32: Sequence[Kernel]) -> None:
        self._fp32 = fp32
        self._rates: dict[str, float] = {}

    def of(self, kernel: Kernel) -> float:
        """[op/s]. Raises NotMeasuredError where it does not run."""
        if kernel.name not in self._rates:
            self._rates[kernel.name] = gemm.probe(kernel)
        return self._rates[kernel.name]

    @cached_property
    def fp32(self) -> float | None:
        """Of the fastest library, beside which a precision is emulated; None where none runs. [op/s]"""
        return max((rate for one in self._fp32 if (rate := tried([], partial(self.of, one)))), default=None)


def _gemm(request: Request, kernel: Kernel, probes: _Probes, observer: Observer) -> Measurement:
    gemm.refuse_emulated(kernel, probes.of(kernel), probes.fp32)
    plan, search_s = gemm.plan_of(request.seconds / 2), request.seconds / 2
    if kernel.own_process:
        return numpy_process.measured(
            kernel.precision, plan=plan, search_s=search_s, energy_s=request.energy_s, threads=request.threads
        )
    found = gemm.peak(kernel, search_s=search_s)
    return gemm.measured(kernel, observer=observer, plan=plan, energy_s=request.energy_s, found=found)


def streams(request: Request, results: Results, cache_bytes: int | None = None) -> None:
    """Bandwidth of every kernel and library."""
    plan = gemm.plan_of(request.seconds / 2)
    measured = partial(
        stream.measured, observer=results.observer, plan=plan, energy_s=request.energy_s, cache=cache_bytes
    )
    for one in stream.passes(request.device):
        if not request.libraries or one.library in request.libraries:
            results.add(f"stream {one.name}", partial(measured, one))
    if request.device == "cpu":
        results.left_out |= {f"stream {name}": why for name, why in stream.LEFT_OUT.items()}
    if not products.has_torch():
        results.left_out["stream of torch"] = NO_TORCH


def launches(request: Request, results: Results) -> None:
    """What it takes to start an op: in a row, and on a GPU as a kernel of a graph."""
    if not products.has_torch():
        results.left_out["launches"] = NO_TORCH
        return
    ways: tuple[Literal["stream", "graph"], ...] = (
        ("stream", "graph") if request.device.startswith("cuda") else ("stream",)
    )
    plan = gemm.plan_of(min(request.seconds / 2, 3.0))
    for way in ways:
        one = partial(anchors.launches, way, request.device, observer=results.observer, plan=plan)
        results.add(f"launch {way}", one)


def gpu_anchors(request: Request, results: Results) -> None:
    """The products that `rooflint calibrate device` reads, of GPUs only; in the native precision by default."""
    if not request.device.startswith("cuda"):
        return
    plan = gemm.plan_of(request.seconds / 2)
    measured = partial(anchors.measured, device=request.device, observer=results.observer, plan=plan)
    for name in request.precisions or (anchors.native(request.device),):
        if name not in anchors.DTYPES:
            results.left_out[f"anchors in {name}"] = (
                f"want {' or '.join(anchors.DTYPES)}, which kernel times are fitted to"
            )
            continue
        for kind, shapes in anchors.ANCHORS.items():
            for shape in shapes:
                results.add(f"{kind} {name} {'x'.join(map(str, shape))}", partial(measured, shape, name))


def reference_s(request: Request, name: str) -> float:
    """About how long `reference` takes. [s]"""
    every = _candidates(request, name)
    able = sum(one.precision == name for one in every)
    probes_s = len(every) * len(gemm.PROBE_SIZES) * gemm.PROBE_S
    return probes_s + able * gemm.peak_s(request.seconds / 2) + TURNS_S * (able > 1)


def _candidates(request: Request, name: str) -> list[Kernel]:
    """What multiplies in a precision, and in fp32, within this process."""
    every = (one for one in products.kernels(request.device) if not one.own_process)
    return [one for one in every if one.precision in ("fp32", name)]


def fp32_ops_per_s(request: Request, measured: Iterable[Measurement]) -> float:
    """The rate in fp32 that a plan reckons with: of a product that was measured, else of a small one; inf without any.

    [op/s]
    """
    known = (one for one in measured if isinstance(one.subject, Gemm) and one.subject.precision == "fp32")
    rates = [rate for one in known if (rate := one.ops_per_s)]
    if not rates:
        small = (tried([], partial(gemm.probe, one)) for one in _candidates(request, "fp32"))
        rates = [rate for rate in small if rate]
    return max(rates, default=math.inf)


def reference(request: Request, name: str) -> Peak:
    """The fastest product in this process, of any native library. Raises NotMeasuredError if there is none."""
    every = _candidates(request, name)
    reasons: list[str] = []
    probed = ((one, tried(reasons, partial(gemm.probe, one))) for one in every)
    rates = {one.name: rate for one, rate in probed if rate}
    fp32 = max((rate for one, rate in rates.items() if one.startswith("fp32 ")), default=None)

    def native(kernel: Kernel) -> Peak:
        gemm.refuse_emulated(kernel, rates[kernel.name], fp32)
        return gemm.peak(kernel, search_s=request.seconds / 2)

    able = [one for one in every if one.precision == name and one.name in rates]
    peaks = [found for one in able if (found := tried(reasons, partial(native, one)))]
    if not peaks:
        raise NotMeasuredError("; ".join(reasons) or f"no installed library multiplies in {name} here")
    if len(peaks) == 1:
        return peaks[0]
    turns = timing.take_in_turn([one.call for one in peaks], clock=peaks[0].clock, plan=gemm.plan_of(TURNS_S))
    return max(zip(peaks, turns, strict=True), key=lambda pair: pair[0].subject.macs / pair[1].best_s)[0]


def tried(reasons: list[str], do: Callable[[], T]) -> T | None:
    """The result, or None and one more reason."""
    try:
        return do()
    except NotMeasuredError as error:
        reasons.append(str(error))
        return None
