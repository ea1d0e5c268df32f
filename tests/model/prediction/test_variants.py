"""Variants: what is predicted of a device with varied facts is what is predicted of such a device."""

import numpy as np
import pytest

from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import Setting
from rooflint.prediction.variants import VariationError, predict_variants, variant_of, with_values
from rooflint.workloads.workload import mlp

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
T4 = REGISTRY.get("nvidia/t4")
BANDWIDTH, PINS, GROUPS = "memories.gddr6.bandwidth", "memories.gddr6.pin_rate", "units.tensor_core.groups"
SQUARE = mlp([1024, 1024], batch=1024, bias=False)


def variants(varied, tables=(SQUARE,), base=T4, compute="fp16", **more):
    return predict_variants(base, varied, tables, ENERGIES, Setting(compute, launch="free"), **more)


def test_a_memory_bound_product_waits_as_long_as_the_varied_bandwidth_says():
    # 1024³ in FP16 moves 3 × 2 MiB: at 100 GB/s 62.9 µs, at 10 GB/s 629 µs; at 65.13 TFLOP/s it computes for 33.0 µs
    found = variants({BANDWIDTH: np.array([100e9, 10e9])})
    assert found.latency_s == pytest.approx(np.array([[62.91456e-6, 629.1456e-6]]))
    assert found.latency_s == pytest.approx(found.memory_wait_s)


def test_a_stated_bandwidth_replaces_bus_and_pin_rate():
    assert BANDWIDTH not in T4.facts
    assert with_values(T4, {BANDWIDTH: 1e12}).main_memory().bandwidth_bytes_per_s == 1e12


def test_a_variant_is_the_device_with_those_facts():
    varied = {GROUPS: np.array([20.0, 80.0]), PINS: np.array([1e9, 2e9])}
    assert variant_of(T4, varied, 1) == with_values(T4, {GROUPS: 80.0, PINS: 2e9})
    assert variant_of(T4, varied, 1).unit("tensor_core").groups == 80


def test_a_million_inferences_cost_the_rent_of_their_time():
    # 1024 samples in 62.9 µs at 3.6 USD/h = 0.001 USD/s: 10⁶ / 1024 × 62.9 µs × 0.001 USD/s = 61.44e-6 USD
    found = variants({BANDWIDTH: np.array([100e9, 100e9])}, usd_per_h=[3.6, 7.2])
    assert found.usd_per_million == pytest.approx(np.array([[61.44e-6, 122.88e-6]]))
    assert np.isnan(variants({BANDWIDTH: np.array([100e9])}).usd_per_million).all()


def test_what_a_variant_does_not_support_has_a_reason_and_no_figures():
    found = variants({BANDWIDTH: np.array([100e9])}, compute="bf16")
    assert "does not support bf16" in found.not_supported[0]
    assert np.isnan(found.latency_s).all()


@pytest.mark.parametrize(
    ("varied", "message"),
    [
        ({"caches.l2.capacity": np.ones(2)}, "no prediction in fp16 looks up caches.l2.capacity"),
        ({"memories.hbm9.bandwidth": np.ones(2)}, "nvidia/t4 has no fact 'memories.hbm9.bandwidth' to vary"),
        ({BANDWIDTH: np.array([1e9, -1.0])}, f"{BANDWIDTH}: want positive, finite values"),
        ({BANDWIDTH: np.array([1e9, np.nan])}, f"{BANDWIDTH}: want positive, finite values"),
        ({GROUPS: np.array([40.0, 40.5])}, f"{GROUPS}: want whole numbers, found 40.5"),
        ({BANDWIDTH: np.ones((2, 2))}, f"{BANDWIDTH}: want a column of values"),
        ({BANDWIDTH: np.ones(2), GROUPS: np.ones(3)}, "want facts with as many values each, found 2, 3"),
        ({}, "want facts with as many values each, found 0"),
    ],
)
def test_values_that_no_device_can_have_are_refused(varied, message):
    with pytest.raises(VariationError, match=message.replace("?", r"\?")):
        variants(varied)
