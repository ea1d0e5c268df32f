"""Documents: those that most facts were read in, and how many claims quote them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rooflint_report.evidence import Device, Evidence, Fact, Factor
from rooflint_report.sections.section import Page

IN_SIGHT = 20


@dataclass
class Cited:
    """One document with what rests on it."""

    document: str
    places: set[tuple[str, int, str]] = field(default_factory=set)
    """Facts, by file, line and path; what devices of an architecture share counts once."""
    devices: set[str] = field(default_factory=set)
    grades: set[str] = field(default_factory=set)
    """How it was read; two specs may differ."""
    claims: int = 0
    """Golden claims that quote it."""


@dataclass(frozen=True)
class Documents:
    """The most cited first."""

    shown: list[Cited]
    count: int


def view(page: Page) -> Documents | None:
    """None where no device cites a document."""
    cited = documents(page.evidence)
    return Documents(cited[:IN_SIGHT], len(cited)) if cited else None


def documents(evidence: Evidence) -> list[Cited]:
    """Documents that facts were read in, by the number of facts, devices and claims."""
    found: dict[str, Cited] = {}
    for device in evidence.devices:
        for fact in _facts(device):
            if fact.source is None or fact.grade is None or fact.file is None or fact.line is None:
                continue
            title = device.sources[fact.source].document
            cited = found.setdefault(title, Cited(title))
            cited.places.add((fact.file, fact.line, fact.path or ""))
            cited.devices.add(device.id)
            cited.grades.add(fact.grade)
    for verdict in evidence.verdicts:
        source = verdict.expected.source if verdict.expected else None
        if source and source.document in found:
            found[source.document].claims += 1
    return sorted(found.values(), key=lambda one: (-len(one.places), -len(one.devices), -one.claims, one.document))


def _facts(device: Device) -> Iterator[Factor | Fact]:
    for peak in device.peaks:
        yield from peak.factors
    for memory in device.memories:
        yield from memory.factors
    yield from device.facts
    for point in device.operating_points:
        yield from point.overrides
