"""Which claims of a suite are red, and whether a changed suite is any worse than it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rooflint.judge import outcome_of
from pytest_rooflint.suite import Suite
from rooflint.errors import InputError

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
