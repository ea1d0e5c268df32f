"""Anchored: what a few products of one machine say of its launches, its matrix units and its memory.

A product tells of the machine and of itself: of its tile, its kernel, the shape that a library was tuned for. So each
figure moves only as far from what all GPUs share as the products can tell a machine from a shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.device_calibration import Own
from rooflint.kernels.gemm import latency_s, launch_s
from rooflint.kernels.shapes import Numbers, Shapes
from rooflint_measure.stopwatches.anchors import ANCHORS, Kind


class Spread(NamedTuple):
    """Standard deviations of predicted over measured, as a share: of machines, and of shapes on one machine."""

    machines: float
    shapes: float

    def weight(self, products: int) -> float:
        """Share of what so many products say that is the machine's. [1]

        Shrinkage: the mean of n observations with noise σ of something that varies by τ is worth τ² / (τ² + σ² / n).
        """
        return self.machines**2 / (self.machines**2 + self.shapes**2 / products)


SPREADS: Mapping[Kind, Spread] = {
    "null": Spread(0.071, 0.069),
    "peak": Spread(0.037, 0.072),
    "streaming": Spread(0.038, 0.040),
}
"""Of the nine measured GPUs, each predicted by constants that have not seen its family, to two digits (`spreads`).

Machines: of medians over products below 1 GFLOP (of the launch), above 20 GFLOP, and of m up to 16 whose weights are
larger than four times L2. Shapes: of the null anchors; of the other two regimes.
"""

LEAST_LAUNCH_S = 1e-8
"""No launch is shorter: what is below is noise of the anchors. [s]"""


@dataclass(frozen=True)
class Anchors:
    """Measured products of one kind, or of all."""

    shapes: Shapes
    seconds: Numbers
    copies: Numbers
    """Sets of weights in turn."""

    def of(self, kind: Kind) -> "Anchors":
        """Those of a kind."""
        found = np.array([one in ANCHORS[kind] for one in self.sizes], bool)
        return Anchors(Shapes(*(column[found] for column in self.shapes)), self.seconds[found], self.copies[found])

    @property
    def sizes(self) -> list[tuple[int, int, int]]:
        """m, n, k of each."""
        return [(int(m), int(n), int(k)) for m, n, k, _ in zip(*self.shapes, strict=True)]

    def __len__(self) -> int:
        """Products; not how many columns."""
        return len(self.seconds)


@dataclass(frozen=True)
class Setting:
    """What anchors are predicted with."""

    chip: Chip
    constants: Products
    element_bytes: float

    def predicted_s(self, anchors: Anchors) -> Numbers:
        """[s]"""
        return latency_s(
            anchors.shapes, self.chip, self.constants, element_bytes=self.element_bytes, copies=anchors.copies
        )

    def with_(self, own: Own) -> "Setting":
        """The same with a machine's own figures."""
        chip, constants = own.of(self.chip, self.constants)
        return replace(self, chip=chip, constants=constants)


def own_of(anchors: Anchors, setting: Setting) -> Own:
    """What the anchors say; None for a kind of which there are none.

    Memory first, as large products wait for it a little; then the matrix units; then launches, whose products do some
    work of their own.
    """
    stream = _factor(anchors, "streaming", setting)
    dram = None if stream is None else min(setting.constants.dram_efficiency * stream, 1.0)
    matrix = _factor(anchors, "peak", setting.with_(Own(dram_efficiency=dram)))
    launch = _launch_s(anchors.of("null"), setting.with_(Own(dram_efficiency=dram, matrix_factor=matrix)))
    return Own(launch, matrix, dram)


def _factor(anchors: Anchors, kind: Kind, setting: Setting) -> float | None:
    """How many times as fast as predicted the products of a kind are on the whole, moved part of the way. [1]"""
    few = anchors.of(kind)
    if not len(few):
        return None
    lean = float(np.log(setting.predicted_s(few) / few.seconds).mean())
    return float(np.exp(lean * SPREADS[kind].weight(len(few))))


def _launch_s(few: Anchors, setting: Setting) -> float | None:
    """What null products take beyond the work that is predicted of them, moved part of the way. [s]"""
    if not len(few):
        return None
    shared = launch_s(setting.chip, setting.constants)
    beyond = float(np.mean(few.seconds - setting.predicted_s(few)))
    return max(shared + beyond * SPREADS["null"].weight(len(few)), LEAST_LAUNCH_S)
