"""The Markdown summary: short, worst first, and harmless."""

import re

from rooflint_report import render_summary
from rooflint_report.summary import LIMIT_BYTES


def test_it_opens_with_the_verdict_of_the_run(evidence, green):
    assert render_summary(evidence).splitlines()[0] == "## Red: 3 of 136 claims fail and 2 problems in the files."
    assert render_summary(green).splitlines()[0].startswith("## Green: 134 of 136 claims hold, none fails")


def test_counts_and_blind_spots_are_one_table(evidence):
    head, rule, row = render_summary(evidence).splitlines()[2:5]
    assert head.count("|") == rule.count("|") == row.count("|") == 9
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    counts = evidence["counts"]
    expected = ["pass", "fail", "xfail", "undecided", "not validated here", "uncorroborated"]
    assert cells == [*(str(counts[name]) for name in expected), "7", "10"]


def test_a_red_has_ratio_cause_and_lines(evidence):
    text = render_summary(evidence)
    red = text[text.index("- ✗") :].split("\n- ✗")[0]
    assert "**1/8** `golden/peaks/nvidia/jetson-agx-orin-64gb.yaml:5`" in red
    assert "expected **85 TOP/s**: `170 TOP/s / 2`" in red
    assert "`model/rooflint/specs/architectures/nvidia/ampere-ga10b.yaml:23`; repair:" in red
    assert "`pytest golden/peaks/nvidia/jetson-agx-orin-64gb.yaml::peak-tensor_core-int8`" in red


def test_the_best_repair_comes_before_the_reds(evidence):
    text = render_summary(evidence)
    place = "- With **110 CU** written instead of **220 CU** at `model/rooflint/specs/hardware/amd/mi250x.yaml:15`"
    assert f"{place} (`units.matrix_core.groups`), **2 of 3 failing claims pass** and no other claim fails\n" in text
    assert text.index(place) < text.index("### Failures")
    assert "repair: 110 CU; with it, 2 failing claims pass and no other claim fails\n" in text


def test_evidence_without_places_has_none(evidence, without):
    assert "One place" not in render_summary(without(evidence, "places"))


def test_lists_are_not_glued_to_headings(evidence):
    assert not re.search(r"[^\n]\n#", render_summary(evidence))


def test_green_is_short(green):
    assert len(render_summary(green)) < 600


def test_empty_evidence_is_not_green(empty):
    assert render_summary(empty).startswith("## Empty: no claim was checked")


def test_hostile_text_stays_text(make_evidence):
    text = render_summary(make_evidence(nasty=True))
    outside_code = re.sub(r"(`+) ?.*?[^`]\1(?!`)", "", text)
    assert "<script" not in outside_code
    assert "@someone" not in outside_code
    assert not re.search(r"(?<!\\)\[a", outside_code)
    assert not re.search(r"(?<!\\)\*bold", outside_code)


def test_a_thousand_reds_fit(make_evidence):
    record = make_evidence(devices=66)
    for verdict in record["verdicts"]:
        verdict |= {"outcome": "fail", "ratio": 0.5, "note": "x" * 5000}
        verdict["expected"]["source"] = {"document": "ü" * 5000, "where": "<" * 5000, "grade": "read"}
    text = render_summary(record)
    assert len(text.encode()) < LIMIT_BYTES
    assert "more in the report." in text
    assert text.count("- ✗") >= 5
