"""What sections share: anchors, what comes first, and ratios and counts as text."""

import math
from types import SimpleNamespace

import pytest

from rooflint_report.evidence import Evidence
from rooflint_report.sections.section import (
    Anchors,
    Page,
    claimed,
    counted,
    deviation,
    grouped,
    ratio_text,
    tally,
    tied,
    tied_factors,
    worst_first,
)
from rooflint_report.verdicts import Verdict


def test_anchors_are_safe_and_never_twice():
    anchors = Anchors()
    assert anchors.new("device", "nvidia/h100 <b>×") == "device-nvidia-h100-b"
    assert anchors.new("device", "nvidia/h100-b") == "device-nvidia-h100-b-2"
    assert anchors.new("device", "×") == "device-"
    assert len(anchors.new("fail", "very-" * 100)) < 120


def test_a_page_links_to_its_failing_claims_and_its_devices(evidence):
    for verdict, ratio in zip(evidence["verdicts"], (2.0, 8.0, 1.0), strict=False):
        verdict |= {"ratio": ratio, "outcome": "fail"}
    for verdict in evidence["verdicts"][2:]:
        verdict["outcome"] = "pass"
    evidence["verdicts"][1]["nodeid"] = evidence["verdicts"][0]["nodeid"] = "golden/a.yaml::b"
    page = Page.of(Evidence.model_validate(evidence))
    assert [(anchor, verdict.ratio) for anchor, verdict in page.fails] == [
        ("fail-golden-a.yaml-b", 8.0),
        ("fail-golden-a.yaml-b-2", 2.0),
    ]
    assert page.devices["nvidia/t4"] == "device-nvidia-t4"
    assert len(page.devices) == 10
    assert page.anchors.new("device", "nvidia/t4") == "device-nvidia-t4-2"


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
    verdict = {**evidence["verdicts"][0], "hardware": None, "architecture": None}
    order = verdict | {"headline": "bound of nvidia/t4 on mlp 1024"}
    assert claimed(Verdict.model_validate(order)) == "bound of nvidia/t4 on mlp 1024"


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


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 claims"), (1, "1 claim"), (2, "2 claims"), (12_345, "12\u202f345 claims")]
)
def test_one_claim_is_no_claims(number, text):
    assert counted(number, "claim") == text


def test_a_quantity_does_not_break_but_a_product_does():
    assert tied("989.4 TFLOP/s") == "989.4\u00a0TFLOP/s"
    assert tied_factors("132 SM × 1.83 GHz") == "132\u00a0SM × 1.83\u00a0GHz"
    assert tied("in the order that the data sheets print") == "in the order that the data sheets print"
