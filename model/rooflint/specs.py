"""The registry: spec files to Hardware, with inheritance from architectures, over one or several roots.

A root is a folder with `hardware/`, `architectures/` and `workloads/` below it. The packaged specs are the last root,
so that somebody else's repository can define its own devices and still speak of ours.
"""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rooflint import strict_yaml
from rooflint.errors import InputError, Problem, RooflintError, refuse
from rooflint.facts import Fact, Source
from rooflint.hardware import Facts, Hardware, Memory
from rooflint.precision import PRECISIONS
from rooflint.schema import READERS, ArchitectureSpec, HardwareSpec, RawFact, SharedSpec, reader_of
from rooflint.strict_yaml import Document

PACKAGED = Path(__file__).parent / "specs"

_ID = re.compile(r"[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)*")
_TYPED_PEAK = re.compile(r"peak|tops|flops|ops_per_s", re.IGNORECASE)

S = TypeVar("S", bound=SharedSpec)


class UnknownDeviceError(RooflintError):
    """An id that no root has; the message names the nearest ones."""


class AmbiguousDeviceError(RooflintError):
    """A name that several devices answer to; the message names them."""


@dataclass(frozen=True)
class Registry:
    """Devices and architectures of some roots; the first root that has an id wins."""

    roots: tuple[Path, ...] = (PACKAGED,)
    _loaded: dict[str, Hardware] = field(default_factory=dict, repr=False, compare=False)
    _architectures: dict[str, "Architecture"] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, roots: Iterable[Path]) -> "Registry":
        """A registry over these roots, and over the packaged specs behind them."""
        given = tuple(dict.fromkeys(Path(root).resolve() for root in roots))
        return cls(given if PACKAGED.resolve() in given else (*given, PACKAGED))

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Device files by id. Raises InputError for an id that two files of one root claim."""
        return self._files("hardware")

    @cached_property
    def architecture_files(self) -> Mapping[str, Path]:
        """Architecture files by id. Raises InputError for an id that two files of one root claim."""
        return self._files("architectures")

    def _files(self, section: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for root in reversed(self.roots):
            found |= _ids_below(root / section)
        return dict(sorted(found.items()))

    def ids(self, root: Path | None = None) -> list[str]:
        """Ids of all devices, or of those that one root defines."""
        return list(self.files) if root is None else sorted(_ids_below(root / "hardware"))

    def get(self, device: str) -> Hardware:
        """The device of exactly that id. Raises UnknownDeviceError or InputError."""
        if device not in self._loaded:
            if device not in self.files:
                raise UnknownDeviceError(f"unknown device '{device}'{_nearest(device, self.files)}")
            self._loaded[device] = self._load(device, self.files[device])
        return self._loaded[device]

    def holders(self, fact: Fact) -> list[str]:
        """Devices that hold a fact: their own, at an operating point, or by architecture. All must be readable."""
        return [device for device in self.files if _holds(self.get(device), fact)]

    def with_fact(self, fact: Fact, other: Fact) -> "Registry":
        """The same registry, in which one line of one file says something else."""
        twin = replace(self, _loaded=dict(self._loaded), _architectures=dict(self._architectures))
        twin.__dict__.update(files=self.files, architecture_files=self.architecture_files)
        for device in self.holders(fact):
            twin._loaded[device] = _replaced(self.get(device), fact, other)
        for name, architecture in self._architectures.items():
            if _same(architecture.facts.get(fact.path), fact):
                twin._architectures[name] = replace(architecture, facts={**architecture.facts, fact.path: other})
        return twin

    def find(self, name: str) -> Hardware:
        """The device that a person means: an id, an alias, or a part of exactly one id.

        Raises AmbiguousDeviceError or UnknownDeviceError.
        """
        matches = self.match(name) if name.strip(" /") else []
        if len(matches) == 1:
            return self.get(matches[0])
        if matches:
            raise AmbiguousDeviceError(f"'{name}' is ambiguous: {', '.join(matches)}")
        raise UnknownDeviceError(f"unknown device '{name}'{_nearest(name, self.files)}")

    def match(self, name: str) -> list[str]:
        """Ids that a person may mean: exactly one id or alias, else a glob, else all with that part or those words."""
        wanted = name.strip().lower()
        if wanted in self.files:
            return [wanted]
        if any(sign in wanted for sign in "*?["):
            return fnmatch.filter(self.files, wanted)
        exact = [device for device in self.files if wanted == device.rpartition("/")[2]]
        exact = exact or [device for device in self.files if wanted in (a.lower() for a in self._aliases(device))]
        exact = exact or [device for device in self.files if wanted in device]
        return exact or _with_words(wanted, self.files)

    def _aliases(self, device: str) -> tuple[str, ...]:
        try:
            hardware = self.get(device)
        except InputError:
            return ()
        return (hardware.name, *hardware.aliases)

    def architecture(self, name: str) -> "Architecture":
        """The architecture of exactly that id. Raises UnknownDeviceError or InputError."""
        if name not in self._architectures:
            if name not in self.architecture_files:
                raise UnknownDeviceError(f"unknown architecture '{name}'{_nearest(name, self.architecture_files)}")
            file = self.architecture_files[name]
            document, spec = read_spec(file, ArchitectureSpec)
            self._architectures[name] = Architecture(name, spec, document, flatten(spec, document))
        return self._architectures[name]

    def _load(self, device: str, file: Path) -> Hardware:
        document, spec = read_spec(file, HardwareSpec)
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


@dataclass(frozen=True)
class Architecture:
    """What devices of one die or generation share."""

    id: str
    spec: ArchitectureSpec
    document: Document
    facts: Facts

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


def read_spec(file: Path, model: type[S]) -> tuple[Document, S]:
    """Read a spec file strictly. Raises InputError with every problem in it, each with its line."""
    document = strict_yaml.load(file)
    if not isinstance(document.data, dict):
        raise refuse(file, 1, "want a mapping of keys, found something else")
    try:
        spec = model.model_validate(_as_written(document.data, document))
    except ValidationError as error:
        raise InputError(problems_of(error, document, model)) from error
    refuse_empty(document)
    return document, spec


def refuse_empty(document: Document) -> None:
    """Half a line is no way to say that there is nothing. Raises InputError for keys without a value."""
    problems = [
        document.problem(path, f"{'.'.join(map(str, path))}: has no value; give it one or remove the key")
        for path in document.empty
    ]
    if problems:
        raise InputError(problems)


def _as_written(value: Any, document: Document, path: strict_yaml.Path = ()) -> Any:
    """Numbers inside of facts as text: section 1.10 is not section 1.1, and 1.50 is printed to a hundredth."""
    if isinstance(value, dict):
        return {key: _as_written(child, document, (*path, key)) for key, child in value.items()}
    if isinstance(value, list) and len(value) == 3 and isinstance(value[1], str):
        return [document.texts.get((*path, position), child) for position, child in enumerate(value)]
    return value


def problems_of(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """What pydantic found, in our words and with lines."""
    return [_problem(detail, document, model) for detail in error.errors(include_url=False)]


def _problem(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    dotted = ".".join(map(str, path))
    if detail["type"] == "extra_forbidden":
        return document.problem(path, _unknown_key(path, model))
    if detail["type"] == "missing":
        return document.problem(path[:-1], f"{dotted}: is missing")
    message = detail["msg"]
    if detail["type"] not in ("fact", "precision", "claim"):
        message = f"{_lower(message)}, found {_short(detail['input'])}"
    return document.problem(path, f"{dotted}: {message}")


def _lower(message: str) -> str:
    text = message.replace("Input should be", "want").replace("String should", "want a text that should")
    return text[:1].lower() + text[1:]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_key(path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    key = str(path[-1])
    if _TYPED_PEAK.search(key):
        return f"'{key}' types a peak; peaks are derived from facts, and what a vendor printed is a claim in golden/"
    near = difflib.get_close_matches(key, _keys_at(path[:-1], model), n=1, cutoff=0.6)
    return f"unknown key '{'.'.join(map(str, path))}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _keys_at(path: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
    """Keys that the model knows at a path; none where the path leads through free words into nothing."""
    here: Any = model
    for part in path:
        if _is_model(here):
            info = here.model_fields.get(str(part))
            here = info.annotation if info else None
        elif getattr(here, "__origin__", None) in (dict, list):
            here = here.__args__[-1]
        here = next((one for one in getattr(here, "__args__", ()) if _is_model(one) and not _is_container(here)), here)
    return list(here.model_fields) if _is_model(here) else []


def _is_model(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseModel)


def _is_container(thing: Any) -> bool:
    return getattr(thing, "__origin__", None) in (dict, list)


def sources_of(spec: SharedSpec) -> dict[str, Source]:
    """The documents of a spec by key."""
    return {key: Source(key, source.document, source.grade, source.url) for key, source in spec.sources.items()}


def flatten(spec: SharedSpec, document: Document) -> dict[str, Fact]:
    """Every fact of a spec by its dotted path, with source and line. Raises InputError for a source not listed."""
    sources, problems = sources_of(spec), list[Problem]()
    facts = {}
    for path, raw in _raw_facts(spec, ()):
        if raw.source not in sources:
            problems.append(_unknown_source(document, path, raw.source, sources))
            continue
        facts[".".join(path)] = _fact(path, raw, sources, document, document.line(path))
    if problems:
        raise InputError(problems)
    return facts


def _fact(path: tuple[str, ...], raw: RawFact, sources: Mapping[str, Source], document: Document, line: int) -> Fact:
    source = sources[raw.source]
    return Fact(".".join(path), raw.quantity, source, raw.where, document.file, line)


def _unknown_source(document: Document, path: tuple[str, ...], key: str, sources: Mapping[str, Source]) -> Problem:
    listed = f"listed: {', '.join(sources)}" if sources else "the file lists none"
    return document.problem(path, f"{'.'.join(path)}: unknown source '{key}' ({listed})")


def _raw_facts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], RawFact]]:
    if isinstance(value, RawFact):
        yield path, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _raw_facts(getattr(value, name), (*path, name))
    elif isinstance(value, dict) and path != ("operating_points",):
        for name, child in value.items():
            yield from _raw_facts(child, (*path, name))


def _groups(*specs: SharedSpec) -> dict[str, str]:
    """What each unit is grouped in; a unit that nobody says it of is still one."""
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
    declared = {f"{section}.{name}" for layer in layers for section in _SECTIONS for name in getattr(layer, section)}
    problems = [*_empty(declared, hardware, document), *_incomplete(hardware, declared, document)]
    if problems:
        raise InputError(problems)
    return hardware


def _empty(declared: set[str], hardware: Hardware, document: Document) -> Iterator[Problem]:
    """Memories and caches that are named and say nothing; units are told what they lack."""
    for path in sorted(declared):
        section, name = path.split(".")
        hidden = any(_covers(other, path) for other in hardware.undisclosed)
        if section != "units" and not hidden and not any(fact.startswith(f"{path}.") for fact in hardware.facts):
            yield document.problem((section, name), f"{path}: has no fact; say something of it or remove it")


def _covers(path: str, whole: str) -> bool:
    """Whether a dotted path is, or is above, another one."""
    return f"{whole}.".startswith(f"{path}.")


def _operating_points(spec: HardwareSpec, document: Document) -> dict[str, Facts]:
    sources, problems = sources_of(spec), list[Problem]()
    points: dict[str, Facts] = {}
    for mode, overrides in spec.operating_points.items():
        points[mode] = {}
        for dotted, value in overrides.items():
            fact = read_override(dotted, value, sources, document, ("operating_points", mode, dotted))
            if isinstance(fact, Problem):
                problems.append(fact)
            else:
                points[mode] = {**points[mode], dotted: fact}
    if problems:
        raise InputError(problems)
    return points


def read_override(
    dotted: str, value: Any, sources: Mapping[str, Source], document: Document, path: strict_yaml.Path
) -> Fact | Problem:
    """The fact that an operating point or a replay puts at a dotted path, or what is wrong with it."""
    reader = reader_of(dotted)
    if reader is None:
        name = dotted.rpartition(".")[2]
        if reader_of(dotted.removesuffix(name) + next(iter(PRECISIONS))):
            return document.problem(path, f"{dotted}: unknown precision '{name}' (known: {', '.join(PRECISIONS)})")
        return document.problem(path, f"'{dotted}' is not the path of a fact, such as units.tensor_core.clock")
    try:
        raw = reader(value)
    except ValueError as error:  # PydanticCustomError is one
        return document.problem(path, f"{dotted}: {error}")
    if raw.source not in sources:
        return _unknown_source(document, (*map(str, path[:-1]), dotted), raw.source, sources)
    return Fact(dotted, raw.quantity, sources[raw.source], raw.where, document.file, document.line(path))


def _incomplete(hardware: Hardware, declared: set[str], document: Document) -> Iterator[Problem]:
    """Units that nobody can derive and nobody calls undisclosed, memories with half a bandwidth, idle modes."""
    for name, unit in hardware.units.items():
        for key in ("groups", "per_group", "clock", "macs_per_clock"):
            hidden = any(_covers(path, f"units.{name}.{key}") for path in hardware.undisclosed)
            if not hidden and not any(path.split(".")[0] == key for path in unit.facts):
                who = (
                    "neither the device nor its architecture says it"
                    if hardware.architecture
                    else "the file does not say it"
                )
                yield document.problem(
                    ("units", name),
                    f"units.{name}.{key}: is missing: {who}; add the fact, or say under 'undisclosed' why nobody can",
                )
    for name, memory in hardware.memories.items():
        if wrong := _wrong_bandwidth(memory):
            yield document.problem(("memories", name), f"memories.{name}: {wrong}")
    for path in hardware.undisclosed:
        if not _leads_somewhere(path, declared):
            yield document.problem(("undisclosed", path), f"undisclosed: '{path}' is no path of this device")
    for mode, overlay in hardware.operating_points.items():
        for path, message in _idle(hardware, declared, mode, overlay):
            yield document.problem(("operating_points", mode, path), f"operating point '{mode}' {message}")


def _wrong_bandwidth(memory: Memory) -> str | None:
    keys = set(memory.facts)
    if "bandwidth" in keys and keys & {"bus", "pin_rate"}:
        return "says bandwidth and bus or pin_rate; keep bus and pin_rate, the bandwidth follows from them"
    if keys & {"bus", "pin_rate"} and not memory.has_bandwidth:
        return "want bus and pin_rate together"
    return None


def _idle(hardware: Hardware, declared: set[str], mode: str, overlay: Facts) -> Iterator[tuple[str, str]]:
    """(path, message) of overrides that would not do what they say."""
    there = hardware.at(mode)
    for path in overlay:
        words = path.split(".")
        section = ".".join(words[:2])
        if words[0] in _SECTIONS and section not in declared:
            yield path, f"sets {path}, which this device does not have"
        elif words[0] == "memories" and (wrong := _wrong_bandwidth(there.memories[words[1]])):
            yield path, f"sets {path}: {section}: {wrong}"
        elif words[0] == "units" and words[2:] == ["clock"]:
            own = [other for other in hardware.facts if other.startswith(f"{section}.clock_of.")]
            left = [other.rpartition(".")[2] for other in own if other not in overlay]
            if left:
                yield path, f"sets {path}, but {', '.join(left)} has a clock of its own there; set that, too"


_SECTIONS = ("units", "memories", "caches")


def _leads_somewhere(path: str, declared: set[str]) -> bool:
    """Whether a fact may stand at a dotted path, or below it, and its unit or memory exists."""
    words = path.split(".")
    known = any(
        len(words) <= len(parts) and all(part in ("*", word) for part, word in zip(parts, words, strict=False))
        for parts in (pattern.split(".") for pattern in READERS)
    )
    return known and (words[0] not in _SECTIONS or len(words) < 2 or ".".join(words[:2]) in declared)


def _ids_below(folder: Path) -> dict[str, Path]:
    """Ids of a section of a root. Raises InputError for two files with one id and for a name that is no id."""
    found: dict[str, Path] = {}
    for file in sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml"))):
        name = file.relative_to(folder).with_suffix("").as_posix()
        if not _ID.fullmatch(name):
            raise refuse(file, 1, f"'{name}' is not an id: want lower-case words joined by '-' below {folder.name}/")
        if name in found:
            raise refuse(file, 1, f"id '{name}' is ambiguous: {found[name].name} defines it, too")
        found[name] = file
    return found


def _same(one: Fact | None, two: Fact) -> bool:
    return one is not None and (one.file, one.line, one.path) == (two.file, two.line, two.path)


def _holds(hardware: Hardware, fact: Fact) -> bool:
    return any(_same(facts.get(fact.path), fact) for facts in (hardware.facts, *hardware.operating_points.values()))


def _replaced(hardware: Hardware, fact: Fact, other: Fact) -> Hardware:
    points = {
        mode: {**facts, fact.path: other} if _same(facts.get(fact.path), fact) else facts
        for mode, facts in hardware.operating_points.items()
    }
    facts = {**hardware.facts, fact.path: other} if _same(hardware.facts.get(fact.path), fact) else hardware.facts
    return replace(hardware, facts=facts, operating_points=points)


def _with_words(name: str, names: Iterable[str]) -> list[str]:
    """Ids that have all the words of a name, in any order."""
    words = set(re.findall(r"[a-z0-9]+", name.lower()))
    return [other for other in names if words and words <= set(re.findall(r"[a-z0-9]+", other))]


def _nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?`: ids with all the words of a name, else those that are spelt like it."""
    names = list(known)
    near = _with_words(name, names)
    tails = {other.rpartition("/")[2]: other for other in names}
    near = near or [
        tails[tail] for tail in difflib.get_close_matches(name.lower().rpartition("/")[2], tails, cutoff=0.5)
    ]
    return f"; did you mean {' or '.join(near[:3])}?" if near else f" ({len(names)} are known)"
