"""Measurements of a recording with their places, selection by words, and doubts about disturbed samples."""

from pathlib import Path

import pytest

from pytest_rooflint.golden.kinds import ClaimError
from pytest_rooflint.recordings.row import RecordedFile, selected, words
from rooflint_measure.record import Samples


@pytest.fixture
def rows(make):
    return list(RecordedFile(Path("k1.json"), make.recorded(make.gemm(1e9, "fp32"), make.stream(1e9)), (3, 7)).rows())


def test_a_row_has_the_line_of_its_measurement(rows):
    assert [row.line for row in rows] == [3, 7]
    assert rows[1].place == "k1.json:7"
    assert [row.precision for row in rows] == ["fp32", None]


def test_words_select_measurements_by_the_words_of_their_names(rows):
    assert selected(rows, "gemm fp32") == rows[:1]
    assert selected(rows, "stream") == rows[1:]
    with pytest.raises(
        ClaimError, match=rf"no measurement is called 'gemm fp16' \(recorded: {rows[0].measurement.name}, "
    ):
        selected(rows, "gemm fp16")
    with pytest.raises(ClaimError, match=r"\(recorded: none\)"):
        selected([], "gemm")
    with pytest.raises(ClaimError, match="want gemm, stream, network"):
        words("conv fp32")


# ---- disturbed samples make a verdict undecided, unless what is too fast already decides it


PLATEAU = "efficiency: gemm int8, expect: 90 % ± 5 %, why: reviewed"
"""Of 32.768 TOP/s in INT8."""


@pytest.mark.parametrize("disturbance", ["stolen", "throttled"])
@pytest.mark.parametrize(
    ("rate", "outcome"), [(29.5e12, "undecided"), (15e12, "undecided"), (32.5e12, "fail"), (40e12, "fail")]
)
def test_a_disturbed_efficiency_is_decided_only_where_it_is_too_high(bench, make, message, disturbance, rate, outcome):
    bench.record(make.gemm(rate, **{disturbance: 3}))
    verdict = bench.verdict(PLATEAU)
    assert verdict.outcome == outcome
    reason = {"stolen": "stolen 3", "throttled": "power cap 3"}[disturbance]
    assert (f"3 of 5 samples are disturbed ({reason})" in message(verdict)) == (outcome == "undecided")


def test_a_few_disturbed_samples_change_nothing(bench, make):
    bench.record(make.gemm(29.5e12, stolen=2))
    assert bench.verdict(PLATEAU).outcome == "pass"


def test_a_law_is_decided_by_those_that_nothing_disturbed(bench, make, message):
    bench.record(make.gemm(20e12, stolen=5), make.gemm(600e9, precision="fp32"))
    verdict = bench.verdict("measured: rate <= peak")
    assert (verdict.outcome, verdict.obtained_display) == ("pass", "holds on 1 of 2 measurements")
    assert "1 disturbed: gemm-int8-synthetic-4096x4096x4096 (20 TOP/s" in message(verdict)


def test_a_law_is_undecided_where_all_were_disturbed(bench, make, message):
    bench.record(make.gemm(20e12, throttled=5))
    verdict = bench.verdict("measured: rate <= peak")
    assert verdict.outcome == "undecided"
    assert "5 of 5 samples are disturbed (power cap 5)" in message(verdict)


def test_a_rate_above_the_peak_is_a_finding_however_noisy(bench, make):
    bench.record(make.gemm(50e12, stolen=5, throttled=5))
    assert bench.verdict("measured: rate <= peak").outcome == "fail"


def test_what_counts_as_normal_disturbs_nobody(bench, make):
    bench.record(make.gemm(29.5e12, throttled=5))
    assert bench.verdict(f"{PLATEAU}, despite: [power cap]").outcome == "pass"
    assert bench.verdict(f"{PLATEAU}, despite: [stolen]").outcome == "undecided"


@pytest.mark.parametrize(
    ("kind", "load", "outcome"), [("cpu", 1.2, "fail"), ("cpu", 9.5, "undecided"), ("gpu", 9.5, "fail")]
)
def test_a_slow_cpu_that_others_kept_busy_decides_nothing(bench, make, message, kind, load, outcome):
    # 15 of 32.768 TOP/s, where 90 % are expected; a GPU does not share its time with the tasks of its host
    bench.record(make.gemm(15e12, load=load), kind=kind)
    verdict = bench.verdict(PLATEAU)
    assert verdict.outcome == outcome
    assert ("other processes ran: 9.5 runnable tasks on 1 core (busy)" in message(verdict)) == (outcome == "undecided")


def test_an_undecided_claim_is_no_failure_of_the_run(bench, make):
    bench.record(make.gemm(29.5e12, throttled=5))
    verdict = bench.verdict(PLATEAU)
    assert (verdict.outcome, verdict.corroborated, list(verdict.causes)) == ("undecided", False, [])


@pytest.mark.parametrize("claim", [PLATEAU, "predicted: gemm int8, expect: 0.90 ± 5 %, why: reviewed"])
def test_a_disturbed_recording_hides_no_other(bench, make, claim):
    # 46 % in peace are too few, whatever 9 % under others' load would have been
    bench.record(make.gemm(15e12))
    bench.record(make.gemm(3e12, stolen=5))
    assert bench.verdict(claim).outcome == "fail"


@pytest.mark.slow
@pytest.mark.parametrize("claim", [PLATEAU, "predicted: gemm int8, expect: 0.90 ± 5 %, why: reviewed"])
def test_a_recording_in_peace_decides_beside_a_disturbed_one_that_is_not_too_high(bench, make, claim):
    bench.record(make.gemm(29.5e12))
    bench.record(make.gemm(3e12, stolen=5))
    assert bench.verdict(claim).outcome == "pass"
    bench.record(make.gemm(32.5e12, stolen=5))
    assert bench.verdict(claim).outcome == "fail"


@pytest.mark.parametrize(("calls", "disturbed"), [(1, 5), (10, 0)])
def test_what_was_stolen_counts_against_all_calls_of_a_sample(make, calls, disturbed):
    # 50 µs of a sample of 1 ms are 5 %, of ten such calls half a per cent
    samples = Samples(seconds=(1e-3,) * 5, calls=calls, stolen_s=(50e-6,) * 5)
    assert len(samples.disturbed) == disturbed
