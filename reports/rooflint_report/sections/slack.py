"""Slack: how near passing claims are to failing, and whose tolerance is wider than its print."""

from dataclasses import dataclass

from rooflint_report.sections.section import Page
from rooflint_report.verdicts import Verdict

BINS = 10
IN_SIGHT = 12


@dataclass(frozen=True)
class Bar:
    """Claims whose slack lies in one tenth; `height` is their share of the fullest tenth, `edge` its lower end."""

    edge: str
    claims: int
    height: float


@dataclass(frozen=True)
class Slack:
    """`bars` from the edge of the tolerance to its middle; of the loose, the stale and the loosest are `shown`."""

    bars: list[Bar]
    shown: list[Verdict]
    loose: int
    """Claims that are looser than printed digits justify."""
    stale: int

    @property
    def measured(self) -> int:
        """How many passing claims have a tolerance that is not zero."""
        return sum(bar.claims for bar in self.bars)


def view(page: Page) -> Slack | None:
    """None where every tolerance is exact."""
    found = slack_of(page.evidence.verdicts)
    return found if found.measured or found.loose else None


def slack_of(verdicts: list[Verdict]) -> Slack:
    """Arrange the claims of a run; exact ones have no slack to speak of."""
    passing = [
        v
        for v in verdicts
        if v.outcome == "pass" and v.slack is not None and v.tolerance and v.tolerance.kind != "exact"
    ]
    loose = sorted(
        (v for v in verdicts if v.tolerance and v.tolerance.loose), key=lambda v: (not _is_stale(v), -width(v))
    )
    return Slack(
        bars=_bars([min(max(v.slack or 0.0, 0.0), 1.0) for v in passing]),
        shown=loose[:IN_SIGHT],
        loose=len(loose),
        stale=sum(map(_is_stale, loose)),
    )


def width(verdict: Verdict) -> float:
    """The farther edge of the tolerance from the expected value, as a share of it. [1]"""
    expected = verdict.expected
    if not expected or not expected.value or expected.low is None or expected.high is None:
        return 0.0
    return max(expected.high / expected.value - 1, 1 - expected.low / expected.value)


def _is_stale(verdict: Verdict) -> bool:
    return verdict.tolerance is not None and verdict.tolerance.stale is not None


def _bars(slacks: list[float]) -> list[Bar]:
    counts = [0] * BINS
    for slack in slacks:
        counts[min(int(slack * BINS), BINS - 1)] += 1
    highest = max([*counts, 1])
    return [Bar(f"{place / BINS:g}", count, count / highest) for place, count in enumerate(counts)]
