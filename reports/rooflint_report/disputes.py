"""Known disagreements: the farthest first, a dozen in sight, and what all of them share said once."""

from collections import Counter
from dataclasses import dataclass

from rooflint_report.evidence import Replay, Verdict
from rooflint_report.html import Anchors
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


# ---- Disputes: the replays of one document together, and the documents that speak against it


@dataclass(frozen=True)
class Dispute:
    """Replays that share a group, each with its anchor; `documents` are those that its sourced facts come from."""

    title: str
    replayed: list[str]
    members: list[tuple[str, Replay]]
    documents: list[str]

    def number(self, document: str) -> int:
        """Number a document in the list below the tables, from 1."""
        return self.documents.index(document) + 1


def disputes(replays: list[Replay], anchors: Anchors) -> list[Dispute]:
    """One per group, in the order in which groups first occur."""
    groups: dict[str, list[Replay]] = {}
    for replay in replays:
        groups.setdefault(replay.get("group", replay["title"]), []).append(replay)
    return [_dispute(title, group, anchors) for title, group in groups.items()]


def _dispute(title: str, replays: list[Replay], anchors: Anchors) -> Dispute:
    sources = [assumption["source"] for replay in replays for assumption in replay["assumptions"]]
    return Dispute(
        title=title,
        replayed=list(dict.fromkeys(replay["document"] for replay in replays if replay["document"])),
        members=[(anchors.new("replay", replay["id"]), replay) for replay in replays],
        documents=list(dict.fromkeys(source["document"] for source in sources if source)),
    )
