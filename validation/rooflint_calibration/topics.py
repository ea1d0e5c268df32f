"""Topics: the ops that were measured, each with its kernel model, its sizes, its regimes and its devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rooflint.base.units import OPS_PER_MAC
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels import attention
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants, constants_file
from rooflint.kernels.decode import Decode
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.kernel import Kernel, Terms, Work
from rooflint.kernels.products import Scale
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import package
from rooflint_calibration import products as bf16_products
from rooflint_calibration.attention_tables import decode, encoder, prefill
from rooflint_calibration.fp8_products import COPIES, products
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.quantise_tables import quantise
from rooflint_calibration.rows import Mask, Recorded

PRODUCT = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "narrow": "m ≤ 16"}
PREFILL = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "short": "≤ 64 tokens"}
DECODE = {"all": "all", "large": "> 300 MB", "small": "< 10 MB"}
STREAM = {"all": "all", "large": "> 100 MB", "small": "< 1 MB"}
"""What the regimes of a topic are called in a claim, and in the tables of docs/method-silicon-ops.md."""

WARM = 1.0
"""Benchmarks repeat an op on the same tensors."""

NO_FP8 = ("nvidia/a100-sxm4-80gb",)
"""Measured devices that compute nothing in FP8."""


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
    """One op in one precision, and the kernel model that ships of it."""

    title: str
    """In the tables of `rooflint calibrate`."""
    op: str
    columns: tuple[str, ...]
    """Sizes of the op that rows have; a column `copies` says how many sets of weights take turns."""
    regimes: Mapping[str, str]
    """Parts of the data by the word of a claim, each as the docs call it."""
    read: Callable[[Path, str, Chip], Recorded] | None
    """Every row of a device; None of products in bf16, which are read with their copies."""
    group: str
    """The constants that are its own."""
    fits: bool = False
    """Whether they are fitted on it; else it is a check of constants that were fitted on another topic."""
    precision: str = "bf16"
    copies: float = WARM
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the kernel model."""
    absent: tuple[str, ...] = ()
    """Measured devices without it."""

    def kernel(self, chip: Chip) -> Kernel:
        """Its model, as everybody gets it."""
        return kernel_for(self.op, self.precision, chip, **self.options)

    def work(self, sizes: Numbers, chip: Chip) -> Work:
        """Rows as their kernel model wants them."""
        named = dict(zip(self.columns, sizes.T, strict=True))
        return self.kernel(chip).work(**{"copies": self.copies, **named})

    def predict(self, sizes: Numbers, chip: Chip, constants: Constants) -> Numbers:
        """Time of each row. [s]"""
        return self.kernel(chip).predict(self.work(sizes, chip), chip, constants)

    def terms(self, sizes: Numbers, chip: Chip, constants: Constants) -> Terms:
        """The same by term. [s]"""
        return self.kernel(chip).terms(self.work(sizes, chip), chip, constants)

    def roofline(self, sizes: Numbers, chip: Chip) -> Numbers:
        """The roofline of each row. [s]"""
        return self.kernel(chip).floor_s(self.work(sizes, chip), chip)

    def inside(self, regime: str, sizes: Numbers) -> Mask:
        """Rows of these sizes that lie in a regime."""
        columns = dict(zip(self.columns, sizes.T, strict=True))
        return np.asarray(_REGIMES[self.op](regime, columns, self.options))

    def rows(self, name: str, registry: Registry, device: str, regime: str, count: int) -> tuple[Rows, Chip]:
        """So many rows of a regime on a device, the same on every machine.

        Raises NotInstalledError or RooflintError.
        """
        if self.read is None:
            measured, chip = bf16_products.of_device(registry, device)
            few = bf16_products.picked(measured, count, regime)
            sizes = np.stack([*few.shapes[:3], few.copies], axis=1)
            return Rows(name, device, sizes, few.seconds), chip
        chip = chip_of(registry.get(device), self.precision, Coefficients(registry).launches())
        every = _read(package.data_folder(), device, chip, name)
        picked = every.rows(self.inside(regime, every.sizes)).picked(count)
        return Rows(name, device, picked.sizes, picked.seconds), chip


