"""Search for the size of a matrix product at which a library is fastest: the plateau of its rate over size."""

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint_measure.stopwatches.timing import Call

AGREE = 0.01
"""Two rates are the same where they differ by less."""
ROUNDS = 4
"""Of refinement, at most."""
AGAIN = 3
"""Of the fastest, that many are looked at once more in each round: a slow moment of the machine hides nobody."""

Shape = tuple[int, int, int]
"""m, n, k."""

Rate = Callable[[Shape], float | None]
"""op/s of a product of that shape, after a short look; None where it does not fit the memory or the time."""


@dataclass
class Search:
    """Every shape that was looked at, with its rate. [op/s]"""

    rate: Rate
    multiple: int = 64
    """All sizes are multiples of it, so that tiles and vectors are full."""
    seen: dict[Shape, float] = field(default_factory=dict)

    def look(self, shape: Shape) -> float:
        """Its best rate so far, with one more look; 0 where there is none. [op/s]"""
        self.seen[shape] = max(self.rate(shape) or 0.0, self.seen.get(shape, 0.0))
        return self.seen[shape]

    @property
    def best(self) -> Shape:
        """The fastest so far; of equals the one that was seen first."""
        return max(self.seen, key=lambda shape: self.seen[shape])

    def fastest(self, count: int) -> list[Shape]:
        """So many, best first."""
        return sorted((one for one in self.seen if self.seen[one]), key=lambda one: -self.seen[one])[:count]


def search(rate: Rate, first: int, last: int, multiple: int = 64) -> Search:
    """Squares in powers of two up to the last, then neighbours of the best until none is faster.

    A neighbour that is faster by more than 1 % is the new best; the search ends where the two best agree within that.
    """
    found = Search(rate, multiple)
    size = first
    while size <= last:
        found.look((size, size, size))
        size *= 2
    for _ in range(ROUNDS):
        best, best_rate = found.best, found.seen[found.best]
        if not best_rate:
            break  # nothing runs at any size
        for shape in dict.fromkeys([*found.fastest(AGAIN), *_neighbours(best, multiple, last)]):
            found.look(shape)
        if found.best == best or found.seen[found.best] <= (1 + AGREE) * best_rate:
            break
    return found


def _neighbours(shape: Shape, multiple: int, last: int) -> Iterator[Shape]:
    """Squares between the powers of two, then one side longer or shorter, then flat and deep ones."""
    m, n, k = shape
    factors: tuple[tuple[float, float, float], ...] = (
        *((factor,) * 3 for factor in (0.75, 1.5)),
        *((2, 1, 1), (1, 2, 1), (1, 1, 2), (0.5, 1, 1), (1, 0.5, 1), (1, 1, 0.5)),
        *((2, 2, 0.5), (0.5, 0.5, 2)),
    )
    for a, b, c in factors:
        new = _rounded(m * a, multiple), _rounded(n * b, multiple), _rounded(k * c, multiple)
        if max(new) <= last and new != shape:
            yield new


def _rounded(size: float, multiple: int) -> int:
    return max(multiple, round(size / multiple) * multiple)


# ---- Ways to multiply matrices: what is installed, by precision and library. Operands are random normal, never zeros

SEED = 20
"""Of the operands; the same for everybody."""

BLOCK = 2**20
"""Numbers that are drawn."""

Make = Callable[[Shape], Call]
"""Allocates operands of (m, k) and (k, n), and returns the call that multiplies them."""


@dataclass(frozen=True)
class Kernel:
    """A library in a precision; it may have several ways to the same product."""

    precision: str
    library: str
    device: str
    ways: Mapping[str, Make]
    """By the call that a reader may repeat."""
    multiple: int = 64
    first: int = 256
    last: int = 4096
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    loaded: bool = False
    """Whether its library chooses its kernels when it is loaded, so that a process of its own is fairer to it."""

    @property
    def name(self) -> str:
        """`fp32 onednn`."""
        return f"{self.precision} {self.library}"


def kernels(device: str = "cpu") -> list[Kernel]:
    """Everything that an installed library has a name for; whether this device does it well a probe says."""
    if device != "cpu":
        return [*_cuda(device)] if has_torch() else []
    return [*_numpy(), *(_torch_cpu() if has_torch() else ())]


def has_torch() -> bool:
    """Whether torch is installed; it is not imported."""
    return importlib.util.find_spec("torch") is not None


# ---- NumPy


def numpy_library() -> str:
    """The BLAS that NumPy was built with, as a reader knows it: `openblas`, `mkl`, `accelerate`."""
    said: Any = np.show_config(mode="dicts")
    name = str(said.get("Build Dependencies", {}).get("blas", {}).get("name", "numpy")).lower()
    return next((known for known in ("openblas", "mkl", "accelerate", "blis", "nvpl") if known in name), name)


