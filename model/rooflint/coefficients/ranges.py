"""A coefficient as its sources leave it: readings of documents, their range, and arithmetic on ranges.

A `Reading` is what one document says, a `Range` what all documents say, and a `Coefficient` a number between two ends
that is multiplied and added with others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rooflint.base.errors import RooflintError
from rooflint.base.facts import GRADES, Fact, Grade, weakest
from rooflint.base.units import Dimension


class UnknownCoefficientError(RooflintError):
    """A node, a memory, an operation, a scope, an event or a reading that no root has; the message names those."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one document says: a value, the ends of a range, or all three."""

    name: str
    low: Fact
    high: Fact
    typical: Fact | None

    @property
    def value(self) -> float:
        """The typical value, else the middle of the range. [as its facts]"""
        return self.typical.value if self.typical else (self.low.value + self.high.value) / 2

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it consists of, each once."""
        given = (self.typical, self.low, self.high) if self.typical else (self.low, self.high)
        return tuple(dict.fromkeys(given))


def reading_of(name: str, facts: Mapping[str, Fact], path: str) -> Reading:
    """The reading of that name below a dotted path, of which the file gives a value or both ends."""
    low, typical, high = (facts.get(f"{path}.{end}") for end in ("low", "typical", "high"))
    ends = [fact for fact in (low, typical, high) if fact]
    return Reading(name, low or ends[0], high or ends[-1], typical)


@dataclass(frozen=True, slots=True)
class Range:
    """What all documents say about one coefficient; the ends are those of any of them.

    Energies are in J/op, J/B, J/B/m or, of an event, in J; idle power is a share, a launch overhead in seconds.
    """

    what: str
    readings: tuple[Reading, ...]

    @property
    def best(self) -> Reading:
        """The reading of the best grade; of several, the one that its file lists first."""
        return min(self.readings, key=lambda one: max(GRADES.index(fact.source.grade) for fact in one.facts))

    def only(self, name: str) -> "Range":
        """The range of one document alone. Raises UnknownCoefficientError."""
        chosen = tuple(one for one in self.readings if one.name == name)
        if not chosen:
            having = ", ".join(one.name for one in self.readings)
            raise UnknownCoefficientError(f"{self.what} has no reading '{name}' (has: {having})")
        return replace(self, readings=chosen)

    @property
    def low(self) -> float:
        """The lowest value that a document gives. [as its facts]"""
        return min(one.low.value for one in self.readings)

    @property
    def typical(self) -> float:
        """The value of the best reading. [as its facts]"""
        return self.best.value

    @property
    def high(self) -> float:
        """The highest value that a document gives. [as its facts]"""
        return max(one.high.value for one in self.readings)

    @property
    def dimension(self) -> Dimension:
        """Energy, by itself or per op, per byte, per byte and metre; time; none for a share."""
        return self.best.low.quantity.dimension


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number with the lowest and the highest that its sources allow, and the facts that it rests on.

    Energies are in J per event, shares in 1. `low <= typical <= high`.
    """

    low: float
    typical: float
    high: float
    basis: str
    """Where it comes from, in words: `multiply + add fp16 at 7 nm`."""
    facts: tuple[Fact, ...] = ()
    carried: bool = False
    """Whether it was taken from something else than what it speaks of: another node, another device."""

    @property
    def grade(self) -> Grade:
        """The weakest grade of what it rests on; what was carried over is an estimate, however well it was read."""
        return "estimate" if self.carried else weakest(self.facts)

    def times(self, factor: "Coefficient | float", basis: str = "") -> "Coefficient":
        """Product with a factor, whose range widens it."""
        other = factor if isinstance(factor, Coefficient) else Coefficient(factor, factor, factor, "")
        return Coefficient(
            self.low * other.low,
            self.typical * other.typical,
            self.high * other.high,
            basis or f"{self.basis} × {other.basis}".removesuffix(" × "),
            _once((*self.facts, *other.facts)),
            self.carried or other.carried,
        )

    def plus(self, other: "Coefficient", basis: str = "") -> "Coefficient":
        """Sum of what happens together."""
        return Coefficient(
            self.low + other.low,
            self.typical + other.typical,
            self.high + other.high,
            basis or f"{self.basis} + {other.basis}",
            _once((*self.facts, *other.facts)),
            self.carried or other.carried,
        )

    def as_estimate(self) -> "Coefficient":
        """This coefficient as an estimate: carried over to something that no document speaks of."""
        return replace(self, carried=True)


def of_range(found: Range, basis: str = "") -> Coefficient:
    """What the documents say of one thing; its facts are those of the typical value, the others widen the range."""
    return Coefficient(found.low, found.typical, found.high, basis or found.what, _once(found.best.facts))


def of_fact(fact: Fact, basis: str) -> Coefficient:
    """What one document says, without a range."""
    return Coefficient(fact.value, fact.value, fact.value, basis, (fact,))


def _once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(dict.fromkeys(facts))
