"""Foretold: what the model says of measured rows, by topic, with constants that have not seen their family."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from pytest_rooflint.silicon.measured import ELEMENT_BYTES
from pytest_rooflint.silicon.ops import OPS
from pytest_rooflint.silicon.recorded import Recorded
from rooflint.silicon import gemm
from rooflint.silicon.chip import Chip
from rooflint.silicon.op_constants import OpConstants, ops_file
from rooflint.silicon.shapes import Numbers, shapes
from rooflint.specs import Registry


def without(registry: Registry, family: str) -> OpConstants:
    """All constants as they were fitted without a family. Raises InputError or RooflintError."""
    return ops_file(registry).without(family)


def predicted_s(topic: str, sizes: Numbers, chip: Chip, constants: OpConstants) -> Numbers:
    """Time of each row of a topic, whose sizes are its columns. [s]"""
    return _PREDICT[topic](sizes, chip, constants)


def _product(sizes: Numbers, chip: Chip, constants: OpConstants) -> Numbers:
    m, n, k, copies = sizes.T
    return gemm.latency_s(shapes(m, n, k), chip, constants.products, element_bytes=ELEMENT_BYTES, copies=copies)


def _op(name: str) -> Callable[[Numbers, Chip, OpConstants], Numbers]:
    return lambda sizes, chip, constants: OPS[name].predict(untimed(sizes), chip, constants)


def untimed(sizes: Numbers) -> Recorded:
    """Rows of which nobody says how long they took. Sizes (rows, sizes of the op)"""
    return Recorded("", sizes, np.full(len(sizes), np.nan), {})


BY_TOPIC = {
    "fp8_tensor": "fp8 by tensor",
    "fp8_block": "fp8 by block",
    "quantise": "quantise",
    "prefill": "prefill",
    "encoder": "encoder",
    "decode": "decode",
    "decode_fp8": "decode, fp8 cache",
}
"""What OPS calls each topic that is one of them."""


_PREDICT: Mapping[str, Callable[[Numbers, Chip, OpConstants], Numbers]] = MappingProxyType(
    {
        "gemm": _product,
        **{topic: _op(name) for topic, name in BY_TOPIC.items()},
    }
)
