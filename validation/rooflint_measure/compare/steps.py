"""Steps in a series of measurements, one a commit: where it changed, by how much, and what would have been seen.

Each new value is compared, with up to five before it, with the values since the last step, by ranks: the statistic is
that of Mann and Whitney, after Ross and Adams, "Two nonparametric control charts for detecting arbitrary distribution
changes", Journal of Quality Technology 44(2), 2012. Ranks make the rate of false alarms that of any noise without
memory. Why, and what else was tried: docs/decisions/0036-steps-by-ranks.md.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BEFORE = 60
"""Commits before a step that it is compared with, at most."""
LEAST_BEFORE = 10
"""Commits before a step without which nothing is looked for."""
AFTER = (2, 3, 4, 5, 6)
"""Commits from a step on, among which it has to show."""
THRESHOLD = 3.1
"""Of the statistic, in standard deviations of ranks: one false alarm in 1 000 commits. [1]"""
FOUND = 0.95
"""Share of steps to be found where the smallest one is stated. [1]"""
APART = 4.0
"""Standard deviations of a canary between two speeds of a machine that are told apart. [1]"""
_DRAWS = 400
_SPAN = 2.0
"""Largest step that is tried, as a logarithm. [1]"""


@dataclass(frozen=True)
class Step:
    """A change of level."""

    at: int
    """Position of the first value of the new level."""
    seen: int
    """Position of the value with which it was seen."""
    factor: float
    """Level after over level before. [1]"""
    of_machine: bool = False
    """Whether the canary moved alike, so that the machine changed and not the program."""


def rank_score(values: Floats, after: int) -> Floats:
    """How far the last `after` values rank above those before, in standard deviations; the last axis is time. [1]"""
    old, new = values[..., :-after], values[..., -after:]
    before = old.shape[-1]
    above = np.sign(new[..., :, None] - old[..., None, :]).sum(axis=(-1, -2)) / 2
    return np.asarray(above / math.sqrt(after * before * (after + before + 1) / 12))


@dataclass(frozen=True)
class Trace:
    """A series as it was read commit by commit."""

    steps: list[Step]
    levels: list[list[int]]
    """Positions of the values of each level; where the machine was at another speed for a while, those around it."""


def steps(seconds: Sequence[float], canary: Sequence[float | None] | None = None) -> list[Step]:
    """Steps of a series, as they were seen commit by commit."""
    return trace(seconds, canary).steps


def trace(seconds: Sequence[float], canary: Sequence[float | None] | None = None) -> Trace:
    """Steps of a series and its levels; what comes after a step is compared with what it begins.

    `canary` is what the same machine took for something that no commit changes, None where that was not measured. A
    machine at another speed is like another machine: once it is back, its commits are compared with those of before.
    """
    logs = np.log(np.asarray(seconds, dtype=np.float64))
    watch = np.array([math.nan if one is None else math.log(one) for one in canary or [None] * len(logs)])
    found, levels = list[Step](), list[list[int]]()
    speeds, now = [list[int]()], 0
    for end in range(len(logs)):
        now = _speed(speeds, now, watch, end)
        level = speeds[now]
        level.append(end)
        if not _stands_out(logs[level[-BEFORE - AFTER[-1] :]]):
            continue
        after = _length(logs[level[-BEFORE - AFTER[-1] :]])
        before, begun = level[:-after], level[-after:]
        size, own = (_size(one[[*before[-BEFORE:], *begun]], after) for one in (logs, watch))
        # NaN where the canary was not measured: the step is the program's
        of_machine = own * math.copysign(1, size) >= abs(size) / 2
        found.append(Step(begun[0], end, math.exp(size), of_machine))
        if of_machine and abs(own) > APART * float(np.nanstd(watch[before[-BEFORE:]])):
            speeds[now] = before
            speeds.append(begun)
            now = len(speeds) - 1
        else:
            levels.append(before)
            speeds[now] = begun
    return Trace(found, [*levels, *filter(None, speeds)])


def _speed(speeds: Sequence[Sequence[int]], now: int, watch: Floats, at: int) -> int:
    """Which of the speeds of a machine a commit was measured at, by its canary; the present one without it."""
    if len(speeds) == 1 or math.isnan(watch[at]):
        return now
    return min(range(len(speeds)), key=lambda one: abs(watch[at] - float(np.nanmedian(watch[list(speeds[one])]))))


def _stands_out(logs: Floats) -> bool:
    """Whether the end of a series lies above or below what comes before it."""
    lengths = (after for after in AFTER if len(logs) - after >= LEAST_BEFORE)
    return any(abs(float(rank_score(logs, after))) > THRESHOLD for after in lengths)


def _length(logs: Floats) -> int:
    """How many values the new level has: those that leave least distance to the medians of both levels."""

    def distance(after: int) -> float:
        return sum(float(np.abs(part - np.median(part)).sum()) for part in (logs[:-after], logs[-after:]))

    return min(range(1, AFTER[-1] + 3), key=distance)


def _size(logs: Floats, after: int) -> float:
    """Median after over median before, as a logarithm; NaN where nothing is known of one of them. [1]"""
    known = [one[~np.isnan(one)] for one in (logs[:-after], logs[-after:])]
    return float(np.median(known[1]) - np.median(known[0])) if all(map(len, known)) else math.nan


def is_found(logs: Floats, step: float) -> NDArray[np.bool_]:
    """Whether a step in the last six values is seen by the last of them; leading axes are series."""
    moved = logs.copy()
    moved[..., -AFTER[-1] :] += step
    return np.asarray(np.any([_shows(moved, after) for after in AFTER], axis=0))


def _shows(logs: Floats, after: int) -> NDArray[np.bool_]:
    """Whether it shows with the first `after` values of the new level."""
    until = logs[..., : logs.shape[-1] - AFTER[-1] + after]
    return np.asarray(np.any([np.abs(rank_score(until, one)) > THRESHOLD for one in AFTER if one <= after], axis=0))


def smallest_step(
    seconds: Sequence[float], levels: Sequence[Sequence[int]] | None = None, draws: int = _DRAWS
) -> float | None:
    """The smallest slowdown that is seen within six commits in 95 % of cases, on series drawn from this one's noise.

    As a factor. None where too few values are known, and where the noise hides a factor of seven. [1]
    """
    noise = np.concatenate(list(_residuals(seconds, levels)))
    if len(noise) < LEAST_BEFORE:
        return None
    before = min(BEFORE, len(noise))
    drawn = np.random.default_rng(0).choice(noise, (draws, before + AFTER[-1]))
    low, high = 0.0, _SPAN
    if is_found(drawn, high).mean() < FOUND:
        return None
    while high - low > 0.01 * high + 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(drawn, middle).mean() >= FOUND else (middle, high)
    return math.exp(high)


def _residuals(seconds: Sequence[float], levels: Sequence[Sequence[int]] | None) -> Iterator[Floats]:
    """Logarithms of a series about the median of each level, or of the whole."""
    logs = np.log(np.asarray(seconds, dtype=np.float64))
    for level in [range(len(logs))] if levels is None else levels:
        part = logs[list(level)]
        yield part - (np.median(part) if len(part) else 0.0)


def noise_of(seconds: Sequence[float], levels: Sequence[Sequence[int]] | None = None) -> float:
    """Standard deviation of a series about its levels. [1]"""
    return float(np.concatenate(list(_residuals(seconds, levels))).std())
