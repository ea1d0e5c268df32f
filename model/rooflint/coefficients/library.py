"""Coefficients of all roots: process nodes, memories, circuit factors, events, idle power, launch overheads.

    Coefficients(registry).process("4 nm").energy("op", "fp32").typical     # J/op
    Coefficients(registry).memory("hbm3").energy("device").high             # J/B
    Coefficients(registry).events("gpu").energy("instruction").typical      # J
    Coefficients(registry).events("gpu").idle_share("context").high         # of TDP
    Coefficients(registry).launch_overhead(hardware, "graph")               # s

Names are exact. Nothing is interpolated between nodes: logic, SRAM and DRAM scale each in its own way, and the readings
of a node are what was published for that node.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, get_args

from rooflint.base.errors import InputError, shown
from rooflint.base.memo import known, memoised
from rooflint.base.strict_yaml import Document
from rooflint.coefficients import schema
from rooflint.coefficients.checks import problems, size_of
from rooflint.coefficients.ranges import Coefficient, Range, Reading, UnknownCoefficientError, of_range, reading_of
from rooflint.hardware.device import Facts, Hardware
from rooflint.hardware.lookups import Note, TrackedFacts
from rooflint.hardware.registry import Registry
from rooflint.hardware.spec_files import flatten, read_spec, read_without

E = TypeVar("E", bound=schema.EnergySpec)
N = TypeVar("N", bound=str)

#: Folders of a root, and files in it, with the shape of each.
SECTIONS: Mapping[str, type[schema.EnergySpec]] = MappingProxyType(
    {"process": schema.ProcessSpec, "memory": schema.MemoryEnergySpec, "events": schema.EventsSpec}
)
SINGLES: Mapping[str, type[schema.EnergySpec]] = MappingProxyType(
    {"circuits": schema.CircuitsSpec, "launches": schema.LaunchesSpec}
)


# ---- Energies of a process node, a memory and a kind of processor, and its idle power


@dataclass(frozen=True)
class Process:
    """A process node: energies of operations, of arrays and of wires, by document."""

    id: str
    spec: schema.ProcessSpec
    facts: Facts

    def energy(self, kind: str, of: str) -> Range:
        """`("multiply", "fp16")`, `("sram", "kib8")` or `("wire", "random_bit")`. [J/op, J/B or J/B/m]

        Raises UnknownCoefficientError.
        """
        tail = f"{of}.read" if kind == "sram" else of
        readings = [
            Reading(name, fact, fact, fact)
            for name in self.spec.readings
            if (fact := self.facts.get(f"readings.{name}.{kind}.{tail}"))
        ]
        if not readings:
            having = ", ".join(sorted(self.energies())) or "none"
            raise UnknownCoefficientError(f"{self.id} has no energy '{kind} {of}' (has: {having})")
        return Range(f"{self.id} {kind} {of}", tuple(readings))

    def energies(self) -> set[str]:
        """`multiply fp16`, `sram kib8`: what can be asked for."""
        paths = (path.split(".")[2:] for path in self.facts if not path.endswith(".capacity"))
        return {f"{kind} {of}" for kind, of, *_ in paths if kind != "relative_power"}


@dataclass(frozen=True)
class MemoryEnergy:
    """A kind of memory: energies of an access, by document and by what they include."""

    id: str
    spec: schema.MemoryEnergySpec
    facts: Facts

    @property
    def scopes(self) -> Sequence[schema.Scope]:
        """What its energies include, each once."""
        return list(dict.fromkeys(one.scope for one in self.spec.readings.values()))

    def energy(self, scope: str) -> Range:
        """The range of that scope over all documents. [J/B]. Raises UnknownCoefficientError."""
        wanted = scope_of(scope)
        readings = tuple(
            reading_of(name, self.facts, f"readings.{name}")
            for name, one in self.spec.readings.items()
            if one.scope == wanted
        )
        if not readings:
            having = ", ".join(self.scopes)
            raise UnknownCoefficientError(f"{self.id} has no energy of scope '{scope}' (has: {having})")
        return Range(f"{self.id} {scope}", readings)


def scope_of(text: str) -> schema.Scope:
    """The scope of that name. Raises UnknownCoefficientError."""
    return _one_of(schema.PARTS, text, "scope")


def mode_of(text: str) -> schema.Mode:
    """The launch mode of that name. Raises UnknownCoefficientError."""
    return _one_of(MODES, text, "launch mode")


def _one_of(known: Collection[N], text: str, what: str) -> N:
    for name in known:
        if name == text:
            return name
    raise UnknownCoefficientError(f"unknown {what} '{text}' (known: {', '.join(known)})")


@dataclass(frozen=True)
class Events:
    """Energies of control and shares of idle power of a kind of processor, by document."""

    id: str
    spec: schema.EventsSpec
    facts: Facts

    def energy(self, name: str) -> Range:
        """What documents say that one occurrence costs, at the node of the best reading. [J]

        Figures of several nodes are never in one range. Raises UnknownCoefficientError.
        """
        every, event = self.readings(name), self._event(name)
        node = event.readings[every.best.name].node
        return Range(every.what, tuple(one for one in every.readings if event.readings[one.name].node == node))

    def readings(self, name: str) -> Range:
        """All that documents say of an event, at whatever nodes: for one reading of it. [J]

        Raises UnknownCoefficientError.
        """
        return Range(f"{self.id} {name}", tuple(self._reading(name, one) for one in self._event(name).readings))

    def node(self, name: str) -> str | None:
        """The node that the best reading of an event holds for, `45nm`; None where its document names none.

        Raises UnknownCoefficientError.
        """
        return self._event(name).readings[self.readings(name).best.name].node

    def idle_share(self, state: str | None = None) -> Range:
        """Idle power over TDP in a state, or in any. [1]. Raises UnknownCoefficientError."""
        readings = tuple(
            reading_of(name, self.facts, f"idle.{name}")
            for name, one in self.spec.idle.items()
            if state in (None, one.state)
        )
        if not readings:
            having = dict.fromkeys(one.state for one in self.spec.idle.values())
            wanted = f"in state '{state}'" if state else "in any state"
            having_text = f" (has: {_listed(having)})" if having else ""
            raise UnknownCoefficientError(f"no idle power of the kind {self.id} is known {wanted}{having_text}")
        return Range(f"{self.id} idle {state or 'power'}", readings)

    def _event(self, name: str) -> schema.EventSpec:
        if name not in self.spec.events:
            raise UnknownCoefficientError(f"{self.id} has no event '{name}' (has: {_listed(self.spec.events)})")
        return self.spec.events[name]

    def _reading(self, name: str, reading: str) -> Reading:
        return reading_of(reading, self.facts, f"events.{name}.readings.{reading}")


def _listed(things: Iterable[str]) -> str:
    return ", ".join(things) or "none"


# ---- Launch overheads: time before the first useful clock

MODES: tuple[schema.Mode, ...] = get_args(schema.Mode)

GRAPH = "graph"
"""The mode of kernels that are recorded once and replayed."""

FREE = "free"
"""A launch that costs nothing, as in the plain roofline; besides MODES."""

ANY = "any"
"""The vendor of what no vendor decides: a parallel region of threads."""


@dataclass(frozen=True)
class LaunchOverheads:
    """Launch overheads by kind of device, vendor and mode; an unknown mode raises UnknownCoefficientError."""

    spec: schema.LaunchesSpec
    facts: Facts

    def overhead(self, kind: str, vendor: str, mode: str) -> Range | None:
        """What documents say of a vendor's devices, else of any vendor's; None where nothing is published. [s]"""
        for owner in (vendor, ANY):
            if one := self._launch(kind, owner, mode):
                readings = tuple(self._reading(kind, owner, mode, name) for name in one.readings)
                return Range(f"{owner} {kind} {mode} launch", readings)
        return None

    def of_kind(self, kind: str, mode: str) -> Range | None:
        """What documents say of any vendor's devices of a kind, the first that the file lists; None without one. [s]"""
        found = (self.overhead(kind, vendor, mode) for vendor in self._vendors(kind))
        return next(filter(None, found), None)

    def conditions(self, kind: str, vendor: str, mode: str, name: str) -> str:
        """Under which conditions a document has it; empty where it does not say."""
        one = self._launch(kind, vendor, mode)
        return (one.readings[name].conditions or "") if one and name in one.readings else ""

    def taken_for(self, hardware: Hardware, mode: str) -> Reading | None:
        """What a document says of a device's own architecture; None where none does. [s]"""
        vendor = hardware.id.partition("/")[0]
        one = self._launch(hardware.kind, vendor, mode)
        for name, reading in one.readings.items() if one else ():
            if hardware.architecture in reading.architectures:
                return self._reading(hardware.kind, vendor, mode, name)
        return None

    def _vendors(self, kind: str) -> Mapping[str, Mapping[schema.Mode, schema.LaunchSpec]]:
        return next((vendors for name, vendors in self.spec.launches.items() if name == kind), {})

    def _launch(self, kind: str, vendor: str, mode: str) -> schema.LaunchSpec | None:
        return self._vendors(kind).get(vendor, {}).get(mode_of(mode))

    def _reading(self, kind: str, vendor: str, mode: str, name: str) -> Reading:
        return reading_of(name, self.facts, f"launches.{kind}.{vendor}.{mode}.readings.{name}")


