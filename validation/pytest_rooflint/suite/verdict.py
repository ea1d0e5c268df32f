"""Verdicts: one object that is the assertion text, the JUnit properties and what a run counts."""

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.expect import Stale, is_loose, stale
from pytest_rooflint.golden.kinds import Claim, Obtained
from rooflint.base.errors import Problem, listed, shown, shown_short
from rooflint.base.facts import Fact
from rooflint.base.text import counted
from rooflint.base.text import row as line_of
from rooflint.diagnosis.causes import AS_SPARSE, UNKNOWN, Cause

Outcome = Literal["pass", "fail", "xfail", "undecided", "not validated here"]
Repair = tuple[str, int, str, str]
"""File, line and path of a fact, and the value that it should have."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim, with all that explains it."""

    claim: Claim
    outcome: Outcome
    nodeid: str
    obtained: Obtained | None = None
    ratio: float | None = None
    ratio_text: str | None = None
    corroborated: bool = False
    causes: tuple[Cause, ...] = ()
    options: tuple[str, ...] = ()
    """Command-line options that pytest needs to find the id."""
    started_in: Path | None = None
    """The folder where the run was started; None for the root of its ids."""
    is_part: bool = False
    """Whether the run judges a part of the claims; repairs are tried on all."""
    reason: str | None = None
    """Why it failed without a figure, is expected to fail, or is not validated here."""
    unread: tuple[Problem, ...] = ()
    """What is wrong with the files that cannot be read, where it failed for that."""

    @property
    def is_at_fault(self) -> bool:
        """Whether what cannot be read is its own file."""
        return any(one.file == self.claim.file for one in self.unread)

    @property
    def waiting(self) -> "Verdict":
        """Not validated here, where it rests on a file that cannot be read; else the verdict itself."""
        if not self.unread:
            return self
        first = self.unread[0]
        return replace(self, outcome="not validated here", reason=f"cannot read {shown(first.file)}:{first.line}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts behind the obtained figure."""
        return self.obtained.facts if self.obtained else ()

    @property
    def rerun(self) -> str:
        """The command that runs only this claim again."""
        return shlex.join(["pytest", *self.options, self._target])

    @property
    def _target(self) -> str:
        """The id relative to where the run was started."""
        if self.started_in is None:
            return self.nodeid
        try:
            file = os.path.relpath(self.claim.file, self.started_in)
        except ValueError:  # another drive
            file = str(self.claim.file)
        return f"{Path(file).as_posix()}::{self.claim.id}"

    @property
    def headline(self) -> str:
        """The claim in one line."""
        claim = self.claim
        if said := kinds.kind(claim.kind).headline:
            return said(claim)
        network = "" if claim.is_replay else claim.network
        if claim.kind == "bound" and network:
            return f"bound of {claim.subject} on {network}"
        about = claim.hardware or claim.architecture or network
        words = [claim.kind, claim.subject]
        words += ["with sparsity"] if claim.option("sparse") else []
        words += [f"per {claim.option('per')}"] if claim.option("per") else []
        words += [f"of {about}"] if about else []
        words += [f"at {claim.at}"] if isinstance(claim.at, str) else []
        words += [f"({claim.title})"] if claim.is_replay and claim.title else []
        return " ".join(words)

    @property
    def expected_display(self) -> str:
        """The expected value as text."""
        expectation = self.claim.expectation
        if expectation is None:
            return self.obtained.expected if self.obtained else self.claim.subject
        return self.obtained.shown(expectation.value, self._digits) if self.obtained else expectation.text

    @property
    def obtained_display(self) -> str:
        """The obtained value as text."""
        return self.obtained.shown(digits=self._digits) if self.obtained else ""

    @property
    def _digits(self) -> int:
        """Four, or as many as tell a failing figure from the expected one."""
        expectation, obtained = self.claim.expectation, self.obtained
        if expectation is None or obtained is None or expectation.holds(obtained.value):
            return 4
        for digits in (4, 6, 8):
            if obtained.shown(expectation.value, digits) != obtained.shown(digits=digits):
                return digits
        return 10

    @property
    def loose(self) -> bool:
        """Whether the tolerance is wider than the printed digits justify."""
        return self.claim.expectation is not None and is_loose(self.claim.expectation)

    @property
    def stale(self) -> Stale | None:
        """A tolerance wider than this verdict needs; None unless it passes."""
        expectation, obtained = self.claim.expectation, self.obtained
        if self.outcome != "pass" or expectation is None or obtained is None:
            return None
        return stale(expectation, obtained.value)

    @property
    def short(self) -> str:
        """What fails, in a line of a list that has the id already: figures, then the likeliest cause."""
        figures = (
            f"{self.obtained_display}, not {self.expected_display}" if self.ratio_text and not self._agrees else ""
        )
        said = self.reason or (self.causes[0].text if self.causes else UNKNOWN if figures else self.expected_display)
        return ": ".join(filter(None, (figures, said)))

    def text(self) -> str:
        """The verdict as a failing test prints it."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        claim = self.claim
        lines = [f"{shown(claim.file)}:{claim.line}  {self.headline}"]
        if self.reason and self._agrees:
            lines.append(line_of("reason", self.reason))
        lines.append(line_of("expected", self.expected_display, self._cited()))
        if self.obtained:
            lines.append(line_of("obtained", self.obtained_display, self.obtained.formula))
            lines += self.obtained.details.splitlines()
        if self.ratio_text:
            lines += self._ratio_lines()
        if self.reason and not self._agrees:
            lines.append(line_of("reason", self.reason))
        if not self.ratio_text:
            lines += self._cause_lines("because")
        if claim.note:
            lines.append(line_of("note", claim.note))
        lines += self._fact_lines()
        lines.append(f"  rerun     {self.rerun}")  # never wrapped, so that it can be copied
        return lines

    def _cited(self) -> str:
        expectation, source = self.claim.expectation, self.claim.source
        printed = f"{expectation.text} ({expectation.tolerance_text}), " if expectation else ""
        return f"{printed}{source}" if source else printed

    @property
    def _agrees(self) -> bool:
        """Whether the figures agree, whatever the outcome."""
        expectation = self.claim.expectation
        return bool(expectation and self.obtained and expectation.holds(self.obtained.value))

    def _ratio_lines(self) -> list[str]:
        if not self.causes:
            explained = self._agrees or (self.obtained and self.obtained.details)
            text = "" if explained else UNKNOWN
            return [line_of("ratio", str(self.ratio_text), text)]
        if self._agrees:
            return self._cause_lines("repair")
        first = self.causes[0]
        return self._cause_lines("ratio", first.factor_text if first.parts else str(self.ratio_text))

    def _cause_lines(self, label: str, ratio: str | None = None) -> list[str]:
        """Every cause with its repair, likeliest first."""
        lines: list[str] = []
        for cause in self.causes:
            said = line_of("or" if lines else label, ratio or cause.factor_text, cause.text)
            lines += [said, *(self._of_claim(cause) if cause.of_claim else self._repair(cause))]
            ratio = None
        return lines

    def _of_claim(self, cause: Cause) -> list[str]:
        """The place of the claim, and what to write there where that is known and its kind takes it."""
        taken = cause.remedy != AS_SPARSE or "sparse" in kinds.kind(self.claim.kind).options
        remedy = f"; {cause.remedy}" if cause.remedy and taken else ""
        return [line_of("", "", f"{shown(self.claim.file)}:{self.claim.line}  expect{remedy}")]

    def _repair(self, cause: Cause) -> list[str]:
        """The place of the fact, what to write there, and how the other claims fared when that was tried."""
        if cause.fact is None:
            return []
        tried = ""
        if cause.fixes is not None:
            least, among = ("at least ", " of all claims") if self.is_part else ("", "")
            failures = f"{least}{counted(cause.fixes, 'failure')}{among}"
            tried = f" (fixes {failures}, breaks {cause.breaks or 'nothing'})"
        change = f"; write {cause.repair}{tried}" if cause.repair else ""
        return [line_of("", "", f"{shown_short(cause.fact.file)}:{cause.fact.line}  {cause.fact.path}{change}")]

    def _fact_lines(self) -> list[str]:
        if self.outcome != "fail" or not self.facts:
            return []
        lines = []
        for position, fact in enumerate(dict.fromkeys(self.facts)):
            last = ".".join(fact.path.split(".")[2:]) or fact.path
            place = f"{last} ({fact.source.grade})  {shown_short(fact.file)}:{fact.line}"
            lines.append(line_of("" if position else "facts", fact.display, place))
        return lines

    def properties(self) -> list[tuple[str, str]]:
        """The properties of the test case in JUnit XML."""
        source, expected = self.claim.source, self.expected_display
        pairs = {
            "expected": expected,
            "obtained": self.obtained_display,
            "ratio": "" if self.ratio is None else f"{self.ratio:.6g}",
            "unit": expected.partition(" ")[2] if self.claim.expectation else "",
            "source": str(source) if source else "",
            "corroborated": str(self.corroborated).lower(),
        }
        return list(pairs.items())

    @property
    def slack(self) -> float | None:
        """Distance from failing: 1 in the middle of the tolerance, 0 at its edge; None without a figure. [1]"""
        expectation, obtained = self.claim.expectation, self.obtained
        if expectation is None or obtained is None or not math.isfinite(obtained.value):
            return None
        return expectation.slack(obtained.value)

    def brief(self) -> "Brief":
        """The part that a run counts."""
        return Brief(self.outcome, self.corroborated, self.claim.is_replay, self.loose, self.stale is not None)


@dataclass(frozen=True)
class Brief:
    """The part of a verdict that a run counts."""

    outcome: Outcome
    corroborated: bool
    replay: bool
    loose: bool
    stale: bool

    @property
    def uncorroborated(self) -> bool:
        """Whether it passes, no second document agrees, and it is not a replay."""
        return self.outcome == "pass" and not self.corroborated and not self.replay


def in_blocks(verdicts: Iterable[Verdict], most: int, told: set[str] | None = None) -> Iterator[str]:
    """Failures as they are printed: a block for each of the first causes, and a line for each further claim.

    A file that cannot be read is told first, with the number of claims that rest on it. The ids of claims that have a
    block are added to `told`.
    """
    seen, lines, waiting = set[object](), list[str](), Counter[tuple[Problem, ...]]()
    fails = list[Verdict]()
    for one in verdicts:
        if one.unread:
            waiting[one.unread] += 1
        else:
            fails.append(one)
    for problems, count in waiting.items():
        yield f"\n{listed(problems)}\n  claims that rest on it are not judged: {count} so far\n"
    for one in fails:
        first = one.causes[0] if one.causes else None
        cause = (first.fact, first.repair) if first and first.fact else one.nodeid
        if cause in seen or len(seen) == most:
            also = "also " if seen else ""
            lines.append(f"{also}fails: {shown(one.claim.file)}:{one.claim.line}  {one.headline}")
        else:
            seen.add(cause)
            if told is not None:
                told.add(one.nodeid)
            yield f"\n{one.text()}\n"
    yield from lines


def tally(verdicts: Iterable[Verdict]) -> str:
    """Claims by outcome: `7 pass, 1 fail`."""
    counts = Counter(one.outcome for one in verdicts)
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "no claims"
