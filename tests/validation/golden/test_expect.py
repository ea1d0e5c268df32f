"""Expectations: what printed digits allow, and nothing more."""

import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rooflint.evidence.verdicts import record
from pytest_rooflint.golden.expect import (
    ROUNDED_UP,
    ExpectationError,
    is_loose,
    is_wide,
    loose_summary,
    parse_expectation,
    stale,
)
from rooflint.base.units import BYTES_PER_S, DIMENSIONLESS, HERTZ, OPS_PER_BYTE, OPS_PER_S
from rooflint_report.verdicts import Stale

# ---- printed digits


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("85.2 TOP/s", 85.15e12, 85.25e12),
        ("170 TOP/s", 169.5e12, 170.5e12),
        ("3.35 TB/s", 3.345e12, 3.355e12),
        ("2.0 TB/s", 1.95e12, 2.05e12),
        ("2 TB/s", 1.5e12, 2.5e12),
        ("2039 GB/s", 2038.5e9, 2039.5e9),
        ("1.3e9 Hz", 1.25e9, 1.35e9),
        ("16 GiB", 15.5 * 2**30, 16.5 * 2**30),
        ("47.0 %", 0.4695, 0.4705),
        ("2.5", 2.45, 2.55),
    ],
)
def test_a_printed_value_is_uncertain_by_half_a_unit_of_its_last_digit(text, low, high):
    expectation = parse_expectation(text)
    assert (expectation.low, expectation.high) == pytest.approx((low, high), rel=1e-12)
    assert expectation.tolerance == "printed digits"


@pytest.mark.parametrize("text", ["132", 132, "16896", "2", "170 / 2"])
def test_bare_integers_are_exact(text):
    expectation = parse_expectation(text)
    assert expectation.low == expectation.value == expectation.high
    assert (expectation.tolerance, expectation.tolerance_text) == ("exact", "exact")
    assert expectation.holds(expectation.value)
    assert not expectation.holds(expectation.value * (1 + 1e-9))


def test_both_edges_of_the_printed_digits_agree_and_the_next_value_does_not():
    # 85.2 TOP/s is what 85.15 … 85.25 rounds to
    expectation = parse_expectation("85.2 TOP/s")
    assert expectation.holds(85.15e12)
    assert expectation.holds(85.25e12)
    assert not expectation.holds(85.1499e12)
    assert not expectation.holds(85.2501e12)


def test_there_is_no_absolute_tolerance():
    # 1.2 ps and 1.8 ps differ by less than any usual absolute tolerance, and by half of their size
    expectation = parse_expectation("1.2 ps")
    assert expectation.holds(1.2e-12)
    assert not expectation.holds(1.8e-12)
    assert not expectation.holds(0.0)


@pytest.mark.parametrize(
    ("small", "large"), [("1.25 ps", "1.25 s"), ("1.25 mB", "1.25 PB"), ("1.25 op/s", "1.25 EOP/s")]
)
def test_the_relative_width_does_not_depend_on_the_prefix(small, large):
    one, two = parse_expectation(small), parse_expectation(large)
    assert one.high / one.value == pytest.approx(two.high / two.value, rel=1e-12)
    assert one.low / one.value == pytest.approx(two.low / two.value, rel=1e-12)


@given(st.decimals(min_value="0.001", max_value="99999", places=3), st.sampled_from(["TOP/s", "GB/s", "us", "pJ"]))
def test_a_value_holds_itself_and_not_itself_plus_one_printed_digit(number, unit):
    expectation = parse_expectation(f"{number} {unit}")
    step = 0.001 * expectation.value / float(number)
    assert expectation.holds(expectation.value)
    assert not expectation.holds(expectation.value + step)
    assert not expectation.holds(expectation.value - step)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -85.2e12])
def test_what_is_not_a_finite_value_near_it_never_holds(value):
    assert not parse_expectation("85.2 TOP/s").holds(value)
    assert not parse_expectation("132").holds(value)


# ---- expressions


