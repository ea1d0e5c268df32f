"""What a run says in one sentence, and what comes first."""

import math

import pytest

from rooflint_report.outcome import (
    Witness,
    broken,
    claimed,
    deviation,
    grouped,
    headline,
    mended,
    ratio_text,
    tally,
    tied,
    tied_factors,
    tried,
    witnesses,
    worst_first,
)


def test_red_counts_fails_and_problems(evidence):
    assert headline(evidence).state == "Red"
    assert headline(evidence).sentence == "3 of 136 claims fail and 2 problems in the files."


def test_one_fail_is_singular(evidence):
    evidence["counts"] |= {"fail": 1, "claims": 1}
    evidence["problems"] = []
    assert headline(evidence).sentence == "1 of 1 claim fails."


def test_problems_alone_are_red(green, evidence):
    green["problems"] = evidence["problems"][:1]
    assert headline(green).sentence == "1 problem in the files."


def test_green_names_what_did_not_decide(green):
    assert headline(green).state == "Green"
    assert headline(green).sentence == "134 of 136 claims hold, none fails; 1 known to disagree; 1 not validated here."


@pytest.mark.parametrize(("status", "word"), [(2, "interrupted"), (3, "internal error"), (4, "wrongly")])
def test_a_run_that_broke_off_is_never_green(green, status, word):
    green["run"]["exit_status"] = status
    assert headline(green).state == "Incomplete"
    assert word in headline(green).sentence


def test_an_interrupted_red_run_says_both(evidence):
    evidence["run"]["exit_status"] = 2
    assert headline(evidence).sentence.endswith("2 problems in the files, and pytest was interrupted (status 2).")


def test_another_failing_test_is_red(green):
    green["run"]["exit_status"] = 1
    assert headline(green).state == "Red"
    assert "another test failed" in headline(green).sentence


def test_an_empty_run_is_not_green(empty):
    assert headline(empty).state == "Empty"
    empty["run"]["exit_status"] = 0
    assert headline(empty).state == "Empty"


def test_distance_counts_both_ways():
    # 1/8 is three octaves off, 4 two, 0.9 a fraction of one; no ratio is last, infinity and zero before all
    ratios = [0.9, None, 4.0, 0.125, math.inf]
    found = [v["ratio"] for v in worst_first([{"ratio": r} for r in ratios])]
    assert found == [math.inf, 0.125, 4.0, 0.9, None]
    assert worst_first([{"ratio": 2.0}, {"ratio": 0.0}, {"ratio": math.nan}])[-1] == {"ratio": 2.0}


def test_a_tally_is_worst_first():
    assert tally([{"outcome": "pass"}, {"outcome": "fail"}, {"outcome": "pass"}]) == [("fail", 1), ("pass", 2)]


def test_a_claim_is_named_without_its_device(evidence):
    verdict = evidence["verdicts"][0]
    assert claimed(verdict) == "peak tensor_core fp64"
    del verdict["headline"]
    assert claimed(verdict | {"at": "30w"}) == "peak tensor_core fp64 at 30w"


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


# ---- Places: what a repair that was tried out did, in words, and who names the place


@pytest.mark.parametrize(
    ("mends", "reds", "text"),
    [
        (25, 27, "25 of 27 reds turn green"),
        (1, 27, "1 of 27 reds turns green"),
        (27, 27, "all 27 reds turn green"),
        (1, 1, "the one red turns green"),
        (0, 27, "no red turns green"),
        (25, None, "25 reds turn green"),
        (1, None, "1 red turns green"),
    ],
)
def test_what_turns_green(mends, reds, text):
    assert mended(mends, reds) == text


@pytest.mark.parametrize(
    ("breaks", "mends", "text"),
    [
        (0, 25, "and nothing turns red"),
        (1, 25, "but 1 green turns red"),
        (3, 25, "but 3 greens turn red"),
        (3, 0, "and 3 greens turn red"),
    ],
)
def test_what_turns_red(breaks, mends, text):
    assert broken(breaks, mends) == text


@pytest.mark.parametrize(
    ("mends", "breaks", "text"),
    [
        (None, None, ""),
        (None, 0, ""),
        (2, None, "2 reds turn green"),
        (2, 1, "2 reds turn green but 1 green turns red"),
    ],
)
def test_a_repair_that_was_not_tried_out_says_nothing(mends, breaks, text):
    assert tried(mends, breaks) == text


def test_devices_name_a_place_and_claims_without_one_by_their_file():
    def red(nodeid, hardware):
        return f"#{nodeid}", {"nodeid": nodeid, "hardware": hardware, "file": nodeid.partition("::")[0]}

    fails = [red("a.yaml::x", None), red("b.yaml::x", "nvidia/t4"), red("b.yaml::y", "nvidia/t4"), red("c::z", "e/f")]
    place = {"ids": ["b.yaml::y", "b.yaml::x", "a.yaml::x", "gone::x"]}
    assert witnesses(place, fails) == [
        Witness("nvidia/t4", "#b.yaml::x", 2),
        Witness("a.yaml", "#a.yaml::x", 1),
        Witness("gone::x", None, 1),
    ]
