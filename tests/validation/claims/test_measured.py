"""Claims about recordings: laws, rates over the peak, times beside the roofline."""

from math import isclose

import pytest

from rooflint.base.errors import InputError

# ---- `measured`


BELOW_PEAK, BEYOND_PEAK = 30e12, 50e12
"""Of 32.768 TOP/s in INT8."""


def test_a_law_that_holds_counts_what_it_looked_at_and_names_what_it_does_not_apply_to(bench, make, paths):
    bench.record(make.gemm(BELOW_PEAK), make.gemm(600e9, precision="fp32"), make.gemm(1e9, precision="fp64"))
    verdict = bench.verdict("measured: rate <= peak")
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 2 of 3 measurements")
    assert verdict.obtained.formula.startswith("1 not applicable, secret.macs_per_clock.fp64 is undisclosed")
    assert {"units.mac_array.clock", "units.vector.clock"} <= paths(verdict)
    assert verdict.obtained.details == "" and not verdict.corroborated


def test_a_broken_law_lists_eight_breaches_and_counts_the_rest(bench, make):
    shapes = [(256 * size, 256 * size, 256 * size) for size in range(1, 12)]
    bench.record(
        *(make.gemm(BEYOND_PEAK, shape=shape) for shape in shapes[:-1]), make.gemm(BELOW_PEAK, shape=shapes[-1])
    )
    verdict = bench.verdict("measured: rate <= peak")
    assert (verdict.outcome, verdict.obtained_display) == ("fail", "broken by 10 of 11 measurements")
    assert verdict.obtained.value == 10
    assert verdict.obtained.details.count("beaten by") == 8
    assert verdict.obtained.details.endswith("and 2 more")
    assert "units.vector.clock" not in {fact.path for fact in verdict.facts}


def test_only_the_precision_of_compute_is_tested(bench, make):
    bench.record(make.gemm(BEYOND_PEAK), make.gemm(600e9, precision="fp32"))
    assert bench.verdict("measured: rate <= peak, compute: fp32").outcome == "pass"
    assert bench.verdict("measured: rate <= peak, compute: int8").outcome == "fail"


def test_disturbed_measurements_decide_nothing_and_say_why(bench, make):
    bench.record(make.gemm(BELOW_PEAK, stolen=5), make.gemm(BELOW_PEAK, stolen=5, shape=(512, 512, 512)))
    verdict = bench.verdict("measured: rate <= peak")
    assert verdict.outcome == "undecided"
    assert verdict.reason.startswith("undecided: gemm-int8-synthetic-") and verdict.reason.endswith("; and 1 more")
    assert verdict.obtained.formula.startswith("2 disturbed: gemm-int8-synthetic-")


def test_a_law_without_measurements_fails(bench, make):
    bench.record(make.stream(200e9))
    verdict = bench.verdict("measured: rate <= peak")
    assert (verdict.outcome, verdict.obtained_display) == ("fail", "no measurement that the law applies to")


@pytest.mark.parametrize(("within", "outcome"), [("10 %", "pass"), ("1 %", "fail")])
def test_figures_are_compared_within_the_given_share(bench, make, within, outcome):
    # 20 W read while 21 W are counted: 5 % apart
    bench.record(make.gemm(BELOW_PEAK, power_w=(20.0, 20.0), energy=make.energy(21.0)))
    assert bench.verdict(f"measured: energy = power * time, within: {within}, why: two sensors").outcome == outcome


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("measured: rate < peak", "want one of rate <= peak, bandwidth <= peak"),
        ("measured: rate <= peak, expect: 3", "takes no expectation here"),
        ("measured: rate <= peak, compute: int9", "compute: unknown precision 'int9'"),
        ("measured: energy = power * time", "such as 'within: 10 %'"),
        ("measured: energy = power * time, within: 10 %", "within: add 'why:'"),
        ("measured: energy = power * time, within: 3 W, why: x", "within: want a share such as 10 %, found '3 W'"),
        ("measured: rate <= peak, despite: power cap, why: x", "despite: want the reasons"),
        ("measured: rate <= peak, despite: [power cap]", "despite: add 'why:'"),
        ("efficiency: conv fp32, expect: 80 %", "want gemm, stream, network"),
        ("efficiency: gemm fp32", "needs 'expect'"),
        ("efficiency: gemm fp32, expect: 3 W", "is a bare number"),
        ("efficiency: gemm fp32, expect: 80 % ± 5 %", "add 'why:'"),
    ],
)
def test_what_a_claim_over_recordings_cannot_mean_is_refused(bench, make, line, says):
    bench.record(make.gemm(BELOW_PEAK))
    with pytest.raises(InputError, match=r"k1\.yaml:5") as refused:
        bench.verdict(line)
    assert says in str(refused.value)


