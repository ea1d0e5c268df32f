"""Evidence: everything that the report reads, as one JSON document, from verdicts and facts only."""

import datetime
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_rooflint.evidence.devices import device, power
from pytest_rooflint.evidence.recordings import measured
from pytest_rooflint.evidence.replays import replays
from pytest_rooflint.evidence.silicon import silicon
from pytest_rooflint.evidence.verdicts import places
from pytest_rooflint.suite.suite import Suite
from rooflint.base.files import write_atomically
from rooflint.base.git import state_of
from rooflint.hardware.device import Hardware
from rooflint_measure.identity import fingerprint
from rooflint_report.evidence import SCHEMA, Cell, Commit, Counts, Evidence, Problem, Run, as_json
from rooflint_report.verdicts import Outcome, Record, Verdict

GITHUB = ("GITHUB_REPOSITORY", "GITHUB_WORKFLOW", "GITHUB_RUN_ID", "GITHUB_REF", "GITHUB_SHA")
"""Variables of a CI run that the evidence keeps."""

#: Worst first: a cell of the coverage matrix shows the first of these that any of its claims has.
_WORST: tuple[Outcome, ...] = ("fail", "undecided", "xfail", "not validated here", "pass")


def write(file: Path, evidence: Record) -> None:
    """Write it whole or not at all."""
    write_atomically(file, as_json(evidence))


def build(
    suite: Suite,
    verdicts: Sequence[Verdict],
    problems: Sequence[Mapping[str, Any]],
    *,
    started: datetime.datetime,
    duration_s: float,
    command: str,
    exit_status: int,
) -> Evidence:
    """The document."""
    hardware = list(suite.readable())
    verdicts = sorted(verdicts, key=lambda one: (one.file, one.line, one.id))  # workers report in any order
    claims = defaultdict[str | None, list[Verdict]](list)
    for one in verdicts:
        claims[None if one.replay else one.hardware].append(one)
    problems = sorted(problems, key=lambda problem: (str(problem["file"]), problem["line"] or 0, problem["what"]))
    return Evidence(
        schema_=SCHEMA,
        run=_run(started, duration_s, command, exit_status),
        machine=fingerprint(),
        counts=_counts(verdicts, problems, hardware),
        problems=[Problem(**problem) for problem in problems],
        places=places(verdicts),
        verdicts=verdicts,
        devices=[device(one, claims[one.id]) for one in hardware],
        coverage=list(_coverage(verdicts)),
        replays=[replay for one in suite.goldens() if one.spec.given for replay in replays(one, suite, verdicts)],
        power=power(hardware, suite.registry),
        measured=measured(suite),
        silicon=silicon(suite, verdicts, hardware),
    )


def _run(started: datetime.datetime, duration_s: float, command: str, exit_status: int) -> Run:
    commit = state_of(Path.cwd())
    return Run(
        started=started.isoformat(timespec="seconds"),
        duration_s=round(duration_s, 3),
        command=command,
        exit_status=exit_status,
        git=Commit(**commit) if commit else None,
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in ("rooflint", "pytest", "numpy")},
        },
        ci={name: os.environ[name] for name in GITHUB if name in os.environ} or None,
    )


def _counts(verdicts: Sequence[Verdict], problems: Sequence[object], hardware: Sequence[Hardware]) -> Counts:
    outcomes = Counter(one.outcome for one in verdicts)
    tolerances = [one.tolerance for one in verdicts if one.tolerance]
    return Counts(
        pass_=outcomes["pass"],
        fail=outcomes["fail"],
        xfail=outcomes["xfail"],
        not_validated_here=outcomes["not validated here"],
        undecided=outcomes["undecided"],
        uncorroborated=sum(one.uncorroborated for one in verdicts),
        loose=sum(one.loose for one in tolerances),
        stale=sum(one.stale is not None for one in tolerances),
        replays=sum(one.replay for one in verdicts),
        problems=len(problems),
        claims=len(verdicts),
        devices=len(hardware),
    )


def _coverage(verdicts: Sequence[Verdict]) -> Iterator[Cell]:
    cells: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for one in verdicts:
        for name in one.devices if not one.replay else ():
            cells[name, one.precision or "—", one.kind].append(one)
    for (name, precision, kind), claims in sorted(cells.items()):
        outcomes = {one.outcome for one in claims}
        yield Cell(
            hardware=name,
            precision=precision,
            kind=kind,
            claims=len(claims),
            corroborated=sum(one.corroborated for one in claims),
            outcome=next(outcome for outcome in _WORST if outcome in outcomes),
        )