def unseen(registry: Registry, family: str) -> Constants:
    """All constants as they were fitted without a family.

    Raises InputError, RooflintError, or KeyError for a family that was never left out.
    """
    file = constants_file(registry)
    if family not in file.families():
        raise KeyError(family)
    return file.without(family)


def measured_devices(topic: str) -> dict[str, tuple[str, ...]]:
    """The devices of each family on which a topic was measured."""
    found = {family: tuple(name for name in devices(family) if name not in TOPICS[topic].absent) for family in FAMILIES}
    return {family: names for family, names in found.items() if names}


@cache
def _read(data: Path, device: str, chip: Chip, topic: str) -> Recorded:
    read = TOPICS[topic].read
    assert read is not None
    return read(data, device, chip)


# ---- Regimes, from the sizes of rows by name

Columns = Mapping[str, Numbers]


def _products(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:  # noqa: ARG001  # all are asked alike
    gflop = OPS_PER_MAC * columns["m"] * columns["n"] * columns["k"] / 1e9
    return _by_size(regime, gflop, 20, 1, narrow=columns["m"] <= 16)


def _sequences(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    sizes = attention.Sequences(*columns.values())
    gflop = attention.ops(sizes, causal=options.get("causal", False)) / 1e9
    return _by_size(regime, gflop, 20, 1, short=sizes.tokens <= 64)


def _caches(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:
    model = Decode(**options)
    return _by_size(regime, model.bytes_moved(model.work(**columns)) / 1e6, 300, 10)


def _streams(regime: str, columns: Columns, options: Mapping[str, Any]) -> Mask:  # noqa: ARG001  # all are asked alike
    return _by_size(regime, 3 * columns["m"] * columns["k"], 1e8, 1e6)


def _by_size(regime: str, size: Numbers, large: float, small: float, **others: Mask) -> Mask:
    masks = {"all": np.ones(len(size), bool), "large": size > large, "small": size < small, **others}
    return masks[regime]


_REGIMES: Mapping[str, Callable[[str, Columns, Mapping[str, Any]], Mask]] = MappingProxyType(
    {"gemm": _products, "attention": _sequences, "decode": _caches, "quantise": _streams}
)


ATTENTION = attention.Sequences._fields
PREFILLED = {"causal": True, "append_bytes": 2.0}
"""Prefill was measured with the step that appends K and V to a cache in bf16."""

TOPICS: Mapping[str, Topic] = MappingProxyType(
    {
        "gemm": Topic("gemm", "gemm", ("m", "n", "k", "copies"), PRODUCT, None, "products", fits=True),
        **{
            f"fp8_{scale}": Topic(
                f"fp8 by {scale}",
                "gemm",
                ("m", "n", "k"),
                PRODUCT,
                partial(products, scale=scale),
                "quantised",
                fits=scale == "tensor",
                precision="fp8",
                copies=COPIES,
                options={"scale": scale},
                absent=NO_FP8,
            )
            for scale in get_args(Scale)
        },
        "quantise": Topic(
            "quantise",
            "quantise",
            ("m", "k"),
            STREAM,
            lambda data, device, _: quantise(data, device),
            "stream",
            fits=True,
            absent=NO_FP8,
        ),
        "prefill": Topic("prefill", "attention", ATTENTION, PREFILL, prefill, "prefill", fits=True, options=PREFILLED),
        "encoder": Topic("encoder", "attention", ATTENTION, PREFILL, encoder, "prefill", absent=NO_FP8),
        "decode": Topic("decode", "decode", ATTENTION, DECODE, decode, "decode", fits=True),
        "decode_fp8": Topic(
            "decode, fp8 cache",
            "decode",
            ATTENTION,
            DECODE,
            lambda data, device, chip: decode(data, device, chip, cache="fp8"),
            "decode",
            options={"cache_bytes": 1.0},
            absent=NO_FP8,
        ),
    }
)
"""By the word of a claim; FP8 products have one scale a tensor, or one a block of 128."""

BESIDE_PRODUCTS = tuple(
    name for group in ("stream", "prefill", "decode", "quantised") for name in TOPICS if TOPICS[name].group == group
)
"""What `rooflint calibrate attention` fits, in that order: attention streams its bytes as quantise kernels do."""
