"""Open: undecided claims, known disagreements, and claims that this machine cannot check."""

from collections import Counter
from dataclasses import dataclass

from rooflint_report.sections.section import Page, worst_first
from rooflint_report.verdicts import Verdict

IN_SIGHT = 12


@dataclass(frozen=True)
class Disagreements:
    """`until` is the day on which all expire, None where days differ; `frequent` are documents with their counts."""

    shown: list[Verdict]
    folded: list[Verdict]
    until: str | None
    frequent: list[tuple[str, int]]

    def __len__(self) -> int:
        return len(self.shown) + len(self.folded)


def disagreements(xfails: list[Verdict]) -> Disagreements:
    """Arrange the claims that are known to disagree."""
    ranked = worst_first(xfails)
    days = {v.until for v in xfails}
    sources = [v.expected.source for v in xfails if v.expected]
    documents = Counter(source.document for source in sources if source)
    return Disagreements(
        shown=ranked[:IN_SIGHT],
        folded=ranked[IN_SIGHT:],
        until=days.pop() if len(days) == 1 else None,
        frequent=[(document, count) for document, count in documents.most_common(3) if count > 1],
    )


@dataclass(frozen=True)
class Open:
    """Claims that neither pass nor fail."""

    undecided: list[Verdict]
    xfails: Disagreements
    unvalidated: list[tuple[str, list[Verdict]]]
    """By reason, the most frequent first."""


def view(page: Page) -> Open | None:
    """None where every claim passes or fails."""
    verdicts = page.evidence.verdicts
    found = Open(
        [v for v in verdicts if v.outcome == "undecided"],
        disagreements([v for v in verdicts if v.outcome == "xfail"]),
        _by_reason([v for v in verdicts if v.outcome == "not validated here"]),
    )
    return found if found.undecided or found.xfails or found.unvalidated else None


def _by_reason(verdicts: list[Verdict]) -> list[tuple[str, list[Verdict]]]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.reason or "no reason given", []).append(verdict)
    return sorted(groups.items(), key=lambda item: -len(item[1]))
