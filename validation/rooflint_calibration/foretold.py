"""Foretold: what the model says of measured rows, by topic, with constants that have not seen their family."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from rooflint.devices.registry import Registry
from rooflint.kernels import gemm
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, constants_file
from rooflint.kernels.shapes import Numbers, shapes
from rooflint_calibration.ops import OPS
from rooflint_calibration.products import ELEMENT_BYTES
from rooflint_calibration.rows import Recorded


def without(registry: Registry, family: str) -> Constants:
    """All constants as they were fitted without a family.

    Raises InputError, RooflintError, or KeyError for a family that was never left out.
    """
    file = constants_file(registry)
    if family not in file.families():
        raise KeyError(family)
    return file.without(family)


def predicted_s(topic: str, sizes: Numbers, chip: Chip, constants: Constants) -> Numbers:
    """Time of each row of a topic, whose sizes are its columns. [s]"""
    return _PREDICT[topic](sizes, chip, constants)


def _product(sizes: Numbers, chip: Chip, constants: Constants) -> Numbers:
    m, n, k, copies = sizes.T
    return gemm.latency_s(shapes(m, n, k), chip, constants.products, element_bytes=ELEMENT_BYTES, copies=copies)


def _op(name: str) -> Callable[[Numbers, Chip, Constants], Numbers]:
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


_PREDICT: Mapping[str, Callable[[Numbers, Chip, Constants], Numbers]] = MappingProxyType(
    {
        "gemm": _product,
        **{topic: _op(name) for topic, name in BY_TOPIC.items()},
    }
)
