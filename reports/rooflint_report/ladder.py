"""Ladders: the peaks of one unit share most of their rungs, so the shared ones are written once."""

from dataclasses import dataclass
from itertools import groupby

from rooflint_report.evidence import Factor, Peak


@dataclass(frozen=True)
class Step:
    """One peak with the rungs that are its own."""

    peak: Peak
    own: list[Factor]


@dataclass(frozen=True)
class Ladder:
    """One unit at one operating point; a step's own rung stands in for the shared one of its name."""

    unit: str
    at: str | None
    shared: list[Factor]
    steps: list[Step]


def ladders(peaks: list[Peak]) -> list[Ladder]:
    """Peaks grouped by unit and operating point, in the order in which these first occur."""
    order = list(dict.fromkeys((p["unit"], p["at"]) for p in peaks))
    ranked = sorted(peaks, key=lambda p: order.index((p["unit"], p["at"])))
    return [_ladder(*key, list(group)) for key, group in groupby(ranked, key=lambda p: (p["unit"], p["at"]))]


def _ladder(unit: str, at: str | None, peaks: list[Peak]) -> Ladder:
    """Share what most peaks of the unit stand on; never a rate per clock, it belongs to its precision."""
    names = dict.fromkeys(f["name"] for p in peaks for f in p["factors"] if f["name"] != "macs_per_clock")
    common = [_most_common([f for p in peaks for f in p["factors"] if f["name"] == name]) for name in names]
    shared = [factor for factor, count in common if 2 * count > len(peaks)]
    return Ladder(unit, at, shared, [Step(p, [f for f in p["factors"] if f not in shared]) for p in peaks])


def _most_common(factors: list[Factor]) -> tuple[Factor, int]:
    """Find the factor that occurs most often, and say how often."""
    best = max(factors, key=factors.count)
    return best, factors.count(best)
