"""Steps in series of measurements: found where they are, told from a slower machine, and rarely where none is."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rooflint_measure.compare.steps import (
    AFTER,
    BEFORE,
    FOUND,
    LEAST_BEFORE,
    is_found,
    noise_of,
    rank_score,
    smallest_step,
    steps,
    trace,
)

RECORDED = json.loads((Path(__file__).parent / "equal_versions.json").read_text(encoding="utf-8"))["calls"]


def noise(name: str):
    """Recorded least times of one call, about their median."""
    found = np.log(np.min(RECORDED[name]["base_ns"], axis=0))
    return found - np.median(found)


def slow_score(values, after):
    """Mann and Whitney's U by counting pairs, less its mean, over its standard deviation."""
    old, new = values[:-after], values[-after:]
    pairs = sum(1.0 if one > other else 0.5 if one == other else 0.0 for one, other in product(new, old))
    m, n = len(new), len(old)
    return (pairs - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12)


def test_the_score_is_that_of_counting_pairs():
    random = np.random.default_rng(1)
    for after in AFTER:
        values = random.integers(0, 9, (5, 30)).astype(float)  # with ties
        assert rank_score(values, after) == pytest.approx([slow_score(one, after) for one in values.tolist()])


def test_four_values_above_sixty_score_by_hand():
    # all 240 pairs are above: 240 - 120 = 120 over √(4 × 60 × 65 / 12) = √1300 = 36.06: 3.33
    assert rank_score(np.arange(64.0), 4) == pytest.approx(120 / math.sqrt(1300))


def test_a_large_step_is_seen_with_the_fourth_commit_where_it_begins():
    series = [*np.exp(np.random.default_rng(2).normal(0, 0.02, 60)), *[3.0] * 6]
    (one,) = steps(series)
    assert (one.at, one.seen, one.of_machine) == (60, 63, False)
    assert one.factor == pytest.approx(3.0, rel=0.02)
    assert steps([1 / value for value in series])[0].factor == pytest.approx(1 / 3, rel=0.02)


def test_one_slow_commit_is_no_step():
    series = np.exp(np.random.default_rng(3).normal(0, 0.02, 66))
    series[60] = 40.0
    assert steps(series.tolist()) == []


def test_too_few_commits_have_no_step():
    assert steps([1.0] * LEAST_BEFORE + [9.0] * 3) == []
    assert steps([1.0 + number / 1000 for number in range(LEAST_BEFORE - 1)] + [9.0] * 6) == []
    assert steps([]) == []


def test_after_a_step_its_level_is_what_others_are_compared_with():
    random = np.random.default_rng(4)
    levels = [1.0] * 60 + [1.3] * 30 + [1.0] * 30
    found = steps((np.array(levels) * np.exp(random.normal(0, 0.01, 120))).tolist())
    assert [one.at for one in found] == [60, 90]
    assert [one.factor for one in found] == pytest.approx([1.3, 1 / 1.3], rel=0.02)


@pytest.mark.parametrize(
    ("program", "machine", "is_machine"),
    [(1.2, 1.0, False), (1.2, 1.2, True), (1.2, 1.05, False), (1.2, 1.15, True), (1.2, 0.9, False), (0.8, 0.8, True)],
)
def test_a_slower_machine_is_not_taken_for_a_slower_program(program, machine, is_machine):
    # the canary moves as the machine does: half of the step in logarithms is where it is the machine's
    random = np.random.default_rng(5)
    level = np.array([1.0] * 60 + [program] * 6)
    canary = np.array([1.0] * 60 + [machine] * 6)
    found = steps(
        (level * np.exp(random.normal(0, 0.01, 66))).tolist(), (canary * np.exp(random.normal(0, 0.005, 66))).tolist()
    )
    assert [one.of_machine for one in found] == [is_machine]


