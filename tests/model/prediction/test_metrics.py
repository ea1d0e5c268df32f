"""Metrics: by hand, at their limits."""

import pytest

from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.metrics import batch_efficiency, power_efficiency_ops_per_j, red_flags, zone
from rooflint.prediction.predict import Setting, predict
from rooflint.workloads.builders import mlp
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
RESNET = load_workload("torchvision/resnet18")


def prediction(device, batch=1, work=RESNET, compute="bf16", launch="stream"):
    return predict(REGISTRY.get(device), work.at_batch(batch), ENERGIES, Setting(compute, launch=launch, cached=False))


def test_batch_efficiency_is_one_where_a_batch_takes_as_long_as_a_sample():
    # one product whose weights dominate: 64 × 4096 × 4096 takes nearly the time of 1 × 4096 × 4096
    work = mlp([4096, 4096], bias=False)
    one, many = (prediction("nvidia/h100-sxm5-80gb", batch, work, launch=FREE) for batch in (1, 64))
    # bytes (4096² + 2 × batch × 4096) × 2 B: 33.57 MB and 34.60 MB → 0.970
    expected = (4096**2 + 2 * 4096) / (4096**2 + 2 * 64 * 4096)
    assert batch_efficiency(one, many) == pytest.approx(expected, rel=1e-9, abs=0)


def test_batch_efficiency_is_one_over_the_batch_where_nothing_is_shared():
    one, many = (prediction("intel/xeon-8490h", batch, compute="fp32") for batch in (1, 64))
    assert 1 / 64 < batch_efficiency(one, many) < 1.2 / 64


@pytest.mark.parametrize(
    ("efficiency", "name"),
    [
        (0.0, "idle silicon"),
        (0.399, "idle silicon"),
        (0.4, "sweet spot"),
        (0.8, "sweet spot"),
        (0.81, "near its limit"),
    ],
)
def test_zones_have_their_limits(efficiency, name):
    assert zone(efficiency) == name


def test_the_power_efficiency_of_a_zone_is_a_product():
    found = prediction("google/tpu-v4")
    expected = found.compute_efficiency * found.attained_ops_per_s / found.power_w
    assert power_efficiency_ops_per_j(found) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_large_gpu_on_a_small_network_is_flagged_with_its_number():
    found = prediction("nvidia/h100-sxm5-80gb")
    flags = {flag.name: flag for flag in red_flags(found)}
    assert flags["compute"].value == found.compute_efficiency < 0.2
    assert "kernel launches" in flags["compute"].message
    assert f"{100 * found.compute_efficiency:.3g} %" in flags["compute"].message


def test_a_saturated_memory_is_flagged():
    found = prediction("intel/xeon-8490h")
    flags = {flag.name: flag for flag in red_flags(found)}
    assert flags["bandwidth"].value == pytest.approx(1.0, rel=1e-3)


def test_idle_units_are_flagged():
    # one product of 1 × 64 outputs is one tile: 1 of 132 SMs
    found = prediction("nvidia/h100-sxm5-80gb", work=mlp([64, 64]), launch=FREE)
    flags = {flag.name: flag for flag in red_flags(found)}
    assert flags["idle units"].value == pytest.approx(131 / 132, rel=1e-9)
    assert "1/132 SM" in flags["idle units"].message


def test_a_busy_device_has_no_flag_but_its_power():
    work = mlp([8192, 8192], batch=8192, bias=False)
    # at the roofline the H100 computes at its peak, which it cannot hold within 700 W
    (flag,) = red_flags(prediction("nvidia/h100-sxm5-80gb", 8192, work))
    assert flag.name == "power"
    assert "its 700 W (TDP)" in flag.message


def test_what_does_not_fit_is_flagged_with_both_sizes():
    found = prediction("nvidia/t4", 100_000, compute="fp16")
    flags = {flag.name: flag for flag in red_flags(found)}
    assert flags["memory"].value == found.peak_bytes > 16e9
    assert "do not fit its 16 GB" in flags["memory"].message
    assert "memory" not in {flag.name for flag in red_flags(prediction("nvidia/t4", 1, compute="fp16"))}


def test_padding_is_flagged_with_the_time_that_it_would_take():
    # one channel a group fills one column of 128 in a systolic array
    found = prediction("google/tpu-v4", 64, load_workload("torchvision/mobilenet_v2"), launch=FREE)
    flags = {flag.name: flag for flag in red_flags(found)}
    assert flags["padding"].value == pytest.approx(found.latency_of_active_units_s / found.latency_s, rel=1e-12)
    assert flags["padding"].value > 5
