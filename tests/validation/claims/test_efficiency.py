"""`efficiency`: measured rate over peak, the best of each recording."""

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


def test_a_wait_has_no_efficiency(bench, make, said):
    from rooflint_measure.record import Wait  # noqa: PLC0415

    bench.record(make.timed(Wait(wanted_s=1e-3), 1e-3), make.gemm(29.5e12))
    assert bench.verdict("efficiency: gemm, expect: 90 %").outcome == "pass"


def test_an_efficiency_has_the_facts_of_its_peak_and_the_farthest_of_several_recordings_is_shown(bench, make, paths):
    file = bench.record(make.gemm(27e12))
    bench.record(make.gemm(29.5e12))
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    # 27 / 32.768 = 82.4 % is farther from 90 % than 29.5 / 32.768
    assert (verdict.outcome, verdict.obtained_display, verdict.corroborated) == ("fail", "82.4 %", False)
    assert file.name in verdict.text() and verdict.obtained.precision == "int8"
    assert verdict.obtained.formula.startswith("27 TOP/s / (8 tile × 2 mac_array")
    assert "units.mac_array.macs_per_clock.int8" in paths(verdict)


def test_a_wait_alone_has_no_rate(bench, make, refusal):
    from rooflint_measure.record import Wait  # noqa: PLC0415

    bench.record(make.timed(Wait(wanted_s=1e-3), 1e-3))
    assert bench.verdict("efficiency: gemm, expect: 90 %").outcome == "fail"
    assert "unknown precision 'int9'" in refusal("efficiency: gemm, compute: int9, expect: 90 %")
    assert "despite: want the reasons" in refusal("efficiency: gemm, despite: heat, expect: 90 %")
    assert "want gemm, stream, network" in refusal("efficiency: conv fp32, expect: 80 %")
