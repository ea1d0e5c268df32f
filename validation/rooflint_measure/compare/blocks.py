"""Two versions from interleaved times: six blocks, the ratio of least times, and a verdict, which may be undecided.

Pure functions on arrays; leading axes are comparisons. `calibrate` finds false-positive and detection rates from
blocks of one version compared with itself. Why these numbers: docs/method-measuring.md, "Two versions".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from rooflint_measure.record import Frozen

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

THRESHOLD = 0.02
"""θ: two versions differ from a ratio of 1 + θ on. [1]"""

BLOCKS = 6
"""Of one measurement."""

QUORUM = 5
"""Blocks of each measurement that must agree on no difference. Then their median agrees, too."""

DIFFERING = (6, 10, 15)
"""Blocks of one, two and three measurements together that must agree on a difference; there is no fourth."""

RESTLESS = 5
"""Of the two halves of each version in the six blocks of each measurement: as many that differ are too many."""


class Outcome(IntEnum):
    """What a comparison found; from NOISY on it is undecided."""

    FASTER = -1
    SAME = 0
    SLOWER = 1
    NOISY = 2
    """A version differs from itself about as much as from the other."""
    DISTURBED = 3
    """Others disturbed least times in more blocks than may disagree."""
    SPLIT = 4
    """The blocks disagree."""

    @property
    def verdict(self) -> str:
        """One of four words."""
        return self.name.lower() if self < Outcome.NOISY else "undecided"


@dataclass(frozen=True)
class Blocks:
    """Least times of both versions; the first axis holds the halves of a block, the last the blocks. [s]"""

    base_s: Floats
    head_s: Floats
    disturbed: Bools
    """Blocks in which a least time was disturbed: stolen, queued or throttled; without the axis of halves."""

    def __len__(self) -> int:
        return int(self.base_s.shape[-1])

    def __getitem__(self, numbers: ArrayLike) -> "Blocks":
        """Some blocks, or those of many comparisons: the numbers' own shape takes the place of the last axis."""
        chosen = np.asarray(numbers)
        return Blocks(self.base_s[..., chosen], self.head_s[..., chosen], self.disturbed[..., chosen])

    @property
    def log_ratios(self) -> Floats:
        """Least time of the head over that of the base, as a logarithm; above zero the head is slower. [1]"""
        return np.asarray(np.log(self.head_s.min(axis=0)) - np.log(self.base_s.min(axis=0)))

    @property
    def own_log_ratios(self) -> Floats:
        """Each version against itself, one half of its turns over the other; base, then head. [1]"""
        return np.stack([np.log(side[1]) - np.log(side[0]) for side in (self.base_s, self.head_s)])

    def slowed(self, factor: ArrayLike) -> "Blocks":
        """The blocks with the times of the head multiplied by a factor."""
        return Blocks(self.base_s, self.head_s * np.asarray(factor), self.disturbed)


def blocks(
    base_s: ArrayLike,
    head_s: ArrayLike,
    base_disturbed: ArrayLike | None = None,
    head_disturbed: ArrayLike | None = None,
) -> Blocks:
    """From times (…, blocks, pairs) in the order in which they were taken. Raises ValueError for other shapes. [s]

    A mark counts where it is on the least time; a disturbed sample that is slower than another does not matter.
    """
    base, head = (np.asarray(side, dtype=float) for side in (base_s, head_s))
    if base.shape != head.shape or base.ndim < 2 or base.shape[-1] < 2 or base.shape[-1] % 2:
        wanted = "want as many times of the base as of the head, an even number in each block"
        raise ValueError(f"{wanted}, found {base.shape} and {head.shape}")
    marks = [(base, base_disturbed), (head, head_disturbed)]
    disturbed = np.logical_or(*(_on_the_least(side, found) for side, found in marks))
    return Blocks(_halves(base), _halves(head), disturbed)


def _halves(times_s: Floats) -> Floats:
    """Least time of every other turn, and of the turns between: both halves lie in the same stretch of time."""
    return np.stack([times_s[..., 0::2].min(axis=-1), times_s[..., 1::2].min(axis=-1)])


def _on_the_least(times_s: Floats, marks: ArrayLike | None) -> Bools:
    if marks is None:
        return np.zeros(times_s.shape[:-1], dtype=bool)
    least = times_s.argmin(axis=-1)[..., np.newaxis]
    return np.take_along_axis(np.asarray(marks, dtype=bool), least, axis=-1)[..., 0]


