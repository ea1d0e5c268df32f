"""Facts: a value with its source, the place in the source, and the line of the spec file that states it."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from rooflint.base.units import Quantity, format_number

Grade = Literal["read", "device", "quoted", "recalled", "estimate"]

#: Best first. `read` the document was opened; `device` a driver or tool printed it; `quoted` seen quoted in a second
#: public place; `recalled` named but not reopened; `estimate` a judgement.
GRADES: tuple[Grade, ...] = get_args(Grade)


@dataclass(frozen=True, slots=True)
class Source:
    """A document, and how well we know what it says."""

    key: str
    document: str
    grade: Grade
    url: str | None = None


#: File, path and operating point of a fact: what stays the same when its value or its line changes.
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of a spec: `[value, source, where]`."""

    path: str
    """Dotted place in the spec: `units.tensor_core.macs_per_clock.int8`."""
    quantity: Quantity
    source: Source
    where: str
    file: Path
    line: int
    at: str = ""
    """The operating point that states it; empty where the device itself does."""

    @property
    def place(self) -> Place:
        """Where it is stated, whatever it says."""
        return str(self.file), self.path, self.at

    @property
    def value(self) -> float:
        """In SI base units; MAC counts in MAC."""
        return self.quantity.value

    @property
    def display(self) -> str:
        """As the file writes it."""
        return self.quantity.text

    def as_column(self, values: Any) -> "Fact":
        """The same fact of several variants at once; it can be computed with, and is ordered by its first value."""
        return replace(self, quantity=replace(self.quantity, value=values, text="varied"))

    def with_value(self, value: float) -> "Fact":
        """The same fact with another value, for mutations and hypothetical devices."""
        factor = value / self.quantity.value
        unit = self.quantity.text.partition(" ")[2]
        shown = format_number(leading_number(self.quantity.text) * factor, 6)
        return replace(self, quantity=replace(self.quantity, value=value, text=f"{shown} {unit}".strip()))


def sort_value(value: Any) -> float:
    """What a value is ordered by: of a column of variants, which all are in the same order, the first."""
    return float(value.flat[0]) if hasattr(value, "flat") else float(value)


def leading_number(text: str) -> float:
    """The number that a quantity begins with: `6.4/2 Gbit/s` → 3.2."""
    number = text.split(" ", 1)[0]
    above, _, below = number.partition("/")
    return float(above) / float(below or 1)


def weakest(facts: "tuple[Fact, ...]") -> Grade:
    """The worst grade among facts: a derivation is as good as the weakest thing in it."""
    return GRADES[max((GRADES.index(fact.source.grade) for fact in facts), default=0)]


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a derivation, as it is printed: `16 SM`, `2 op/MAC`, `1.3 GHz`."""

    name: str
    value: float
    display: str
    fact: Fact | None = None
    """None for a convention such as 2 op/MAC."""
    inverse: bool = False
    """Whether the fact divides: the number of parts that a device is counted in."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A derivation: factors whose product is the result, in base units."""

    factors: tuple[Factor, ...]

    @property
    def result(self) -> float:
        """The product, in base units."""
        return math.prod((factor.value for factor in self.factors), start=1.0)

    @property
    def formula(self) -> str:
        """`16 SM × 4 tensor_core × 512 MAC/clock × 2 op/MAC × 1.3 GHz`."""
        return " × ".join(factor.display for factor in self.factors)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts among the factors."""
        return tuple(factor.fact for factor in self.factors if factor.fact)

    def times(self, *factors: Factor) -> "Ladder":
        """A longer ladder."""
        return Ladder((*self.factors, *factors))
