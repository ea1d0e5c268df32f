"""Energies of a process node, of a kind of memory, and the factors of circuits, as their files give them."""

from collections.abc import Iterator
from dataclasses import dataclass

from rooflint.energy_schema import PARTS, CircuitsSpec, MemoryEnergySpec, ProcessSpec, Scope
from rooflint.hardware import Facts
from rooflint.spread import Range, Spread, UnknownCoefficientError, range_of
from rooflint.strict_yaml import Document


@dataclass(frozen=True)
class Process:
    """A process node: energies of operations, of arrays and of wires, by document."""

    id: str
    spec: ProcessSpec
    document: Document
    facts: Facts

    def energy(self, kind: str, of: str) -> Spread:
        """`("multiply", "fp16")`, `("sram", "kib8")` or `("wire", "random_bit")`. [J/op, J/B or J/B/m]

        Raises UnknownCoefficientError.
        """
        tail = f"{of}.read" if kind == "sram" else of
        ranges = [
            Range(name, fact, fact, fact)
            for name in self.spec.readings
            if (fact := self.facts.get(f"readings.{name}.{kind}.{tail}"))
        ]
        if not ranges:
            having = ", ".join(sorted(self.energies())) or "none"
            raise UnknownCoefficientError(f"{self.id} has no energy '{kind} {of}' (has: {having})")
        return Spread(f"{self.id} {kind} {of}", tuple(ranges))

    def energies(self) -> set[str]:
        """`multiply fp16`, `sram kib8`: what can be asked for."""
        paths = (path.split(".")[2:] for path in self.facts if not path.endswith(".capacity"))
        return {f"{kind} {of}" for kind, of, *_ in paths if kind != "relative_power"}


@dataclass(frozen=True)
class MemoryEnergy:
    """A kind of memory: energies of an access, by document and by what they include."""

    id: str
    spec: MemoryEnergySpec
    document: Document
    facts: Facts

    def energy(self, scope: str) -> Spread:
        """What all documents say of that scope. [J/B]. Raises UnknownCoefficientError."""
        parts, ranges = PARTS[scope_of(scope)], tuple(self.ranges(scope))
        if not ranges:
            having = ", ".join(dict.fromkeys(one.scope for one in self.spec.readings.values()))
            raise UnknownCoefficientError(f"{self.id} has no energy of scope '{scope}' (has: {having})")
        return Spread(f"{self.id} {scope}", ranges, parts)

    def ranges(self, scope: str) -> Iterator[Range]:
        """Readings of one scope."""
        for name, one in self.spec.readings.items():
            if one.scope == scope:
                yield self.range(name)

    def range(self, name: str) -> Range:
        """One reading."""
        return range_of(name, self.facts, f"readings.{name}")


def scope_of(text: str) -> Scope:
    """The scope of that name. Raises UnknownCoefficientError."""
    for scope in PARTS:
        if scope == text:
            return scope
    raise UnknownCoefficientError(f"unknown scope '{text}' (known: {', '.join(PARTS)})")


@dataclass(frozen=True)
class Circuits:
    """Factors on the energy of an op, by how a unit is built and by precision."""

    spec: CircuitsSpec
    document: Document
    facts: Facts
