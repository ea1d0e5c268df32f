"""Energies of a process node, a memory and a kind of processor, its idle power, and factors of circuits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rooflint.base.strict_yaml import Document
from rooflint.coefficients.ranges import Range, Reading, UnknownCoefficientError, reading_of
from rooflint.coefficients.schema import (
    PARTS,
    CircuitsSpec,
    EventSpec,
    EventsSpec,
    MemoryEnergySpec,
    ProcessSpec,
    Scope,
)
from rooflint.hardware.device import Facts


@dataclass(frozen=True)
class Process:
    """A process node: energies of operations, of arrays and of wires, by document."""

    id: str
    spec: ProcessSpec
    document: Document
    facts: Facts

    def energy(self, kind: str, of: str) -> Range:
        """`("multiply", "fp16")`, `("sram", "kib8")` or `("wire", "random_bit")`. [J/op, J/B or J/B/m]

        Raises UnknownCoefficientError.
        """
        tail = f"{of}.read" if kind == "sram" else of
        readings = [
            Reading(name, fact, fact, fact)
            for name in self.spec.readings
            if (fact := self.facts.get(f"readings.{name}.{kind}.{tail}"))
        ]
        if not readings:
            having = ", ".join(sorted(self.energies())) or "none"
            raise UnknownCoefficientError(f"{self.id} has no energy '{kind} {of}' (has: {having})")
        return Range(f"{self.id} {kind} {of}", tuple(readings))

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

    def energy(self, scope: str) -> Range:
        """The range of that scope over all documents. [J/B]. Raises UnknownCoefficientError."""
        readings = tuple(self.readings(scope_of(scope)))
        if not readings:
            having = ", ".join(dict.fromkeys(one.scope for one in self.spec.readings.values()))
            raise UnknownCoefficientError(f"{self.id} has no energy of scope '{scope}' (has: {having})")
        return Range(f"{self.id} {scope}", readings)

    def readings(self, scope: str) -> Iterator[Reading]:
        """Readings of one scope."""
        for name, one in self.spec.readings.items():
            if one.scope == scope:
                yield self.reading(name)

    def reading(self, name: str) -> Reading:
        """One reading."""
        return reading_of(name, self.facts, f"readings.{name}")


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


@dataclass(frozen=True)
class Events:
    """Energies of control and shares of idle power of a kind of processor, by document."""

    id: str
    spec: EventsSpec
    document: Document
    facts: Facts

    def names(self) -> list[str]:
        """Events that can be asked for."""
        return list(self.spec.events)

    def energy(self, name: str, node: str | None = None) -> Range:
        """What documents say that one occurrence costs, at one node: the best reading's, or the one asked for. [J]

        Figures of several nodes are never in one range. Raises UnknownCoefficientError.
        """
        wanted = "".join(node.split()) if node else self.node(name)
        chosen = tuple(one for reading, one in self._readings(name) if self._node(name, reading) == wanted)
        if not chosen:
            raise UnknownCoefficientError(f"{self.id} has no '{name}' at {wanted} (has: {_listed(self.nodes(name))})")
        return Range(f"{self.id} {name}", chosen)

    def everything(self, name: str) -> Range:
        """What all documents say of an event, whatever the node: for comparing, not for computing. [J]

        Raises UnknownCoefficientError.
        """
        return Range(f"{self.id} {name}", tuple(one for _, one in self._readings(name)))

    def node(self, name: str) -> str | None:
        """The node that the best reading of an event holds for, `45nm`; None where its document names none.

        Raises UnknownCoefficientError.
        """
        best = self.everything(name).best
        return self._node(name, best.name)

    def nodes(self, name: str) -> list[str | None]:
        """The nodes of all readings of an event, each once. Raises UnknownCoefficientError."""
        return list(dict.fromkeys(one.node for one in self._event(name).readings.values()))

    def what(self, name: str) -> str:
        """What one occurrence is, in a sentence. Raises UnknownCoefficientError."""
        return self._event(name).what

    def per(self, name: str) -> str:
        """What an event is counted by, as a word: `lane_instruction`. Raises UnknownCoefficientError."""
        return self._event(name).per

    def idle_share(self, state: str | None = None) -> Range:
        """Idle power over TDP in a state, or in any. [1]. Raises UnknownCoefficientError."""
        readings = tuple(
            reading_of(name, self.facts, f"idle.{name}")
            for name, one in self.spec.idle.items()
            if state in (None, one.state)
        )
        if not readings:
            having = dict.fromkeys(one.state for one in self.spec.idle.values())
            wanted = f"in state '{state}'" if state else "in any state"
            having_text = f" (has: {_listed(having)})" if having else ""
            raise UnknownCoefficientError(f"no idle power of the kind {self.id} is known {wanted}{having_text}")
        return Range(f"{self.id} idle {state or 'power'}", readings)

    def _event(self, name: str) -> EventSpec:
        if name not in self.spec.events:
            raise UnknownCoefficientError(f"{self.id} has no event '{name}' (has: {_listed(self.names())})")
        return self.spec.events[name]

    def _node(self, name: str, reading: str) -> str | None:
        return self._event(name).readings[reading].node

    def _readings(self, name: str) -> Iterator[tuple[str, Reading]]:
        for reading in self._event(name).readings:
            yield reading, reading_of(reading, self.facts, f"events.{name}.readings.{reading}")


def _listed(things: Iterable[str | None]) -> str:
    return ", ".join(str(one or "no node") for one in things) or "none"
