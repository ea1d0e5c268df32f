"""Laws: each holds on honest numbers, and an error planted in a fact or a formula breaks it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.suite import roofline_laws
from pytest_rooflint.suite.roofline_laws import LAWS, Setting, precisions
from rooflint.hardware.device import ComputeUnit, Memory
from rooflint.hardware.registry import Registry
from rooflint.roofline import Estimate, estimate
from rooflint.workloads.builders import gemm

T4 = "nvidia/t4"
ORIN = "nvidia/jetson-agx-orin-64gb"
BATCHES = [1, 2, 64, 1024]


@pytest.fixture(scope="module")
def registry():
    return Registry()


def setting(batches=BATCHES, shape=(1, 256, 256), **options):
    return Setting({batch: gemm(*shape, batch=batch) for batch in batches}, **options)


def breaches(law, hardware, tried=None):
    return [*LAWS[law].breaches(hardware, tried or setting())]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("device", [T4, "nvidia/h100-sxm5-80gb", "google/tpu-v4", "intel/xeon-8490h", "amd/mi300x"])
def test_every_law_holds_on_devices_as_they_are(registry, law, device):
    assert breaches(law, registry.get(device)) == []


@pytest.mark.slow
@given(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 4096), st.sampled_from([T4, "intel/xeon-8490h"]))
def test_laws_hold_whatever_the_shape(m, n, k, device):
    hardware, tried = Registry().get(device), setting([1, 3, 50], (m, n, k))
    assert [breach for law in LAWS for breach in breaches(law, hardware, tried)] == []


# ---- broken on purpose


def test_a_batch_that_takes_less_time_is_told(registry):
    tried = Setting({1: gemm(64, 256, 256), 2: gemm(32, 256, 256)}, compute="fp16")
    (message,) = breaches("latency batch", registry.get(T4), tried)
    assert message.endswith("less time for more samples")
    assert message.startswith("fp16: ")


def test_a_sample_of_many_that_takes_longer_is_told(registry):
    tried = Setting({1: gemm(64, 256, 256), 2: gemm(64, 256, 256 * 9)}, compute="fp16")
    (message,) = breaches("latency batch", registry.get(T4), tried)
    assert message.endswith("more time per sample")


def test_what_turns_back_from_compute_to_memory_is_told(registry):
    tried = Setting({1: gemm(4096, 4096, 4096), 2: gemm(1, 4096, 4096)}, compute="fp16")
    assert breaches("bound batch", registry.get(T4), tried) == [
        "fp16: compute-bound at batch 1, memory-bound at batch 2"
    ]


def test_a_peak_in_mac_breaks_the_law_of_the_breakpoint(registry, monkeypatch):
    # half of the peak: an op between half of the breakpoint and the breakpoint waits for compute too early
    def halved(*arguments, **options):
        one = estimate(*arguments, **options)
        return replace(one, peak_ops_per_s=one.peak_ops_per_s / 2)

    monkeypatch.setattr(roofline_laws, "estimate", halved)
    # T4: 65.13 TFLOP/s / 320 GB/s = 203.5 op/B; 150 rows of 4096 × 4096 weights are about 140
    tried = Setting({150: gemm(150, 4096, 4096)}, compute="fp16")
    (message,) = breaches("bound intensity", registry.get(T4), tried)
    assert "gemm is compute-bound at 139.8 op/B, but the breakpoint is 203.5 op/B" in message


def test_an_overhead_that_only_a_fast_precision_has_breaks_the_law_of_precisions(registry, monkeypatch):
    def late(*arguments, **options):
        one = estimate(*arguments, **options)
        return replace(one, overhead_s=1e-3) if one.compute == "int8" else one

    monkeypatch.setattr(roofline_laws, "estimate", late)
    found = breaches("latency precision", registry.get(T4))
    assert found
    assert all(
        message.startswith("int8 ") and message.endswith("the faster precision takes longer") for message in found
    )


def test_a_bandwidth_that_forgets_its_facts_breaks_the_law_of_bandwidth(registry, monkeypatch):
    monkeypatch.setattr(Memory, "bandwidth_bytes_per_s", 320e9)
    found = breaches("memory_time bandwidth", registry.get(T4))
    # 2 B × (2 × 256 + 256²) at 320 GB/s are 412.8 ns, before and after
    assert found[0] == "fp16: memory time 412.8 ns becomes 412.8 ns instead of half"
    assert all(message.endswith("instead of half") for message in found)


def test_a_unit_that_forgets_its_clock_breaks_the_law_of_the_clock(registry, monkeypatch):
    monkeypatch.setattr(ComputeUnit, "peak_ops_per_s", lambda unit, precision: 1e12)
    # 2 × 256² op at 1 TFLOP/s
    message = "fp16: compute time 131.072 ns becomes 131.072 ns instead of half"
    assert breaches("compute_time clock", registry.get(T4))[0] == message


def test_bytes_that_depend_on_the_clock_break_the_law_of_the_clock(registry, monkeypatch):
    memory_s = Estimate.memory_s.func
    monkeypatch.setattr(Estimate, "memory_s", property(lambda one: memory_s(one) * one.peak_ops_per_s))
    changed = [one for one in breaches("compute_time clock", registry.get(T4)) if one.endswith("should not change")]
    assert changed
    assert all(": memory time " in message for message in changed)


def test_arithmetic_that_depends_on_the_bandwidth_breaks_the_law_of_bandwidth(registry, monkeypatch):
    compute_s = Estimate.compute_s.fget
    monkeypatch.setattr(Estimate, "compute_s", property(lambda one: compute_s(one) * one.bandwidth_bytes_per_s))
    changed = [one for one in breaches("memory_time bandwidth", registry.get(T4)) if one.endswith("should not change")]
    assert changed
    assert all(": compute time " in message for message in changed)


def test_a_time_that_grows_by_less_than_rounding_breaks_no_law(registry, monkeypatch):
    kernel_s = Estimate.kernel_s.func
    slower = {"factor": 1.0}
    monkeypatch.setattr(Estimate, "kernel_s", property(lambda one: kernel_s(one) * slower["factor"]))
    tried = Setting({1: gemm(64, 256, 256), 2: gemm(64, 256, 256)}, compute="fp16")
    assert breaches("latency batch", registry.get(T4), tried) == []


def test_faster_parts_that_take_longer_are_told(registry, monkeypatch):
    kernel_s = Estimate.kernel_s.func
    monkeypatch.setattr(Estimate, "kernel_s", property(lambda one: kernel_s(one) * one.bandwidth_bytes_per_s**2))
    assert any(message.endswith("with faster parts") for message in breaches("memory_time bandwidth", registry.get(T4)))


def test_a_rate_that_slipped_by_eight_breaks_the_law_of_widths(registry):
    t4 = registry.get(T4)
    rate = t4.facts["units.tensor_core.macs_per_clock.int8"]
    slipped = t4.with_facts({rate.path: rate.with_value(rate.value / 8)})
    message = breaches("peak width", slipped, Setting({}))
    assert any(one.startswith("tensor_core: int8 16.28 TOP/s, fp16 65.13 TFLOP/s  ") for one in message)
    assert all(one.endswith(f"turing-tu104.yaml:{rate.line}") for one in message)


# ---- what is tried


def test_a_law_is_tried_in_each_precision_that_a_device_has(registry):
    assert {"fp16", "int8", "int4", "fp32"} <= set(precisions(registry.get(T4), setting()))
    assert precisions(registry.get(T4), setting(compute="int8")) == ["int8"]
    assert precisions(registry.get(T4), setting(compute="fp8")) == []


def test_what_is_undisclosed_is_not_tried(registry):
    assert precisions(registry.get("hailo/hailo-8"), setting()) == []


def test_a_device_without_a_memory_is_tried_by_laws_of_units_alone(registry):
    coral = registry.get("google/coral-edge-tpu")
    assert precisions(coral, setting()) == []
    assert precisions(coral, Setting({})) == ["int8"]


# ---- powers


@pytest.mark.parametrize(
    ("device", "path", "watts", "expected"),
    [
        # 36 of 70 W as printed; as much as the rated power is possible, more is not
        (T4, "powers.idle", 70.0, []),
        (T4, "powers.idle", 71.0, ["powers.idle 71 W is above tdp 70 W"]),
        # 170 W on average and 192 at most
        (
            "google/tpu-v4",
            "powers.measured_max",
            160.0,
            ["powers.measured_mean 170 W is above powers.measured_max 160 W"],
        ),
        # 900 W of a module that may be set to 1000
        ("nvidia/gh200-96gb", "tdp", 1350.0, ["tdp 1350 W is above powers.limit 1000 W"]),
    ],
)
def test_powers_that_exceed_one_another_are_told(registry, device, path, watts, expected):
    hardware = registry.get(device)
    wrong = replace(hardware, facts={**hardware.facts, path: hardware.facts[path].with_value(watts)})
    assert breaches("power order", wrong, Setting({})) == expected


@pytest.mark.parametrize(
    ("device", "tested"),
    # 36 W idle and 70 W rated; only a rated power, also at each operating point
    [(T4, True), ("nvidia/l4", False), ("nvidia/jetson-agx-orin-64gb", False)],
)
def test_an_order_of_powers_needs_two_of_them(registry, device, tested):
    assert LAWS["power order"].tests(registry.get(device), Setting({})) is tested


def test_powers_are_compared_where_no_rate_is_disclosed(registry):
    hailo, t4 = registry.get("hailo/hailo-8"), registry.get(T4)
    idle, rated = t4.facts["powers.idle"].with_value(5.0), t4.facts["tdp"].with_value(2.5)
    wrong = replace(hailo, facts={**hailo.facts, idle.path: idle, rated.path: rated})
    assert not LAWS["latency batch"].tests(wrong, setting())
    assert LAWS["power order"].tests(wrong, Setting({}))
    assert breaches("power order", wrong, Setting({})) == ["powers.idle 5 W is above tdp 2.5 W"]


@pytest.mark.parametrize(
    ("path", "watts", "expected"),
    [
        # modes of 15, 30 and 50 W, 60 W as rated
        ("powers.idle", 15.0, []),
        ("powers.idle", 20.0, ["powers.idle 20 W is above tdp 15 W at 15w"]),
        ("powers.limit", 60.0, []),
        ("powers.limit", 40.0, ["tdp 60 W is above powers.limit 40 W", "tdp 50 W is above powers.limit 40 W at 50w"]),
        # measured as rated, which says nothing of a mode
        ("powers.measured_max", 60.0, []),
    ],
)
def test_powers_are_compared_at_operating_points(registry, path, watts, expected):
    orin = registry.get(ORIN)
    added = replace(orin.facts["tdp"].with_value(watts), path=path)
    hardware = replace(orin, facts={**orin.facts, path: added})
    assert LAWS["power order"].tests(hardware, Setting({}))
    assert breaches("power order", hardware, Setting({})) == expected


def test_the_own_powers_of_a_point_are_compared_with_each_other(registry):
    orin = registry.get(ORIN)
    measured = replace(orin.facts["tdp"].with_value(31.0), path="powers.measured_max")
    points = {**orin.operating_points, "30w": {**orin.operating_points["30w"], measured.path: measured}}
    wrong = replace(orin, operating_points=points)
    assert breaches("power order", wrong, Setting({})) == ["powers.measured_max 31 W is above tdp 30 W at 30w"]


# ---- over operating points


def test_a_mode_with_more_power_and_a_lower_peak_is_told(registry):
    # 30 W sets 8 SMs and 612 MHz; at 12 W it would have less power than the mode of 15 W, and more speed
    orin = registry.get(ORIN)
    slipped = {**orin.operating_points["30w"]}
    slipped["tdp"] = slipped["tdp"].with_value(12.0)
    wrong = replace(orin, operating_points={**orin.operating_points, "30w": slipped})
    message = breaches("peak mode", wrong, Setting({}))
    assert any(one.startswith("tensor_core int8: 20.05 TOP/s 30w with 12 W, ") for one in message)
    assert all(" 15w with 15 W" in one for one in message)


@pytest.mark.parametrize(("device", "concerned"), [(ORIN, True), (T4, False)])
def test_an_order_of_modes_says_nothing_of_a_device_without_any(registry, device, concerned):
    assert LAWS["peak mode"].concerns(registry.get(device)) is concerned
    assert LAWS["peak width"].concerns(registry.get(device))
