"""Axes of charts, logarithmic and linear."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.log_axis import LinearAxis, LogAxis

POSITIVE = st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False)


def test_a_single_value_stands_in_the_middle_of_a_decade():
    axis = LogAxis.around([100.0])
    assert axis == LogAxis(1.5, 2.5)
    assert axis.share(100.0) == 0.5


def test_what_has_no_place_is_left_out():
    assert LogAxis.around([0.0, -1.0, math.inf, math.nan, 10.0]) == LogAxis.around([10.0])
    assert LogAxis.around([]) == LogAxis.around([1.0])


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (1.0, 40.0, 6, [1, 2, 5, 10, 20]),
        (1.0, 1000.0, 6, [1, 10, 100, 1000]),
        (1e-3, 1e6, 5, [1e-3, 1e-1, 1e1, 1e3, 1e5]),
    ],
)
def test_ticks_are_round_and_few(low, high, most, ticks):
    assert LogAxis.around([low, high]).ticks(most) == ticks


@given(st.lists(POSITIVE, max_size=5), st.integers(1, 8))
def test_values_and_ticks_lie_inside(values, most):
    axis = LogAxis.around(values)
    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert len(axis.ticks(most)) <= most
    assert all(0 <= axis.share(tick) <= 1 for tick in axis.ticks(most))


# ---- equal steps


def test_a_linear_axis_has_equal_steps_between_its_ends():
    # from 2 to 8 with 4 % of 6 on either side
    axis = LinearAxis.around([2.0, 8.0, 5.0])
    assert (axis.low, axis.high) == pytest.approx((1.76, 8.24))
    assert axis.share(5.0) == pytest.approx(0.5)
    assert axis.ticks(7) == [2, 3, 4, 5, 6, 7, 8]
    assert axis.ticks(4) == [2, 4, 6, 8]


def test_one_value_and_none_have_a_linear_axis_too():
    assert LinearAxis.around([5.0]).share(5.0) == 0.5
    assert LinearAxis.around([]) == LinearAxis(-0.04, 1.04)
    assert LinearAxis.around([-1.0, math.nan, 10.0]) == LinearAxis.around([10.0])


def test_a_linear_axis_begins_at_zero_where_a_value_does():
    # 0 to 10 with 4 % of spare at either end
    axis = LinearAxis.around([0.0, 10.0])
    assert (axis.low, axis.high) == (-0.4, 10.4)
    assert axis.ticks(6) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert [axis.holds(value) for value in (0.0, 1.0, -1.0, math.inf)] == [True, True, False, False]
    assert not LogAxis.around([1.0]).holds(0.0)


@given(st.lists(st.floats(1e-12, 1e15), max_size=5), st.integers(1, 8))
def test_values_and_ticks_lie_inside_a_linear_axis(values, most):
    axis = LinearAxis.around(values)
    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert len(axis.ticks(most)) <= most
    assert all(-1e-9 <= axis.share(tick) <= 1 + 1e-9 for tick in axis.ticks(most))
