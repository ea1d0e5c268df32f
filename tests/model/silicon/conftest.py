"""The shipped constants, and every shipped GPU whose spec has all inputs, on matrix units and on CUDA cores."""

import pytest

from rooflint.coefficients import Coefficients
from rooflint.errors import RooflintError
from rooflint.silicon.chip import chip_of
from rooflint.silicon.constants import silicon_file
from rooflint.specs import Registry

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
    return silicon_file(Registry()).constants
