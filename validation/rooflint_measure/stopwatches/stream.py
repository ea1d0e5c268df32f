"""Bandwidth: element-wise passes over arrays that no cache holds, as bytes over time.

Bytes are those that the kernel names: what it reads and what it writes, once each. A cache that fetches a line before
it writes it (write-allocate) moves more than that; those bytes are not counted, as McCalpin's STREAM does not count
them, so that the figure is what a program gets.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rooflint_measure.identity import last_level_bytes
from rooflint_measure.record import Measurement, Stream, Unavailable
from rooflint_measure.sensors.observer import Observer
from rooflint_measure.stopwatches.clocks import Call
from rooflint_measure.stopwatches.gemm import clock_of
from rooflint_measure.stopwatches.products import SEED, has_torch, import_torch
from rooflint_measure.stopwatches.timing import Plan, measure

BEYOND = 4
"""An array is so many times as large as the last-level cache."""
LEAST_BYTES = {"cpu": 64 * 2**20, "gpu": 256 * 2**20}
"""Of an array, also where the cache is small or unknown: a launch must be negligible beside the pass. [B]"""
SCALE = 1.5

Name = Literal["copy", "scale", "triad", "read"]
ARRAYS: Mapping[Name, int] = {"copy": 2, "scale": 2, "triad": 3, "read": 1}
"""Arrays that a kernel reads or writes."""
DETAILS = {"bytes": "read and written once each; write-allocate is not counted"}

Arrays = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Pass:
    """A kernel of a library."""

    kernel: Name
    library: str
    device: str
    make: Callable[[int], Call]
    """Allocates arrays of so many bytes each."""

    @property
    def name(self) -> str:
        """`triad torch`."""
        return f"{self.kernel} {self.library}"


LEFT_OUT = {"triad numpy": "NumPy needs two passes for a triad, which move five arrays instead of three"}


def passes(device: str = "cpu") -> Iterator[Pass]:
    """Kernels of the installed libraries."""
    if has_torch():
        for name in ARRAYS:
            yield Pass(name, "torch", device, _made(_torch(name), lambda count: _torch_arrays(count, device)))
    if device == "cpu":
        for name, call in _numpy().items():
            yield Pass(name, "numpy", device, _made(call, _numpy_arrays))


INFINITY_CACHES = {
    **dict.fromkeys(("gfx942", "gfx950"), 256 * 2**20),  # MI300A, MI300X, MI325X; MI350X, MI355X
    "gfx1100": 96 * 2**20,  # Radeon RX 7900 XTX
}
"""Infinity Cache behind the L2 that ROCm reports, by the architecture as ROCm names it. [B]

AMD CDNA 3 white paper, table 1; CDNA 4 architecture white paper; AMD RDNA 3 instruction set architecture.
"""


def cache_bytes(device: str = "cpu", torch: Any = None) -> int | Unavailable:
    """The last-level cache that arrays must exceed. [B]"""
    if device == "cpu":
        return last_level_bytes()
    found = (torch or import_torch()).cuda.get_device_properties(device)
    # gfx942:sramecc+:xnack-
    architecture = str(getattr(found, "gcnArchName", "")).partition(":")[0]
    return max(int(found.L2_cache_size), INFINITY_CACHES.get(architecture, 0))


def array_bytes(cache: int | Unavailable, device: str = "cpu") -> int:
    """Size of one array, a multiple of a page. [B]"""
    least = LEAST_BYTES["cpu" if device == "cpu" else "gpu"]
    return max(least, 0 if isinstance(cache, Unavailable) else BEYOND * cache) // 4096 * 4096


def subject(one: Pass, cache: int | Unavailable) -> Stream:
    """The subject of a recording, with the cache that its arrays exceed."""
    return Stream(
        kernel=one.kernel,
        library=one.library,
        array_bytes=array_bytes(cache, one.device),
        cache_bytes=None if isinstance(cache, Unavailable) else cache,
    )


def measured(
    one: Pass, *, observer: Observer, plan: Plan | None = None, energy_s: float = 0.0, cache: int | None = None
) -> Measurement:
    """Bytes a second of a pass beyond the last-level cache, as the system names it unless it is given."""
    known = cache_bytes(one.device) if cache is None else cache
    timed = subject(one, known)
    size = timed.array_bytes
    return measure(
        timed,
        one.make(size),
        observer=observer,
        plan=plan,
        clock=clock_of(one.device),
        bytes_moved=float(ARRAYS[one.kernel] * size),
        energy_s=energy_s,
        details={**DETAILS, **({"cache": str(known)} if isinstance(known, Unavailable) else {})},
    )


def _made(call: Callable[[Arrays], Call], arrays: Callable[[int], Arrays]) -> Callable[[int], Call]:
    return lambda size: call(arrays(size // 4))


def _numpy_arrays(count: int) -> Arrays:
    draw = np.random.default_rng(SEED)
    a, b, c = (draw.standard_normal(count, dtype=np.float32) for _ in range(3))
    return a, b, c


def _torch_arrays(count: int, device: str) -> Arrays:
    torch = import_torch()
    draw = torch.Generator(device=device).manual_seed(SEED)
    a, b, c = (torch.randn(count, generator=draw, device=device) for _ in range(3))
    return a, b, c


def _numpy() -> dict[Name, Callable[[Arrays], Call]]:
    """One thread each: NumPy has no more for these."""
    return {
        "copy": lambda x: lambda: np.copyto(x[0], x[1]),
        "scale": lambda x: lambda: np.multiply(x[1], np.float32(SCALE), out=x[0]),
        "read": lambda x: lambda: np.sum(x[1]),
    }


def _torch(name: Name) -> Callable[[Arrays], Call]:
    def bound(arrays: Arrays) -> Call:
        torch = import_torch()
        a, b, c = arrays
        calls: dict[Name, Call] = {
            "copy": lambda: a.copy_(b),
            "scale": lambda: torch.mul(b, SCALE, out=a),
            "triad": lambda: torch.add(b, c, alpha=SCALE, out=a),
            "read": lambda: torch.sum(b),
        }
        return calls[name]

    return bound
