"""The registry: spec files to Hardware, with inheritance from architectures, over one or several roots.

A root is a folder with `hardware/`, `architectures/` and `workloads/` below it. The packaged specs are the last root,
so that another repository can define its own devices and still use the packaged ones.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from rooflint.base.errors import InputError, Problem, RooflintError, refuse
from rooflint.base.facts import Fact
from rooflint.base.files import folders_digest, read_text
from rooflint.base.memo import known, memoised
from rooflint.base.parsed import Parsed
from rooflint.base.strict_yaml import Document
from rooflint.base.suggestions import did_you_mean
from rooflint.hardware.device import SYSTEM, Facts, Hardware, Joined
from rooflint.hardware.schema import ArchitectureSpec, HardwareSpec, SharedSpec, SourcedSpec, SystemSpec
from rooflint.hardware.spec_files import SECTIONS, empty, flatten, incomplete, read_override, read_spec, sources_of
from rooflint.hardware.system import wrongly_joined
from rooflint.hardware.vocabulary import mistyped_ids

PACKAGED = Path(__file__).parents[1] / "specs"

SPEC_FILES = ("*.yaml", "*.yml")
"""Patterns of the files below a root."""

_ID = re.compile(r"[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)*")


class UnknownDeviceError(RooflintError):
    """An id that no root has; the message names the nearest ones."""


@dataclass(frozen=True)
class Registry:
    """Devices and architectures of some roots; the first root that has an id wins."""

    roots: tuple[Path, ...] = (PACKAGED,)
    texts: Mapping[Path, str] = field(default_factory=dict, repr=False, hash=False)
    """Texts that replace those of some files."""
    parsed: Parsed | None = field(default=None, repr=False, compare=False)
    """Where devices are kept for the next process; None parses every file."""

    @property
    def source(self) -> "Registry":
        """The registry that reads the files; another one where this one changes what is handed out."""
        return self

    @classmethod
    def of(cls, roots: Iterable[Path], parsed: Parsed | None = None) -> "Registry":
        """A registry over these roots, and over the packaged specs behind them."""
        given = tuple(dict.fromkeys(Path(root).resolve() for root in roots))
        return cls(given if PACKAGED.resolve() in given else (*given, PACKAGED), parsed=parsed)

    @cached_property
    def others(self) -> dict[str, Any]:
        """Whatever is worked out from files other than those of devices and architectures, by a name."""
        return {}

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Device files by id. Raises InputError for an id that two files of one root claim."""
        return self.files_of("hardware")

    @cached_property
    def system_files(self) -> Mapping[str, Path]:
        """Files of systems by id. Raises InputError for an id that two files of one root claim."""
        return self.files_of("systems")

    @cached_property
    def architecture_files(self) -> Mapping[str, Path]:
        """Architecture files by id. Raises InputError for an id that two files of one root claim."""
        return self.files_of("architectures")

    def files_of(self, section: str) -> dict[str, Path]:
        """Files of a section by id, over all roots. Raises InputError as `files` does."""
        found: dict[str, Path] = {}
        for root in reversed(self.roots):
            found |= _ids_below(root / section)
        return dict(sorted(found.items()))

    @property
    def digest(self) -> str:
        """Digest of the spec files of all roots."""
        return folders_digest(self.roots, SPEC_FILES)

    def ids(self, root: Path | None = None) -> list[str]:
        """Ids of all devices, or of those that one root defines."""
        return list(self.files) if root is None else sorted(_ids_below(root / "hardware"))

    def system_ids(self, root: Path) -> list[str]:
        """Ids of the systems that one root defines."""
        return sorted(_ids_below(root / "systems"))

    @memoised
    def get(self, device: str) -> Hardware:
        """The device or system of exactly that id. Raises UnknownDeviceError or InputError."""
        if device in self.files:
            return self._load(device, self.files[device])
        if device in self.system_files:
            return self._system(device, self.system_files[device])
        raise UnknownDeviceError(f"unknown device '{device}'{_nearest(device, self.files)}")

    def readable(self) -> Iterator[Hardware]:
        """Every device that can be read; none where a file name is not an id."""
        try:
            names = self.ids()
        except InputError:
            return
        yield from (hardware for name in names if (hardware := self._readable(name)))

    def _readable(self, device: str) -> Hardware | None:
        """A device, or None where its file cannot be read."""
        try:
            return self.get(device)
        except InputError:
            return None

    def siblings(self, hardware: Hardware) -> Iterator[Hardware]:
        """Other devices of the same architecture."""
        yield from (other for other in self.heirs(hardware.architecture) if other.id != hardware.id)

    def heirs(self, architecture: str | None) -> Sequence[Hardware]:
        """Devices of an architecture that can be read."""
        return self._families.get(architecture, ()) if architecture else ()

    @cached_property
    def _families(self) -> Mapping[str | None, list[Hardware]]:
        """Devices that can be read by their architecture."""
        found: dict[str | None, list[Hardware]] = {}
        for hardware in self.readable():
            found.setdefault(hardware.architecture, []).append(hardware)
        return found

    def holders(self, fact: Fact) -> list[str]:
        """Devices that hold a fact: their own, at an operating point, or by architecture; unreadable ones hold none."""
        return [hardware.id for hardware in self._by_file.get(fact.file, ()) if _holds(hardware, fact)]

    def readable_systems(self) -> Iterator[Hardware]:
        """Every system that can be read; none where a file name is not an id."""
        try:
            names = list(self.system_files)
        except InputError:
            return
        yield from (system for name in names if (system := self._readable(name)))

    @cached_property
    def _by_file(self) -> Mapping[Path, list[Hardware]]:
        """Devices and systems that can be read by the files that their facts stand in."""
        found: dict[Path, list[Hardware]] = {}
        for hardware in (*self.readable(), *self.readable_systems()):
            found.setdefault(hardware.file, []).append(hardware)
            if hardware.architecture:
                found.setdefault(self.architecture_files[hardware.architecture], []).append(hardware)
        return found

    def with_fact(self, fact: Fact, other: Fact | None, holders: Iterable[str] | None = None) -> "Registry":
        """The same registry with another fact in one line of one file, or None; `holders` where they are known."""
        held = frozenset(self.holders(fact) if holders is None else holders)
        twin = _Planted(self.roots, origin=self, fact=fact, other=other, held=held)
        twin.__dict__.update(files=self.files, architecture_files=self.architecture_files, others=self.others)
        return twin

    def needs(self, fact: Fact, holders: Iterable[str]) -> bool:
        """Whether a device among those that hold a fact is refused without it."""
        without = self.with_fact(fact, None, holders)
        return any(self._is_incomplete(without.get(device), fact) for device in holders)

    def _is_incomplete(self, hardware: Hardware, fact: Fact) -> bool:
        """Whether a device or system is refused; a section whose last fact is gone is not declared either."""
        if hardware.joined:
            return True  # all that a system states is needed
        document, spec = read_spec(hardware.file, HardwareSpec, self.texts.get(hardware.file))
        base = self._base(spec, document)
        gone, declared = ".".join(fact.path.split(".")[:2]), _declared((base.spec, spec) if base else (spec,))
        if not any(path.startswith(f"{gone}.") for path in hardware.facts):
            declared -= {gone}
        return any(True for _ in incomplete(hardware, declared, document))

    def take(self, other: "Registry", same: Callable[[Path, Path], bool]) -> None:
        """Take devices that another registry can read, where `same` says that their files say the same here.

        Neither has other texts of files. A device that is taken has the path of the other registry's file.
        """
        none = Path()
        for name, file in self.files.items():
            if name in other.files and same(file, other.files[name]) and (found := other._readable(name)):
                base = found.architecture or ""
                files = (self.architecture_files.get(base, none), other.architecture_files.get(base, none))
                if not base or same(*files):
                    known(self, "get")[(name,)] = found

    def with_texts(self, texts: Mapping[Path, str]) -> "Registry":
        """The same registry with other texts of some files."""
        return self._again({**self.texts, **texts}, texts)

    def reread(self, changed: Collection[Path]) -> "Registry":
        """The same registry with these files read again, none of which is new or gone."""
        return self._again(self.texts, changed)

    def _again(self, texts: Mapping[Path, str], other: Collection[Path]) -> "Registry":
        """A registry that keeps what it has read, but for what rests on these files."""
        twin = Registry(self.roots, texts, self.parsed)
        twin.__dict__.update(files=self.files, architecture_files=self.architecture_files)
        if {*self.files.values(), *self.architecture_files.values()}.issuperset(other):
            twin.__dict__.update(others=self.others)
        changed = {name for name, file in self.architecture_files.items() if file in other}
        same = {key: one for key, one in known(self, "architecture").items() if key[0] not in changed}
        known(twin, "architecture").update(same)
        devices = known(self, "get").items()
        kept = {key: one for key, one in devices if one.file not in other and one.architecture not in changed}
        known(twin, "get").update(kept)
        return twin

    @memoised
    def architecture(self, name: str) -> "Architecture":
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        if name not in self.architecture_files:
            raise UnknownDeviceError(f"unknown architecture '{name}'{_nearest(name, self.architecture_files)}")
        file = self.architecture_files[name]
        document, spec = read_spec(file, ArchitectureSpec, self.texts.get(file))
        return Architecture(name, spec, document, flatten(spec, document))

    def _load(self, device: str, file: Path) -> Hardware:
        if self.parsed is None or file in self.texts:
            return self._read(device, file)

        def parse() -> tuple[Hardware, tuple[str, str]]:
            found = self._read(device, file)
            return replace(found), self._read_for(found.architecture)  # a copy holds nothing worked out

        found, _ = self.parsed.of(
            file, read_text(file), parse, lambda one: one[1] == self._read_for(one[0].architecture)
        )
        return found

    def _read_for(self, architecture: str | None) -> tuple[str, str]:
        """Path and text of an architecture's file; empty for none. Raises InputError where it cannot be read."""
        file = self.architecture_files.get(architecture or "")
        return (str(file), self.texts.get(file) or read_text(file)) if file else ("", "")

    def _system(self, name: str, file: Path) -> Hardware:
        document, spec = read_spec(file, SystemSpec, self.texts.get(file))
        found = Hardware(
            id=name,
            name=spec.name,
            kind=SYSTEM,
            scope=SYSTEM,
            file=document.file,
            facts=flatten(spec, document),
            aliases=tuple(spec.aliases),
            sources=sources_of(spec),
            notes=spec.notes,
            joined=Joined(spec.device, spec.link, spec.topology),
        )
        if problems := list(wrongly_joined(found, self._device_of(found), document)):
            raise InputError(problems)
        return found

    def _device_of(self, system: Hardware) -> Hardware | None:
        """The device of a system; None where there is none of that id."""
        assert system.joined
        return self.get(system.joined.device) if system.joined.device in self.files else None

    def _read(self, device: str, file: Path) -> Hardware:
        document, spec = read_spec(file, HardwareSpec, self.texts.get(file))
        base = self._base(spec, document)
        own = flatten(spec, document)
        facts = {**base.facts, **own} if base else dict(own)
        return _build(device, spec, document, base, facts)

    def _base(self, spec: HardwareSpec, document: Document) -> "Architecture | None":
        if spec.architecture is None:
            return None
        try:
            return self.architecture(spec.architecture)
        except UnknownDeviceError as error:
            raise InputError([document.problem(("architecture",), str(error))]) from error


