"""Ops: what is measured beside matrix products, how each is predicted, and in which parts its error is stated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rooflint.kernels import decode, prefill, stream
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.quantised import Scale
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import fp8_products
from rooflint_calibration.attention_tables import decode as read_decode
from rooflint_calibration.attention_tables import encoder as read_encoder
from rooflint_calibration.attention_tables import prefill as read_prefill
from rooflint_calibration.attention_tables import shapes_of
from rooflint_calibration.products import PRECISION, REGIMES
from rooflint_calibration.quantise_tables import bytes_of, quantise
from rooflint_calibration.rows import Mask, Recorded

Part = Callable[[Recorded], Mask]

WITH_CACHE = 2.0
"""Prefill was measured with the step that appends K and V to a cache in bf16. [B]"""


@dataclass(frozen=True)
class Op:
    """One op. Benchmarks repeat it on the same tensors, so all are predicted warm."""

    group: str
    """The constants that are its own: stream, prefill, decode or quantised."""
    fits: bool
    """Whether they are fitted on it; else it is a check of constants that were fitted on another op."""
    read: Callable[[Path, str, Chip], Recorded]
    predict: Callable[[Recorded, Chip, Constants], Numbers]
    roofline: Callable[[Recorded, Chip], Numbers]
    parts: Mapping[str, Part]
    precision: str = PRECISION
    """Of the units that it runs on."""


def _all(recorded: Recorded) -> Mask:
    return np.ones(len(recorded), bool)


def _stream_parts() -> dict[str, Part]:
    return {"all": _all, "> 100 MB": lambda one: bytes_of(one) > 1e8, "< 1 MB": lambda one: bytes_of(one) < 1e6}


def _prefill_parts(*, causal: bool) -> dict[str, Part]:
    def gflop(one: Recorded) -> Numbers:
        return prefill.ops(shapes_of(one), causal=causal) / 1e9

    return {
        "all": _all,
        "> 20 GFLOP": lambda one: gflop(one) > 20,
        "< 1 GFLOP": lambda one: gflop(one) < 1,
        "≤ 64 tokens": lambda one: shapes_of(one).tokens <= 64,
    }


def _decode_parts(cache_bytes: float) -> dict[str, Part]:
    def megabytes(one: Recorded) -> Numbers:
        return decode.bytes_moved(shapes_of(one), cache_bytes=cache_bytes) / 1e6

    return {"all": _all, "> 300 MB": lambda one: megabytes(one) > 300, "< 10 MB": lambda one: megabytes(one) < 10}


def _prefill(*, causal: bool, fits: bool, read: Callable[[Path, str, Chip], Recorded]) -> Op:
    append_bytes = WITH_CACHE if causal else 0.0
    return Op(
        "prefill",
        fits,
        read,
        lambda one, chip, constants: prefill.latency_s(
            shapes_of(one), chip, constants, causal=causal, append_bytes=append_bytes, warm=True
        ),
        lambda one, chip: prefill.roofline_s(shapes_of(one), chip, causal=causal, append_bytes=append_bytes),
        _prefill_parts(causal=causal),
    )


def _decode(cache: str, cache_bytes: float, *, fits: bool) -> Op:
    return Op(
        "decode",
        fits,
        lambda data, device, chip: read_decode(data, device, chip, cache=cache),
        lambda one, chip, constants: decode.latency_s(
            shapes_of(one), chip, constants, cache_bytes=cache_bytes, warm=True
        ),
        lambda one, chip: decode.roofline_s(shapes_of(one), chip, cache_bytes=cache_bytes),
        _decode_parts(cache_bytes),
    )


PRODUCT_PARTS = {"all": "all", "large": "> 20 GFLOP", "small": "< 1 GFLOP", "narrow": "m ≤ 16"}
"""How the table calls the regimes of products."""


def _product_parts() -> dict[str, Part]:
    def part(regime: str) -> Part:
        return lambda one: REGIMES[regime](fp8_products.shapes_of(one))

    return {name: part(regime) for regime, name in PRODUCT_PARTS.items()}


def _fp8(scale: Scale, *, fits: bool) -> Op:
    return Op(
        "quantised",
        fits,
        lambda data, device, chip: fp8_products.products(data, device, chip, scale),
        lambda one, chip, constants: fp8_products.latency_s(one, chip, constants, scale),
        fp8_products.roofline_s,
        _product_parts(),
        "fp8",
    )


OPS: Mapping[str, Op] = MappingProxyType(
    {
        "quantise": Op(
            "stream",
            True,
            lambda data, device, _: quantise(data, device),
            lambda one, chip, constants: stream.latency_s(bytes_of(one), chip, constants.stream, warm=True),
            lambda one, chip: bytes_of(one) / chip.bandwidth_bytes_per_s,
            _stream_parts(),
        ),
        "prefill": _prefill(causal=True, fits=True, read=read_prefill),
        "decode": _decode("bfloat16", 2.0, fits=True),
        "encoder": _prefill(causal=False, fits=False, read=read_encoder),
        "decode, fp8 cache": _decode("fp8", 1.0, fits=False),
        "fp8 by tensor": _fp8("tensor", fits=True),
        "fp8 by block": _fp8("block", fits=False),
    }
)
"""In the order in which their constants are fitted: attention streams its bytes as quantise kernels do."""

ABSENT: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("nvidia/a100-sxm4-80gb", "quantise"): "computes nothing in FP8",
        ("nvidia/a100-sxm4-80gb", "encoder"): "not measured",
        ("nvidia/a100-sxm4-80gb", "decode, fp8 cache"): "computes nothing in FP8",
        ("nvidia/a100-sxm4-80gb", "fp8 by tensor"): "computes nothing in FP8",
        ("nvidia/a100-sxm4-80gb", "fp8 by block"): "computes nothing in FP8",
    }
)
"""(device, op) without a table, and why."""
