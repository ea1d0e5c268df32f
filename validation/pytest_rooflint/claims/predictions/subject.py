"""Subjects: the first word of a prediction claim, the words that may follow, and how it is obtained."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Obtained

OPTIONS = ("error", "bias", "right")
"""Bounds of a claim; each subject needs some of them."""

ROWS = 1000
"""Rows of each device, or of each pair of devices, by default."""

_PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")


@dataclass(frozen=True)
class Subject:
    """An op with measurements: matrix products, prefill, decode, …"""

    known: str
    """What may follow it, for an error message."""
    needs: Callable[[Sequence[str]], Sequence[str] | None]
    """Bounds that a claim with these further words needs; None if the words are unknown."""
    obtain: Callable[[Claim, Context], Obtained]
    sampled: bool = True
    """Whether claims with bounds are decided on a sample of rows; otherwise on all."""


def check(name: str, subject: Subject, claim: Claim) -> None:
    """Refuse unknown words, and missing or unknown bounds. Raises ClaimError."""
    needed = subject.needs(claim.subject.split()[1:])
    if needed is None:
        raise ClaimError(f"want {name} and {subject.known}; found '{claim.subject}'")
    for option in OPTIONS:
        if option in needed and claim.option(option) is None:
            raise ClaimError(f"{option}: is missing; want a share such as 12 %")
        if option not in needed and claim.option(option) is not None:
            raise ClaimError(f"{option}: unknown option for '{claim.subject}'")
        if option in needed:
            share(claim, option)
    if claim.option("rows") is not None:
        if not (needed and subject.sampled):
            raise ClaimError(f"rows: unknown option for '{claim.subject}', which uses all rows")
        rows_of(claim)


def share(claim: Claim, option: str) -> float:
    """A bound as a share. Raises ClaimError."""
    found = _PERCENT.fullmatch(str(claim.option(option)))
    if not found:
        raise ClaimError(f"{option}: want a share such as 12 %, found '{claim.option(option)}'")
    return float(found[1]) / 100


def rows_of(claim: Claim) -> int:
    """Rows of each device that a claim is decided on. Raises ClaimError."""
    found = claim.option("rows", ROWS)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ClaimError(f"rows: want a whole number of at least 1, found '{found}'")
    return found
