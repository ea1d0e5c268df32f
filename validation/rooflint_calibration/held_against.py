"""Held against: the measurements of this machine's package, beside constants that have not seen the family."""

from functools import cache
from itertools import combinations

import numpy as np

from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Products
from rooflint.kernels.residency import working_set_bytes
from rooflint_calibration import package
from rooflint_calibration.package import FAMILIES, devices, family_of
from rooflint_calibration.products import ELEMENT_BYTES, PRECISION, Measured, read
from rooflint_calibration.sample import picked, shape_hash
from rooflint_calibration.score import predicted_s, roofline_s

RESIDENT = 3.5
"""Working set over L2 capacity up to which memory need not have been read: then nothing is said of the roofline.

Inputs come again with each set of weights, sooner than these, and are found where the weights are not: at 3.4 times L2
one product, a third of whose bytes are inputs, takes 0.94 of the roofline on an L40S.
"""


@cache
def measured_of(device: str, chip: Chip) -> Measured:
    """The rows of a device. Raises NotInstalledError or RooflintError."""
    return read(package.data_folder(), device, chip)


def of_device(registry: Registry, device: str) -> tuple[Measured, Chip]:
    """The rows of a device, and its inputs. Raises NotInstalledError or RooflintError."""
    chip = chip_of(registry.get(device), PRECISION, Coefficients(registry).launches())
    return measured_of(device, chip), chip


def below_roofline(measured: Measured, chip: Chip) -> Measured:
    """Rows that took less than the roofline allows, though L2 cannot have held what they read."""
    touched = working_set_bytes(measured.shapes, ELEMENT_BYTES, measured.copies)
    cold = touched > RESIDENT * chip.l2_bytes
    return measured.rows(cold & (measured.seconds < roofline_s(measured, chip)))


def pairs() -> list[tuple[str, str]]:
    """Every two measured devices of different families."""
    names = [device for family in FAMILIES for device in devices(family)]
    return [(one, two) for one, two in combinations(names, 2) if family_of(one) != family_of(two)]


def orders_right(
    one: tuple[Measured, Chip, Products], two: tuple[Measured, Chip, Products], rows: int
) -> tuple[int, int]:
    """(Shapes whose faster device is predicted, shapes) of so many that both have measured."""
    few_one, few_two = _common(one[0], two[0], rows)
    predicted = predicted_s(few_one, *one[1:]) < predicted_s(few_two, *two[1:])
    measured = few_one.seconds < few_two.seconds
    return int((predicted == measured).sum()), len(few_one)


def _common(one: Measured, two: Measured, rows: int) -> tuple[Measured, Measured]:
    _, in_one, in_two = np.intersect1d(shape_hash(one.shapes), shape_hash(two.shapes), return_indices=True)
    return one.rows(in_one[:rows]), two.rows(in_two[:rows])


def sampled(measured: Measured, rows: int, regime: str) -> Measured:
    """The rows of a regime that a claim is decided on."""
    return picked(measured, rows, regime)
