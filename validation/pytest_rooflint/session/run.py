"""One pytest run: golden files are collectors, claims are items; verdicts are gathered, and nothing passes unjudged.

Uses pytest's public API only.
"""

import datetime
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rooflint.golden import expect, kinds
from pytest_rooflint.golden.kinds import Claim, Context
from pytest_rooflint.session.spool import Spool
from pytest_rooflint.suite.dependencies import Noted, noted
from pytest_rooflint.suite.judge import Trial, judge
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Brief, Verdict
from rooflint.base.errors import InputError, Problem, listed, shown
from rooflint.base.parsed import Parsed
from rooflint.base.text import sanitized

if TYPE_CHECKING:
    from pytest_rooflint.session.results import Results

SUITE = pytest.StashKey[Suite]()
TRIAL = pytest.StashKey[Trial]()
VERDICT = pytest.StashKey[Verdict]()
ASKED = pytest.StashKey[dict[str, Any]]()


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
                _is_own_folder(path)
                and (folder := self.ihook.pytest_collect_directory(path=path, parent=self)) is not None
            ):
                yield folder
        yield ClosedWorldItem.from_parent(self, name="closed-world")


def _is_own_folder(path: Path) -> bool:
    """Whether a folder is none of those that it is in, by a link that would never end."""
    return not (path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve()))


YOUNG = 50_000
"""Objects that are allocated while claims are read and judged before the garbage collector looks at them: of the
default of 700, nearly all are claims and facts that stay."""


def _collect_rarely() -> Callable[[], None]:
    """Let the garbage collector run less often, until the returned function is called."""
    before = gc.get_threshold()
    gc.set_threshold(max(YOUNG, before[0]) if before[0] else 0, *before[1:])
    return partial(gc.set_threshold, *before)


class GoldenFile(pytest.File):
    """Collector of the claims in a golden file."""

    def setup(self) -> None:
        """Called before the first claim of the file is judged."""
        self.addfinalizer(_collect_rarely())

    def collect(self) -> Iterator[pytest.Item]:
        """One item per claim; one failing item for an invalid file."""
        often = _collect_rarely()
        try:
            yield from self._items()
        finally:
            often()

    def _items(self) -> Iterator[pytest.Item]:
        self.config.stash[SUITE].visited.add(self.path.resolve())
        try:
            claims = self.config.stash[SUITE].read(self.path).claims
        except InputError as error:
            yield ProblemItem.from_parent(self, name="readable", problems=list(error.problems))
            return
        for claim in claims:
            yield ClaimItem.from_parent(self, name=claim.id, claim=claim)


def _first() -> ModuleType:
    """The module that judges first what changed."""
    from pytest_rooflint.session import first  # noqa: PLC0415  # a run that keeps nothing does without

    return first


class ClaimItem(pytest.Item):
    """Test of one claim."""

    def __init__(self, *, claim: Claim, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    def runtest(self) -> None:
        """Judge the claim and report its outcome to pytest."""
        suite = self.config.stash[SUITE]
        excuses = not self.config.getoption("runxfail", default=False)
        context, started = self._context(suite), time.process_time()
        verdict = judge(self.claim, self.nodeid, context, excuses=excuses, ranking=self.config.stash[TRIAL].ranked)
        if isinstance(context, Noted):
            seconds = time.process_time() - started
            self.stash[ASKED] = _first().noted_of(self.claim, context.dependencies, suite.registry, seconds)
        verdict = replace(verdict, options=suite.options, started_in=self.config.invocation_params.dir)
        self.stash[VERDICT] = verdict
        self.user_properties += verdict.properties()
        if verdict.outcome == "fail":
            raise FailedClaim(verdict.text())
        if verdict.outcome == "xfail":
            pytest.xfail(verdict.reason or "")
        if verdict.outcome != "pass":
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")

    def _context(self, suite: Suite) -> Context:
        """What the claim is judged on; it notes what is asked for where that is kept."""
        if not self.config.getoption("--rooflint-store"):
            return suite
        try:
            return noted(suite)
        except InputError:  # a file name that is not an id
            return suite

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's text; a traceback only for bugs of rooflint."""
        if VERDICT in self.stash and isinstance(excinfo.value, FailedClaim | pytest.xfail.Exception):
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
        from pytest_rooflint.suite import world  # noqa: PLC0415  # NumPy, which most single files do without

        suite = self.config.stash[SUITE]
        self.problems = world.problems(suite)
        if not self.config.getoption("lf", default=False):  # it skips what did not fail
            self.problems += world.unvisited(suite, self.path)
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


# ---- the run


_SELECTING = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "stepwise", "collectonly")
"""Options of pytest with which a run does not judge every claim."""


