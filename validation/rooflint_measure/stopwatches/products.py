"""Matrix products that the installed libraries offer, by precision. Operands are random normal numbers, never zeros."""

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint_measure.identity import numpy_blas
from rooflint_measure.stopwatches.clocks import Call

Shape = tuple[int, int, int]
"""m, n, k."""

SEED = 20
"""Of the operands; always the same."""

BLOCK = 2**20
"""Numbers that are drawn."""

Make = Callable[[Shape], Call]
"""Allocates operands of (m, k) and (k, n), and returns the call that multiplies them."""


@dataclass(frozen=True)
class Kernel:
    """A library in a precision; it may have several calls for the same product."""

    precision: str
    library: str
    device: str
    calls: Mapping[str, Make]
    """By the name of the call, such as `torch.mm`."""
    multiple: int = 64
    first: int = 256
    last: int = 4096
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    lacks: str = ""
    """Why the device has no instructions for the precision; empty where it has, or where only a probe can tell."""
    own_process: bool = False
    """Whether its library chooses its kernels when it is loaded, so that it is measured in a process of its own."""

    @property
    def name(self) -> str:
        """`fp32 onednn`."""
        return f"{self.precision} {self.library}"


def kernels(device: str = "cpu") -> list[Kernel]:
    """Everything that an installed library has a name for; a probe finds out whether this device does it well."""
    if device != "cpu":
        return [*(_metal() if device == "mps" else _cuda(device))] if has_torch() else []
    return [*_numpy(), *(_torch_cpu() if has_torch() else ())]


def has_torch() -> bool:
    """Whether torch is installed; it is not imported."""
    return importlib.util.find_spec("torch") is not None


def import_torch() -> Any:
    """torch, which only those load that measure it. Raises ImportError where it is not installed."""
    import torch  # noqa: PLC0415

    return torch


# ---- NumPy


def numpy_library() -> str:
    """The BLAS that NumPy was built with, as a reader knows it: `openblas`, `mkl`, `accelerate`."""
    name = numpy_blas().get("name", "numpy").lower()
    return next((known for known in ("openblas", "mkl", "accelerate", "blis", "nvpl") if known in name), name)


@cache
def _block(turn: int) -> NDArray[np.float64]:
    """Random normal numbers that large operands repeat: to draw all of them takes longer than the products."""
    return np.random.default_rng((SEED, turn)).standard_normal(BLOCK)


def _numpy() -> Iterator[Kernel]:
    library = numpy_library()
    for precision, dtype in (("fp64", np.float64), ("fp32", np.float32)):
        yield Kernel(precision, library, "cpu", {"numpy.matmul": _numpy_product(dtype)}, own_process=True)


def _numpy_product(dtype: Any) -> Make:
    def make(shape: Shape) -> Call:
        m, n, k = shape
        a, b = (np.resize(_block(turn).astype(dtype), size) for turn, size in enumerate(((m, k), (k, n))))
        c = np.empty((m, n), dtype)
        return lambda: np.matmul(a, b, out=c)

    return make


# ---- torch on a CPU


def torch_library() -> str:
    """The BLAS that torch's CPU build calls in fp32 and fp64."""
    name = str(import_torch().__config__.show()).partition("BLAS_INFO=")[2].partition(",")[0].lower()
    return name or "torch-blas"


def _torch_cpu() -> Iterator[Kernel]:
    torch = import_torch()
    blas, isa = torch_library(), {"torch_isa": str(torch.backends.cpu.get_cpu_capability())}
    yield Kernel("fp64", blas, "cpu", {"torch.mm": _torch_product("float64", "cpu")}, details=isa)
    yield Kernel("fp32", blas, "cpu", {"torch.mm": _torch_product("float32", "cpu")}, details=isa)
    if not torch.backends.mkldnn.is_available():
        return
    yield Kernel(
        "fp32", "onednn", "cpu", {"mkldnn_linear": _mkldnn_linear, "torch.conv2d 1x1": _pointwise_conv}, details=isa
    )
    for precision, dtype in (("bf16", "bfloat16"), ("fp16", "float16")):
        yield Kernel(precision, "onednn", "cpu", {"torch.mm": _torch_product(dtype, "cpu")}, details=isa)
    yield Kernel("int8", "onednn", "cpu", {"torch._int_mm": _int8_product("cpu", columns=False)}, details=isa)


