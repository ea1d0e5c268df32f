"""Shapes: matrix products to be timed, one entry each; how long their bytes take, and what overlaps with them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rooflint.base.errors import RooflintError
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products, Stream

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


# ---- Residency: what of a kernel's operands is still in L2 when it runs, and how long the bytes take

COLD = np.inf
"""Copies of the weights beyond number: other kernels ran in between, and nothing is left in L2."""

SUREST = 64.0
"""Capacity over working set beyond which more of it changes no digit, and its power would overflow. [1]"""


Accessed = Products | Stream
"""What is fitted of memory and L2; of products and of streams apart, whose accesses differ."""


def touched_bytes(shapes: Shapes, element_bytes: float) -> Numbers:
    """Both operands and the result, each once. [B]"""
    m, n, k, batch = shapes
    return element_bytes * batch * (n * k + m * k + m * n)


def working_set_bytes(shapes: Shapes, element_bytes: float, copies: Numbers | float) -> Numbers:
    """What is touched before the same weights come again, where a benchmark takes `copies` of them in turn. [B]"""
    m, n, k, batch = shapes
    return element_bytes * batch * (copies * n * k + m * k + m * n)


def miss_share(working_set_bytes: Numbers, chip: Chip, constants: Accessed) -> Numbers:
    """Share of the bytes that L2 does not answer. [1]

    What comes again in the same order is found nearly whole or nearly not at all, as the least recently used goes
    first; so the share rises from 0 to 1 where the working set passes the capacity.
    """
    room = constants.l2_reach * chip.l2_bytes / working_set_bytes
    with np.errstate(over="ignore"):  # sharper than anything can count is a step: nothing misses
        return 1 / (1 + np.minimum(room, SUREST) ** constants.l2_sharpness)


def dram_bytes_per_s(chip: Chip, constants: Accessed) -> float:
    """What a stream from memory attains. [B/s]"""
    return constants.dram_efficiency * chip.bandwidth_bytes_per_s


def l2_bytes_per_s(chip: Chip, constants: Accessed) -> float:
    """What hits attain, which is no less than memory gives. [B/s]"""
    return max(dram_bytes_per_s(chip, constants), constants.l2_bytes * chip.sms * chip.clock_hz)


def memory_s(touched_bytes: Numbers, miss_share: Numbers | float, chip: Chip, constants: Accessed) -> Numbers:
    """Time to move bytes of which that share misses. [s]"""
    return split_s(touched_bytes, miss_share, dram_bytes_per_s(chip, constants), l2_bytes_per_s(chip, constants))


def split_s(touched_bytes: Numbers, miss_share: Numbers | float, dram_per_s: float, l2_per_s: float) -> Numbers:
    """Time to move bytes of which that share comes from memory, and the rest from L2; rates are in B/s. [s]"""
    return touched_bytes * (miss_share / dram_per_s + (1 - miss_share) / l2_per_s)
