"""The shape of the files that energy rests on: process nodes, kinds of memory, circuit factors.

Each file holds *readings*: what one document says under one set of conditions. Documents that disagree stand side by
side. A unit is demanded as it is spelt, because pJ/bit taken for pJ/B is a factor of 8 that no window would see.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import CIRCUITS, Capacity, PrecisionName, SourcedSpec, Strict, Text, Wish, Word, fact_of
from rooflint.units import DIMENSIONLESS, JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP

PICO = 1e-12

#: What an access consists of. A scope is a set of these, and scopes that share a part are never added.
Part = Literal["activation", "movement", "io", "phy", "controller", "transport"]
Scope = Literal["activation", "movement", "core", "io", "phy", "interface", "device", "access", "path", "unstated"]

_CORE: frozenset[Part] = frozenset(("activation", "movement"))
_INTERFACE: frozenset[Part] = frozenset(("io", "phy"))

#: Scope → its parts. What a document left open has none that anybody knows.
PARTS: Mapping[Scope, frozenset[Part]] = MappingProxyType(
    {
        "activation": frozenset(("activation",)),
        "movement": frozenset(("movement",)),
        "core": _CORE,
        "io": frozenset(("io",)),
        "phy": frozenset(("phy",)),
        "interface": _INTERFACE,
        "device": _CORE | {"io"},
        "access": _CORE | _INTERFACE | {"controller"},
        "path": _CORE | _INTERFACE | {"controller", "transport"},
        "unstated": frozenset(),
    }
)

OpEnergy = fact_of(
    Wish("an energy per operation", JOULES_PER_OP, 1e-3 * PICO, 20 * PICO, "3.7 pJ/op", unit="pJ/op", shown=PICO)
)
SramEnergy = fact_of(
    Wish("an energy per byte", JOULES_PER_BYTE, 0.05 * PICO, 20 * PICO, "10/8 pJ/B", unit="pJ/B", shown=PICO)
)
WireEnergy = fact_of(
    Wish(
        "an energy per bit and length",
        JOULES_PER_BYTE_M,
        0.005 * 8e3 * PICO,
        1 * 8e3 * PICO,
        "0.24 pJ/bit/mm",
        unit="pJ/bit/mm",
        shown=8e3 * PICO,
    )
)
AccessEnergy = fact_of(
    Wish(
        "an energy per bit",
        JOULES_PER_BYTE,
        0.1 * 8 * PICO,
        30 * 8 * PICO,
        "3.97 pJ/bit",
        unit="pJ/bit",
        shown=8 * PICO,
    )
)
RelativePower = fact_of(Wish("a power over that of another node", DIMENSIONLESS, 0.2, 1, "0.70"))
EnergyFactor = fact_of(Wish("a factor", DIMENSIONLESS, 0.05, 5, "0.85"))

NodeName = Annotated[str, Field(pattern=r"^[1-9][0-9]*nm$", description="another node: 7nm")]


class EnergySpec(SourcedSpec):
    """What the files have in common."""


class SramSpec(Strict):
    """One array: its size, and what a byte read from it costs."""

    capacity: Capacity
    read: SramEnergy  # type: ignore[valid-type]


class WireSpec(Strict):
    """A wire on the die, for random data or for each transition; the first is half of the second."""

    random_bit: WireEnergy | None = None  # type: ignore[valid-type]
    transition: WireEnergy | None = None  # type: ignore[valid-type]


class ProcessReading(Strict):
    """What one document says about a node under one set of conditions."""

    conditions: Text | None = None
    op: dict[PrecisionName, OpEnergy] = Field(default_factory=dict)  # type: ignore[valid-type]
    add: dict[PrecisionName, OpEnergy] = Field(default_factory=dict)  # type: ignore[valid-type]
    multiply: dict[PrecisionName, OpEnergy] = Field(default_factory=dict)  # type: ignore[valid-type]
    sram: dict[Word, SramSpec] = Field(default_factory=dict)
    wire: WireSpec = WireSpec()
    relative_power: dict[NodeName, RelativePower] = Field(default_factory=dict)  # type: ignore[valid-type]


class ProcessSpec(EnergySpec):
    """specs/process/<node>.yaml: what operations, arrays and wires of a process node cost."""

    readings: Annotated[dict[Word, ProcessReading], Field(min_length=1)]


class MemoryReading(Strict):
    """What one document says about a memory, with what its figure includes: one value, or the ends of a range."""

    scope: Scope
    conditions: Text | None = None
    typical: AccessEnergy | None = None  # type: ignore[valid-type]
    low: AccessEnergy | None = None  # type: ignore[valid-type]
    high: AccessEnergy | None = None  # type: ignore[valid-type]


class MemoryEnergySpec(EnergySpec):
    """specs/memory/<kind>.yaml: what an access to a kind of memory costs."""

    readings: Annotated[dict[Word, MemoryReading], Field(min_length=1)]


class CircuitsSpec(EnergySpec):
    """specs/circuits.yaml: factors on the energy of an op, by how a unit is built and by precision."""

    factors: dict[CIRCUITS, EnergyFactor]  # type: ignore[valid-type]
    precisions: dict[PrecisionName, EnergyFactor] = Field(default_factory=dict)  # type: ignore[valid-type]
    overhead: EnergyFactor | None = None  # type: ignore[valid-type]
