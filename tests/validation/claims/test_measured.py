"""`measured`: how a law over recordings is counted, shown and refused."""

import pytest

from rooflint.base.errors import InputError

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
