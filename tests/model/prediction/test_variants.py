"""Variants: what is predicted of a device with varied facts is what is predicted of such a device."""

import re

import numpy as np
import pytest

from rooflint.coefficients.library import FREE, Coefficients
from rooflint.energy.model import Energies
from rooflint.hardware.registry import Registry
from rooflint.prediction.predict import SILICON, Setting, predict
from rooflint.prediction.variants import VariationError, predict_variants, variant_of, with_values
from rooflint.workloads.builders import mlp
from rooflint.workloads.tables import load_workload

REGISTRY = Registry()
ENERGIES = Energies(Coefficients(REGISTRY))
T4 = REGISTRY.get("nvidia/t4")
BANDWIDTH, PINS, GROUPS = "memories.gddr6.bandwidth", "memories.gddr6.pin_rate", "units.tensor_core.groups"
close = {"rel": 1e-12, "abs": 0}
SQUARE = mlp([1024, 1024], batch=1024, bias=False)


def variants(varied, tables=(SQUARE,), base=T4, compute="fp16", **more):
    return predict_variants(base, varied, tables, ENERGIES, Setting(compute, launch="free", cached=False), **more)


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


# ---- columns of variants, beside one device after another

TABLES = [load_workload("torchvision/resnet18").at_batch(batch) for batch in (1, 8)]
FACTS = {
    "nvidia/h100-sxm5-80gb": (
        *("units.tensor_core.groups", "units.tensor_core.clock", "units.tensor_core.macs_per_clock.fp16"),
        *("memories.hbm3.bandwidth", "powers.idle", "resident_warps.SM", "launch_overhead", "process"),
    ),
    "google/tpu-v4": ("units.mxu.groups", "units.mxu.clock", "memories.hbm2.bandwidth", "tdp"),
    "stillwater/kpu-t256": ("units.int8_tile.groups", "units.matrix_tile.clock", "units.int8_tile.clock", "tdp"),
    "intel/xeon-8490h": ("units.amx.groups", "units.simd.clock", "units.amx.clock", "memories.ddr5.pin_rate", "tdp"),
}


def drawn(hardware, paths, count, seed):
    """A factor of 0.5 to 2 on each fact; counts stay whole, some values repeat, and a process has another size."""
    draw, varied = np.random.default_rng(seed), {}
    for path in paths:
        own = hardware.facts[path].value if path in hardware.facts else 1e-6
        values = own * draw.uniform(0.5, 2, count)
        if path.endswith(("groups", "warps.SM")) or "macs_per_clock" in path:
            values = np.maximum(1, np.round(own * draw.choice([0.5, 1.0, 2.0], count)))
        varied[path] = draw.choice([4e-9, 7e-9], count) if path == "process" else values
    return varied


RUNS = [
    *(("nvidia/h100-sxm5-80gb", compute, fuse) for compute in ("fp16", "int8", "fp32") for fuse in (False, True)),
    *(("google/tpu-v4", "bf16", False), ("google/tpu-v4", "int8", True)),
    *(("stillwater/kpu-t256", "int8", False), ("stillwater/kpu-t256", "bf16", True)),
    *(("intel/xeon-8490h", "int8", False), ("intel/xeon-8490h", "fp32", True)),
]


def refusal(hardware, varied, setting):
    try:
        predict_variants(hardware, varied, TABLES, ENERGIES, setting)
    except VariationError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(("device", "compute", "fuse"), RUNS)
def test_variants_at_once_are_what_is_predicted_of_one_after_another(device, compute, fuse):
    hardware, setting = REGISTRY.get(device), Setting(compute, fuse=fuse)
    varied = drawn(hardware, FACTS[device], count=12, seed=3)
    unread = re.search(" looks up (.*)", refusal(hardware, varied, setting))
    varied = {path: values for path, values in varied.items() if not unread or path not in unread[1].split(", ")}
    assert len(varied) > 1
    found = predict_variants(hardware, varied, TABLES, ENERGIES, setting)
    for variant in range(12):
        one = variant_of(hardware, varied, variant)
        for row, table in enumerate(TABLES):
            alone = predict(one, table, ENERGIES, setting)
            assert found.latency_s[row, variant] == pytest.approx(alone.latency_s, **close)
            waits = (found.compute_wait_s, found.memory_wait_s, found.launch_wait_s)
            assert [wait[row, variant] for wait in waits] == pytest.approx(list(alone.shares.values()), **close)
            assert found.energy_j[row, variant] == pytest.approx(alone.energy_j, **close)
            assert found.power_w[row, variant] == pytest.approx(alone.power_w, **close)
            assert found.utilization[row, variant] == pytest.approx(alone.utilization, **close)
            assert found.peak_memory_bytes[row, variant] == alone.peak_bytes


def test_variants_in_which_another_unit_or_memory_is_the_fastest_are_told_apart():
    # both compute INT8: the matrix units at their own clock, the vector lanes where the former have a hundredth of it
    xeon = REGISTRY.get("intel/xeon-8490h")
    varied = {"units.amx.clock": xeon.facts["units.amx.clock"].value * np.array([1.0, 0.01, 1.0])}
    assert [variant_of(xeon, varied, one).best_unit("int8").name for one in range(3)] == ["amx", "simd", "amx"]
    found = variants(varied, base=xeon, compute="int8")
    alone = [
        predict(variant_of(xeon, varied, one), SQUARE, ENERGIES, Setting("int8", launch=FREE, cached=False))
        for one in range(3)
    ]
    assert found.energy_j[0] == pytest.approx([one.energy_j for one in alone], **close)
    assert found.utilization[0] == pytest.approx([one.utilization for one in alone], **close)
    assert found.energy_j[0, 1] != found.energy_j[0, 0]


def test_silicon_variants_are_timed_one_after_another():
    h100 = REGISTRY.get("nvidia/h100-sxm5-80gb")
    varied = {"caches.l2.capacity": np.array([25e6, 50e6]), "memories.hbm3.bandwidth": np.array([2e12, 3e12])}
    setting = Setting("bf16", fidelity=SILICON)
    found = predict_variants(h100, varied, TABLES, ENERGIES, setting)
    for variant in range(2):
        one = predict(variant_of(h100, varied, variant), TABLES[1], ENERGIES, setting)
        assert found.latency_s[1, variant] == pytest.approx(one.latency_s, **close)


def test_a_variant_whose_layout_is_not_known_has_times_and_a_reason():
    # an array of 128 × 128 cells; 16 383 is no square
    tpu = REGISTRY.get("google/tpu-v4")
    rates = [path for path in tpu.facts if path.startswith("units.mxu.macs_per_clock.")]
    varied = {path: np.array([16384.0, 16383.0]) for path in rates}
    found = variants(varied, base=tpu, compute="bf16")
    assert np.isfinite(found.latency_s).all()
    assert np.isnan(found.utilization).tolist() == [[False, True]]
    assert found.not_known[0] == ""
    assert "is not a square array" in found.not_known[1]
