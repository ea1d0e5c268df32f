"""What a section is, and what all of them are given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rooflint_report.evidence import Evidence
from rooflint_report.html import Anchors
from rooflint_report.outcome import worst_first
from rooflint_report.verdicts import Verdict


@dataclass(frozen=True)
class Page:
    """The evidence with the anchors that sections link to."""

    evidence: Evidence
    anchors: Anchors = field(default_factory=Anchors)
    fails: list[tuple[str, Verdict]] = field(default_factory=list)
    """Failing claims with their anchors, farthest first."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """Anchor of each device."""

    @classmethod
    def of(cls, evidence: Evidence) -> "Page":
        """The page of a run."""
        anchors = Anchors()
        fails = worst_first(verdict for verdict in evidence.verdicts if verdict.outcome == "fail")
        return cls(
            evidence,
            anchors,
            [(anchors.new("fail", verdict.nodeid), verdict) for verdict in fails],
            {device.id: anchors.new("device", device.id) for device in evidence.devices},
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
