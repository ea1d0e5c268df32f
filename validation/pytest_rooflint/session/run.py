"""One pytest run: the verdicts of its claims are gathered, and nothing passes unjudged.

Uses pytest's public API only.
"""

import datetime
import gc
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rooflint.golden import kinds
from pytest_rooflint.session import fold
from pytest_rooflint.session.fold import Fold
from pytest_rooflint.session.guard import Guard, has_ended, is_selected, rows
from pytest_rooflint.session.items import (
    ASKED,
    COLLECTED,
    SUITE,
    TRIAL,
    VERDICT,
    ClaimItem,
    GoldenFile,
    GoldenFolder,
    ProblemItem,
    mark,
)
from pytest_rooflint.session.spool import Spool
from pytest_rooflint.session.together import TOGETHER, Apart, Packed, Together
from pytest_rooflint.suite.judge import Trial, key_of, unnoted
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Repair, Verdict
from rooflint.base.errors import InputError, shown
from rooflint.base.parsed import Parsed
from rooflint.base.text import counted, sanitized

if TYPE_CHECKING:
    from pytest_rooflint.session.results import Results
    from rooflint_report.differences import Watched


def _first() -> ModuleType:
    """The module that judges first what changed."""
    from pytest_rooflint.session import first  # noqa: PLC0415  # a run that keeps nothing does without

    return first