# ---- `efficiency`


def test_efficiency_is_the_best_of_a_recording_over_the_peak(bench, make, message):
    bench.record(
        make.gemm(20e12, shape=(512, 512, 512)), make.gemm(29.5e12), make.gemm(28e12, shape=(8192, 8192, 8192))
    )
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    # 29.5 / 32.768
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "90 %")
    assert "gemm-int8-synthetic-4096x4096x4096" in message(verdict)


def test_a_new_recording_cannot_hide_behind_an_old_one(bench, make):
    claim = "efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed"
    bench.record(make.gemm(29.5e12))
    bench.record(make.gemm(15e12))
    assert bench.verdict(claim).outcome == "fail"


def test_more_words_select_fewer_measurements(bench, make):
    bench.record(make.gemm(29.5e12), make.gemm(15e12, shape=(512, 512, 512)))
    claim = "efficiency: gemm int8 512x512x512, expect: 46 % ± 2 %, why: reviewed"
    assert bench.verdict(claim).outcome == "pass"


def test_a_selection_that_means_nothing_is_red_with_the_names_that_there_are(bench, make, message):
    bench.record(make.gemm(29.5e12))
    verdict = bench.verdict("efficiency: gemm fp16, expect: 90 %")
    assert verdict.outcome == "fail"
    assert "no measurement is called 'gemm fp16' (recorded: gemm-int8-synthetic-4096x4096x4096)" in message(verdict)


def test_streams_are_held_against_the_bandwidth(bench, make):
    bench.record(make.stream(230.4e9))
    verdict = bench.verdict("efficiency: stream copy, expect: 90 %")
    assert (verdict.outcome, isclose(verdict.obtained.value, 0.9)) == ("pass", True)


def test_an_efficiency_above_one_is_never_clamped_and_names_the_slip(bench, make, message):
    bench.record(make.gemm(50e12))
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    assert verdict.obtained_display == "153 %"
    assert "a MAC is counted as one op" in message(verdict)


def test_a_peak_that_is_twice_too_high_is_named_by_half_the_efficiency(bench, make, message):
    bench.repository.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [2048 MAC")
    bench.record(make.gemm(29.5e12))
    verdict = bench.verdict("efficiency: gemm int8, expect: 90 % ± 2 %, why: reviewed")
    assert verdict.outcome == "fail"
    assert verdict.ratio_text == "1/2"
    assert "macs_per_clock" in message(verdict)


def test_a_wait_has_no_efficiency(bench, make, message):
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


# ---- `predicted`


def test_a_prediction_is_the_roofline_over_the_measured_time(bench, make, message):
    # 6.181 ms / 10 ms
    bench.record(make.network(10e-3))
    verdict = bench.verdict("predicted: network resnet18 b1, expect: 0.618")
    assert verdict.outcome == "pass"
    assert "6.181 ms by the roofline (compute) / 10 ms measured" in message(verdict)


def test_a_prediction_of_a_network_with_halved_macs_names_them(bench, make, message):
    bench.record(make.network(10e-3, macs=1_814_073_344 // 2))
    assert "as if a MAC were one op" in message(
        bench.verdict("predicted: network resnet18, expect: 1.24 ± 5 %, why: seen")
    )


def test_predictions_of_products_and_streams_are_known_too(bench, make):
    bench.record(make.gemm(16.384e12), make.stream(128e9))
    assert bench.verdict("predicted: gemm int8, expect: 0.50").outcome == "pass"
    assert bench.verdict("predicted: stream copy, expect: 0.50").outcome == "pass"


def test_the_farthest_of_several_measurements_is_shown_with_its_facts(bench, make, paths):
    # 32.768 TOP/s of the roofline over 16.384 and over 20: 20 / 32.768 = 0.61 is farther from 0.5
    bench.record(make.gemm(16.384e12), make.gemm(20e12, shape=(8192, 8192, 8192)))
    verdict = bench.verdict("predicted: gemm int8, expect: 0.50")
    assert (verdict.outcome, verdict.obtained_display, verdict.corroborated) == ("fail", "0.6104", False)
    assert "8192x8192x8192" in verdict.text() and verdict.obtained.precision == "int8"
    assert {"units.mac_array.clock"} <= paths(verdict)


def test_only_a_roofline_that_is_beaten_is_diagnosed(bench, make):
    bench.record(make.gemm(16.384e12))
    assert bench.verdict("predicted: gemm int8, expect: 0.90").causes == ()
    bench.record(make.gemm(50e12))
    message = " ".join(bench.verdict("predicted: gemm int8, expect: 0.50").text().split())  # however it is wrapped
    assert "a MAC is counted as one op" in message
