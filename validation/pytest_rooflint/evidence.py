"""Evidence: everything that reports read, one JSON document with a versioned schema, from verdicts and facts only."""

import datetime
import json
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_rooflint.golden_schema import Golden
from pytest_rooflint.places import places
from pytest_rooflint.replay import Assumed, assumptions, uses
from pytest_rooflint.suite import Suite
from rooflint.diagnosis import ratio_text
from rooflint.errors import RooflintError, shown
from rooflint.facts import Fact, Ladder, weakest
from rooflint.hardware import ComputeUnit, Hardware, Memory
from rooflint.precision import rate_unit
from rooflint.units import BYTES_PER_S, OPS_PER_S, format_quantity
from rooflint.whole_file import write_whole
from rooflint_measure import machine

SCHEMA = "rooflint-evidence/1"

#: Worst first: a cell of the coverage matrix shows the first of these that any of its claims has.
_WORST = ("fail", "undecided", "xfail", "not validated here", "pass")

Row = Mapping[str, Any]


def write(file: Path, evidence: Row) -> None:
    """Write it whole or not at all."""
    write_whole(file, json.dumps(evidence, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


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
            "git": machine.commit(Path.cwd()),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("rooflint", "pytest", "numpy")},
            },
            "ci": _ci(),
        },
        "machine": machine.fingerprint(),
        "counts": _counts(rows, problems, hardware),
        "problems": problems,
        "places": places(rows),
        "verdicts": rows,
        "devices": [
            _device(one, [row for row in rows if row["hardware"] == one.id and not row["replay"]]) for one in hardware
        ],
        "coverage": list(_coverage(rows)),
        "replays": [replay for one in suite.goldens() if one.spec.given for replay in _replays(one, suite, rows)],
    }


def _readable(suite: Suite) -> Iterator[Hardware]:
    for device in suite.devices():
        try:
            yield suite.registry.get(device)
        except RooflintError:
            continue  # a red closed world names it


