"""The verdict on two versions, from blocks of known times and of simulated noise."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rooflint_measure.compare.blocks import (
    BLOCKS,
    DIFFERING,
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


def stacked(*comparisons: list[float]):
    """One measurement of each of several comparisons."""
    head = np.repeat(np.array(comparisons)[..., np.newaxis], PAIRS, axis=-1)
    return blocks(np.ones_like(head), head)


def outcome(found) -> Outcome:
    return Outcome(int(outcomes(found)))


# ----------------------------------------------------------------------------------------------------------- the rule


def test_all_of_six_blocks_beyond_the_threshold_are_slower():
    assert outcome(quiet(*[1.03] * 6)) is Outcome.SLOWER
    assert outcome(quiet(*[0.97] * 6)) is Outcome.FASTER
    assert outcome(quiet(*[1.03] * 5, 0.99)) is Outcome.SPLIT


@pytest.mark.parametrize(("of", "wanted"), [(12, 10), (18, 15)])
def test_of_several_measurements_together_five_of_six_are_enough(of, wanted):
    assert outcome(quiet(*[1.03] * wanted, *[1.0] * (of - wanted))) is Outcome.SLOWER
    assert outcome(quiet(*[1.03] * (wanted - 1), *[1.0] * (of - wanted + 1))) is Outcome.SPLIT
    assert outcome(quiet(*[1.0] * wanted, *[1.03] * (of - wanted))) is Outcome.SAME


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
    assert reason(found).startswith("noise: a version differs from itself in 6 of 12 halves")


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
    assert reason(found) == "disturbed: in 2 of 6 blocks other processes took time, or the clock was throttled"


def test_a_disturbed_sample_that_another_one_beats_says_nothing():
    times, marks = np.ones((BLOCKS, PAIRS)), np.ones((BLOCKS, PAIRS), dtype=bool)
    times[:, 2], marks[:, 2] = 0.99, False
    assert outcome(blocks(times, times, marks, marks)) is Outcome.SAME


def test_the_reason_counts_the_blocks_that_agree():
    assert reason(quiet(*[1.05] * 11, 1.0)) == "11 of 12 blocks are slower by more than 2 %"
    assert reason(quiet(*[1.0] * 6)) == "6 of 6 blocks are within 2 %"


def test_only_what_was_undecided_is_measured_again_and_together_with_what_there_is():
    # slower at once; same at once; 5 and 5 of 12; 4 and 4 of 12, and 6 more of 18 are 14
    slower, same, five, four = [1.03] * 6, [1.0] * 6, [1.03] * 5 + [1.0], [1.03] * 4 + [1.0] * 2
    several = [stacked(slower, same, five, four), stacked(same, slower, five, four), stacked(same, same, same, slower)]
    assert settled(several).tolist() == [Outcome.SLOWER, Outcome.SAME, Outcome.SLOWER, Outcome.SPLIT]


@pytest.mark.parametrize(("base", "head"), [((6, 4), (6, 2)), ((6, 3), (6, 3)), ((6,), (6,)), ((6, 0), (6, 0))])
def test_times_that_are_no_pairs_are_refused(base, head):
    with pytest.raises(ValueError, match="want as many times of the base as of the head, an even number"):
        blocks(np.ones(base), np.ones(head))


def test_a_verdict_needs_six_blocks():
    with pytest.raises(ValueError, match="want 6 blocks of each of up to 3 measurements, found 5"):
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
    if all(ratio > edge for ratio in ratios):
        return Outcome.SLOWER
    if all(ratio < -edge for ratio in ratios):
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


PAIRS = 32
MANY = 2_500
SLOTS = BLOCKS * 2 * PAIRS
"""Samples of a comparison, one after the other."""


def turns() -> np.ndarray:
    """Whose turn it is, 0 the base and 1 the head: A B B A …, every other block B A A B …"""
    block = np.tile([0, 1, 1, 0], PAIRS // 2)
    return np.concatenate([block if number % 2 == 0 else 1 - block for number in range(BLOCKS)])


def compared(slowness, *, slowdown: float = 0.0):
    """Blocks of comparisons (rows) on a slowness over time (columns)."""
    head = turns() == 1
    times = slowness * np.where(head, 1 + slowdown, 1.0)
    base_s, head_s = (times[:, side].reshape(-1, BLOCKS, PAIRS) for side in (~head, head))
    return blocks(base_s, head_s)


def rates(machine, slowdown: float = 0.0, seed: int = 1) -> dict[str, float]:
    """Shares of verdicts, with up to two more measurements where the first is undecided."""
    rng = np.random.default_rng(seed)
    found = settled([compared(machine(rng), slowdown=slowdown) for _ in DIFFERING])
    words = [Outcome(int(one)).verdict for one in found]
    return {word: words.count(word) / len(words) for word in ("faster", "slower", "same", "undecided")}


def alarms(machine) -> float:
    found = rates(machine)
    return found["slower"] + found["faster"]


# ----------------------------------------------------------------------------------------------------------- machines


def lognormal(sigma):
    return lambda rng: rng.lognormal(0, sigma, (MANY, SLOTS))


def one_sided(scale):
    """Noise that only adds, as interrupts do."""
    return lambda rng: 1 + rng.exponential(scale, (MANY, SLOTS))


def heavy(scale):
    """Most samples are hardly disturbed, some very much: no mean, no variance."""
    return lambda rng: 1 + scale * rng.pareto(1.2, (MANY, SLOTS))


def neighbour(steps: int, factor: float):
    """Somebody else's work comes and goes in steps, and takes part of the cache and of the cores."""

    def slowness(rng):
        changes = rng.random((MANY, SLOTS)) < steps / SLOTS
        busy = (np.cumsum(changes, axis=1) + rng.integers(0, 2, (MANY, 1))) % 2
        return (1 + (factor - 1) * busy) * rng.lognormal(0, 0.01, (MANY, SLOTS))

    return slowness


