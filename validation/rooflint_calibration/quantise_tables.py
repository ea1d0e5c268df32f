"""Quantise tables: bf16 activations made FP8 with a scale that is known before, by one kernel, of one device."""

from pathlib import Path

import numpy as np

from rooflint_calibration.package import folder_of
from rooflint_calibration.rows import Recorded, Table, read

KERNEL = "static_scaled_fp8_quant"
"""The only one that the tables name as one kernel."""

STATIC = Table(
    "quantize/*/*/scale_matrix_perf.parquet",
    ("m", "k"),
    {"kernel_source": lambda values: np.array([str(value) for value in values])},
    lambda row, _: {
        "SGLang: 3 to 13 times as long as vLLM for the same bytes, another algorithm": row["kernel_source"] == "sglang",
        "TensorRT-LLM: operators that the table does not name": row["kernel_source"] == "torch_ops",
    },
)


def quantise(data: Path, device: str) -> Recorded:
    """Rows by m and k. Raises RooflintError, also of a device without FP8."""
    return read(data / folder_of(device), device, STATIC)
