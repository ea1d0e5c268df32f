"""What a comparison is worth: drawn from blocks, bounded by binomials, and held against recorded blocks of machines."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint_measure.compare.blocks import (
    BLOCKS,
    DETECTION,
    FALSE_POSITIVES,
    QUORUM,
    Blocks,
    Calibration,
    Outcome,
    agreeing,
    at_least,
    blocks,
    calibrate,
    outcomes,
    smallest,
    upper_bound,
    votes,
)

RECORDED = json.loads((Path(__file__).parent / "equal_versions.json").read_text(encoding="utf-8"))["calls"]
"""By `benchmarks/versions.py` on a loaded machine of two cores: calls beside themselves, least times of blocks."""

QUIET = ("hash of 16 KiB", "sort of 20 000 numbers")
"""They leave memory alone, which here is shared with others and no version's to have."""


def noisy(sigma: float, count: int = 120, pairs: int = 8, seed: int = 3) -> Blocks:
    return blocks(*np.random.default_rng(seed).lognormal(0, sigma, (2, count, pairs)))


# ------------------------------------------------------------------------------------------------------- calibration


@pytest.mark.slow
def test_a_quiet_machine_raises_no_alarm_and_finds_five_per_cent():
    found = calibrate(noisy(0.005))
    assert found.holds
    assert found.false_positives.share == 0
    assert found.detections.share == 1
    # θ is 2 %, and where 2.5 % is the case some block of six is below it; 3 % is the next that is tried
    assert found.smallest_detected == pytest.approx(0.03)


@pytest.mark.slow
def test_a_loud_machine_says_that_it_finds_nothing():
    found = calibrate(noisy(0.3))
    assert not found.holds
    assert found.false_positives.share <= FALSE_POSITIVES
    assert found.undecided > 0.9
    assert found.smallest_detected is None


@pytest.mark.slow
@pytest.mark.parametrize("cpu_noise", [0.005, 0.02, 0.1, 1.0])
def test_cpu_times_decide_more_and_raise_no_alarm_beyond_the_aim_however_noisy_they_are(cpu_noise):
    wall, cpu = noisy(0.3), noisy(cpu_noise, seed=4)
    alone, both = calibrate(wall), calibrate(wall, beside=[cpu])
    assert both.false_positives.share <= FALSE_POSITIVES
    assert both.undecided <= alone.undecided
    if cpu_noise <= 0.005:
        assert (alone.undecided > 0.9, both.undecided < 0.01, both.detections.share > DETECTION) == (True, True, True)


@pytest.mark.slow
def test_what_is_counted_beside_the_time_decides_in_its_order():
    loud, quiet = noisy(1.0, seed=4), noisy(0.001, seed=5)
    alone, both = calibrate(noisy(0.3), beside=[loud]), calibrate(noisy(0.3), beside=[loud, quiet])
    assert (alone.undecided > 0.9, both.undecided < 0.01) == (True, True)
    assert both.false_positives.share <= FALSE_POSITIVES


def test_the_same_seed_gives_the_same_figures():
    assert calibrate(noisy(0.02), draws=500) == calibrate(noisy(0.02), draws=500)


@pytest.mark.slow
def test_a_bound_is_never_better_than_what_was_drawn():
    for sigma in (0.005, 0.01, 0.02, 0.03, 0.1):
        found = calibrate(noisy(sigma), draws=4000)
        assert found.detections.bound <= found.detections.share
        assert found.false_positives.bound >= found.false_positives.share


def test_fewer_blocks_than_a_comparison_needs_are_refused():
    with pytest.raises(ValueError, match="want at least 6 blocks of one version, found 5"):
        calibrate(noisy(0.01, count=5))


def test_blocks_in_a_row_are_counted_as_they_were_taken():
    # 14 blocks: two comparisons, two blocks left over. The second is 10 % slower in all of its blocks: an alarm
    base, head = np.ones((14, 4)), np.ones((14, 4))
    head[6:12] = 1.1
    taken = calibrate(blocks(base, head), draws=10).in_order
    assert (taken.comparisons, taken.false_positives, taken.undecided, taken.detections) == (2, 1, 0, 2)


@pytest.mark.slow
def test_drawing_again_agrees_with_the_binomial_where_halves_agree():
    # votes of quiet blocks, half of them slower: 1/64 in one measurement, where 5 of 6 are within θ in 7/64. After an
    # undecided one, 10 of 12 need 4 of the first 6 and 6 of the others, or 5 and 5 or 6: (15 + 6 × 7) / 64²
    base, head = np.ones((100, 4)), np.ones((100, 4))
    head[:50] = 1.03
    found = calibrate(blocks(base, head), draws=100_000)
    after_two = 1 / 64 + (15 + 6 * 7) / 64**2
    assert after_two < found.false_positives.share < agreeing(0.5)


