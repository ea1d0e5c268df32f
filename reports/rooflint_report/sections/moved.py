"""What moved since a base, and what became of its claims: the delta of a run, arranged for a reader."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rooflint_report.claim_changes import ClaimChange, ClaimChanges, Loss
from rooflint_report.differences import WAITS, Delta, Moved, Shift, Watched
from rooflint_report.log_chart import pixel_axis
from rooflint_report.sections.section import Page

FARTHEST = 25
"""Moves that are in sight; the rest is folded."""

MOST = 400
"""Moves of each table that a page shows at all; the evidence has every one."""

ENDS = (1.1, 1.25, 1.5, 2.0)
"""Least ends of the scale of factors; beyond them it ends at a power of two."""

WIDTH = 120
"""Of the drawing of a factor. [px]"""

WATCHED_WIDTH = 320
"""Of the drawing of a watched prediction. [px]"""

_LEAST = 3.0
"""Width of a move that would be too narrow to see. [px]"""


@dataclass(frozen=True)
class Dumbbell:
    """A watched prediction on the axis of all: pixels of the base and of the head."""

    one: Watched
    base: float | None
    head: float | None


@dataclass(frozen=True)
class Scaled:
    """Moves on one scale, at whose end the farthest of them is."""

    rows: list[Moved]
    end: float
    """Factor at the right end of the scale; the left end is its inverse."""

    @classmethod
    def of(cls, rows: list[Moved]) -> "Scaled":
        """On the scale that fits them."""
        return cls(rows, end(rows))

    @property
    def farthest(self) -> list[Moved]:
        """Those that are in sight."""
        return self.rows[:FARTHEST]

    @property
    def others(self) -> list[Moved]:
        """Those that are folded."""
        return self.rows[FARTHEST:]

    @property
    def ends(self) -> tuple[str, str]:
        """`1/16`, `16`."""
        return f"1/{self.end:.4g}", f"{self.end:.4g}"

    def extent(self, shift: Shift) -> tuple[float, float, float] | None:
        """A move in the drawing, from 1 to its farther end, so that the farthest is the longest.

        (left, width, place of the nearer end); None where it has no factor.
        """
        if not shift.low or not shift.high:
            return None
        near, far = sorted((shift.low, shift.high), key=lambda factor: abs(math.log2(factor)))
        middle, reached = WIDTH / 2, self._place(far)
        left, right = sorted(
            (middle, reached if abs(reached - middle) > _LEAST else middle + math.copysign(_LEAST, far - 1))
        )
        return round(left, 1), round(right - left, 1), round(self._place(near), 1)

    def _place(self, factor: float) -> float:
        return WIDTH / 2 * (1 + math.log2(factor) / math.log2(self.end))


@dataclass(frozen=True)
class View:
    """The delta with what a page shows of it; None where the run was not compared with anything."""

    delta: Delta | None
    moves: Scaled
    """What a device answers with, such as latencies."""
    waits: Scaled
    """What its latencies wait for: these move by far larger factors, and have a scale of their own."""
    hidden: int
    claims: ClaimChanges | None
    losses: list[Loss]
    """Changes of claims, recordings and guarded facts, those without a stated reason first."""
    watched: list[Dumbbell]
    """The farthest first; in the order of the project where none moved."""


def view(page: Page) -> View:
    """The section says so where the run was not compared with anything."""
    delta = page.evidence.delta
    moves = delta.moves if delta else []
    waits = [one for one in moves if one.quantity in WAITS]
    answers = [one for one in moves if one.quantity not in WAITS]
    claims = page.evidence.claim_changes
    losses = [*filter(_is_told_here, claims.changes), *claims.recordings, *claims.facts] if claims else []
    losses.sort(key=lambda one: one.write is None)
    hidden = len(answers[MOST:]) + len(waits[MOST:])
    scaled = Scaled.of(answers[:MOST]), Scaled.of(waits[:MOST])
    return View(delta, *scaled, hidden, claims, losses, dumbbells(page.evidence.watched))


def _is_told_here(change: ClaimChange) -> bool:
    """Whether it is not among the failures, which are told by their cause."""
    return change.write is not None or change.head != "fail"


def end(shifts: Iterable[Shift]) -> float:
    """The least end of the scale that holds all factors: a little more than 1, else a power of two."""
    factors = [factor for one in shifts for factor in (one.low, one.high) if factor]
    farthest = max((max(factor, 1 / factor) for factor in factors), default=ENDS[0])
    small = next((one for one in ENDS if farthest <= one), None)
    return small or 2.0 ** math.ceil(math.log2(farthest) - 1e-9)


def dumbbells(watched: Iterable[Watched]) -> list[Dumbbell]:
    """On one logarithmic axis of latencies, so that the same length is the same factor."""
    found = sorted(watched, key=lambda one: -one.distance)
    axis = pixel_axis((figure for one in found for figure in (one.base, one.head) if figure), 4.0, WATCHED_WIDTH - 4.0)
    return [Dumbbell(one, *(axis.at(figure) if figure else None for figure in (one.base, one.head))) for one in found]
