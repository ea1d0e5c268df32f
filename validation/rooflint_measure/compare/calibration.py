"""False-positive and detection rates of comparisons, from blocks of one version compared with itself.

Measured blocks are resampled, six at a time; a slowdown is simulated by scaling one side.
"""

import math
from collections.abc import Callable

import numpy as np
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveInt

from rooflint_measure.compare.blocks import (
    BLOCKS,
    QUORUM,
    RESTLESS,
    THRESHOLD,
    Blocks,
    Outcome,
    outcomes,
    settled,
    votes,
)

SLOWDOWN = 0.05
"""Which must be detected. [1]"""

DETECTION, FALSE_POSITIVES = 0.95, 0.005
"""The aim: a slowdown of 5 % detected at least so often, equal versions called different at most so often. [1]"""

CONFIDENCE = 0.95

DRAWS = 20_000
"""Comparisons drawn from measured blocks."""

EFFECT_DRAWS = 4_000
"""For each slowdown that is tried; 95 % of them is known to 0.3 %."""

EFFECTS = tuple(step / 200 for step in range(1, 21))
"""Slowdowns that are tried, 0.5 % to 10 %. [1]"""


class Rate(BaseModel):
    """How often something happens in comparisons drawn from the blocks, and its bound."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    share: NonNegativeFloat
    """Of comparisons drawn. [1]"""
    bound: NonNegativeFloat
    """On the bad side, with 95 % confidence, if blocks are independent of one another. [1]"""


class InOrder(BaseModel):
    """Blocks in the order of measurement, six in a row, measured once; nothing is assumed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    comparisons: NonNegativeInt
    false_positives: NonNegativeInt
    undecided: NonNegativeInt
    detections: NonNegativeInt
    """Called slower after one side was scaled by 5 %."""
    false_positive_bound: NonNegativeFloat
    """Highest false-positive rate that is compatible with the count, with 95 % confidence. [1]"""


class Calibration(BaseModel):
    """How reliable verdicts are: on this machine, now, of this command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: PositiveInt
    threshold: float
    spread: NonNegativeFloat
    """Standard deviation of the blocks' ratios. [1]"""
    false_positives: Rate
    """Equal versions called slower or faster, a second measurement included."""
    undecided: NonNegativeFloat
    """Equal versions left undecided, after the second measurement. [1]"""
    detections: Rate
    """5 % slower, and called slower."""
    missed: NonNegativeFloat
    """5 % slower, and called the same. [1]"""
    smallest_detected: float | None
    """Least slowdown that is detected in 95 %; None where none up to 10 % is. [1]"""
    in_order: InOrder

    @property
    def holds(self) -> bool:
        """Whether the aim is reached."""
        return self.false_positives.share <= FALSE_POSITIVES and self.detections.share >= DETECTION


def calibrate(found: Blocks, threshold: float = THRESHOLD, *, seed: int = 0, draws: int = DRAWS) -> Calibration:
    """From blocks of one version compared with itself. Raises ValueError for fewer than a comparison needs."""
    if len(found) < BLOCKS:
        raise ValueError(f"want at least {BLOCKS} blocks of one version, found {len(found)}")
    numbers = np.random.default_rng(seed).integers(0, len(found), (2, draws, BLOCKS))

    def share(slowdown: float, *wanted: Outcome, of: int = draws) -> float:
        first, second = (outcomes(found[drawn].slowed(1 + slowdown), threshold) for drawn in numbers[:, :of])
        return float(np.isin(settled(first, second), wanted).mean())

    return Calibration(
        blocks=len(found),
        threshold=threshold,
        spread=float(found.log_ratios.std()),
        false_positives=Rate(
            share=share(0.0, Outcome.SLOWER, Outcome.FASTER), bound=_false_positive_bound(found, threshold)
        ),
        undecided=share(0.0, Outcome.NOISY, Outcome.DISTURBED, Outcome.SPLIT),
        detections=Rate(share=share(SLOWDOWN, Outcome.SLOWER), bound=_detection_bound(found, threshold)),
        missed=share(SLOWDOWN, Outcome.SAME),
        smallest_detected=smallest(lambda slowdown: share(slowdown, Outcome.SLOWER, of=EFFECT_DRAWS)),
        in_order=_in_order(found, threshold),
    )


def smallest(detection_at: Callable[[float], float]) -> float | None:
    """The least slowdown from which on all are detected in 95 %. [1]"""
    least = None
    for effect in reversed(EFFECTS):
        if detection_at(effect) < DETECTION:
            break
        least = effect
    return least


def _in_order(found: Blocks, threshold: float) -> InOrder:
    """Six blocks in a row at a time; what is left over is left out."""
    count = len(found) // BLOCKS
    rows = np.arange(count * BLOCKS).reshape(count, BLOCKS)
    equal, slower = (outcomes(found[rows].slowed(1 + slowdown), threshold) for slowdown in (0.0, SLOWDOWN))
    false_positives = int(np.isin(equal, (Outcome.SLOWER, Outcome.FASTER)).sum())
    return InOrder(
        comparisons=count,
        false_positives=false_positives,
        undecided=int((equal >= Outcome.NOISY).sum()),
        detections=int((slower == Outcome.SLOWER).sum()),
        false_positive_bound=upper_bound(false_positives, count),
    )


def _false_positive_bound(found: Blocks, threshold: float) -> float:
    """Bounds of both errors, slower and faster, added up; doubled because there may be two measurements."""
    cast = votes(found, threshold)
    bounds = (upper_bound(int((cast == vote).sum()), len(found), (1 + CONFIDENCE) / 2) for vote in (1, -1))
    return min(2 * sum(agreeing(share) for share in bounds), 1.0)


def _detection_bound(found: Blocks, threshold: float) -> float:
    """Enough blocks agree and not too many halves differ, each at its bound; of the first measurement alone."""
    slower = found.slowed(1 + SLOWDOWN)
    silent = upper_bound(int((votes(slower, threshold) < 1).sum()), len(found), (1 + CONFIDENCE) / 2)
    differing = int((np.abs(found.own_log_ratios) > math.log1p(threshold)).sum())
    restless = upper_bound(differing, 2 * len(found), (1 + CONFIDENCE) / 2)
    return max(agreeing(1 - silent) - at_least(RESTLESS, 2 * BLOCKS, restless), 0.0)


def agreeing(share: float) -> float:
    """Probability that enough of six blocks agree where each does with that probability. [1]

    6 p⁵ (1 - p) + p⁶
    """
    return at_least(QUORUM, BLOCKS, share)


def at_least(wanted: int, of: int, share: float) -> float:
    """Probability of at least `wanted` of `of`, each with probability `share`: the tail of a binomial. [1]"""
    if share in (0.0, 1.0):
        return float(wanted <= of * share)
    return min(math.fsum(_exactly(k, of, share) for k in range(wanted, of + 1)), 1.0)


def _exactly(count: int, of: int, share: float) -> float:
    """One term, by logarithms, because the number of ways overflows for a thousand blocks. [1]"""
    ways = math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1)
    return math.exp(ways + count * math.log(share) + (of - count) * math.log1p(-share))


def upper_bound(count: int, of: int, confidence: float = CONFIDENCE) -> float:
    """Highest probability under which a count as low as that is still likely enough. [1]

    Clopper and Pearson, Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404
    """
    if count >= of:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):  # halves the interval each time, down to the last bit
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - at_least(count + 1, of, middle) > 1 - confidence else (low, middle)
    return high
