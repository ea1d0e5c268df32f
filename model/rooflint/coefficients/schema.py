"""Schemas of the files of coefficients: process nodes, memories, circuit factors, events, idle power, launches.

Each file holds *readings*: what one document says under one set of conditions. Documents that disagree stand side by
side. A unit is demanded as it is spelt, because pJ/bit taken for pJ/B is a factor of 8 that no window would see.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from rooflint.base.units import DIMENSIONLESS, JOULES, JOULES_PER_BYTE, JOULES_PER_BYTE_M, JOULES_PER_OP, SECONDS
from rooflint.hardware.schema import (
    CIRCUITS,
    Capacity,
    FactKind,
    Kind,
    PrecisionName,
    SourcedSpec,
    Strict,
    Text,
    Word,
    fact_of,
)

PICO = 1e-12

#: What an access consists of. A scope is a set of these, and scopes that share a part are never added.
Part = Literal["activation", "movement", "io", "phy", "controller", "transport"]
Scope = Literal["activation", "movement", "core", "io", "phy", "interface", "device", "access", "path", "unstated"]

_CORE: frozenset[Part] = frozenset(("activation", "movement"))
_INTERFACE: frozenset[Part] = frozenset(("io", "phy"))

#: Scope → its parts. What a document left open has none.
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
    FactKind("an energy per operation", JOULES_PER_OP, 1e-3 * PICO, 20 * PICO, "3.7 pJ/op", unit="pJ/op", shown=PICO)
)
SramEnergy = fact_of(
    FactKind("an energy per byte", JOULES_PER_BYTE, 0.05 * PICO, 20 * PICO, "10/8 pJ/B", unit="pJ/B", shown=PICO)
)
WireEnergy = fact_of(
    FactKind(
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
    FactKind(
        "an energy per bit",
        JOULES_PER_BYTE,
        0.1 * 8 * PICO,
        30 * 8 * PICO,
        "3.97 pJ/bit",
        unit="pJ/bit",
        shown=8 * PICO,
    )
)
RelativePower = fact_of(FactKind("a power over that of another node", DIMENSIONLESS, 0.2, 1, "0.70"))
EnergyFactor = fact_of(FactKind("a factor", DIMENSIONLESS, 0.05, 5, "0.85"))

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
    wire: WireSpec = Field(default_factory=WireSpec)
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


#: What an event pays for. Events that share one of these are never added.
Cover = Literal[
    "fetch",
    "decode",
    "control",
    "schedule",
    "operands",
    "registers",
    "arithmetic",
    "replay",
    "coherence",
    "coalescing",
    "barrier",
    "movement",
    "tracking",
    "setup",
]

#: What an event is counted by. A lane is one of 32 of a warp; a step is what a matrix unit does of an instruction in a
#: clock; a request is a cache line; an element is a number that enters or leaves an array, a program what it is set up
#: for.
Per = Literal[
    "instruction",
    "lane_instruction",
    "warp_instruction",
    "matrix_step",
    "thread",
    "op",
    "access",
    "element",
    "hop",
    "request",
    "branch",
    "barrier",
    "transfer",
    "program",
    "kernel",
]

#: Lowest and highest energy of an event, by what it is counted by. [J]
WINDOWS: Mapping[Per, tuple[float, float]] = MappingProxyType(
    {
        "instruction": (0.1 * PICO, 1000 * PICO),
        "lane_instruction": (0.1 * PICO, 500 * PICO),
        "warp_instruction": (0.1 * PICO, 2000 * PICO),
        "matrix_step": (1 * PICO, 5000 * PICO),
        "thread": (0.05 * PICO, 100 * PICO),
        "op": (0.01 * PICO, 20 * PICO),
        "access": (0.05 * PICO, 50 * PICO),
        "element": (0.02 * PICO, 50 * PICO),
        "hop": (0.05 * PICO, 100 * PICO),
        "request": (0.1 * PICO, 500 * PICO),
        "branch": (0.1 * PICO, 1500 * PICO),
        "barrier": (0.5 * PICO, 5000 * PICO),
        "transfer": (0.5 * PICO, 2000 * PICO),
        "program": (5 * PICO, 20000 * PICO),
        "kernel": (1000 * PICO, 1e6 * PICO),
    }
)

#: What a device was doing when its idle power was read. A context is a process that holds the device and computes
#: nothing; no_load is a system without load; unstated is what the document left open.
State = Literal["no_context", "context", "no_load", "unstated"]

#: How work is handed over: each op by a framework, each kernel waited for, kernels queued behind one another, a
#: recorded graph of them, or a parallel region of threads.
Mode = Literal["framework", "synchronous", "stream", "graph", "region"]

EventEnergy = fact_of(
    FactKind(
        "an energy", JOULES, 0.01 * PICO, 1e6 * PICO, "70 pJ", unit="pJ", shown=PICO
    )  # WINDOWS has the narrow ones
)
IdleShare = fact_of(FactKind("idle power over TDP", DIMENSIONLESS, 0.01, 1, "53/300"))
LaunchTime = fact_of(FactKind("a launch overhead", SECONDS, 1e-9, 1e-4, "2.1 µs"))


class EventReading(Strict):
    """What one document says an event costs, and at which node: one value, or the ends of a range."""

    node: NodeName | None = None
    conditions: Text | None = None
    typical: EventEnergy | None = None  # type: ignore[valid-type]
    low: EventEnergy | None = None  # type: ignore[valid-type]
    high: EventEnergy | None = None  # type: ignore[valid-type]


class EventSpec(Strict):
    """One kind of event."""

    what: Text
    per: Per
    covers: Annotated[list[Cover], Field(min_length=1)]
    readings: Annotated[dict[Word, EventReading], Field(min_length=1)]


class IdleReading(Strict):
    """Idle power over TDP, of one device in one state."""

    state: State
    conditions: Text | None = None
    typical: IdleShare | None = None  # type: ignore[valid-type]
    low: IdleShare | None = None  # type: ignore[valid-type]
    high: IdleShare | None = None  # type: ignore[valid-type]


class EventsSpec(EnergySpec):
    """specs/events/<kind>.yaml: what a kind of processor spends beside arithmetic and memory."""

    events: Annotated[dict[Word, EventSpec], Field(min_length=1)]
    idle: dict[Word, IdleReading] = Field(default_factory=dict)


class LaunchReading(Strict):
    """What one document says a launch costs: one value, or the ends of a range."""

    conditions: Text | None = None
    architectures: list[Text] = Field(default_factory=list)
    """Architectures that it is taken for, where the question is about one device and not about its vendor."""
    typical: LaunchTime | None = None  # type: ignore[valid-type]
    low: LaunchTime | None = None  # type: ignore[valid-type]
    high: LaunchTime | None = None  # type: ignore[valid-type]


class LaunchSpec(Strict):
    """One way of launching."""

    what: Text
    readings: Annotated[dict[Word, LaunchReading], Field(min_length=1)]


class LaunchesSpec(EnergySpec):
    """specs/launches.yaml: time before the first useful clock, by kind, by vendor (or `any`) and by mode."""

    launches: Annotated[dict[Kind, dict[Word, dict[Mode, LaunchSpec]]], Field(min_length=1)]
