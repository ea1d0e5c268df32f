"""An energy as the sources leave it: a typical value between ends, and what it includes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rooflint.errors import RooflintError
from rooflint.facts import GRADES, Fact
from rooflint.units import Dimension


class UnknownCoefficientError(RooflintError):
    """A node, a memory, an operation, a scope, an event or a reading that no root has; the message names those."""


class ScopeError(RooflintError):
    """Energies that must not be added: they share a part, or nobody knows what one of them includes."""


@dataclass(frozen=True, slots=True)
class Range:
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


def range_of(name: str, facts: Mapping[str, Fact], path: str) -> Range:
    """The reading of that name below a dotted path, of which the file gives a value or both ends."""
    low, typical, high = (facts.get(f"{path}.{end}") for end in ("low", "typical", "high"))
    ends = [fact for fact in (low, typical, high) if fact]
    return Range(name, low or ends[0], high or ends[-1], typical)


@dataclass(frozen=True, slots=True)
class Spread:
    """What all documents say about one coefficient; the ends are those of any of them.

    An energy is in J/op, J/B, J/B/m or, of an event, in J; idle power is a share, a launch is in seconds.
    """

    what: str
    ranges: tuple[Range, ...]
    parts: frozenset[str] | None = None
    """What an access to memory includes or an event covers; None where that means nothing, empty where it is open."""

    @property
    def best(self) -> Range:
        """The range of the best grade; of several, the one that its file lists first."""
        return min(self.ranges, key=lambda one: max(GRADES.index(fact.source.grade) for fact in one.facts))

    def only(self, name: str) -> "Spread":
        """The same of one document. Raises UnknownCoefficientError."""
        chosen = tuple(one for one in self.ranges if one.name == name)
        if not chosen:
            having = ", ".join(one.name for one in self.ranges)
            raise UnknownCoefficientError(f"{self.what} has no reading '{name}' (has: {having})")
        return replace(self, ranges=chosen)

    @property
    def low(self) -> float:
        """The lowest value that a document gives. [as its facts]"""
        return min(one.low.value for one in self.ranges)

    @property
    def typical(self) -> float:
        """The value of the best reading. [as its facts]"""
        return self.best.value

    @property
    def high(self) -> float:
        """The highest value that a document gives. [as its facts]"""
        return max(one.high.value for one in self.ranges)

    @property
    def dimension(self) -> Dimension:
        """Energy, by itself or per op, per byte, per byte and metre; time; none for a share."""
        return self.best.low.quantity.dimension


def together(spreads: Iterable[Spread]) -> tuple[float, float, float]:
    """Lowest, typical and highest sum of accesses to memory that have no part in common. [J/B]

    Raises ScopeError where two share a part, or one does not say what it includes.
    """
    counted: dict[str, str] = {}
    chosen = tuple(spreads)
    for one in chosen:
        if not one.parts:
            raise ScopeError(f"{one.what} does not say what it includes; it cannot be added to anything")
        for part in sorted(one.parts):
            if part in counted:
                raise ScopeError(f"{counted[part]} and {one.what} both include {part}; they cannot be added")
            counted[part] = one.what
    return sum(one.low for one in chosen), sum(one.typical for one in chosen), sum(one.high for one in chosen)
