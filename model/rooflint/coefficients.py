"""What energy rests on, of all roots: process nodes, kinds of memory, circuit factors.

    Coefficients(registry).process("4 nm").energy("op", "fp32").typical     # J/op
    Coefficients(registry).memory("hbm3").energy("device").high             # J/B

Names are exact. Nothing is interpolated between nodes: logic, SRAM and DRAM scale each in its own way, and the readings
of a node are what was published for that node.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rooflint.energies import Circuits, MemoryEnergy, Process
from rooflint.energy_checks import problems, size_of
from rooflint.energy_schema import CircuitsSpec, EnergySpec, MemoryEnergySpec, ProcessSpec
from rooflint.errors import InputError, refuse, shown
from rooflint.hardware import Facts
from rooflint.spec_files import flatten, read_spec
from rooflint.specs import Registry
from rooflint.spread import UnknownCoefficientError
from rooflint.strict_yaml import Document

E = TypeVar("E", bound=EnergySpec)

SECTIONS = ("process", "memory")


@dataclass(frozen=True)
class Coefficients:
    """Files of the registry's roots; the first root that has an id wins."""

    registry: Registry
    _read: dict[Path, tuple[Document, EnergySpec, Facts]] = field(default_factory=dict, repr=False, compare=False)

    def ids(self, section: str) -> list[str]:
        """Names of all nodes (`process`) or memories (`memory`). Raises InputError for a file whose name is none."""
        return list(self.registry.files_of(section))

    def check(self, file: Path) -> None:
        """Read a file of one of the sections, or the circuit factors, for what is wrong with it. Raises InputError."""
        models: dict[str, type[EnergySpec]] = {"process": ProcessSpec, "memory": MemoryEnergySpec}
        self._load(file, models.get(file.parent.name, CircuitsSpec))

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is no id."""
        home = root.resolve()
        found = [file.resolve() for section in SECTIONS for file in self.registry.files_of(section).values()]
        return [file for file in (*found, home / "circuits.yaml") if file.is_relative_to(home) and file.is_file()]

    def process(self, node: str) -> Process:
        """The node of that name, `4 nm` or `4nm`. Raises UnknownCoefficientError or InputError."""
        name = "".join(node.split())
        file = self._file("process", name)
        document, spec, facts = self._load(file, ProcessSpec)
        return Process(name, spec, document, facts)

    def memory(self, kind: str) -> MemoryEnergy:
        """The memory of that name, `hbm3`. Raises UnknownCoefficientError or InputError."""
        file = self._file("memory", kind)
        document, spec, facts = self._load(file, MemoryEnergySpec)
        return MemoryEnergy(kind, spec, document, facts)

    def circuits(self) -> Circuits:
        """The circuit factors of the first root that has some. Raises UnknownCoefficientError or InputError."""
        for root in self.registry.roots:
            if (root / "circuits.yaml").is_file():
                document, spec, facts = self._load(root / "circuits.yaml", CircuitsSpec)
                return Circuits(spec, document, facts)
        raise UnknownCoefficientError(f"no circuits.yaml in {', '.join(map(shown, self.registry.roots))}")

    def _file(self, section: str, name: str) -> Path:
        files = self.registry.files_of(section)
        if name not in files:
            raise UnknownCoefficientError(f"unknown {section} '{name}'{_near(name, files)}")
        return files[name]

    def _load(self, file: Path, model: type[E]) -> tuple[Document, E, Facts]:
        if file not in self._read:
            document, read = read_spec(file, model, self.registry.texts.get(file))
            flat = flatten(read, document)
            if found := list(problems(read, document, flat)):
                raise InputError(found)
            self._read[file] = document, read, flat
        document, spec, facts = self._read[file]
        if not isinstance(spec, model):
            raise refuse(file, 1, f"want a {model.__name__}")
        return document, spec, facts


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
