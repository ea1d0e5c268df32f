"""Basis: what the energies of one device rest on, each coefficient worked out once for all devices."""

from dataclasses import dataclass, field
from functools import cached_property

from rooflint.base.errors import RooflintError
from rooflint.coefficients.coefficients import Coefficients
from rooflint.coefficients.energies import Events, MemoryEnergy
from rooflint.coefficients.nodes import NodeEnergies
from rooflint.coefficients.ranges import Coefficient, Spread, UnknownCoefficientError, of_spread
from rooflint.coefficients.schema import Scope
from rooflint.devices.hardware import ComputeUnit, Hardware, working_units
from rooflint.kernels.constants import Constants, constants_file

SCOPES: tuple[Scope, ...] = ("access", "device", "unstated", "core")
"""Of what documents say of a memory, the scope that is taken: the first of these, which is the most that is said of
what is between the cells and the chip. A `path`, which goes on to the core, was measured of one memory alone and is
none of them, lest that one look three times as dear as those beside it."""


class EnergyError(RooflintError):
    """A device whose energy nobody can tell, by its id, and what is missing."""


@dataclass(frozen=True)
class Energies:
    """Coefficients of all nodes and memories, and the constants of silicon, each worked out once."""

    coefficients: Coefficients
    _nodes: dict[str, NodeEnergies] = field(default_factory=dict, repr=False, compare=False)
    _events: dict[str, Events] = field(default_factory=dict, repr=False, compare=False)
    _memories: dict[str, Coefficient] = field(default_factory=dict, repr=False, compare=False)
    _costs: dict[tuple[str, str, str], Coefficient] = field(default_factory=dict, repr=False, compare=False)

    def node(self, hardware: Hardware) -> NodeEnergies:
        """Those of a device's process. Raises EnergyError for a device whose process nobody says."""
        if "process" not in hardware.facts:
            raise EnergyError(f"{hardware.id}: no process node is known, so no energy")
        name = "".join(hardware.facts["process"].display.split())
        return self._nodes.setdefault(name, NodeEnergies(self.coefficients, name))

    def events(self, kind: str) -> Events:
        """What processors of a kind spend on control. Raises UnknownCoefficientError."""
        if kind not in self._events:
            self._events[kind] = self.coefficients.events(kind)
        return self._events[kind]

    def event(self, hardware: Hardware, events: Events, name: str) -> Coefficient:
        """An event at the device's node; a figure without a node stands as it is. [J]

        Raises EnergyError for a device whose process nobody says, or UnknownCoefficientError.
        """
        node = self.node(hardware)
        key = (node.node, events.id, name)
        if key not in self._costs:
            each, printed = of_spread(events.energy(name)), events.node(name)
            self._costs[key] = each if printed is None else node.control(each, printed)
        return self._costs[key]

    @cached_property
    def silicon(self) -> Constants:
        """What latencies on silicon rest on. Raises InputError, or RooflintError where no root has it."""
        return constants_file(self.coefficients.registry).constants

    def access(self, memory: str) -> Coefficient:
        """An access to a memory outside the chip. [J/B]. Raises UnknownCoefficientError."""
        if memory not in self._memories:
            self._memories[memory] = _access(self.coefficients.memory(memory))
        return self._memories[memory]


@dataclass(frozen=True)
class Basis:
    """What the energies of a device rest on."""

    hardware: Hardware
    energies: Energies
    compute: str
    storage: str

    @property
    def node(self) -> NodeEnergies:
        """Energies of its process. Raises EnergyError for a device whose process nobody says."""
        return self.energies.node(self.hardware)

    @property
    def unit(self) -> ComputeUnit:
        """The unit that does most of the work."""
        return working_units(self.hardware, self.compute)[0]


def _access(memory: MemoryEnergy) -> Coefficient:
    """An access to the memory outside, by the scope that includes most without the way over the chip. [J/B]"""
    found = next((spread for scope in SCOPES if (spread := _of_scope(memory, scope))), None)
    if found is None:
        raise UnknownCoefficientError(f"{memory.id}: no document says what an access costs")
    return of_spread(found)


def _of_scope(memory: MemoryEnergy, scope: Scope) -> Spread | None:
    try:
        return memory.energy(scope)
    except UnknownCoefficientError:
        return None
