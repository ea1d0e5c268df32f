"""Devices: a sheet each, with its peaks as ladders, its other facts and its documents."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from rooflint.base.log_axis import LogAxis, drawable
from rooflint_report import log_chart
from rooflint_report.differences import Roof, Watched
from rooflint_report.evidence import Device, Document, Evidence, Fact, Factor, Peak, Published, System
from rooflint_report.log_chart import Drawing, Mark
from rooflint_report.sections.coverage import blind_spots
from rooflint_report.sections.section import MARKS, Page, claimed, tally
from rooflint_report.verdicts import Verdict


@dataclass(frozen=True)
class Row:
    """Facts that differ in the last step of their path only: `units.tensor_core.sparsity. bf16, fp16`."""

    path: str
    fact: Fact
    lines: list[int]

    @property
    def span(self) -> str:
        """Lines as a reader looks them up: 24, 24-29, or 24, 27."""
        if not self.lines:
            return ""
        first, last = self.lines[0], self.lines[-1]
        if last - first == len(self.lines) - 1:
            return str(first) if first == last else f"{first}–{last}"
        return ", ".join(map(str, self.lines))


def rows(facts: list[Fact]) -> list[Row]:
    """Merge neighbours that agree in all but the last step of their path and the line."""
    return [_row(list(group)) for _, group in groupby(facts, key=_likeness)]


def _likeness(fact: Fact) -> tuple[str | None, ...]:
    parent = fact.path.rpartition(".")[0] or fact.path
    return parent, fact.display, fact.source, fact.grade, fact.where, fact.file


def _row(facts: list[Fact]) -> Row:
    parent = facts[0].path.rpartition(".")[0]
    steps = [fact.path.rpartition(".")[2] for fact in facts]
    path = facts[0].path if len(facts) == 1 else f"{parent}. {', '.join(steps)}"
    return Row(path, facts[0], sorted({fact.line for fact in facts if fact.line}))


# ---- Ladders: the peaks of one unit share most of their rungs, so the shared ones are written once


@dataclass(frozen=True)
class Step:
    """One peak with the rungs that are its own."""

    peak: Peak
    own: list[Factor]


@dataclass(frozen=True)
class Ladder:
    """One unit at one operating point; a step's own rung stands in for the shared one of its name."""

    unit: str
    at: str | None
    shared: list[Factor]
    steps: list[Step]


def ladders(peaks: list[Peak]) -> list[Ladder]:
    """Peaks grouped by unit and operating point, in the order in which these first occur."""
    order = list(dict.fromkeys((p.unit, p.at) for p in peaks))
    ranked = sorted(peaks, key=lambda p: order.index((p.unit, p.at)))
    return [_ladder(*key, list(group)) for key, group in groupby(ranked, key=lambda p: (p.unit, p.at))]


def _ladder(unit: str, at: str | None, peaks: list[Peak]) -> Ladder:
    """Share what most peaks of the unit stand on; never a rate per clock, it belongs to its precision."""
    names = dict.fromkeys(f.name for p in peaks for f in p.factors if f.name != "macs_per_clock")
    common = [_most_common([f for p in peaks for f in p.factors if f.name == name]) for name in names]
    shared = [factor for factor, count in common if 2 * count > len(peaks)]
    return Ladder(unit, at, shared, [Step(p, [f for f in p.factors if f not in shared]) for p in peaks])


def _most_common(factors: list[Factor]) -> tuple[Factor, int]:
    best = max(factors, key=factors.count)
    return best, factors.count(best)


# ---- The documents of one device, each listed once and cited by a short key


@dataclass(frozen=True)
class Entry:
    """A document under its key; `fact` if the spec names it, otherwise only golden claims do."""

    key: str
    document: Document
    fact: bool


class Register:
    """Keys of the spec's own sources, then c1, c2, … for documents that only claims cite."""

    def __init__(self, device: Device | System, verdicts: list[Verdict]) -> None:
        self.entries: dict[str, Entry] = {}
        self._by_document: dict[str, Entry] = {}
        for key, document in device.sources.items():
            self._add(key, document, fact=True)
        for document in _claimed(device, verdicts):
            if document.document not in self._by_document:
                self._add(self._free_key(), document, fact=False)

    def of_key(self, key: str | None) -> Entry | None:
        """Find the entry that a fact names."""
        return self.entries.get(key or "")

    def of_document(self, document: str | None) -> Entry | None:
        """Find the entry of a document that a claim names."""
        return self._by_document.get(document or "")

    def _add(self, key: str, document: Document, *, fact: bool) -> None:
        entry = Entry(key, document, fact)
        self.entries[key] = entry
        self._by_document.setdefault(document.document, entry)

    def _free_key(self) -> str:
        number = sum(not entry.fact for entry in self.entries.values()) + 1
        while f"c{number}" in self.entries:
            number += 1
        return f"c{number}"


