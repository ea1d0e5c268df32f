"""Leave one family out: constants fitted on all others, scored on every row of the family they have never seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Products
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.fit import Data, fitted
from rooflint_calibration.package import FAMILIES, devices
from rooflint_calibration.products import PRECISION, Measured, read
from rooflint_calibration.sample import REGIMES
from rooflint_calibration.score import Score, predicted_s, roofline_s, score

#: Told what was finished.
Progress = Callable[[str], None]
Scores = Mapping[str, Score]


def load(data: Path, registry: Registry, progress: Progress = lambda what: None) -> Data:
    """Every measured device. Raises RooflintError."""
    measured, chips, launches = {}, {}, Coefficients(registry).launches()
    for family in FAMILIES:
        for device in devices(family):
            chips[device] = chip_of(registry.get(device), PRECISION, launches)
            measured[device] = read(data, device, chips[device])
            progress(f"read {device}")
    return Data(measured, chips)


@dataclass(frozen=True)
class Fold:
    """One family left out."""

    constants: Products
    scores: Scores
    """By regime, on all of its rows."""
    roofline: Scores
    """Those of the plain roofline on the same rows."""


@dataclass(frozen=True)
class Calibration:
    """The constants of all families, and each family's fold."""

    constants: Products
    folds: Mapping[str, Fold]


def calibrate(
    data: Data, start: Products, names: Sequence[str], rows_per_family: int, progress: Progress = lambda what: None
) -> Calibration:
    """Fit with all families, then without each, and score every fold on the family that it has not seen."""
    few = data.thinned(rows_per_family)
    whole = fitted(few, start, names)
    progress("fitted all families")
    folds = {}
    for family in FAMILIES:
        constants = fitted(few.without(family), start, names)
        folds[family] = Fold(
            constants,
            by_regime(data, family, lambda one, chip, own=constants: predicted_s(one, chip, own)),  # type: ignore[misc]
            by_regime(data, family, roofline_s),
        )
        progress(f"left out {family}")
    return Calibration(whole, folds)


def by_regime(data: Data, family: str, predict: Callable[[Measured, Chip], Numbers]) -> Scores:
    """Scores of a family, all its rows together."""
    ones = [data.measured[device] for device in devices(family)]
    predicted = np.concatenate([predict(one, data.chips[one.device]) for one in ones])
    seconds = np.concatenate([one.seconds for one in ones])
    found = {}
    for name, inside in REGIMES.items():
        rows = np.concatenate([inside(one.shapes) for one in ones])
        found[name] = score(predicted[rows], seconds[rows])
    return found
