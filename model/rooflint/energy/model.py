"""EnergyModel: what the energies of one device rest on, each coefficient worked out once for all devices."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rooflint.base.errors import RooflintError, shown
from rooflint.base.facts import Fact
from rooflint.base.memo import memoised
from rooflint.coefficients.library import Coefficients, Events
from rooflint.coefficients.nodes import NodeEnergies
from rooflint.coefficients.ranges import Coefficient, UnknownCoefficientError, of_fact, of_range
from rooflint.coefficients.schema import Scope
from rooflint.hardware.device import ComputeUnit, Hardware, working_units
from rooflint.hardware.registry import PACKAGED, Registry

if TYPE_CHECKING:
    from rooflint.kernels.constants import Constants

SCOPES: tuple[Scope, ...] = ("access", "device", "unstated", "core")
"""Scopes of a memory's energy, the one that is taken first: the most that is documented between the cells and the chip.
A `path`, which goes on to the core, was measured of one memory alone and is not among them: that memory would look
three times as expensive as the others."""


RATED = ("tdp", "powers.limit", "powers.measured_max")
"""Power limits of a device: the first that it has counts, also as what idle power is a share of."""


class EnergyError(RooflintError):
    """A device whose energy is not known; the message has its id and what is missing."""


@dataclass(frozen=True)
class Energies:
    """Coefficients of all nodes and memories, and the constants of silicon, each worked out once."""

    coefficients: Coefficients

    @classmethod
    def of(cls, registry: Registry) -> "Energies":
        """Those of a registry, worked out once and kept with its coefficients."""
        if "energies" not in registry.others:
            registry.others["energies"] = cls(Coefficients.of(registry))
        found: Energies = registry.others["energies"]
        return found

    def at(self, constants: "Constants") -> "Energies":
        """The same with other constants of kernel times."""
        found = replace(self)
        vars(found)["silicon"] = constants
        return found

    def node(self, hardware: Hardware) -> NodeEnergies:
        """Energies at a device's process node. Raises EnergyError for a device whose node is not known."""
        if "process" not in hardware.facts:
            own = not hardware.file.is_relative_to(PACKAGED)
            wish = f"; {shown(hardware.file)} may say 'process: [7 nm, source, where]'" if own else ""
            raise EnergyError(f"{hardware.id}: no process node is known, so no energy{wish}")
        return self._node("".join(hardware.facts["process"].display.split()))

    @memoised
    def _node(self, name: str) -> NodeEnergies:
        return NodeEnergies(self.coefficients, name)

    @memoised
    def events(self, kind: str) -> Events:
        """Energies of control of a kind of processor. Raises UnknownCoefficientError."""
        return self.coefficients.events(kind)

    def event(self, hardware: Hardware, kind: str, name: str) -> Coefficient:
        """An event of a kind of processor at the device's node; a figure without a node is taken as it is. [J]

        Raises EnergyError for a device whose node is not known, or UnknownCoefficientError.
        """
        return self._event(self.node(hardware), kind, name)

    @memoised
    def _event(self, node: NodeEnergies, kind: str, name: str) -> Coefficient:
        events = self.events(kind)
        each, printed = of_range(events.energy(name)), events.node(name)
        return each if printed is None else node.control(each, printed)

    @cached_property
    def silicon(self) -> "Constants":
        """Constants of kernel times. Raises InputError, or RooflintError where no root has them."""
        from rooflint.kernels.constants import constants_file  # noqa: PLC0415  # the roofline needs none

        return constants_file(self.coefficients.registry).constants

    @memoised
    def access(self, memory: str) -> Coefficient:
        """An access to a memory outside the chip, by the scope that includes most. [J/B]

        Raises UnknownCoefficientError.
        """
        found = self.coefficients.memory(memory)
        for scope in SCOPES:
            if scope in found.scopes:
                return of_range(found.energy(scope))
        raise UnknownCoefficientError(f"{memory}: no document gives the energy of an access")


@dataclass(frozen=True)
class EnergyModel:
    """The energy model of one device in one precision."""

    hardware: Hardware
    energies: Energies
    compute: str
    storage: str

    @property
    def node(self) -> NodeEnergies:
        """Energies of its process. Raises EnergyError for a device whose node is not known."""
        return self.energies.node(self.hardware)

    @cached_property
    def unit(self) -> ComputeUnit:
        """The unit that does most of the work."""
        return working_units(self.hardware, self.compute)[0]


def idle_w(hardware: Hardware, coefficients: Coefficients) -> Coefficient:
    """Power of a device that is ready and does nothing: as measured on it, else a share of its rated power. [W]

    The share is that of measured devices of its kind, with a context where such were measured. Raises EnergyError or
    UnknownCoefficientError.
    """
    if "powers.idle" in hardware.facts:
        return of_fact(hardware.facts["powers.idle"], "idle power of the device")
    rated = power_limit(hardware)
    if rated is None:
        raise EnergyError(f"{hardware.id} has no rated power, so its idle power is not known")
    share = coefficients.idle_share(hardware.kind)
    return share.times(of_fact(rated, "rated power"), f"{share.basis}, of {rated.display} rated power").as_estimate()


def power_limit(hardware: Hardware) -> Fact | None:
    """The TDP, else the limit or the highest power that was measured; None where none is known. [W]"""
    return next((fact for path in RATED if (fact := hardware.facts.get(path))), None)
