"""Ladders: energy of a MAC and power of a chip, factor by factor as a reader multiplies them.

The formula of the TDP estimation log of 2025-12-04, e_MAC = base × circuit × precision × 2 × overhead. It takes the
factor of a circuit as it is, 2.5 for a large x86 core; `NodeEnergies.operation` stops at 1, because it counts control
apart. docs/method-tdp.md says what else is to be known of it.
"""

from rooflint.facts import Fact, Factor, Ladder
from rooflint.precision import precision as precision_named
from rooflint.tdp.factors import Factors
from rooflint.tdp.widths import DATAPATH_BITS, Hold, packed_macs
from rooflint.units import HERTZ, OPS_PER_MAC, format_number, format_quantity


def mac_ladder(factors: Factors, node: str, circuit: str, precision: str) -> Ladder:
    """Energy of one MAC in a unit of that circuit. [J/MAC]. Raises UnknownFactorError."""
    node, circuit, precision = factors.node(node), factors.circuit(circuit), factors.precision(precision)
    base = factors.bases[node]
    return Ladder(
        (
            Factor("base", base.value, f"{base.display} at {node}", base),
            _factor("circuit", factors.circuits[circuit], circuit),
            _factor("precision", factors.precisions[precision], precision),
            Factor("ops", OPS_PER_MAC, f"{OPS_PER_MAC} op/MAC"),
            _factor("overhead", factors.overhead, "datapath"),
        )
    )


def rate_ladder(precision: str, alus: int, macs_per_clock: float, clock_hz: float, hold: Hold) -> Ladder:
    """MACs of all ALUs in a second. [MAC/s]"""
    factors = [
        Factor("alus", alus, f"{alus} ALU"),
        Factor("macs_per_clock", macs_per_clock, f"{format_number(macs_per_clock)} MAC/clock"),
        Factor("clock", clock_hz, format_quantity(clock_hz, HERTZ)),
    ]
    if hold is Hold.width:
        side_by_side = f"{DATAPATH_BITS}/{precision_named(precision).bits} {precision} side by side"
        factors.insert(2, Factor("packed", packed_macs(precision, hold), side_by_side))
    return Ladder(tuple(factors))


def _factor(name: str, fact: Fact, what: str) -> Factor:
    return Factor(name, fact.value, f"{fact.display} {what}", fact)
