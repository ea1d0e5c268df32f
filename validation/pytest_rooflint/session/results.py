"""What a run leaves behind: evidence, a patch, repairs in the summary, annotations on GitHub.

A run without failures or evidence imports none of this.
"""

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.evidence.verdicts import places, record, sentences
from pytest_rooflint.repair import plan
from pytest_rooflint.session.fold import Repair
from pytest_rooflint.suite import verdict as judged
from pytest_rooflint.suite.suite import Suite
from rooflint.base.text import workflow_command
from rooflint_report.differences import Watched
from rooflint_report.evidence import Each
from rooflint_report.verdicts import Cause, Verdict

LIMIT = 10
"""Annotations that GitHub shows per step."""


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

    def alike(self, fixed: Mapping[Repair, Iterable[str]]) -> list[list[str]]:
        """Ids of failures with one cause, the one to print first."""
        return [*_alike(self.failures, fixed)]

    def repairs(self) -> list[str]:
        """Repairs that several failing claims ask for."""
        return [*sentences(self.failures)]

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
            )
            build.write(Path(self.config.invocation_params.dir, target), found)
        except OSError as error:
            raise OSError(f"{target}: cannot write the evidence: {error.strerror}") from error

    def watched(self) -> list[Watched]:
        """The predictions that the project asks for. Raises InputError for a setting that cannot be read."""
        from pytest_rooflint.history.side import Specs  # noqa: PLC0415  # much, and only where evidence is written
        from pytest_rooflint.history.watched import watched  # noqa: PLC0415

        head = Specs("the working tree", self.suite.spec_roots, self.suite.registry)
        return watched(head, file=self.config.inipath)

    def annotations(self, problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """GitHub workflow commands: unreadable files first, then the largest factors."""
        found = [
            (math.inf, workflow_command("error", "rooflint", one["what"], one["file"], one["line"])) for one in problems
        ]
        found += [(_distance(one.ratio), _claim(one)) for one in self.failures]
        yield from (line for _, line in sorted(found, key=lambda pair: -pair[0])[:LIMIT])


def _alike(failures: Sequence[Verdict], fixed: Mapping[Repair, Iterable[str]]) -> Iterator[list[str]]:
    """Ids of failures that one repair fixes, for each repair that fixes several and breaks nothing; each id once.

    `fixed` has the claims that a repair was seen to fix, also those that do not name it as a cause.
    """
    left = {one.nodeid: one for one in failures}
    for place in places(failures):
        if place.breaks or place.fixes < 2:
            continue
        names = set(fixed.get((str(place.file), place.line or 0, str(place.path), str(place.to)), ()))
        group = [one for one in left.values() if one.nodeid in place.ids or f"{one.file}::{one.id}" in names]
        if len(group) > 1:
            group.sort(key=lambda one: one.nodeid not in place.ids)  # the block must name the cause
            yield [one.nodeid for one in group]
        for one in group:
            del left[one.nodeid]


# ---- annotations on GitHub


def _distance(ratio: float | None) -> float:
    return abs(math.log(ratio)) if ratio and math.isfinite(ratio) and ratio > 0 else math.inf


def _claim(one: Verdict) -> str:
    cause = _cause(one.causes[0]) if one.causes else ""
    expected = f"expected {one.expected.display}" if one.expected else ""
    obtained = f", obtained {one.obtained.display}" if one.obtained else ""
    ratio = f", ratio {one.ratio_text}" if one.ratio_text else ""
    reason = f"; {one.reason}" if one.reason else ""
    text = f"{expected}{obtained}{ratio}{cause}{reason}"
    return workflow_command("error", one.headline, text, one.file, one.line)


def _cause(cause: Cause) -> str:
    fix = f" ({cause.file}:{cause.line}: write {cause.repair})" if cause.repair else ""
    return f"; {cause.text}{fix}"
