"""The search for the best size: it ends on the plateau, wherever that is, and a slow moment does not hide it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_measure.stopwatches.products import search

SIZES = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


def hill(top: float, width: float):
    """Rates that rise to a plateau around a size, and fall slowly beyond it, alike in all three sides."""

    def rate(shape):
        m, n, k = shape
        far = [abs(side - top) / (width * max(side, top)) for side in (m, n, k)]
        return 1e12 / (1 + sum(far))

    return rate


@given(top=st.sampled_from(SIZES), width=st.floats(1, 30))
def test_the_best_of_all_shapes_is_found_within_two_per_cent(top, width):
    rate = hill(top, width)
    slow_twin = max(rate(shape) for shape in itertools.product(SIZES, repeat=3))
    assert rate(search(rate, 256, 4096).best) >= 0.98 * slow_twin


def test_a_shape_that_is_not_square_is_found():
    # fastest where m is twice as long as n and k
    def rate(shape):
        m, n, k = shape
        return 1e12 / (1 + abs(m / n - 2) + abs(n / k - 1) + abs(n - 1024) / 4096)

    assert search(rate, 256, 4096).best == (2048, 1024, 1024)


def test_all_sides_are_multiples_of_the_tile_and_none_is_larger_than_the_last():
    found = search(hill(1000, 2), 256, 2048, multiple=128)
    assert all(side % 128 == 0 and side <= 2048 for shape in found.seen for side in shape)


def test_what_does_not_fit_is_no_candidate():
    # everything above 512 is out of memory
    found = search(lambda shape: None if max(shape) > 512 else float(shape[0]), 256, 4096)
    assert max(found.best) <= 512
    assert all(max(shape) <= 512 for shape in found.fastest(100))


def test_where_nothing_runs_the_search_ends_with_nothing():
    found = search(lambda _: None, 256, 4096)
    assert found.fastest(3) == []


def test_a_slow_moment_at_the_best_size_is_looked_at_again():
    # the first look at 1024 falls into a slow moment: a tenth; the plateau is flat otherwise beyond it
    looks = {}

    def rate(shape):
        looks[shape] = looks.get(shape, 0) + 1
        slow = shape == (1024, 1024, 1024) and looks[shape] == 1
        return hill(1024, 3)(shape) * (0.8 if slow else 1.0)

    assert rate(search(rate, 256, 4096).best) == pytest.approx(1e12, rel=0.02)
