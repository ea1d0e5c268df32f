"""Score: how far predictions are from measurements."""

from dataclasses import dataclass

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.gemm import latency_s
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.products import ELEMENT_BYTES, Measured


@dataclass(frozen=True)
class Score:
    """Of some rows."""

    rows: int
    mape: float
    """Mean of |predicted / measured − 1|. [1]"""
    bias: float
    """Geometric mean of predicted / measured, less 1. [1]"""

    def __str__(self) -> str:
        """`10.1 % (+0.4)`."""
        return f"{100 * self.mape:.1f} % ({100 * self.bias:+.1f})"


def predicted_s(measured: Measured, chip: Chip, constants: Products) -> Numbers:
    """What the model says of the same rows. [s]"""
    return latency_s(measured.shapes, chip, constants, element_bytes=ELEMENT_BYTES, copies=measured.copies)


def roofline_s(measured: Measured, chip: Chip) -> Numbers:
    """What the plain roofline says of them. [s]"""
    m, n, k, _ = measured.shapes
    compute = measured.shapes.macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    return np.maximum(compute, ELEMENT_BYTES * (m * k + n * k + m * n) / chip.bandwidth_bytes_per_s)


def score(predicted_s: Numbers, measured_s: Numbers) -> Score:
    """Of predictions beside measurements."""
    ratio = predicted_s / measured_s
    return Score(len(ratio), float(np.abs(ratio - 1).mean()), float(np.exp(np.log(ratio).mean()) - 1))
