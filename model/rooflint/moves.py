"""Moves: which predictions of two ledgers differ, and by what factor."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rooflint.ledger import QUANTITIES, Key, Ledger

SAME = 1e-9
"""Relative difference up to which two predictions are the same: another order of summation does not move anything."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Move:
    """What one quantity of one device did."""

    device: str
    quantity: str
    rows: int
    """Predictions that moved."""
    of: int
    """Predictions that both ledgers have figures for, or one of them."""
    low: float | None
    """Least factor, new over old; None where no prediction that moved is positive in both. [1]"""
    high: float | None
    """Greatest factor. [1]"""
    known: int = 0
    """Predictions that only the new ledger knows."""
    unknown: int = 0
    """Predictions that only the old ledger knows."""

    @property
    def distance(self) -> float:
        """How far the farthest prediction moved, in octaves; what only one side knows moved farthest."""
        if self.unknown or self.known:
            return float("inf")
        return max((abs(float(np.log2(end))) for end in (self.low, self.high) if end), default=0.0)


@dataclass(frozen=True, eq=False)
class Difference:
    """The predictions that two ledgers have in common, side by side; arrays have the shape (rows, quantities)."""

    keys: tuple[Key, ...]
    old: Floats
    new: Floats

    @classmethod
    def of(cls, old: Ledger, new: Ledger) -> "Difference":
        """Of the keys that both have."""
        keys = tuple(key for key in old.keys if key in new.places)
        return cls(
            keys,
            old.values[[old.places[key] for key in keys]],
            new.values[[new.places[key] for key in keys]],
        )

    @cached_property
    def moved(self) -> Flags:
        """Where the two differ."""
        near = np.abs(self.new - self.old) <= SAME * np.maximum(np.abs(self.new), np.abs(self.old))
        nobody = np.isnan(self.new) & np.isnan(self.old)
        return np.asarray(~(near | nobody))

    @cached_property
    def factors(self) -> Floats:
        """New over old, exactly 1 where nothing moved; NaN where one of them is not known or zero. [1]"""
        both = (self.old > 0) & (self.new > 0)
        ratio = np.divide(self.new, self.old, out=np.full_like(self.old, np.nan), where=both)
        return np.where(self.moved, ratio, 1.0)

    @property
    def predictions(self) -> int:
        """Rows in which something moved."""
        return int(self.moved.any(axis=1).sum())

    @cached_property
    def devices(self) -> dict[str, Flags]:
        """Rows of each device. Shape (rows,)."""
        names = np.array([key.device for key in self.keys], dtype=np.str_)
        return {str(name): names == name for name in np.unique(names)}

    def moves(self) -> list[Move]:
        """By device and quantity, the farthest first."""
        return sorted(self._moves(), key=lambda move: (-move.distance, move.device, QUANTITIES.index(move.quantity)))

    def _moves(self) -> Iterator[Move]:
        for device, rows in self.devices.items():
            for column, quantity in enumerate(QUANTITIES):
                if self.moved[rows, column].any():
                    yield self._move(device, quantity, rows, column)

    def _move(self, device: str, quantity: str, rows: Flags, column: int) -> Move:
        old, new = self.old[rows, column], self.new[rows, column]
        moved = self.moved[rows, column]
        low, high = ends(self.factors[rows, column][moved])
        return Move(
            device,
            quantity,
            rows=int(moved.sum()),
            of=int((~np.isnan(old) | ~np.isnan(new)).sum()),
            low=low,
            high=high,
            known=int((np.isnan(old) & ~np.isnan(new)).sum()),
            unknown=int((~np.isnan(old) & np.isnan(new)).sum()),
        )


def ends(factors: Floats) -> tuple[float | None, float | None]:
    """Least and greatest of the factors that are known."""
    known = factors[~np.isnan(factors)]
    return (float(known.min()), float(known.max())) if len(known) else (None, None)
