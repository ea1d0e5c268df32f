"""pytest's view of golden files: a file is a collector, a claim is an item. Public API only."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.golden.claim import Claim
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.trial import Trial
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.errors import InputError, Problem, shown

SUITE = pytest.StashKey[Suite]()
TRIAL = pytest.StashKey[Trial]()
VERDICT = pytest.StashKey[Verdict]()


class Red(Exception):  # noqa: N818  # it is a verdict, not an error
    """A claim or a file that does not hold; its text is all there is to show."""


class GoldenFolder(pytest.Directory):
    """A configured golden folder: what is in it, and the closed world that it must cover."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The folder's own files and folders first, the closed world last."""
        for path in sorted(self.path.iterdir()):
            if self.ihook.pytest_ignore_collect(collection_path=path, config=self.config):
                continue
            if path.is_file():
                yield from self.ihook.pytest_collect_file(file_path=path, parent=self)
            elif (folder := self.ihook.pytest_collect_directory(path=path, parent=self)) is not None:
                yield folder
        yield ClosedWorldItem.from_parent(self, name="closed-world")


class GoldenFile(pytest.File):
    """A golden file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item a claim; one red item for a file that cannot be read."""
        self.config.stash[SUITE].visited.add(self.path.resolve())
        try:
            claims = self.config.stash[SUITE].read(self.path).claims
        except InputError as error:
            yield ProblemItem.from_parent(self, name="readable", problems=list(error.problems))
            return
        for claim in claims:
            yield ClaimItem.from_parent(self, name=claim.id, claim=claim)


class ClaimItem(pytest.Item):
    """A claim."""

    def __init__(self, *, claim: Claim, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    def runtest(self) -> None:
        """Judge it, and let pytest know."""
        suite = self.config.stash[SUITE]
        excuses = not self.config.getoption("runxfail", default=False)
        verdict = judge(self.claim, self.nodeid, suite, excuses=excuses, ranking=self.config.stash[TRIAL].ranked)
        verdict = replace(verdict, options=suite.options, started_in=self.config.invocation_params.dir)
        self.stash[VERDICT] = verdict
        self.user_properties += verdict.properties()
        if verdict.outcome == "fail":
            raise Red(verdict.text())
        if verdict.outcome == "xfail":
            pytest.xfail(verdict.reason or "")
        if verdict.outcome != "pass":
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's text; a traceback only for our own bugs."""
        if VERDICT in self.stash and isinstance(excinfo.value, Red | pytest.xfail.Exception):
            return self.stash[VERDICT].text()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The YAML line."""
        return self.path, self.claim.line - 1, self.name


class ProblemItem(pytest.Item):
    """Something that is wrong before any claim is judged: a broken file, a device without claims."""

    def __init__(self, *, problems: list[Problem], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.problems = problems

    def runtest(self) -> None:
        """Red, if there is a problem."""
        if self.problems:
            raise Red("\n".join(map(str, self.problems)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One line a problem."""
        return str(excinfo.value) if isinstance(excinfo.value, Red) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The first problem's line."""
        first = self.problems[0] if self.problems else None
        return (first.file, first.line - 1, self.name) if first else (self.path, 0, self.name)

    def rows(self) -> list[dict[str, Any]]:
        """For the evidence."""
        return [
            {"what": problem.message, "file": shown(problem.file), "line": problem.line} for problem in self.problems
        ]


class ClosedWorldItem(ProblemItem):
    """What the suite as a whole lacks, over all configured goldens, whatever this run selected."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(problems=[], **arguments)

    def runtest(self) -> None:
        """Look at all goldens, and at those that pytest passed by."""
        suite = self.config.stash[SUITE]
        self.problems = suite.world_problems()
        if not self.config.getoption("lf", default=False):  # it passes by what did not fail
            self.problems += suite.unvisited(self.path)
        super().runtest()

    def reportinfo(self) -> tuple[Path, int, str]:
        """The folder."""
        return self.path, 0, self.name


# ---- What pytest would call green although nothing was shown: skips and expected failures from outside, folders pass

PASSED_BY = "rooflint_passed_by"
"""Key under which an xdist worker tells the controller of folders."""


@dataclass
class Guard:
    """What one run has to answer for."""

    suite: Suite
    skipped: list[str] = field(default_factory=list)
    hidden: int = 0
    folders: set[str] = field(default_factory=set)

    # ---- where items are collected and run

    def saw(self, path: Path, ignored: bool | None) -> None:
        """A path that pytest came by; note the golden folders that it will not see for that."""
        if ignored:
            there = path.resolve()
            self.folders |= {shown(root) for root in self.suite.golden_roots if root.is_relative_to(there)}

    # ---- where reports are gathered

    def gather(self, report: pytest.TestReport) -> None:
        """Note a claim that somebody skipped, and a red one that was not counted."""
        self.skipped += getattr(report, "rooflint_skipped", [])
        brief = getattr(report, "rooflint_brief", None)
        red = bool(brief and brief["outcome"] == "fail") or bool(getattr(report, "rooflint_problems", []))
        self.hidden += red and report.outcome != "failed"

    def sentences(self) -> Iterator[str]:
        """What is wrong with the run as a whole."""
        for folder in sorted(self.folders):
            yield f"{folder} was passed by (--ignore, norecursedirs, a conftest?); no claim below it was judged"
        if self.skipped:
            more = f" and {len(self.skipped) - 1} more were" if len(self.skipped) > 1 else " was"
            yield (
                f"{self.skipped[0]}{more} skipped by a mark or a hook; "
                "a claim is excused in its own file, with 'xfail' or 'undisclosed'"
            )
        if self.hidden:
            what = "1 red item was" if self.hidden == 1 else f"{self.hidden} red items were"
            yield f"{what} not counted as a failure; remove what turns red into green (a mark of a conftest?)"


def mark(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Put on a report, as plain data, that an item was skipped from outside, or that its claim was never judged."""
    if not isinstance(item, ClaimItem | ProblemItem) or VERDICT in item.stash:
        return
    if report.skipped and not getattr(report, "rooflint_problems", []):
        report.rooflint_skipped = [item.nodeid]
    elif call.when == "call" and call.excinfo and isinstance(item, ClaimItem):
        what = f"{item.name} was not judged: {call.excinfo.typename}: {call.excinfo.value}"
        report.rooflint_problems = [{"what": what, "file": shown(item.claim.file), "line": item.claim.line}]
