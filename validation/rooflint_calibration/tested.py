"""Tested: measured rows of a device beside constants that have not seen its family."""

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from rooflint.devices.registry import Registry
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants
from rooflint.kernels.shapes import Numbers
from rooflint_calibration import foretold
from rooflint_calibration.shares import Shares, shares_s
from rooflint_calibration.topics import TOPICS, Rows, measured_devices


@dataclass(frozen=True)
class Tested:
    """Rows of one topic on one device."""

    rows: Rows
    chip: Chip
    constants: Constants

    def predicted_s(self) -> Numbers:
        """What the model says of them. [s]"""
        return foretold.predicted_s(self.rows.topic, self.rows.sizes, self.chip, self.constants)

    def shares_s(self) -> Shares:
        """The same by term. [s]"""
        return shares_s(self.rows.topic, self.rows.sizes, self.chip, self.constants)

    def only(self, which: NDArray[Any]) -> "Tested":
        """Some of the rows, by position or by a mask."""
        return replace(self, rows=self.rows.only(which))


def of_family(registry: Registry, topic: str, family: str, regime: str, rows: int) -> list[Tested]:
    """So many rows of a regime on each device of a family. Raises NotInstalledError or RooflintError."""
    constants = foretold.without(registry, family)
    return [
        Tested(*TOPICS[topic].rows(registry, device, regime, rows), constants)
        for device in measured_devices(topic)[family]
    ]
