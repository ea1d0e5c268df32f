"""Laws of measurements: each holds on an honest recording, and a planted violation turns it red and is named."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rooflint.recordings.laws import LAWS, LawContext, findings
from pytest_rooflint.recordings.row import RecordedFile, Row
from rooflint.hardware.registry import Registry

WHY = "why: counters and readings differ"
BELOW_PEAK, BEYOND_PEAK = 30e12, 50e12
"""Of 32.768 TOP/s in INT8."""


# ---- rate <= peak


def test_a_product_below_the_peak_keeps_the_law(bench, make):
    bench.record(make.gemm(BELOW_PEAK), make.gemm(600e9, precision="fp32"))
    verdict = bench.verdict("measured: rate <= peak")
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 2 of 2 measurements")


def test_a_peak_that_a_stopwatch_beats_is_red_with_recording_facts_and_cause(bench, make, message):
    file = bench.record(make.gemm(BELOW_PEAK), make.gemm(BEYOND_PEAK, shape=(8192, 8192, 8192)))
    line = bench.repository.line(file.relative_to(bench.repository.root), '"m": 8192')
    verdict = bench.verdict("measured: rate <= peak")
    text = message(verdict)
    assert (verdict.outcome, verdict.obtained_display) == ("fail", "broken by 1 of 2 measurements")
    assert f"golden/measured/acme/k1/{file.name}:{line} gemm-int8-synthetic-8192x8192x8192" in text
    # 50 / 32.768 = 1.526, and the next slip above it is a rate in op that was taken for MAC
    assert "50 TOP/s of a peak of 32.77 TOP/s; beaten by 52.6 %" in text
    assert "macs_per_clock.int8 1024 MAC is 1/2 of 2048 MAC: a MAC is counted as one op" in text
    assert "1024 MAC macs_per_clock.int8 (read) specs/architectures/acme/a1.yaml:8" in text


def test_a_clock_that_is_too_low_is_named_with_the_recorded_one(bench, make, message):
    # 900 GFLOP/s of 614.4 at 1.2 GHz; at the recorded 1.8 GHz the peak is 921.6
    bench.record(make.gemm(900e9, precision="fp32", clock_hz=1.8e9))
    verdict = bench.verdict("measured: rate <= peak")
    assert verdict.outcome == "fail"
    assert "the clock is too low: recorded at 1.8 GHz (synthetic), the spec has 1200 MHz" in message(verdict)
    assert verdict.causes[0].repair == "1800 MHz"


def test_a_boost_of_a_few_per_cent_is_no_violation(bench, make):
    # recorded 5 % faster than documented: 614.4 × 1.05 = 645.1 GFLOP/s are allowed
    bench.record(make.gemm(645e9, precision="fp32", clock_hz=1.26e9))
    assert bench.verdict("measured: rate <= peak").outcome == "pass"
    bench.record(make.gemm(646e9, precision="fp32", clock_hz=1.26e9))
    assert bench.verdict("measured: rate <= peak").outcome == "fail"


def test_a_slower_recorded_clock_lowers_no_peak(bench, make):
    # NVML was read before the clock rose
    bench.record(make.gemm(600e9, precision="fp32", clock_hz=0.3e9))
    assert bench.verdict("measured: rate <= peak").outcome == "pass"


def test_a_precision_that_the_device_has_not_is_silent(bench, make, message):
    bench.record(make.gemm(1e9, precision="fp64"), make.gemm(BELOW_PEAK))
    verdict = bench.verdict("measured: rate <= peak")
    assert verdict.outcome == "pass"
    assert "1 not applicable, secret.macs_per_clock.fp64 is undisclosed" in message(verdict)


def test_a_law_that_finds_nothing_to_look_at_is_red(bench, make, message):
    bench.record(make.stream(200e9))
    verdict = bench.verdict("measured: rate <= peak")
    assert verdict.outcome == "fail"
    assert "no measurement that the law applies to" in message(verdict)


def test_only_the_precision_that_is_asked_for_is_looked_at(bench, make):
    bench.record(make.gemm(BEYOND_PEAK), make.gemm(600e9, precision="fp32"))
    assert bench.verdict("measured: rate <= peak, compute: fp32").outcome == "pass"
    assert bench.verdict("measured: rate <= peak, compute: int8").outcome == "fail"


REGISTRY = Registry()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0.01, 100), disturbed=st.integers(0, 5))
def test_above_the_peak_is_red_however_disturbed_and_below_it_never(make, share, disturbed):
    hardware = REGISTRY.get("nvidia/t4")
    rate = share * hardware.unit("tensor_core").peak_ops_per_s("fp16")
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(make.gemm(rate, "fp16", stolen=disturbed)), (1,)), 0)
    found = LAWS["rate <= peak"].look(row, LawContext(hardware, REGISTRY, lambda one: None))
    assert (found.state == "breaks") == (share > 1 + 1e-9)
    assert found.state != "disturbed" or disturbed >= 3


# ---- bandwidth <= peak


def test_a_stream_on_a_device_whose_memory_nobody_tells_is_silent_with_the_reason(make):
    hardware = REGISTRY.get("amd/epyc-zen5-2vcpu")
    row = Row(RecordedFile(Path("synthetic.json"), make.recorded(make.stream(1e9), kind="cpu"), (1,)), 0)
    (found,) = findings((row,), LAWS["bandwidth <= peak"], LawContext(hardware, REGISTRY, lambda one: None))
    assert (found.state, found.text) == ("silent", "amd/epyc-zen5-2vcpu has no memory with a known bandwidth")


def test_a_stream_slower_than_the_memory_keeps_the_law(bench, make):
    bench.record(make.stream(230e9))
    assert bench.verdict("measured: bandwidth <= peak").outcome == "pass"


def test_a_stream_that_beats_the_memory_is_red(bench, make, message):
    bench.record(make.stream(400e9, array_bytes=400_000_000))
    verdict = bench.verdict("measured: bandwidth <= peak")
    assert verdict.outcome == "fail"
    assert "400 GB/s of 256 GB/s" in message(verdict)
    assert "2 Gbit/s pin_rate (read) specs/hardware/acme/k1.yaml" in message(verdict)


def test_half_a_bus_is_named(bench, make, message):
    bench.repository.edit("specs/hardware/acme/k1.yaml", "pin_rate: [2 Gbit/s", "pin_rate: [1 Gbit/s")
    bench.record(make.stream(230e9))
    assert "double data rate is missing" in message(bench.verdict("measured: bandwidth <= peak"))


def test_a_stream_that_a_cache_may_hold_decides_nothing(bench, make, message):
    # 2 × 2 MB, and the L2 holds 4.19 MB
    bench.record(make.stream(900e9, array_bytes=2_000_000))
    verdict = bench.verdict("measured: bandwidth <= peak")
    assert verdict.outcome == "undecided"
    assert "caches of 4.194 MB may hold data" in message(verdict)


# ---- latency >= roofline

# ResNet-18 at batch 1 in FP32: the roofline of 614.4 GFLOP/s and 256 GB/s has 6.181 ms; Winograd's floor is 1.813 ms


def test_a_network_slower_than_the_roofline_keeps_the_law(bench, make):
    bench.record(make.network(7e-3))
    assert bench.verdict("measured: latency >= roofline").outcome == "pass"


def test_what_winograd_and_caches_may_spare_is_exempt_and_said(bench, make, message):
    bench.record(make.network(7e-3), make.network(5e-3, batch=1, name="resnet18"))
    verdict = bench.verdict("measured: latency >= roofline")
    assert verdict.outcome == "pass"
    assert "1 exempt: network-resnet18-fp32-synthetic-b1 (5 ms, where the roofline has 6.181 ms (compute)" in message(
        verdict
    )
    assert "Winograd may save multiplications of 3 × 3 convolutions" in message(verdict)


def test_what_is_faster_than_any_algorithm_is_red(bench, make, message):
    bench.record(make.network(1e-3))
    verdict = bench.verdict("measured: latency >= roofline")
    assert verdict.outcome == "fail"
    assert "with all allowed savings at least 1.813 ms; beaten by 81.3 %" in message(verdict)


def test_a_network_without_convolutions_has_no_winograd(bench, make, message):
    # ViT-B/16: 17.56 GMAC × 2 / 614.4 GFLOP/s = 57 ms, of which its attention and linear layers spare nothing
    bench.record(make.network(30e-3, name="vit_b_16", macs=17_563_828_224))
    assert bench.verdict("measured: latency >= roofline").outcome == "fail"


def test_a_network_without_op_table_is_silent(bench, make, message):
    bench.record(make.network(1e-3, name="alexnet"), make.network(7e-3))
    verdict = bench.verdict("measured: latency >= roofline")
    assert verdict.outcome == "pass"
    assert ": network-alexnet-fp32-synthetic-b1" in message(verdict)


# ---- macs = op table


def test_the_macs_of_the_op_table_are_those_of_the_stopwatch(bench, make):
    bench.record(make.network(7e-3), make.network(20e-3, batch=4))
    assert bench.verdict("measured: macs = op table").obtained_display == "holds on 2 of 2 measurements"


def test_macs_that_are_halved_are_named(bench, make, message):
    bench.record(make.network(7e-3, macs=1_814_073_344 // 2))
    verdict = bench.verdict("measured: macs = op table")
    assert verdict.outcome == "fail"
    assert "counts 0.907 GMAC, the op table has 1.814 GMAC, as if a MAC were one op" in message(verdict)


# ---- rate = intensity * bandwidth

DEEP = {"shape": (16, 16384, 16384)}
"""2 × 16 × 16384² op over 269 MB: 31.94 op/B, where the breakpoint is 32.768 TOP/s / 256 GB/s = 128."""


@pytest.mark.parametrize(
    ("rate", "outcome", "why"),
    [
        (31.94 * 230e9, "pass", ""),
        (31.94 * 230e9 * 0.5, "fail", "more bytes moved than were counted"),
        (31.94 * 230e9 * 1.5, "fail", "some of the counted bytes came from a cache"),
    ],
)
def test_a_memory_bound_product_keeps_up_with_the_streams(bench, make, message, rate, outcome, why):
    bench.record(make.gemm(rate, **DEEP), make.stream(230e9))
    verdict = bench.verdict(f"measured: rate = intensity * bandwidth, within: 20 %, {WHY}")
    assert verdict.outcome == outcome
    assert why in message(verdict)


def test_a_disturbed_one_that_is_slow_decides_nothing_and_a_fast_one_does(bench, make):
    bench.record(make.gemm(31.94 * 50e9, stolen=5, **DEEP), make.stream(230e9))
    law = f"measured: rate = intensity * bandwidth, within: 20 %, {WHY}"
    assert bench.verdict(law).outcome == "undecided"
    bench.record(make.gemm(31.94 * 400e9, stolen=5, **DEEP), make.stream(230e9))
    assert bench.verdict(law).outcome == "fail"


@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (40, 16384, 16384)])
def test_a_product_that_may_not_wait_for_memory_says_nothing_of_bandwidth(bench, make, message, shape):
    # 2 × 40 × 16384² op over 270 MB are 80 op/B, 0.62 of the breakpoint: no longer beyond doubt
    bench.record(make.gemm(1e12, shape=shape), make.stream(230e9))
    assert "no measurement that the law applies to" in message(
        bench.verdict(f"measured: rate = intensity * bandwidth, within: 20 %, {WHY}")
    )


# ---- energy and power


@pytest.mark.parametrize(
    ("counted", "read", "outcome", "why"),
    [
        (15.0, 15.2, "pass", ""),
        (15_000.0, 15.0, "fail", "mJ are taken for J"),
        (30.0, 15.0, "fail", "energy is counted twice"),
        (7.5, 15.0, "fail", "half of the energy is missing"),
        (10.0, 15.0, "fail", "the idle power is subtracted already"),
    ],
)
def test_energy_is_power_times_time(bench, make, message, counted, read, outcome, why):
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(counted), power_w=(read, read)))
    verdict = bench.verdict(f"measured: energy = power * time, within: 5 %, {WHY}")
    assert verdict.outcome == outcome
    assert why in message(verdict)
    assert len(verdict.causes) == (outcome == "fail")  # no other error has that factor


@pytest.mark.parametrize(("step_j", "outcome"), [(0.0, "fail"), (1.0, "pass")])
def test_a_counter_is_allowed_its_own_step(bench, make, step_j, outcome):
    # 32 J where 15 W × 2 s are 30: 6.7 % are too much for 5 %, and a step of 1 J leaves 3.3 %
    law = f"measured: energy = power * time, within: 5 %, {WHY}"
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(16.0, resolution_j=step_j), power_w=(15.0,)))
    assert bench.verdict(law).outcome == outcome


def test_an_idle_power_as_high_as_that_at_work_is_noise_where_two_figures_may_differ_as_much(bench, make):
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(10.0, idle_w=10.4), power_w=(10.0,)))
    law = "measured: energy = power * time, why: the counter has steps"
    assert [bench.verdict(f"{law}, within: {share} %").outcome for share in (3, 5)] == ["fail", "pass"]


def test_an_idle_power_above_the_working_one_is_red(bench, make, message):
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(10.0, idle_w=12.0), power_w=(10.0,)))
    assert "the idle power was read while something ran" in message(
        bench.verdict(f"measured: energy = power * time, within: 5 %, {WHY}")
    )


def test_power_stays_within_the_lower_of_both_limits(bench, make, message):
    # the spec's TDP is 20 W
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(15.0), limit_w=18.0))
    assert bench.verdict("measured: power <= limit").outcome == "pass"
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(19.0), limit_w=18.0))
    assert "19 W on average, the driver's limit is 18 W" in message(bench.verdict("measured: power <= limit"))


def test_another_board_shows_by_its_limit(bench, make, message):
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(25.0), limit_w=30.0))
    verdict = bench.verdict("measured: power <= limit")
    assert verdict.outcome == "fail"
    assert "the driver allows 30 W: another board" in message(verdict)
    assert "specs/hardware/acme/k1.yaml:9 tdp" in message(verdict)


@pytest.mark.parametrize(
    # the spec's TDP is 20 W: mean power, the driver's limit, the ratio to what was exceeded, and its cause
    ("mean_w", "limit_w", "factor", "cause"),
    [
        (19.0, 18.0, 19 / 18, "the counter sees more than the device that the driver limits"),
        (25.0, 30.0, 25 / 20, "the driver allows 30 W: another board, or another mode, than the spec's"),
        (25.0, 18.0, 25 / 20, "the limit is too low, or the counter sees more than the device"),
        (25.0, 20.0, 25 / 20, "the limit is too low, or the counter sees more than the device"),
    ],
)
def test_a_power_above_its_limit_is_measured_by_the_limit_that_it_exceeds(bench, make, mean_w, limit_w, factor, cause):
    bench.record(make.gemm(BELOW_PEAK, energy=make.energy(mean_w), limit_w=limit_w))
    (found,) = bench.verdict("measured: power <= limit").causes
    assert (found.factor, found.text) == (pytest.approx(factor), cause)
    assert found.repair == ("30 W" if limit_w == 30 else None)


def test_power_that_nobody_measured_is_no_zero(bench, make, message):
    bench.record(make.gemm(BELOW_PEAK))
    verdict = bench.verdict("measured: power <= limit")
    assert verdict.outcome == "fail"
    assert "1 not applicable, not available: a synthetic recording: gemm-int8-synthetic" in message(verdict)


def test_every_law_promises_something():
    assert all(law.promise for law in LAWS.values())
