"""Terms of an energy: so many events in each op, each at so much. What is said of an energy is said of its terms."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooflint.coefficient import Coefficient
from rooflint.facts import Fact, Grade, weakest

Group = Literal["compute", "memory", "control", "static"]
GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True, eq=False)
class Term:
    """One cause of energy; `counts` has the shape (ops,)."""

    name: str
    """`arithmetic`, `off-chip memory`, `instructions`, `idle power`, …"""
    group: Group
    counts: NDArray[np.float64]
    """Events in each op."""
    unit: str
    """What is counted: `op`, `B`, `instruction`, `s`."""
    each: Coefficient
    """What one costs. [J]"""

    @property
    def energy_j(self) -> NDArray[np.float64]:
        """Of each op, by typical figures. [J], shape (ops,)"""
        return np.asarray(self.counts * self.each.typical)

    @property
    def total_j(self) -> float:
        """Of the whole workload. [J]"""
        return float(self.counts.sum()) * self.each.typical


@dataclass(frozen=True, eq=False)
class Energy:
    """What a workload takes on a device, as terms that add up to it."""

    terms: tuple[Term, ...]
    left_out: tuple[str, ...] = ()
    """What nobody has a figure for, in sentences: the whole is at least what the terms say."""

    @property
    def energy_j(self) -> NDArray[np.float64]:
        """Of each op. [J], shape (ops,)"""
        return np.asarray(np.sum([term.energy_j for term in self.terms], axis=0))

    @property
    def total_j(self) -> float:
        """Of the whole workload, by typical figures. [J]"""
        return sum(term.total_j for term in self.terms)

    @property
    def ends_j(self) -> tuple[float, float]:
        """The lowest and the highest that the documents' figures allow, all terms at one end. [J]"""
        counts = [float(term.counts.sum()) for term in self.terms]
        each = [term.each for term in self.terms]
        low = sum(count * one.low for count, one in zip(counts, each, strict=True))
        return low, sum(count * one.high for count, one in zip(counts, each, strict=True))

    def of_group(self, group: Group) -> float:
        """What the terms of one group take. [J]"""
        return sum(term.total_j for term in self.terms if term.group == group)

    def groups(self) -> dict[Group, float]:
        """Energy by group, those that there are. [J]"""
        return {group: self.of_group(group) for group in GROUPS if any(term.group == group for term in self.terms)}

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All that it rests on, each once."""
        return tuple(dict.fromkeys(fact for term in self.terms for fact in term.each.facts))

    @property
    def grade(self) -> Grade:
        """The weakest grade of what it rests on."""
        return weakest(self.facts)