def test_the_digits_of_a_sum_over_sparsity_are_divided_too():
    # 170 ± 0.5 over 2 = 85 ± 0.25
    expectation = parse_expectation("170 TOP/s / 2")
    assert expectation.dimension == OPS_PER_S
    assert (expectation.low, expectation.value, expectation.high) == (84.75e12, 85e12, 85.25e12)


def test_a_quotient_is_widest_where_its_parts_are_farthest_apart():
    # 989.4 ± 0.05 TFLOP/s over 3.35 ± 0.005 TB/s: 989.35 / 3.355 … 989.45 / 3.345
    expectation = parse_expectation("989.4 TFLOP/s / 3.35 TB/s")
    assert expectation.dimension == OPS_PER_BYTE
    assert expectation.value == pytest.approx(989.4 / 3.35)
    assert expectation.low == pytest.approx(989.35 / 3.355)
    assert expectation.high == pytest.approx(989.45 / 3.345)


def test_a_difference_is_as_uncertain_as_a_sum():
    # 275 ± 0.5 − 105 ± 0.5 = 170 ± 1
    expectation = parse_expectation("275 TOP/s - 105 TOP/s")
    assert (expectation.low, expectation.value, expectation.high) == (169e12, 170e12, 171e12)
    total = parse_expectation("170 TOP/s + 105 TOP/s")
    assert (total.low, total.value, total.high) == (274e12, 275e12, 276e12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("100 / 5 / 2", 10),
        ("100 - 5 - 2", 93),
        ("100 / (5 * 2)", 10),
        ("((7))", 7),
        (" 12 ", 12),
    ],
)
def test_expressions_are_read_as_arithmetic_is(text, value):
    assert parse_expectation(text).value == value


def test_the_slash_of_a_unit_is_not_an_operator():
    # 204.8 GB/s / 6.4 Gbit/s = 204.8e9 / 0.8e9 = 256 B per bit-lane: a bare number
    assert parse_expectation("204.8 GB/s").dimension == BYTES_PER_S
    ratio = parse_expectation("204.8 GB/s / 6.4 Gbit/s")
    assert (ratio.dimension, ratio.value) == (DIMENSIONLESS, pytest.approx(256))


_leaf = st.integers(1, 99).map(str)
_trees = st.recursive(
    _leaf,
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=6,
)


@given(_trees)
def test_arithmetic_equals_the_slow_twin_in_fractions(text):
    try:
        twin = eval(re.sub(r"\d+", lambda number: f"Fraction({number[0]})", text), {"Fraction": Fraction})
    except ZeroDivisionError:
        twin = Fraction(0)
    if twin <= 0:
        return
    try:
        obtained = parse_expectation(text)
    except ExpectationError as error:  # floats may reach zero by cancelling where fractions do not, never otherwise
        assert "zero" in str(error) and "-" in text
        return
    assert obtained.value == pytest.approx(float(twin), rel=1e-9)


# ---- truncated


def test_a_truncated_figure_is_never_below_what_was_printed():
    # 137.5 TFLOP/s / 1.2 TB/s = 114.58 op/B, printed as 114
    expectation = parse_expectation("114 op/B", truncated=True)
    assert expectation.holds(137.5 / 1.2)
    assert expectation.holds(114)
    assert not expectation.holds(113.99)
    assert not expectation.holds(115.01)
    assert expectation.tolerance == "truncated"
    assert expectation.tolerance_text == "+0.88 %"  # 1 / 114


def test_a_truncated_figure_does_not_reach_the_next_one():
    # Nobody who cuts digits prints 3.0 TB/s as 2 TB/s
    assert not parse_expectation("2 TB/s", truncated=True).holds(3.0e12)


def test_without_truncation_the_same_digits_mean_something_else():
    assert not parse_expectation("114 op/B").holds(137.5 / 1.2)


# ---- stated


def test_a_stated_percentage_replaces_the_digits():
    expectation = parse_expectation("900 GB/s ± 1 %")
    assert (expectation.low, expectation.high) == pytest.approx((891e9, 909e9))
    assert (expectation.tolerance, expectation.stated, expectation.text) == ("stated", "± 1 %", "900 GB/s")
    assert expectation.tolerance_text == "±1 %"


