"""Subject: what the first word of a prediction claim stands for, what may follow it, and how it is obtained."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.golden.kinds import ClaimError, Context, Obtained

OPTIONS = ("error", "bias", "right")
"""Bounds that a claim may give; each subject says which of them it needs."""

ROWS = 1000
"""Rows of each device, or of each pair of devices, unless the claim says otherwise."""

_PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")


@dataclass(frozen=True)
class Subject:
    """One thing that is predicted and was measured: matrix products, prefill, decode, …"""

    known: str
    """What may follow it, for whoever wrote something else."""
    needs: Callable[[Sequence[str]], Sequence[str] | None]
    """Bounds that a claim with these further words needs; None where the words mean nothing."""
    obtain: Callable[[Claim, Context], Obtained]
    sampled: bool = True
    """Whether claims with bounds are decided on so many rows of a device; else on all that there are."""


def check(name: str, subject: Subject, claim: Claim) -> None:
    """Refuse words that mean nothing, and bounds that are missing or mean nothing there. Raises ClaimError."""
    needed = subject.needs(claim.subject.split()[1:])
    if needed is None:
        raise ClaimError(f"want {name} and {subject.known}; found '{claim.subject}'")
    for option in OPTIONS:
        if option in needed and claim.option(option) is None:
            raise ClaimError(f"{option}: is missing; want a share such as 12 %")
        if option not in needed and claim.option(option) is not None:
            raise ClaimError(f"{option}: means nothing to '{claim.subject}'")
        if option in needed:
            share(claim, option)
    if claim.option("rows") is not None:
        if not (needed and subject.sampled):
            raise ClaimError(f"rows: means nothing to '{claim.subject}', which takes all that there are")
        rows_of(claim)


def share(claim: Claim, option: str) -> float:
    """A bound as a share. Raises ClaimError."""
    found = _PERCENT.fullmatch(str(claim.option(option)))
    if not found:
        raise ClaimError(f"{option}: want a share such as 12 %, found '{claim.option(option)}'")
    return float(found[1]) / 100


def rows_of(claim: Claim) -> int:
    """How many rows of a device a claim is decided on. Raises ClaimError."""
    found = claim.option("rows", ROWS)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ClaimError(f"rows: want a whole number from 1 on, found '{found}'")
    return found
