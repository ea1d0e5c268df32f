"""Two versions in blocks: the rule, its symmetries, and the obvious version of it beside the vectorised one."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rooflint_measure.compare.blocks import (
    BLOCKS,
    QUORUM,
    RESTLESS,
    THRESHOLD,
    Outcome,
    blocks,
    median_ratio,
    outcomes,
    reason,
    restless,
    settled,
    votes,
)

PAIRS = 4
TIMES = arrays(np.float64, (BLOCKS, PAIRS), elements=st.floats(0.9, 1.2))
MARKS = arrays(np.bool_, (BLOCKS, PAIRS))


def quiet(*ratios: float):
    """Blocks without noise, of which the head takes so many times as long."""
    head = np.repeat(np.array(ratios)[:, np.newaxis], PAIRS, axis=1)
    return blocks(np.ones_like(head), head)


def outcome(found) -> Outcome:
    return Outcome(int(outcomes(found)))


# ----------------------------------------------------------------------------------------------------------- the rule


def test_five_of_six_blocks_beyond_the_threshold_are_slower():
    assert outcome(quiet(1.03, 1.03, 1.03, 1.03, 1.03, 0.99)) is Outcome.SLOWER
    assert outcome(quiet(0.97, 0.97, 0.97, 0.97, 0.97, 1.01)) is Outcome.FASTER


def test_five_of_six_blocks_within_the_threshold_are_the_same():
    assert outcome(quiet(1.01, 0.99, 1.0, 1.0, 1.0, 1.5)) is Outcome.SAME


def test_four_of_six_blocks_are_not_enough():
    found = quiet(1.03, 1.03, 1.03, 1.03, 1.0, 0.9)
    assert outcome(found) is Outcome.SPLIT
    assert reason(found) == "noise: the blocks disagree, 4 slower, 1 faster, 1 within 2 %"


def test_the_ratio_is_that_of_least_times():
    # A takes 1 s once and 5 s otherwise, B 1.1 s once: 1.1, whatever the others are
    base, head = np.full((BLOCKS, PAIRS), 5.0), np.full((BLOCKS, PAIRS), 9.0)
    base[:, 1], head[:, 2] = 1.0, 1.1
    assert median_ratio(blocks(base, head)) == pytest.approx(1.1, rel=1e-12)


def test_a_version_that_differs_from_itself_leaves_it_undecided():
    # B takes 1.1 s and 1.5 s in turn. Its halves differ by ln(1.5/1.1) = 0.31, half the effect is 0.05: six of twelve
    base, head = np.ones((BLOCKS, PAIRS)), np.tile([1.1, 1.5], (BLOCKS, PAIRS // 2))
    found = blocks(base, head)
    assert restless(found) == 6 >= RESTLESS
    assert outcome(found) is Outcome.NOISY
    assert reason(found).startswith("noise: a version differs from itself in 6 of 12 cases")


def test_a_difference_much_larger_than_noise_is_seen_through_it():
    # the same noise, and B three times as slow: half the effect is 0.6
    base, head = np.ones((BLOCKS, PAIRS)), np.tile([3.3, 4.5], (BLOCKS, PAIRS // 2))
    assert outcome(blocks(base, head)) is Outcome.SLOWER


def test_a_least_time_that_was_disturbed_in_two_blocks_leaves_it_undecided():
    times, marks = np.ones((BLOCKS, PAIRS)), np.zeros((BLOCKS, PAIRS), dtype=bool)
    times[:, 2], marks[0, 2] = 0.99, True
    assert outcome(blocks(times, times, marks)) is Outcome.SAME  # one block may disagree
    marks[3, 2] = True
    found = blocks(times, times, marks)
    assert outcome(found) is Outcome.DISTURBED
    assert reason(found) == "disturbed: in 2 of 6 blocks others had a part of the time, or the clock was held back"


def test_a_disturbed_sample_that_another_one_beats_says_nothing():
    times, marks = np.ones((BLOCKS, PAIRS)), np.ones((BLOCKS, PAIRS), dtype=bool)
    times[:, 2], marks[:, 2] = 0.99, False
    assert outcome(blocks(times, times, marks, marks)) is Outcome.SAME


def test_the_reason_counts_the_blocks_that_agree():
    assert reason(quiet(*[1.05] * 5, 1.0)) == "5 of 6 blocks are slower by more than 2 %"
    assert reason(quiet(*[1.0] * 6)) == "6 of 6 blocks are within 2 %"


def test_only_what_was_undecided_is_measured_again():
    first = np.array([Outcome.SLOWER, Outcome.SPLIT, Outcome.NOISY, Outcome.SAME])
    second = np.array([Outcome.SAME, Outcome.SAME, Outcome.DISTURBED, Outcome.FASTER])
    assert settled(first, second).tolist() == [Outcome.SLOWER, Outcome.SAME, Outcome.DISTURBED, Outcome.SAME]


@pytest.mark.parametrize(("base", "head"), [((6, 4), (6, 2)), ((6, 3), (6, 3)), ((6,), (6,)), ((6, 0), (6, 0))])
def test_times_that_are_no_pairs_are_refused(base, head):
    with pytest.raises(ValueError, match="want as many times of the base as of the head, an even number"):
        blocks(np.ones(base), np.ones(head))


def test_a_verdict_needs_six_blocks():
    with pytest.raises(ValueError, match="want 6 blocks, found 5"):
        outcomes(quiet(*[1.0] * 5))


# --------------------------------------------------------------------------------------------------------------- laws


@given(TIMES, TIMES, MARKS, MARKS, st.integers(-20, 20))
def test_scaling_both_sides_changes_nothing(base, head, base_marks, head_marks, power):
    # powers of two: exact, so that nothing crosses the threshold by rounding
    scale = 2.0**power
    one = blocks(base, head, base_marks, head_marks)
    other = blocks(scale * base, scale * head, base_marks, head_marks)
    assert outcome(one) is outcome(other)
    assert median_ratio(one) == pytest.approx(float(median_ratio(other)), rel=1e-12)


@given(TIMES, TIMES, MARKS, MARKS)
def test_swapping_the_sides_inverts_the_ratio_and_the_verdict(base, head, base_marks, head_marks):
    one, other = blocks(base, head, base_marks, head_marks), blocks(head, base, head_marks, base_marks)
    assert median_ratio(one) * median_ratio(other) == pytest.approx(1, rel=1e-12)
    inverse = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
    assert outcome(other) is inverse.get(outcome(one), outcome(one))
    assert outcome(one.swapped) is outcome(other)


@given(TIMES, TIMES, st.permutations(range(BLOCKS)))
def test_the_order_of_blocks_does_not_matter(base, head, order):
    found = blocks(base, head)
    assert outcome(found[order]) is outcome(found)


@given(TIMES)
def test_a_version_beside_its_own_times_is_the_same(times):
    assert outcome(blocks(times, times)) is Outcome.SAME


@given(TIMES, TIMES)
def test_where_enough_blocks_agree_their_median_agrees(base, head):
    found = blocks(base, head)
    if (votes(found) > 0).sum() >= QUORUM:
        assert median_ratio(found) > 1 + THRESHOLD


@given(TIMES, TIMES, st.floats(1, 3))
def test_a_slower_head_never_gets_fewer_votes(base, head, factor):
    found = blocks(base, head)
    assert np.all(votes(found.slowed(factor)) >= votes(found))


# ---------------------------------------------------------------------------------------------------------- slow twin


def obvious(base, head, base_marks, head_marks) -> Outcome:
    """The rule as one would say it, one block after the other."""
    edge = math.log(1 + THRESHOLD)
    ratios, own, disturbed = [], [], 0
    for a, b, a_marks, b_marks in zip(base, head, base_marks, head_marks, strict=True):
        ratios.append(math.log(min(b)) - math.log(min(a)))
        own += [math.log(min(side[1::2])) - math.log(min(side[0::2])) for side in (a, b)]
        disturbed += a_marks[list(a).index(min(a))] or b_marks[list(b).index(min(b))]
    if disturbed > 1:
        return Outcome.DISTURBED
    if sum(-edge <= ratio <= edge for ratio in ratios) >= 5:
        return Outcome.SAME
    if sum(abs(one) > max(edge, abs(statistics.median(ratios)) / 2) for one in own) >= 5:
        return Outcome.NOISY
    if sum(ratio > edge for ratio in ratios) >= 5:
        return Outcome.SLOWER
    if sum(ratio < -edge for ratio in ratios) >= 5:
        return Outcome.FASTER
    return Outcome.SPLIT


@given(
    arrays(np.float64, (2, BLOCKS, PAIRS), elements=st.sampled_from([1.0, 1.01, 1.03, 1.06, 1.5])),
    arrays(np.bool_, (2, BLOCKS, PAIRS)),
)
def test_the_vectorised_rule_is_the_obvious_one(times, marks):
    assert outcome(blocks(*times, *marks)) is obvious(*times, *marks)


def test_many_comparisons_at_once_are_each_as_alone():
    times = np.random.default_rng(0).lognormal(0, 0.02, (2, 200, BLOCKS, PAIRS))
    together = outcomes(blocks(*times))
    assert together.tolist() == [int(outcomes(blocks(*times[:, number]))) for number in range(200)]
    assert len(set(together.tolist())) > 2
