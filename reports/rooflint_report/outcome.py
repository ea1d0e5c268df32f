"""Outcomes: their words, their marks, and what a run says in one sentence."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rooflint_report.evidence import Evidence
from rooflint_report.verdicts import Verdict

MARKS = {"pass": "✓", "fail": "✗", "xfail": "≠", "undecided": "?", "not validated here": "–", "none": "○"}
SHORT = {"pass": "ok", "fail": "no", "xfail": "xf", "undecided": "un", "not validated here": "nv", "none": "bl"}
WORST_FIRST = ("fail", "undecided", "xfail", "not validated here", "pass")

# pytest's own exit codes, beyond "all passed" and "some failed"
_ENDINGS = {2: "was interrupted", 3: "broke with an internal error", 4: "was called wrongly"}


@dataclass(frozen=True)
class Headline:
    """The state of the run as one word, and as a sentence."""

    state: str
    sentence: str


def headline(evidence: Evidence) -> Headline:
    """Say how the run went; an interrupted or an empty run is never green."""
    counts, status = evidence.counts, evidence.run.exit_status
    claims = counted(counts.claims, "claim")
    if complaint := _complaint(evidence):
        ending = f", and pytest {_ENDINGS[status]} (status {status})" if status in _ENDINGS else ""
        return Headline("Red", f"{complaint}{ending}.")
    if status in _ENDINGS:
        return Headline("Incomplete", f"pytest {_ENDINGS[status]} (status {status}) after {claims}.")
    if not counts.claims:
        return Headline("Empty", "no claim was checked, and an empty run shows nothing.")
    if status:
        return Headline("Red", f"every claim holds, but the run ended with status {status}: another test failed.")
    rest = [
        f"{grouped(counts.xfail)} known to disagree" if counts.xfail else "",
        f"{grouped(counts.undecided)} undecided" if counts.undecided else "",
        f"{grouped(counts.not_validated_here)} not validated here" if counts.not_validated_here else "",
    ]
    return Headline(
        "Green", "; ".join([f"{grouped(counts.pass_)} of {claims} hold, none fails", *filter(None, rest)]) + "."
    )


def worst_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Farthest from 1 on a log scale first; a ratio of zero, infinity or NaN is farther than any, no ratio is last."""
    return sorted(verdicts, key=lambda v: -_distance(v.ratio))


def tally(verdicts: Iterable[Verdict]) -> list[tuple[str, int]]:
    """(outcome, how many), worst first, without the outcomes that do not occur."""
    count: Counter[str] = Counter(v.outcome for v in verdicts)
    return [(outcome, count[outcome]) for outcome in WORST_FIRST if count[outcome]]


def claimed(verdict: Verdict) -> str:
    """Say what is claimed, without the device: `peak tensor_core int8 with sparsity at 30w`."""
    return verdict.headline.replace(f" of {verdict.hardware}", "", 1)


def grouped(number: int) -> str:
    """12345 as 12 345, with a narrow no-break space."""
    return f"{number:,}".replace(",", "\u202f")


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


def _complaint(evidence: Evidence) -> str:
    """Word the red part of the sentence, or nothing."""
    fails, problems, claims = evidence.counts.fail, len(evidence.problems), evidence.counts.claims
    parts = [
        f"{grouped(fails)} of {counted(claims, 'claim')} {'fails' if fails == 1 else 'fail'}" if fails else "",
        f"{counted(problems, 'problem')} in the files" if problems else "",
    ]
    return " and ".join(filter(None, parts))


def _distance(ratio: float | None) -> float:
    """|log ratio|, the size of a disagreement whichever way it points."""
    if ratio is None:
        return -1.0
    return abs(math.log(ratio)) if math.isfinite(ratio) and ratio > 0 else math.inf
