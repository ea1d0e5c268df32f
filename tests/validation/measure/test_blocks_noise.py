"""Two versions on machines that are made up: how often equal ones are called different, and 5 % is found.

Each machine is a slowness over time, which both versions meet in the order in which they are timed. Figures are
asserted with seeds on such data, never on a clock.
"""

import numpy as np
import pytest

from rooflint_measure.compare.blocks import BLOCKS, Outcome, blocks, outcomes, settled

PAIRS = 32
MANY = 2_500
SLOTS = BLOCKS * 2 * PAIRS
"""Samples of a comparison, one after the other."""


def turns() -> np.ndarray:
    """Whose turn it is, 0 the base and 1 the head: A B B A …, every other block B A A B …"""
    block = np.tile([0, 1, 1, 0], PAIRS // 2)
    return np.concatenate([block if number % 2 == 0 else 1 - block for number in range(BLOCKS)])


def compared(slowness, *, slowdown: float = 0.0):
    """Outcomes of comparisons (rows) on a slowness over time (columns)."""
    head = turns() == 1
    times = slowness * np.where(head, 1 + slowdown, 1.0)
    base_s, head_s = (times[:, side].reshape(-1, BLOCKS, PAIRS) for side in (~head, head))
    return outcomes(blocks(base_s, head_s))


def rates(machine, slowdown: float = 0.0, seed: int = 1) -> dict[str, float]:
    """Shares of verdicts, with one more measurement where the first is undecided."""
    rng = np.random.default_rng(seed)
    found = settled(*(compared(machine(rng), slowdown=slowdown) for _ in range(2)))
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


@pytest.mark.parametrize("machine", QUIET_ENOUGH.values(), ids=QUIET_ENOUGH)
def test_five_per_cent_is_found_and_equal_versions_are_not_told_apart(machine):
    assert alarms(machine) <= 0.005
    found = rates(machine, slowdown=0.05)
    assert found["slower"] >= 0.95
    assert found["faster"] == 0


@pytest.mark.parametrize("machine", TOO_LOUD.values(), ids=TOO_LOUD)
def test_a_machine_that_is_too_loud_leaves_it_undecided_and_raises_no_alarm(machine):
    assert alarms(machine) <= 0.005


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
