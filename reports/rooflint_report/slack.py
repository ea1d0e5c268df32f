"""Slack: how near passing claims are to failing, and whose tolerance is wider than its print."""

from dataclasses import dataclass

from rooflint_report.evidence import Tolerance, Verdict

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
    """`bars` from the edge of the tolerance to its middle; `nearest` to failing first; `loose` with the stale first."""

    bars: list[Bar]
    nearest: list[Verdict]
    shown: list[Verdict]
    folded: list[Verdict]
    stale: int

    @property
    def loose(self) -> int:
        """How many claims are looser than printed digits justify."""
        return len(self.shown) + len(self.folded)

    @property
    def measured(self) -> int:
        """How many passing claims have a tolerance that is not zero."""
        return sum(bar.claims for bar in self.bars)


def slack_of(verdicts: list[Verdict]) -> Slack:
    """Arrange the claims of a run; exact ones have no slack to speak of."""
    passing = [v for v in verdicts if v["outcome"] == "pass" and v["slack"] is not None and not _is_exact(v)]
    loose = sorted((v for v in verdicts if _tolerance(v).get("loose")), key=_loosest_first)
    return Slack(
        bars=_bars([min(max(v["slack"] or 0.0, 0.0), 1.0) for v in passing]),
        nearest=sorted(passing, key=lambda v: v["slack"] or 0.0)[:IN_SIGHT],
        shown=loose[:IN_SIGHT],
        folded=loose[IN_SIGHT:],
        stale=sum(bool(_tolerance(v).get("stale")) for v in loose),
    )


def width(verdict: Verdict) -> float:
    """The farther edge of the tolerance from the expected value, as a share of it. [1]"""
    expected = verdict["expected"]
    if not expected or not expected["value"] or expected["low"] is None or expected["high"] is None:
        return 0.0
    return max(expected["high"] / expected["value"] - 1, 1 - expected["low"] / expected["value"])


def _tolerance(verdict: Verdict) -> Tolerance:
    return verdict["tolerance"] or Tolerance(kind="exact", text="", why=None)


def _is_exact(verdict: Verdict) -> bool:
    return _tolerance(verdict)["kind"] == "exact"


def _loosest_first(verdict: Verdict) -> tuple[bool, float]:
    return not _tolerance(verdict).get("stale"), -width(verdict)


def _bars(slacks: list[float]) -> list[Bar]:
    counts = [0] * BINS
    for slack in slacks:
        counts[min(int(slack * BINS), BINS - 1)] += 1
    highest = max([*counts, 1])
    return [Bar(f"{place / BINS:g}", count, count / highest) for place, count in enumerate(counts)]
