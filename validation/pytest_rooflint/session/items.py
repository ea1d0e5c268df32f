"""What pytest collects: golden folders and files, and as items their claims, their problems and the closed world.

Uses pytest's public API only.
"""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.golden.kinds import Claim
from pytest_rooflint.session import fold
from pytest_rooflint.session.guard import is_own_folder
from pytest_rooflint.session.together import TOGETHER
from pytest_rooflint.suite.judge import Noted, Trial
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Verdict
from rooflint.base.errors import InputError, Problem, listed, shown
from rooflint.base.text import sanitized

SUITE = pytest.StashKey[Suite]()
TRIAL = pytest.StashKey[Trial]()
VERDICT = pytest.StashKey[Verdict]()
COLLECTED = pytest.StashKey[list["ClaimItem | ProblemItem"]]()
"""Claims of the golden files that pytest collects, until all are collected."""
ASKED = pytest.StashKey[Noted]()


class FailedClaim(Exception):  # noqa: N818  # it is a verdict, not an error
    """A failing claim or file; its text is the whole message."""


class GoldenFolder(pytest.Directory):
    """A configured golden folder: its golden files, then the closed world that they must cover."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Files and folders first, the closed world last."""
        for path in sorted(self.path.iterdir()):
            if self.ihook.pytest_ignore_collect(collection_path=path, config=self.config):
                continue
            if not path.is_dir():  # pipes and broken links, too, so that they are refused
                yield from self.ihook.pytest_collect_file(file_path=path, parent=self)
            elif (
                is_own_folder(path)
                and (folder := self.ihook.pytest_collect_directory(path=path, parent=self)) is not None
            ):
                yield folder
        yield ClosedWorldItem.from_parent(self, name="closed-world")


class GoldenFile(pytest.File):
    """Collector of the claims in a golden file.

    Nearly all that a file leaves (claims, facts, reports) stays to the end of the run, so it is frozen: the garbage
    collector would look at it again and again.
    """

    def setup(self) -> None:
        """Called before the first claim of the file is judged."""
        self.addfinalizer(gc.freeze)

    def collect(self) -> Iterator[pytest.Item]:
        """One item per claim; one failing item for an invalid file."""
        yield from self._items()
        gc.freeze()

    def _items(self) -> Iterator[pytest.Item]:
        self.config.stash[SUITE].visited.add(self.path.resolve())
        try:
            claims = self.config.stash[SUITE].read(self.path).claims
        except InputError as error:
            yield self._noted(ProblemItem.from_parent(self, name="readable", problems=list(error.problems)))
            return
        for claim in claims:
            yield self._noted(ClaimItem.from_parent(self, name=claim.id, claim=claim))

    def _noted(self, item: "ClaimItem | ProblemItem") -> pytest.Item:
        self.config.stash[COLLECTED].append(item)
        return item


class ClaimItem(pytest.Item):
    """Test of one claim."""

    def __init__(self, *, claim: Claim, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    @property
    def ihook(self) -> Any:
        """The hooks that pytest calls; a worker of xdist sends what they are told in one message."""
        together = self.config.stash.get(TOGETHER, None)
        return together.over(super().ihook) if together else super().ihook

    def runtest(self) -> None:
        """Judge the claim and report its outcome to pytest."""
        trial = self.config.stash[TRIAL]
        verdict, self.stash[ASKED] = trial.verdict(self.claim, self.nodeid)
        verdict = replace(verdict, options=trial.suite.options, started_in=self.config.invocation_params.dir)
        verdict = replace(verdict, is_part=trial.judged is not None)
        is_first = fold.first_of(self.config, map(str, verdict.unread), self.nodeid) == self.nodeid
        if not (is_first and verdict.is_at_fault):
            verdict = verdict.waiting
        self.stash[VERDICT] = verdict
        properties: list[tuple[str, object]] = [*verdict.properties()]
        self.user_properties = [one for one in self.user_properties if one not in properties] + properties  # once
        if verdict.unread and is_first and not verdict.is_at_fault:
            raise FailedClaim(f"{listed(verdict.unread)}\n  claims that rest on it are not judged")
        if verdict.outcome == "fail":
            raise FailedClaim(verdict.text())
        if verdict.outcome == "xfail":
            pytest.xfail(verdict.reason or "")
        if verdict.outcome != "pass":
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's text; a traceback only for bugs of rooflint."""
        if isinstance(excinfo.value, FailedClaim):
            return sanitized(str(excinfo.value))
        if VERDICT in self.stash and isinstance(excinfo.value, pytest.xfail.Exception):
            return sanitized(self.stash[VERDICT].text())
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The claim's line in the YAML file."""
        return self.path, self.claim.line - 1, self.name


class ProblemItem(pytest.Item):
    """Test of what must be right before any claim is judged: valid files, devices with claims."""

    def __init__(self, *, problems: list[Problem], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.problems = problems
        self.remarks: list[str] = []
        """What is no failure, and is said when the run ends."""

    def runtest(self) -> None:
        """Fail if there is a problem."""
        if self.problems:
            raise FailedClaim(listed(self.problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One line per problem."""
        return (
            sanitized(str(excinfo.value))
            if isinstance(excinfo.value, FailedClaim)
            else super().repr_failure(excinfo, style)
        )

    def reportinfo(self) -> tuple[Path, int, str]:
        """File and line of the first problem."""
        first = self.problems[0] if self.problems else None
        return (first.file, first.line - 1, self.name) if first else (self.path, 0, self.name)


class ClosedWorldItem(ProblemItem):
    """Test of what the suite as a whole lacks, whatever this run selected."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(problems=[], **arguments)

    def runtest(self) -> None:
        """Check all golden files, and that pytest collected them."""
        from pytest_rooflint.suite import world  # noqa: PLC0415  # NumPy, which most single files do without

        suite = self.config.stash[SUITE]
        said = self.config.stash[fold.UNREAD]
        self.problems = [one for one in world.problems(suite) if str(one) not in said]
        if not self.config.getoption("lf", default=False):  # it skips what did not fail
            self.problems += world.unvisited(suite, self.path)
        self.remarks = list(world.without_energies(suite))
        super().runtest()

    def reportinfo(self) -> tuple[Path, int, str]:
        """The golden folder itself."""
        return self.path, 0, self.name


def mark(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Note on a report that an item was skipped from outside, or that its claim was never judged."""
    if not isinstance(item, ClaimItem | ProblemItem) or VERDICT in item.stash:
        return
    if report.skipped and not getattr(report, "rooflint_problems", []):
        report.rooflint_skipped = True
    elif call.when == "call" and call.excinfo and isinstance(item, ClaimItem):
        what = f"{item.name} was not judged: {call.excinfo.typename}: {call.excinfo.value}"
        report.rooflint_problems = [{"what": what, "file": shown(item.claim.file), "line": item.claim.line}]
