"""Coefficients: products and sums keep the order of their ends, and remember what they rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError, of_fact, of_range
from rooflint.hardware.registry import Registry


def near(value):
    """Energies of single events are far below the absolute tolerance that approx has by default."""
    return pytest.approx(value, rel=1e-9, abs=0)


SHIPPED = Coefficients(Registry())
ADD = SHIPPED.process("7nm").energy("add", "fp16")
MULTIPLY = SHIPPED.process("7nm").energy("multiply", "fp16")


@st.composite
def coefficients(draw):
    ends = sorted(draw(st.lists(st.floats(0, 1e3), min_size=3, max_size=3)))
    one = draw(st.sampled_from((ADD, MULTIPLY)))
    return Coefficient(*ends, "any", one.best.facts)


def ordered(one):
    return one.low <= one.typical <= one.high


def test_a_range_is_carried_with_its_ends_and_with_the_facts_of_its_typical_value():
    # HBM3E: 3.44 pJ/bit by its maker, 2.5 to 3.0 by an estimate
    found = of_range(SHIPPED.memory("hbm3e").energy("device"))
    per_bit = [end / 8e-12 for end in (found.low, found.typical, found.high)]
    assert per_bit == near([2.5, 3.44, 3.44])
    assert [fact.source.grade for fact in found.facts] == ["quoted"]
    assert found.basis == "hbm3e device"


def test_one_fact_has_no_range():
    (fact,) = ADD.best.facts
    found = of_fact(fact, "an add")
    assert found.low == found.typical == found.high == near(0.16e-12)
    assert found.facts == (fact,)


def test_a_sum_is_end_by_end():
    # 0.34 + 0.16 = 0.5 pJ
    whole = of_range(MULTIPLY).plus(of_range(ADD))
    assert whole.typical == near(0.5e-12)
    assert whole.basis == "7nm multiply fp16 + 7nm add fp16"
    assert len(whole.facts) == 2
    assert Coefficient(1, 2, 4, "one").plus(Coefficient(0, 3, 7, "other")) == Coefficient(1, 5, 11, "one + other")


def test_a_product_is_end_by_end_and_a_number_has_one_end():
    one = Coefficient(1.0, 2.0, 4.0, "one")
    assert one.times(0.5) == Coefficient(0.5, 1.0, 2.0, "one")
    assert one.times(Coefficient(0.5, 1.0, 3.0, "other")) == Coefficient(0.5, 2.0, 12.0, "one × other")


def test_it_is_as_good_as_the_weakest_that_it_rests_on():
    quoted, estimate = SHIPPED.memory("hbm2").energy("device"), SHIPPED.memory("hbm3").energy("device")
    assert of_range(quoted).grade == "quoted"
    assert of_range(estimate).grade == "estimate"
    assert of_range(quoted).plus(of_range(estimate)).grade == "estimate"
    assert of_range(quoted).times(of_range(estimate)).grade == "estimate"


@given(coefficients(), coefficients())
def test_sums_and_products_keep_the_order_of_their_ends(one, other):
    assert ordered(one.plus(other))
    assert ordered(one.times(other))


@given(coefficients(), coefficients())
def test_a_fact_is_named_once_however_often_it_is_used(one, other):
    facts = one.plus(other).times(one).facts
    assert len(facts) == len(set(facts))
    assert set(facts) == set(one.facts) | set(other.facts)


PJ_PER_BIT = 8e-12
"""[J/B]"""


@pytest.fixture
def hbm(energies):
    return energies.read().memory("hbm9").energy


def test_the_ends_are_those_of_any_document_and_the_value_that_of_the_best_grade(hbm):
    # an estimate of 3 to 5, listed first, and a quoted 4
    device = hbm("device")
    assert (device.low, device.typical, device.high) == pytest.approx((3 * PJ_PER_BIT, 4 * PJ_PER_BIT, 5 * PJ_PER_BIT))
    assert [fact.source.grade for fact in device.best.facts] == ["quoted"]


def test_a_range_without_a_typical_value_stands_for_its_middle(hbm):
    # (4 + 7) / 2
    assert hbm("unstated").typical == pytest.approx(5.5 * PJ_PER_BIT)


def test_of_two_equal_grades_the_first_counts(energies):
    energies.edit("memory/hbm9", "3 pJ/bit, b,", "3 pJ/bit, a,")
    energies.edit("memory/hbm9", "5 pJ/bit, b,", "5 pJ/bit, a,")
    assert energies.read().memory("hbm9").energy("device").best.name == "guess"


def test_one_document_can_be_asked_alone(hbm):
    assert hbm("device").only("guess").high == pytest.approx(5 * PJ_PER_BIT)
    with pytest.raises(UnknownCoefficientError, match=r"hbm9 device has no reading 'pper' \(has: guess, paper\)"):
        hbm("device").only("pper")
