"""What a red run prints: one block for each cause, one line for each claim, and the decisive line last.

A wrong fact makes many claims fail. Those that one repair fixes are one failure to a reader: the first is printed in
full, the others in pytest's own list, one line each. What was printed before the run, because its files changed, is
not printed again. With `-v` all are printed in full.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_rooflint.golden import expect
from pytest_rooflint.suite.judge import silent
from pytest_rooflint.suite.verdict import Brief, Repair
from rooflint.base.text import counted, sanitized, wrapped


@dataclass(eq=False)  # the oldest pytest that is allowed keeps its plugins in a set
class Fold:
    """Keeps the blocks of further claims out of the failures that pytest prints."""

    alike: Callable[[Mapping[Repair, list[str]]], list[list[str]]]
    """Gives the ids of failures with one cause, from what repairs were seen to fix; the one to print first."""
    last: Callable[[], list[str]]
    """Gives the lines that decide, once all else is printed."""
    quiet: bool = False
    """Whether to print a letter for failures only, as `rooflint check` does without `-v`: thousands do not fail."""
    fixed: dict[Repair, list[str]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    """Ids of failures that were printed in full before the run."""
    problems: set[str] = field(default_factory=set)
    """Problems of files that were printed before the run."""
    aside: list[pytest.TestReport] | None = None

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """How pytest counts an outcome, with the letter that it prints."""
        if not self.quiet or report.failed:
            return None
        if hasattr(report, "wasxfail"):
            return ("xfailed", "", "XFAIL") if report.skipped else None
        if report.skipped:
            return "skipped", "", "SKIPPED"
        return ("passed", "", "PASSED") if report.when == "call" else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Any:
        """Before pytest prints the failures."""
        failed: list[pytest.TestReport] = terminalreporter.stats.get("failed", [])
        groups = self.alike(self.fixed) if len(failed) > 1 else []
        fresh = [group for group in groups if self.told.isdisjoint(group)]
        first = {group[0]: len(group) - 1 for group in fresh}
        further = {name for group in groups for name in group} - first.keys() | self.told
        names = self._name_after_files(failed)
        if further:
            for report in failed:
                if report.nodeid in first:
                    more = counted(first[report.nodeid], "more claim")
                    report.longrepr = (
                        f"{report.longrepr}\n  and       {more} for the same cause, listed below (-v shows all)"
                    )
            self.aside = failed
            terminalreporter.stats["failed"] = [one for one in failed if names.get(id(one), one.nodeid) not in further]
        texts = [report.longrepr for report in failed]
        result = yield
        for report, text in zip(failed, texts, strict=True):
            report.nodeid, report.longrepr = names.get(id(report), report.nodeid), text
        return result

    def _name_after_files(self, failed: Iterable[Any]) -> dict[int, str]:
        """Give a claim that fails for a spec which cannot be read the name of the spec, while pytest prints failures.

        The ids of such claims, by the identity of their reports.
        """
        names = dict[int, str]()
        for report in failed:
            if hasattr(report, "rooflint_waits"):
                names[id(report)] = report.nodeid
                report.nodeid = file = report.rooflint_problems[0]["file"]
                report.location = (*report.location[:2], file)
        return names

    def gather(self, report: Any) -> None:
        """Note an item that fails for nothing but problems that were printed before the run."""
        problems = {problem for _, problem in getattr(report, "rooflint_unread", ())}
        if report.failed and problems and problems <= self.problems:
            self.told.add(report.nodeid)

    def restore(self, terminalreporter: pytest.TerminalReporter) -> None:
        """After they are printed: all count, and all are listed, each in a few words."""
        if self.aside is not None:
            terminalreporter.stats["failed"], self.aside = self.aside, None
        for report in terminalreporter.stats.get("failed", []):
            report.longrepr = _short(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Any:
        """After pytest has printed everything."""
        result = yield
        terminal = session.config.pluginmanager.getplugin("terminalreporter")
        for line in self.last() if terminal else ():
            terminal.write_line(sanitized(line), bold=True)
        return result


def _short(report: pytest.TestReport) -> Any:
    """What pytest's list of failures shows behind the id of ours: no path, which the id has already."""
    if text := getattr(report, "rooflint_short", ""):
        return sanitized(text)
    if not isinstance(report.longrepr, str) or not hasattr(report, "rooflint_problems"):
        return report.longrepr
    place = re.compile(re.escape(report.nodeid.partition("::")[0]) + r":(\d+)  ")
    return place.sub(r"line \1: ", report.longrepr.lstrip(), count=1)


