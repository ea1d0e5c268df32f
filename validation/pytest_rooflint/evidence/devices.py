"""A device in the evidence: peaks and memories as ladders beside what was published, other facts, documents."""

from collections.abc import Iterator, Sequence
from typing import Any

from rooflint.base.errors import RooflintError, shown
from rooflint.base.facts import Fact, Ladder, weakest
from rooflint.base.precision import rate_unit
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, format_quantity
from rooflint.hardware.device import ComputeUnit, Hardware, Memory
from rooflint_report import evidence
from rooflint_report.verdicts import Verdict


class _Keys:
    """Short keys for the documents of one device, unique although files may use the same key for different ones."""

    def __init__(self) -> None:
        self.documents: dict[str, evidence.Document] = {}

    def of(self, fact: Fact) -> str:
        source = fact.source
        entry = evidence.Document(document=source.document, grade=source.grade, url=source.url)
        key, count = source.key, 2
        while key in self.documents and self.documents[key] != entry:
            key, count = f"{source.key}{count}", count + 1
        self.documents[key] = entry
        return key


def device(hardware: Hardware, verdicts: Sequence[Verdict]) -> evidence.Device:
    """The device with the verdicts on it."""
    keys = _Keys()
    peaks = [
        _peak(unit, precision, verdicts, keys) for unit in hardware.units.values() for precision in _derivable(unit)
    ]
    memories = [_memory(memory, verdicts, keys) for memory in hardware.memories.values()]
    derived = [*(one.factors for one in peaks), *(one.factors for one in memories)]
    shown_already = {factor.path for factors in derived for factor in factors}
    rest = [_fact(fact, keys) for path, fact in hardware.facts.items() if path not in shown_already]
    points = [_operating_point(hardware, mode, keys) for mode in hardware.operating_points]
    return evidence.Device(
        id=hardware.id,
        name=hardware.name,
        kind=hardware.kind,
        architecture=hardware.architecture,
        scope=hardware.scope,
        die=hardware.die,
        process=_display(hardware, "process"),
        tdp=_display(hardware, "tdp"),
        launched=int(hardware.facts["launched"].value) if "launched" in hardware.facts else None,
        notes=hardware.notes,
        file=shown(hardware.file),
        sources=keys.documents,
        peaks=peaks,
        memories=memories,
        facts=rest,
        operating_points=points,
        undisclosed=[evidence.Undisclosed(path=path, reason=reason) for path, reason in hardware.undisclosed.items()],
    )


def _display(hardware: Hardware, path: str) -> str | None:
    return hardware.facts[path].display if path in hardware.facts else None


def _derivable(unit: ComputeUnit) -> Iterator[str]:
    for precision in unit.precisions:
        try:
            unit.peak_ops_per_s(precision)
        except RooflintError:
            continue  # undisclosed, and listed so
        yield precision


def _peak(unit: ComputeUnit, precision: str, verdicts: Sequence[Verdict], keys: _Keys) -> evidence.Peak:
    ladder = unit.derivation(precision)
    sparse = None
    if f"sparsity.{precision}" in unit.facts:
        sparse = format_quantity(unit.derivation(precision, sparse=True).result, OPS_PER_S, unit=rate_unit(precision))
    return evidence.Peak(
        unit=unit.name,
        precision=precision,
        at=None,
        value=ladder.result,
        display=format_quantity(ladder.result, OPS_PER_S, unit=rate_unit(precision)),
        sparse_display=sparse,
        formula=ladder.formula,
        factors=_factors(ladder, keys),
        weakest_grade=weakest(ladder.facts),
        published=[
            _published(one)
            for one in verdicts
            if one.kind == "peak" and (one.unit, one.precision) == (unit.name, precision) and not (one.at or one.sum)
        ],
    )


def _memory(memory: Memory, verdicts: Sequence[Verdict], keys: _Keys) -> evidence.Memory:
    ladder = memory.derivation() if memory.has_bandwidth else Ladder(())
    capacity = memory.facts.get("capacity")
    return evidence.Memory(
        name=memory.name,
        bandwidth_display=format_quantity(ladder.result, BYTES_PER_S) if memory.has_bandwidth else None,
        capacity_display=capacity.display if capacity else None,
        formula=ladder.formula,
        factors=_factors(ladder, keys),
        weakest_grade=weakest(ladder.facts),
        published=[
            _published(one) for one in verdicts if one.kind in ("bandwidth", "capacity") and one.subject == memory.name
        ],
    )


def _factors(ladder: Ladder, keys: _Keys) -> list[evidence.Factor]:
    return [
        evidence.Factor(
            name=factor.name,
            display=factor.display,
            **(_cited(factor.fact, keys) if factor.fact else dict.fromkeys(_CITED)),
        )
        for factor in ladder.factors
    ]


_CITED = ("path", "source", "grade", "where", "file", "line")


def _cited(fact: Fact, keys: _Keys) -> dict[str, Any]:
    """Where a fact stands, and which document says it."""
    found = (fact.path, keys.of(fact), fact.source.grade, fact.where, shown(fact.file), fact.line)
    return dict(zip(_CITED, found, strict=True))


def _fact(fact: Fact, keys: _Keys) -> evidence.Fact:
    return evidence.Fact(display=fact.display, **_cited(fact, keys))


def _published(one: Verdict) -> evidence.Published:
    expected = one.expected
    source = expected.source if expected else None
    return evidence.Published(
        display=(expected.text if expected else "") + (f" per {one.per}" if one.per else ""),
        document=source.document if source else None,
        grade=source.grade if source else None,
        where=source.where if source else None,
        sparse=one.sparse,
        kind=one.kind,
        outcome=one.outcome,
        corroborated=one.corroborated,
        ratio=one.ratio,
        file=one.file,
        line=one.line,
    )


def _operating_point(hardware: Hardware, mode: str, keys: _Keys) -> evidence.OperatingPoint:
    there = hardware.at(mode)
    return evidence.OperatingPoint(
        name=mode,
        overrides=[_fact(fact, keys) for fact in hardware.operating_points[mode].values()],
        peaks=[
            evidence.PointPeak(
                unit=unit.name,
                precision=precision,
                display=format_quantity(unit.peak_ops_per_s(precision), OPS_PER_S, unit=rate_unit(precision)),
            )
            for unit in there.units.values()
            for precision in _derivable(unit)
        ],
    )
