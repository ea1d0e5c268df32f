"""Open: undecided claims, known disagreements, and claims that need what is undisclosed or missing here."""

from collections import Counter
from dataclasses import dataclass

from rooflint_report.sections.section import Page, worst_first
from rooflint_report.verdicts import Verdict

IN_SIGHT = 12


@dataclass(frozen=True)
class Disagreements:
    """`more` is how many are not shown; `until` is the day on which all expire, None where days differ.

    `frequent` are documents with their counts.
    """

    shown: list[Verdict]
    more: int
    until: str | None
    frequent: list[tuple[str, int]]

    def __len__(self) -> int:
        return len(self.shown) + self.more


def disagreements(xfails: list[Verdict]) -> Disagreements:
    """Arrange the claims that are known to disagree."""
    ranked = worst_first(xfails)
    days = {v.until for v in xfails}
    sources = [v.expected.source for v in xfails if v.expected]
    documents = Counter(source.document for source in sources if source)
    return Disagreements(
        shown=ranked[:IN_SIGHT],
        more=max(0, len(ranked) - IN_SIGHT),
        until=days.pop() if len(days) == 1 else None,
        frequent=[(document, count) for document, count in documents.most_common(3) if count > 1],
    )


@dataclass(frozen=True)
class Open:
    """Claims that neither pass nor fail."""

    undecided: list[Verdict]
    xfails: Disagreements
    unvalidated: list[tuple[str, int]]
    """Reasons with their claims, the most frequent first."""


def view(page: Page) -> Open | None:
    """None where every claim passes or fails."""
    verdicts = page.evidence.verdicts
    found = Open(
        [v for v in verdicts if v.outcome == "undecided"],
        disagreements([v for v in verdicts if v.outcome == "xfail"]),
        Counter(v.reason or "no reason given" for v in verdicts if v.outcome == "not validated here").most_common(),
    )
    return found if found.undecided or found.xfails or found.unvalidated else None
