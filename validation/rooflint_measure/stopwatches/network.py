"""Latency of a network as a caller measures it, in turn with the peak product of the same precision.

The network is a module with its inputs, its MACs and bytes are numbers: counting them needs the model, which this
stopwatch does not know.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import chain
from statistics import median
from time import perf_counter
from typing import Any

from rooflint.base.units import BYTES, format_quantity
from rooflint_measure.record import Measurement, Memory, Network, Transfers, Unavailable
from rooflint_measure.sensors.host import available_bytes, held_bytes, resident_peak
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches import traffic
from rooflint_measure.stopwatches.clocks import Call, Clock, EventClock, FlushedHostClock, flusher, graphed
from rooflint_measure.stopwatches.gemm import NoTimeError, NotMeasuredError, Peak, clock_of, first_line
from rooflint_measure.stopwatches.products import SEED, import_torch
from rooflint_measure.stopwatches.timing import Plan, measure

DTYPES = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""By precision of the arithmetic."""

QUANTIZED = {"int8": "float32", "int4": "bfloat16"}
"""Precisions of weights that were quantized, with the type of what is not. Each makes another network."""

INT4_MULTIPLES = (128, 16)
"""Inputs and outputs of a linear layer that torchao packs into 4 bit: a group, and a tile of the kernel. [1]"""

