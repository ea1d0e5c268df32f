"""Fit: the constants that come nearest to the measurements, with all families or with one left out.

Deterministic: rows are picked by a hash, the solver starts from the constants that are there, and nothing is drawn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.products import Measured
from rooflint_calibration.sample import picked
from rooflint_calibration.score import predicted_s

SOFT = 0.1
"""Where an error of the logarithm begins to count linearly, so that few rows do not decide."""


@dataclass(frozen=True)
class Data:
    """What is measured of some devices, with the inputs of each."""

    measured: Mapping[str, Measured]
    chips: Mapping[str, Chip]

    def of(self, families: Iterable[str]) -> "Data":
        """The devices of some families."""
        wanted = [device for family in families for device in devices(family) if device in self.measured]
        return Data({device: self.measured[device] for device in wanted}, self.chips)

    def without(self, family: str) -> "Data":
        """The devices of all other families."""
        return self.of(other for other in FAMILIES if other != family)

    def thinned(self, rows_per_family: int) -> "Data":
        """As many rows of each family, its devices alike."""
        members = {device: len(devices(family_of(device))) for device in self.measured}
        few = {device: picked(one, rows_per_family // members[device]) for device, one in self.measured.items()}
        return Data(few, self.chips)

    def log_ratios(self, constants: Products) -> Numbers:
        """ln(predicted / measured) of every row."""
        return np.concatenate(
            [np.log(predicted_s(one, self.chips[name], constants) / one.seconds) for name, one in self.measured.items()]
        )


def fitted(data: Data, start: Products, names: Sequence[str]) -> Products:
    """The constants of these names that minimise the soft L1 loss of ln(predicted / measured); others stay."""
    from scipy.optimize import least_squares  # noqa: PLC0415  # of an extra

    def at(steps: Numbers) -> Products:
        moved = {name: getattr(start, name) * np.exp(step) for name, step in zip(names, steps, strict=True)}
        return replace(start, **moved)

    found = least_squares(
        lambda steps: data.log_ratios(at(steps)),
        np.zeros(len(names)),
        loss="soft_l1",
        f_scale=SOFT,
        diff_step=1e-3,
        ftol=1e-4,
        max_nfev=40,
    )
    return at(found.x)
