"""Products that libraries offer: their operands, shapes and names."""

from types import SimpleNamespace

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


# ---- what a GPU has no instructions for, and by which library it multiplies


def gpu_torch(capability, hip=None):
    """torch's build for a GPU, as far as it is asked."""
    cuda = SimpleNamespace(get_device_capability=lambda device: capability, is_available=lambda: True)
    return SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip))


@pytest.mark.parametrize(
    ("precision", "capability", "native"),
    [
        ("bf16", (7, 0), False),  # V100 converts
        ("bf16", (7, 5), False),
        ("bf16", (8, 0), True),
        ("tf32", (7, 5), False),  # T4 computes it in fp32 without a word
        ("tf32", (8, 6), True),
        ("fp8", (8, 6), False),
        ("fp8", (8, 9), True),
        ("fp16", (6, 1), True),  # slow, but its own
        ("fp32", (3, 5), True),
    ],
)
def test_a_precision_is_native_from_the_architecture_on_that_brought_it(precision, capability, native):
    assert (products.gpu_lacks(precision, "cuda", gpu_torch(capability)) == "") is native


def test_an_emulated_precision_names_both_capabilities():
    assert products.gpu_lacks("bf16", "cuda", gpu_torch((7, 0))) == (
        "not native here: bf16 is native from compute capability 8.0 on, and this GPU has 7.0"
    )


def test_rocm_multiplies_by_hipblaslt_and_is_not_judged_by_cudas_numbers():
    assert products.gpu_library(gpu_torch((9, 4), hip="7.0")) == "hipblaslt"
    assert products.gpu_library(gpu_torch((9, 0))) == "cublas"
    assert products.gpu_lacks("bf16", "cuda", gpu_torch((7, 0), hip="7.0")) == ""
