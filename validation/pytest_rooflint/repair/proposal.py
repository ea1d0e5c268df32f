"""Proposals: one value of one file, old and new, with reasons; or a refusal to propose."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, shown


class Refusal(Exception):  # noqa: N818  # it is an answer, not an error
    """The reason for not proposing anything, in one sentence without the claim."""


def refuse_outside(file: Path, root: Path) -> None:
    """Refuse files outside the project. Raises Refusal."""
    if not file.resolve().is_relative_to(root):
        raise Refusal(f"{shown(file)} is not a file of this project")


@dataclass(frozen=True)
class Proposal:
    """One change of one file."""

    file: Path
    line: int
    what: str
    """Path of the fact, or id of the claim."""
    old: str
    new: str
    before: str
    """The file's whole text without this proposal, but with those before it."""
    after: str
    mends: tuple[str, ...]
    """Ids of the failing claims of this run that it fixes."""
    remarks: tuple[str, ...]
    """Factor, cause, trials, and what the user has to decide; one sentence each."""


@dataclass(frozen=True)
class Plan:
    """Proposals for the failing claims of a run, and their joint effect."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[tuple[str, str], ...]
    """(id, reason) of the failing claims without a proposal."""
    mended: int
    """Number of failing claims of the whole suite that pass with all proposals."""
    failures: int
    """Number of failing claims of the run."""


# ---- Which claims of a suite are red, and whether a changed suite is any worse than it was

Key = tuple[Path, int]
"""A claim: its file, and its place among the claims there, which survives a change of its id."""


@dataclass(frozen=True)
class State:
    """State of a suite: failing claims with their ids, and problems of its files."""

    failures: Mapping[Key, str]
    problems: frozenset[tuple[Path, str]]

    @classmethod
    def of(cls, suite: Suite, *, excuses: bool) -> "State":
        """Judge every claim, without a search for causes."""
        problems = {(problem.file, problem.message) for problem in suite.world_problems()}
        failures = {}
        for file in suite.files:
            try:
                claims = suite.read(file).claims
            except InputError as error:
                problems |= {(problem.file, problem.message) for problem in error.problems}
                continue
            for place, claim in enumerate(claims):
                if outcome_of(claim, suite, excuses=excuses) == "fail":
                    failures[file, place] = claim.id
        return cls(failures, frozenset(problems))

    def objection(self, before: "State") -> str | None:
        """Why a change from another state to this one is not proposed; None if nothing is worse."""
        if new := sorted(self.problems - before.problems):
            return new[0][1]
        if broken := [name for key, name in self.failures.items() if key not in before.failures]:
            more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            return f"would turn {broken[0]}{more} red"
        return None
