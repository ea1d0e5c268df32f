"""Devices by the names that the command line takes, with their peaks and bandwidths as derived quantities."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from rooflint.base.errors import RooflintError, shown_short
from rooflint.base.facts import Ladder
from rooflint.base.precision import precision as precision_named
from rooflint.base.precision import rate_unit
from rooflint.base.project import configured
from rooflint.base.units import BYTES_PER_S, OPS_PER_S, Dimension, format_quantity
from rooflint.hardware.device import ComputeUnit, Hardware, UndisclosedError
from rooflint.hardware.names import select_device, select_devices, system_named
from rooflint.hardware.registry import Registry
from rooflint.hardware.system import System
from rooflint.output.answer import as_fragment
from rooflint.output.sections import Grid, Page, Table

Specs = Iterable[Path | str] | None
"""Folders of specs, searched before the packaged ones; None means those that the enclosing project configures."""


def registry(specs: Specs = None) -> Registry:
    """The devices of some folders of specs, and the packaged ones behind them."""
    return Registry.of(configured("rooflint_specs") if specs is None else map(Path, specs))


@dataclass(frozen=True)
class Quantity:
    """A derived figure. `float(q)` is its value in SI base units, `str(q)` its text."""

    subject: str
    """`tensor_core bf16`, `hbm3`"""
    value: float
    """In `unit`."""
    unit: str
    """SI base unit: `op/s`, `B/s`, `B`."""
    text: str
    """For a reader: `989.4 TFLOP/s`."""
    derivation: Ladder
    """The facts whose product it is, each with its source, file and line."""
    sparse: "Quantity | None" = None
    """The same with structured sparsity, where the unit has it."""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.subject}: {self.text} = {self.derivation.formula}"

    @property
    def sources(self) -> tuple[str, ...]:
        """A line for each fact: value, document, place in it, grade, and where our spec says so."""
        facts = ((factor.display, factor.fact) for factor in self.derivation.factors if factor.fact)
        return tuple(
            f"{text}: {fact.source.document}, {fact.where} ({fact.source.grade}), {shown_short(fact.file)}:{fact.line}"
            for text, fact in facts
        )


@dataclass(frozen=True)
class Device(Hardware):
    """One device at one operating point: its facts, and the peaks and bandwidths that follow from them."""

    def peak(self, precision: str, unit: str | None = None) -> Quantity:
        """Dense peak of a unit, by default the fastest in that precision. [op/s]

        Raises RooflintError for a precision or a unit that the device does not have, and for an undisclosed rate.
        """
        name = precision_named(precision).name
        return _peak(self.unit(unit) if unit else self.best_unit(name), name)

    def peaks(self, precision: str = "") -> list[Quantity]:
        """Every dense peak that can be derived, or those of one precision. [op/s]"""
        wanted = precision_named(precision).name if precision else ""
        return list(self._peaks(wanted))

    def _peaks(self, wanted: str) -> Iterator[Quantity]:
        for unit in self.units.values():
            for name in unit.precisions:
                if not wanted or name == wanted:
                    try:
                        yield _peak(unit, name)
                    except UndisclosedError:
                        continue

    def bandwidth(self, memory: str | None = None) -> Quantity:
        """Of a memory, by default the main one. [B/s]. Raises RooflintError where it is not known."""
        place = self.memory(memory) if memory else self.main_memory()
        return _quantity(place.name, place.derivation(), BYTES_PER_S)

    def bandwidths(self) -> list[Quantity]:
        """Of every memory whose bandwidth is known. [B/s]"""
        return [self.bandwidth(place.name) for place in self.memories.values() if place.has_bandwidth]

    def link_bandwidths(self) -> list[Quantity]:
        """Of every kind of link to other devices, both directions together. [B/s]"""
        return [_quantity(one.name, one.derivation(), BYTES_PER_S) for one in self.links.values()]

    def capacity_bytes(self, memory: str | None = None) -> float:
        """Of a memory, by default the main one. [B]. Raises RooflintError where it is not known."""
        return (self.memory(memory) if memory else self.main_memory()).capacity_bytes

    @property
    def modes(self) -> tuple[str, ...]:
        """Operating points that `at` takes."""
        return tuple(self.operating_points)

    def __hash__(self) -> int:
        return hash((self.id, self.mode))

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"<Device {self.label}: {self.name}>"

    def _repr_html_(self) -> str:
        rows = [(one.subject, one.text, one.derivation.formula) for one in (*self.peaks(), *self.bandwidths())]
        return as_fragment(Page(self.name, self.label, (Grid("", Table(("", "", "derivation"), tuple(rows))),)))


def _peak(unit: ComputeUnit, name: str) -> Quantity:
    subject, text_unit = f"{unit.name} {name}", rate_unit(name)
    sparse = None
    if f"sparsity.{name}" in unit.facts:
        sparse = _quantity(subject, unit.derivation(name, sparse=True), OPS_PER_S, text_unit)
    return _quantity(subject, unit.derivation(name), OPS_PER_S, text_unit, sparse)


def _quantity(
    subject: str, ladder: Ladder, dimension: Dimension, unit: str | None = None, sparse: Quantity | None = None
) -> Quantity:
    base = "op/s" if dimension == OPS_PER_S else "B/s"
    text = format_quantity(ladder.result, dimension, unit=unit) if unit else format_quantity(ladder.result, dimension)
    return Quantity(subject, ladder.result, base, text, ladder, sparse)


def device(name: str, at: str = "", *, specs: Specs = None) -> Device:
    """A device by id, name, words that only it has, or kind: `h100-sxm5`, `t4`, `gpu`, `agx-orin-64@30w`.

    Args:
        name: as the command line takes it.
        at: operating point, such as `30w`.
        specs: folders of specs, in front of the packaged ones.

    Raises RooflintError with suggestions for an unknown name, and with the candidates for an ambiguous one.
    """
    return as_device(select_device(registry(specs), name, at))


def system(name: str, *, specs: Specs = None) -> System | None:
    """A system of devices by id, name or alias, such as `hgx-h100`; None where none has that name."""
    return system_named(registry(specs), name)


def bandwidths_of(one: System) -> list[Quantity]:
    """What follows from how the devices of a system are joined, both directions together unless it says one. [B/s]"""
    return [_quantity(name, ladder, BYTES_PER_S) for name, ladder in one.bandwidths().items()]


def hardware_of(among: Registry, on: str | Hardware, at: str = "") -> Device:
    """A device by name, or the device itself, at an operating point if one is named.

    Raises RooflintError for an unknown name, and for what is neither.
    """
    if isinstance(on, str):
        return as_device(select_device(among, on, at))
    if not isinstance(on, Hardware):
        raise RooflintError(f"want a device or its name, found {type(on).__name__}")
    return as_device(on.at(at) if at else on)


def devices(*names: str, at: str = "", specs: Specs = None) -> list[Device]:
    """Devices by names, globs (`nvidia/l*`) or kinds, each once; all that are registered without a name.

    Raises RooflintError for a name that no device has.
    """
    found = select_devices(registry(specs), names or ("*",), at)
    return [as_device(one) for one in found]


def as_device(one: Hardware) -> Device:
    """The same with the methods of the API."""
    return Device(**{each.name: getattr(one, each.name) for each in fields(Hardware)})
