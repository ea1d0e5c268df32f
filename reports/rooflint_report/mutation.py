"""What slips through: the mutation score of a run, arranged for a reader."""

import math
from dataclasses import dataclass

from rooflint_report.evidence import Evidence, MutantCounts, MutatedFact, MutatedSubject, Mutation

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
class Slipping:
    """The mutation score with what a page shows of it."""

    mutation: Mutation
    worst: list[MutatedSubject]
    others: list[MutatedSubject]
    unseen: list[MutatedFact]
    """Facts of which something goes unseen, those of which most does first."""


def slipping(evidence: Evidence) -> Slipping | None:
    """Arrange it; None where the run did not set facts wrong."""
    mutation = evidence.get("mutation")
    if mutation is None:
        return None
    blind = [subject for subject in mutation["subjects"] if subject["unseen"]]
    unseen = sorted((fact for fact in mutation["facts"] if fact["unseen"]), key=lambda fact: -fact["unseen"])
    return Slipping(mutation, blind[:WORST], blind[WORST:], unseen)


def parts(counts: MutantCounts) -> list[tuple[str, str, int]]:
    """The stacked bar of some mutants: (CSS class, what, how many), without what does not occur."""
    numbers = {
        "killed": counts["killed"],
        "besides": counts["killed_besides"],
        "lost": counts["survived"],
        "unseen": counts["unseen"] - counts["survived"],
        "same": counts["equivalent"],
    }
    return [(name, PARTS[name], number) for name, number in numbers.items() if number > 0]


def percent(share: float | None) -> str:
    """`99.9 %`, cut and not rounded: nearly all is not all."""
    return "none" if share is None else f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def share_of(number: int, total: int) -> str:
    """`26.0 %` of a total; `0 %` of nothing."""
    return f"{100 * number / total:.1f} %" if total else "0 %"
