"""What a run says in one sentence, and what comes first."""

import math
from types import SimpleNamespace

import pytest

from rooflint_report.evidence import Evidence
from rooflint_report.outcome import (
    claimed,
    deviation,
    grouped,
    headline,
    ratio_text,
    tally,
    tied,
    tied_factors,
    worst_first,
)


def test_red_counts_fails_and_problems(evidence):
    assert headline(Evidence.model_validate(evidence)).state == "Red"
    assert headline(Evidence.model_validate(evidence)).sentence == "3 of 136 claims fail and 2 problems in the files."


def test_one_fail_is_singular(evidence):
    evidence["counts"] |= {"fail": 1, "claims": 1}
    evidence["problems"] = []
    assert headline(Evidence.model_validate(evidence)).sentence == "1 of 1 claim fails."


def test_problems_alone_are_red(green, evidence):
    green["problems"] = evidence["problems"][:1]
    assert headline(Evidence.model_validate(green)).sentence == "1 problem in the files."


def test_green_names_what_did_not_decide(green):
    assert headline(Evidence.model_validate(green)).state == "Green"
    assert (
        headline(Evidence.model_validate(green)).sentence
        == "134 of 136 claims hold, none fails; 1 known to disagree; 1 not validated here."
    )


@pytest.mark.parametrize(("status", "word"), [(2, "interrupted"), (3, "internal error"), (4, "wrongly")])
def test_a_run_that_broke_off_is_never_green(green, status, word):
    green["run"]["exit_status"] = status
    assert headline(Evidence.model_validate(green)).state == "Incomplete"
    assert word in headline(Evidence.model_validate(green)).sentence


def test_an_interrupted_red_run_says_both(evidence):
    evidence["run"]["exit_status"] = 2
    assert headline(Evidence.model_validate(evidence)).sentence.endswith(
        "2 problems in the files, and pytest was interrupted (status 2)."
    )


def test_another_failing_test_is_red(green):
    green["run"]["exit_status"] = 1
    assert headline(Evidence.model_validate(green)).state == "Red"
    assert "another test failed" in headline(Evidence.model_validate(green)).sentence


def test_an_empty_run_is_not_green(empty):
    assert headline(Evidence.model_validate(empty)).state == "Empty"
    empty["run"]["exit_status"] = 0
    assert headline(Evidence.model_validate(empty)).state == "Empty"


def of_ratio(ratio):
    return SimpleNamespace(ratio=ratio)


def test_distance_counts_both_ways():
    # 1/8 is three octaves off, 4 two, 0.9 a fraction of one; no ratio is last, infinity and zero before all
    ratios = [0.9, None, 4.0, 0.125, math.inf]
    found = [v.ratio for v in worst_first(map(of_ratio, ratios))]
    assert found == [math.inf, 0.125, 4.0, 0.9, None]
    assert worst_first(map(of_ratio, [2.0, 0.0, math.nan]))[-1].ratio == 2.0


def test_a_tally_is_worst_first():
    assert tally([SimpleNamespace(outcome=outcome) for outcome in ("pass", "fail", "pass")]) == [
        ("fail", 1),
        ("pass", 2),
    ]


def test_a_claim_is_named_without_its_device(evidence):
    assert claimed(Evidence.model_validate(evidence).verdicts[0]) == "peak tensor_core fp64"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, ""), (1.00004, "1.000"), (0.125, "0.125"), (16, "16.000"), (3.2e-5, "3.2e-05"), (math.inf, "inf")],
)
def test_ratios_are_written_short(ratio, text):
    assert ratio_text(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0046, "+0.46 %"), (0.999978, "−0.0022 %"), (1.0, ""), (2.0, ""), (0.125, ""), (None, ""), (math.inf, "")],
)
def test_a_ratio_near_one_is_told_by_what_it_lacks(ratio, text):
    assert deviation(ratio) == text


def test_thousands_are_set_apart():
    assert grouped(1234567) == "1\u202f234\u202f567"


def test_a_quantity_does_not_break_but_a_product_does():
    assert tied("989.4 TFLOP/s") == "989.4\u00a0TFLOP/s"
    assert tied_factors("132 SM × 1.83 GHz") == "132\u00a0SM × 1.83\u00a0GHz"
    assert tied("in the order that the data sheets print") == "in the order that the data sheets print"
