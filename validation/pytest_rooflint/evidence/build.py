"""Evidence: everything that the report reads, as one JSON document, from verdicts and facts only."""

import datetime
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any

from pytest_rooflint.evidence.devices import device, power, system
from pytest_rooflint.evidence.recordings import measured
from pytest_rooflint.evidence.replays import replays, underived
from pytest_rooflint.evidence.silicon import KIND, silicon
from pytest_rooflint.evidence.verdicts import places
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.verdict import Repair
from rooflint.base.files import write_pieces_atomically
from rooflint.base.git import state_of
from rooflint.hardware.device import Hardware
from rooflint_measure.identity import fingerprint
from rooflint_report.differences import Watched
from rooflint_report.evidence import SCHEMA, Cell, Commit, Counts, Device, Evidence, Problem, Run, pieces
from rooflint_report.hosting import hosting
from rooflint_report.verdicts import Each, Outcome, Record, Verdict

GITHUB = ("GITHUB_REPOSITORY", "GITHUB_WORKFLOW", "GITHUB_RUN_ID", "GITHUB_REF", "GITHUB_SHA")
"""Variables of a CI run that the evidence keeps."""

#: Worst first: a cell of the coverage matrix shows the first of these that any of its claims has.
_WORST: tuple[Outcome, ...] = ("fail", "undecided", "xfail", "not validated here", "pass")

#: A failing claim about more devices than these is pooled.
_MOST_COMPARED = 3


def write(file: Path, evidence: Record) -> None:
    """Write it whole or not at all."""
    write_pieces_atomically(file, (piece.encode() for piece in pieces(evidence)))


@dataclass(frozen=True, slots=True)
class _Brief:
    """What is counted of a verdict, which takes a fiftieth of its memory."""

    place: tuple[str, int, str]
    position: int
    outcome: Outcome
    kind: str
    precision: str | None
    devices: tuple[str, ...]
    hardware: str | None
    """The device that it is shown with; None for a replay."""
    corroborated: bool
    uncorroborated: bool
    replay: bool
    loose: bool
    stale: bool

    @classmethod
    def of(cls, position: int, one: Verdict) -> "_Brief":
        return cls(
            (intern(one.file), one.line, one.id),
            position,
            one.outcome,
            intern(one.kind),
            one.precision and intern(one.precision),
            () if one.replay else tuple(map(intern, one.devices)),
            intern(one.hardware) if one.hardware and not one.replay else None,
            one.corroborated,
            one.uncorroborated,
            one.replay,
            bool(one.tolerance and one.tolerance.loose),
            bool(one.tolerance and one.tolerance.stale),
        )


def build(
    suite: Suite,
    verdicts: Sequence[Verdict],
    problems: Sequence[Mapping[str, Any]],
    *,
    started: datetime.datetime,
    duration_s: float,
    command: str,
    exit_status: int,
    deselected: int = 0,
    watched: Sequence[Watched] = (),
    fixed: Mapping[Repair, Sequence[str]] = MappingProxyType({}),
) -> Evidence:
    """The document; its devices and verdicts are made when they are asked for."""
    hardware = list(suite.reported())
    briefs, whole = list[_Brief](), list[tuple[tuple[str, int, str], Verdict]]()
    for position, one in enumerate(verdicts):
        briefs.append(brief := _Brief.of(position, one))
        if one.outcome == "fail" or one.replay or one.kind == KIND:
            whole.append((brief.place, one))
    briefs.sort(key=lambda brief: brief.place)  # workers report in any order
    kept = [one for _, one in sorted(whole, key=lambda pair: pair[0])]
    claims = defaultdict[str | None, list[int]](list)
    for brief in briefs:
        claims[brief.hardware].append(brief.position)
    problems = sorted(problems, key=lambda problem: (str(problem["file"]), problem["line"] or 0, problem["what"]))

    def shown(number: int) -> Device:
        one = replace(hardware[number])  # what is worked out for it goes with the copy
        return device(one, [verdicts[position] for position in claims[one.id]])

    return Evidence.model_construct(
        schema_=SCHEMA,
        run=_run(started, duration_s, command, exit_status),
        machine=fingerprint(),
        counts=_counts(briefs, problems, hardware, deselected),
        problems=[Problem(**problem) for problem in problems],
        places=places(kept, fixed),
        verdicts=Each(len(briefs), lambda number: verdicts[briefs[number].position]),
        devices=Each(len(hardware), shown),
        systems=[system(one, [verdicts[position] for position in claims[one.id]]) for one in suite.reported_systems()],
        coverage=list(_coverage(briefs)),
        replays=[replay for one in suite.goldens() if one.spec.given for replay in replays(one, suite, kept)],
        underived=[figure for one in suite.goldens() for figure in underived(one)],
        power=power(hardware, suite.registry),
        measured=measured(suite),
        silicon=silicon(suite, kept, hardware),
        watched=list(watched),
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
        hosting=hosting(),
    )


def _counts(
    briefs: Sequence[_Brief], problems: Sequence[object], hardware: Sequence[Hardware], deselected: int
) -> Counts:
    outcomes = Counter(one.outcome for one in briefs)
    return Counts(
        pass_=outcomes["pass"],
        fail=outcomes["fail"],
        xfail=outcomes["xfail"],
        not_validated_here=outcomes["not validated here"],
        undecided=outcomes["undecided"],
        uncorroborated=sum(one.uncorroborated for one in briefs),
        loose=sum(one.loose for one in briefs),
        stale=sum(one.stale for one in briefs),
        replays=sum(one.replay for one in briefs),
        problems=len(problems),
        claims=len(briefs),
        devices=len(hardware),
        deselected=deselected,
    )


def _coverage(briefs: Sequence[_Brief]) -> Iterator[Cell]:
    """A failing claim about many devices, such as their median error, does not say which of them is wrong: no cell."""
    cells: dict[tuple[str, str, str], list[_Brief]] = defaultdict(list)
    for one in briefs:
        if one.outcome == "fail" and len(one.devices) > _MOST_COMPARED:
            continue
        for name in one.devices:
            cells[name, one.precision or "—", one.kind].append(one)
    for (name, precision, kind), claims in sorted(cells.items(), key=lambda cell: cell[0]):
        outcomes = {one.outcome for one in claims}
        yield Cell(
            hardware=name,
            precision=precision,
            kind=kind,
            claims=len(claims),
            corroborated=sum(one.corroborated for one in claims),
            outcome=next(outcome for outcome in _WORST if outcome in outcomes),
        )