def _claimed(device: Device | System, verdicts: list[Verdict]) -> list[Document]:
    """Documents that claims on the device cite, in the order of the claims."""
    cited = [(p.document, p.grade) for p in _published(device)]
    sources = [v.expected.source for v in verdicts if v.expected]
    cited += [(source.document, source.grade) for source in sources if source]
    return [Document(document=document, grade=grade, url=None) for document, grade in cited if document]


# ---- One sheet per device: its evidence, arranged for reading


def place(file: str | None, line: int | str | None, own: str) -> str:
    """`:14` in the own spec, `hopper-gh100:23` in another file."""
    if not file:
        return ""
    stem = "" if file == own else PurePosixPath(file).stem
    return f"{stem}:{line}" if line else stem


@dataclass(frozen=True)
class Sheet:
    """What the page shows of one device."""

    device: Device
    anchor: str
    register: Register
    ladders: list[Ladder]
    tally: list[tuple[str, int]]
    facts: list[Row]
    others: list[Verdict]
    golden: list[str]
    blind: int
    uncorroborated: int
    traits: list[str]
    roofline: "Roofline | None"

    @property
    def generation(self) -> str | None:
        """The architecture without its vendor, which the device's id names already."""
        return self.device.architecture and self.device.architecture.rpartition("/")[2]

    def place(self, file: str | None, line: int | str | None) -> str:
        """`:14` in the device's own spec, `hopper-gh100:23` in another file."""
        return place(file, line, self.device.file)

    def other_files(self) -> list[str]:
        """Files beside its own that its facts come from."""
        device = self.device
        derived = [*(peak.factors for peak in device.peaks), *(memory.factors for memory in device.memories)]
        files = [factor.file for factors in derived for factor in factors] + [fact.file for fact in device.facts]
        return [file for file in dict.fromkeys(files) if file and file != device.file]


@dataclass(frozen=True)
class DecadeAxis(LogAxis):
    """Whole powers of ten over `width` pixels; the same axis for every device."""

    width: int = 120

    def x(self, value: float | None) -> int | None:
        """Pixel of a positive value, None where there is none."""
        return None if value is None or not drawable(value) else round(self.width * self.share(value))


def decade_axis(values: Iterable[float | None]) -> DecadeAxis:
    """Find the narrowest whole decades that hold all positive values."""
    logs = [math.log10(v) for v in values if v is not None and drawable(v)]
    low = math.floor(min(logs, default=0.0))
    return DecadeAxis(low, max(math.ceil(max(logs, default=1.0)), low + 1))


@dataclass(frozen=True)
class View:
    """All sheets."""

    sheets: list[Sheet]
    decades: DecadeAxis
    """Of all peaks."""

    def dots(self, device: Device) -> list[int]:
        """Pixels of the peaks at its own operating point, each once."""
        found = (self.decades.x(peak.value) for peak in device.peaks if not peak.at)
        return sorted({x for x in found if x is not None})

    @property
    def most_dots(self) -> int:
        """Dots of the device that has most of them."""
        return max((len(self.dots(sheet.device)) for sheet in self.sheets), default=0)


def view(page: Page) -> View:
    """The section says so where the evidence names no device."""
    evidence = page.evidence
    decades = decade_axis(peak.value for device in evidence.devices for peak in device.peaks)
    return View(sheets(evidence, page.devices), decades)


def sheets(evidence: Evidence, anchors: Mapping[str, str]) -> list[Sheet]:
    """Make a sheet for every device, in the order of the evidence."""
    claims: dict[str, list[Verdict]] = {device.id: [] for device in evidence.devices}
    for verdict in evidence.verdicts:
        if not verdict.replay:
            claims.get(verdict.hardware or "", []).append(verdict)
    return [_sheet(device, claims[device.id], anchors[device.id], evidence) for device in evidence.devices]


def _sheet(device: Device, verdicts: list[Verdict], anchor: str, evidence: Evidence) -> Sheet:
    counts, blind = tally(verdicts), len(blind_spots(device))
    traits = [outcome for outcome, _ in counts if outcome != "pass"]
    return Sheet(
        device=device,
        anchor=anchor,
        register=Register(device, verdicts),
        ladders=ladders(device.peaks),
        tally=counts,
        facts=rows(device.facts),
        others=others(device, verdicts),
        golden=list(dict.fromkeys(v.file for v in verdicts)),
        blind=blind,
        uncorroborated=sum(v.outcome == "pass" and not v.corroborated for v in verdicts),
        traits=[t.replace(" ", "-") for t in traits] + ["blind"] * bool(blind),
        roofline=roofline(device, verdicts, evidence.delta.roofs if evidence.delta else (), evidence.watched),
    )


