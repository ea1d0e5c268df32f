"""Spreads: the ends that any document gives, the value of the best one, and sums only of what shares no part."""

import pytest

from rooflint.spread import ScopeError, UnknownCoefficientError, together

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


def test_parts_add_up(hbm):
    # 1.5 + 2 + 0.5
    total = together([hbm("activation"), hbm("movement"), hbm("io")])
    assert total == pytest.approx((4 * PJ_PER_BIT,) * 3)


def test_scopes_that_share_a_part_are_not_added(hbm):
    with pytest.raises(ScopeError, match="hbm9 io and hbm9 device both include io; they cannot be added"):
        together([hbm("io"), hbm("device")])
    with pytest.raises(ScopeError, match="hbm9 io and hbm9 io both include io"):
        together([hbm("io"), hbm("io")])


def test_what_does_not_say_what_it_includes_is_added_to_nothing(hbm):
    with pytest.raises(ScopeError, match="hbm9 unstated does not say what it includes"):
        together([hbm("io"), hbm("unstated")])
