"""Efficiency and prediction: the plateau of each recording beside the band that a person reviewed."""

from math import isclose


def test_efficiency_is_the_best_of_a_recording_over_the_peak(bench, make, said):
    bench.record(
        make.gemm(20e12, shape=(512, 512, 512)), make.gemm(29.5e12), make.gemm(28e12, shape=(8192, 8192, 8192))
    )
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    # 29.5 / 32.768
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "90 %")
    assert "gemm-int8-synthetic-4096x4096x4096" in said(verdict)


def test_a_new_recording_cannot_hide_behind_an_old_one(bench, make):
    claim = "efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed"
    bench.record(make.gemm(29.5e12))
    bench.record(make.gemm(15e12))
    assert bench.verdict(claim).outcome == "fail"


def test_more_words_select_fewer_measurements(bench, make):
    bench.record(make.gemm(29.5e12), make.gemm(15e12, shape=(512, 512, 512)))
    claim = "efficiency: gemm int8 512x512x512, expect: 46 % ± 2 %, why: reviewed"
    assert bench.verdict(claim).outcome == "pass"


def test_a_selection_that_means_nothing_is_red_with_the_names_that_there_are(bench, make, said):
    bench.record(make.gemm(29.5e12))
    verdict = bench.verdict("efficiency: gemm fp16, expect: 90 %")
    assert verdict.outcome == "fail"
    assert "no measurement is called 'gemm fp16' (recorded: gemm-int8-synthetic-4096x4096x4096)" in said(verdict)


def test_streams_are_held_against_the_bandwidth(bench, make):
    bench.record(make.stream(230.4e9))
    verdict = bench.verdict("efficiency: stream copy, expect: 90 %")
    assert (verdict.outcome, isclose(verdict.obtained.value, 0.9)) == ("pass", True)


def test_an_efficiency_above_one_is_never_clamped_and_names_the_slip(bench, make, said):
    bench.record(make.gemm(50e12))
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    assert verdict.obtained_display == "153 %"
    assert "a MAC is counted as one op" in said(verdict)


def test_a_peak_that_is_twice_too_high_is_named_by_half_the_efficiency(bench, make, said):
    bench.repository.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [2048 MAC")
    bench.record(make.gemm(29.5e12))
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    assert verdict.outcome == "fail"
    assert verdict.ratio_text == "1/2"
    assert "macs_per_clock" in said(verdict)


def test_a_prediction_is_the_roofline_over_the_measured_time(bench, make, said):
    # 6.181 ms / 10 ms
    bench.record(make.network(10e-3))
    verdict = bench.verdict("predicted: network resnet18 b1, expect: 0.618")
    assert verdict.outcome == "pass"
    assert "6.181 ms by the roofline (compute) / 10 ms measured" in said(verdict)


def test_a_prediction_of_a_network_with_halved_macs_names_them(bench, make, said):
    bench.record(make.network(10e-3, macs=1_814_073_344 // 2))
    assert "as if a MAC were one op" in said(
        bench.verdict("predicted: network resnet18, expect: 1.24 ± 5 %, why: seen")
    )


def test_predictions_of_products_and_streams_are_known_too(bench, make):
    bench.record(make.gemm(16.384e12), make.stream(128e9))
    assert bench.verdict("predicted: gemm int8, expect: 0.50").outcome == "pass"
    assert bench.verdict("predicted: stream copy, expect: 0.50").outcome == "pass"


def test_a_wait_has_no_efficiency(bench, make, said):
    from rooflint_measure.record.measurement import Wait  # noqa: PLC0415

    bench.record(make.timed(Wait(wanted_s=1e-3), 1e-3), make.gemm(29.5e12))
    assert bench.verdict("efficiency: gemm, expect: 90 %").outcome == "pass"