def others(device: Device | System, verdicts: list[Verdict]) -> list[Verdict]:
    """Claims that do not already stand beside a derived figure."""
    shown = {(p.file, p.line) for p in _published(device)}
    return [v for v in verdicts if (v.file, v.line) not in shown]


def _published(device: Device | System) -> list[Published]:
    """Figures that stand beside a peak, a memory or a bandwidth."""
    if isinstance(device, System):
        return [figure for one in device.bandwidths for figure in one.published]
    figures = [*(peak.published for peak in device.peaks), *(memory.published for memory in device.memories)]
    return [figure for several in figures for figure in several]


# ---- The roofline of a device, with what was printed of its peaks

MOST_ROOFS = 8


@dataclass(frozen=True)
class Roofline:
    """The chart, wide and narrow; `legend` has the key and the title of each roof, `memory` the one they share."""

    charts: list[Drawing]
    legend: list[tuple[str, str]]
    memory: str
    has_base: bool
    """Whether a roof of the base is drawn, too."""
    networks: int
    """Watched predictions in it."""


def roofline(
    device: Device, verdicts: Iterable[Verdict], base: Iterable[Roof] = (), watched: Iterable[Watched] = ()
) -> Roofline | None:
    """One roof for each unit and distinct peak, the highest first; None without a peak or a bandwidth.

    Those of the base that moved are drawn, too, and watched predictions of the device as points.
    """
    memory = next((one for one in device.memories if one.name == device.main_memory), None)
    roofs = dict[tuple[str, float], list[str]]()
    for peak in device.peaks:
        if peak.value and not peak.at:
            roofs.setdefault((peak.unit, peak.value), []).append(peak.precision)
    if not roofs or not memory or not memory.bandwidth:
        return None
    highest = sorted(roofs.items(), key=lambda item: -item[0][1])[:MOST_ROOFS]
    lines = [
        log_chart.roof_line(f"{unit} {', '.join(precisions)}", key, value, memory.bandwidth)
        for key, ((unit, value), precisions) in zip(log_chart.letters(len(highest)), highest, strict=True)
    ]
    known = {(unit, one): (number, value) for number, ((unit, value), ones) in enumerate(highest) for one in ones}
    marks = []
    for verdict in verdicts:
        found = known.get((verdict.unit or "", verdict.precision or ""))
        if found and verdict.kind == "peak" and not (verdict.at or verdict.sum or verdict.sparse):
            number, value = found
            marks += _printed(verdict, number, 1.6 * value / memory.bandwidth)
    x, y = log_chart.Scale("intensity", "op/B", prefixed=False), log_chart.Scale("attained", "OP/s")
    bases = _bases(device, known, base)
    networks = [*_networks(device, len(lines), watched)]
    charts = log_chart.drawings(lines, marks + networks, x, y, bases)
    legend = [(line.letter, line.title) for line in lines]
    return Roofline(charts, legend, memory.name, bool(bases), len(networks))


def _bases(
    device: Device, known: Mapping[tuple[str, str], tuple[int, float]], base: Iterable[Roof]
) -> list[tuple[int, log_chart.Line]]:
    """Roofs of the base, each once, with the number of the roof that it became."""
    found = dict[tuple[int, float, float], log_chart.Line]()
    for one in base:
        number, _ = known.get((one.unit, one.precision), (None, 0.0))
        if one.device == device.id and number is not None:
            line = log_chart.roof_line(f"in the base, {one.unit} {one.precision}", "", one.peak, one.bandwidth)
            found.setdefault((number, one.peak, one.bandwidth), line)
    return [(number, line) for (number, _, _), line in found.items()]


def _networks(device: Device, series: int, watched: Iterable[Watched]) -> Iterator[Mark]:
    """Watched predictions at the device's own operating point."""
    for one in watched:
        if one.device == device.id and not one.at and one.intensity and one.attained:
            name = f"{one.network.rpartition('/')[2]} {one.precision} b{one.batch}"
            yield Mark(one.intensity, one.attained, series, f"{name}: {one.head_display}", name)


def _printed(verdict: Verdict, number: int, intensity: float) -> list[Mark]:
    """A printed peak beside the knee of its roof; nothing for a claim without a figure."""
    expected = verdict.expected
    if not expected or not expected.value:
        return []
    return [Mark(intensity, expected.value, number, f"{MARKS[verdict.outcome]} {claimed(verdict)}: {expected.display}")]