def _is_selected(config: pytest.Config) -> bool:
    """Whether the run judges some of the claims only."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return named or any(config.getoption(option, default=None) for option in _SELECTING)


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

    def __init__(self, config: pytest.Config, golden: list[Path], specs: list[Path]) -> None:
        self.config = config
        for name, folders in (("rooflint_golden", golden), ("rooflint_specs", specs)):
            for folder in folders:
                if not folder.is_dir():
                    raise pytest.UsageError(f"{name}: want a folder, found nothing at {folder}")
        given = ("--rooflint-golden", "--rooflint-specs")
        options = (f"{option}={folder}" for option in given for folder in config.getoption(option))
        self.suite = Suite.of(golden, specs, options, _parsed(config))
        self.briefs: list[Brief] = []
        self.found = Spool()
        """Verdicts as JSON: of failing claims, of all where evidence is written."""
        config.add_cleanup(self.found.close)
        self.problems: list[dict[str, Any]] = []
        self.proposed: list[str] = []
        self.guard = Guard(self.suite)
        store = None if hasattr(config, "workerinput") else config.getoption("--rooflint-store")
        there = Path(config.invocation_params.dir, store or "")
        self.first = _first().First(self.suite, there / _first().FILE) if store else None
        """What is judged first; None where nothing is kept, and in a worker of xdist."""
        self.started = datetime.datetime.now(tz=datetime.UTC)
        self.clock = time.monotonic()
        config.stash[SUITE] = self.suite
        config.stash[TRIAL] = Trial(self.suite, excuses=not config.getoption("runxfail", default=False))

    # ---- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Say how claims fare that depend on what changed since the last run, before anything is collected."""
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if self.first and terminal and not _is_selected(self.config):
            excuses = not self.config.getoption("runxfail", default=False)
            for sentence in self.first.sentences(self.config.invocation_params.dir, excuses=excuses):
                terminal.write_line(sentence)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect golden files below the configured folders, nothing else."""
        return GoldenFile.from_parent(parent, path=file_path) if self.suite.owns(file_path) else None

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

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Gather the ignored folders of an xdist worker."""
        self.guard.folders |= set(getattr(node, "workeroutput", {}).get(IGNORED_FOLDERS, ()))

    # ---- verdicts

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Put the verdict on the report as plain data, which xdist sends to the controller."""
        report = yield
        if call.when == "call" and isinstance(item, ClaimItem) and VERDICT in item.stash:
            verdict = item.stash[VERDICT]
            report.rooflint_brief = asdict(verdict.brief())
            if verdict.outcome == "fail" or self.config.getoption("--rooflint-evidence"):
                report.rooflint_verdict = self.results.plain(verdict, call.duration)
            report.rooflint_asked = item.stash.get(ASKED, None)
        if call.when == "call" and isinstance(item, ProblemItem):
            report.rooflint_problems = item.rows()
        mark(item, call, report)
        if call.when == "teardown" and VERDICT in item.stash:
            del item.stash[VERDICT]  # pytest keeps every item
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather verdicts in the process that sees the whole run; a worker of xdist sends them there."""
        if hasattr(self.config, "workerinput"):
            return
        if brief := getattr(report, "rooflint_brief", None):
            self.briefs.append(Brief(**brief))
        if found := report.__dict__.pop("rooflint_verdict", None):  # pytest keeps every report
            self.found.append(found)
        if self.first and (asked := report.__dict__.pop("rooflint_asked", None)):
            self.first.asked.append(asked)
        self.problems += getattr(report, "rooflint_problems", [])
        self.guard.gather(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that validated nothing, then write the patch and the evidence."""
        if hasattr(self.config, "workerinput"):  # a worker of xdist
            self.config.workeroutput[IGNORED_FOLDERS] = sorted(self.guard.folders)  # type: ignore[attr-defined]
            return
        for sentence in self.guard.sentences():
            self._note(sentence, session)
        undecided = self.briefs and all(one.outcome == "not validated here" for one in self.briefs)
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
                self.results.write(
                    evidence,
                    self.problems,
                    started=self.started,
                    duration_s=time.monotonic() - self.clock,
                    exit_status=int(session.exitstatus),
                )
        except OSError as error:
            self._note(str(error), session)

        if (
            self.first
            and self.first.asked
            and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)  # and not interrupted
            and not (_is_selected(self.config) or session.shouldfail or session.shouldstop)
        ):
            with suppress(OSError):  # the next run has nothing to judge first
                self.first.keep()

    def _note(self, what: str, session: pytest.Session) -> None:
        """A problem of the run itself, which fails it."""
        self.problems.append({"what": what, "file": None, "line": None})
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print totals that pytest does not have, and annotate on GitHub."""
        if not self.briefs and not self.problems:
            return
        if count := sum(one.uncorroborated for one in self.briefs):
            terminalreporter.write_line(
                f"{count} of {len(self.briefs)} claims are uncorroborated: no second document backs them"
            )
        if summary := expect.loose_summary(
            sum(one.loose for one in self.briefs), sum(one.stale for one in self.briefs)
        ):
            terminalreporter.write_line(summary)
        for line in self.results.repairs() if self.found else ():
            terminalreporter.write_line(sanitized(line), bold=True)
        for line in self.proposed:
            terminalreporter.write_line(sanitized(line))
        for problem in self.problems:
            if problem["file"] is None:
                terminalreporter.write_line(sanitized(problem["what"]), red=True)
        if os.environ.get("GITHUB_ACTIONS") == "true" and (self.found or self.problems):
            for line in self.results.annotations(self.problems):
                terminalreporter.write_line(line)

    @cached_property
    def results(self) -> "Results":
        """What is made of the verdicts found."""
        from pytest_rooflint.session.results import Results  # noqa: PLC0415  # a passing run does without

        return Results(self.config, self.suite, self.found)
