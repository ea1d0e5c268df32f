"""FP8 products: matrix products of one device in FP8, with one scale a tensor or one a block of 128.

The best framework of a shape is the label.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.products import Scale
from rooflint_calibration.package import folder_of
from rooflint_calibration.rows import Recorded, Table, read, without

SPELT: Mapping[Scale, str] = {"tensor": "fp8", "block": "fp8_block"}
"""How the tables call the two, by what shares a scale."""

COPIES = 6.0
"""Sets of weights that vLLM and SGLang take in turn."""

HOST_BOUND = "vLLM by block: 60 to 500 us whatever the size, which is no kernel's time"


def _table(scale: Scale) -> Table:
    return Table(
        "gemm/*/*/gemm_perf.parquet",
        ("m", "n", "k"),
        {"gemm_dtype": lambda values: np.array([str(value) for value in values])},
        lambda row, file: {
            "another precision": row["gemm_dtype"] != SPELT[scale],
            **({HOST_BOUND: True} if scale == "block" and file.parents[1].name == "vllm" else {}),
        },
    )


def products(data: Path, device: str, chip: Chip, scale: Scale) -> Recorded:
    """Rows by m, n and k. Raises RooflintError, also where the device has none."""
    found = read(data / folder_of(device), device, _table(scale))
    least_s = found.sizes.prod(axis=1) / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    return without(found, {"faster than the dense peak": found.seconds < least_s})
