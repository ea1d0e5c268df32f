"""Causes: ratios within a tolerance, how they are written, and conventions whose factor is known beforehand."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.facts import Factor, Ladder
from rooflint.diagnosis.causes import PREFIX, Case, Cause, Span, conventions, counted_twice, ratio_text


def told(causes):
    """Each cause as its rank, its factor, whether the fact of the rate carries it, and what is said."""
    return [(cause.cost, cause.factor_text, cause.carried, cause.text) for cause in causes]


# ---- ratios


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        *((1.0, "1"), (2.0, "2"), (1000.0, "1000"), (0.125, "1/8"), (0.75, "3/4"), (1 / 3, "1/3"), (2 / 3, "2/3")),
        *((1.98 / 1.83, "1.082"), (0.931322574615, "0.9313"), (1 / 132, "0.007576"), (1.5, "3/2"), (0.2, "1/5")),
        *((8192.0, "8192"), (0.0, "0.0"), (math.inf, "inf"), (math.nan, "nan"), (-2.0, "-2.0")),
    ],
)
def test_a_ratio_is_a_small_fraction_where_it_is_one(ratio, text):
    assert ratio_text(ratio) == text


def test_a_ratio_is_a_fraction_within_its_tolerance():
    # 85.229568 / 8 TOP/s against 85 ± 0.25: 0.12534, and 1/8 lies between 0.12497 and 0.12571
    allowed = Span(10.653696 / 85.25, 10.653696 / 84.75)
    assert ratio_text(allowed.middle, allowed) == "1/8"
    assert ratio_text(allowed.middle) == "0.1253"


@given(st.integers(1, 8), st.integers(1, 8))
def test_n_over_d_is_written_so(above, below):
    assert ratio_text(above / below) == str(Fraction(above, below))


@given(st.integers(1, 4096), st.integers(0, 8))
def test_multiples_and_power_of_two_shares_are_written_so(multiple, power):
    assert ratio_text(float(multiple)) == str(multiple)
    assert ratio_text(1 / 2**power) == str(Fraction(1, 2**power))


@given(st.floats(1e-6, 1e6))
def test_a_ratio_is_read_back_within_four_digits(ratio):
    assert float(Fraction(ratio_text(ratio))) == pytest.approx(ratio, rel=5.1e-4)


@given(st.floats(1e-3, 1e3), st.floats(1, 1.2), st.floats(1e-3, 1e3))
def test_what_is_left_of_a_ratio_once_a_factor_is_taken_out(low, width, factor):
    whole = Span(low, low * width)
    rest = whole.without(factor)
    assert rest.middle * factor == pytest.approx(whole.middle)
    assert rest.holds(whole.middle / factor)
    assert whole.holds(low)
    assert whole.holds(low * width)
    assert not whole.holds(low * 0.999)
    assert not whole.holds(low * width * 1.001)


def test_a_span_holds_its_ends_but_for_rounding():
    edge = Span(0.5, 2.0)
    assert [edge.holds(factor) for factor in (0.5 - 1e-8, 0.5 - 1e-10, 1.0, 2.0 + 1e-9, 2.0 + 1e-8)] == [
        False, True, True, True, False,
    ]  # fmt: skip
    assert (edge.inverted().low, edge.inverted().high) == (0.5, 2.0)
    assert (Span(2.0, 4.0).inverted().low, Span(2.0, 4.0).inverted().high) == (0.25, 0.5)
    assert Span(2.0, 8.0).middle == 4.0


@pytest.mark.parametrize(
    ("low", "high", "factor"),
    [
        (0.124, 0.126, 1 / 8),
        (1.9, 2.1, 2),
        (0.66, 0.67, 2 / 3),
        (990, 1010, 1000),
        (0.00099, 0.00101, 1 / 1000),
        (11.9, 12.1, 12),
        (4095, 4097, 4096),
        (4097.5, 4098.5, math.sqrt(4097.5 * 4098.5)),  # too large to be a multiple that anybody recognises
        (1.0810, 1.0830, math.sqrt(1.0810 * 1.0830)),
        (1 / 9.01, 1 / 8.99, 1 / math.sqrt(9.01 * 8.99)),  # of the shares beyond 1/8 only powers of two are known
        (1 / 256.5, 1 / 255.5, 1 / 256),
        (9 / 8 - 1e-3, 9 / 8 + 1e-3, math.sqrt((9 / 8) ** 2 - 1e-6)),  # 9 is above 8
        (7 / 8 - 1e-3, 7 / 8 + 1e-3, 7 / 8),
    ],
)
def test_the_factor_of_a_span_is_the_small_fraction_in_it(low, high, factor):
    assert Span(low, high).factor == pytest.approx(factor, rel=1e-12)


def test_the_factor_of_a_product_shows_its_parts():
    eighth, half = Cause("one", 1 / 8, 1.0), Cause("two", 1 / 2, 1.0)
    assert eighth.factor_text == "1/8"
    assert Cause("both", 1 / 16, 2.0, parts=(eighth, half)).factor_text == "1/16 = 1/8 × 1/2"
    assert eighth.repair is None


# ---- conventions

TERA = "tera is taken as 2⁴⁰ by one side"
IN_RATE = "sparse for dense: structured sparsity is in the rate already"
SPARSE = "the expectation is a figure with structured sparsity, the peak is dense"


def test_a_peak_invites_conventions_of_ops_sparsity_and_prefixes(family):
    assert told(conventions(family.peak(family.big))) == [
        (1.0, "1/2", True, "a MAC is counted as one op"),
        (1.2, "2", True, "the rate is in op already, and counted × 2 again as if it were MAC"),
        (1.1, "1/2", False, SPARSE),
        (0.9, "2", True, IN_RATE),
        (2.5, "0.9095", False, TERA),  # 10¹² / 2⁴⁰
        (2.5, "1.1", False, TERA),
        (2.0, "1000", False, PREFIX),
        (2.0, "1/1000", False, PREFIX),
    ]


def test_a_sparse_peak_invites_a_dense_expectation(family):
    found = [cause for cause in conventions(family.peak(family.big, sparse=True)) if "spars" in cause.text]
    dense = "the expectation is a dense figure taken for a sparse one"
    assert told(found) == [(1.1, "2", False, dense), (0.9, "2", True, IN_RATE)]


def test_without_a_device_its_sparsity_is_not_known(family):
    case = family.peak(family.big)
    for blind in (
        Case(case.ladder, case.span, family.big),
        Case(case.ladder, case.span, unit="tensor_core", precision="int8"),
        Case(case.ladder, case.span, family.big, unit="dla", precision="int8"),
        Case(case.ladder, case.span, family.big, unit="cuda_core", precision="fp32"),
    ):
        assert not any("spars" in cause.text for cause in conventions(blind))
        assert len(conventions(blind)) == 6


def of_bytes(binary, decimal, why, factor, inverse):
    return [
        (1.0, factor, False, f"the expectation counts in {binary}, the figure is in {decimal} ({why})"),
        (1.0, inverse, False, f"the expectation counts in {decimal}, the figure is in {binary} (1 / ({why}))"),
        (1.0, "8", False, "bits are taken for bytes"),
        (1.0, "1/8", False, "bytes are taken for bits"),
        (2.0, "1000", False, PREFIX),
        (2.0, "1/1000", False, PREFIX),
    ]


def test_a_bandwidth_invites_conventions_of_bytes_and_of_double_data_rate(family):
    assert told(conventions(family.bandwidth(family.big))) == [
        *of_bytes("GiB", "GB", "10^9 / 2^30", "0.9313", "1.074"),
        (1.3, "1/2", True, "the memory clock is used as the data rate: double data rate is missing"),
        (1.3, "2", True, "double data rate is applied twice"),
    ]


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (1.0, of_bytes("KiB", "kB", "10^3 / 2^10", "0.9766", "1.024")),
        (999e3, of_bytes("KiB", "kB", "10^3 / 2^10", "0.9766", "1.024")),
        (40e6, of_bytes("MiB", "MB", "10^6 / 2^20", "0.9537", "1.049")),
        (80e9, of_bytes("GiB", "GB", "10^9 / 2^30", "0.9313", "1.074")),
        (8e12, of_bytes("TiB", "TB", "10^12 / 2^40", "0.9095", "1.1")),
        (8e15, of_bytes("TiB", "TB", "10^12 / 2^40", "0.9095", "1.1")),
    ],
)
def test_a_capacity_invites_the_prefix_of_its_own_size(size, wanted):
    ladder = Ladder((Factor("capacity", size, "text"),))
    assert told(conventions(Case(ladder, Span(1.0, 1.0)))) == wanted


def test_other_figures_invite_no_convention():
    assert conventions(Case(Ladder((Factor("groups", 16, "16 SM"),)), Span(1.0, 1.0))) == []


def test_a_number_of_groups_may_be_multiplied_in_twice_unless_it_is_one():
    assert told(counted_twice(Factor("groups", 16, "16 SM"))) == [
        (1.4, "16", True, "16 SM are multiplied in twice: the rate holds them already")
    ]
    assert list(counted_twice(Factor("groups", 1, "1 SM"))) == []