def drift(by: float):
    """A machine that warms up, slower and slower."""
    return lambda rng: np.linspace(1, 1 + by, SLOTS) * rng.lognormal(0, 0.01, (MANY, SLOTS))


def throttled(share: float, factor: float):
    """From some moment on, the clock is held back, and later it is not."""

    def slowness(rng):
        begin = rng.integers(0, SLOTS, (MANY, 1))
        held = (np.arange(SLOTS) >= begin) & (np.arange(SLOTS) < begin + share * SLOTS)
        return np.where(held, factor, 1.0) * rng.lognormal(0, 0.01, (MANY, SLOTS))

    return slowness


def preempted(share: float):
    """Another process takes the core for as long as a sample or longer."""
    return lambda rng: 1 + (rng.random((MANY, SLOTS)) < share) * rng.uniform(0.5, 4, (MANY, SLOTS))


QUIET_ENOUGH = {
    "lognormal, 1 %": lognormal(0.01),
    "lognormal, 2 %": lognormal(0.02),
    "one-sided, 10 %": one_sided(0.1),
    "heavy tail, 10 %": heavy(0.1),
    "neighbour, 6 steps of 30 %": neighbour(6, 1.3),
    "neighbour, 60 steps of 30 %": neighbour(60, 1.3),
    "drift of 10 %": drift(0.1),
    "throttled by 20 %": throttled(0.3, 1.2),
    "preempted, half of the time": preempted(0.5),
}

TOO_LOUD = {
    "lognormal, 3 %": lognormal(0.03),
    "lognormal, 5 %": lognormal(0.05),
    "lognormal, 10 %": lognormal(0.1),
    "lognormal, 30 %": lognormal(0.3),
    "lognormal, 100 %": lognormal(1.0),
    "one-sided, 100 %": one_sided(1.0),
    "heavy tail, 100 %": heavy(1.0),
    "preempted, 95 % of the time": preempted(0.95),
}


@pytest.mark.slow
@pytest.mark.parametrize("machine", QUIET_ENOUGH.values(), ids=QUIET_ENOUGH)
def test_five_per_cent_is_found_and_equal_versions_are_not_told_apart(machine):
    assert alarms(machine) <= 0.005
    found = rates(machine, slowdown=0.05)
    assert found["slower"] >= 0.95
    assert found["faster"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("machine", TOO_LOUD.values(), ids=TOO_LOUD)
def test_a_machine_that_is_too_loud_leaves_it_undecided_and_raises_no_alarm(machine):
    assert alarms(machine) <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("machine", TOO_LOUD.values(), ids=TOO_LOUD)
def test_a_slower_version_is_never_called_faster_beyond_the_rate_of_alarms(machine):
    assert rates(machine, slowdown=0.05)["faster"] <= 0.005


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.3])
def test_a_version_five_times_as_slow_is_found_through_noise(sigma):
    assert rates(lognormal(sigma), slowdown=4.0)["slower"] >= 0.95


def test_without_a_look_at_the_halves_noise_would_be_called_a_difference():
    # ratios far beyond θ on either side at random: five of six agree in 2 × (6 + 1)/2⁶ = 22 % of comparisons
    times = np.random.default_rng(1).lognormal(0, 5.0, (2, MANY, BLOCKS, PAIRS))
    ratios = np.log(times[1].min(axis=-1) / times[0].min(axis=-1))
    agree = np.maximum((ratios > 0.02).sum(axis=-1), (ratios < -0.02).sum(axis=-1)) >= 5
    assert agree.mean() == pytest.approx(14 / 64, abs=0.03)
    assert np.isin(outcomes(blocks(*times)), [Outcome.SLOWER, Outcome.FASTER]).mean() <= 0.005


def test_a_drift_favours_each_version_in_turn():
    # one step of the drift between two samples: A first in three blocks, B first in the others
    drifting = np.linspace(1, 2, SLOTS)[np.newaxis]
    head = turns() == 1
    base_s, head_s = (drifting[:, side].reshape(BLOCKS, PAIRS) for side in (~head, head))
    signs = np.sign(blocks(base_s, head_s).log_ratios)
    assert signs.tolist() == [1, -1, 1, -1, 1, -1]


def test_the_verdicts_of_undecided_outcomes_are_one_word():
    assert [one.verdict for one in Outcome] == ["faster", "same", "slower", "undecided", "undecided", "undecided"]
