"""Verdicts in the evidence: the record says what the text says; repairs that several failing claims ask for."""

import json
from types import SimpleNamespace

import pytest

from pytest_rooflint.evidence.verdicts import places, record, sentences
from rooflint_report.evidence import as_json, plain


@pytest.fixture
def halved(acme, claims):
    """INT8 at half its rate in the architecture, claimed by a data sheet: 8 × 2 × 512 × 2 × 1 GHz = 16.38 TOP/s."""
    acme.edit("specs/architectures/acme/a1.yaml", "int8: [1024 MAC", "int8: [512 MAC")
    (verdict,) = claims("peak: mac_array int8, expect: 32.77 TOP/s, note: printed as dense")
    return verdict


def test_the_row_is_plain_data_with_the_same_words(halved):
    row = json.loads(as_json(record(halved)))
    assert (row["id"], row["outcome"], row["line"]) == ("peak-mac_array-int8", "fail", 4)
    assert (row["hardware"], row["unit"], row["precision"]) == ("acme/k1", "mac_array", "int8")
    assert (row["ratio_text"], row["note"]) == ("1/2", "printed as dense")
    assert row["expected"]["value"] == pytest.approx(32.77e12)
    assert (row["expected"]["low"], row["expected"]["high"]) == pytest.approx((32.765e12, 32.775e12))
    assert row["expected"]["source"] == {"document": "Acme data sheet", "where": "p. 1", "grade": "read"}
    assert row["obtained"]["value"] == 16.384e12
    assert row["tolerance"] == {
        **{"kind": "printed digits", "text": "±0.015 %", "why": None},
        **{"printed": "±0.015 %", "loose": False, "stale": None},
    }
    assert row["rerun"] == "pytest golden/k1.yaml::peak-mac_array-int8"
    assert row["slack"] < 0


def test_the_row_lists_each_fact_once_and_each_cause_with_its_repair(halved):
    row = plain(record(halved))
    assert [fact["path"] for fact in row["facts"]] == [
        "units.mac_array.groups",
        "units.mac_array.per_group",
        "units.mac_array.macs_per_clock.int8",
        "units.mac_array.clock",
    ]
    assert row["facts"][2] == {
        "path": "units.mac_array.macs_per_clock.int8",
        "display": "512 MAC",
        "grade": "read",
        "document": "Acme A1 architecture manual",
        "where": "p. 3",
        "file": "specs/architectures/acme/a1.yaml",
        "line": 8,
        "at": "",
    }
    cause = row["causes"][0]
    assert (cause["file"], cause["line"], cause["path"]) == tuple(
        row["facts"][2][key] for key in ("file", "line", "path")
    )
    assert (cause["factor_text"], cause["current"], cause["repair"]) == ("1/2", "512 MAC", "1024 MAC")


def test_a_row_says_at_which_operating_point_it_was_judged(claims):
    common, own = claims(
        "peak: mac_array int8, at: low, expect: 16.38 TOP/s",
        "bandwidth: hbm, at: {acme/k1: low}, expect: 256 GB/s",
    )
    assert record(common).at == "low"
    assert record(own).at == "low"


def test_the_width_of_a_stated_tolerance_comes_with_its_reason(claims):
    (verdict,) = claims("bandwidth: hbm, expect: 250 GB/s ± 5 %, why: the sheet rounds")
    tolerance = record(verdict).tolerance
    assert (tolerance.kind, tolerance.text, tolerance.why) == ("stated", "±5 %", "the sheet rounds")
    # 256 is 6 of 12.5 GB/s from the middle
    assert record(verdict).slack == pytest.approx(1 - 6 / 12.5)


def test_the_day_of_an_excuse_is_kept(claims):
    (verdict,) = claims("peak: mac_array int8, expect: 1.00 TOP/s, xfail: {ratio: 32.77, reason: r, until: 2099-01-01}")
    assert (record(verdict).until, record(verdict).reason) == ("2099-01-01", "r")


# ---- repairs


