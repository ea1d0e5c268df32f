"""The score of predictions beside measurements."""

from dataclasses import dataclass

import numpy as np

from rooflint.kernels.shapes import Numbers


@dataclass(frozen=True)
class Score:
    """Errors over some rows."""

    rows: int
    mape: float
    """Mean of |predicted / measured − 1|. [1]"""
    bias: float
    """Geometric mean of predicted / measured, less 1. [1]"""

    def __str__(self) -> str:
        """`10.1 % (+0.4)`."""
        return f"{100 * self.mape:.1f} % ({100 * self.bias:+.1f})"


def score(predicted_s: Numbers, measured_s: Numbers) -> Score:
    """Errors of predictions."""
    ratio = predicted_s / measured_s
    return Score(len(ratio), float(np.abs(ratio - 1).mean()), float(np.exp(np.log(ratio).mean()) - 1))
