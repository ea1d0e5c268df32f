"""Runs of stopwatches on one device: what was asked for, what was measured, what was left out and why."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from rooflint.base.errors import RooflintError
from rooflint.base.precision import precision
from rooflint_measure.record.measurement import Measurement, Unavailable
from rooflint_measure.stopwatches import anchors, apart, caches, gemm, network, products, stream, wait
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak
from rooflint_measure.stopwatches.products import Kernel
from rooflint_measure.stopwatches.session import Observer
from rooflint_measure.stopwatches.timing import take_in_turn

T = TypeVar("T")

NO_TORCH = "torch is not installed (pip install 'rooflint[torch]')"
TAKEN = ("classification", "segmentation", "video")
"""Families of torchvision whose networks take one batch of pictures or clips."""


@dataclass(frozen=True)
class Asked:
    """What all stopwatches of a run share."""

    device: str = "cpu"
    precisions: tuple[str, ...] = ()
    """All that the libraries have where none is named."""
    libraries: tuple[str, ...] = ()
    threads: int = 0
    """As the libraries choose where it is 0."""
    seconds: float = 10.0
    """For each figure, about half of it for the search of the best size. [s]"""
    energy_s: float = 0.0
    """A metered run after each figure. [s]"""

    def wants(self, precision_: str, library: str) -> bool:
        """Whether a kernel was asked for."""
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
class Taken:
    """What a run has brought so far."""

    observer: Observer
    say: Callable[[str], None] = lambda _: None
    """Told what begins."""
    measurements: list[Measurement] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, measured: Callable[[], Measurement]) -> None:
        """Measure, or keep the reason why not."""
        self.say(name)
        try:
            self.measurements.append(measured())
        except NotMeasuredError as error:
            self.left_out[name] = str(error)


def prepare(asked: Asked) -> None:
    """Set the threads that a library takes while it runs. Raises RooflintError for a device that is not there."""
    if asked.device != "cpu":
        _check_cuda(asked.device)
    if asked.threads and products.has_torch():
        import torch  # noqa: PLC0415  # only where torch is measured

        torch.set_num_threads(asked.threads)


def _check_cuda(device: str) -> None:
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdecimal()):
        raise RooflintError(f"--device: want cpu, cuda or cuda:1, found '{device}'")
    if not products.has_torch():
        raise RooflintError(f"--device {device}: {NO_TORCH}")
    import torch  # noqa: PLC0415  # only where torch is measured

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise RooflintError(f"--device {device}: torch {torch.__version__} sees {count or 'no'} CUDA devices")
    torch.cuda.set_device(int(number or 0))


def waits(asked: Asked, wanted_s: Iterable[float], taken: Taken) -> None:
    """Busy-waits of known length."""
    plan = gemm.plan_of(asked.seconds / 2)
    for seconds in wanted_s:
        taken.take(f"wait {seconds * 1e6:g} us", partial(wait.measured, seconds, observer=taken.observer, plan=plan))


def gemms(asked: Asked, taken: Taken) -> None:
    """The peak of every library in every precision that was asked for."""
    every = products.kernels(asked.device)
    kernels = [one for one in every if asked.wants(one.precision, one.library)]
    for name in asked.precisions:
        if not any(one.precision == precision(name).name for one in kernels):
            taken.left_out[f"gemm {name}"] = "no installed library that was asked for multiplies in it here"
    if not products.has_torch():
        taken.left_out["gemm of torch"] = NO_TORCH
    rates = {one.name: rate for one in kernels if (rate := _probed(one, taken))}
    for one in every:
        if one.precision == "fp32" and one not in kernels:  # not asked for, but what others are held against
            with suppress(NotMeasuredError):
                rates[one.name] = gemm.probe(one)
    fp32 = max((rate for one, rate in rates.items() if one.startswith("fp32 ")), default=None)
    for kernel in kernels:
        if kernel.name in rates:
            rate = rates[kernel.name]
            taken.take(f"gemm {kernel.name}", partial(_gemm, asked, kernel, rate, fp32, taken.observer))


def _probed(kernel: Kernel, taken: Taken) -> float | None:
    """Rate of a small product, or a reason that is kept. [op/s]"""
    try:
        return gemm.probe(kernel)
    except NotMeasuredError as error:
        taken.left_out[f"gemm {kernel.name}"] = str(error)
        return None


def _gemm(asked: Asked, kernel: Kernel, rate: float, fp32_rate: float | None, observer: Observer) -> Measurement:
    gemm.refuse_emulated(kernel, rate, fp32_rate)
    plan, search_s = gemm.plan_of(asked.seconds / 2), asked.seconds / 2
    if kernel.loaded:
        return apart.measured_apart(
            kernel.precision, plan=plan, search_s=search_s, energy_s=asked.energy_s, threads=asked.threads
        )
    found = gemm.peak(kernel, search_s=search_s)
    return gemm.measured(kernel, observer=observer, plan=plan, energy_s=asked.energy_s, found=found)


def streams(asked: Asked, taken: Taken, cache_bytes: int | None = None) -> None:
    """Bandwidth of every kernel and library."""
    plan = gemm.plan_of(asked.seconds / 2)
    measured = partial(stream.measured, observer=taken.observer, plan=plan, energy_s=asked.energy_s, cache=cache_bytes)
    for one in stream.passes(asked.device):
        if not asked.libraries or one.library in asked.libraries:
            taken.take(f"stream {one.name}", partial(measured, one))
    if asked.device == "cpu":
        taken.left_out |= {f"stream {name}": why for name, why in stream.LEFT_OUT.items()}
    if not products.has_torch():
        taken.left_out["stream of torch"] = NO_TORCH


def anchored(asked: Asked, taken: Taken) -> None:
    """The products that `rooflint calibrate device` reads, natively unless asked otherwise; of GPUs alone."""
    if asked.device == "cpu":
        return
    plan = gemm.plan_of(asked.seconds / 2)
    measured = partial(anchors.measured, device=asked.device, observer=taken.observer, plan=plan)
    for name in asked.precisions or (anchors.native(asked.device),):
        if name not in anchors.DTYPES:
            taken.left_out[f"anchors in {name}"] = f"want {' or '.join(anchors.DTYPES)}, which silicon is fitted to"
            continue
        for kind, shapes in anchors.ANCHORS.items():
            for shape in shapes:
                taken.take(f"{kind} {name} {'x'.join(map(str, shape))}", partial(measured, shape, name))


def networks(asked: Asked, sweep: Sweep, taken: Taken) -> None:
    """Networks of torchvision at every batch in every precision, each in turn with the peak product."""
    if not products.has_torch():
        taken.left_out |= {f"network {name}": NO_TORCH for name in sweep.names}
        return
    flush = _flushed(asked.device) if sweep.flush else 0
    for name in asked.precisions or ("fp32",):
        if name not in network.DTYPES:
            known = ", ".join(network.DTYPES)
            taken.left_out[f"networks in {name}"] = f"want one of {known}; another precision is another network"
            continue
        setting = network.Setting(
            precision=name,
            device=asked.device,
            channels_last=sweep.channels_last,
            compiled=sweep.compiled,
            graph=sweep.graph,
            flush_bytes=flush,
        )
        _in_precision(asked, sweep, setting, taken)


def _in_precision(asked: Asked, sweep: Sweep, setting: network.Setting, taken: Taken) -> None:
    try:
        taken.say(f"reference product in {setting.precision}")
        reference = _reference(asked, setting.precision)
    except NotMeasuredError as error:
        taken.left_out |= {f"network {name} {setting.precision}": str(error) for name in sweep.names}
        return
    for name in sweep.names:
        for batch in sweep.batches:
            run = partial(_network, asked, name, replace(setting, batch=batch), reference, taken.observer)
            taken.take(f"network {name} {setting.precision} b{batch}", run)


def _network(asked: Asked, name: str, setting: network.Setting, reference: Peak, observer: Observer) -> Measurement:
    known = picture_network(name, setting.batch)
    return network.measured(
        name,
        known.module,
        known.shape,
        known.macs,
        setting,
        observer=observer,
        plan=gemm.plan_of(asked.seconds),
        reference=reference,
        energy_s=asked.energy_s,
    )


@dataclass(frozen=True)
class Pictured:
    """A network of torchvision at a batch."""

    module: Callable[[], Any]
    """Makes it, with random weights."""
    shape: tuple[int, ...]
    """Of its input, batch first."""
    macs: int
    """Of the whole batch, as captured. [MAC]"""


def picture_network(name: str, batch: int) -> Pictured:
    """A network that takes pictures or clips. Raises NotMeasuredError for one that takes something else."""
    from rooflint.networks.capture import torchvision_networks as known  # noqa: PLC0415  # needs torch
    from rooflint.networks.capture.torchvision_import import import_torchvision  # noqa: PLC0415
    from rooflint.networks.load import network as tabled  # noqa: PLC0415

    kind = known.family(name)
    if kind not in TAKEN:
        raise NotMeasuredError(f"{kind}: only {', '.join(TAKEN)} are timed, which take one batch of pictures or clips")

    def module() -> Any:
        return import_torchvision().models.get_model(name, weights=None)

    return Pictured(module, (batch, *known.input_shape(name)[1:]), tabled(name).at_batch(batch).total_macs)


def _reference(asked: Asked, name: str) -> Peak:
    """The fastest product in this process, of whatever library does it natively. Raises NotMeasuredError for none."""
    every = [one for one in products.kernels(asked.device) if not one.loaded]
    reasons: list[str] = []
    probed = ((one, _unless(reasons, partial(gemm.probe, one))) for one in every if one.precision in ("fp32", name))
    rates = {one.name: rate for one, rate in probed if rate}
    fp32 = max((rate for one, rate in rates.items() if one.startswith("fp32 ")), default=None)

    def native(kernel: Kernel) -> Peak:
        gemm.refuse_emulated(kernel, rates[kernel.name], fp32)
        return gemm.peak(kernel, search_s=asked.seconds / 2)

    able = [one for one in every if one.precision == name and one.name in rates]
    peaks = [found for one in able if (found := _unless(reasons, partial(native, one)))]
    if not peaks:
        raise NotMeasuredError("; ".join(reasons) or f"no installed library multiplies in {name} here")
    turns = take_in_turn([one.call for one in peaks], clock=peaks[0].clock, plan=gemm.plan_of(1.0))
    return max(zip(peaks, turns, strict=True), key=lambda pair: pair[0].subject.macs / pair[1].best_s)[0]


def _unless(reasons: list[str], do: Callable[[], T]) -> T | None:
    """What it brings, or a reason more and nothing."""
    try:
        return do()
    except NotMeasuredError as error:
        reasons.append(str(error))
        return None


def _flushed(device: str) -> int:
    known = caches.last_level_bytes() if device == "cpu" else stream.cache_bytes(device)
    if isinstance(known, Unavailable):
        raise RooflintError(f"--flush: the size of the last-level cache is {known}")
    return known