def cause(line=14, repair="4096 MAC", fixes=4, breaks=0):
    place = {"file": "specs/x1.yaml", "line": line, "path": "units.a.clock", "current": "2048 MAC", "repair": repair}
    return SimpleNamespace(**place, fixes=fixes, breaks=breaks)


def red(id, *causes, outcome="fail"):
    return SimpleNamespace(nodeid=f"golden/x1.yaml::{id}", outcome=outcome, causes=causes)


def test_a_place_is_listed_once_with_all_claims_that_ask_for_it():
    (place,) = places([red("a", cause()), red("b", cause())])
    assert plain(place) == {
        "file": "specs/x1.yaml",
        "line": 14,
        "path": "units.a.clock",
        "from": "2048 MAC",
        "to": "4096 MAC",
        "fixes": 4,
        "breaks": 0,
        "failing": 2,
        "ids": ["golden/x1.yaml::a", "golden/x1.yaml::b"],
        "fixed": [],
    }


def test_a_place_has_the_claims_that_its_repair_was_seen_to_fix():
    seen = {("specs/x1.yaml", 14, "units.a.clock", "4096 MAC"): ["golden/x1.yaml::c"]}
    (place, other) = places([red("a", cause(), cause(repair="1024 MAC"))], seen)
    assert (place.fixed, other.fixed) == (["golden/x1.yaml::c"], [])


def test_two_repairs_of_one_line_are_two_places():
    assert [place.to for place in places([red("a", cause(), cause(repair="1024 MAC", fixes=1))])] == [
        "4096 MAC",
        "1024 MAC",
    ]


def test_what_breaks_nothing_comes_first_then_what_mends_most():
    rows = [red("a", cause(1, fixes=9, breaks=1), cause(2, fixes=2), cause(3, fixes=5))]
    assert [place.line for place in places(rows)] == [3, 2, 1]


@pytest.mark.parametrize("outcome", ["pass", "xfail", "not validated here"])
def test_only_red_claims_ask_for_repairs(outcome):
    assert places([red("a", cause(), outcome=outcome)]) == []


def test_a_cause_that_was_not_tried_or_has_no_repair_has_no_place():
    assert places([red("a", cause(fixes=None, breaks=None), cause(repair=None))]) == []


def test_a_sentence_names_numbers_and_place():
    failing = [red(name, cause()) for name in "abcd"]
    assert list(sentences(failing)) == [
        "A single change fixes 4 of 4 failures and breaks nothing: write "
        "4096 MAC instead of 2048 MAC at specs/x1.yaml:14  units.a.clock"
    ]


def test_a_run_of_a_part_of_the_claims_says_what_a_repair_fixes_of_it_and_of_all():
    (sentence,) = sentences([red("a", cause()), red("b", cause())])  # the cause fixes four
    assert sentence.startswith(
        "A single change fixes 2 of 2 failures here (at least 4 among all claims) and breaks nothing: "
    )
    first = cause()
    key = (first.file, first.line, first.path, first.repair)
    failing = [red(name, cause()) for name in "ab"] + [red(name, cause(2, fixes=0)) for name in "xyz"]
    sentence, rest = sentences(failing, {key: ["a", "b", "c", "d"]})  # of which c and d were not judged
    assert sentence.startswith(
        "A single change fixes 2 of 5 failures here (at least 4 among all claims) and breaks nothing: "
    )
    names = ", ".join(one.nodeid for one in failing[2:])
    assert rest == f"3 of 5 failures have other causes: {names}"


def test_nothing_is_said_of_repairs_that_mend_one_claim_or_break_another():
    assert list(sentences([red("a", cause(1, fixes=1), cause(2, fixes=9, breaks=1))])) == []


def test_three_repairs_are_enough_and_the_other_failures_are_counted():
    *repairs, rest = sentences([red(str(line), cause(line)) for line in range(9)])
    assert len(repairs) == 3
    assert rest.startswith("6 of 9 failures have other causes: ") and rest.endswith(" and 3 more")


def test_repairs_that_mend_the_same_claims_share_a_sentence():
    (sentence,) = sentences([red("a", cause(1), cause(2))])
    assert sentence.count(", or ") == 1
