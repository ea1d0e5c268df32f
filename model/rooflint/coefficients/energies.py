"""Energies of a process node, a memory and a kind of processor, and its idle power."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rooflint.coefficients.ranges import Range, Reading, UnknownCoefficientError, reading_of
from rooflint.coefficients.schema import (
    PARTS,
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
class Events:
    """Energies of control and shares of idle power of a kind of processor, by document."""

    id: str
    spec: EventsSpec
    facts: Facts

    def energy(self, name: str) -> Range:
        """What documents say that one occurrence costs, at the node of the best reading. [J]

        Figures of several nodes are never in one range. Raises UnknownCoefficientError.
        """
        node, event = self.node(name), self._event(name)
        at_node = tuple(self._reading(name, one) for one, spec in event.readings.items() if spec.node == node)
        return Range(f"{self.id} {name}", at_node)

    def node(self, name: str) -> str | None:
        """The node that the best reading of an event holds for, `45nm`; None where its document names none.

        Raises UnknownCoefficientError.
        """
        readings = self._event(name).readings
        every = Range(f"{self.id} {name}", tuple(self._reading(name, one) for one in readings))
        return readings[every.best.name].node

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
            raise UnknownCoefficientError(f"{self.id} has no event '{name}' (has: {_listed(self.spec.events)})")
        return self.spec.events[name]

    def _reading(self, name: str, reading: str) -> Reading:
        return reading_of(reading, self.facts, f"events.{name}.readings.{reading}")


def _listed(things: Iterable[str]) -> str:
    return ", ".join(things) or "none"