def normal(shape: tuple[int, ...], dtype: str, device: str, turn: int = 0) -> Any:
    """A tensor of random normal numbers; `turn` tells operands apart."""
    torch = import_torch()
    block = torch.from_numpy(_block(turn)).to(device=device, dtype=torch.float32)
    count = math.prod(shape)
    return block.repeat(-(-count // BLOCK))[:count].view(shape).to(getattr(torch, dtype))


def _torch_product(dtype: str, device: str, rounding: str = "") -> Make:
    """`rounding` is the precision in which fp32 operands are multiplied: `highest` is fp32, `high` is tf32."""

    def make(shape: Shape) -> Call:
        torch = import_torch()
        m, n, k = shape
        if rounding:
            torch.set_float32_matmul_precision(rounding)
        a, b = normal((m, k), dtype, device), normal((k, n), dtype, device, 1)
        c = torch.empty((m, n), dtype=a.dtype, device=device)
        return lambda: torch.mm(a, b, out=c)

    return make


def _mkldnn_linear(shape: Shape) -> Call:
    """fp32 through oneDNN, which torch asks for linear layers of tensors in oneDNN's own layout."""
    torch = import_torch()
    m, n, k = shape
    x, weight = (normal(size, "float32", "cpu", turn).to_mkldnn() for turn, size in enumerate(((m, k), (n, k))))
    return lambda: torch._C._nn.mkldnn_linear(x, weight, None)


def _pointwise_conv(shape: Shape) -> Call:
    """The same product as a convolution of 1×1, m pixels of k channels to n, which torch always gives to oneDNN."""
    torch = import_torch()
    m, n, k = shape
    x = normal((1, k, 1, m), "float32", "cpu").to(memory_format=torch.channels_last)
    weight = normal((n, k, 1, 1), "float32", "cpu", 1).to(memory_format=torch.channels_last)
    return lambda: torch.conv2d(x, weight)


def _int8_product(device: str, *, columns: bool) -> Make:
    """8 bits by 8 bits, summed in 32; `columns` lays B out by columns, as cuBLAS wants it."""

    def make(shape: Shape) -> Call:
        torch = import_torch()
        m, n, k = shape
        sizes = ((m, k), (n, k) if columns else (k, n))
        drawn = (normal(size, "float32", device, turn) for turn, size in enumerate(sizes))
        a, b = ((32 * one).round().clamp(-127, 127).to(torch.int8) for one in drawn)
        right = b.t() if columns else b
        c = torch.empty((m, n), dtype=torch.int32, device=device)
        return lambda: torch._int_mm(a, right, out=c)

    return make


# ---- cuBLAS and hipBLASLt through torch

NATIVE_FROM: Mapping[str, tuple[int, int]] = {"tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
"""Compute capability of NVIDIA's first tensor cores that multiply in a precision: Ampere's, Ada's for FP8.

Before, torch converts bf16 and computes tf32 in fp32, without a word. CUDA C++ programming guide, "Arithmetic
instructions" and table "Feature support per compute capability".
"""


def gpu_library(torch: Any = None) -> str:
    """The BLAS of torch's GPU build: `cublas`, or on ROCm `hipblaslt`, which answers to the name `cuda` there, too."""
    return "hipblaslt" if (torch or import_torch()).version.hip else "cublas"


def gpu_lacks(precision: str, device: str, torch: Any = None) -> str:
    """Why a GPU would only emulate a precision; empty where it does not, where there is none, and for AMD's.

    AMD's refuse by themselves.
    """
    torch = torch or import_torch()
    if precision not in NATIVE_FROM or torch.version.hip or not torch.cuda.is_available():
        return ""
    found, least = torch.cuda.get_device_capability(device), NATIVE_FROM[precision]
    if tuple(found) >= least:
        return ""
    dotted = ("{}.{}".format(*one) for one in (least, found))
    return "not native here: {} is native from compute capability {} on, and this GPU has {}".format(precision, *dotted)


def _cuda(device: str) -> Iterator[Kernel]:
    library = gpu_library()

    def kernel(precision: str, calls: Mapping[str, Make], rounding: str = "") -> Kernel:
        details = {"float32_matmul_precision": rounding} if rounding else {}
        lacks = gpu_lacks(precision, device)
        return Kernel(
            precision, library, device, calls, multiple=128, first=1024, last=16384, details=details, lacks=lacks
        )

    for precision, dtype, rounding in (
        ("fp64", "float64", ""),
        ("fp32", "float32", "highest"),
        ("tf32", "float32", "high"),
        ("bf16", "bfloat16", ""),
        ("fp16", "float16", ""),
    ):
        yield kernel(precision, {"torch.mm": _torch_product(dtype, device, rounding)}, rounding)
    yield kernel("int8", {"torch._int_mm": _int8_product(device, columns=True)})
    sums = {"torch._scaled_mm e4m3": False, "torch._scaled_mm e4m3 use_fast_accum": True}
    yield kernel("fp8", {call: _fp8_product(device, fast_sums=fast) for call, fast in sums.items()})


def _metal() -> Iterator[Kernel]:
    """Products of torch on Apple's GPUs, which compute in no fp64."""
    for precision, dtype in (("fp32", "float32"), ("bf16", "bfloat16"), ("fp16", "float16")):
        yield Kernel(precision, "metal", "mps", {"torch.mm": _torch_product(dtype, "mps")}, first=512, last=8192)


def _fp8_product(device: str, *, fast_sums: bool) -> Make:
    """E4M3 by E4M3, written as bf16; B lies by columns.

    Hopper's tensor cores sum in fewer bits than fp32 has; unless `fast_sums` allow that, vector units add up parts of
    the sum meanwhile, which costs rate.
    """

    def make(shape: Shape) -> Call:
        torch = import_torch()
        m, n, k = shape
        a, b = normal((m, k), "float8_e4m3fn", device), normal((n, k), "float8_e4m3fn", device, 1)
        right, one = b.t(), torch.ones((), device=device)
        return lambda: torch._scaled_mm(
            a, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast_sums
        )

    return make
