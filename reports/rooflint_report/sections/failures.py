"""Failures: repairs that were tried, problems in the files, and every failing claim as a card."""

import math
from dataclasses import dataclass

from rooflint_report.causes import by_cause, culprits
from rooflint_report.evidence import Problem
from rooflint_report.sections.section import Page, counted, is_unchanged
from rooflint_report.verdicts import Place, Verdict

RULER_WIDTH = 240
_RULER_OCTAVES = 6


@dataclass(frozen=True)
class Witness:
    """A device, or a golden file about none, whose failing claims name a place; the anchor is that of the farthest."""

    name: str
    anchor: str | None
    claims: int


@dataclass(frozen=True)
class Failures:
    """What failed, and what would fix it."""

    places: list[tuple[Place, list[Witness]]]
    """Repairs that were tried, but for those of claims that a changed line explains: that line stands at the top."""
    problems: list[Problem]
    fails: list[tuple[str, Verdict]]
    groups: list[list[tuple[str, Verdict]]]
    """Those with one cause together, farthest first."""
    most_lines: int = 16
    """Details of a failing verdict that its card shows."""
    most_open: int = 6
    """Claims of the first group up to which all of its cards are open; further groups show one card and a row each."""
    with_facts: int = 50
    """Cards that list the facts of a device that has a sheet of its own."""

    @property
    def count(self) -> int:
        """Failing claims and problems."""
        return len(self.fails) + len(self.problems)


def view(page: Page) -> Failures | None:
    """None where nothing failed."""
    evidence = page.evidence
    if not page.fails and not evidence.problems:
        return None
    blamed = culprits(evidence)
    told = {(one.cause.file, one.cause.line) for one in blamed}
    explained = {verdict.nodeid for one in blamed for verdict in one.verdicts}
    left = [
        place
        for place in evidence.places
        if (place.file, place.line) not in told and not explained.issuperset(place.ids)
    ]
    changed_first = sorted(left, key=lambda place: is_unchanged(place, evidence))
    places = [(place, witnesses(place, page.fails)) for place in changed_first]
    anchors = {verdict.nodeid: anchor for anchor, verdict in page.fails}
    changes = evidence.claim_changes.causes if evidence.claim_changes else None
    groups = by_cause([verdict for _, verdict in page.fails], evidence.places, changes)
    return Failures(
        places, evidence.problems, page.fails, [[(anchors[one.nodeid], one) for one in group] for group in groups]
    )


def witnesses(place: Place, fails: list[tuple[str, Verdict]]) -> list[Witness]:
    """Who names a place, most claims first; `fails` with their anchors, farthest first. Unknown ids have no anchor."""
    named, left, found = set(place.ids), set(place.ids), dict[str, Witness]()
    for anchor, verdict in fails:
        if verdict.nodeid in named:
            left.discard(verdict.nodeid)
            name = verdict.hardware or verdict.file
            first = found.get(name, Witness(name, anchor, 0))
            found[name] = Witness(name, first.anchor, first.claims + 1)
    return sorted(found.values(), key=lambda w: -w.claims) + [Witness(name, None, 1) for name in sorted(left)]


def fixed(fixes: int, fails: int | None = None) -> str:
    """How many failing claims a repair turns green: `25 of 27 failing claims pass`."""
    if not fixes:
        return "no failing claim passes"
    if fixes == fails:
        return "the one failing claim passes" if fails == 1 else f"all {counted(fixes, 'failing claim')} pass"
    what = counted(fixes, "failing claim") if fails is None else f"{fixes} of {counted(fails, 'failing claim')}"
    return f"{what} {'passes' if fixes == 1 else 'pass'}"


def broken(breaks: int, fixes: int | None) -> str:
    """What the repair costs: `and no other fails`, `but 3 passing claims fail`."""
    if not breaks:
        return "and no other claim fails"
    return f"{'but' if fixes else 'and'} {counted(breaks, 'passing claim')} {'fails' if breaks == 1 else 'fail'}"


def tried(fixes: int | None, breaks: int | None) -> str:
    """What the repair of a cause did; empty where it was not tried."""
    if fixes is None:
        return ""
    return fixed(fixes) if breaks is None else f"{fixed(fixes)} {broken(breaks, fixes)}"


def octave_ticks() -> list[int]:
    """Ticks of the ruler of ratios, one an octave. [px]"""
    octaves = range(-_RULER_OCTAVES, _RULER_OCTAVES + 1)
    return [x for octave in octaves if (x := ruler_x(2.0**octave)) is not None]


def ruler_x(ratio: float | None) -> int | None:
    """Pixel of a ratio on a scale of octaves from 1/64 to 64; what lies beyond is put at the end."""
    if ratio is None or math.isnan(ratio):
        return None
    octaves = math.log2(ratio) if 0 < ratio < math.inf else math.copysign(math.inf, ratio - 1)
    clamped = min(max(octaves, -_RULER_OCTAVES), _RULER_OCTAVES)
    return round(RULER_WIDTH / 2 * (1 + clamped / (_RULER_OCTAVES + 0.25)))
