"""What pytest would call green although nothing was shown: skips and expected failures from outside, folders passed by.

A claim is excused in its own file, where a reason and a ratio stand beside it, and nowhere else.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rooflint.items import VERDICT, ClaimItem, ProblemItem
from pytest_rooflint.suite import Suite
from rooflint.errors import shown

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
        row = getattr(report, "rooflint_verdict", None)
        red = bool(row and row["outcome"] == "fail") or bool(getattr(report, "rooflint_problems", []))
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
