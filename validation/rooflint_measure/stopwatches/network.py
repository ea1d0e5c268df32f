"""Latency of a network as a caller measures it, in turn with the peak product of the same precision.

The network is a module, its MACs are a number: counting them needs the model, which this stopwatch does not know.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rooflint_measure.record import Measurement, Network, Unavailable
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches.clocks import Call, Clock, EventClock, FlushedHostClock, flusher, graphed
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak, clock_of, first_line
from rooflint_measure.stopwatches.products import SEED, import_torch
from rooflint_measure.stopwatches.timing import Plan, measure

DTYPES = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""By precision of the arithmetic. int8 is another network, whose layers were quantized."""

FLUSHED = Unavailable(reason="caches were emptied before each call, and a meter counts that, too")


@dataclass(frozen=True)
class Setting:
    """How a network is run."""

    batch: int = 1
    precision: str = "fp32"
    device: str = "cpu"
    channels_last: bool = False
    compiled: bool = False
    graph: bool = False
    """Replay as a CUDA graph."""
    flush_bytes: int = 0
    """A cache of that size is emptied before each call; 0 for none. [B]"""


def measured(
    name: str,
    module: Callable[[], Any],
    shape: tuple[int, ...],
    macs: int,
    setting: Setting,
    *,
    observer: Observer,
    plan: Plan | None = None,
    reference: Peak | None = None,
    energy_s: float = 0.0,
) -> Measurement:
    """An inference of a network on random input of that shape, batch first.

    `module` makes the network, which is put into eval mode and keeps its weights; `macs` are of the whole batch [MAC];
    `reference` is timed in turn; a metered run of `energy_s` follows, 0 for none [s].

    Raises NotMeasuredError where this machine cannot run it so.
    """
    found = measure(
        subject(name, macs, setting),
        prepared(module, shape, setting),
        observer=observer,
        plan=plan,
        clock=_clock(setting),
        reference=(reference.subject, reference.call) if reference else None,
        energy_s=0.0 if setting.flush_bytes else energy_s,
        details={"input": "x".join(map(str, shape)), "flushed_bytes": setting.flush_bytes},
    )
    return found.model_copy(update={"energy": FLUSHED}) if setting.flush_bytes and energy_s else found


def subject(name: str, macs: int, setting: Setting) -> Network:
    """The subject of a recording."""
    return Network(
        name=name,
        batch=setting.batch,
        precision=setting.precision,
        library="torch",
        layout="channels_last" if setting.channels_last else "contiguous",
        compiled=setting.compiled,
        graph=setting.graph,
        macs=macs,
    )


def prepared(module: Callable[[], Any], shape: tuple[int, ...], setting: Setting) -> Call:
    """The network, ready to be called: eval and inference mode, random input. Raises NotMeasuredError."""
    torch = import_torch()
    if setting.precision not in DTYPES:
        raise NotMeasuredError(f"a network runs in {', '.join(DTYPES)}; {setting.precision} would be another network")
    if setting.graph and setting.device == "cpu":
        raise NotMeasuredError("graphs are replayed on CUDA devices only")
    _fix_math(setting)
    torch.manual_seed(SEED)
    dtype = getattr(torch, DTYPES[setting.precision])
    layout = torch.channels_last if setting.channels_last else torch.contiguous_format
    try:
        network = module().eval().to(device=setting.device, dtype=dtype, memory_format=layout)
        draw = torch.randn(shape, device=setting.device).to(dtype=dtype, memory_format=layout)
        run = torch.compile(network) if setting.compiled else network
        call = _inference(run, draw)
        call()
        return graphed(call, torch.cuda) if setting.graph else call
    except Exception as error:  # a compiler, a backend and a driver each raise their own
        raise NotMeasuredError(_first_line(error)) from error


def _inference(run: Callable[[Any], object], draw: Any) -> Call:
    torch = import_torch()

    def call() -> object:
        with torch.inference_mode():
            return run(draw)

    return call


def _fix_math(setting: Setting) -> None:
    """Say whether fp32 may be rounded to tf32, for products and for convolutions alike."""
    torch = import_torch()
    rounded = setting.precision == "tf32"
    if rounded and setting.device == "cpu":
        raise NotMeasuredError("a CPU has no tf32")
    torch.set_float32_matmul_precision("high" if rounded else "highest")
    if setting.device != "cpu":
        torch.backends.cudnn.allow_tf32 = rounded


def _clock(setting: Setting) -> Clock:
    if not setting.flush_bytes:
        return clock_of(setting.device)
    if setting.device == "cpu":
        return FlushedHostClock(flusher(setting.flush_bytes))
    return EventClock(import_torch().cuda, _flusher(setting.flush_bytes, setting.device))


def _flusher(cache_bytes: int, device: str) -> Call:
    """Reads and writes twice as much as the cache of a device holds."""
    much = import_torch().ones(2 * cache_bytes // 4, device=device)
    return lambda: much.add_(1.0)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"
