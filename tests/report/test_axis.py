"""Axes: rulers of octaves and whole decades."""

import math
from itertools import pairwise

import pytest

from rooflint_report.axis import RULER_WIDTH, decade_axis, pixel_axis, ruler_ticks, ruler_x


@pytest.mark.parametrize(("ratio", "side"), [(1, 0), (1 / 8, -1), (8, 1), (0, -1), (math.inf, 1)])
def test_a_ratio_lies_on_its_side_of_one(ratio, side):
    x = ruler_x(ratio)
    assert 0 <= x <= RULER_WIDTH
    assert (x > RULER_WIDTH / 2) - (x < RULER_WIDTH / 2) == side


def test_octaves_are_equally_long():
    ticks = ruler_ticks()
    assert len(ticks) == 13
    assert {19 <= b - a <= 20 for a, b in pairwise(ticks)} == {True}
    assert ruler_x(None) is None
    assert ruler_x(math.nan) is None


def test_the_axis_spans_whole_decades():
    # 5.3e12 … 1.979e15: from 10¹² to 10¹⁶; 10¹⁴ is half way
    axis = decade_axis([5.3e12, 1.979e15, None, 0.0, math.inf])
    assert (axis.low, axis.high) == (12, 16)
    assert axis.x(1e14) == axis.width / 2
    assert axis.x(None) is None
    assert axis.x(-1.0) is None


def test_an_axis_without_values_still_has_a_width():
    assert decade_axis([]).high > decade_axis([]).low
    assert decade_axis([1e12]).high > decade_axis([1e12]).low


def test_an_axis_may_run_upwards():
    axis = pixel_axis([10.0, 1000.0], 300, 0)
    assert axis.at(100.0) == 150
    assert axis.at(10.0) > axis.at(1000.0)
