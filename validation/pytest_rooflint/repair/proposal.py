"""A proposal: one value of one file, old and new, with what speaks for it; or a refusal to propose."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.suite.judge import outcome_of
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, shown


class Refusal(Exception):  # noqa: N818  # it is an answer, not an error
    """Nothing is proposed, and why, in one sentence without the claim."""


def refuse_outside(file: Path, root: Path) -> None:
    """Leave alone what is not the project's own. Raises Refusal."""
    if not file.resolve().is_relative_to(root):
        raise Refusal(f"{shown(file)} is no file of this project")


@dataclass(frozen=True)
class Proposal:
    """One change of one file."""

    file: Path
    line: int
    what: str
    """The fact's path, or the claim's id."""
    old: str
    new: str
    before: str
    """The file's whole text without this proposal, but with those before it."""
    after: str
    mends: tuple[str, ...]
    """Ids of the red claims of this run that it turns green."""
    remarks: tuple[str, ...]
    """Factor, cause, what was tried, what the person has to decide; one sentence each."""


@dataclass(frozen=True)
class Plan:
    """What to do about the red claims of a run, and what all of it does."""

    proposals: tuple[Proposal, ...]
    refusals: tuple[tuple[str, str], ...]
    """(id, reason) of the red claims without a proposal."""
    mended: int
    """Red claims of the whole suite that turn green with all of it."""
    reds: int
    """Red claims of the run."""


# ---- Which claims of a suite are red, and whether a changed suite is any worse than it was

Key = tuple[Path, int]
"""A claim: its file, and its place among the claims there, which survives a change of its id."""


@dataclass(frozen=True)
class State:
    """What a suite says of itself: red claims with their ids, and problems of its files."""

    reds: Mapping[Key, str]
    problems: frozenset[tuple[Path, str]]

    @classmethod
    def of(cls, suite: Suite, *, excuses: bool) -> "State":
        """Judge every claim, without a search for causes."""
        problems = {(problem.file, problem.message) for problem in suite.world_problems()}
        reds = {}
        for file in suite.files:
            try:
                claims = suite.read(file).claims
            except InputError as error:
                problems |= {(problem.file, problem.message) for problem in error.problems}
                continue
            for place, claim in enumerate(claims):
                if outcome_of(claim, suite, excuses=excuses) == "fail":
                    reds[file, place] = claim.id
        return cls(reds, frozenset(problems))

    def objection(self, before: "State") -> str | None:
        """Why a change that leads from another state to this one is not proposed; None where nothing is worse."""
        if new := sorted(self.problems - before.problems):
            return new[0][1]
        if broken := [name for key, name in self.reds.items() if key not in before.reds]:
            more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            return f"would turn {broken[0]}{more} red"
        return None