def test_the_smallest_slowdown_is_the_one_from_which_on_all_are_found():
    assert smallest(lambda effect: 1.0 if effect >= 0.03 else 0.5) == pytest.approx(0.03)
    assert smallest(lambda effect: 0.5) is None
    # a hole above: not from 3 % on
    assert smallest(lambda effect: 0.9 if 0.049 < effect < 0.051 else float(effect >= 0.03)) == pytest.approx(0.055)


# ---------------------------------------------------------------------------------------------------------- binomial


def test_all_of_six_ten_of_twelve_or_fifteen_of_eighteen_agree_by_hand():
    # ½⁶ + (66 + 12 + 1) ½¹² + (816 + 153 + 18 + 1) ½¹⁸
    assert agreeing(0.5) == pytest.approx(1 / 64 + 79 / 2**12 + 988 / 2**18, rel=1e-12)


@given(st.integers(1, 60), st.data())
def test_the_tail_is_the_sum_of_its_terms(of, data):
    wanted, share = data.draw(st.integers(0, of)), data.draw(st.floats(0, 1))
    slow = sum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(wanted, of + 1))
    assert at_least(wanted, of, share) == pytest.approx(slow, rel=1e-9, abs=1e-12)


@given(st.integers(1, 500), st.data())
def test_under_the_bound_such_a_count_is_just_likely_enough(of, data):
    count = data.draw(st.integers(0, of - 1))
    bound = upper_bound(count, of)
    assert count / of < bound < 1
    assert 1 - at_least(count + 1, of, bound) == pytest.approx(0.05, rel=1e-6)


def test_nothing_in_n_leaves_three_in_n_possible():
    # (1 - p)^n = 0.05, so p = 1 - 0.05^(1/n), about 3/n
    assert upper_bound(0, 600) == pytest.approx(1 - 0.05 ** (1 / 600), rel=1e-9)
    assert upper_bound(0, 600) < 0.005
    assert upper_bound(5, 5) == 1
    assert upper_bound(0, 0) == 1


# ---------------------------------------------------------------------------------------------------------- recorded


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_on_recorded_blocks_equal_versions_are_rarely_called_different(name):
    found = calibrated(name)
    assert found.false_positives.share <= FALSE_POSITIVES
    assert found.in_order.false_positives / found.in_order.comparisons <= FALSE_POSITIVES


@pytest.mark.slow
@pytest.mark.parametrize("name", QUIET)
def test_on_recorded_blocks_of_calls_that_leave_memory_alone_five_per_cent_is_found(name):
    found = calibrated(name)
    assert found.detections.share >= DETECTION
    assert found.detections.bound >= DETECTION
    assert found.missed == 0


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_blocks_in_the_order_in_which_they_came_are_no_worse(name):
    # what drawing at random would hide: blocks next to one another may be alike
    found = recorded(name)
    windows = np.arange(len(found) - BLOCKS + 1)[:, np.newaxis] + np.arange(BLOCKS)
    wrong = np.isin(outcomes(found[windows]), [Outcome.SLOWER, Outcome.FASTER])
    assert wrong.mean() <= FALSE_POSITIVES


@pytest.mark.slow
def test_on_recorded_blocks_of_shared_memory_five_of_six_alone_would_raise_alarms():
    found = recorded("scale of 32 MB")
    cast = votes(found[np.random.default_rng(0).integers(0, len(found), (20_000, BLOCKS))])
    agree = np.maximum((cast > 0).sum(axis=-1), (cast < 0).sum(axis=-1)) >= QUORUM
    assert agree.mean() > 0.02  # in one measurement
    assert calibrated("scale of 32 MB").undecided > 0.9


@cache
def calibrated(name: str) -> Calibration:
    return calibrate(recorded(name))


def recorded(name: str) -> Blocks:
    sides = [np.array(RECORDED[name][side]) / 1e9 for side in ("base_ns", "head_ns")]
    return Blocks(*sides, np.zeros(sides[0].shape[-1], dtype=bool))


def test_the_bound_on_alarms_has_both_ways_to_be_wrong_in_each_of_three_measurements():
    # 60 blocks that never vote: upper bound u with 97.5 %, for slower and for faster
    u = 1 - 0.025 ** (1 / 60)
    bound = calibrate(blocks(np.ones((60, 4)), np.ones((60, 4))), draws=10).false_positives.bound
    assert bound == pytest.approx(2 * sum(at_least(wanted, of, u) for wanted, of in ((6, 6), (10, 12), (15, 18))))