@dataclass(frozen=True, kw_only=True)
class _Planted(Registry):
    """A registry with another fact in one line; the devices that hold it are changed on demand."""

    origin: Registry
    fact: Fact
    other: Fact | None
    held: frozenset[str]

    @property
    def source(self) -> Registry:
        """The registry that reads the files."""
        return self.origin.source

    @memoised
    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        device_now = self.origin.get(device)
        return _replaced(device_now, self.fact, self._instead(device_now)) if device in self.held else device_now

    def _instead(self, hardware: Hardware) -> Fact | None:
        """What a device says then: without its own fact that of its architecture, where there is one."""
        if self.other or self.fact.at or not hardware.architecture or self.fact.file != hardware.file:
            return self.other
        return self.origin.architecture(hardware.architecture).facts.get(self.fact.path)

    @memoised
    def architecture(self, name: str) -> "Architecture":
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        found = self.origin.architecture(name)
        if not same_place(found.facts.get(self.fact.path), self.fact):
            return found
        return replace(found, facts=_with(found.facts, self.fact.path, self.other))


@dataclass(frozen=True)
class Architecture:
    """What devices of one die or generation share."""

    id: str
    spec: ArchitectureSpec
    document: Document
    facts: Facts

    @memoised
    def as_hardware(self) -> Hardware:
        """The architecture as an incomplete device: its rates can be asked for, its counts and clocks cannot."""
        return Hardware(
            id=self.id,
            name=self.spec.name,
            kind=self.spec.kind,
            scope="die",
            file=self.document.file,
            facts=self.facts,
            unit_groups=_groups(self.spec),
            circuits=_circuits(self.spec),
            sources=sources_of(self.spec),
            undisclosed=self.spec.undisclosed,
        )


