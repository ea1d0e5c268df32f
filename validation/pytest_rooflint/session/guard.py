"""Guard against false passes: claims that are skipped, excused, hidden or dropped from outside, and ignored folders."""

import inspect
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Brief
from rooflint.base.errors import Problem, shown
from rooflint.base.text import counted, some

SHARED = ("folders", "expected", "deselected")
"""What a worker of xdist notes for the controller."""


@dataclass
class Attempt:
    """What the last attempt at a claim or a check said; where it is run again, the next one replaces it."""

    brief: Brief | None = None
    problems: list[dict[str, Any]] = field(default_factory=list)
    skipped: bool = False
    hidden: bool = False
    """Whether pytest did not count its failure."""


def rows(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as rows of the evidence."""
    return [{"what": problem.message, "file": shown(problem.file), "line": problem.line} for problem in problems]


def _caller() -> Path:
    """The file that called the hook which is running, below the frames of pluggy and of this package."""
    frames = (frame for frame, _ in traceback.walk_stack(inspect.currentframe()))
    between = ("pluggy", __name__.partition(".")[0])
    caller = next(one for one in frames if one.f_globals.get("__name__", "").partition(".")[0] not in between)
    return Path(caller.f_code.co_filename)


@dataclass
class Guard:
    """Collects reasons why a run might pass without judging every claim."""

    suite: Suite
    folders: set[str] = field(default_factory=set)
    expected: set[str] = field(default_factory=set)
    """Ids of the claims and checks that were collected."""
    deselected: set[str] = field(default_factory=set)
    """Those that pytest or a plugin left out, as the user asked, and said so."""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    """By id, those of which something was reported."""

    # ---- where items are collected and run

    def saw(self, path: Path, ignored: bool | None) -> None:
        """Note the golden folders below a path that pytest ignores."""
        if ignored:
            there = path.resolve()
            self.folders |= {shown(root) for root in self.suite.golden_roots if root.is_relative_to(there)}

    def expect(self, items: Iterable[pytest.Item]) -> None:
        """Note items that were collected."""
        self.expected |= {item.nodeid for item in items}

    def deselect(self, items: Iterable[pytest.Item]) -> None:
        """Note items that are announced as left out; a conftest.py cannot excuse claims in this way."""
        if _caller().name != "conftest.py":
            self.deselected |= {item.nodeid for item in items}

    def is_part(self, config: pytest.Config) -> bool:
        """Whether a part of the claims was collected, or is left."""
        named = any("::" in argument for argument in config.args)
        unvisited = {file.resolve() for file in self.suite.files} - self.suite.visited
        return named or bool(unvisited or self.left_out)

    # ---- between the processes of a run

    def shared(self) -> dict[str, list[str]]:
        """What a worker of xdist sends to the controller."""
        return {f"rooflint_{name}": sorted(getattr(self, name)) for name in SHARED}

    def merge(self, sent: dict[str, Any]) -> None:
        """Take what a worker sent."""
        for name in SHARED:
            setattr(self, name, getattr(self, name) | set(sent.get(f"rooflint_{name}", ())))

    # ---- where reports are gathered

    def gather(self, report: pytest.TestReport) -> None:
        """Note a verdict, problems, a skip from outside, and a failure that pytest did not count."""
        if report.when == "setup":  # of the first attempt, or of another one
            self.attempts.pop(report.nodeid, None)
        brief, problems = getattr(report, "rooflint_brief", None), getattr(report, "rooflint_problems", None)
        skipped = getattr(report, "rooflint_skipped", False)
        stopped = report.outcome == "failed"  # before it could be judged
        if brief is None and problems is None and not (skipped or stopped):
            return
        one = self.attempts.setdefault(report.nodeid, Attempt())
        one.brief = Brief(**brief) if brief else one.brief
        one.problems += problems or []
        one.skipped |= skipped
        red = bool(brief and brief["outcome"] == "fail") or bool(problems)
        one.hidden |= red and report.outcome != "failed"

    @property
    def briefs(self) -> list[Brief]:
        """What the last attempt at each claim came to."""
        return [one.brief for one in self.attempts.values() if one.brief]

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Problems of files and of the closed world, as rows of the evidence."""
        return [problem for one in self.attempts.values() for problem in one.problems]

    @property
    def left_out(self) -> int:
        """How many claims and checks a selection left out; a run with any is not a full check."""
        return len(self.expected & self.deselected)

    def sentences(self, *, ended: bool = True) -> Iterator[str]:
        """Problems of the run as a whole; a run that was stopped has not `ended`, and need not have judged all."""
        for folder in sorted(self.folders):
            yield f"{folder} was ignored (by --ignore, norecursedirs or a conftest?); its claims were not judged"
        if skipped := [name for name, one in self.attempts.items() if one.skipped]:
            more = f" and {len(skipped) - 1} more were" if len(skipped) > 1 else " was"
            yield (
                f"{skipped[0]}{more} skipped by a mark or a hook; "
                "excuse a claim in its golden file, with 'xfail' or 'undisclosed'"
            )
        if hidden := sum(one.hidden for one in self.attempts.values()):
            what = "1 failure was" if hidden == 1 else f"{hidden} failures were"
            yield f"{what} hidden by a mark or a hook (of a conftest?); remove it"
        if dropped := sorted(self.expected - self.deselected - set(self.attempts)) if ended else []:
            what = f"{counted(len(dropped), 'item')} of the golden suite {'was' if len(dropped) == 1 else 'were'}"
            yield f"{what} collected and not judged (dropped by a hook of a conftest or a plugin?): {some(dropped)}"


_SELECTING = ("keyword", "markexpr", "lf", "deselect", "stepwise", "collectonly", "ignore", "ignore_glob")
"""Options of pytest with which a run does not judge every claim."""


def is_selected(config: pytest.Config) -> bool:
    """Whether the run judges some of the claims only."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return named or any(config.getoption(option, default=None) for option in _SELECTING)


def has_ended(session: pytest.Session) -> bool:
    """Whether the run was neither interrupted nor stopped after a failure."""
    interrupted = session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
    return not (interrupted or session.shouldfail or session.shouldstop)


def is_own_folder(path: Path) -> bool:
    """Whether a folder is none of those that it is in, by a link that would never end."""
    return not (path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve()))
