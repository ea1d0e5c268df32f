"""Foretold: what the model says of measured rows, by topic, with constants that have not seen their family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from pytest_rooflint.silicon import fp8_products
from pytest_rooflint.silicon.measured import ELEMENT_BYTES
from pytest_rooflint.silicon.ops import OPS
from pytest_rooflint.silicon.recorded import Recorded
from rooflint.silicon import gemm
from rooflint.silicon.chip import Chip
from rooflint.silicon.constants import Constants, silicon_file
from rooflint.silicon.op_constants import OpConstants, ops_file
from rooflint.silicon.shapes import Numbers, shapes
from rooflint.specs import Registry


@dataclass(frozen=True)
class Unseen:
    """All constants, of products and of the other ops."""

    products: Constants
    ops: OpConstants


def without(registry: Registry, family: str) -> Unseen:
    """As they were fitted without a family. Raises InputError or RooflintError."""
    return Unseen(silicon_file(registry).without(family), ops_file(registry).without(family))


def predicted_s(topic: str, sizes: Numbers, chip: Chip, constants: Unseen) -> Numbers:
    """Time of each row of a topic, whose sizes are its columns. [s]"""
    return _PREDICT[topic](sizes, chip, constants)


def _product(sizes: Numbers, chip: Chip, constants: Unseen) -> Numbers:
    m, n, k, copies = sizes.T
    return gemm.latency_s(shapes(m, n, k), chip, constants.products, element_bytes=ELEMENT_BYTES, copies=copies)


def _fp8(sizes: Numbers, chip: Chip, constants: Unseen) -> Numbers:
    return fp8_products.with_quantise_s(_recorded(sizes), chip, constants.products, constants.ops.stream)


def _op(name: str) -> Callable[[Numbers, Chip, Unseen], Numbers]:
    return lambda sizes, chip, constants: OPS[name].predict(_recorded(sizes), chip, constants.ops)


def _recorded(sizes: Numbers) -> Recorded:
    return Recorded("", sizes, np.full(len(sizes), np.nan), {})


_PREDICT: Mapping[str, Callable[[Numbers, Chip, Unseen], Numbers]] = MappingProxyType(
    {
        "gemm": _product,
        "fp8_tensor": _fp8,
        "fp8_block": _fp8,
        "quantise": _op("quantise"),
        "prefill": _op("prefill"),
        "encoder": _op("encoder"),
        "decode": _op("decode"),
        "decode_fp8": _op("decode, fp8 cache"),
    }
)
