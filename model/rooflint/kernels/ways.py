"""Ways: by which formula the time of an op is found, and what the constants of that formula rest on."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels import convolution, pointwise
from rooflint.networks.ops import FUSES, MOVES, POOLS, REDUCTIONS
from rooflint.networks.workload import Workload

Way = Literal["product", "convolution", "attention", "decode", "stream", "roofline"]

WAYS: tuple[Way, ...] = get_args(Way)

RESTS_ON: Mapping[Way, str] = MappingProxyType(
    {
        "product": "calibrated on bf16 products of one matrix by another",
        "convolution": convolution.CALIBRATED,
        "attention": "calibrated on prefill, checked on encoders",
        "decode": "calibrated on decode",
        "stream": pointwise.SAME_RAMP,
        "roofline": "not calibrated: the plain roofline, with the launch of a stream",
    }
)

CALIBRATED: tuple[Way, ...] = ("product", "attention", "decode")
"""Of which kernels were measured that do just this."""

FITTED_ON = "bf16"
"""The precision of the measurements."""

NORMS = frozenset({"batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm"})
SOFTMAX = frozenset({"softmax", "log_softmax"})

STREAMS = frozenset({*FUSES, *NORMS, *SOFTMAX, *POOLS.values(), *REDUCTIONS, "vector_norm", *MOVES})
"""Kinds that read their operands from one end to the other and do little with them. What picks, sorts or samples reads
in another order, so nobody says that it takes the ramp."""


def ways(work: Workload) -> NDArray[np.str_]:
    """By which formula each op is timed. Shape (ops,)

    A depthwise convolution is a stream: one output a thread, and no matrix to cut into tiles.
    """
    product, one_column = work.macs > 0, (work.n == 1) & (work.groups > 1)
    convolved = product & np.char.startswith(work.kinds, "conv")
    attended = product & (work.kinds == "attention")
    streams = np.isin(work.kinds, sorted(STREAMS)) & ~product
    return np.select(
        [
            streams | (convolved & one_column),
            convolved,
            attended & (work.m == work.n),
            attended & (work.m == 1),
            product & ~attended,
        ],
        ["stream", "convolution", "attention", "decode", "product"],
        "roofline",
    )