def _counts(rows: Sequence[Row], problems: Sequence[Row], hardware: Sequence[Hardware]) -> dict[str, int]:
    outcomes = Counter(row["outcome"] for row in rows)
    return {
        **{outcome: outcomes.get(outcome, 0) for outcome in _WORST},
        "uncorroborated": sum(
            row["outcome"] == "pass" and not row["corroborated"] and not row["replay"] for row in rows
        ),
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


# ---- devices


class _Keys:
    """Short keys for the documents of one device, unique although files may use the same key for different ones."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}

    def of(self, fact: Fact) -> str:
        entry = {"document": fact.source.document, "grade": fact.source.grade, "url": fact.source.url}
        key, count = fact.source.key, 2
        while key in self.documents and self.documents[key] != entry:
            key, count = f"{fact.source.key}{count}", count + 1
        self.documents[key] = entry
        return key


def _device(hardware: Hardware, rows: Sequence[Row]) -> dict[str, Any]:
    keys = _Keys()
    peaks = [_peak(unit, precision, rows, keys) for unit in hardware.units.values() for precision in _derivable(unit)]
    memories = [_memory(memory, rows, keys) for memory in hardware.memories.values()]
    shown_already = {factor["path"] for part in (*peaks, *memories) for factor in part["factors"]}
    rest = [_fact(fact, keys) for path, fact in hardware.facts.items() if path not in shown_already]
    points = [_operating_point(hardware, mode, keys) for mode in hardware.operating_points]
    return {
        "id": hardware.id,
        "name": hardware.name,
        "kind": hardware.kind,
        "architecture": hardware.architecture,
        "scope": hardware.scope,
        "die": hardware.die,
        "process": _display(hardware, "process"),
        "tdp": _display(hardware, "tdp"),
        "launched": int(hardware.facts["launched"].value) if "launched" in hardware.facts else None,
        "notes": hardware.notes,
        "file": shown(hardware.file),
        "sources": keys.documents,
        "peaks": peaks,
        "memories": memories,
        "facts": rest,
        "operating_points": points,
        "undisclosed": [{"path": path, "reason": reason} for path, reason in hardware.undisclosed.items()],
    }


def _display(hardware: Hardware, path: str) -> str | None:
    return hardware.facts[path].display if path in hardware.facts else None


def _derivable(unit: ComputeUnit) -> Iterator[str]:
    for precision in unit.precisions:
        try:
            unit.peak_ops_per_s(precision)
        except RooflintError:
            continue  # undisclosed, and listed so
        yield precision


def _peak(unit: ComputeUnit, precision: str, rows: Sequence[Row], keys: _Keys) -> dict[str, Any]:
    ladder = unit.derivation(precision)
    sparse = None
    if f"sparsity.{precision}" in unit.facts:
        sparse = format_quantity(unit.derivation(precision, sparse=True).result, OPS_PER_S, unit=rate_unit(precision))
    quoted = [
        row for row in rows if row["kind"] == "peak" and row["subject"] == f"{unit.name} {precision}" and not row["at"]
    ]
    return {
        "unit": unit.name,
        "precision": precision,
        "at": None,
        "value": ladder.result,
        "display": format_quantity(ladder.result, OPS_PER_S, unit=rate_unit(precision)),
        "sparse_display": sparse,
        **_laddered(ladder, quoted, keys),
    }


def _memory(memory: Memory, rows: Sequence[Row], keys: _Keys) -> dict[str, Any]:
    ladder = memory.derivation() if memory.has_bandwidth else Ladder(())
    quoted = [row for row in rows if row["kind"] in ("bandwidth", "capacity") and row["subject"] == memory.name]
    capacity = memory.facts.get("capacity")
    return {
        "name": memory.name,
        "bandwidth_display": format_quantity(ladder.result, BYTES_PER_S) if memory.has_bandwidth else None,
        "capacity_display": capacity.display if capacity else None,
        **_laddered(ladder, quoted, keys),
    }


def _laddered(ladder: Ladder, quoted: Iterable[Row], keys: _Keys) -> dict[str, Any]:
    return {
        "formula": ladder.formula,
        "factors": [
            {"name": factor.name, "display": factor.display, **(_cited(factor.fact, keys) if factor.fact else _UNCITED)}
            for factor in ladder.factors
        ],
        "weakest_grade": weakest(ladder.facts),
        "published": [_published(row) for row in quoted],
    }


_UNCITED = {"path": None, "source": None, "grade": None, "where": None, "file": None, "line": None}


def _cited(fact: Fact, keys: _Keys) -> dict[str, Any]:
    return {
        "path": fact.path,
        "source": keys.of(fact),
        "grade": fact.source.grade,
        "where": fact.where,
        "file": shown(fact.file),
        "line": fact.line,
    }


def _fact(fact: Fact, keys: _Keys) -> dict[str, Any]:
    return {"display": fact.display, **_cited(fact, keys)}


def _published(row: Row) -> dict[str, Any]:
    source = row["expected"]["source"] or {}
    return {
        "display": row["expected"]["text"] + (f" per {row['per']}" if row["per"] else ""),
        "document": source.get("document"),
        "grade": source.get("grade"),
        "where": source.get("where"),
        "sparse": row["sparse"],
        "kind": row["kind"],
        "outcome": row["outcome"],
        "corroborated": row["corroborated"],
        "ratio": row["ratio"],
        "file": row["file"],
        "line": row["line"],
    }


def _operating_point(hardware: Hardware, mode: str, keys: _Keys) -> dict[str, Any]:
    there = hardware.at(mode)
    peaks = [
        {
            "unit": unit.name,
            "precision": precision,
            "display": format_quantity(unit.peak_ops_per_s(precision), OPS_PER_S, unit=rate_unit(precision)),
        }
        for unit in there.units.values()
        for precision in _derivable(unit)
    ]
    return {
        "name": mode,
        "overrides": [_fact(fact, keys) for fact in hardware.operating_points[mode].values()],
        "peaks": peaks,
    }


# ---- coverage


def _coverage(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    cells: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        devices = (
            [row["hardware"]]
            if row["hardware"]
            else sorted({name.partition("@")[0] for name in row["others"] if "/" in name})
        )
        for device in devices if not row["replay"] else ():
            cells[device, row["precision"] or "—", row["kind"]].append(row)
    for (device, precision, kind), claims in sorted(cells.items()):
        outcomes = {row["outcome"] for row in claims}
        yield {
            "hardware": device,
            "precision": precision,
            "kind": kind,
            "claims": len(claims),
            "corroborated": sum(row["corroborated"] for row in claims),
            "outcome": next(outcome for outcome in _WORST if outcome in outcomes),
        }


# ---- disputed figures


def _replays(golden: Golden, suite: Suite, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    mine = {row["id"]: row for row in rows if row["file"] == shown(golden.file)}
    try:
        assumed = suite.assumed(golden.claims[0])
    except RooflintError:
        return  # the claims of the file are red and say why
    for label, one in assumed.items():
        claims = [claim for claim in golden.claims if label in uses(claim)]
        yield {
            "id": f"{golden.file.stem}-{label}",
            "title": f"{golden.title or golden.file.stem}: {label}",
            "label": label,
            "group": golden.title or golden.file.stem,
            "file": shown(golden.file),
            "line": golden.document.line(("given", label)),
            "document": golden.spec.source.document if golden.spec.source else None,
            "hardware": one.sourced.id,
            "at": one.spec.at,
            "assumptions": _assumptions(golden, one),
            "figures": [
                _figure(claim.subject, mine[claim.id], one, golden, suite) for claim in claims if claim.id in mine
            ],
        }


def _assumptions(golden: Golden, one: Assumed) -> list[dict[str, Any]]:
    compute = golden.spec.compute or "fp32"
    try:
        return list(assumptions(one, compute, golden.spec.storage or compute))
    except RooflintError as error:
        return [
            {
                "what": "peak",
                "assumed": str(error),
                "sourced": None,
                "factor": None,
                "factor_text": None,
                "parts": [],
                "source": None,
                "why": None,
            }
        ]


def _figure(subject: str, row: Row, one: Assumed, golden: Golden, suite: Suite) -> dict[str, Any]:
    sourced, factor = _sourced_figure(subject, one, golden, suite)
    obtained = row["obtained"]
    return {
        "what": subject,
        "kind": row["kind"],
        "printed": row["expected"]["text"],
        "replayed": obtained["display"] if obtained else row["reason"],
        "sourced": sourced,
        "factor_text": ratio_text(obtained["value"] / factor) if factor and obtained else None,
        "outcome": row["outcome"],
        "file": row["file"],
        "line": row["line"],
    }


def _sourced_figure(subject: str, one: Assumed, golden: Golden, suite: Suite) -> tuple[str | None, float | None]:
    """The same figure by the documented facts, where it can be had."""
    from pytest_rooflint.claims import figure  # noqa: PLC0415  # a kind, imported when its claims are there

    name, _, label = subject.partition(" ")
    compute = golden.spec.compute
    if label != one.label or compute is None:
        return None, None
    try:
        return figure.sourced(name, one, compute, lambda: suite.workload(golden.claims[0]))
    except RooflintError:
        return None, None
