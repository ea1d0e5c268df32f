"""What a run leaves behind: evidence, a patch, repairs in the summary, annotations on GitHub.

A run without failures or evidence imports none of this.
"""

import datetime
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.evidence.verdicts import likeliest, places, record, sentences
from pytest_rooflint.repair import plan
from pytest_rooflint.suite import verdict as judged
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Repair
from rooflint_report.causes import ANNOTATIONS, by_cause, messages
from rooflint_report.differences import Watched
from rooflint_report.evidence import Problem
from rooflint_report.sections.section import worst_first
from rooflint_report.verdicts import Each, Verdict

FEW = 3
"""Causes that have a line at the end."""


class Results:
    """The verdicts of a run, gathered from all its processes, and what is written from them."""

    def __init__(self, config: pytest.Config, suite: Suite, found: Sequence[bytes]) -> None:
        self.config = config
        self.suite = suite
        self.found = found

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The gathered verdicts as typed records, each made when it is asked for."""
        return Each(len(self.found), lambda number: Verdict.model_validate_json(self.found[number]))

    @cached_property
    def failures(self) -> list[Verdict]:
        """Those of failing claims; read it only when all are there."""
        return [one for one in self.verdicts if one.outcome == "fail"]

    @staticmethod
    def plain(verdict: judged.Verdict, duration_s: float) -> str:
        """A verdict as JSON, which xdist can send and which takes a tenth of the memory of the record."""
        return record(verdict, round(duration_s, 6)).model_dump_json()

    def alike(self, fixed: Mapping[Repair, Sequence[str]]) -> list[list[str]]:
        """Ids of failures with one cause, the one to print first."""
        groups = by_cause(self.failures, places(self.failures, fixed))
        return [[one.nodeid for one in group] for group in groups if len(group) > 1]

    def repairs(self, fixed: Mapping[Repair, Sequence[str]]) -> list[str]:
        """Repairs that several failing claims ask for; where there is none, the likeliest cause of each of a few."""
        if found := [*sentences(self.failures, fixed)]:
            return found
        groups = by_cause(self.failures, places(self.failures, fixed))
        return [likeliest(group[0]) for group in groups] if len(groups) <= FEW else []

    def propose(self, target: str) -> list[str]:
        """Write the proposed patch, and say what was done. Raises OSError with a sentence."""
        folder, root = self.config.invocation_params.dir, self.config.rootpath
        place = plan.Place(folder, root, Path(folder, target) if target else root / plan.DEFAULT)
        excuses = not self.config.getoption("runxfail", default=False)
        try:
            return plan.write(self.suite, self.failures, place, excuses=excuses)
        except OSError as error:
            raise OSError(f"{place.file}: cannot write the patch: {error.strerror}") from error

    def write(
        self,
        target: str,
        problems: Sequence[Mapping[str, Any]],
        *,
        started: datetime.datetime,
        duration_s: float,
        exit_status: int,
        deselected: int,
        watched: Sequence[Watched],
        fixed: Mapping[Repair, Sequence[str]],
    ) -> None:
        """Write the evidence. Raises OSError with a sentence."""
        from pytest_rooflint.evidence import build  # noqa: PLC0415  # much, and only where it is written

        try:
            found = build.build(
                self.suite,
                self.verdicts,
                problems,
                started=started,
                duration_s=duration_s,
                command=" ".join(("pytest", *map(str, self.config.invocation_params.args))),
                exit_status=exit_status,
                deselected=deselected,
                watched=watched,
                fixed=fixed,
            )
            build.write(Path(self.config.invocation_params.dir, target), found)
        except OSError as error:
            raise OSError(f"{target}: cannot write the evidence: {error.strerror}") from error

    def watched(self) -> list[Watched]:
        """The predictions that the project asks for. Raises InputError for a setting that cannot be read."""
        from pytest_rooflint.history import side, watched  # noqa: PLC0415  # much, and for evidence alone

        head = side.Specs("the working tree", self.suite.spec_roots, self.suite.registry)
        return watched.watched(head, file=self.config.inipath)

    def annotations(self, problems: Sequence[Mapping[str, Any]], fixed: Mapping[Repair, Sequence[str]]) -> list[str]:
        """Commands for GitHub's runner, one a cause: unreadable files first, then the largest factors."""
        fails = worst_first(self.failures)
        found = messages(fails, [Problem(**one) for one in problems], places(fails, fixed))
        return [one.annotation for one in islice(found, ANNOTATIONS)]
