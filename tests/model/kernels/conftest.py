"""The shipped constants, and every shipped GPU whose spec has all inputs, on matrix units and on CUDA cores."""

from dataclasses import replace

import numpy as np

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.kernel import Work
from rooflint.kernels.products import Gemm

CONSTANTS = constants_file(Registry()).constants
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


def products_s(sizes, chip, products, *, element_bytes, copies=np.inf):
    """Time of products in a graph by these constants of products. [s]"""
    return Gemm().predict(Work(sizes, element_bytes, copies), chip, replace(CONSTANTS, products=products))
