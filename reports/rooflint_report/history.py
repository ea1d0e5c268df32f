"""history.jsonl: what each commit of the main branch measured of itself, a line a commit, and read back."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from rooflint.base import strict_json
from rooflint.base.errors import InputError, RooflintError, refuse
from rooflint.base.files import read_text, write_atomically
from rooflint_report.evidence import Evidence
from rooflint_report.findings import MeasuredTimes
from rooflint_report.verdicts import Record

LONGEST_LINE = 2000
"""Bytes of a line, its end not counted."""
MAX_BYTES = 64 * 1024**2
COUNTED = ("pass", "fail", "xfail", "uncorroborated", "claims", "devices")
FACTS = 3
"""Changed facts of a line, those that move most predictions first."""
_LONGEST = 160
"""Characters of a text."""


class HistoryLine(Record):
    """One commit."""

    schema_: Literal["rooflint-history/1"] = "rooflint-history/1"
    sha: str = Field(pattern="^[0-9a-f]{7,64}$")
    date: str
    """When the suite ran: ISO 8601, in UTC."""
    base: str | None = None
    """The commit that the facts are compared with."""
    facts: list[str] = Field(default_factory=list)
    """Changed facts, with file and line."""
    counts: dict[str, int]
    mutation: dict[str, float] = Field(default_factory=dict)
    """Shares of mutants that are killed, `score`, and killed by an independent source, `independent`. [1]"""
    unguarded: int | None = None
    """Figures without a claim and without a reason."""
    kernel_errors: dict[str, float] = Field(default_factory=dict)
    """Mean error of kernel times on devices that the constants were fitted without, by topic, precision and family."""
    watched: dict[str, float | None] = Field(default_factory=dict)
    """Latency of the predictions of `rooflint_watch`. [s]"""
    measured: MeasuredTimes | None = None
    dropped: int = 0
    """Values that had no room: the last benchmarks, then the last kernel errors."""


def line_of(evidence: Sequence[Evidence], measured: MeasuredTimes | None = None) -> HistoryLine:
    """The line of a commit; each part from the first evidence that has it. Raises RooflintError without a commit."""
    run = evidence[0].run
    if run.git is None:
        raise RooflintError("want the evidence of a commit; this run was outside of a git checkout")
    if run.git.dirty:
        raise RooflintError(f"want the evidence of a commit; {run.git.commit[:12]} had uncommitted changes")
    compared = next((one.benchmarks for one in evidence if one.benchmarks), None)
    mutation = next((one.mutation for one in evidence if one.mutation), None)
    delta = next((one.delta for one in evidence if one.delta), None)
    scores = next((one.silicon.scores for one in evidence if one.silicon and one.silicon.scores), [])
    moved = sorted(delta.changes if delta else (), key=lambda one: -(one.predictions or 0))
    shares = {"score": mutation.score, "independent": mutation.independent} if mutation else {}
    return HistoryLine(
        sha=run.git.commit,
        date=run.started,
        base=delta.old.commit if delta else None,
        facts=[_cut(f"{one.file}:{one.line} {one.text}" if one.line else one.text) for one in moved[:FACTS]],
        counts={name: evidence[0].counts.of(name) for name in COUNTED},
        mutation={name: _rounded(share) for name, share in shares.items() if share is not None},
        unguarded=mutation.guards.unguarded - mutation.guards.reasoned if mutation else None,
        kernel_errors={f"{one.topic} {one.precision} {one.family}": _rounded(one.error) for one in scores},
        watched={_cut(one.watch): one.head for one in next((one.watched for one in evidence if one.watched), [])},
        measured=measured or (compared.times if compared else None),
    )


def times_of(file: Path, canary: str) -> MeasuredTimes:
    """Least times of what pytest-benchmark wrote; the canary is the first whose name has that text.

    Raises InputError for another file.
    """
    content = strict_json.parse(read_text(file, MAX_BYTES), file)
    try:
        rows = {_cut(one["name"]): _rounded(_seconds(one["stats"]["min"])) for one in content["benchmarks"]}
        info = content["machine_info"]
        cpu = info.get("cpu", {})
        machine = f"{cpu.get('brand_raw') or info['machine']}, {cpu.get('count') or 1} × {info['machine']}"
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise refuse(file, 1, f"want what --benchmark-json writes ({error!r})") from error
    return MeasuredTimes(
        machine=_cut(machine), canary=next((name for name in rows if canary and canary in name), None), seconds=rows
    )


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"want seconds, found {value!r}")
    return float(value)


def _rounded(value: float) -> float:
    """Four digits, which is more than any noise leaves."""
    return float(f"{value:.4g}")


def _cut(text: str) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"


# ---- the file


def as_line(found: HistoryLine) -> str:
    """One line of JSON of at most LONGEST_LINE bytes; what has no room is dropped and counted."""
    while len((text := _json(found)).encode()) > LONGEST_LINE:
        found = _shorter(found)
    return text


def _json(found: HistoryLine) -> str:
    HistoryLine.model_rebuild()  # a deferred record has no aliases before it is built
    content = found.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return json.dumps({"schema": found.schema_, **content}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _shorter(found: HistoryLine) -> HistoryLine:
    dropped = {"dropped": found.dropped + 1}
    if found.measured and (names := [name for name in found.measured.seconds if name != found.measured.canary]):
        kept = {name: value for name, value in found.measured.seconds.items() if name != names[-1]}
        return found.model_copy(update={**dropped, "measured": found.measured.model_copy(update={"seconds": kept})})
    for part in ("kernel_errors", "facts", "watched"):
        if several := getattr(found, part):
            less = several[:-1] if isinstance(several, list) else dict([*several.items()][:-1])
            return found.model_copy(update={**dropped, part: less})
    raise RooflintError(f"the line of {found.sha[:12]} is longer than {LONGEST_LINE} bytes")


def add(file: Path, found: HistoryLine) -> bool:
    """Put a commit at the end of the file, or in place of its line; whether it is new. Raises InputError.

    The file is written beside and renamed.
    """
    lines = read(file) if file.exists() else []
    shas = [one.sha for one in lines]
    if found.sha in shas:
        lines[shas.index(found.sha)] = found
    else:
        lines.append(found)
    write_atomically(file, "".join(f"{as_line(one)}\n" for one in lines))
    return found.sha not in shas


def read(file: Path) -> list[HistoryLine]:
    """All lines. Raises InputError for what `rooflint history add` did not write."""
    found = []
    for number, text in enumerate(read_text(file, MAX_BYTES).split("\n"), 1):
        if not text.strip():
            continue
        try:
            found.append(HistoryLine.model_validate(strict_json.parse(text, file)))
        except InputError as error:
            raise refuse(file, number, f"want a line of history: {error.problems[0].message}") from error
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False)
            place = ".".join(map(str, first["loc"]))
            raise refuse(file, number, f"want a line of history: {place}: {first['msg']}") from error
    return found


# ---- series


def series_of(lines: Sequence[HistoryLine]) -> Mapping[str, list[float | None]]:
    """What is computed of each commit, by name: the values in the order of the lines, None where one has none."""
    rows = [
        {
            **{name: float(one.counts[name]) for name in ("fail", "xfail", "uncorroborated") if name in one.counts},
            **({} if one.unguarded is None else {"unguarded": float(one.unguarded)}),
            **{f"mutation {name}": share for name, share in one.mutation.items()},
            **{f"error {name}": value for name, value in one.kernel_errors.items()},
            **{name: value for name, value in one.watched.items() if value is not None},
        }
        for one in lines
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def measured_series(lines: Sequence[HistoryLine]) -> Mapping[tuple[str, str], list[tuple[int, float, float | None]]]:
    """Times by machine and benchmark: (position of the line, seconds, the canary's seconds); without the canary."""
    found: dict[tuple[str, str], list[tuple[int, float, float | None]]] = {}
    for position, line in enumerate(lines):
        times = line.measured
        for name, seconds in times.seconds.items() if times else ():
            if times and name != times.canary:
                canary = times.seconds.get(times.canary) if times.canary else None
                found.setdefault((times.machine, name), []).append((position, seconds, canary))
    return found