# ---- Files of all roots


@dataclass(frozen=True)
class Coefficients:
    """Files of the registry's roots; the first root that has an id wins."""

    registry: Registry

    @classmethod
    def of(cls, registry: Registry) -> "Coefficients":
        """Those of a registry, read once; a registry may hold others than its files say."""
        if "coefficients" not in registry.others:
            registry.others["coefficients"] = Coefficients(registry.source)
        found: Coefficients = registry.others["coefficients"]
        return found

    def ids(self, section: str) -> list[str]:
        """Names of all nodes (`process`), memories (`memory`) or kinds of processor (`events`).

        Raises InputError for a file whose name is not an id.
        """
        return list(self.registry.files_of(section))

    def check(self, file: Path) -> None:
        """Read a file of one of the sections, or a single one, for what is wrong with it. Raises InputError."""
        self._read(file, shape_of(file))

    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is not an id."""
        home = root.resolve()
        found = [file.resolve() for section in SECTIONS for file in self.registry.files_of(section).values()]
        single = [home / f"{name}.yaml" for name in SINGLES]
        return [file for file in (*found, *single) if file.is_relative_to(home) and file.is_file()]

    def facts(self, file: Path) -> Facts:
        """All facts of a file of one of the sections, or of a single one. Raises InputError."""
        return self._read(file, shape_of(file))[1]

    def with_facts(self, file: Path, facts: Facts) -> "Coefficients":
        """These coefficients with other facts at some paths of a file. Raises InputError."""
        spec, own = self._read(file, shape_of(file))
        return self._with(file, spec, {**own, **facts})

    def without(self, file: Path, path: str) -> "Coefficients":
        """These coefficients without a fact of a file, and without what held nothing else.

        Raises InputError for a file that is refused without it.
        """
        document, _ = read_spec(file, shape_of(file), self.registry.texts.get(file))
        spec = read_without(document, shape_of(file), path)
        facts = flatten(spec, document)
        self._refuse(spec, document, facts)
        return self._with(file, spec, facts)

    def taking(self, path: str, other: "Coefficients", there: Path, file: Path) -> "Coefficients":
        """These coefficients with the fact at a path of a file, or its absence, taken from `there` in others.

        Raises InputError.
        """
        spec, own = self._read(file, shape_of(file))
        shape, facts = other._read(there, shape_of(there))
        taken = {key: fact for key, fact in own.items() if key != path or path in facts}
        taken |= {path: facts[path]} if path in facts else {}
        return self._with(file, shape if taken.keys() == facts.keys() else spec, taken)

    def refuses(self, file: Path, facts: Facts) -> bool:
        """Whether a file is refused with other facts at some paths."""
        document, spec = read_spec(file, shape_of(file), self.registry.texts.get(file))
        return any(True for _ in problems(spec, document, {**self.facts(file), **facts}))

    def _with(self, file: Path, spec: schema.EnergySpec, facts: Facts) -> "Coefficients":
        twin = Coefficients(self.registry)
        known(twin, "_read").update(known(self, "_read") | {(file, shape_of(file)): (spec, facts)})
        known(twin, "_section").update(known(self, "_section"))
        return twin

    def process(self, node: str) -> Process:
        """The node of that name, `4 nm` or `4nm`. Raises UnknownCoefficientError or InputError."""
        name = "".join(node.split())
        return Process(name, *self._read(self._file("process", name), schema.ProcessSpec))

    def memory(self, kind: str) -> MemoryEnergy:
        """The memory of that name, `hbm3`. Raises UnknownCoefficientError or InputError."""
        return MemoryEnergy(kind, *self._read(self._file("memory", kind), schema.MemoryEnergySpec))

    @memoised
    def circuits(self) -> Facts:
        """Factors on the energy of an op, by how a unit is built and by precision, of the first root that has the file.

        Raises UnknownCoefficientError or InputError.
        """
        return self._read(self._single("circuits"), schema.CircuitsSpec)[1]

    def events(self, kind: str) -> Events:
        """Energies of control of processors of that kind, `gpu`. Raises UnknownCoefficientError or InputError."""
        return Events(kind, *self._read(self._file("events", kind), schema.EventsSpec))

    @memoised
    def idle_share(self, kind: str) -> Coefficient:
        """Idle over rated power of processors of a kind, with a context where such were measured. [1]

        Raises UnknownCoefficientError or InputError.
        """
        events = self.events(kind)
        try:
            return of_range(events.idle_share("context"))
        except UnknownCoefficientError:
            return of_range(events.idle_share())

    @memoised
    def launches(self) -> LaunchOverheads:
        """The launch overheads of the first root that has the file. Raises UnknownCoefficientError or InputError."""
        return LaunchOverheads(*self._read(self._single("launches"), schema.LaunchesSpec))

    def launch_overhead(self, hardware: Hardware, mode: str) -> Range | None:
        """Time that a launch costs a device: its own fact, else what is published of its vendor's, else None. [s]

        Raises UnknownCoefficientError for an unknown mode, or InputError.
        """
        name, vendor = mode_of(mode), hardware.id.partition("/")[0]
        if fact := hardware.facts.get("launch_overhead"):
            return Range(f"{hardware.id} launch", (Reading("own", fact, fact, fact),))
        return self.launches().overhead(hardware.kind, vendor, name)

    @memoised
    def usual_launch(self, kind: str, vendor: str, mode: str) -> Coefficient | None:
        """What is published of a vendor's devices of a kind, else of another vendor's; None without either. [s]

        Another vendor's is not taken where a recorded graph, which saves launches, costs the vendor's devices more.
        Raises UnknownCoefficientError for an unknown mode, or InputError.
        """
        launches = self.launches()
        if own := launches.overhead(kind, vendor, mode):
            return of_range(own)
        borrowed, graph = launches.of_kind(kind, mode), launches.overhead(kind, vendor, GRAPH)
        if borrowed is None:
            return None
        least = [of_range(borrowed)]
        if graph:
            where = launches.conditions(kind, vendor, GRAPH, graph.best.name)
            least.append(of_range(graph, f"{graph.what}{where and f', {where}'}"))
        return max(least, key=lambda one: one.typical)

    def _single(self, name: str) -> Path:
        for root in self.registry.roots:
            if (root / f"{name}.yaml").is_file():
                return root / f"{name}.yaml"
        raise UnknownCoefficientError(f"no {name}.yaml in {', '.join(map(shown, self.registry.roots))}")

    def _file(self, section: str, name: str) -> Path:
        files = self._section(section)
        if name not in files:
            thing = "kind of processor" if section == "events" else section
            where = f"; its energies go into specs/{section}/{name}.yaml" if section == "memory" else ""
            raise UnknownCoefficientError(f"unknown {thing} '{name}'{_near(name, files)}{where}")
        return files[name]

    @memoised
    def _section(self, section: str) -> Mapping[str, Path]:
        return self.registry.files_of(section)

    @memoised
    def _read(self, file: Path, model: type[E]) -> tuple[E, Facts]:
        document, spec = read_spec(file, model, self.registry.texts.get(file))
        facts = flatten(spec, document)
        self._refuse(spec, document, facts)
        return spec, facts

    @staticmethod
    def _refuse(spec: schema.EnergySpec, document: Document, facts: Facts) -> None:
        if found := list(problems(spec, document, facts)):
            raise InputError(found)


@dataclass(frozen=True, kw_only=True)
class TrackedCoefficients(Coefficients):
    """The same coefficients with tracked facts."""

    origin: Coefficients
    note: Note
    there: Note

    @memoised
    def _section(self, section: str) -> Mapping[str, Path]:
        return self.origin._section(section)

    @memoised
    def _read(self, file: Path, model: type[E]) -> tuple[E, Facts]:
        spec, facts = self.origin._read(file, model)
        return spec, TrackedFacts(facts, self.note, self.there)


def shape_of(file: Path) -> type[schema.EnergySpec]:
    """The shape of a file of coefficients."""
    return SECTIONS.get(file.parent.name) or SINGLES[file.stem]


def _near(name: str, files: Mapping[str, Path]) -> str:
    """The two nodes around an unknown one, or memories that are spelt like it."""
    size = size_of(name)
    if size is not None and all(size_of(other) for other in files):
        near = sorted(
            sorted(files, key=lambda other: abs((size_of(other) or 0) - size))[:2],
            key=lambda other: size_of(other) or 0,
        )
    else:
        near = difflib.get_close_matches(name.lower(), files, n=3, cutoff=0.5)
    return f"; nearest: {', '.join(near)}" if near else f" (known: {', '.join(files) or 'none'})"


def launch_overhead(hardware: Hardware, coefficients: Coefficients, launch: str) -> Coefficient | None:
    """Time that a launch costs: the device's own, else its vendor's, else another vendor's of its kind. [s]

    None where it is free, and where none is published. Raises UnknownCoefficientError for an unknown mode.
    """
    if launch == FREE:
        return None
    if "launch_overhead" in hardware.facts:
        own = coefficients.launch_overhead(hardware, launch)
        return of_range(own) if own else None
    return coefficients.usual_launch(hardware.kind, hardware.id.partition("/")[0], launch)
