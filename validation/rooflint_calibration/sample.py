"""Sample: rows that a hash of their shape picks, so that every machine picks the same ones."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels.shapes import Shapes
from rooflint_calibration.products import Measured, gflop

REGIMES: Mapping[str, Callable[[Shapes], NDArray[np.bool_]]] = MappingProxyType(
    {
        "all": lambda shapes: np.ones(len(shapes), bool),
        "large": lambda shapes: gflop(shapes) > 20,
        "small": lambda shapes: gflop(shapes) < 1,
        "narrow": lambda shapes: shapes.m <= 16,
    }
)
"""Parts of the data: all, above 20 GFLOP, below 1 GFLOP, m up to 16."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def shape_hash(shapes: Shapes) -> NDArray[np.uint64]:
    """A number for each shape that looks like chance and is none: the finaliser of SplitMix64 over m, n and k."""
    found = np.zeros(len(shapes), np.uint64)
    with np.errstate(over="ignore"):
        for column in (shapes.m, shapes.n, shapes.k):
            found = found + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
            found = (found ^ (found >> np.uint64(30))) * _MIX[0]
            found = (found ^ (found >> np.uint64(27))) * _MIX[1]
            found = found ^ (found >> np.uint64(31))
    return found


def picked(measured: Measured, rows: int, regime: str = "all") -> Measured:
    """So many rows of a regime; all of them where there are fewer."""
    inside: NDArray[Any] = np.flatnonzero(REGIMES[regime](measured.shapes))
    order = np.argsort(shape_hash(measured.shapes)[inside], kind="stable")
    return measured.rows(np.sort(inside[order[:rows]]))
