"""Density: no row is lost on the way into a bin, and a bin is where its rows are."""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rooflint_calibration import evaluation

seconds = st.floats(1e-7, 10)
rows = st.lists(st.tuples(seconds, seconds), min_size=1, max_size=50)


def test_a_score_is_the_mean_error_and_the_geometric_mean_of_predicted_over_measured():
    # twice and half as long: errors of 100 % and 50 %, and no bias
    found = evaluation.score(np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    assert (found.rows, found.mape) == (2, 0.75)
    assert abs(found.bias) < 1e-12
    assert str(evaluation.Score(7, 0.1011, 0.0042)) == "10.1 % (+0.4)"


def cells(columns):
    return {(one.x, one.y + number): count for one in columns for number, count in enumerate(one.counts) if count}


@given(rows)
def test_bins_sum_to_the_rows(pairs):
    measured_s, predicted_s = np.array(pairs).T
    for found in (evaluation.time_density(measured_s, predicted_s), evaluation.ratio_density(measured_s, predicted_s)):
        assert sum(sum(one.counts) for one in found) == len(pairs)
        assert [one.x for one in found] == sorted({one.x for one in found})
        assert all(one.counts[0] and one.counts[-1] for one in found)


@given(rows)
def test_bins_are_those_of_each_row_by_itself(pairs):
    measured_s, predicted_s = np.array(pairs).T
    alone = Counter(
        (math.floor(np.log10(x) * evaluation.PER_DECADE), math.floor(np.log10(y) * evaluation.PER_DECADE))
        for x, y in pairs
    )
    assert cells(evaluation.time_density(measured_s, predicted_s)) == alone


def test_a_ratio_beyond_the_farthest_is_counted_at_the_edge():
    measured_s = np.full(4, 2e-5)
    found = cells(evaluation.ratio_density(measured_s, measured_s * [1 / 100, 1.01, 3.99, 100]))
    # log10(4) × 40 = 24.08: bins from −24 to 23; 2e-5 s lies in bin −47 of ten a decade
    assert found == {(-47, -24): 1, (-47, 0): 1, (-47, 23): 2}
