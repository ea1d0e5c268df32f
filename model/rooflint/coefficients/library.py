"""Coefficients of all roots: process nodes, memories, circuit factors, events, idle power, launch overheads.

    Coefficients(registry).process("4 nm").energy("op", "fp32").typical     # J/op
    Coefficients(registry).memory("hbm3").energy("device").high             # J/B
    Coefficients(registry).events("gpu").energy("instruction").typical      # J
    Coefficients(registry).idle_share("gpu", "context").high                # of TDP
    Coefficients(registry).launch_overhead(hardware, "graph")               # s

Names are exact. Nothing is interpolated between nodes: logic, SRAM and DRAM scale each in its own way, and the readings
of a node are what was published for that node.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from rooflint.base.errors import InputError, shown
from rooflint.base.memo import known, memoised
from rooflint.base.strict_yaml import Document
from rooflint.coefficients.checks import event_problems, problems, size_of
from rooflint.coefficients.energies import Circuits, Events, MemoryEnergy, Process
from rooflint.coefficients.launch_overheads import FREE, LaunchOverheads, mode_of, own_overhead
from rooflint.coefficients.ranges import Coefficient, Range, UnknownCoefficientError, of_range
from rooflint.coefficients.schema import (
    CircuitsSpec,
    EnergySpec,
    EventsSpec,
    LaunchesSpec,
    MemoryEnergySpec,
    ProcessSpec,
)
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.registry import Registry
from rooflint.hardware.spec_files import flatten, read_spec

E = TypeVar("E", bound=EnergySpec)

#: Folders of a root, and files in it, with the shape of each.
SECTIONS: Mapping[str, type[EnergySpec]] = MappingProxyType(
    {"process": ProcessSpec, "memory": MemoryEnergySpec, "events": EventsSpec}
)
SINGLES: Mapping[str, type[EnergySpec]] = MappingProxyType({"circuits": CircuitsSpec, "launches": LaunchesSpec})


@dataclass(frozen=True)
class Coefficients:
    """Files of the registry's roots; the first root that has an id wins."""

    registry: Registry

    def ids(self, section: str) -> list[str]:
        """Names of all nodes (`process`), memories (`memory`) or kinds of processor (`events`).

        Raises InputError for a file whose name is not an id.
        """
        return list(self.registry.files_of(section))

    def check(self, file: Path) -> None:
        """Read a file of one of the sections, or a single one, for what is wrong with it. Raises InputError."""
        self._read(file, _shape(file))

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is not an id."""
        home = root.resolve()
        found = [file.resolve() for section in SECTIONS for file in self.registry.files_of(section).values()]
        single = [home / f"{name}.yaml" for name in SINGLES]
        return [file for file in (*found, *single) if file.is_relative_to(home) and file.is_file()]

    def facts(self, file: Path) -> Facts:
        """All facts of a file of one of the sections, or of a single one. Raises InputError."""
        return self._read(file, _shape(file))[2]

    def with_facts(self, file: Path, facts: Facts) -> "Coefficients":
        """The same, where a file's facts at some of its paths are others. Raises InputError."""
        document, spec, own = self._read(file, _shape(file))
        twin = Coefficients(self.registry)
        known(twin, "_read").update(known(self, "_read") | {(file, _shape(file)): (document, spec, {**own, **facts})})
        return twin

    def process(self, node: str) -> Process:
        """The node of that name, `4 nm` or `4nm`. Raises UnknownCoefficientError or InputError."""
        name = "".join(node.split())
        file = self._file("process", name)
        document, spec, facts = self._read(file, ProcessSpec)
        return Process(name, spec, document, facts)

    def memory(self, kind: str) -> MemoryEnergy:
        """The memory of that name, `hbm3`. Raises UnknownCoefficientError or InputError."""
        file = self._file("memory", kind)
        document, spec, facts = self._read(file, MemoryEnergySpec)
        return MemoryEnergy(kind, spec, document, facts)

    def circuits(self) -> Circuits:
        """The circuit factors of the first root that has the file. Raises UnknownCoefficientError or InputError."""
        document, spec, facts = self._read(self._single("circuits"), CircuitsSpec)
        return Circuits(spec, document, facts)

    def events(self, kind: str) -> Events:
        """Energies of control of processors of that kind, `gpu`. Raises UnknownCoefficientError or InputError."""
        file = self._file("events", kind)
        document, spec, facts = self._read(file, EventsSpec)
        return Events(kind, spec, document, facts)

    def idle_share(self, kind: str, state: str | None = None) -> Range:
        """Idle power over TDP of processors of that kind, in a state or in any. [1]

        Raises UnknownCoefficientError or InputError.
        """
        return self.events(kind).idle_share(state)

    def launches(self) -> LaunchOverheads:
        """The launch overheads of the first root that has the file. Raises UnknownCoefficientError or InputError."""
        document, spec, facts = self._read(self._single("launches"), LaunchesSpec)
        return LaunchOverheads(spec, document, facts)

    def launch_overhead(self, hardware: Hardware, mode: str) -> Range | None:
        """Time that a launch costs a device: its own fact, else what is published of its vendor's, else None. [s]

        Raises UnknownCoefficientError for an unknown mode, or InputError.
        """
        name, vendor = mode_of(mode), hardware.id.partition("/")[0]
        return own_overhead(hardware) or self.launches().overhead(hardware.kind, vendor, name)

    def _single(self, name: str) -> Path:
        for root in self.registry.roots:
            if (root / f"{name}.yaml").is_file():
                return root / f"{name}.yaml"
        raise UnknownCoefficientError(f"no {name}.yaml in {', '.join(map(shown, self.registry.roots))}")

    def _file(self, section: str, name: str) -> Path:
        files = self._section(section)
        if name not in files:
            thing = "kind of processor" if section == "events" else section
            raise UnknownCoefficientError(f"unknown {thing} '{name}'{_near(name, files)}")
        return files[name]

    @memoised
    def _section(self, section: str) -> Mapping[str, Path]:
        return self.registry.files_of(section)

    @memoised
    def _read(self, file: Path, model: type[E]) -> tuple[Document, E, Facts]:
        document, spec = read_spec(file, model, self.registry.texts.get(file))
        facts = flatten(spec, document)
        if found := [*problems(spec, document, facts), *event_problems(spec, document, facts)]:
            raise InputError(found)
        return document, spec, facts


def _shape(file: Path) -> type[EnergySpec]:
    return SECTIONS.get(file.parent.name) or SINGLES[file.stem]


def _near(name: str, files: Mapping[str, Path]) -> str:
    """The two nodes around an unknown one, or memories that are spelt like it."""
    size = size_of(name)
    if size is not None and all(size_of(other) for other in files):
        near = sorted(sorted(files, key=lambda other: abs((size_of(other) or 0) - size))[:2], key=_length)
    else:
        near = difflib.get_close_matches(name.lower(), files, n=3, cutoff=0.5)
    return f"; nearest: {', '.join(near)}" if near else f" (known: {', '.join(files) or 'none'})"


def _length(name: str) -> float:
    return size_of(name) or 0.0


def launch_overhead(hardware: Hardware, coefficients: Coefficients, launch: str) -> Coefficient | None:
    """Time that a launch costs: the device's own, else its vendor's, else another vendor's of its kind. [s]

    None where it is free, and where none is published. Raises UnknownCoefficientError for an unknown mode.
    """
    if launch == FREE:
        return None
    found = coefficients.launch_overhead(hardware, launch)
    found = found or coefficients.launches().of_kind(hardware.kind, launch)
    return of_range(found) if found else None
