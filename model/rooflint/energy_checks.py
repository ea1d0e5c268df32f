"""What cannot all be true in one file of energies: a unit that slipped shows where two readings meet."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from rooflint.energies import MemoryEnergy
from rooflint.energy_schema import PARTS, EnergySpec, MemoryEnergySpec, MemoryReading, ProcessSpec
from rooflint.errors import Problem
from rooflint.facts import Fact
from rooflint.hardware import Facts
from rooflint.spread import Range
from rooflint.strict_yaml import Document
from rooflint.units import METRES, UnitError, parse_quantity

FAR = 6
"""Readings of one thing that lie further apart than this are refused: a unit slipped (8 bit/B), or a count (16)."""


def size_of(node: str) -> float | None:
    """`4nm` → 4e-9; None for what is no node. [m]"""
    try:
        quantity = parse_quantity(node.replace("nm", " nm"))
    except UnitError:
        return None
    return quantity.value if quantity.dimension == METRES else None


def problems(spec: EnergySpec, document: Document, facts: Facts) -> Iterator[Problem]:
    """What the file says that cannot all be true, each with its line."""
    if isinstance(spec, ProcessSpec):
        yield from _misnamed(document)
        yield from _wires(spec, facts)
        for key in sorted({path.split(".", 2)[2] for path in facts}):
            if not key.endswith(".capacity"):
                yield from _far([fact for path, fact in facts.items() if path.split(".", 2)[2] == key])
    if isinstance(spec, MemoryEnergySpec):
        incomplete = list(_ranges(spec, document, facts))
        yield from incomplete or _scopes(MemoryEnergy(document.file.stem, spec, document, facts))


def _misnamed(document: Document) -> Iterator[Problem]:
    if size_of(document.file.stem) is None:
        yield Problem(document.file, 1, f"'{document.file.stem}' is no process node: want a name such as 4nm.yaml")


def _wires(spec: ProcessSpec, facts: Facts) -> Iterator[Problem]:
    """Random data changes every other bit, so its energy is half of a transition's; by rounding, not by more."""
    for name in spec.readings:
        half, whole = (facts.get(f"readings.{name}.wire.{key}") for key in ("random_bit", "transition"))
        if half and whole and not 0.4 < half.value / whole.value < 0.6:
            yield _contradiction(half, whole, "is not about half of")


def _ranges(spec: MemoryEnergySpec, document: Document, facts: Facts) -> Iterator[Problem]:
    for name, one in spec.readings.items():
        if not one.typical and not (one.low and one.high):
            path = ("readings", name)
            yield document.problem(path, f"readings.{name}: want a typical value, or low and high")
            continue
        ends = [fact for end in ("low", "typical", "high") if (fact := facts.get(f"readings.{name}.{end}"))]
        for lower, upper in pairwise(ends):
            if lower.value > upper.value:
                yield _contradiction(lower, upper, "is above")


def _scopes(memory: MemoryEnergy) -> Iterator[Problem]:
    """Readings of one scope that lie far apart, and a part that costs more than the whole by the same document."""
    readings = memory.spec.readings
    for (name, one), (other, two) in combinations(readings.items(), 2):
        first, second = memory.range(name), memory.range(other)
        if one.scope == two.scope:
            yield from _far([first.low, first.high, second.low, second.high])
        yield from _part_above_whole(one, first, two, second)
        yield from _part_above_whole(two, second, one, first)


def _part_above_whole(one: MemoryReading, part: Range, two: MemoryReading, whole: Range) -> Iterator[Problem]:
    same = part.low.source.document == whole.low.source.document
    if same and PARTS[one.scope] and PARTS[one.scope] < PARTS[two.scope] and part.low.value > whole.high.value:
        yield _contradiction(part.low, whole.high, f"is {one.scope} alone, and above the {two.scope} of")


def _far(facts: Sequence[Fact]) -> Iterator[Problem]:
    if not facts:
        return
    lowest, highest = min(facts, key=lambda fact: fact.value), max(facts, key=lambda fact: fact.value)
    if highest.value > FAR * lowest.value:
        factor = f"is {highest.value / lowest.value:.3g} times"
        yield _contradiction(highest, lowest, factor, "; wrong unit or prefix?")


def _contradiction(one: Fact, two: Fact, how: str, end: str = "") -> Problem:
    where = "" if two.line == one.line else f" in line {two.line}"
    return Problem(one.file, one.line, f"{one.path}: {one.display} {how} the {two.display}{where}{end}")
