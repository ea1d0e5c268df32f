"""One pytest run: collect golden files, gather verdicts, write the evidence, sum up, annotate on GitHub."""

import datetime
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rooflint.golden import expect
from pytest_rooflint.session import items
from pytest_rooflint.session.items import SUITE, TRIAL, VERDICT, ClaimItem, GoldenFile, GoldenFolder, ProblemItem
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.trial import Trial
from pytest_rooflint.suite.verdict import Brief

if TYPE_CHECKING:
    from rooflint_report.verdicts import Cause, Verdict

LIMIT = 10
"""Annotations that GitHub shows per step."""


def worst(verdicts: "Sequence[Verdict]", problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """GitHub workflow commands: unreadable files first, then the largest factors."""
    found = [(math.inf, _problem(problem)) for problem in problems]
    found += [(_distance(one.ratio), _claim(one)) for one in verdicts if one.outcome == "fail"]
    yield from (line for _, line in sorted(found, key=lambda pair: -pair[0])[:LIMIT])


def _distance(ratio: float | None) -> float:
    return abs(math.log(ratio)) if ratio and math.isfinite(ratio) and ratio > 0 else math.inf


def _claim(one: "Verdict") -> str:
    cause = _cause(one.causes[0]) if one.causes else ""
    expected = f"expected {one.expected.display}" if one.expected else ""
    obtained = f", obtained {one.obtained.display}" if one.obtained else ""
    ratio = f", ratio {one.ratio_text}" if one.ratio_text else ""
    reason = f"; {one.reason}" if one.reason else ""
    return _command(one.file, one.line, one.headline, f"{expected}{obtained}{ratio}{cause}{reason}")


def _cause(cause: "Cause") -> str:
    mend = f" ({cause.file}:{cause.line}: write {cause.repair})" if cause.repair else ""
    return f"; {cause.text}{mend}"


def _problem(problem: Mapping[str, Any]) -> str:
    return _command(problem["file"], problem["line"], "rooflint", problem["what"])


def _command(file: str | None, line: int | None, title: str, message: str) -> str:
    place = f"file={_property(file)},line={line}," if file else ""
    return f"::error {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---- the run


def _options(config: pytest.Config) -> Iterator[str]:
    """The folders given on the command line, for a rerun."""
    for option in ("--rooflint-golden", "--rooflint-specs"):
        yield from (f"{option}={folder}" for folder in config.getoption(option))


class Run:
    """The plugin where golden folders are configured; with xdist, the controller gathers the verdicts."""

    def __init__(self, config: pytest.Config, golden: list[Path], specs: list[Path]) -> None:
        self.config = config
        for name, folders in (("rooflint_golden", golden), ("rooflint_specs", specs)):
            for folder in folders:
                if not folder.is_dir():
                    raise pytest.UsageError(f"{name}: want a folder, found nothing at {folder}")
        self.suite = Suite.of(golden, specs, _options(config))
        self.briefs: list[Brief] = []
        self.found: list[dict[str, Any]] = []
        """Verdicts as plain data: of failing claims, of all where evidence is written."""
        self.problems: list[dict[str, Any]] = []
        self.proposed: list[str] = []
        self.guard = items.Guard(self.suite)
        self.started = datetime.datetime.now(tz=datetime.UTC)
        self.clock = time.monotonic()
        config.stash[SUITE] = self.suite
        config.stash[TRIAL] = Trial(self.suite, excuses=not config.getoption("runxfail", default=False))

    # ---- collection

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect golden files below the configured folders, nothing else."""
        return GoldenFile.from_parent(parent, path=file_path) if self.suite.owns(file_path) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a golden folder with its closed world, wherever the whole folder is run."""
        return GoldenFolder.from_parent(parent, path=path) if path.resolve() in self.suite.golden_roots else None

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(self, collection_path: Path) -> Any:
        """Note a golden folder that pytest ignores."""
        ignored = yield
        self.guard.saw(collection_path, ignored)
        return ignored

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Gather the ignored folders of an xdist worker."""
        self.guard.folders |= set(getattr(node, "workeroutput", {}).get(items.IGNORED_FOLDERS, ()))

    # ---- verdicts

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Put the verdict on the report as plain data, which xdist sends to the controller."""
        report = yield
        if call.when == "call" and isinstance(item, ClaimItem) and VERDICT in item.stash:
            verdict = item.stash[VERDICT]
            report.rooflint_brief = asdict(verdict.brief())
            if verdict.outcome == "fail" or self.config.getoption("--rooflint-evidence"):
                from pytest_rooflint.evidence.verdicts import record  # noqa: PLC0415

                report.rooflint_verdict = record(verdict, round(call.duration, 6)).model_dump(mode="json")
        if call.when == "call" and isinstance(item, ProblemItem):
            report.rooflint_problems = item.rows()
        items.mark(item, call, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather verdicts in the process that sees the whole run."""
        if brief := getattr(report, "rooflint_brief", None):
            self.briefs.append(Brief(**brief))
        if found := getattr(report, "rooflint_verdict", None):
            self.found.append(found)
        self.problems += getattr(report, "rooflint_problems", [])
        self.guard.gather(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that validated nothing, then write the patch and the evidence."""
        if self._is_worker():
            self.config.workeroutput[items.IGNORED_FOLDERS] = sorted(self.guard.folders)  # type: ignore[attr-defined]
            return
        for sentence in self.guard.sentences():
            self._note(sentence, session)
        undecided = self.briefs and all(one.outcome == "not validated here" for one in self.briefs)
        if undecided and session.exitstatus == pytest.ExitCode.OK:
            self._note("every claim was skipped; nothing was validated", session)
        if (patch := self.config.getoption("--rooflint-propose")) is not None:
            self._propose(patch, session)
        target = self.config.getoption("--rooflint-evidence")
        if target:
            self._write(target, session)

    def _propose(self, target: str, session: pytest.Session) -> None:
        """Write the proposed patch; the outcome of the run stays as it is."""
        from pytest_rooflint.repair import plan  # noqa: PLC0415  # only where it is asked for

        folder, root = self.config.invocation_params.dir, self.config.rootpath
        place = plan.Place(folder, root, Path(folder, target) if target else root / plan.DEFAULT)
        excuses = not self.config.getoption("runxfail", default=False)
        try:
            self.proposed = plan.write(self.suite, self.verdicts, place, excuses=excuses)
        except OSError as error:
            self._note(f"{place.file}: cannot write the patch: {error.strerror}", session)

    def _note(self, what: str, session: pytest.Session) -> None:
        """A problem of the run itself, which fails it."""
        self.problems.append({"what": what, "file": None, "line": None})
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    def _write(self, target: str, session: pytest.Session) -> None:
        """Write the evidence of the run."""
        from pytest_rooflint.evidence import build  # noqa: PLC0415  # only where it is written

        try:
            found = build.build(
                self.suite,
                self.verdicts,
                self.problems,
                started=self.started,
                duration_s=time.monotonic() - self.clock,
                command=" ".join(("pytest", *map(str, self.config.invocation_params.args))),
                exit_status=int(session.exitstatus),
            )
            build.write(Path(self.config.invocation_params.dir, target), found)
        except OSError as error:
            self._note(f"{target}: cannot write the evidence: {error.strerror}", session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print totals that pytest does not have, and annotate on GitHub."""
        if not self.briefs and not self.problems:
            return
        if count := sum(one.uncorroborated for one in self.briefs):
            terminalreporter.write_line(
                f"{count} of {len(self.briefs)} claims are uncorroborated: no second document backs them"
            )
        if said := expect.loose_summary(sum(one.loose for one in self.briefs), sum(one.stale for one in self.briefs)):
            terminalreporter.write_line(said)
        for line in self._repairs():
            terminalreporter.write_line(line, bold=True)
        for line in self.proposed:
            terminalreporter.write_line(line)
        for problem in self.problems:
            if problem["file"] is None:
                terminalreporter.write_line(problem["what"], red=True)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in worst(self.verdicts, self.problems):
                terminalreporter.write_line(line)

    @cached_property
    def verdicts(self) -> "list[Verdict]":
        """The verdicts of the run as typed records; read it only when all are there."""
        if not self.found:
            return []
        from rooflint_report.verdicts import Verdict  # noqa: PLC0415  # pydantic models: only where something is read

        return [Verdict.model_validate(one) for one in self.found]

    def _repairs(self) -> list[str]:
        """Repairs that several failing claims ask for."""
        if not self.verdicts:
            return []
        from pytest_rooflint.evidence.verdicts import sentences  # noqa: PLC0415

        return [*sentences(self.verdicts)]
