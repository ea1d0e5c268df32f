"""Known disagreements: the farthest first, a dozen in sight, and what all of them share said once."""

from collections import Counter
from dataclasses import dataclass

from rooflint_report.evidence import Verdict
from rooflint_report.outcome import worst_first

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
    days = {v.get("until") for v in xfails}
    sources = [v["expected"]["source"] for v in xfails if v["expected"]]
    documents = Counter(source["document"] for source in sources if source)
    return Disagreements(
        shown=ranked[:IN_SIGHT],
        folded=ranked[IN_SIGHT:],
        until=days.pop() if len(days) == 1 else None,
        frequent=[(document, count) for document, count in documents.most_common(3) if count > 1],
    )