@cache
def _block(turn: int) -> NDArray[np.float64]:
    """Random normal numbers that large operands repeat: to draw all of them takes longer than the products."""
    return np.random.default_rng((SEED, turn)).standard_normal(BLOCK)


def _numpy() -> Iterator[Kernel]:
    library = numpy_library()
    for precision, dtype in (("fp64", np.float64), ("fp32", np.float32)):
        yield Kernel(precision, library, "cpu", {"numpy.matmul": _numpy_product(dtype)}, loaded=True)


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
    import torch  # noqa: PLC0415  # only where torch is measured

    said = str(torch.__config__.show())
    name = said.partition("BLAS_INFO=")[2].partition(",")[0].lower()
    return name or "torch-blas"


def _torch_cpu() -> Iterator[Kernel]:
    import torch  # noqa: PLC0415  # only where torch is measured

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
    import torch  # noqa: PLC0415

    block = torch.from_numpy(_block(turn)).to(device=device, dtype=torch.float32)
    count = math.prod(shape)
    return block.repeat(-(-count // BLOCK))[:count].view(shape).to(getattr(torch, dtype))


def _torch_product(dtype: str, device: str, rounding: str = "") -> Make:
    """`rounding` is the precision in which fp32 operands are multiplied: `highest` is fp32, `high` is tf32."""

    def make(shape: Shape) -> Call:
        import torch  # noqa: PLC0415

        m, n, k = shape
        if rounding:
            torch.set_float32_matmul_precision(rounding)
        a, b = normal((m, k), dtype, device), normal((k, n), dtype, device, 1)
        c = torch.empty((m, n), dtype=a.dtype, device=device)
        return lambda: torch.mm(a, b, out=c)

    return make


def _mkldnn_linear(shape: Shape) -> Call:
    """fp32 through oneDNN, which torch asks for linear layers of tensors in oneDNN's own layout."""
    import torch  # noqa: PLC0415

    m, n, k = shape
    x, weight = (normal(size, "float32", "cpu", turn).to_mkldnn() for turn, size in enumerate(((m, k), (n, k))))
    return lambda: torch._C._nn.mkldnn_linear(x, weight, None)


def _pointwise_conv(shape: Shape) -> Call:
    """The same product as a convolution of 1×1, m pixels of k channels to n, which torch always gives to oneDNN."""
    import torch  # noqa: PLC0415

    m, n, k = shape
    x = normal((1, k, 1, m), "float32", "cpu").to(memory_format=torch.channels_last)
    weight = normal((n, k, 1, 1), "float32", "cpu", 1).to(memory_format=torch.channels_last)
    return lambda: torch.conv2d(x, weight)


def _int8_product(device: str, *, columns: bool) -> Make:
    """8 bits by 8 bits, summed in 32; `columns` lays B out by columns, as cuBLAS wants it."""

    def make(shape: Shape) -> Call:
        import torch  # noqa: PLC0415

        m, n, k = shape
        sizes = ((m, k), (n, k) if columns else (k, n))
        drawn = (normal(size, "float32", device, turn) for turn, size in enumerate(sizes))
        a, b = ((32 * one).round().clamp(-127, 127).to(torch.int8) for one in drawn)
        right = b.t() if columns else b
        c = torch.empty((m, n), dtype=torch.int32, device=device)
        return lambda: torch._int_mm(a, right, out=c)

    return make


# ---- cuBLAS through torch


def _cuda(device: str) -> Iterator[Kernel]:
    def kernel(precision: str, ways: Mapping[str, Make], rounding: str = "") -> Kernel:
        details = {"float32_matmul_precision": rounding} if rounding else {}
        return Kernel(precision, "cublas", device, ways, multiple=128, first=1024, last=16384, details=details)

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
    yield kernel("fp8", {way: _fp8_product(device, fast_sums=fast) for way, fast in sums.items()})


def _fp8_product(device: str, *, fast_sums: bool) -> Make:
    """E4M3 by E4M3, written as bf16; B lies by columns.

    Hopper's tensor cores sum in fewer bits than fp32 has; unless `fast_sums` allow that, vector units add up parts of
    the sum meanwhile, which costs rate.
    """

    def make(shape: Shape) -> Call:
        import torch  # noqa: PLC0415

        m, n, k = shape
        a, b = normal((m, k), "float8_e4m3fn", device), normal((n, k), "float8_e4m3fn", device, 1)
        right, one = b.t(), torch.ones((), device=device)
        return lambda: torch._scaled_mm(
            a, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast_sums
        )

    return make
