"""A coefficient: what one event costs, between the ends that the documents leave open."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rooflint.facts import Fact, Grade, weakest
from rooflint.spread import Spread


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number with the lowest and the highest that its sources allow, and the facts that it rests on.

    Energies are in J per event, shares in 1. `low <= typical <= high`.
    """

    low: float
    typical: float
    high: float
    said: str
    """Where it comes from, in words: `multiply + add fp16 at 7 nm`."""
    facts: tuple[Fact, ...] = ()
    carried: bool = False
    """Whether it was taken from something else than what it speaks of: another node, another device."""

    @property
    def grade(self) -> Grade:
        """The weakest grade of what it rests on; what was carried over is an estimate, however well it was read."""
        return "estimate" if self.carried else weakest(self.facts)

    def times(self, factor: "Coefficient | float", said: str = "") -> "Coefficient":
        """Product with a factor, whose spread widens it."""
        other = factor if isinstance(factor, Coefficient) else Coefficient(factor, factor, factor, "")
        return Coefficient(
            self.low * other.low,
            self.typical * other.typical,
            self.high * other.high,
            said or f"{self.said} × {other.said}".removesuffix(" × "),
            _once((*self.facts, *other.facts)),
            self.carried or other.carried,
        )

    def plus(self, other: "Coefficient", said: str = "") -> "Coefficient":
        """Sum of what happens together."""
        return Coefficient(
            self.low + other.low,
            self.typical + other.typical,
            self.high + other.high,
            said or f"{self.said} + {other.said}",
            _once((*self.facts, *other.facts)),
            self.carried or other.carried,
        )

    def as_estimate(self) -> "Coefficient":
        """The same, carried over to something that no document speaks of."""
        return replace(self, carried=True)

    def called(self, said: str) -> "Coefficient":
        """The same in other words."""
        return replace(self, said=said)


def of_spread(spread: Spread, said: str = "") -> Coefficient:
    """What the documents say of one thing; its facts are those of the typical value, the others widen the range."""
    return Coefficient(spread.low, spread.typical, spread.high, said or spread.what, _once(spread.best.facts))


def of_fact(fact: Fact, said: str) -> Coefficient:
    """What one document says, without a range."""
    return Coefficient(fact.value, fact.value, fact.value, said, (fact,))


def _once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(dict.fromkeys(facts))
