"""Suggestions for a name that is not known: what is spelt like it, and the end of the message."""

import difflib
from collections.abc import Iterable, Mapping, Sequence

MOST = 3
"""Names that a message suggests."""

CUTOFF = 0.5
"""Likeness below which nothing is suggested. [1]"""


def nearest(
    name: str, known: Mapping[str, Iterable[str]] | Iterable[str], most: int = MOST, cutoff: float = CUTOFF
) -> list[str]:
    """What is spelt most like a name, nearest first; `known` may give several spellings for each."""
    spelt = known if isinstance(known, Mapping) else {one: (one,) for one in known}
    scores = []
    for one, spellings in spelt.items():
        best = max(_likeness(name, text, cutoff) for text in spellings)
        if best[0] >= cutoff:
            scores.append((best, one))
    return [one for _, one in sorted(scores, key=lambda scored: (*(-share for share in scored[0]), scored[1]))][:most]


def _likeness(one: str, other: str, cutoff: float) -> tuple[float, float, int]:
    """Share of letters in the same order, share in any order, and how little the lengths differ; the larger the nearer.

    The first is zero where it is surely below the cutoff.
    """
    matcher = difflib.SequenceMatcher(None, one, other)
    unordered = matcher.quick_ratio() if matcher.real_quick_ratio() >= cutoff else 0.0
    return (matcher.ratio() if unordered >= cutoff else 0.0), unordered, -abs(len(one) - len(other))


def did_you_mean(near: Sequence[str]) -> str:
    """`; did you mean a, b or c?`; empty where nothing is near."""
    *others, last = near[:MOST] or ("",)
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"; did you mean {listed}?" if near else ""
