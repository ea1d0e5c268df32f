"""Runs of stopwatches on one device: the request, the results, and what was left out for which reason."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision
from rooflint.workloads import load
from rooflint_measure.identity import last_level_bytes
from rooflint_measure.record import Measurement, Unavailable
from rooflint_measure.sensors.gpu import driver_version, old_driver
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches import anchors, gemm, network, numpy_process, products, stream, timing
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak
from rooflint_measure.stopwatches.products import Kernel

T = TypeVar("T")

NO_TORCH = "torch is not installed (pip install 'rooflint[torch]')"
FAMILIES = ("classification", "segmentation", "video")
"""Families of torchvision whose input is one batch of images or clips."""


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

    def wants(self, precision_: str, library: str) -> bool:
        """Whether a kernel is part of the request."""
        return (not self.precisions or precision_ in self.precisions) and (
            not self.libraries or library in self.libraries
        )


@dataclass(frozen=True)
class Sweep:
    """Networks, and how each is run."""

    names: tuple[str, ...]
    batches: tuple[int, ...] = (1,)
    channels_last: bool = False
    compiled: bool = False
    graph: bool = False
    flush: bool = False


@dataclass
class Results:
    """Measurements so far, and what was left out."""

    observer: Observer
    progress: Callable[[str], None] = lambda _: None
    """Called with the name of each measurement before it begins."""
    measurements: list[Measurement] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, measured: Callable[[], Measurement]) -> None:
        """Measure, or keep the reason why that failed."""
        self.progress(name)
        try:
            self.measurements.append(measured())
        except NotMeasuredError as error:
            self.left_out[name] = str(error)


def prepare(request: Request) -> None:
    """Set the device and the threads that torch uses. Raises RooflintError for a device that does not exist."""
    device, threads = request.device, request.threads
    kind, _, number = device.partition(":")
    if device != "cpu" and (kind != "cuda" or (number and not number.isdecimal())):
        raise RooflintError(f"--device: want cpu, cuda or cuda:1, found '{device}'")
    if not products.has_torch():
        if device != "cpu":
            raise RooflintError(f"--device {device}: {NO_TORCH}")
        return
    if device == "cpu" and not threads:
        return
    import torch  # noqa: PLC0415  # only where torch is measured

    if device != "cpu":
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


def waits(request: Request, wanted_s: Iterable[float], results: Results) -> None:
    """Busy-waits of known length."""
    plan = gemm.plan_of(request.seconds / 2)
    for seconds in wanted_s:
        results.add(
            f"wait {seconds * 1e6:g} us", partial(timing.measured_wait, seconds, observer=results.observer, plan=plan)
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
    rates = {one.name: rate for one in kernels if (rate := _probed(one, results))}
    for one in every:
        if one.precision == "fp32" and one not in kernels:  # not requested, but the reference for others
            with suppress(NotMeasuredError):
                rates[one.name] = gemm.probe(one)
    fp32 = max((rate for one, rate in rates.items() if one.startswith("fp32 ")), default=None)
    for kernel in kernels:
        if kernel.name in rates:
            rate = rates[kernel.name]
            results.add(f"gemm {kernel.name}", partial(_gemm, request, kernel, rate, fp32, results.observer))


def _probed(kernel: Kernel, results: Results) -> float | None:
    """Rate of a small product, or a reason that is kept. [op/s]"""
    try:
        return gemm.probe(kernel)
    except NotMeasuredError as error:
        results.left_out[f"gemm {kernel.name}"] = str(error)
        return None


def _gemm(request: Request, kernel: Kernel, rate: float, fp32_rate: float | None, observer: Observer) -> Measurement:
    gemm.refuse_emulated(kernel, rate, fp32_rate)
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


def gpu_anchors(request: Request, results: Results) -> None:
    """The products that `rooflint calibrate device` reads, of GPUs only; in the native precision by default."""
    if request.device == "cpu":
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


def networks(request: Request, sweep: Sweep, results: Results) -> None:
    """Networks of torchvision at every batch in every precision, each in turn with the peak product."""
    if not products.has_torch():
        results.left_out |= {f"network {name}": NO_TORCH for name in sweep.names}
        return
    flush = _flushed(request.device) if sweep.flush else 0
    for name in request.precisions or ("fp32",):
        if name not in network.DTYPES:
            known = ", ".join(network.DTYPES)
            results.left_out[f"networks in {name}"] = (
                f"want one of {known}; in another precision it would be another network"
            )
            continue
        setting = network.Setting(
            precision=name,
            device=request.device,
            channels_last=sweep.channels_last,
            compiled=sweep.compiled,
            graph=sweep.graph,
            flush_bytes=flush,
        )
        _in_precision(request, sweep, setting, results)


def _in_precision(request: Request, sweep: Sweep, setting: network.Setting, results: Results) -> None:
    try:
        results.progress(f"reference product in {setting.precision}")
        reference = _reference(request, setting.precision)
    except NotMeasuredError as error:
        results.left_out |= {f"network {name} {setting.precision}": str(error) for name in sweep.names}
        return
    for name in sweep.names:
        for batch in sweep.batches:
            run = partial(_network, request, name, replace(setting, batch=batch), reference, results.observer)
            results.add(f"network {name} {setting.precision} b{batch}", run)


def _network(request: Request, name: str, setting: network.Setting, reference: Peak, observer: Observer) -> Measurement:
    return network.measured(
        name,
        *vision_network(name, setting.batch),
        setting,
        observer=observer,
        plan=gemm.plan_of(request.seconds),
        reference=reference,
        energy_s=request.energy_s,
    )


def vision_network(name: str, batch: int) -> tuple[Callable[[], Any], tuple[int, ...], int]:
    """What makes a network of random weights, the shape of its input (batch first), and its captured work. [MAC]

    Raises NotMeasuredError for a network whose input is not one batch of images or clips.
    """
    from rooflint.workloads.capture import torchvision_networks  # noqa: PLC0415  # it needs torch

    kind = torchvision_networks.family(name)
    if kind not in FAMILIES:
        raise NotMeasuredError(
            f"{kind}: only {', '.join(FAMILIES)} are timed, whose input is one batch of images or clips"
        )

    def module() -> Any:
        return torchvision_networks.import_torchvision().models.get_model(name, weights=None)

    shape = (batch, *torchvision_networks.input_shape(name)[1:])
    return module, shape, load.network(name).at_batch(batch).total_macs


def _reference(request: Request, name: str) -> Peak:
    """The fastest product in this process, of any native library. Raises NotMeasuredError if there is none."""
    every = [one for one in products.kernels(request.device) if not one.own_process]
    reasons: list[str] = []
    probed = ((one, _try(reasons, partial(gemm.probe, one))) for one in every if one.precision in ("fp32", name))
    rates = {one.name: rate for one, rate in probed if rate}
    fp32 = max((rate for one, rate in rates.items() if one.startswith("fp32 ")), default=None)

    def native(kernel: Kernel) -> Peak:
        gemm.refuse_emulated(kernel, rates[kernel.name], fp32)
        return gemm.peak(kernel, search_s=request.seconds / 2)

    able = [one for one in every if one.precision == name and one.name in rates]
    peaks = [found for one in able if (found := _try(reasons, partial(native, one)))]
    if not peaks:
        raise NotMeasuredError("; ".join(reasons) or f"no installed library multiplies in {name} here")
    turns = timing.take_in_turn([one.call for one in peaks], clock=peaks[0].clock, plan=gemm.plan_of(1.0))
    return max(zip(peaks, turns, strict=True), key=lambda pair: pair[0].subject.macs / pair[1].best_s)[0]


def _try(reasons: list[str], do: Callable[[], T]) -> T | None:
    """The result, or None and one more reason."""
    try:
        return do()
    except NotMeasuredError as error:
        reasons.append(str(error))
        return None


def _flushed(device: str) -> int:
    known = last_level_bytes() if device == "cpu" else stream.cache_bytes(device)
    if isinstance(known, Unavailable):
        raise RooflintError(f"--flush: the size of the last-level cache is {known}")
    return known
