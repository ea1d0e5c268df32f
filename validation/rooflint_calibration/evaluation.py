"""Evaluation: held-out predictions beside measurements, their scores, and how they are distributed.

Held out: the constants of a prediction were fitted without the family of the device.
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.kernel import Terms
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.products import Measured, predicted_s, shape_hash
from rooflint_calibration.score import Score, score
from rooflint_calibration.topics import TOPICS, Rows, measured_devices, unseen

ALL = 10**9
"""More rows than any device has."""


@dataclass(frozen=True)
class HeldOut:
    """Measured rows of a topic on one device, and constants fitted without its family."""

    rows: Rows
    chip: Chip
    constants: Constants

    def predicted_s(self) -> Numbers:
        """Predicted time of each row. [s]"""
        return TOPICS[self.rows.topic].predict(self.rows.sizes, self.chip, self.constants)

    def terms_s(self) -> Terms:
        """The same by term. [s]"""
        return TOPICS[self.rows.topic].terms(self.rows.sizes, self.chip, self.constants)

    def ratio(self) -> Numbers:
        """Predicted over measured. [1]"""
        return self.predicted_s() / self.rows.seconds

    def only(self, which: NDArray[Any]) -> "HeldOut":
        """Some of the rows, by position or by a mask."""
        return replace(self, rows=self.rows.only(which))


def held_out(registry: Registry, topic: str, family: str, regime: str = "all", rows: int = ALL) -> list[HeldOut]:
    """`rows` rows of a regime on each device of a family. Raises NotInstalledError or RooflintError."""
    constants = unseen(registry, family)
    return [
        HeldOut(*TOPICS[topic].rows(topic, registry, device, regime, rows), constants)
        for device in measured_devices(topic)[family]
    ]


def score_of(ones: list[HeldOut]) -> Score:
    """The score of all rows together."""
    seconds = np.concatenate([one.rows.seconds for one in ones])
    return score(np.concatenate([one.predicted_s() for one in ones]), seconds)


def baseline_of(ones: list[HeldOut]) -> Score:
    """The score of the roofline baseline on the same rows."""
    seconds = np.concatenate([one.rows.seconds for one in ones])
    return score(np.concatenate([TOPICS[one.rows.topic].roofline(one.rows.sizes, one.chip) for one in ones]), seconds)


# ---- Order of devices


def pairs() -> list[tuple[str, str]]:
    """Every two measured devices of different families."""
    names = [device for family in FAMILIES for device in devices(family)]
    return [(one, two) for one, two in combinations(names, 2) if family_of(one) != family_of(two)]


def ordered(one: tuple[Measured, Chip, Constants], two: tuple[Measured, Chip, Constants], rows: int) -> tuple[int, int]:
    """(Shapes with the faster device predicted, shapes) of up to `rows` shapes that both have measured."""
    few_one, few_two = _common(one[0], two[0], rows)
    predicted = predicted_s(few_one, *one[1:]) < predicted_s(few_two, *two[1:])
    measured = few_one.seconds < few_two.seconds
    return int((predicted == measured).sum()), len(few_one)


def _common(one: Measured, two: Measured, rows: int) -> tuple[Measured, Measured]:
    _, in_one, in_two = np.intersect1d(shape_hash(one.shapes), shape_hash(two.shapes), return_indices=True)
    return one.rows(in_one[:rows]), two.rows(in_two[:rows])


# ---- Density: rows in each bin of a plane with two logarithmic axes, which a chart shows instead of dots

PER_DECADE = 20
"""Bins of a time; each is 12 % wide."""

RATIO_PER_DECADE = 40
"""Bins of predicted over measured; each is 6 % wide."""

UNDER_PER_DECADE = 10
"""Bins of the time on the axis below ratios."""

FARTHEST = 4.0
"""Ratios beyond this factor, either way, are counted in the outermost bin."""


@dataclass(frozen=True)
class Column:
    """Bins above each other: bin y counts the rows from 10^(y / bins per decade) to the next bin."""

    x: int
    y: int
    """Of the first count."""
    counts: tuple[int, ...]


def time_density(measured_s: Numbers, predicted_s: Numbers) -> list[Column]:
    """Bins of predicted and measured time."""
    return _columns(_bins(measured_s, PER_DECADE), _bins(predicted_s, PER_DECADE))


def ratio_density(measured_s: Numbers, predicted_s: Numbers) -> list[Column]:
    """Bins of their ratio and the measured time."""
    last = math.floor(math.log10(FARTHEST) * RATIO_PER_DECADE)
    found = np.clip(_bins(predicted_s / measured_s, RATIO_PER_DECADE), -last, last - 1)
    return _columns(_bins(measured_s, UNDER_PER_DECADE), found)


def _bins(values: Numbers, per_decade: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.floor(np.log10(values) * per_decade).astype(np.int64)
    return found


def _columns(x: NDArray[np.int64], y: NDArray[np.int64]) -> list[Column]:
    """From the left; each from its lowest row to its highest, with zeros between."""
    found = []
    for place in np.unique(x):
        there = y[x == place]
        low = int(there.min())
        found.append(Column(int(place), low, tuple(np.bincount(there - low).tolist())))
    return found
