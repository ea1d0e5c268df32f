"""Shapes: matrix products to be timed, one entry each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError

Numbers = NDArray[np.float64]


class Shapes(NamedTuple):
    """`batch` products of m × k and k × n; whole numbers, kept as floats."""

    m: Numbers
    n: Numbers
    k: Numbers
    batch: Numbers

    @property
    def macs(self) -> Numbers:
        """Multiply-accumulates. [MAC]"""
        return self.batch * self.m * self.n * self.k

    def __len__(self) -> int:
        """How many products; not how many columns."""
        return int(self.m.size)

    def part(self, rows: slice) -> "Shapes":
        """Some of them."""
        return Shapes(self.m[rows], self.n[rows], self.k[rows], self.batch[rows])


def shapes(m: ArrayLike, n: ArrayLike, k: ArrayLike, batch: ArrayLike = 1) -> Shapes:
    """Shapes of sizes that are broadcast against one another. Raises RooflintError for one below 1."""
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(size, float)) for size in (m, n, k, batch)))
    for name, column in zip(("m", "n", "k", "batch"), columns, strict=True):
        if not (column >= 1).all():
            raise RooflintError(f"{name}: want 1 or more, found {column.min():g}")
    return Shapes(*(np.ascontiguousarray(column).ravel() for column in columns))


# ---- Overlap: what two things take that mostly happen at the same time


def overlapped(one: Numbers | float, other: Numbers | float, exponent: float) -> Numbers:
    """What both take together, in the unit of each; no less than the longer."""
    longer, shorter = np.maximum(one, other), np.minimum(one, other)
    together: Numbers = longer * (1 + (shorter / longer) ** exponent) ** (1 / exponent)
    return together


def alone(together: Numbers, other: Numbers, exponent: float) -> Numbers:
    """What one takes by itself, where it takes so long together with the other: `overlapped` turned round."""
    share = np.divide(other, together, out=np.zeros_like(together), where=together > 0)
    one: Numbers = together * (1 - np.minimum(share, 1.0) ** exponent) ** (1 / exponent)
    return one
