"""What sections are given, and how they write outcomes, ratios and counts."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rooflint.base import text
from rooflint_report.causes import likely, name
from rooflint_report.claim_changes import Cause as Change
from rooflint_report.evidence import Cell, Evidence
from rooflint_report.verdicts import Cause, Place, Verdict

MARKS = {"pass": "✓", "fail": "✗", "xfail": "≠", "undecided": "?", "not validated here": "–", "none": "○"}
SHORT = {"pass": "ok", "fail": "no", "xfail": "xf", "undecided": "un", "not validated here": "nv", "none": "bl"}
WORST_FIRST = ("fail", "undecided", "xfail", "not validated here", "pass")

LONGEST_ANCHOR = 100


class Anchors:
    """Hands out anchors: readable, safe in an attribute and in an address, and never twice on one page."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, prefix: str, name: str) -> str:
        """`device`, `nvidia/h100` as device-nvidia-h100; a second one gets -2."""
        wanted = f"{prefix}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('-')[:LONGEST_ANCHOR]}"
        anchor, number = wanted, 1
        while anchor in self._taken:
            number += 1
            anchor = f"{wanted}-{number}"
        self._taken.add(anchor)
        return anchor


@dataclass(frozen=True)
class Page:
    """The evidence with the anchors that sections link to."""

    evidence: Evidence
    anchors: Anchors = field(default_factory=Anchors)
    fails: list[tuple[str, Verdict]] = field(default_factory=list)
    """Failing claims with their anchors, farthest first."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """Anchor of each device and system."""

    @classmethod
    def of(cls, evidence: Evidence) -> "Page":
        """The page of a run."""
        anchors = Anchors()
        found = (_changed_first(one, evidence) for one in evidence.verdicts if one.outcome == "fail")
        fails = worst_first(found)
        ids = [*(one.id for one in evidence.devices), *(one.id for one in evidence.systems)]
        return cls(
            evidence,
            anchors,
            [(anchors.new("fail", verdict.nodeid), verdict) for verdict in fails],
            {name: anchors.new("device", name) for name in ids},
        )


@dataclass(frozen=True)
class Section:
    """One section of the report.

    `templates/sections/NAME.html.j2` draws it; `NAME.md.j2` beside it writes its part of the summary, if it has one.
    """

    name: str
    title: str
    """In the navigation."""
    view: Callable[[Page], object]
    """What its templates show as `view`; None where there is nothing to show."""


# ---- Outcomes, ratios and counts as text


def worst_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Farthest from 1 on a log scale first; a ratio of zero, infinity or NaN is farther than any, no ratio is last."""
    return sorted(verdicts, key=lambda v: -_distance(v.ratio))


def tally(verdicts: Iterable[Verdict | Cell]) -> list[tuple[str, int]]:
    """(outcome, how many), worst first, without the outcomes that do not occur."""
    count: Counter[str] = Counter(v.outcome for v in verdicts)
    return [(outcome, count[outcome]) for outcome in WORST_FIRST if count[outcome]]


def is_unchanged(place: Cause | Place, evidence: Evidence) -> bool:
    """Whether a possible cause is a line that did not change since the base; False without a base."""
    causes = evidence.claim_changes.causes if evidence.claim_changes else None
    return causes is not None and all((one.file, one.line) != (place.file, place.line) for one in causes.changes)


def _changed_first(verdict: Verdict, evidence: Evidence) -> Verdict:
    """With the changed lines that make it fail as its causes; else those at changed lines first."""
    found = evidence.claim_changes.causes if evidence.claim_changes else None
    blamed = [one for one in found.changes if name(verdict) in one.claims] if found else []
    causes = [cause for one in blamed for cause in _of_change(one, verdict)]
    causes = causes or sorted(verdict.causes, key=lambda one: is_unchanged(one, evidence))
    return verdict.model_copy(update={"causes": causes}) if causes != verdict.causes else verdict


def _of_change(change: Change, verdict: Verdict) -> list[Cause]:
    """What the diagnosis says that can be true; where it says nothing, the change.

    What the trial of its repair came to is left out: the comparison with the base reverted it, on all claims.
    """
    there = {"file": change.file, "line": change.line, "fixes": None, "breaks": None}
    said = [one.model_copy(update=there) for one in likely(verdict, change)]
    cause = Cause(
        text=f"{change.change}, changed since the base",
        factor=None,
        factor_text=change.factor,
        file=change.file,
        line=change.line,
        path=change.path,
        current=change.head,
        repair=change.base,
    )
    return said or [cause]


def claimed(verdict: Verdict) -> str:
    """Say what is claimed, without the device: `peak tensor_core int8 with sparsity at 30w`."""
    return verdict.headline.replace(f" of {verdict.of}", "", 1) if verdict.of else verdict.headline


def grouped(number: int) -> str:
    """12345 as 12 345, with a narrow no-break space."""
    return text.grouped(number, "\u202f")


def counted(number: int, noun: str) -> str:
    """1 claim, 2 claims."""
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def ratio_text(ratio: float | None) -> str:
    """Write a dimensionless ratio: 1.000, 0.125, 3.2e-05."""
    if ratio is None:
        return ""
    return f"{ratio:.3f}" if 0.1 <= ratio < 100 else f"{ratio:.3g}"


def deviation(ratio: float | None) -> str:
    """Write by what a ratio near 1 is off: +0.46 %, -0.0022 %; nothing beyond a tenth, where a fraction says more."""
    if ratio is None or not 0 < abs(ratio - 1) < 0.1:
        return ""
    return f"{100 * (ratio - 1):+.2g} %".replace("-", "−")


def tied(display: str) -> str:
    """Keep a quantity from breaking between its number and its unit; longer text may break."""
    return display.replace(" ", "\u00a0") if len(display) <= 24 else display


def tied_factors(formula: str) -> str:
    """Let a product break before a multiplication sign, nowhere else."""
    return " × ".join(tied(factor) for factor in formula.split(" × "))


def _distance(ratio: float | None) -> float:
    """|log ratio|, the size of a disagreement whichever way it points."""
    if ratio is None:
        return -1.0
    return abs(math.log(ratio)) if math.isfinite(ratio) and ratio > 0 else math.inf
