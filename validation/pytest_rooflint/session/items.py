"""pytest items: a golden file is a collector, a claim is an item; also guards against false passes.

Uses pytest's public API only.
"""

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


class FailedClaim(Exception):  # noqa: N818  # it is a verdict, not an error
    """A failing claim or file; its text is the whole message."""


class GoldenFolder(pytest.Directory):
    """A configured golden folder: its golden files, then the closed world that they must cover."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Files and folders first, the closed world last."""
        for path in sorted(self.path.iterdir()):
            if self.ihook.pytest_ignore_collect(collection_path=path, config=self.config):
                continue
            if path.is_file():
                yield from self.ihook.pytest_collect_file(file_path=path, parent=self)
            elif (folder := self.ihook.pytest_collect_directory(path=path, parent=self)) is not None:
                yield folder
        yield ClosedWorldItem.from_parent(self, name="closed-world")


class GoldenFile(pytest.File):
    """Collector of the claims in a golden file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item per claim; one failing item for an invalid file."""
        self.config.stash[SUITE].visited.add(self.path.resolve())
        try:
            claims = self.config.stash[SUITE].read(self.path).claims
        except InputError as error:
            yield ProblemItem.from_parent(self, name="readable", problems=list(error.problems))
            return
        for claim in claims:
            yield ClaimItem.from_parent(self, name=claim.id, claim=claim)


class ClaimItem(pytest.Item):
    """Test of one claim."""

    def __init__(self, *, claim: Claim, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    def runtest(self) -> None:
        """Judge the claim and report its outcome to pytest."""
        suite = self.config.stash[SUITE]
        excuses = not self.config.getoption("runxfail", default=False)
        verdict = judge(self.claim, self.nodeid, suite, excuses=excuses, ranking=self.config.stash[TRIAL].ranked)
        verdict = replace(verdict, options=suite.options, started_in=self.config.invocation_params.dir)
        self.stash[VERDICT] = verdict
        self.user_properties += verdict.properties()
        if verdict.outcome == "fail":
            raise FailedClaim(verdict.text())
        if verdict.outcome == "xfail":
            pytest.xfail(verdict.reason or "")
        if verdict.outcome != "pass":
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's text; a traceback only for bugs of rooflint."""
        if VERDICT in self.stash and isinstance(excinfo.value, FailedClaim | pytest.xfail.Exception):
            return self.stash[VERDICT].text()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The claim's line in the YAML file."""
        return self.path, self.claim.line - 1, self.name


class ProblemItem(pytest.Item):
    """Test of what must be right before any claim is judged: valid files, devices with claims."""

    def __init__(self, *, problems: list[Problem], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.problems = problems

    def runtest(self) -> None:
        """Fail if there is a problem."""
        if self.problems:
            raise FailedClaim("\n".join(map(str, self.problems)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One line per problem."""
        return str(excinfo.value) if isinstance(excinfo.value, FailedClaim) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """File and line of the first problem."""
        first = self.problems[0] if self.problems else None
        return (first.file, first.line - 1, self.name) if first else (self.path, 0, self.name)

    def rows(self) -> list[dict[str, Any]]:
        """The problems as rows of the evidence."""
        return [
            {"what": problem.message, "file": shown(problem.file), "line": problem.line} for problem in self.problems
        ]


class ClosedWorldItem(ProblemItem):
    """Test of what the suite as a whole lacks, whatever this run selected."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(problems=[], **arguments)

    def runtest(self) -> None:
        """Check all golden files, and that pytest collected them."""
        suite = self.config.stash[SUITE]
        self.problems = suite.world_problems()
        if not self.config.getoption("lf", default=False):  # it skips what did not fail
            self.problems += suite.unvisited(self.path)
        super().runtest()

    def reportinfo(self) -> tuple[Path, int, str]:
        """The golden folder itself."""
        return self.path, 0, self.name


# ---- false passes: claims skipped or excused from outside, folders that pytest ignored

IGNORED_FOLDERS = "rooflint_ignored_folders"
"""Key under which an xdist worker reports ignored golden folders to the controller."""


@dataclass
class Guard:
    """Collects reasons why a run might pass without judging every claim."""

    suite: Suite
    skipped: list[str] = field(default_factory=list)
    hidden: int = 0
    folders: set[str] = field(default_factory=set)

    # ---- where items are collected and run

    def saw(self, path: Path, ignored: bool | None) -> None:
        """Note the golden folders below a path that pytest ignores."""
        if ignored:
            there = path.resolve()
            self.folders |= {shown(root) for root in self.suite.golden_roots if root.is_relative_to(there)}

    # ---- where reports are gathered

    def gather(self, report: pytest.TestReport) -> None:
        """Note a claim that was skipped from outside, and a failure that pytest did not count."""
        self.skipped += getattr(report, "rooflint_skipped", [])
        brief = getattr(report, "rooflint_brief", None)
        red = bool(brief and brief["outcome"] == "fail") or bool(getattr(report, "rooflint_problems", []))
        self.hidden += red and report.outcome != "failed"

    def sentences(self) -> Iterator[str]:
        """Problems of the run as a whole."""
        for folder in sorted(self.folders):
            yield f"{folder} was ignored (by --ignore, norecursedirs or a conftest?); its claims were not judged"
        if self.skipped:
            more = f" and {len(self.skipped) - 1} more were" if len(self.skipped) > 1 else " was"
            yield (
                f"{self.skipped[0]}{more} skipped by a mark or a hook; "
                "excuse a claim in its golden file, with 'xfail' or 'undisclosed'"
            )
        if self.hidden:
            what = "1 failure was" if self.hidden == 1 else f"{self.hidden} failures were"
            yield f"{what} hidden by a mark or a hook (of a conftest?); remove it"


def mark(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Note on a report that an item was skipped from outside, or that its claim was never judged."""
    if not isinstance(item, ClaimItem | ProblemItem) or VERDICT in item.stash:
        return
    if report.skipped and not getattr(report, "rooflint_problems", []):
        report.rooflint_skipped = [item.nodeid]
    elif call.when == "call" and call.excinfo and isinstance(item, ClaimItem):
        what = f"{item.name} was not judged: {call.excinfo.typename}: {call.excinfo.value}"
        report.rooflint_problems = [{"what": what, "file": shown(item.claim.file), "line": item.claim.line}]
