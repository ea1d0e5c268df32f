"""Density: how many rows lie in each bin of a plane with two logarithmic axes; what a page draws instead of dots."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels.shapes import Numbers

PER_DECADE = 20
"""Bins of a time; one is 12 % wide."""

RATIO_PER_DECADE = 40
"""Bins of predicted over measured; one is 6 % wide."""

UNDER_PER_DECADE = 10
"""Bins of the time that ratios are drawn over."""

FARTHEST = 4.0
"""Ratios beyond, either way, are counted in the outermost bin."""


@dataclass(frozen=True)
class Column:
    """Bins above each other: bin y counts what lies from 10^(y / bins a decade) to the next."""

    x: int
    y: int
    """Of the first count."""
    counts: tuple[int, ...]


def times(measured_s: Numbers, predicted_s: Numbers) -> list[Column]:
    """Predicted over measured time."""
    return _columns(_bins(measured_s, PER_DECADE), _bins(predicted_s, PER_DECADE))


def ratios(measured_s: Numbers, predicted_s: Numbers) -> list[Column]:
    """Their ratio over the measured time."""
    last = math.floor(math.log10(FARTHEST) * RATIO_PER_DECADE)
    found = np.clip(_bins(predicted_s / measured_s, RATIO_PER_DECADE), -last, last - 1)
    return _columns(_bins(measured_s, UNDER_PER_DECADE), found)


def _bins(values: Numbers, per_decade: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.floor(np.log10(values) * per_decade).astype(np.int64)
    return found


def _columns(x: NDArray[np.int64], y: NDArray[np.int64]) -> list[Column]:
    """From the left; each from its lowest row to its highest, with zeros where there is none between."""
    found = []
    for place in np.unique(x):
        there = y[x == place]
        low = int(there.min())
        found.append(Column(int(place), low, tuple(np.bincount(there - low).tolist())))
    return found
