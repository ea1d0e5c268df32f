"""Runs of stopwatches: what stands beside a network, and what one library's failure costs."""

import pytest

from pytest_rooflint.recordings import runs
from rooflint_measure.record import Gemm
from rooflint_measure.stopwatches import anchors, gemm, products
from rooflint_measure.stopwatches.clocks import HostClock
from rooflint_measure.stopwatches.gemm import NotMeasuredError, Peak
from rooflint_measure.stopwatches.products import Kernel

PROBED = {"fp32 mkl": 100e9, "bf16 onednn": 1e9, "bf16 mkl": 300e9}
"""op/s of a small product: oneDNN converts here, MKL does not."""


@pytest.fixture
def libraries(monkeypatch):
    """`libraries("fp32 mkl", …)`: kernels of these names, of which one that has no rate cannot run."""

    def have(*names):
        kernels = [Kernel(*name.split(), "cpu", {"a way": None}) for name in names]
        monkeypatch.setattr(products, "kernels", lambda device: kernels)
        monkeypatch.setattr(gemm, "probe", probed)
        monkeypatch.setattr(gemm, "peak", peak)

    def probed(kernel):
        if kernel.name not in PROBED:
            raise NotMeasuredError(f"{kernel.name} does not run here")
        return PROBED[kernel.name]

    def peak(kernel, search_s):
        product = Gemm(precision=kernel.precision, library=kernel.library, m=64, n=64, k=64)
        return Peak(product, lambda: None, HostClock(), "a way", 1)

    return have


def test_a_library_that_converts_leaves_the_reference_to_one_that_does_not(libraries):
    libraries("fp32 mkl", "bf16 onednn", "bf16 mkl")
    assert runs._reference(runs.Request(seconds=0.1), "bf16").subject.library == "mkl"


def test_a_library_that_does_not_run_costs_no_other_its_reference(libraries):
    libraries("fp32 broken", "fp32 mkl")
    assert runs._reference(runs.Request(seconds=0.1), "fp32").subject.library == "mkl"


def test_without_a_native_product_all_reasons_are_said(libraries):
    libraries("fp32 mkl", "bf16 onednn", "bf16 broken")
    with pytest.raises(NotMeasuredError, match=r"bf16 broken does not run here; not native here"):
        runs._reference(runs.Request(seconds=0.1), "bf16")
    libraries("fp32 mkl")
    with pytest.raises(NotMeasuredError, match="no installed library multiplies in fp16 here"):
        runs._reference(runs.Request(seconds=0.1), "fp16")


def test_anchors_are_taken_in_each_precision_that_was_asked_for(monkeypatch, stand_in):
    asked = []

    def refused(shape, precision, **_):
        asked.append((shape, precision))
        raise NotMeasuredError("a fake has no graphs")

    monkeypatch.setattr(anchors, "measured", refused)
    results = runs.Results(stand_in())
    runs.gpu_anchors(runs.Request("cuda", ("fp16", "fp64")), results)
    assert asked == [(shape, "fp16") for shapes in anchors.ANCHORS.values() for shape in shapes]
    assert results.left_out["null fp16 256x256x256"] == "a fake has no graphs"
    assert results.left_out["anchors in fp64"] == "want bf16 or fp16, which kernel times are fitted to"
    monkeypatch.setattr(anchors, "native", lambda device: {"cuda:1": "bf16"}[device])
    runs.gpu_anchors(runs.Request("cuda:1"), results)
    assert asked[-1] == ((8, 16384, 16384), "bf16")


def test_a_cpu_has_no_anchors(stand_in):
    results = runs.Results(stand_in())
    runs.gpu_anchors(runs.Request("cpu"), results)
    assert (results.measurements, results.left_out) == ([], {})
