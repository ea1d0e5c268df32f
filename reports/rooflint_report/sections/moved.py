"""What moved since a base, and what became of its claims: the delta of a run, arranged for a reader."""

import math
from dataclasses import dataclass

from rooflint_report.claim_changes import ClaimChanges, Loss
from rooflint_report.differences import Delta, Moved, Shift
from rooflint_report.sections.section import Page

FARTHEST = 25
"""Moves that are in sight; the rest is folded."""

MOST = 400
"""Moves that a page shows at all; the evidence has every one."""

OCTAVES = 2.0
"""From the middle of the scale to its ends: a quarter and four times."""

WIDTH = 120
"""Of the drawing of a range of factors. [px]"""

_LEAST = 3.0
"""Width of a range that would be too narrow to see."""


@dataclass(frozen=True)
class View:
    """The delta with what a page shows of it; None where the run was not compared with anything."""

    delta: Delta | None
    farthest: list[Moved]
    others: list[Moved]
    hidden: int
    claims: ClaimChanges | None
    losses: list[Loss]
    """Changes of claims, recordings and guarded facts, those without a stated reason first."""

    @staticmethod
    def extent(shift: Shift) -> tuple[float, float] | None:
        """Where a range of factors lies in the drawing: (left, width); None where there is none."""
        if not shift.low or not shift.high:
            return None
        left, right = _place(shift.low), _place(shift.high)
        if right - left < _LEAST:
            middle = (left + right) / 2
            left, right = middle - _LEAST / 2, middle + _LEAST / 2
        return round(left, 1), round(right - left, 1)


def view(page: Page) -> View:
    """The section says so where the run was not compared with anything."""
    delta = page.evidence.delta
    moves = delta.moves if delta else []
    claims = page.evidence.claim_changes
    losses = [*claims.changes, *claims.recordings, *claims.facts] if claims else []
    losses.sort(key=lambda one: one.write is None)
    return View(delta, moves[:FARTHEST], moves[FARTHEST:MOST], len(moves[MOST:]), claims, losses)


def _place(factor: float) -> float:
    """A factor on the scale of octaves; what is beyond its ends stands at them."""
    octaves = max(-OCTAVES, min(OCTAVES, math.log2(factor)))
    return WIDTH / 2 * (1 + octaves / OCTAVES)