def median_ratio(found: Blocks) -> Floats:
    """Median over blocks, which is the same one whoever is the base. [1]"""
    return np.asarray(np.exp(np.median(found.log_ratios, axis=-1)))


def votes(found: Blocks, threshold: float = THRESHOLD) -> Integers:
    """The vote of each block: 1 where the head is slower by more than θ, -1 where it is faster, 0 for neither."""
    ratios, edge = found.log_ratios, np.log1p(threshold)
    return np.asarray((ratios > edge).astype(np.int64) - (ratios < -edge).astype(np.int64))


def restless(found: Blocks, threshold: float = THRESHOLD) -> Integers:
    """How many of the versions' halves differ by more than θ, or by more than half of what the versions differ by.

    The halves are of one version, measured in turns like the two versions, so that only noise makes them differ. A
    difference much larger than the noise is still visible, hence the half.
    """
    effect = np.abs(np.median(found.log_ratios, axis=-1))[..., np.newaxis]
    edge = np.maximum(np.log1p(threshold), effect / 2)
    return np.asarray((np.abs(found.own_log_ratios) > edge).sum(axis=(0, -1)))


def outcomes(found: Blocks, threshold: float = THRESHOLD) -> Integers:
    """An `Outcome` for each comparison, whose blocks are the last axis: those of one to three measurements.

    Raises ValueError for another number of blocks.
    """
    count, rest = divmod(len(found), BLOCKS)
    if rest or not 1 <= count <= len(DIFFERING):
        raise ValueError(f"want {BLOCKS} blocks of each of up to {len(DIFFERING)} measurements, found {len(found)}")
    cast, differing = votes(found, threshold), DIFFERING[count - 1]
    rules = [
        (found.disturbed.sum(axis=-1) > count * (BLOCKS - QUORUM), Outcome.DISTURBED),
        ((cast == 0).sum(axis=-1) >= count * QUORUM, Outcome.SAME),
        (restless(found, threshold) >= count * RESTLESS, Outcome.NOISY),
        ((cast > 0).sum(axis=-1) >= differing, Outcome.SLOWER),
        ((cast < 0).sum(axis=-1) >= differing, Outcome.FASTER),
    ]
    conditions, values = zip(*rules, strict=True)
    return np.asarray(np.select(list(conditions), [int(value) for value in values], int(Outcome.SPLIT)))


def settled(several: Sequence[Blocks], threshold: float = THRESHOLD) -> Integers:
    """The outcome of as many measurements as it takes, one more together with those before wherever it is undecided."""
    found = outcomes(several[0], threshold)
    for count in range(2, len(several) + 1):
        found = np.where(found >= Outcome.NOISY, outcomes(together(several[:count]), threshold), found)
    return found


def together(several: Sequence[Blocks]) -> Blocks:
    """The blocks of several measurements, one behind the other."""
    base_s, head_s, disturbed = (
        np.concatenate([getattr(one, name) for one in several], axis=-1) for name in ("base_s", "head_s", "disturbed")
    )
    return Blocks(base_s, head_s, disturbed)


def least(first: Blocks, second: Blocks) -> Blocks:
    """Two measurements as one, block by block: the least of both."""
    return Blocks(
        np.minimum(first.base_s, second.base_s),
        np.minimum(first.head_s, second.head_s),
        first.disturbed & second.disturbed,
    )


def reason(found: Blocks, threshold: float = THRESHOLD) -> str:
    """Why one comparison came out as it did, in a sentence."""
    outcome = Outcome(int(outcomes(found, threshold)))
    cast = votes(found, threshold)
    if outcome is Outcome.DISTURBED:
        return f"disturbed: in {_of(found.disturbed)} blocks other processes took time, or the clock was throttled"
    if outcome is Outcome.NOISY:
        differing = int(restless(found, threshold))
        halves = f"{differing} of {2 * len(found)} halves"
        return f"noise: a version differs from itself in {halves}, as much as from the other"
    tally = {
        Outcome.SLOWER: (cast > 0, "slower"),
        Outcome.FASTER: (cast < 0, "faster"),
        Outcome.SAME: (cast == 0, f"within {100 * threshold:g} %"),
    }
    if outcome is Outcome.SPLIT:
        counts = ", ".join(f"{int(which.sum())} {word}" for which, word in tally.values())
        return f"noise: the blocks disagree, {counts}"
    which, word = tally[outcome]
    beyond = "" if outcome is Outcome.SAME else f" by more than {100 * threshold:g} %"
    return f"{_of(which)} blocks are {word}{beyond}"


