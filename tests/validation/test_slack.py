"""Slack: which tolerances are wider than their print, which are wider than needed, and what would do."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rooflint.expect import parse_expectation
from pytest_rooflint.slack import ROUNDED_UP, counts, is_loose, is_wide, sentence, stale

# ---- loose


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("900 GB/s", False),  # ± 0.5 GB/s are ± 0.056 %
        ("900 GB/s ± 1 %", True),
        ("900 GB/s ± 0.05 %", False),  # narrower than the print
        ("900 GB/s ± 0.5 GB/s", False),  # as wide as the print
        ("8 TB/s", True),  # 7.5 … 8.5 are ± 6.25 %
        ("10 TB/s", False),  # 9.5 … 10.5 are ± 5 %, the limit itself
        ("132", False),
        ("132 ± 1", True),
    ],
)
def test_a_claim_is_loose_beyond_its_print_and_where_the_print_is_too_short(text, loose):
    assert is_loose(parse_expectation(text)) is loose


def test_the_house_limit_holds_for_truncated_print_too():
    # 12 TB/s cut stands for 12 … 13, + 8.3 %; rounded for 11.5 … 12.5, ± 4.2 %
    assert is_wide(parse_expectation("12 TB/s", truncated=True))
    assert not is_wide(parse_expectation("12 TB/s"))


# ---- stale


def test_a_tolerance_is_not_needed_where_the_print_holds_by_itself():
    # 899.6 GB/s rounds to 900
    found = stale(parse_expectation("900 GB/s ± 1 %"), 899.6e9)
    assert (found.text, found.write) == ("the printed digits suffice (±0.056 %)", "")


def test_a_tolerance_of_more_than_twice_the_gap_is_stale_and_says_what_would_do():
    # 898 GB/s is 0.2222 % below 900: ± 0.3 % does, ± 0.44 % is still a rounded gap, ± 0.5 % is not
    assert stale(parse_expectation("900 GB/s ± 0.3 %"), 898e9) is None
    assert stale(parse_expectation("900 GB/s ± 0.44 %"), 898e9) is None
    found = stale(parse_expectation("900 GB/s ± 0.5 %"), 898e9)
    assert (found.text, found.write) == ("± 0.5 % bridges a gap of 0.22 %", "± 0.3 %")


def test_what_would_do_is_said_in_the_unit_of_the_tolerance():
    # 898 is 2 GB/s away
    assert stale(parse_expectation("900 GB/s ± 9 GB/s"), 898e9).write == "± 2 GB/s"
    assert stale(parse_expectation("900 GB/s ± 0.009 TB/s"), 898e9).write == "± 0.002 TB/s"
    assert stale(parse_expectation("132 ± 20"), 130).write == "± 2"


def test_a_gap_on_the_other_side_counts_alike():
    assert stale(parse_expectation("900 GB/s ± 0.5 %"), 902e9).write == "± 0.3 %"


def test_a_tolerance_narrower_than_the_print_is_no_slack():
    assert stale(parse_expectation("900 GB/s ± 0.05 %"), 900e9) is None


def test_the_tolerance_of_the_print_is_nobodys_to_tighten():
    assert stale(parse_expectation("8 TB/s"), 8e12) is None


def test_what_lies_outside_is_red_and_not_stale():
    assert stale(parse_expectation("900 GB/s ± 1 %"), 700e9) is None


def test_a_truncated_print_holds_as_it_was_cut():
    # 114.58 is cut to 114: the print suffices; 115.2 is beyond it
    cut = parse_expectation("114 op/B ± 3 %", truncated=True)
    assert stale(cut, 114.58).write == ""
    assert stale(cut, 115.2).write == "± 2 %"  # 1.2 / 114 is 1.05 %


@given(
    gap=st.floats(0.0011, 0.29),
    factor=st.floats(1.0, 30.0),
    above=st.booleans(),
    value=st.sampled_from(["900.0 GB/s", "1.250 pJ", "989.4 TFLOP/s"]),
)
def test_what_would_do_holds_and_is_not_stale_itself(gap, factor, above, value):
    wide = gap * factor
    assume(wide < 0.99)
    stated = parse_expectation(f"{value} ± {100 * wide:.9f} %")
    obtained = stated.value * (1 + gap if above else 1 - gap)
    found = stale(stated, obtained)
    if found and found.write:
        instead = parse_expectation(f"{value} {found.write}")
        assert instead.holds(obtained)
        assert stale(instead, obtained) is None
        assert instead.width <= ROUNDED_UP * gap * (1 + 1e-9)


# ---- in a run


def test_a_red_or_excused_claim_is_never_stale(claims):
    # 32.77 TOP/s against 30 and against 33
    red, known, stale_one = claims(
        "peak: mac_array int8, expect: 30.0 TOP/s ± 5 %, why: a guess",
        "peak: mac_array int8, at: low, expect: 20.0 TOP/s ± 5 %, why: a guess, "
        "xfail: {ratio: 0.82, reason: r, until: 2999-01-01}",
        "peak: mac_array fp16, expect: 14.8 TFLOP/s ± 5 %, why: a guess",
    )
    assert [(v.outcome, v.loose, bool(v.stale)) for v in (red, known, stale_one)] == [
        ("fail", True, False),
        ("xfail", True, False),
        ("pass", True, True),
    ]


def test_the_row_says_where_the_tolerance_comes_from_and_what_the_print_allows(claims):
    stated, printed = claims(
        "peak: mac_array int8, expect: 33.0 TOP/s ± 5 %, why: they round",
        "count: tile, expect: 8",
    )
    tolerance = stated.row()["tolerance"]
    assert (tolerance["kind"], tolerance["why"], tolerance["printed"]) == ("stated", "they round", "±0.15 %")
    # 32.768 is 0.703 % below 33
    stale = {"text": "± 5 % bridges a gap of 0.7 %", "write": "± 0.8 %"}
    assert (tolerance["loose"], tolerance["stale"]) == (True, stale)
    exact = printed.row()["tolerance"]
    assert (exact["kind"], exact["loose"], exact["stale"]) == ("exact", False, None)


def test_a_run_counts_them_in_one_line(tiny):
    assert "looser" not in tiny.run().stdout.str()
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 2 %, why: they round}")
    assert "1 claim is looser than printed digits justify, 1 of them wider than needed" in tiny.run().stdout.str()
    tiny.edit("golden/x1.yaml", "102.4 GB/s ± 2 %", "101.0 GB/s ± 2 %")  # a gap of 1.4 %
    text = tiny.run().stdout.str()
    assert "1 claim is looser than printed digits justify" in text and "wider than needed" not in text


def test_a_stale_tolerance_is_listed_and_not_red(tiny):
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 2 %, why: they round}")
    document = tiny.evidence()
    assert (document["run"]["exit_status"], document["counts"]["loose"], document["counts"]["stale"]) == (0, 1, 1)
    (row,) = [row for row in document["verdicts"] if row["tolerance"] and row["tolerance"]["stale"]]
    assert (row["id"], row["outcome"], row["tolerance"]["stale"]["write"]) == ("bandwidth-lpddr5", "pass", "")


@pytest.mark.parametrize("expect", ["102.4 GB/s ± 2 %", "1e2 GB/s"])
def test_a_loose_claim_without_a_why_is_refused_at_the_door(tiny, expect, red):
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", f"expect: {expect}}}")
    result = tiny.run("golden/x1.yaml")
    assert red(result) == {"readable"}
    assert "golden/x1.yaml:7  " in result.stdout.str() and "say 'why:'" in result.stdout.str()


def test_the_reason_of_a_whole_file_excuses_no_single_tolerance(tiny, red):
    tiny.edit("golden/x1.yaml", "claims:", "why: they round everything\nclaims:")
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 2 %}")
    assert red(tiny.run("golden/x1.yaml")) == {"readable"}


# ---- counting


def test_claims_without_a_tolerance_are_neither():
    rows = [
        {"tolerance": None},
        {"tolerance": {"loose": True, "stale": True}},
        {"tolerance": {"loose": True, "stale": None}},
    ]
    assert counts(rows) == {"loose": 2, "stale": 1}
    assert sentence(rows) == "2 claims are looser than printed digits justify, 1 of them wider than needed"
    assert sentence(rows[:1]) is None


def test_no_shipped_golden_is_stale():
    from pathlib import Path  # noqa: PLC0415

    from pytest_rooflint.judge import judge  # noqa: PLC0415
    from pytest_rooflint.suite import Suite  # noqa: PLC0415

    suite = Suite.of([Path(__file__).parents[2] / "golden"], [])
    stated = [claim for claim in suite.claims() if claim.expectation and claim.expectation.tolerance == "stated"]
    assert stated
    assert [str(claim.file) for claim in stated if judge(claim, "", suite).stale] == []