def _parsed(config: pytest.Config) -> Parsed | None:
    """Where parsed files are kept for the next run, and for the workers of xdist; None where pytest keeps no cache."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if cache is None:
        return None
    with suppress(OSError):
        return Parsed(cache.mkdir("rooflint"), kinds.packages())
    return None


class Run:
    """The plugin where golden folders are configured; with xdist, the controller gathers the verdicts."""

    def __init__(self, config: pytest.Config, golden: Sequence[Path], part: Sequence[Path], specs: list[Path]) -> None:
        gc.unfreeze()  # a run before this one in the same process may have frozen all it had
        self.config = config
        self.is_alone = False
        """Whether pytest runs nothing but claims."""
        for name, folders in (("rooflint_golden", (*golden, *part)), ("rooflint_specs", specs)):
            for folder in folders:
                if not folder.is_dir():
                    raise pytest.UsageError(f"{name}: want a folder, found nothing at {folder}")
        given = (*(() if part else ("--rooflint-golden",)), "--rooflint-specs")
        options = (f"{option}={folder}" for option in given for folder in config.getoption(option))
        self.suite = Suite.of(golden, specs, options, _parsed(config), part)
        self.found = Spool()
        """Verdicts as JSON: of failing claims, of all where evidence is written."""
        config.add_cleanup(self.found.close)
        self.notes: list[dict[str, Any]] = []
        """Problems of the run itself."""
        self.watched: list[Watched] = []
        """Predictions that the project asks for; made where evidence is written."""
        self.proposed: list[str] = []
        is_quiet = config.getoption("--rooflint-only") and config.get_verbosity() < 0
        self.fold = Fold(self._alike, self._last, is_quiet)
        config.pluginmanager.register(self.fold, "rooflint-fold")
        if hasattr(config, "workerinput"):
            config.stash[TOGETHER] = together = Together(config)
            config.pluginmanager.register(Packed(together), "rooflint-packed")
        elif config.getoption("dist", "no") != "no":
            config.pluginmanager.register(Apart(config), "rooflint-apart")
        self.told = set[Repair]()
        self.guard = Guard(self.suite)
        store = None if part or hasattr(config, "workerinput") else config.getoption("--rooflint-store")
        there = Path(config.invocation_params.dir, store or "")
        self.first = _first().First(self.suite, there / _first().FILE) if store else None
        """What is judged first; None where nothing is kept, for a part of the suite, and in a worker of xdist."""
        self.started = datetime.datetime.now(tz=datetime.UTC)
        self.clock = time.monotonic()
        config.stash[SUITE] = self.suite
        config.stash[COLLECTED] = []
        config.stash[fold.UNREAD] = {}
        noting = _first().noting if config.getoption("--rooflint-store") else unnoted
        excuses = not config.getoption("runxfail", default=False)
        config.stash[TRIAL] = Trial(self.suite, excuses=excuses, laws=True, noting=noting)

    # ---- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Say how claims fare that depend on what changed since the last run, before anything is collected."""
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if self.first and terminal and not is_selected(self.config):
            excuses = not self.config.getoption("runxfail", default=False)
            here = self.config.invocation_params.dir
            for sentence in self.first.sentences(here, excuses=excuses, blocks=not self._is_compared):
                terminal.write_line(sanitized(sentence))
            if self.config.get_verbosity() <= 0:
                self.fold.told, self.fold.problems = self.first.told, self.first.problems

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect golden files below the configured folders, but for names that pytest had better not print."""
        is_safe = "\n" not in str(file_path) and sanitized(str(file_path)) == str(file_path)
        return GoldenFile.from_parent(parent, path=file_path) if is_safe and self.suite.owns(file_path) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a golden folder with its closed world, wherever the whole folder is run."""
        real = Path(os.path.realpath(path))  # also for a loop of links
        return GoldenFolder.from_parent(parent, path=path) if real in self.suite.golden_roots else None

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(self, collection_path: Path) -> Any:
        """Note a golden folder that pytest ignores."""
        ignored = yield
        self.guard.saw(collection_path, ignored)
        return ignored

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Any:
        """Note the claims that were collected; those that are not deselected must be judged."""
        ours = [item for item in items if isinstance(item, ClaimItem | ProblemItem)]
        collected = self.config.stash[COLLECTED]
        if not any("::" in argument for argument in self.config.args):  # with ids named, not even all of a file
            ours += collected
        if self.config.getoption("lf", default=False):  # what did not fail is left out while files are collected
            self.guard.deselect({*collected} - {*items})
        collected.clear()
        if ours and self.config.getoption("testmon", default=None):
            raise pytest.UsageError(
                "pytest-testmon follows Python files only and would skip claims whose YAML changed; "
                "run the golden suite without --testmon"
            )
        self.is_alone = all(isinstance(item, ClaimItem | ProblemItem) for item in items)
        if not self.config.getoption("collectonly"):
            self.guard.expect(ours)
        result = yield
        left = {key_of(item.claim) for item in items if isinstance(item, ClaimItem)}
        judged = left if self.guard.is_part(self.config) else None
        self.config.stash[TRIAL] = replace(self.config.stash[TRIAL], judged=judged, say=fold.searching(self.config))
        return result

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> str | list[str]:
        """What `rooflint check` is about to judge; pytest itself counts on its last line only."""
        if not self.fold.quiet or not items or self.config.getoption("collectonly"):
            return []
        claims = sum(isinstance(item, ClaimItem) for item in items)
        others = len(items) - claims
        return f"judging {counted(claims, 'claim')}" + (
            f", and the suite as a whole in {counted(others, 'test')}" if others else ""
        )

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Note what -k, --lf or a plugin leaves out."""
        self.guard.deselect(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Gather what an xdist worker ignored and collected."""
        self.guard.merge(getattr(node, "workeroutput", {}))

    # ---- verdicts

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Put the verdict on the report as plain data, which xdist sends to the controller."""
        report = yield
        if call.when == "call" and isinstance(item, ClaimItem) and VERDICT in item.stash:
            verdict = item.stash[VERDICT]
            report.rooflint_brief = vars(verdict.brief())
            report.rooflint_short = verdict.short if report.failed and not verdict.unread else ""
            if verdict.outcome == "fail" or self.config.getoption("--rooflint-evidence"):
                report.rooflint_verdict = self.results.plain(verdict, call.duration)
            if fixed := self._fixed(verdict):
                report.rooflint_fixed = fixed
            if report.skipped and not hasattr(report, "wasxfail"):
                report.longrepr = (shown(item.path), None, f"{verdict.outcome}: {verdict.reason}")
            if asked := item.stash.get(ASKED, None):
                report.rooflint_asked = asked
            if verdict.unread:
                report.rooflint_unread = [[shown(one.file), str(one)] for one in verdict.unread]
            if verdict.unread and report.failed and not verdict.is_at_fault:
                report.rooflint_problems = rows(verdict.unread)
                report.rooflint_waits = f"{verdict.outcome}: {verdict.reason}"
        if call.when == "call" and isinstance(item, ProblemItem):
            report.rooflint_problems = rows(item.problems)
            report.rooflint_unread = [[shown(one.file), str(one)] for one in item.problems]
            report.rooflint_remarks = item.remarks
        mark(item, call, report)
        if call.when == "teardown" and VERDICT in item.stash:
            del item.stash[VERDICT]  # pytest keeps every item
        return report

    @property
    def _is_compared(self) -> bool:
        """Whether a comparison with a base follows, which prints failures by their cause."""
        return bool(self.config.getoption("--rooflint-compared")) and self.config.get_verbosity() < 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        """Gather verdicts in the process that sees the whole run; a worker of xdist sends them there."""
        if not hasattr(self.config, "workerinput"):
            self._gather(report)
        return (yield)

    def _gather(self, report: pytest.TestReport) -> None:
        self.fold.gather(report)
        fold.once(self.config, report)
        if report.when == "setup":  # where a claim is run again, its last verdict counts
            self.found.forget(report.nodeid)
        if found := report.__dict__.pop("rooflint_verdict", None):  # pytest keeps every report
            self.found.put(report.nodeid, found)
        if self.first and (asked := report.__dict__.pop("rooflint_asked", None)):
            self.first.asked.append(asked)
        self.fold.fixed |= dict(report.__dict__.pop("rooflint_fixed", ()))
        self.guard.gather(report)

    def _fixed(self, verdict: Verdict) -> list[tuple[Repair, list[str]]]:
        """What the repair of the first cause fixes, told once in each process."""
        cause = verdict.causes[0] if verdict.outcome == "fail" and verdict.causes else None
        if cause is None or cause.fact is None or cause.repair is None or not cause.fixes:
            return []
        key = (shown(cause.fact.file), cause.fact.line, cause.fact.path, cause.repair)
        if key in self.told:
            return []
        self.told.add(key)
        return [(key, self.config.stash[TRIAL].fixed(cause))]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that validated nothing, then write the patch and the evidence."""
        if hasattr(self.config, "workerinput"):  # a worker of xdist
            self.config.workeroutput.update(self.guard.shared())  # type: ignore[attr-defined]
            return
        for sentence in self.guard.sentences(ended=has_ended(session)):
            self._note(sentence, session)
        briefs = self.guard.briefs
        undecided = briefs and all(one.outcome == "not validated here" for one in briefs)
        if undecided and session.exitstatus == pytest.ExitCode.OK:
            self._note("every claim was skipped; nothing was validated", session)
        patch, evidence = (self.config.getoption(f"--rooflint-{name}") for name in ("propose", "evidence"))
        try:
            if patch is not None:
                self.proposed = self.results.propose(patch)
        except OSError as error:
            self._note(str(error), session)
        try:
            if evidence:
                self.watched = self._watched(session)
                self.results.write(
                    evidence,
                    self.problems,
                    started=self.started,
                    duration_s=time.monotonic() - self.clock,
                    exit_status=int(session.exitstatus),
                    deselected=self.guard.left_out,
                    watched=self.watched,
                    fixed=self.fold.fixed,
                )
        except OSError as error:
            self._note(str(error), session)

        if (
            self.first
            and self.first.asked
            and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)  # and not interrupted
            and has_ended(session)
            and not is_selected(self.config)
            and not self.guard.left_out
        ):
            with suppress(OSError):  # the next run has nothing to judge first
                self.first.keep(is_red=session.exitstatus != pytest.ExitCode.OK)

    def _watched(self, session: pytest.Session) -> "list[Watched]":
        try:
            return self.results.watched()
        except InputError as error:
            for one in error.problems:
                self._note(one.message, session, shown(one.file), one.line)
            return []

    def _note(self, what: str, session: pytest.Session, file: str | None = None, line: int | None = None) -> None:
        """A problem of the run itself, which fails it."""
        self.notes.append({"what": what, "file": file, "line": line})
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Let pytest look for exceptions that were raised where none could be caught, as it does last.

        Claims open nothing that may raise one; tests of others may, so all garbage is looked at where there are some.
        """
        if self.is_alone:
            gc.freeze()
        else:
            gc.unfreeze()

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print totals that pytest does not have, and annotate on GitHub."""
        self.fold.restore(terminalreporter)
        briefs, problems = self.guard.briefs, self.problems
        if not briefs and not problems:
            return
        if left_out := self.guard.left_out:
            items = counted(len(self.guard.expected), "item")
            terminalreporter.write_line(
                f"deselected: {left_out} of {items} of the golden suite; this is not a full check"
            )
        for line in () if self._is_compared else (*fold.totals(briefs), *fold.reasons(terminalreporter)):
            terminalreporter.write_line(sanitized(line))
        for line in self.proposed:
            terminalreporter.write_line(sanitized(line))
        for problem in self.notes:
            place = f"{problem['file']}:{problem['line']}  " if problem["file"] else ""
            terminalreporter.write_line(sanitized(f"{place}{problem['what']}"), red=True)
        if self.config.getoption("--rooflint-compared"):
            return
        for one in self.watched:
            terminalreporter.write_line(sanitized(one.text))
        if os.environ.get("GITHUB_ACTIONS") == "true" and (self.found or problems):
            for line in self.results.annotations(problems, self.fold.fixed):
                terminalreporter.write_line(line)

    def _alike(self, fixed: Mapping[Repair, list[str]]) -> list[list[str]]:
        """Ids of failures with one cause; none with `-v`, which prints each in full."""
        return [] if self.config.get_verbosity() > 0 else self.results.alike(fixed)

    def _last(self) -> list[str]:
        """The repairs that settle the failures."""
        return self.results.repairs(self.fold.fixed) if self.found and not self._is_compared else []

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Problems of files, of the closed world and of the run itself, as rows of the evidence."""
        return self.guard.problems + self.notes

    @cached_property
    def results(self) -> "Results":
        """What is made of the verdicts found."""
        from pytest_rooflint.session.results import Results  # noqa: PLC0415  # a passing run does without

        return Results(self.config, self.suite, self.found)