def totals(briefs: Sequence[Brief]) -> Iterator[str]:
    """What pytest does not count."""
    if count := sum(one.uncorroborated for one in briefs):
        yield f"{count} of {len(briefs)} claims are uncorroborated: no second document backs them"
    if summary := expect.loose_summary(sum(one.loose for one in briefs), sum(one.stale for one in briefs)):
        yield summary


def reasons(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Why claims were not validated, one line a reason; that others are expected to fail; remarks on the suite."""
    skipped = [one.longrepr for one in terminalreporter.stats.get("skipped", []) if hasattr(one, "rooflint_brief")]
    why = Counter(longrepr[2] for longrepr in skipped if isinstance(longrepr, tuple))
    for reason, count in why.most_common(MOST):
        text = f"{counted(count, 'claim')} {reason.removeprefix('Skipped: ')}"
        yield wrapped(text, "", 2)
    if rest := len(skipped) - sum(count for _, count in why.most_common(MOST)):
        yield f"{counted(rest, 'more claim')} skipped; -rs lists them"
    if expected := [one for one in terminalreporter.stats.get("xfailed", []) if hasattr(one, "rooflint_brief")]:
        yield f"{counted(len(expected), 'claim')} expected to fail, for the reason in the golden file; -rx lists them"
    ended = (*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", []))
    remarks = dict.fromkeys(text for one in ended for text in getattr(one, "rooflint_remarks", ()))
    yield from (wrapped(text, "", 2) for text in remarks)


MOST = 5
"""Reasons that are printed; there is one for each missing library, and one for each undisclosed fact."""


# ---- what a search for causes is at


def searching(config: pytest.Config) -> Callable[[str], None]:
    """Says on a terminal what a search for causes is at, behind what pytest has printed; nothing anywhere else.

    The text goes beside pytest, which counts the columns of its line, and is taken back before it goes on.
    """
    terminal = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if terminal is None or capture is None or not terminal.isatty or hasattr(config, "workerinput"):
        return silent

    def say(text: str) -> None:
        writer = config.get_terminal_writer()
        room = writer.fullwidth - writer.width_of_current_line - 2
        with capture.global_and_fixture_disabled():
            sys.stdout.write(f"\x1b7 {text[:room]}\x1b[K\x1b8" if room > 0 else "")
            sys.stdout.flush()

    return say


# ---- a file that cannot be read is one failure

UNREAD = pytest.StashKey[dict[str, str]]()
"""Problems of files that cannot be read, each with the item that fails for it."""


def first_of(config: pytest.Config, problems: Iterable[str], nodeid: str) -> str:
    """The item that fails for these problems: the first one with any of them; this one, where there are none."""
    said = config.stash[UNREAD]
    firsts = [said.setdefault(problem, nodeid) for problem in problems]
    return nodeid if nodeid in firsts or not firsts else firsts[0]


def once(config: pytest.Config, report: Any) -> None:
    """Turn a report on a file that failed another item into a skip, or a pass of the closed world that only repeats it.

    Each worker of xdist sends a failure for the file, because none knows of the others.
    """
    unread: list[list[str]] = report.__dict__.pop("rooflint_unread", [])
    first = first_of(config, (problem for _, problem in unread), report.nodeid)
    if first == report.nodeid or not report.failed or len(unread) != len(getattr(report, "rooflint_problems", ())):
        return
    report.outcome, report.longrepr, report.rooflint_problems = "passed", None, []
    if hasattr(report, "rooflint_brief"):  # a claim
        report.outcome, report.longrepr = "skipped", (report.location[0], None, report.rooflint_waits)
