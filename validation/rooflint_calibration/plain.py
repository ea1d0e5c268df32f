"""Plain: what the roofline says of measured rows, by topic, for whoever asks what the model is better by."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.shapes import Numbers, shapes
from rooflint_calibration import products
from rooflint_calibration.foretold import BY_TOPIC, untimed
from rooflint_calibration.ops import OPS
from rooflint_calibration.products import Measured


def roofline_s(topic: str, sizes: Numbers, chip: Chip) -> Numbers:
    """Time of each row of a topic, whose sizes are its columns, by peak and bandwidth alone. [s]"""
    return _ROOFLINES[topic](sizes, chip)


def _product(sizes: Numbers, chip: Chip) -> Numbers:
    m, n, k, copies = sizes.T
    return products.roofline_s(Measured("", shapes(m, n, k), np.full(len(sizes), np.nan), copies, {}), chip)


def _op(name: str) -> Callable[[Numbers, Chip], Numbers]:
    return lambda sizes, chip: OPS[name].roofline(untimed(sizes), chip)


_ROOFLINES: Mapping[str, Callable[[Numbers, Chip], Numbers]] = MappingProxyType(
    {
        "gemm": _product,
        **{topic: _op(name) for topic, name in BY_TOPIC.items()},
    }
)
