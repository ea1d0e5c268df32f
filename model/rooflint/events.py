"""What a kind of processor spends beside arithmetic and memory, as its file gives it: energy of events, idle power."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rooflint.event_schema import EventSpec, EventsSpec
from rooflint.hardware import Facts
from rooflint.spread import Range, Spread, UnknownCoefficientError, range_of
from rooflint.strict_yaml import Document


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

    def energy(self, name: str, node: str | None = None) -> Spread:
        """What documents say that one occurrence costs, at one node: the best reading's, or the one asked for. [J]

        Figures of several nodes are never in one spread. Raises UnknownCoefficientError.
        """
        wanted = "".join(node.split()) if node else self.node(name)
        chosen = tuple(one for reading, one in self._ranges(name) if self._node(name, reading) == wanted)
        if not chosen:
            raise UnknownCoefficientError(f"{self.id} has no '{name}' at {wanted} (has: {_listed(self.nodes(name))})")
        return Spread(f"{self.id} {name}", chosen, frozenset(self._event(name).covers))

    def everything(self, name: str) -> Spread:
        """What all documents say of an event, whatever the node: for comparing, not for computing. [J]

        Raises UnknownCoefficientError.
        """
        return Spread(f"{self.id} {name}", tuple(one for _, one in self._ranges(name)))

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

    def idle_share(self, state: str | None = None) -> Spread:
        """Idle power over TDP in a state, or in any. [1]. Raises UnknownCoefficientError."""
        ranges = tuple(
            range_of(name, self.facts, f"idle.{name}")
            for name, one in self.spec.idle.items()
            if state in (None, one.state)
        )
        if not ranges:
            having = dict.fromkeys(one.state for one in self.spec.idle.values())
            wanted = f"in state '{state}'" if state else "in any state"
            having_text = f" (has: {_listed(having)})" if having else ""
            raise UnknownCoefficientError(f"no idle power of the kind {self.id} is known {wanted}{having_text}")
        return Spread(f"{self.id} idle {state or 'power'}", ranges)

    def _event(self, name: str) -> EventSpec:
        if name not in self.spec.events:
            raise UnknownCoefficientError(f"{self.id} has no event '{name}' (has: {_listed(self.names())})")
        return self.spec.events[name]

    def _node(self, name: str, reading: str) -> str | None:
        return self._event(name).readings[reading].node

    def _ranges(self, name: str) -> Iterator[tuple[str, Range]]:
        for reading in self._event(name).readings:
            yield reading, range_of(reading, self.facts, f"events.{name}.readings.{reading}")


def _listed(things: Iterable[str | None]) -> str:
    return ", ".join(str(one or "no node") for one in things) or "none"
