"""Topics: what latencies on silicon are held against measurements of, each with its sizes, its regimes, its devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.shapes import Numbers, shapes
from rooflint_calibration import package, products
from rooflint_calibration.ops import ABSENT, OPS, PRODUCT_PARTS
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.products import REGIMES, Measured
from rooflint_calibration.rows import Mask, Recorded

PRODUCT = PRODUCT_PARTS
PREFILL = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "short": "≤ 64 tokens"}
DECODE = {"all": "all", "large": "> 300 MB", "small": "< 10 MB"}
STREAM = {"all": "all", "large": "> 100 MB", "small": "< 1 MB"}
"""What the regimes of a topic are called in a claim, and in the tables of docs/method-silicon-ops.md."""

ATTENTION = ("batch", "heads", "kv_heads", "tokens", "width")


@dataclass(frozen=True)
class Rows:
    """Measured rows of a topic on one device."""

    topic: str
    device: str
    sizes: Numbers
    """Shape (rows, sizes of the topic)."""
    seconds: Numbers

    def only(self, which: NDArray[Any]) -> "Rows":
        """Some of them, by position or by a mask."""
        return replace(self, sizes=self.sizes[which], seconds=self.seconds[which])

    def __len__(self) -> int:
        """Rows."""
        return len(self.seconds)


@dataclass(frozen=True)
class Topic:
    """One op in one precision."""

    sizes: tuple[str, ...]
    """What the columns of its rows are."""
    regimes: Mapping[str, str]
    """Parts of the data by the word of a claim, each as the docs call it."""
    precision: str
    rows: Callable[[Registry, str, str, int], tuple[Rows, Chip]]
    """Of a device: so many rows of a regime, the same on every machine. Raises NotInstalledError or RooflintError."""
    inside: Callable[[str, Numbers], Mask]
    """Rows of these sizes that lie in a regime."""
    absent: tuple[str, ...] = ()
    """Measured devices without it."""


def measured_devices(topic: str) -> dict[str, tuple[str, ...]]:
    """The devices of each family on which a topic was measured."""
    found = {family: tuple(name for name in devices(family) if name not in TOPICS[topic].absent) for family in FAMILIES}
    return {family: names for family, names in found.items() if names}


def _product(registry: Registry, device: str, regime: str, rows: int) -> tuple[Rows, Chip]:
    measured, chip = products.of_device(registry, device)
    few: Measured = products.picked(measured, rows, regime)
    m, n, k, _ = few.shapes
    return Rows("gemm", device, np.stack([m, n, k, few.copies], axis=1), few.seconds), chip


def _in_products(regime: str, sizes: Numbers) -> Mask:
    return REGIMES[regime](shapes(*sizes.T[:3]))


def _op(name: str, op: str, sizes: tuple[str, ...], regimes: Mapping[str, str]) -> Topic:
    def inside(regime: str, sizes: Numbers) -> Mask:
        return OPS[op].parts[regimes[regime]](Recorded("", sizes, np.full(len(sizes), np.nan), {}))

    def rows(registry: Registry, device: str, regime: str, count: int) -> tuple[Rows, Chip]:
        chip = _chip(registry, device, OPS[op].precision)
        found = _read_op(package.data_folder(), device, chip, op)
        return _few(name, found.rows(inside(regime, found.sizes)), count), chip

    return Topic(
        sizes, regimes, OPS[op].precision, rows, inside, tuple(device for device, other in ABSENT if other == op)
    )


def _few(topic: str, recorded: Recorded, rows: int) -> Rows:
    few = recorded.picked(rows)
    return Rows(topic, few.device, few.sizes, few.seconds)


def _chip(registry: Registry, device: str, precision: str) -> Chip:
    return chip_of(registry.get(device), precision, Coefficients(registry).launches())


@cache
def _read_op(data: Path, device: str, chip: Chip, op: str) -> Recorded:
    return OPS[op].read(data, device, chip)


TOPICS: Mapping[str, Topic] = MappingProxyType(
    {
        "gemm": Topic(("m", "n", "k", "copies"), PRODUCT, "bf16", _product, _in_products),
        "fp8_tensor": _op("fp8_tensor", "fp8 by tensor", ("m", "n", "k"), PRODUCT),
        "fp8_block": _op("fp8_block", "fp8 by block", ("m", "n", "k"), PRODUCT),
        "quantise": _op("quantise", "quantise", ("m", "k"), STREAM),
        "prefill": _op("prefill", "prefill", ATTENTION, PREFILL),
        "encoder": _op("encoder", "encoder", ATTENTION, PREFILL),
        "decode": _op("decode", "decode", ATTENTION, DECODE),
        "decode_fp8": _op("decode_fp8", "decode, fp8 cache", ATTENTION, DECODE),
    }
)
"""By the word of a claim; FP8 products have one scale a tensor, or one a block of 128."""
