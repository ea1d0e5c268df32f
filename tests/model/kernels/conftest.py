"""The shipped constants, and every shipped GPU whose spec has all inputs, on matrix units and on CUDA cores."""

import pytest

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.devices.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file

LAUNCHES = Coefficients(Registry()).launches()


def chips(*precisions):
    registry = Registry()
    found = {}
    for name in registry.ids():
        hardware = registry.get(name)
        for precision in precisions:
            try:
                found[name] = chip_of(hardware, precision, LAUNCHES)
                break
            except RooflintError:
                continue
    return found


CHIPS = chips("bf16", "fp16")
ON_CORES = chips("fp32")


@pytest.fixture(scope="session")
def constants():
    return constants_file(Registry()).constants.products
