"""Disputed figures: the replays of one document together, and the documents that speak against it."""

from dataclasses import dataclass

from rooflint_report.evidence import Replay, Underived
from rooflint_report.sections.section import Page


@dataclass(frozen=True)
class Dispute:
    """Replays that share a group, each with its anchor; `documents` are those that its sourced facts come from."""

    title: str
    replayed: list[str]
    members: list[tuple[str, Replay]]
    documents: list[str]
    underived: list[Underived]
    """Figures of the same documents that their assumptions do not give."""

    def number(self, document: str) -> int:
        """Number a document in the list below the tables, from 1."""
        return self.documents.index(document) + 1


def view(page: Page) -> list[Dispute] | None:
    """One per group, in the order in which groups first occur; None where nothing is replayed."""
    groups: dict[str, list[Replay]] = {}
    for replay in page.evidence.replays:
        groups.setdefault(replay.group, []).append(replay)
    return [_dispute(title, group, page) for title, group in groups.items()] or None


def _dispute(title: str, replays: list[Replay], page: Page) -> Dispute:
    sources = [assumption.source for replay in replays for assumption in replay.assumptions]
    return Dispute(
        title=title,
        replayed=list(dict.fromkeys(replay.document for replay in replays if replay.document)),
        members=[(page.anchors.new("replay", replay.id), replay) for replay in replays],
        documents=list(dict.fromkeys(source.document for source in sources if source)),
        underived=[one for one in page.evidence.underived if one.group == title],
    )
