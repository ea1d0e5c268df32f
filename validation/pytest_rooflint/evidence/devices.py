"""A device in the evidence: peaks and memories as ladders beside what was published, other facts, documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rooflint.base.errors import RooflintError, shown
from rooflint.base.facts import Fact, Ladder, weakest
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, format_quantity
from rooflint.devices.hardware import ComputeUnit, Hardware, Memory

Row = Mapping[str, Any]


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


def device(hardware: Hardware, rows: Sequence[Row]) -> dict[str, Any]:
    """The device with the verdicts on it."""
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
