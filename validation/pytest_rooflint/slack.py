"""Slack: whether a claim's tolerance is wider than its print, and whether it is wider than it has to be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from pytest_rooflint.expect import ROUNDING_ERROR, Expectation
from rooflint.facts import leading_number
from rooflint.units import format_number

WIDE, WIDEST = 0.05, 0.30
"""Tolerances above the first need a reason, whatever their origin; stated ones above the second are refused."""

ROUNDED_UP = 2.0
"""How far a gap may grow when it is rounded up to one digit: 0.101 to 0.2. What is wider was never measured."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A stated tolerance that a claim does not need, and what would do."""

    text: str
    write: str
    """What to write instead of it; empty where the printed digits suffice."""


def is_wide(expectation: Expectation) -> bool:
    """Whether a tolerance, whatever its origin, is above the house limit."""
    return expectation.width > WIDE * (1 + 1e-9)


def is_loose(expectation: Expectation) -> bool:
    """Whether a tolerance is wider than digits justify: stated beyond the print, or the print is too short."""
    return not expectation.justified or is_wide(expectation)


def stale(expectation: Expectation, obtained: float) -> Stale | None:
    """What is wrong with a stated tolerance in which a value lies: not needed at all, or far wider than the gap.

    A tolerance narrower than the printed digits never is: it makes the claim sharper.
    """
    printed = expectation.digits
    if printed is None or expectation.justified or not expectation.holds(obtained):
        return None
    if printed.holds(obtained):
        return Stale(f"the printed digits suffice ({printed.tolerance_text})", "")
    gap = abs(obtained - expectation.value)
    if expectation.high - expectation.value <= ROUNDED_UP * gap:
        return None
    share = f"{format_number(100 * gap / expectation.value, 2)} %"
    return Stale(f"{expectation.stated} bridges a gap of {share}", f"± {_tight(expectation, gap)}")


def _tight(expectation: Expectation, gap: float) -> str:
    """The gap rounded up to one digit, in the unit of the stated tolerance: `0.2 %`, `3 GB/s`."""
    stated = str(expectation.stated).removeprefix("± ")
    needed = (gap - ROUNDING_ERROR * expectation.value) / (expectation.high - expectation.value)
    return f"{_rounded_up(needed * leading_number(stated))} {stated.partition(' ')[2]}".strip()


def _rounded_up(value: float) -> str:
    """To one digit, without an exponent."""
    exact = Decimal(value)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted()), ROUND_CEILING).normalize():f}"


def counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many verdict rows are loose, and how many of them stale."""
    tolerances = [row["tolerance"] for row in rows if row["tolerance"]]
    return {
        "loose": sum(bool(tolerance["loose"]) for tolerance in tolerances),
        "stale": sum(bool(tolerance["stale"]) for tolerance in tolerances),
    }


def sentence(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """What a run says of it in one line; None where every tolerance is that of the print."""
    found = counts(rows)
    if not found["loose"]:
        return None
    loose = f"{found['loose']} claims are" if found["loose"] > 1 else "1 claim is"
    stale_ones = f", {found['stale']} of them wider than needed" if found["stale"] else ""
    return f"{loose} looser than printed digits justify{stale_ones}"