def test_a_stated_width_may_be_in_the_unit_of_the_value():
    expectation = parse_expectation("900 GB/s ± 9 GB/s")
    assert (expectation.low, expectation.high) == pytest.approx((891e9, 909e9))


def test_a_stated_tolerance_speaks_of_the_whole_expression():
    # 41 / 2 = 20.5 ± 3 % = 20.5 ± 0.615
    expectation = parse_expectation("41 TOP/s / 2 ± 3 %")
    assert (expectation.low, expectation.high) == pytest.approx((19.885e12, 21.115e12))


@pytest.mark.parametrize(
    ("text", "justified"),
    [("900 GB/s ± 1 %", False), ("900 GB/s ± 0.5 GB/s", True), ("900 GB/s ± 0.01 %", True), ("132 ± 1", False)],
)
def test_only_a_tolerance_wider_than_the_digits_needs_a_reason(text, justified):
    # half a unit of 900 GB/s is 0.5 GB/s
    assert parse_expectation(text).justified is justified


@pytest.mark.parametrize("margin", ["0 %", "100 %", "150 %", "-1 %", "900 GB/s", "0 GB/s"])
def test_a_tolerance_is_more_than_nothing_and_less_than_everything(margin):
    with pytest.raises(ExpectationError, match="not a tolerance between 0 and 100 %"):
        parse_expectation(f"900 GB/s ± {margin}")


@pytest.mark.parametrize("margin", ["1", "1 W", "nan %", "1 % ± 2 %", "much", "1 TOPS"])
def test_a_tolerance_of_another_kind_is_refused(margin):
    with pytest.raises(ExpectationError):
        parse_expectation(f"900 GB/s ± {margin}")


def test_a_sign_without_a_tolerance_is_refused():
    with pytest.raises(ExpectationError):
        parse_expectation("900 GB/s ±")


# ---- slack


def test_slack_is_one_in_the_middle_none_at_the_edge_and_negative_outside():
    expectation = parse_expectation("80 GB/s")  # ± 0.5
    assert expectation.slack(80e9) == 1
    assert expectation.slack(80.25e9) == pytest.approx(0.5)
    assert expectation.slack(79.75e9) == pytest.approx(0.5)
    assert expectation.slack(80.5e9) == pytest.approx(0)
    assert expectation.slack(81e9) == pytest.approx(-1)
    assert expectation.slack(79e9) == pytest.approx(-1)


def test_slack_of_an_exact_value_is_all_or_nothing():
    assert parse_expectation("132").slack(132) == 1
    assert parse_expectation("132").slack(131) == 0
    assert parse_expectation("132").slack(133) == 0


# ---- refusals


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a value with a unit"),
        (True, "'True' is not a value with a unit"),
        ("nan GB/s", "cannot read 'nan GB/s'"),
        (".nan", "cannot read"),
        ("inf", "cannot read 'inf'"),
        ("1e999 GB/s", "out of range"),
        ("1.0e-300 GB/s", "out of range"),
        ("1e30 GB/s * 1e30", "out of range, 1e-40 to 1e+40"),
        ("1 GB/s / " + "9" * 120, "want a number of at most 100 characters"),
        ("0 GB/s", "want a value above zero"),
        ("5 GB/s - 5 GB/s", "want a value above zero"),
        ("3 GB/s - 5 GB/s", "want a value above zero"),
        ("-5 GB/s", "want a value in '-5 GB/s'"),
        ("170 TOPS", "unknown unit 'TOPS'; write TOP/s"),
        ("204.8 Gbps", "write GB/s or Gbit/s"),
        ("5.3TFLOP/s", "'5.3TFLOP/s' is not a number with a unit; put a space between number and unit"),
        ("1,979 TFLOP/s", "'1,979' is not a number with a unit; write digits without separators"),
        ("5 GB/s + 5 GB", "adds or subtracts values of different units"),
        ("5 GB/s - 5 W", "adds or subtracts values of different units"),
        ("5 GB / 0 s", "zero"),
        ("(5 GB/s", "a bracket is not closed"),
        ("5 GB/s)", "cannot read ')'"),
        ("5 GB/s *", "want a value"),
        ("5 GB/s 5 GB/s", "cannot read '5 GB/s'"),
        ("* 5", "want a value"),
        ("about 5 GB/s", "cannot read 'about 5 GB/s'"),
        ("± 5 %", "found nothing"),
    ],
)
def test_what_is_no_expectation_is_refused_in_a_sentence(text, says):
    with pytest.raises(ExpectationError, match=re.escape(says)):
        parse_expectation(text)