def _groups(*specs: SharedSpec) -> dict[str, str]:
    """What each unit is grouped in; `group` where the spec does not say."""
    found = {name: "group" for spec in specs for name in spec.units}
    return found | {name: unit.group for spec in specs for name, unit in spec.units.items() if unit.group}


def _circuits(*specs: SharedSpec) -> dict[str, str]:
    return {name: unit.circuit for spec in specs for name, unit in spec.units.items() if unit.circuit}


def _build(device: str, spec: HardwareSpec, document: Document, base: Architecture | None, facts: Facts) -> Hardware:
    layers: tuple[SharedSpec, ...] = (base.spec, spec) if base else (spec,)
    hardware = Hardware(
        id=device,
        name=spec.name,
        kind=spec.kind,
        scope=spec.scope,
        file=document.file,
        facts=facts,
        unit_groups=_groups(*layers),
        circuits=_circuits(*layers),
        architecture=spec.architecture,
        aliases=tuple(spec.aliases),
        die=next((layer.die for layer in reversed(layers) if layer.die), None),
        compute_capability=next(
            (layer.compute_capability for layer in reversed(layers) if layer.compute_capability), None
        ),
        sources={key: source for layer in layers for key, source in sources_of(layer).items()},
        operating_points=_operating_points(spec, document),
        undisclosed={path: reason for layer in layers for path, reason in layer.undisclosed.items()},
        notes=spec.notes,
    )
    declared = _declared(layers)
    problems = [*empty(declared, hardware, document), *incomplete(hardware, declared, document)]
    if problems:
        raise InputError(problems)
    return hardware


