"""The Pareto set: points that no other point beats in one quantity without being worse in another.

By halves, as in H. T. Kung, F. Luccio, F. P. Preparata, "On Finding the Maxima of a Set of Vectors", JACM 22(4), 1975,
doi:10.1145/321906.321910. Few points are compared pair by pair, which takes less time in NumPy.
"""

import numpy as np
from numpy.typing import NDArray

FEW = 1 << 14
"""Pairs that are compared at once."""

Ranks = NDArray[np.int64]


def non_dominated(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of (points, quantities), less of each being better, no other row dominates: shape (points,).

    A row dominates another if it is nowhere greater and somewhere less, so equal rows stay together. A row with a NaN
    neither dominates nor is in the set.
    """
    kept = np.zeros(len(values), dtype=bool)
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    if known.size:
        rows, groups = np.unique(values[known], axis=0, return_inverse=True)
        ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in rows.T], axis=1)
        best = np.zeros(len(rows), dtype=bool)
        best[_first(ranks, np.arange(len(rows)))] = True
        kept[known] = best[groups.ravel()]
    return kept


def _first(ranks: Ranks, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of distinct rows in lexicographic order, those that none of them dominates.

    A row of the first half that is nowhere greater in the other quantities dominates one of the second half, which
    never dominates a row of the first.
    """
    if len(rows) ** 2 <= FEW:
        alone: NDArray[np.bool_] = _below(ranks[rows], ranks[rows]).sum(axis=1) == 1
        return rows[alone]
    middle = len(rows) // 2
    low, high = _first(ranks, rows[:middle]), _first(ranks, rows[middle:])
    return np.concatenate([low, high[~_covered(ranks[high, 1:], ranks[low, 1:])]])


def _covered(rows: Ranks, others: Ranks) -> NDArray[np.bool_]:
    """For which rows one of the others is nowhere greater: shape (rows,)."""
    if not len(rows) or not len(others):
        return np.zeros(len(rows), dtype=bool)
    if len(rows) * len(others) <= FEW or rows.shape[1] == 0:
        return np.asarray(_below(rows, others).any(axis=1))
    if rows.shape[1] <= 2:
        return _under_steps(rows, others)
    return _by_halves(rows, others)


def _below(rows: Ranks, others: Ranks) -> NDArray[np.bool_]:
    """Which of the others is nowhere greater than which row: shape (rows, others)."""
    found = np.ones((len(rows), len(others)), dtype=bool)
    for mine, theirs in zip(rows.T, others.T, strict=True):
        found &= theirs <= mine[:, None]
    return found


def _under_steps(rows: Ranks, others: Ranks) -> NDArray[np.bool_]:
    """The same for one or two quantities: the least second one of all others whose first one is not greater."""
    order = np.argsort(others[:, 0], kind="stable")
    least = np.minimum.accumulate(others[order, -1])
    reached = np.searchsorted(others[order, 0], rows[:, 0], side="right")
    return (reached > 0) & (least[reached - 1] <= rows[:, -1])


def _by_halves(rows: Ranks, others: Ranks) -> NDArray[np.bool_]:
    """The same for more quantities: the upper half of the first one covers nothing in its lower half."""
    first = others[:, 0]
    split = np.partition(first, (len(first) - 1) // 2)[(len(first) - 1) // 2]
    if split == first.max():
        split = max(first[first < split], default=split - 1)
    low, lower = rows[:, 0] <= split, first <= split
    found = np.zeros(len(rows), dtype=bool)
    found[low] = _covered(rows[low], others[lower])
    found[~low] = _covered(rows[~low, 1:], others[lower, 1:])
    left, upper = np.flatnonzero(~low & ~found), others[~lower]
    if upper[:, 0].min() == upper[:, 0].max():
        left, upper = left[rows[left, 0] >= upper[0, 0]], upper[:, 1:]
    found[left] = _covered(rows[left, -upper.shape[1] :], upper)
    return found
