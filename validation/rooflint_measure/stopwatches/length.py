"""How long a sample takes: as long as the load of the machine allows, and no shorter than the clock can tell.

A scheduler takes a core away for some milliseconds at a time. A sample that is longer than its slices is always
disturbed; shorter ones fit in between. On a quiet machine long samples are better, because less happens per call.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

LONGEST_S = 0.02
"""What samples take on a quiet machine, and where nothing counts how often a thread loses its core. [s]"""
READS = 200
"""Of the clock, to see how far apart two of them are."""
STEPS = 1000
"""A sample takes so many times as long as reading the clock, which therefore is 0.1 % of it. [1]"""
TRIALS = 8
"""Samples of one length that are judged together."""
MOST_PREEMPTED = 2
"""Of these; with more, samples are halved."""


def shortest_s(now_ns: Callable[[], int] = time.perf_counter_ns) -> float:
    """The length at which a step of the clock, or reading it, is 0.1 % of a sample; `LONGEST_S` at most. [s]"""
    reads = [now_ns() for _ in range(READS)]
    steps = [after - before for before, after in pairwise(reads) if after > before]
    return min(STEPS * median(steps) / 1e9, LONGEST_S) if steps else LONGEST_S


@dataclass
class SampleLength:
    """The length of samples, halved while the thread loses its core in more than a quarter of them."""

    seconds: float
    """What a sample takes at least. [s]"""
    shortest_s: float
    """It is not halved below this. [s]"""
    _tried: int = 0
    _preempted: int = 0
    _calm: bool = False
    """Whether enough samples of this length in a row were hardly disturbed."""

    @classmethod
    def fixed(cls, seconds: float) -> "SampleLength":
        """A length that does not depend on the load. [s]"""
        return cls(seconds, seconds)

    def halved(self, switches: int | None) -> bool:
        """Look at one sample of this length; whether the next ones are half as long.

        `switches` is how often the thread lost its core meanwhile; where that is not known, the length stays.
        """
        self._tried += 1
        self._preempted += bool(switches)
        if self._preempted > MOST_PREEMPTED and not self.is_shortest:
            self.seconds, self._tried, self._preempted, self._calm = self.seconds / 2, 0, 0, False
            return True
        if self._tried == TRIALS:
            self._tried, self._preempted, self._calm = 0, 0, True
        return False

    @property
    def is_shortest(self) -> bool:
        """Whether half of it would be too short for the clock."""
        return self.seconds / 2 < self.shortest_s

    @property
    def is_settled(self) -> bool:
        """Whether enough samples of this length were seen."""
        return self.is_shortest or self._calm
