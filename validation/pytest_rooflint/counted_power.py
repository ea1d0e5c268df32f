"""Power at the peak as a log counted it: one energy per op and node, times factors that somebody judged."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_rooflint.expect import ExpectationError, parse_expectation
from rooflint.units import DIMENSIONLESS, JOULES_PER_OP, Dimension, Quantity, measure

FACTORS: dict[str, Dimension] = dict.fromkeys(("circuit", "format", "overhead", "vector_share"), DIMENSIONLESS)
"""Parameters beside the energies of the nodes."""

_NODE = re.compile(r"(?P<energy>.+) at (?P<node>\d+) ?nm")


@dataclass(frozen=True)
class CountedPower:
    """What the units of a chip draw at their peak."""

    per_op_j: Mapping[str, float]
    """Energy of an FP32 op by node, `4nm`, before any factor. [J/op]"""
    circuit: float
    format: float
    overhead: float
    vector_share: float
    """How busy the vector unit is while the tensor unit is at its peak. [1]"""

    def tensor_w(self, ops_per_s: float, node: str) -> float:
        """Per_op × circuit × format × overhead × rate. [W]"""
        return self.per_op_j[node] * self.circuit * self.format * self.overhead * ops_per_s

    def vector_w(self, ops_per_s: float, node: str) -> float:
        """Per_op × rate; the log gives the vector unit no factors. [W]"""
        return self.per_op_j[node] * ops_per_s

    def combined_w(self, tensor_ops_per_s: float, vector_ops_per_s: float, node: str) -> float:
        """The tensor unit at its peak and a share of the vector unit. [W]"""
        return self.tensor_w(tensor_ops_per_s, node) + self.vector_share * self.vector_w(vector_ops_per_s, node)


def read_nodes(text: str) -> dict[str, float]:
    """`1.2 pJ/op at 3 nm, 1.3 pJ/op at 4 nm` → {"3nm": 1.2e-12, "4nm": 1.3e-12}. Raises ValueError."""
    matches = [_NODE.fullmatch(part) for part in text.split(", ")]
    found = {f"{match['node']}nm": _energy_j(match["energy"]) for match in matches if match}
    if len(found) != len(matches):
        raise ValueError(f"want each node once, such as '1.2 pJ/op at 3 nm, 1.3 pJ/op at 4 nm', found '{text}'")
    return found


def nodes_quantity(text: str) -> Quantity:
    """The energies of several nodes as one parameter; its value is that of the first."""
    return Quantity(next(iter(read_nodes(text).values())), JOULES_PER_OP, text)


def _energy_j(text: str) -> float:
    read = parse_expectation(text)
    if read.dimension != JOULES_PER_OP:
        raise ExpectationError(f"want a value {measure(JOULES_PER_OP)}, found '{text}'")
    return read.value
