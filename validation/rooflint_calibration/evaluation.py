"""Evaluation: held-out predictions beside measurements, their scores, how they are distributed, and what has none.

Held out: the constants of a prediction were fitted without the family of the device.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants
from rooflint.kernels.dispatch import OPS
from rooflint.kernels.kernel import Terms
from rooflint.kernels.network import CALIBRATED, MODELS, OP_OF
from rooflint.kernels.shapes import Numbers, shapes, working_set_bytes
from rooflint_calibration.package import FAMILY_OF
from rooflint_calibration.rows import ELEMENT_BYTES, Rows, hashed
from rooflint_calibration.topics import ALL, TOPICS, measured_devices, sample, unseen

RESIDENT = 3.5
"""Working set over L2 capacity up to which memory need not have been read, so that the roofline does not apply.

Inputs are used again with each set of weights and stay longer than these: at 3.4 times L2 one product, a third of whose
bytes are inputs, takes 0.94 of the roofline on an L40S.
"""


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


@dataclass(frozen=True)
class HeldOut:
    """Measured rows of a topic on one device, and constants fitted without its family."""

    topic: str
    rows: Rows
    chip: Chip
    constants: Constants

    def predicted_s(self) -> Numbers:
        """Predicted time of each row. [s]"""
        return TOPICS[self.topic].predict(self.rows.sizes, self.chip, self.constants)

    def terms_s(self) -> Terms:
        """Predicted time of each row, by term. [s]"""
        return TOPICS[self.topic].terms(self.rows.sizes, self.chip, self.constants)

    def roofline_s(self) -> Numbers:
        """The roofline baseline of each row. [s]"""
        return TOPICS[self.topic].roofline(self.rows.sizes, self.chip)

    def ratio(self) -> Numbers:
        """Predicted over measured. [1]"""
        return self.predicted_s() / self.rows.seconds

    def only(self, which: NDArray[Any]) -> "HeldOut":
        """Some of the rows, by position or by a mask."""
        return replace(self, rows=self.rows.only(which))


def held_out(registry: Registry, topic: str, family: str, regime: str = "all", count: int = ALL) -> list[HeldOut]:
    """`count` rows of a regime on each device of a family. Raises NotInstalledError or RooflintError."""
    constants = unseen(registry, family)
    return [
        HeldOut(topic, *sample(registry, topic, device, regime, count), constants)
        for device in measured_devices(topic)[family]
    ]


def score_of(ones: Sequence[HeldOut]) -> Score:
    """The score of all rows together."""
    return _score_of([one.predicted_s() for one in ones], ones)


def baseline_of(ones: Sequence[HeldOut]) -> Score:
    """The score of the roofline baseline on the same rows."""
    return _score_of([one.roofline_s() for one in ones], ones)


def _score_of(seconds: Sequence[Numbers], ones: Sequence[HeldOut]) -> Score:
    return score(np.concatenate(seconds), np.concatenate([one.rows.seconds for one in ones]))


# ---- Products: the roofline as a bound, and the order of devices


def below_roofline(rows: Rows, chip: Chip) -> Rows:
    """Products that are faster than the roofline although L2 cannot hold what they read."""
    m, n, k, copies = rows.sizes.T
    cold = working_set_bytes(shapes(m, n, k), ELEMENT_BYTES, copies) > RESIDENT * chip.l2_bytes
    return rows.only(cold & (rows.seconds < TOPICS["gemm"].roofline(rows.sizes, chip)))


def pairs() -> list[tuple[str, str]]:
    """Every two measured devices of different families."""
    return [(one, two) for one, two in combinations(FAMILY_OF, 2) if FAMILY_OF[one] != FAMILY_OF[two]]


def ordered(one: HeldOut, two: HeldOut, count: int) -> tuple[int, int]:
    """(Shapes with the faster device predicted, shapes) of up to `count` shapes that both have measured."""
    first, second = (hashed(each.rows["m"], each.rows["n"], each.rows["k"]) for each in (one, two))
    _, in_one, in_two = np.intersect1d(first, second, return_indices=True)
    few_one, few_two = one.only(in_one[:count]), two.only(in_two[:count])
    predicted = few_one.predicted_s() < few_two.predicted_s()
    measured = few_one.rows.seconds < few_two.rows.seconds
    return int((predicted == measured).sum()), len(few_one.rows)


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
    """The bin of the first count."""
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
    return np.asarray(np.floor(np.log10(values) * per_decade), np.int64)


def _columns(x: NDArray[np.int64], y: NDArray[np.int64]) -> list[Column]:
    """Columns from left to right; each from its lowest bin to its highest, with zeros between."""
    found = []
    for place in np.unique(x):
        there = y[x == place]
        low = int(there.min())
        found.append(Column(int(place), low, tuple(np.bincount(there - low).tolist())))
    return found


# ---- Ops and GPUs without calibrated kernel times, and why

TRIED = ("bf16", "fp16")
"""Tried in this order."""

_WISH = re.compile("; silicon latencies need .*")
"""The part of the reason that a page need not repeat."""

LABELS: Mapping[str, str] = {
    "stream": "element-wise ops, normalisation, softmax, pooling, copies, depthwise convolution",
    "roofline": "any other op",
}
"""Labels for ops whose kernel model has an unclear name."""


def uncalibrated_ops() -> Mapping[str, str]:
    """Ops whose constants were fitted to other kernels, with those kernels."""
    others = (name for name in MODELS if name not in CALIBRATED)
    return {LABELS.get(name, name): OPS[OP_OF.get(name, name)].rests_on.partition(": ")[2] for name in others}


def uncalibrated_gpus(devices: Iterable[Hardware], registry: Registry) -> Mapping[str, list[str]]:
    """GPUs without calibrated times by reason, usually a missing fact."""
    coefficients = Coefficients.of(registry)
    found = defaultdict(list)
    for device in devices:
        if device.traits.has_kernel_models and (why := _missing(device, coefficients)):
            found[why].append(device.id)
    return dict(sorted(found.items(), key=lambda one: -len(one[1])))


def _missing(device: Hardware, coefficients: Coefficients) -> str | None:
    """Why a GPU has no calibrated latency; None if it has one."""
    known = [name for name in TRIED if any(name in unit.precisions for unit in device.units.values())]
    try:
        chip_of(device, (known or TRIED)[0], coefficients.launches())
    except RooflintError as error:
        return _WISH.sub("", str(error).removeprefix(f"{device.label} "))
    return None
