"""Spreads: how far the measured GPUs lie apart, and the shapes on one of them, each GPU predicted without its family.

They decide how much anchors weigh: `anchored.SPREADS` has them to two digits, and a test holds it to this.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import ConstantsFile, Products
from rooflint.kernels.gemm import launch_s
from rooflint.kernels.shapes import Numbers, Shapes
from rooflint_calibration.anchored import Spread
from rooflint_calibration.fit import Data
from rooflint_calibration.package import family_of
from rooflint_calibration.products import ELEMENT_BYTES, Measured
from rooflint_calibration.recorded_anchors import of_published
from rooflint_calibration.sample import REGIMES
from rooflint_calibration.score import predicted_s
from rooflint_measure.stopwatches.anchors import Kind

Lean = Callable[[Measured, Chip, Products], Numbers]

MIDDLE = (0.16, 0.84)
"""Quantiles that lie two standard deviations apart where errors are normal."""

STREAMS_OVER_L2 = 4
"""Weights of so many times L2 come from memory."""


def spreads(data: Data, file: ConstantsFile) -> Mapping[Kind, Spread]:
    """Of each kind of anchor."""
    known = [(one, data.chips[name], file.without(family_of(name)).products) for name, one in data.measured.items()]
    large, narrow = REGIMES["large"], REGIMES["narrow"]

    def spread(lean: Lean, inside: Callable[[Shapes, Chip], NDArray[np.bool_]]) -> Spread:
        leans = [lean(one.rows(inside(one.shapes, chip)), chip, values) for one, chip, values in known]
        return Spread(_of_machines(leans), float(np.mean([_middle(some) for some in leans])))

    launches = [_launches(_null(one), chip, values) for one, chip, values in known]
    small = spread(_launches, lambda shapes, chip: REGIMES["small"](shapes))
    return {
        "null": Spread(small.machines, float(np.sqrt(np.mean([some.var(ddof=1) for some in launches])))),
        "peak": spread(_leans, lambda shapes, chip: large(shapes)),
        "streaming": spread(_leans, lambda shapes, chip: narrow(shapes) & _streams(shapes, chip)),
    }


def _streams(shapes: Shapes, chip: Chip) -> NDArray[np.bool_]:
    return np.asarray(ELEMENT_BYTES * shapes.n * shapes.k > STREAMS_OVER_L2 * chip.l2_bytes)


def _null(measured: Measured) -> Measured:
    anchors = of_published(measured).of("null")
    return Measured(measured.device, anchors.shapes, anchors.seconds, anchors.copies, {})


def _leans(rows: Measured, chip: Chip, constants: Products) -> Numbers:
    """Logarithm of predicted over measured. [1]"""
    return np.asarray(np.log(predicted_s(rows, chip, constants) / rows.seconds))


def _launches(rows: Measured, chip: Chip, constants: Products) -> Numbers:
    """What was measured beyond the prediction, in launches. [1]"""
    return (rows.seconds - predicted_s(rows, chip, constants)) / launch_s(chip, constants)


def _of_machines(leans: list[Numbers]) -> float:
    """Standard deviation of the medians. [1]"""
    return float(np.std([np.median(some) for some in leans], ddof=1))


def _middle(some: Numbers) -> float:
    """Half of what the middle two thirds span. [1]"""
    low, high = np.quantile(some, MIDDLE)
    return float(high - low) / 2
