"""Products that libraries offer: their operands, shapes and names."""

import numpy as np
import pytest

from rooflint_measure.stopwatches import products
from rooflint_measure.stopwatches.products import kernels, numpy_library


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_of_numpy_sums_k_random_products(dtype):
    # k products of two standard normals have a standard deviation of √k = 16
    c = products._numpy_product(dtype)((128, 64, 256))()
    assert (c.shape, c.dtype) == ((128, 64), dtype)
    assert np.std(c) == pytest.approx(16, rel=0.05)


def test_operands_are_two_and_no_zeros():
    assert not np.array_equal(products._block(0), products._block(1))
    assert np.std(products._block(0)) == pytest.approx(1, rel=0.01)


def test_numpy_names_its_blas_and_runs_in_its_own_process():
    every = [one for one in kernels() if one.own_process]
    assert [one.precision for one in every] == ["fp64", "fp32"]
    assert {one.library for one in every} == {numpy_library()}
