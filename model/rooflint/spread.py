"""An energy as the sources leave it: a typical value between ends, and what it includes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rooflint.errors import RooflintError
from rooflint.facts import GRADES, Fact
from rooflint.units import Dimension


class UnknownCoefficientError(RooflintError):
    """A node, a memory, an operation, a scope or a reading that no root has; the message names those that there are."""


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
        """The typical value, else the middle of the range. [J/op, J/B or J/B/m]"""
        return self.typical.value if self.typical else (self.low.value + self.high.value) / 2

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it consists of, each once."""
        given = (self.typical, self.low, self.high) if self.typical else (self.low, self.high)
        return tuple(dict.fromkeys(given))


@dataclass(frozen=True, slots=True)
class Spread:
    """What all documents say about one energy; the ends are those of any of them."""

    what: str
    ranges: tuple[Range, ...]
    parts: frozenset[str] | None = None
    """What an access to memory includes; None where that means nothing, empty where the source left it open."""

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
        """The lowest value that a document gives. [J/op, J/B or J/B/m]"""
        return min(one.low.value for one in self.ranges)

    @property
    def typical(self) -> float:
        """The value of the best reading. [J/op, J/B or J/B/m]"""
        return self.best.value

    @property
    def high(self) -> float:
        """The highest value that a document gives. [J/op, J/B or J/B/m]"""
        return max(one.high.value for one in self.ranges)

    @property
    def dimension(self) -> Dimension:
        """Energy per op, per byte, or per byte and metre."""
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
