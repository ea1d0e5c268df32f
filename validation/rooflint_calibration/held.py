"""Held: the measured products of a device beside what constants predict that were fitted without its family."""

from dataclasses import dataclass

from rooflint.devices.registry import Registry
from rooflint.kernels.breakdown import Case
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Products, constants_file
from rooflint.kernels.shapes import Numbers, Shapes
from rooflint_calibration import held_against
from rooflint_calibration.package import devices, family_of
from rooflint_calibration.products import ELEMENT_BYTES, Measured
from rooflint_calibration.score import predicted_s


@dataclass(frozen=True)
class Held:
    """One device."""

    measured: Measured
    chip: Chip
    constants: Products
    """Fitted without its family."""
    predicted_s: Numbers

    @property
    def ratio(self) -> Numbers:
        """Predicted over measured. [1]"""
        return self.predicted_s / self.measured.seconds

    def case(self, row: int) -> Case:
        """One product, to be taken apart."""
        shape = Shapes(*(column[row : row + 1] for column in self.measured.shapes))
        return Case(shape, self.chip, self.constants, ELEMENT_BYTES, float(self.measured.copies[row]))


def of_family(registry: Registry, family: str) -> list[Held]:
    """Every measured device of a family. Raises NotInstalledError or RooflintError."""
    return [of_device(registry, device) for device in devices(family)]


def of_device(registry: Registry, device: str) -> Held:
    """All rows of a device. Raises NotInstalledError or RooflintError."""
    measured, chip = held_against.of_device(registry, device)
    constants = constants_file(registry).without(family_of(device)).products
    return Held(measured, chip, constants, predicted_s(measured, chip, constants))
