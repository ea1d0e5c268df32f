"""The table of all claims: what its tools offer, and the rows that the page's script draws."""

import json
import math

import pytest
from tests.report import pages

from rooflint_report.evidence import Evidence
from rooflint_report.sections.claims import view
from rooflint_report.sections.section import Page


@pytest.fixture
def shown(evidence):
    """`shown(changes, …)`: the view of a run whose first claims have these changes."""

    def of(*changes):
        for verdict, change in zip(evidence["verdicts"], changes, strict=False):
            verdict.update(change)
        return view(Page.of(Evidence.model_validate(evidence)))

    return of


def rows(found):
    columns = found.data["columns"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_every_claim_has_a_row_and_the_worst_come_first(shown, evidence):
    found = shown()
    assert found.count == len(rows(found)) == len(evidence["verdicts"])
    outcomes = [row["outcome"] for row in rows(found)]
    ranks = ["fail", "undecided", "xfail", "not validated here", "pass"]
    assert outcomes == sorted(outcomes, key=ranks.index)
    assert {f"pytest {row['file']}{row['rerun']}" for row in rows(found)} == {v["rerun"] for v in evidence["verdicts"]}


def test_a_claim_about_an_architecture_names_it_in_the_column_of_devices(shown):
    found = shown({"hardware": None, "architecture": "amd/cdna3", "headline": "sparsity matrix_core of amd/cdna3"})
    assert ("amd/cdna3", "sparsity matrix_core", "") in [
        (row["device"], row["claim"], row["sheet"]) for row in rows(found)
    ]


def test_the_tools_offer_what_occurs_with_its_count(shown, evidence):
    found = shown({"tolerance": {"kind": "stated", "text": "±9 %", "why": "rounded", "loose": True}})
    assert dict(found.outcomes)["fail"] == sum(v["outcome"] == "fail" for v in evidence["verdicts"])
    assert all(count for _, count in [*found.outcomes, *found.flags])
    assert dict(found.flags)["loose"] == 1
    assert found.kinds == sorted({v["kind"] for v in evidence["verdicts"]})
    assert "" not in found.precisions
    loose = [row for row in rows(found) if "loose" in row["flags"]]
    assert [(row["tolerance"], row["why"]) for row in loose] == [("±9 %, stated", "rounded")]


@pytest.mark.parametrize(
    ("about", "others", "device", "sheet"),
    [
        (["45nm"], [], "45nm", ""),
        (["nvidia/t4"], [], "nvidia/t4", "device-nvidia-t4"),
        (["nvidia/t4", "amd/mi250x"], ["nvidia/t4@70w"], "nvidia/t4, amd/mi250x", ""),
        ([], ["nvidia/t4@70w", "nvidia/t4"], "nvidia/t4", "device-nvidia-t4"),
        ([], [], "", ""),
    ],
)
def test_a_claim_about_no_device_of_its_own_says_what_it_is_about(shown, about, others, device, sheet):
    kind = "energy_per"
    change = {"kind": kind, "hardware": None, "architecture": None, "outcome": "undecided"}
    change |= {"about": about, "others": others}
    found = next(row for row in rows(shown(change)) if row["kind"] == kind and row["outcome"] == "undecided")
    assert (found["device"], found["sheet"]) == (device, sheet)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("a <= b, in this order", "in this order"),
        ("a <= b", ""),
        ("900 GB/s", "900 GB/s"),
    ],
)
def test_an_order_is_not_said_twice(shown, evidence, expected, said):
    change = next(one["expected"] for one in evidence["verdicts"] if one["expected"]) | {"display": expected}
    found = shown({"kind": "energies", "subject": "a <= b", "outcome": "undecided", "expected": change})
    row = next(row for row in rows(found) if row["kind"] == "energies")
    assert row["expected"] == said


def test_a_failing_claim_leads_to_its_card_and_each_device_to_its_sheet(shown, evidence):
    page = Page.of(Evidence.model_validate(evidence))
    found = {f"pytest {row['file']}{row['rerun']}": row for row in rows(shown())}
    for anchor, verdict in page.fails:
        assert found[verdict.rerun]["card"] == anchor
    assert all(row["card"] == "" for row in found.values() if row["outcome"] != "fail")
    assert all(row["sheet"] == page.devices.get(row["device"], "") for row in found.values())


@pytest.mark.parametrize(
    ("ratio", "written"), [(math.inf, 1e300), (-math.inf, -1e300), (math.nan, None), (None, None), (0.25, 0.25)]
)
def test_a_ratio_is_a_number_that_json_has(shown, ratio, written):
    found = shown({"ratio": ratio, "note": "this one"})
    (row,) = (row for row in rows(found) if row["note"] == "this one")
    assert row["ratio"] == written
    json.dumps(found.data, allow_nan=False)


def test_a_ratio_near_one_shows_its_digits(shown):
    found = rows(
        shown({"ratio": 0.984, "ratio_text": "1", "note": "a"}, {"ratio": 0.5, "ratio_text": "1/2", "note": "b"})
    )
    assert {row["note"]: row["ratioText"] for row in found if row["note"] in ("a", "b")} == {"a": "0.984", "b": "1/2"}


def test_slack_is_shown_of_claims_that_pass(shown):
    found = rows(shown({"slack": 0.3, "note": "a"}, {"slack": -900.0, "outcome": "xfail", "note": "b"}))
    assert {row["note"]: row["slack"] for row in found if row["note"] in ("a", "b")} == {"a": 0.3, "b": None}


def test_a_place_is_a_link_where_the_repository_is_hosted(shown, evidence):
    assert {row["blob"] for row in rows(shown())} == {""}
    evidence["run"]["hosting"] = {
        "service": "github",
        "url": "https://github.com/acme/chips",
        "commit": "a" * 40,
        "pull_request": None,
        "run": None,
        "folder": "",
    }
    row = rows(shown())[0]
    assert row["blob"] == f"https://github.com/acme/chips/blob/{'a' * 40}/{row['file']}#L{row['line']}"


@pytest.mark.slow
def test_the_page_carries_the_rows_packed(evidence):
    found = pages.claims(pages.render_html(evidence))
    assert [row["outcome"] for row in found[:3]] == ["fail"] * 3
    assert len(found) == len(evidence["verdicts"])


@pytest.mark.slow
def test_without_claims_there_is_no_table(empty):
    assert 'id="claims"' not in pages.render_html(empty)
