"""Worst: the shapes that are predicted worst, each from another neighbourhood, and what their time is like."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rooflint.kernels.breakdown import RESOURCES, Breakdown, Case, breakdowns, with_more
from rooflint.kernels.residency import COLD
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.held import Held

NEAR = 4.0
"""Shapes that differ by less than this factor in m, n and k are neighbours, and go wrong together."""

EXPLAINS = 0.5
"""What leaves no more than this share of an error explains it, on a logarithmic scale."""

ASYNCHRONOUS = "a kernel that uses the asynchronous matrix instructions"

TRIED = tuple(name for name in RESOURCES if name != "clock_hz")
"""Resources of which half or twice may explain a time; with another clock everything takes another time."""


@dataclass(frozen=True)
class Worst:
    """A shape on a device."""

    device: str
    case: Case
    measured_s: float
    breakdown: Breakdown
    """As the model has it."""
    around: int
    """Shapes of its neighbourhood, on all devices of the family."""
    around_error: float
    """Their mean error. [1]"""
    likeness: "Likeness | None"

    @property
    def ratio(self) -> float:
        """Predicted over measured. [1]"""
        return self.breakdown.latency_s / self.measured_s


@dataclass(frozen=True)
class Likeness:
    """What the measured time is like: the prediction, were one thing different."""

    what: str
    seconds: float
    advice: str = ""


def worst(helds: Sequence[Held], most: int) -> list[Worst]:
    """So many of a family, farthest first; none is a neighbour of one before."""
    owner = np.repeat(np.arange(len(helds)), [len(one.measured) for one in helds])
    row = np.concatenate([np.arange(len(one.measured)) for one in helds])
    ratio = np.concatenate([one.ratio for one in helds])
    sizes = np.concatenate([np.log([*one.measured.shapes][:3]).T for one in helds])
    left, found = np.abs(np.log(ratio)), list[Worst]()
    while len(found) < most and left.max(initial=0.0) > 0:
        first = int(left.argmax())
        near = np.all(np.abs(sizes - sizes[first]) < math.log(NEAR), axis=1)
        found.append(_worst(helds[owner[first]], int(row[first]), ratio[near]))
        left = np.where(near, 0.0, left)
    return found


def _worst(held: Held, row: int, around: Numbers) -> Worst:
    case, measured_s = held.case(row), float(held.measured.seconds[row])
    ones = breakdowns(case)
    error = float(np.abs(around - 1).mean())
    return Worst(held.measured.device, case, measured_s, ones[0], len(around), error, likeness(case, ones, measured_s))


def likeness(case: Case, ones: Sequence[Breakdown], measured_s: float) -> Likeness | None:
    """The one change of the model whose time comes nearest, where it explains the error; `ones`: fastest first."""

    def off(seconds: float) -> float:
        return abs(math.log(seconds / measured_s))

    tried = list(_changes(case, ones, slower=measured_s > ones[0].latency_s))
    nearest = min(tried, key=lambda one: off(one.seconds), default=None)
    if nearest is None or off(nearest.seconds) > EXPLAINS * off(ones[0].latency_s):
        return None
    return nearest


def _changes(case: Case, ones: Sequence[Breakdown], *, slower: bool) -> Iterator[Likeness]:
    """Whatever may have made a kernel slower than it is predicted, or faster."""
    yield from _slower(case, ones) if slower else _faster(case)
    for name, seconds in with_more(case, 0.5 if slower else 2.0):
        if name in TRIED:
            yield Likeness(f"it had {'half' if slower else 'twice'} the {RESOURCES[name]}", seconds)


def _slower(case: Case, ones: Sequence[Breakdown]) -> Iterator[Likeness]:
    if ones[0].split > 1:
        yield Likeness("k were whole", _whole(ones).latency_s, f"an algorithm that cuts k in {ones[0].split}")
    if case.chip.asynchronous:
        waiting = breakdowns(replace(case, chip=replace(case.chip, asynchronous=False)))
        yield Likeness("its warps waited for each step, and k were whole", _whole(waiting).latency_s, ASYNCHRONOUS)
    cold = replace(case, copies=COLD).latency_s()
    yield Likeness("nothing were left in L2", cold, "operands that stay in L2 from one call to the next")


def _faster(case: Case) -> Iterator[Likeness]:
    warm = replace(case, copies=1.0).latency_s()
    yield Likeness("L2 held the weights", warm, "to say so with --copies 1")
    free = replace(case, chip=replace(case.chip, bandwidth_bytes_per_s=math.inf)).latency_s()
    yield Likeness("its bytes took no time", free)


def _whole(ones: Sequence[Breakdown]) -> Breakdown:
    """The fastest that leaves k whole."""
    return next(one for one in ones if one.split == 1)
