"""Evidence: everything that reports read, one JSON document with a versioned schema, from verdicts and facts only."""

import datetime
import json
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_rooflint.evidence.devices import device
from pytest_rooflint.evidence.power import power
from pytest_rooflint.evidence.recordings import measured
from pytest_rooflint.evidence.replays import replays
from pytest_rooflint.evidence.silicon import silicon
from pytest_rooflint.golden.expect import counts as counts_of_slack
from pytest_rooflint.suite.suite import Suite
from pytest_rooflint.suite.trial import places
from pytest_rooflint.suite.verdict import is_lonely
from rooflint.base.errors import RooflintError
from rooflint.base.files import write_whole
from rooflint.base.git import state_of
from rooflint.devices.hardware import Hardware
from rooflint_measure.identity.machine import fingerprint

SCHEMA = "rooflint-evidence/1"

#: Worst first: a cell of the coverage matrix shows the first of these that any of its claims has.
_WORST = ("fail", "undecided", "xfail", "not validated here", "pass")

Row = Mapping[str, Any]


def write(file: Path, evidence: Row) -> None:
    """Write it whole or not at all."""
    write_whole(file, json.dumps(evidence, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def add(file: Path, key: str, found: Row) -> None:
    """Put what was found later into the evidence of a run. Raises RooflintError for a file that is none."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        document[key] = found
    except (OSError, ValueError, TypeError) as error:
        raise RooflintError(f"{file}: want the evidence of a run to add to: {error}") from error
    write(file, document)


def build(
    suite: Suite,
    rows: Sequence[Row],
    problems: Sequence[Row],
    *,
    started: datetime.datetime,
    duration_s: float,
    command: str,
    exit_status: int,
) -> dict[str, Any]:
    """The document."""
    hardware = list(_readable(suite))
    rows = sorted(rows, key=lambda row: (row["file"], row["line"], row["id"]))  # workers report in any order
    problems = sorted(problems, key=lambda problem: (str(problem["file"]), problem["line"] or 0, problem["what"]))
    return {
        "schema": SCHEMA,
        "run": {
            "started": started.isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 3),
            "command": command,
            "exit_status": exit_status,
            "git": state_of(Path.cwd()),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("rooflint", "pytest", "numpy")},
            },
            "ci": _ci(),
        },
        "machine": fingerprint(),
        "counts": _counts(rows, problems, hardware),
        "problems": problems,
        "places": places(rows),
        "verdicts": rows,
        "devices": [
            device(one, [row for row in rows if row["hardware"] == one.id and not row["replay"]]) for one in hardware
        ],
        "coverage": list(_coverage(rows)),
        "replays": [replay for one in suite.goldens() if one.spec.given for replay in replays(one, suite, rows)],
        "power": power(hardware, suite.registry),
        "measured": measured(suite),
        "silicon": silicon(suite, rows, hardware),
    }


def _readable(suite: Suite) -> Iterator[Hardware]:
    for name in suite.devices():
        try:
            yield suite.registry.get(name)
        except RooflintError:
            continue  # a red closed world names it


def _counts(rows: Sequence[Row], problems: Sequence[Row], hardware: Sequence[Hardware]) -> dict[str, int]:
    outcomes = Counter(row["outcome"] for row in rows)
    return {
        **{outcome: outcomes.get(outcome, 0) for outcome in _WORST},
        "uncorroborated": sum(map(is_lonely, rows)),
        **counts_of_slack(rows),
        "replays": sum(row["replay"] for row in rows),
        "problems": len(problems),
        "claims": len(rows),
        "devices": len(hardware),
    }


# ---- conditions of the run


def _ci() -> dict[str, str] | None:
    names = ("GITHUB_REPOSITORY", "GITHUB_WORKFLOW", "GITHUB_RUN_ID", "GITHUB_REF", "GITHUB_SHA")
    found = {name: os.environ[name] for name in names if name in os.environ}
    return found or None


# ---- coverage


def _coverage(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    cells: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        devices = (
            [row["hardware"]]
            if row["hardware"]
            else sorted({other.partition("@")[0] for other in row["others"] if "/" in other})
        )
        for name in devices if not row["replay"] else ():
            cells[name, row["precision"] or "—", row["kind"]].append(row)
    for (name, precision, kind), claims in sorted(cells.items()):
        outcomes = {row["outcome"] for row in claims}
        yield {
            "hardware": name,
            "precision": precision,
            "kind": kind,
            "claims": len(claims),
            "corroborated": sum(row["corroborated"] for row in claims),
            "outcome": next(outcome for outcome in _WORST if outcome in outcomes),
        }
