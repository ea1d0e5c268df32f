"""Anchors: a few products that characterize a GPU's launches, matrix units and memory.

Each is timed as a kernel of a CUDA graph with six sets of weights in turn, like the measurements that kernel times are
fitted to. The shapes are fixed, so that machines are compared by the same work: the fastest of many shapes depends on
the search as well.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from rooflint_measure.record import Gemm, Launch, Measurement
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches.clocks import Call, GraphClock, graphed
from rooflint_measure.stopwatches.gemm import NotMeasuredError, clock_of
from rooflint_measure.stopwatches.products import Shape, gpu_library, import_torch, normal
from rooflint_measure.stopwatches.timing import Plan, measure

Kind = Literal["null", "peak", "streaming"]

ANCHORS: Mapping[Kind, tuple[Shape, ...]] = MappingProxyType(
    {
        "null": ((256, 256, 256), (512, 512, 512)),
        "peak": ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 16384, 16384)),
        "streaming": ((8, 16384, 16384),),
    }
)
"""m, n, k by what they wait for: the launch, the matrix units, the memory."""

SETS = 6
"""Of weights in turn, each multiplied by a kernel of its own."""

DTYPES: Mapping[str, str] = MappingProxyType({"bf16": "bfloat16", "fp16": "float16"})
"""Precisions that anchors are measured in, as torch calls them."""

BF16_CAPABILITY = 8
"""Compute capability, before the point, of the first tensor cores that multiply bf16 (NVIDIA A100)."""

GRAPH = "kernels_in_graph"
"""The detail that marks an anchor; a product that was launched by itself does not have it."""


def native(device: str, cuda: Any = None) -> str:
    """The precision that a GPU's matrix units have: bf16 from compute capability 8.0 on, fp16 before.

    An older one multiplies bf16 by conversion, for minutes.
    """
    major, _ = (cuda or import_torch().cuda).get_device_capability(device)
    return "bf16" if major >= BF16_CAPABILITY else "fp16"


def measured(
    shape: Shape,
    precision: str,
    device: str,
    *,
    observer: Observer,
    plan: Plan | None = None,
    cuda: Any = None,
    products: Callable[[Shape, str, str], Sequence[Call]] | None = None,
    library: str = "",
) -> Measurement:
    """One anchor. `cuda` is torch.cuda by default, `library` that of torch.

    Raises NotMeasuredError where it does not fit or does not exist.
    """
    m, n, k = shape
    try:
        calls = (products or _products)(shape, precision, device)
        cuda = cuda or import_torch().cuda
        replay = graphed(lambda: [call() for call in calls], cuda)
    except (RuntimeError, MemoryError) as error:  # torch's out of memory is a RuntimeError
        raise NotMeasuredError(str(error).strip().split("\n")[0] or type(error).__name__) from error
    return measure(
        Gemm(precision=precision, library=library or gpu_library(), m=m, n=n, k=k, weight_copies=len(calls)),
        replay,
        observer=observer,
        plan=plan,
        clock=GraphClock(cuda, kernels=len(calls)),
        details={"call": "torch.mm", GRAPH: len(calls)},
    )


KERNELS = 100
"""On one element, in a graph whose launches are timed."""


def launches(
    way: Literal["stream", "graph"], device: str, *, observer: Observer, plan: Plan | None = None, cuda: Any = None
) -> Measurement:
    """An op on one element of an array, whose time is what it takes to start one.

    Raises NotMeasuredError for a graph on a device that has none.
    """
    torch = import_torch()
    one = torch.zeros(1, device=device)
    subject = Launch(way=way, library="torch")
    if way == "stream":
        return measure(subject, lambda: one.add_(1.0), observer=observer, plan=plan, clock=clock_of(device))
    if not device.startswith("cuda"):
        raise NotMeasuredError("graphs are replayed on CUDA devices only")
    cuda = cuda or torch.cuda
    try:
        replay = graphed(lambda: [one.add_(1.0) for _ in range(KERNELS)], cuda)
    except (RuntimeError, MemoryError) as error:
        raise NotMeasuredError(str(error).strip().split("\n")[0] or type(error).__name__) from error
    clock = GraphClock(cuda, kernels=KERNELS)
    return measure(subject, replay, observer=observer, plan=plan, clock=clock, details={GRAPH: KERNELS})


def _products(shape: Shape, precision: str, device: str) -> list[Call]:
    """The same input by several sets of weights, into the same result."""
    torch = import_torch()
    m, n, k = shape
    dtype = DTYPES[precision]
    a, c = normal((m, k), dtype, device), torch.empty((m, n), dtype=getattr(torch, dtype), device=device)
    weights = [normal((k, n), dtype, device, turn) for turn in range(1, 1 + SETS)]
    return [lambda b=b: torch.mm(a, b, out=c) for b in weights]  # type: ignore[misc]
