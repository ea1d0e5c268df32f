"""The mutation score of a run: which errors in the specs no claim notices."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rooflint_report.differences import MutantCounts, MutatedFact, MutatedSubject, Mutation
from rooflint_report.sections.section import Page

WORST = 12
"""Devices and architectures that are in sight; the rest is folded."""

#: Parts of a bar: CSS class, what it counts.
PARTS = {
    "killed": "killed",
    "besides": "killed by uncorroborated claims only",
    "lost": "survived",
    "unseen": "unseen",
    "same": "equivalent",
}


@dataclass(frozen=True)
class Score:
    """The mutation score with what a page shows of it."""

    mutation: Mutation
    worst: list[MutatedSubject]
    others: list[MutatedSubject]
    unseen: list[MutatedFact]
    """Facts of which something goes unseen, those of which most does first."""


@dataclass(frozen=True)
class View:
    """The section; `found` is None where the specs were not mutated."""

    found: Score | None
    names: Mapping[str, str] = field(default_factory=lambda: PARTS)
    """Parts of a bar by their CSS classes."""

    def parts(self, counts: MutantCounts) -> list[tuple[str, str, int]]:
        """The stacked bar of some mutants."""
        return parts(counts)


def view(page: Page) -> View:
    """The section says so where the specs were not mutated."""
    return View(score_of(page.evidence.mutation) if page.evidence.mutation else None)


def score_of(mutation: Mutation) -> Score:
    """Arrange the score."""
    blind = [subject for subject in mutation.subjects if subject.unseen]
    unseen = sorted((fact for fact in mutation.facts if fact.unseen), key=lambda fact: -fact.unseen)
    return Score(mutation, blind[:WORST], blind[WORST:], unseen)


def parts(counts: MutantCounts) -> list[tuple[str, str, int]]:
    """The stacked bar of some mutants: (CSS class, what, how many), without what does not occur."""
    numbers = {
        "killed": counts.killed,
        "besides": counts.killed_besides,
        "lost": counts.survived,
        "unseen": counts.unseen - counts.survived,
        "same": counts.equivalent,
    }
    return [(name, PARTS[name], number) for name, number in numbers.items() if number > 0]


def percent(share: float | None) -> str:
    """`99.9 %`, cut and not rounded: nearly all is not all."""
    return "none" if share is None else f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def share_of(number: int, total: int) -> str:
    """`26.0 %` of a total; `0 %` of nothing."""
    return f"{100 * number / total:.1f} %" if total else "0 %"