def test_a_divisor_that_may_be_zero_within_its_digits_is_refused():
    # 1.0 ± 0.05 s − 0.98 ± 0.005 s = 0.02 ± 0.055 s: nothing can be said of a quotient by that
    with pytest.raises(ExpectationError):
        parse_expectation("1 TOP / (1.0 s - 0.98 s)")


def test_units_keep_their_dimension_through_an_expression():
    assert parse_expectation("1 / 1257 s").dimension == HERTZ


# ---- Slack: which tolerances are wider than their print, which are wider than needed, and what would do

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
    tolerance = record(stated).tolerance
    assert (tolerance.kind, tolerance.why, tolerance.printed) == ("stated", "they round", "±0.15 %")
    # 32.768 is 0.703 % below 33
    stale = Stale(text="± 5 % bridges a gap of 0.7 %", write="± 0.8 %")
    assert (tolerance.loose, tolerance.stale) == (True, stale)
    exact = record(printed).tolerance
    assert (exact.kind, exact.loose, exact.stale) == ("exact", False, None)


@pytest.mark.slow
def test_a_run_counts_them_in_one_line(tiny):
    assert "tolerance" not in tiny.run().stdout.str()
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 2 %, why: they round}")
    assert "the digits justify, 1 of them wider than needed" in tiny.run().stdout.str()
    tiny.edit("golden/x1.yaml", "102.4 GB/s ± 2 %", "101.0 GB/s ± 2 %")  # a gap of 1.4 %
    text = tiny.run().stdout.str()
    assert "1 claim has a tolerance wider than the digits justify" in text and "wider than needed" not in text


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
    assert "golden/x1.yaml:8  " in result.stdout.str() and "add 'why:'" in result.stdout.str()


def test_the_reason_of_a_whole_file_excuses_no_single_tolerance(tiny, red):
    tiny.edit("golden/x1.yaml", "claims:", "why: they round everything\nclaims:")
    tiny.edit("golden/x1.yaml", "expect: 102.4 GB/s}", "expect: 102.4 GB/s ± 2 %}")
    assert red(tiny.run("golden/x1.yaml")) == {"readable"}


# ---- counting


def test_a_run_counts_loose_and_stale_tolerances():
    assert loose_summary(2, 1) == "2 claims have tolerances wider than the digits justify, 1 of them wider than needed"
    assert loose_summary(0, 0) is None


@pytest.mark.slow
def test_no_shipped_golden_is_stale():
    from pathlib import Path  # noqa: PLC0415

    from pytest_rooflint.suite.judge import judge  # noqa: PLC0415
    from pytest_rooflint.suite.suite import Suite  # noqa: PLC0415

    suite = Suite.of([Path(__file__).parents[3] / "golden"], [])
    stated = [claim for claim in suite.claims() if claim.expectation and claim.expectation.tolerance == "stated"]
    assert stated
    assert [str(claim.file) for claim in stated if judge(claim, "", suite).stale] == []


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("312000 GFLOP/s", 0.5 / 312),
        ("660 TOP/s", 0.5 / 66),
        ("989 TFLOP/s", 0.0),
        ("200 GB/s", 0.0),  # of two steps, in which all agrees
        ("312000.0 GFLOP/s", 0.0),
        ("6912", 0.0),
        ("1600 GB/s / 2", 0.0),
    ],
)
def test_zeros_at_the_end_of_a_whole_number_may_be_rounded(text, share):
    assert parse_expectation(text).rounding == share
