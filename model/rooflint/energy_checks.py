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
                yield from far([fact for path, fact in facts.items() if path.split(".", 2)[2] == key])
    if isinstance(spec, MemoryEnergySpec):
        broken = list(_ranges(spec, document, facts))
        yield from broken or _scopes(MemoryEnergy(document.file.stem, spec, document, facts))


def _misnamed(document: Document) -> Iterator[Problem]:
    if size_of(document.file.stem) is None:
        yield Problem(document.file, 1, f"'{document.file.stem}' is no process node: want a name such as 4nm.yaml")


def _wires(spec: ProcessSpec, facts: Facts) -> Iterator[Problem]:
    """Random data changes every other bit, so its energy is half of a transition's; by rounding, not by more."""
    for name in spec.readings:
        half, whole = (facts.get(f"readings.{name}.wire.{key}") for key in ("random_bit", "transition"))
        if half and whole and not 0.4 < half.value / whole.value < 0.6:
            yield contradiction(half, whole, "is not about half of")


def _ranges(spec: MemoryEnergySpec, document: Document, facts: Facts) -> Iterator[Problem]:
    for name in spec.readings:
        yield from incomplete(f"readings.{name}", document, facts)


def incomplete(path: str, document: Document, facts: Facts) -> Iterator[Problem]:
    """What is missing from the reading at a dotted path, or runs backwards in it."""
    ends = {end: fact for end in ("low", "typical", "high") if (fact := facts.get(f"{path}.{end}"))}
    if "typical" not in ends and len(ends) < 2:
        yield document.problem(tuple(path.split(".")), f"{path}: want a typical value, or low and high")
    for lower, upper in pairwise(ends.values()):
        if lower.value > upper.value:
            yield contradiction(lower, upper, "is above")


def _scopes(memory: MemoryEnergy) -> Iterator[Problem]:
    """Readings of one scope that lie far apart, and a part that costs more than the whole by the same document."""
    readings = memory.spec.readings
    for (name, one), (other, two) in combinations(readings.items(), 2):
        first, second = memory.range(name), memory.range(other)
        if one.scope == two.scope:
            yield from far([first.low, first.high, second.low, second.high])
        yield from _part_above_whole(one, first, two, second)
        yield from _part_above_whole(two, second, one, first)


def _part_above_whole(one: MemoryReading, part: Range, two: MemoryReading, whole: Range) -> Iterator[Problem]:
    same = part.low.source.document == whole.low.source.document
    if same and PARTS[one.scope] and PARTS[one.scope] < PARTS[two.scope] and part.low.value > whole.high.value:
        yield contradiction(part.low, whole.high, f"is {one.scope} alone, and above the {two.scope} of")


def far(facts: Sequence[Fact]) -> Iterator[Problem]:
    """Figures of one thing that lie too far apart."""
    if not facts:
        return
    lowest, highest = min(facts, key=lambda fact: fact.value), max(facts, key=lambda fact: fact.value)
    if highest.value > FAR * lowest.value:
        factor = f"is {highest.value / lowest.value:.3g} times"
        yield contradiction(highest, lowest, factor, "; wrong unit or prefix?")


def contradiction(one: Fact, two: Fact, how: str, end: str = "") -> Problem:
    """Two facts of a file that cannot both be true, said at the line of the first."""
    where = "" if two.line == one.line else f" in line {two.line}"
    return Problem(one.file, one.line, f"{one.path}: {one.display} {how} the {two.display}{where}{end}")
