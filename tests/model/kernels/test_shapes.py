"""What two things take together: no less than the longer, no more than both, and the same turned round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.kernels.shapes import alone, overlapped

TIMES = st.floats(1e-9, 1e3)
EXPONENTS = st.floats(1.0, 20.0)
ROUNDING = 1e-12


def test_three_and_four_take_five_where_the_exponent_is_two():
    assert overlapped(3.0, 4.0, 2.0) == pytest.approx(5.0)
    assert overlapped(3.0, 4.0, 1.0) == pytest.approx(7.0)


@given(TIMES, TIMES, EXPONENTS)
def test_both_take_no_less_than_the_longer_and_no_more_than_one_after_the_other(one, other, exponent):
    together = overlapped(one, other, exponent)
    assert max(one, other) * (1 - ROUNDING) <= together <= (one + other) * (1 + ROUNDING)
    assert together == overlapped(other, one, exponent)


@given(TIMES, st.floats(0.01, 100.0), st.floats(1.0, 4.0))
def test_what_one_takes_alone_is_found_again(one, ratio, exponent):
    other = np.array([one * ratio])
    together = overlapped(one, other, exponent)
    # what is small beside the other is lost in rounding
    assert alone(together, other, exponent) == pytest.approx([one], rel=1e-3 * max(1.0, ratio**exponent / 1e3))


def test_what_takes_no_longer_than_the_other_by_itself_takes_nothing():
    assert alone(np.array([3.0, 2.9]), np.array([3.0, 3.0]), 3.0).tolist() == [0.0, 0.0]


def test_nothing_takes_nothing():
    assert alone(np.zeros(1), np.zeros(1), 3.0).tolist() == [0.0]