ATTENTION = {"math": "MATH", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
"""Backends of scaled_dot_product_attention, as torch calls them."""

MODES = ("eager", "compile", "graph", "channels_last", "cudnn_benchmark", "no_grad", "high_priority")
"""How a network may be run; `eager` is none of the others. Joined by `+`, with `attention=BACKEND`."""

FEWEST = 9
"""Calls of a network, however long they take: warm-up, samples, metering, memory and outputs. [1]"""

BYTES_BUILT = 4
"""A network is built on the CPU, in fp32. [B]"""

COPIES = 9
"""How often the inputs and the outputs of a call are copied. [1]"""

FLUSHED = Unavailable(reason="caches were emptied before each call, and a meter counts that, too")


@dataclass(frozen=True)
class Model:
    """A network that can be called, and its work."""

    name: str
    make: Callable[[], Any]
    """Its module, on the CPU, in fp32."""
    inputs: tuple[Any, ...]
    """Batch first: tensors, or containers of them. Numbers with a point are cast to the precision, ids are not."""
    macs: int
    """Of the whole batch. [MAC]"""
    named: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that are passed by name."""
    bytes_of: Callable[[str], float] | None = None
    """Bytes that a call reads and writes at least, in a precision, as the model counts them. [B]"""
    tokens: int | None = None
    """New tokens of each sequence, of a language model."""
    past: int = 0
    is_quantized: bool = False
    """Whether `make` gives a network in int8 already."""
    weights: float = 0.0
    """Numbers that it is built of. [1]"""


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
    cudnn_benchmark: bool = False
    """Let cuDNN try its convolutions."""
    no_grad: bool = False
    """`torch.no_grad` in place of inference mode."""
    high_priority: bool = False
    """On a CUDA stream of high priority."""
    attention: str = ""
    """A key of ATTENTION; empty leaves the choice to torch."""


def mode(words: str) -> dict[str, Any]:
    """Settings of `compile+channels_last`, `attention=flash`. Raises NotMeasuredError for other words."""
    found: dict[str, Any] = {}
    for word in words.split("+"):
        name, _, backend = word.partition("=")
        if name == "attention" and backend in ATTENTION:
            found["attention"] = backend
        elif word in MODES:
            found |= {} if word == "eager" else {"compiled" if word == "compile" else word: True}
        else:
            raise NotMeasuredError(
                f"want {', '.join(MODES)} or attention={'|'.join(ATTENTION)}, joined by '+'; found '{word}'"
            )
    return found


def modes(device: str) -> tuple[str, ...]:
    """Those that a kind of device has, the quickest to prepare first."""
    cuda = device.partition(":")[0] == "cuda"
    only = ("graph", "cudnn_benchmark", "high_priority", "attention=flash") if cuda else ()
    return ("eager", "channels_last", "no_grad", "attention=math", *only, "compile")


def measured(
    model: Model,
    setting: Setting,
    *,
    observer: Observer,
    plan: Plan | None = None,
    reference: Peak | None = None,
    energy_s: float = 0.0,
    left_s: float = math.inf,
    counters: bool = False,
) -> Measurement:
    """An inference of a network on random input.

    `reference` is timed in turn; a metered run of `energy_s` follows, 0 for none [s]; then a call whose memory is read.
    Bytes are counted on a CPU, and on a GPU with `counters`, where a profiler has to be loaded for it.
    A network whose fewest calls do not fit `left_s` is refused [s].

    Raises NotMeasuredError where this machine cannot run it so.
    """
    before = held_bytes()
    with _settings(setting):
        call, clock = prepared(model, setting), _clock(setting)
        if left_s < math.inf and (took_s := clock.seconds(call, 1)) * FEWEST > left_s:
            left = f"the {max(left_s, 0.0):.0f} s that are left"
            raise NoTimeError(f"a call takes {took_s:.3g} s, and {FEWEST} do not fit {left}", took_s * FEWEST)
        found = measure(
            subject(model, setting),
            call,
            observer=observer,
            plan=plan,
            clock=clock,
            reference=(reference.subject, reference.call) if reference else None,
            bytes_moved=model.bytes_of(setting.precision) if model.bytes_of else None,
            energy_s=0.0 if setting.flush_bytes else energy_s,
            details={"input": _shapes(model), "flushed_bytes": setting.flush_bytes},
        )
        beside: dict[str, Any] = {
            "memory": peak_memory(call, setting.device, before=before),
            "transfers": transfers(model, setting, call),
        }
        if counters or setting.device == "cpu":
            beside["traffic"] = traffic.counted(call, clock, setting.device)
        found = found.model_copy(update=beside)
    return found.model_copy(update={"energy": FLUSHED}) if setting.flush_bytes and energy_s else found


def peak_memory(call: Call, device: str, torch: Any = None, before: int | None = None) -> Memory | Unavailable:
    """The most memory while a call runs, weights and input included; `before` is what a process held. [B]"""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return resident_peak(call, before=before)
    torch = torch or import_torch()
    if kind == "mps":
        call()
        torch.mps.synchronize()
        return Memory(peak_bytes=int(torch.mps.driver_allocated_memory()), source="Metal driver, after a call")
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    call()
    torch.cuda.synchronize(device)
    return Memory(peak_bytes=int(torch.cuda.max_memory_allocated(device)), source="torch allocator")


def transfers(model: Model, setting: Setting, call: Call, torch: Any = None) -> Transfers | Unavailable:
    """Copies of the inputs from the host to the device, and of the outputs back, each waited for."""
    kind = setting.device.partition(":")[0]
    if kind == "cpu":
        return Unavailable(reason="inputs and outputs of a CPU stay where they are")
    torch = torch or import_torch()
    leaves = torch.utils._pytree.tree_leaves
    place = _placed(replace(setting, device="cpu"), *_form(model, setting, torch), torch)
    inputs = [place(leaf) for leaf in leaves((model.inputs, dict(model.named))) if isinstance(leaf, torch.Tensor)]
    outputs = [leaf for leaf in leaves(call()) if isinstance(leaf, torch.Tensor)]
    wait = torch.mps.synchronize if kind == "mps" else partial(torch.cuda.synchronize, setting.device)

    def copied_s(tensors: Sequence[Any], device: str) -> float:
        def once() -> float:
            wait()
            start = perf_counter()
            kept = [one.to(device) for one in tensors]
            wait()
            del kept
            return perf_counter() - start

        return median(once() for _ in range(COPIES)) if tensors else 0.0

    return Transfers(
        inputs_bytes=sum(one.nbytes for one in inputs),
        inputs_s=copied_s(inputs, setting.device),
        outputs_bytes=sum(one.nbytes for one in outputs),
        outputs_s=copied_s(outputs, "cpu"),
        source="pageable memory of the host, one copy a tensor",
    )


def subject(model: Model, setting: Setting) -> Network:
    """The subject of a recording."""
    extra = ("cudnn_benchmark", "no_grad", "high_priority")
    words = [name for name in extra if getattr(setting, name)]
    words += [f"{setting.attention}_attention"] if setting.attention else []
    words += ["dynamic"] if setting.precision == "int8" and not model.is_quantized else []
    return Network(
        name=model.name,
        batch=setting.batch,
        precision=setting.precision,
        library="torch",
        layout="channels_last" if setting.channels_last else "contiguous",
        compiled=setting.compiled,
        graph=setting.graph,
        modes=tuple(words),
        tokens=model.tokens,
        past=model.past,
        macs=model.macs,
    )


def prepared(model: Model, setting: Setting) -> Call:
    """The network, ready to be called: eval and inference mode, random input. Raises NotMeasuredError."""
    torch = import_torch()
    _refuse(model, setting)
    _fix_math(setting)
    torch.manual_seed(SEED)
    dtype, layout = _form(model, setting, torch)
    pytree = torch.utils._pytree
    try:
        network = _quantized(model, setting).eval()
        if not model.is_quantized:
            network = network.to(device=setting.device, dtype=dtype, memory_format=layout)
        place = _placed(setting, dtype, layout, torch)
        inputs, named = pytree.tree_map(place, (model.inputs, dict(model.named)))
        run = torch.compile(network) if setting.compiled else network
        call = _inference(run, inputs, named, no_grad=setting.no_grad)
        call()
        return graphed(call, torch.cuda) if setting.graph else call
    except NotMeasuredError:
        raise
    except Exception as error:  # a compiler, a backend and a driver each raise their own
        raise NotMeasuredError(_first_line(error)) from error


def _refuse(model: Model, setting: Setting) -> None:
    """Raise NotMeasuredError for what makes no sense, with the reason."""
    if setting.precision not in DTYPES | QUANTIZED:
        raise NotMeasuredError(f"want one of {', '.join(DTYPES | QUANTIZED)}, found {setting.precision}")
    if model.is_quantized and setting.precision != "int8":
        raise NotMeasuredError(f"{model.name} is quantized; want -p int8")
    if not setting.device.startswith("cuda"):
        wrong = ("graph", "graphs are replayed"), ("high_priority", "streams have a priority")
        for name, what in (*wrong, ("cudnn_benchmark", "cuDNN computes")):
            if getattr(setting, name):
                raise NotMeasuredError(f"{what} on CUDA devices only")
    if setting.channels_last and not any(leaf.dim() == 4 for leaf in _tensors(model)):
        raise NotMeasuredError("channels_last is a layout of pictures; want an input of four axes")
    if why := lacking_memory(model.weights):
        raise NotMeasuredError(why)


def lacking_memory(weights: float) -> str:
    """Why a network of so many weights cannot be built here; empty where it can. The system would end the process."""
    takes, free = BYTES_BUILT * weights, available_bytes()
    if free is None or takes <= free:
        return ""
    needed, has = (format_quantity(one, BYTES, digits=3) for one in (takes, free))
    return f"its weights take {needed} while it is built, and {has} of memory are free"


def _quantized(model: Model, setting: Setting) -> Any:
    """The module, in the type that its weights are to have."""
    module = model.make()
    if setting.precision == "int8" and not model.is_quantized:
        torch = import_torch()
        if setting.device != "cpu":
            raise NotMeasuredError("torch quantizes linear layers to int8 on CPUs only")
        layers = {torch.nn.Linear}
        if not any(type(part) in layers for part in module.modules()):
            raise NotMeasuredError("has no linear layer, which is what torch quantizes dynamically")
        with warnings.catch_warnings():
            for kind in (DeprecationWarning, UserWarning):  # torch has announced to move it elsewhere for years
                warnings.simplefilter("ignore", kind)
            return torch.ao.quantization.quantize_dynamic(module, layers, dtype=torch.qint8)
    if setting.precision == "int4":
        return _weights_of_4_bit(module, setting)
    return module


def _weights_of_4_bit(module: Any, setting: Setting) -> Any:
    """Linear layers with weights of 4 bit, which torchao reads for products in bf16."""
    torch = import_torch()
    on_cpu = setting.device == "cpu"
    try:
        quantize = import_module("torchao.quantization").quantize_
        if on_cpu:
            config = import_module("torchao.prototype.quantization.int4").PrototypeInt4WeightOnlyConfig
        else:
            tiled = {"int4_packing_format": "tile_packed_to_4d"}  # the kernel of torch itself; others need mslk
            config = partial(import_module("torchao.quantization").Int4WeightOnlyConfig, **tiled)
    except (ImportError, AttributeError) as error:
        raise NotMeasuredError("weights of 4 bit need torchao 0.18 or later (pip install torchao)") from error
    inputs, outputs = INT4_MULTIPLES

    def packs(part: Any, _name: str) -> bool:
        return isinstance(part, torch.nn.Linear) and not (part.in_features % inputs or part.out_features % outputs)

    every = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
    if not every:
        raise NotMeasuredError("has no linear layer, whose weights torchao quantizes")
    if not any(packs(part, "") for part in every):
        found = f"{every[0].in_features} to {every[0].out_features}"
        raise NotMeasuredError(
            f"torchao packs linear layers from a multiple of {inputs} to a multiple of {outputs}; found {found}"
        )
    module = module.to(device=setting.device, dtype=torch.bfloat16)
    quantize(module, config(set_inductor_config=False), filter_fn=packs)
    return module


def _form(model: Model, setting: Setting, torch: Any) -> tuple[Any, Any]:
    """Type and layout of what a network reads; no type where it was quantized already."""
    layout = torch.channels_last if setting.channels_last else torch.contiguous_format
    return None if model.is_quantized else getattr(torch, (DTYPES | QUANTIZED)[setting.precision]), layout


def _placed(setting: Setting, dtype: Any, layout: Any, torch: Any) -> Callable[[Any], Any]:
    """Brings an input to the device, in the type and the layout of the network."""

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        cast = dtype if leaf.is_floating_point() else None
        return leaf.to(setting.device, cast, memory_format=layout if leaf.dim() == 4 else torch.preserve_format)

    return place


def _tensors(model: Model) -> list[Any]:
    torch = import_torch()
    leaves = torch.utils._pytree.tree_leaves((model.inputs, dict(model.named)))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _shapes(model: Model) -> str:
    """`8x3x224x224`; of several inputs each, at most four of them."""
    shapes = ["x".join(map(str, leaf.shape)) for leaf in _tensors(model)]
    return ", ".join(chain(shapes[:4], ["…"] if len(shapes) > 4 else []))


def _inference(run: Callable[..., Any], inputs: tuple[Any, ...], named: dict[str, Any], *, no_grad: bool) -> Call:
    torch = import_torch()
    guard = torch.no_grad if no_grad else torch.inference_mode

    def call() -> object:
        with guard():
            return run(*inputs, **named)

    return call


@contextmanager
def _settings(setting: Setting) -> Iterator[None]:
    """What is switched for the whole of a measurement, and back afterwards."""
    torch = import_torch()
    with ExitStack() as stack:
        stack.enter_context(_attention(setting.attention))
        if setting.cudnn_benchmark and setting.device.startswith("cuda"):
            before = torch.backends.cudnn.benchmark
            stack.callback(setattr, torch.backends.cudnn, "benchmark", before)
            torch.backends.cudnn.benchmark = True
        if setting.high_priority and setting.device.startswith("cuda"):
            stack.enter_context(torch.cuda.stream(torch.cuda.Stream(priority=-1)))
        yield


def _attention(backend: str) -> Any:
    if not backend:
        return nullcontext()
    attention = import_torch().nn.attention
    return attention.sdpa_kernel(getattr(attention.SDPBackend, ATTENTION[backend]))


def _fix_math(setting: Setting) -> None:
    """Say whether fp32 may be rounded to tf32, for products and for convolutions alike."""
    torch = import_torch()
    rounded = setting.precision == "tf32"
    if rounded and not setting.device.startswith("cuda"):
        raise NotMeasuredError(f"a {setting.device.upper()} has no tf32")
    torch.set_float32_matmul_precision("high" if rounded else "highest")
    if setting.device.startswith("cuda"):
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