def _declared(layers: Iterable[SharedSpec]) -> set[str]:
    """`units.tensor_core`, `memories.hbm3`: what the files name, with facts or without."""
    return {f"{section}.{name}" for layer in layers for section in SECTIONS for name in getattr(layer, section)}


def _operating_points(spec: HardwareSpec, document: Document) -> dict[str, Facts]:
    sources, problems = sources_of(spec), list[Problem]()
    points: dict[str, Facts] = {}
    for mode, overrides in spec.operating_points.items():
        points[mode] = {}
        for dotted, value in overrides.items():
            fact = read_override(dotted, value, sources, document, ("operating_points", mode, dotted), mode)
            if isinstance(fact, Problem):
                problems.append(fact)
            else:
                points[mode] = {**points[mode], dotted: fact}
    if problems:
        raise InputError(problems)
    return points


def _ids_below(folder: Path) -> dict[str, Path]:
    """Ids of a section of a root. Raises InputError for two files with one id and for a name that is not an id."""
    found: dict[str, Path] = {}
    for file in sorted(file for pattern in SPEC_FILES for file in folder.rglob(pattern)):
        name = file.relative_to(folder).with_suffix("").as_posix()
        if not _ID.fullmatch(name):
            raise refuse(file, 1, f"'{name}' is not an id: want lower-case words joined by '-' below {folder.name}/")
        if name in found:
            raise refuse(file, 1, f"id '{name}' is ambiguous: {found[name].name} also defines it")
        found[name] = file
    return found


def same_place(one: Fact | None, two: Fact) -> bool:
    """Whether two facts are stated at the same place, whatever it says."""
    return one is not None and one.place == two.place


def _holds(hardware: Hardware, fact: Fact) -> bool:
    return any(
        same_place(facts.get(fact.path), fact) for facts in (hardware.facts, *hardware.operating_points.values())
    )


def _replaced(hardware: Hardware, fact: Fact, other: Fact | None) -> Hardware:
    points = {
        mode: _with(facts, fact.path, other) if same_place(facts.get(fact.path), fact) else facts
        for mode, facts in hardware.operating_points.items()
    }
    own = same_place(hardware.facts.get(fact.path), fact)
    facts = _with(hardware.facts, fact.path, other) if own else hardware.facts
    return replace(hardware, facts=facts, operating_points=points)


def _with(facts: Facts, path: str, other: Fact | None) -> Facts:
    """The facts with another one at a path, or with none."""
    if other:
        return {**facts, path: other}
    return {name: fact for name, fact in facts.items() if name != path}


def _nearest(name: str, known: Collection[str]) -> str:
    """`; did you mean …?`, or how many ids there are."""
    return did_you_mean(mistyped_ids(name, known)) or f" ({len(known)} are known)"


S = TypeVar("S", bound=SourcedSpec)


@dataclass(frozen=True)
class FactFile(Generic[S]):
    """One file, read and checked."""

    spec: S
    document: Document
    facts: Facts


@dataclass(frozen=True)
class LayeredFiles(Generic[S]):
    """`specs/<section>/` of every root of a registry."""

    registry: Registry
    section: str
    model: type[S]
    problems: Callable[[FactFile[S]], Iterator[Problem]]
    """Contradictions in a file, beyond its shape."""

    @memoised
    def files(self, root: Path) -> list[Path]:
        """Files of one root. Raises InputError for a file whose name is not an id."""
        return [file.resolve() for file in Registry((root,)).files_of(self.section).values()]

    @memoised
    def read(self, file: Path) -> FactFile[S]:
        """A file with its facts. Raises InputError with everything that is wrong with it."""
        texts = {path.resolve(): text for path, text in self.registry.texts.items()}
        document, spec = read_spec(file, self.model, texts.get(file.resolve()))
        found = FactFile(spec, document, flatten(spec, document))
        if wrong := list(self.problems(found)):
            raise InputError(wrong)
        return found

    def layers(self) -> Iterator[list[FactFile[S]]]:
        """The files of each root, first root first. Raises InputError."""
        for root in self.registry.roots:
            yield [self.read(file) for file in self.files(root)]