@pytest.mark.parametrize("seed", range(8))
def test_a_machine_that_is_slow_for_a_few_commits_hides_no_slower_program(seed):
    # noise of 1.2 %: 5 % are found within six commits, also 24 commits after a slow phase that is too short for a level
    random = np.random.default_rng(seed)
    machine = np.array([1.0] * 40 + [1.3] * 6 + [1.0] * 40)
    level = machine * np.array([1.0] * 70 + [1.06] * 16) * np.exp(random.normal(0, 0.012, 86))
    found = trace(level.tolist(), (machine * np.exp(random.normal(0, 0.012, 86))).tolist())
    slow, program = (one for one in found.steps if abs(one.factor - 1) > 0.03)  # the rest are false alarms
    assert (slow.of_machine, 38 <= slow.at <= 41) == (True, True)
    assert (program.of_machine, 67 <= program.at <= 72, program.seen <= 76) == (False, True, True)
    assert program.factor == pytest.approx(1.06, abs=0.03)
    assert sorted(number for one in found.levels for number in one) == [*range(86)]
    assert noise_of(level.tolist(), found.levels) < 0.02
    assert smallest_step(level.tolist(), found.levels) < 1.06


def test_a_machine_that_stays_slower_begins_a_level_as_a_program_does():
    machine = np.array([1.0] * 40 + [1.3] * 40)
    noisy = [machine * np.exp(np.random.default_rng(one).normal(0, 0.01, 80)) for one in (14, 15)]
    slower = noisy[0] * np.array([1.0] * 60 + [1.1] * 20)
    found = steps(slower.tolist(), noisy[1].tolist())
    assert [one.of_machine for one in found] == [True, False]
    assert 58 <= found[1].at <= 61


def test_a_canary_that_was_not_measured_excuses_nothing():
    level = np.exp(np.random.default_rng(6).normal(0, 0.01, 66))
    level[60:] *= 1.2
    for canary in (None, [None] * 66, [1.0] * 60 + [None] * 6):
        assert [one.of_machine for one in steps(level.tolist(), canary)] == [False]


@pytest.mark.parametrize("name", ["hash of 16 KiB", "sort of 20 000 numbers"])
def test_on_recorded_noise_five_per_cent_is_found_within_six_commits(name):
    recorded = noise(name)
    assert recorded.std() <= 0.02
    drawn = np.random.default_rng(7).choice(recorded, (400, BEFORE + AFTER[-1]))
    assert is_found(drawn, math.log(1.05)).mean() >= FOUND
    assert is_found(drawn, 0.0).mean() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RECORDED, "Gaussian"])
def test_equal_commits_raise_an_alarm_in_a_thousand(name):
    # 40 000 commits: 40 alarms are expected at the rate, and more than 59 in one case of a thousand
    random = np.random.default_rng(8)
    recorded = random.normal(0, 0.02, 2000) if name == "Gaussian" else noise(name)
    alarms = sum(len(steps(np.exp(random.choice(recorded, 500)).tolist())) for _ in range(80))
    assert 5 <= alarms <= 59


def test_the_smallest_step_is_found_as_often_as_it_says():
    series = np.exp(np.random.default_rng(9).normal(0, 0.02, 400))
    found = smallest_step(series.tolist())
    assert 1.04 < found < 1.06
    drawn = np.random.default_rng(10).normal(0, 0.02, (2000, BEFORE + AFTER[-1]))
    assert is_found(drawn, math.log(found)).mean() >= FOUND - 0.02
    assert is_found(drawn, math.log(found) * 0.8).mean() < FOUND


def test_the_noise_of_a_series_with_steps_is_that_about_its_levels():
    random = np.random.default_rng(11)
    level = np.array([1.0] * 60 + [1.5] * 60) * np.exp(random.normal(0, 0.02, 120))
    found = trace(level.tolist()).levels
    assert noise_of(level.tolist(), found) == pytest.approx(0.02, rel=0.25)
    assert noise_of(level.tolist()) > 0.15
    assert smallest_step(level.tolist(), found) < 1.07


def test_a_series_that_is_too_short_or_too_noisy_has_no_smallest_step():
    assert smallest_step([1.0, 1.1]) is None
    assert smallest_step(np.exp(np.random.default_rng(12).normal(0, 3.0, 100)).tolist()) is None


def test_the_same_series_has_the_same_smallest_step():
    series = np.exp(np.random.default_rng(13).normal(0, 0.02, 80)).tolist()
    assert smallest_step(series) == smallest_step(series)
