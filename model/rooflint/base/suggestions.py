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


def edits(one: str, other: str) -> int:
    """Letters to insert, drop, replace or exchange with their neighbour to turn a text into another.

    The optimal string alignment distance, as in Damerau, "A technique for computer detection and correction of
    spelling errors", CACM 7(3), 1964. doi:10.1145/363958.363994
    """
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            least = min(row[-1] + 1, before[j] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and (letter, one[i - 2]) == (other[j - 2], wanted):
                least = min(least, older[j - 2] + 1)
            row.append(least)
    return row[-1]
