"""Devices in the evidence: peaks and memories beside what was published, other facts, documents, and power."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rooflint.answers import tdp_registry as tdp
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.facts import Fact, Ladder, weakest
from rooflint.base.precision import format_rate
from rooflint.base.units import BYTES_PER_S, format_quantity
from rooflint.coefficients.library import Coefficients
from rooflint.energy.model import Energies
from rooflint.energy.power import PowerCheck, UnknownPower, survey
from rooflint.hardware.device import ComputeUnit, Hardware, Memory
from rooflint.hardware.registry import Registry
from rooflint.hardware.system import System
from rooflint_report import evidence, findings
from rooflint_report.verdicts import Verdict


class _Keys:
    """Short keys for the documents of one device, unique although files may use the same key for different ones."""

    def __init__(self) -> None:
        self.documents: dict[str, evidence.Document] = {}

    def of(self, fact: Fact) -> str:
        source = fact.source
        entry = evidence.Document.from_object(source)
        key, count = source.key, 2
        while key in self.documents and self.documents[key] != entry:
            key, count = f"{source.key}{count}", count + 1
        self.documents[key] = entry
        return key


def device(hardware: Hardware, verdicts: Sequence[Verdict]) -> evidence.Device:
    """The device with the verdicts on it."""
    keys = _Keys()
    peaks = [
        _peak(unit, precision, verdicts, keys) for unit in hardware.units.values() for precision in derivable(unit)
    ]
    memories = [_memory(memory, verdicts, keys) for memory in hardware.memories.values()]
    derived = [*(one.factors for one in peaks), *(one.factors for one in memories)]
    shown_already = {factor.path for factors in derived for factor in factors}
    rest = [_fact(fact, keys) for path, fact in hardware.facts.items() if path not in shown_already]
    points = [_operating_point(hardware, mode, keys) for mode in hardware.operating_points]
    return evidence.Device.from_object(
        hardware,
        process=_display(hardware, "process"),
        tdp=_display(hardware, "tdp"),
        launched=int(hardware.facts["launched"].value) if "launched" in hardware.facts else None,
        file=shown(hardware.file),
        sources=keys.documents,
        peaks=peaks,
        memories=memories,
        main_memory=hardware.main_memory().name if any(one.bandwidth for one in memories) else None,
        facts=rest,
        operating_points=points,
        undisclosed=[evidence.Undisclosed(path=path, reason=reason) for path, reason in hardware.undisclosed.items()],
    )


def system(found: System, verdicts: Sequence[Verdict]) -> evidence.System:
    """The system with the verdicts on it."""
    keys, hardware = _Keys(), found.hardware
    bandwidths = [
        evidence.SystemBandwidth(
            name=name,
            value=ladder.result,
            display=format_quantity(ladder.result, BYTES_PER_S),
            formula=ladder.formula,
            factors=_factors(ladder, keys),
            published=[_published(one) for one in verdicts if one.kind == "link" and _bandwidth_of(one) == name],
        )
        for name, ladder in found.bandwidths().items()
    ]
    shown_already = {factor.path for one in bandwidths for factor in one.factors}
    return evidence.System.from_object(
        hardware,
        device=found.device.id,
        count=found.count,
        topology=found.joined.topology,
        link=found.joined.link,
        file=shown(hardware.file),
        sources=keys.documents,
        bandwidths=bandwidths,
        facts=[_fact(fact, keys) for path, fact in hardware.facts.items() if path not in shown_already],
    )


def _bandwidth_of(one: Verdict) -> str:
    """What a claim on a link says: `nvlink one-way, per device`."""
    return f"{one.subject}, per {one.per}" if one.per else one.subject


def _display(hardware: Hardware, path: str) -> str | None:
    return hardware.facts[path].display if path in hardware.facts else None


def derivable(unit: ComputeUnit) -> Iterator[str]:
    """Precisions of which the peak of a unit can be derived."""
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
        sparse = format_rate(unit.derivation(precision, sparse=True).result, precision)
    return evidence.Peak(
        unit=unit.name,
        precision=precision,
        at=None,
        value=ladder.result,
        display=format_rate(ladder.result, precision),
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
        bandwidth=ladder.result if memory.has_bandwidth else None,
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
    found = (fact.path, keys.of(fact), fact.source.grade, fact.where, shown(fact.file), fact.line)
    return dict(zip(_CITED, found, strict=True))


def _fact(fact: Fact, keys: _Keys) -> evidence.Fact:
    return evidence.Fact(display=fact.display, **_cited(fact, keys))


def _published(one: Verdict) -> evidence.Published:
    expected = one.expected
    source = expected.source if expected else None
    return evidence.Published.from_object(
        one,
        display=(expected.text if expected else "") + (f" per {one.per}" if one.per else ""),
        document=source.document if source else None,
        grade=source.grade if source else None,
        where=source.where if source else None,
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
                display=format_rate(unit.peak_ops_per_s(precision), precision),
            )
            for unit in there.units.values()
            for precision in derivable(unit)
        ],
    )


# ---- Power in the evidence: of each device, at its own point and in each mode, the load that is hardest to sustain


Found = PowerCheck | UnknownPower


def power(devices: Iterable[Hardware], registry: Registry) -> findings.Power:
    """Power at the printed peak, highest typical ratio first; devices without an answer are listed with the reason."""
    energies = Energies(Coefficients(registry))
    found = [_surveyed(point, energies) for one in devices for point in one.points()]
    able = [[one for one in several if isinstance(one, PowerCheck)] for several in found]
    worst = tdp.hardest_loads([one for several in able for one in several])
    counts = {several[0].load.device: len(several) for several in able if several}
    unknown = {several[0].device: len(several) for several in map(_missing, found) if several}
    return findings.Power(
        sentences=list(tdp.told(worst)) if worst else [],
        verdicts=tdp.counted(worst),
        loads=[_load(one, counts[one.load.device], unknown.get(one.load.device, 0)) for one in worst],
        not_known=[row for several in found if several == (missing := _missing(several)) for row in _reasons(missing)],
        caveats=list(tdp.CAVEATS),
    )


def _surveyed(point: Hardware, energies: Energies) -> list[Found]:
    """All loads of a device; a file of energies that cannot be read counts as a missing figure here."""
    try:
        return survey(point, energies)
    except InputError as error:
        return [UnknownPower(point, str(error.problems[0]))]


def _missing(several: list[Found]) -> list[UnknownPower]:
    return [one for one in several if isinstance(one, UnknownPower)]


def limit(one: PowerCheck) -> findings.PowerLimit:
    """What the device is rated for."""
    return findings.PowerLimit(path=one.limit.path, value=one.limit_w, display=tdp.watts(one.limit_w))


def _load(one: PowerCheck, known: int, unknown: int) -> findings.PowerLoad:
    return findings.PowerLoad.from_object(
        one,
        device=one.load.hardware.id,
        at=one.load.hardware.mode,
        unit=one.load.unit,
        precision=one.load.precision,
        limit=limit(one),
        typical_display=tdp.watts(one.typical_w),
        ratio_display=tdp.ratio_shown(one.ratio),
        ends_display=tdp.ends(one),
        exhausting_display=tdp.at_the_limit(one),
        fitting_clock_display=tdp.fitting_clock(one),
        known=known,
        unknown=unknown,
    )


def _reasons(missing: list[UnknownPower]) -> list[findings.PowerNotKnown]:
    """A row for each reason of a point without any answer; equal ones of its loads once."""
    point = missing[0].hardware
    return [
        findings.PowerNotKnown(device=point.id, at=point.mode, reason=reason)
        for reason in dict.fromkeys(one.reason for one in missing)
    ]
