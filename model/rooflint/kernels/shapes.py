"""Shapes: matrix products to be timed, one entry each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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

    def part(self, rows: slice | NDArray[Any]) -> "Shapes":
        """Some of them."""
        return Shapes(self.m[rows], self.n[rows], self.k[rows], self.batch[rows])


def shapes(*sizes: ArrayLike, **named: ArrayLike) -> Shapes:
    """Shapes of m, n, k and batch, which is 1 if not said. Raises RooflintError for what cannot be."""
    alone: dict[str, ArrayLike] = {"batch": 1} if len(sizes) < len(Shapes._fields) else {}
    return Shapes(*columns_of(Shapes._fields, *sizes, **(alone | named)))


def columns_of(names: Sequence[str], *sizes: ArrayLike, **named: ArrayLike) -> list[Numbers]:
    """Sizes by position or by name, broadcast against one another.

    Raises RooflintError for one below 1 or missing, and for what is not a number or does not broadcast.
    """
    given = {**dict(zip(names, sizes, strict=False)), **named}
    if len(sizes) > len(names) or set(given) != set(names):
        raise RooflintError(f"want sizes {', '.join(names)}, found {', '.join(given)}")
    try:
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(given[name], float)) for name in names))
    except (TypeError, ValueError) as error:
        raise RooflintError(f"sizes {', '.join(names)}: {error}") from None
    for name, column in zip(names, columns, strict=True):
        if not (column >= 1).all():
            raise RooflintError(f"{name}: want 1 or more, found {column.min():g}")
    return [np.ascontiguousarray(column).ravel() for column in columns]


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