def _of(which: Bools) -> str:
    return f"{int(np.sum(which))} of {len(which)}"


# ---- How reliable verdicts are: blocks of one version are resampled, six at a time, and one side is scaled

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


class Rate(Frozen):
    """How often something happens in comparisons drawn from the blocks, and its bound."""

    share: NonNegativeFloat
    """Of comparisons drawn. [1]"""
    bound: NonNegativeFloat
    """On the bad side, with 95 % confidence, if blocks are independent of one another. [1]"""


class InOrder(Frozen):
    """Blocks in the order of measurement, six in a row, measured once; nothing is assumed."""

    comparisons: NonNegativeInt
    false_positives: NonNegativeInt
    undecided: NonNegativeInt
    detections: NonNegativeInt
    """Called slower after one side was scaled by 5 %."""
    false_positive_bound: NonNegativeFloat
    """Highest false-positive rate that is compatible with the count, with 95 % confidence. [1]"""


class Calibration(Frozen):
    """How reliable verdicts are: on this machine, now, of this command."""

    blocks: PositiveInt
    threshold: float
    spread: NonNegativeFloat
    """Standard deviation of the blocks' ratios. [1]"""
    false_positives: Rate
    """Equal versions called slower or faster, a second and a third measurement included."""
    undecided: NonNegativeFloat
    """Equal versions left undecided, after the third measurement. [1]"""
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


def calibrate(
    found: Blocks, threshold: float = THRESHOLD, *, beside: Sequence[Blocks] = (), seed: int = 0, draws: int = DRAWS
) -> Calibration:
    """Error rates, from blocks of one version compared with itself. Raises ValueError for fewer than six blocks.

    `beside` are the same blocks by what decides, in this order, what the third measurement leaves undecided.
    """
    if len(found) < BLOCKS:
        raise ValueError(f"want at least {BLOCKS} blocks of one version, found {len(found)}")
    numbers = np.random.default_rng(seed).integers(0, len(found), (len(DIFFERING), draws, BLOCKS))

    @cache
    def last(slowdown: float, of: int) -> Integers:
        """How each comparison ends."""
        ended = settled([found[drawn].slowed(1 + slowdown) for drawn in numbers[:, :of]], threshold)
        for one in beside:
            every = reduce(least, (one[drawn] for drawn in numbers[:, :of]))
            other = outcomes(every.slowed(1 + slowdown), threshold)
            ended = np.where((ended >= Outcome.NOISY) & (other < Outcome.NOISY), other, ended)
        return ended

    def share(slowdown: float, *wanted: Outcome, of: int = draws) -> float:
        return float(np.isin(last(slowdown, of), wanted).mean())

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
    """Bounds of both errors, slower and faster, added up."""
    cast = votes(found, threshold)
    bounds = (upper_bound(int((cast == vote).sum()), len(found), (1 + CONFIDENCE) / 2) for vote in (1, -1))
    return min(sum(agreeing(share) for share in bounds), 1.0)


def _detection_bound(found: Blocks, threshold: float) -> float:
    """Enough blocks agree and not too many halves differ, each at its bound: in the first measurement, or in all three.

    In all three, unless one or two of them say otherwise before.
    """
    slower = found.slowed(1 + SLOWDOWN)
    silent = upper_bound(int((votes(slower, threshold) < 1).sum()), len(found), (1 + CONFIDENCE) / 2)
    differing = int((np.abs(found.own_log_ratios) > math.log1p(threshold)).sum())
    restless = upper_bound(differing, 2 * len(found), (1 + CONFIDENCE) / 2)

    def after(count: int) -> float:
        noisy = at_least(count * RESTLESS, count * 2 * BLOCKS, restless)
        other = sum(at_least(before * QUORUM, before * BLOCKS, silent) for before in range(1, count))
        return at_least(DIFFERING[count - 1], count * BLOCKS, 1 - silent) - noisy - other

    return max(after(1), after(len(DIFFERING)), 0.0)


def agreeing(share: float) -> float:
    """Probability that enough blocks agree after one, two or three measurements, at most. [1]

    The share is that of a block. p⁶ + that of 10 of 12 + that of 15 of 18
    """
    return min(sum(at_least(wanted, count * BLOCKS, share) for count, wanted in enumerate(DIFFERING, 1)), 1.0)


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
