"""The mutation score of a run: which errors in the specs no claim notices."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from rooflint_report.differences import MutantCounts, MutatedFact, MutatedSubject, Mutation
from rooflint_report.sections.section import Page

WORST = 12
"""Files that are in sight; the rest is folded."""


@dataclass(frozen=True)
class View:
    """The mutation score with what a page shows of it; None where the specs were not mutated."""

    mutation: Mutation | None
    worst: list[MutatedSubject]
    others: list[MutatedSubject]
    unseen: list[MutatedFact]
    """Facts of which something goes unseen, those of which most does first."""
    names: ClassVar[Mapping[str, str]] = {
        "killed": "killed by an independent source",
        "besides": "killed by other claims only",
        "lost": "survived",
        "unseen": "unseen",
        "same": "equivalent",
    }
    """What the parts of a bar count, by CSS class."""

    @staticmethod
    def parts(counts: MutantCounts) -> dict[str, int]:
        """The stacked bar of some mutants: how many, by CSS class."""
        return {
            "killed": counts.killed_independently,
            "besides": counts.killed - counts.killed_independently,
            "lost": counts.survived,
            "unseen": counts.unseen - counts.survived,
            "same": counts.equivalent,
        }

    @classmethod
    def words(cls, counts: MutantCounts) -> str:
        """`4 killed by an independent source, 2 unseen`: the bar without what does not occur."""
        return ", ".join(f"{number} {cls.names[name]}" for name, number in cls.parts(counts).items() if number > 0)

    @classmethod
    def ends(cls, counts: MutantCounts) -> list[str]:
        """Where each part of the bar ends but for the last. [%]"""
        *sums, total = accumulate(cls.parts(counts).values())
        return [f"{100 * end / max(total, 1):.3g}" for end in sums]


def view(page: Page) -> View:
    """The section says so where the specs were not mutated."""
    mutation = page.evidence.mutation
    blind = [subject for subject in mutation.subjects if subject.unseen] if mutation else []
    unseen = [fact for fact in mutation.facts if fact.unseen] if mutation else []
    return View(mutation, blind[:WORST], blind[WORST:], sorted(unseen, key=lambda fact: -fact.unseen))


def share_of(number: int, total: int) -> str:
    """`26.0 %` of a total; `0 %` of nothing."""
    return f"{100 * number / total:.1f} %" if total else "0 %"
