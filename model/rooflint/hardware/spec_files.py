"""Spec files: read strictly to flat facts, and checked for missing, contradictory and ineffective facts."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, Problem, refuse
from rooflint.base.facts import Fact, Source
from rooflint.base.files import read_text
from rooflint.base.parsed import kept
from rooflint.base.precision import PRECISIONS
from rooflint.base.strict_yaml import Document
from rooflint.hardware.device import Facts, Hardware, Memory
from rooflint.hardware.schema import READERS, RawFact, SharedSpec, SourcedSpec, Strict, reader_of

SECTIONS = ("units", "memories", "caches", "links")

#: Facts of a group, by its name.
PER_GROUP = (
    *("full_die", "resident_warps", "warp_threads", "warp_schedulers", "dispatch_units"),
    "special_function_units",
)


def incomplete(hardware: Hardware, declared: set[str], document: Document) -> Iterator[Problem]:
    """Problems of a device: underivable units, more groups than silicon, half a bandwidth, overrides without effect."""
    modes = (hardware.at(mode) for mode in hardware.operating_points)
    yield from dict.fromkeys(problem for device in (hardware, *modes) for problem in _too_many_groups(device))
    yield from _unknown_groups(hardware)
    for name, unit in hardware.units.items():
        for key in ("groups", "per_group", "clock", "macs_per_clock"):
            hidden = any(_covers(path, f"units.{name}.{key}") for path in hardware.undisclosed)
            if not hidden and not any(path.split(".")[0] == key for path in unit.facts):
                who = (
                    "neither the device nor its architecture states it"
                    if hardware.architecture
                    else "the file does not state it"
                )
                yield document.problem(
                    ("units", name),
                    f"units.{name}.{key}: is missing: {who}; add the fact, or give the reason under 'undisclosed'",
                )
        for path in unit.facts:
            key, _, precision = path.partition(".")
            if key in ("clock_of", "sparsity") and f"macs_per_clock.{precision}" not in unit.facts:
                yield document.problem(("units", name, key), f"units.{name}.{path}: but no macs_per_clock.{precision}")
    for name, memory in hardware.memories.items():
        if wrong := _wrong_bandwidth(memory):
            yield document.problem(("memories", name), f"memories.{name}: {wrong}")
    yield from _half_links(hardware, document)
    for path in hardware.undisclosed:
        if not _leads_somewhere(path, declared):
            yield document.problem(("undisclosed", path), f"undisclosed: '{path}' is not a path of this device")
    for mode, overlay in hardware.operating_points.items():
        for path, message in _ineffective(hardware, declared, mode, overlay):
            yield document.problem(("operating_points", mode, path), f"operating point '{mode}' {message}")


def _too_many_groups(hardware: Hardware) -> Iterator[Problem]:
    for name, unit in hardware.units.items():
        full, groups = hardware.full_groups(unit.group), unit.facts.get("groups")
        if full and groups and groups.value > full.result:
            yield Problem(
                groups.file,
                groups.line,
                f"units.{name}.groups: {groups.display} {unit.group}, more than the silicon has: {full.formula}",
            )


def _half_links(hardware: Hardware, document: Document) -> Iterator[Problem]:
    for name, link in hardware.links.items():
        for key in ("count", "rate"):
            if key not in link.facts:
                yield document.problem(("links", name), f"links.{name}: want count and rate, {key} is missing")


def _unknown_groups(hardware: Hardware) -> Iterator[Problem]:
    known = dict.fromkeys(unit.group for unit in hardware.units.values())
    for path, fact in hardware.facts.items():
        section, _, group = path.partition(".")
        if section in PER_GROUP and group not in known:
            yield Problem(fact.file, fact.line, f"{path}: no unit is grouped in '{group}' (groups: {', '.join(known)})")


def empty(declared: set[str], hardware: Hardware, document: Document) -> Iterator[Problem]:
    """Memories, caches and links without a fact; those of units are listed by `incomplete`."""
    for path in sorted(declared):
        section, name = path.split(".")
        hidden = any(_covers(other, path) for other in hardware.undisclosed)
        if section != "units" and not hidden and not any(fact.startswith(f"{path}.") for fact in hardware.facts):
            yield document.problem((section, name), f"{path}: has no fact; add one or remove it")


def _covers(path: str, whole: str) -> bool:
    return f"{whole}.".startswith(f"{path}.")


def _wrong_bandwidth(memory: Memory) -> str | None:
    keys = set(memory.facts)
    if "bandwidth" in keys and keys & {"bus", "pin_rate"}:
        return "states bandwidth and bus or pin_rate; keep bus and pin_rate, the bandwidth follows from them"
    if keys & {"bus", "pin_rate"} and not memory.has_bandwidth:
        return "want bus and pin_rate together"
    return None


def _ineffective(hardware: Hardware, declared: set[str], mode: str, overlay: Facts) -> Iterator[tuple[str, str]]:
    """(path, message) of overrides without effect."""
    there = hardware.at(mode)
    for path in overlay:
        words = path.split(".")
        section = ".".join(words[:2])
        if words[0] in SECTIONS and section not in declared:
            yield path, f"sets {path}, which this device does not have"
        elif words[0] == "memories" and (wrong := _wrong_bandwidth(there.memories[words[1]])):
            yield path, f"sets {path}: {section}: {wrong}"
        elif words[0] == "units" and words[2:] == ["clock"]:
            own = [other for other in hardware.facts if other.startswith(f"{section}.clock_of.")]
            left = [other.rpartition(".")[2] for other in own if other not in overlay]
            if left:
                yield path, f"sets {path}, but {', '.join(left)} has a clock of its own there; set that as well"


def _leads_somewhere(path: str, declared: set[str]) -> bool:
    """Whether a fact may stand at a dotted path, or below it, and its unit or memory exists."""
    words = path.split(".")
    known = any(
        len(words) <= len(parts) and all(part in ("*", word) for part, word in zip(parts, words, strict=False))
        for parts in (pattern.split(".") for pattern in READERS)
    )
    return known and (words[0] not in SECTIONS or len(words) < 2 or ".".join(words[:2]) in declared)


_TYPED_PEAK = re.compile(r"peak|tops|flops|ops_per_s", re.IGNORECASE)

S = TypeVar("S", bound=Strict)


def read_spec(file: Path, model: type[S], text: str | None = None) -> tuple[Document, S]:
    """Read a spec file strictly, or a text in its place. Raises InputError with every problem in it, with lines.

    What a file was read as is kept for other processes; a text that stands in for it is read once only.
    """
    return _parsed(file, model, read_text(file) if text is None else text, text is None)


@lru_cache(maxsize=1024)  # two registries with the same files parse them once
def _parsed(file: Path, model: type[S], text: str, keep: bool) -> tuple[Document, S]:
    if not keep or not model.__module__.startswith(_OURS):
        return _checked(file, model, text)
    name = f"{model.__module__}.{model.__qualname__}"
    document, spec = kept(name, file, text, lambda: _checked(file, model, text))
    return replace(document, file=file), spec


_OURS = f"{__name__.partition('.')[0]}."
"""What models are called whose code decides whether something kept is used."""


def _checked(file: Path, model: type[S], text: str) -> tuple[Document, S]:
    document = strict_yaml.parse(text, file)
    if not isinstance(document.data, dict):
        raise refuse(file, 1, "want a mapping of keys, found something else")
    try:
        spec = model.model_validate(_as_written(document.data, document))
    except ValidationError as error:
        raise InputError(problems_of(error, document, model)) from error
    refuse_empty(document)
    return document, spec


def read_without(document: Document, model: type[S], dotted: str) -> S:
    """The spec of a file without a fact, and without what has no other fact. Raises InputError where it is refused."""
    data = _as_written(document.data, document)
    words = dotted.split(".")
    for end in range(len(words), 0, -1):
        *above, last = words[:end]
        data = _pruned(data, above, last)
        if _has_fact(_at(data, above)):
            break
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputError(problems_of(error, document, model)) from error


def _pruned(data: Any, above: Sequence[str], last: str) -> Any:
    """A copy without the entry of that name below some others."""
    if above:
        return {**data, above[0]: _pruned(data[above[0]], above[1:], last)}
    return {key: value for key, value in data.items() if key != last}


def _at(data: Any, path: Sequence[str]) -> Any:
    for word in path:
        data = data[word]
    return data


def _has_fact(value: Any) -> bool:
    """Whether a fact stands somewhere in an entry."""
    if isinstance(value, dict):
        return any(map(_has_fact, value.values()))
    return isinstance(value, list) and len(value) == 3 and isinstance(value[1], str)


def refuse_empty(document: Document) -> None:
    """Raise InputError for keys without a value."""
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
    """What pydantic found, as problems with lines."""
    return [_problem(detail, document, model) for detail in error.errors(include_url=False)]


def _problem(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    dotted = ".".join(map(str, path))
    if detail["type"] == "extra_forbidden":
        return document.problem(path, _unknown_key(path, model))
    if detail["type"] == "missing":
        return document.problem(path[:-1], f"{dotted}: is missing")
    message = detail["msg"]
    if detail["type"] == "model_type":
        keys = ", ".join(_keys_at(path, model, required=True) or _keys_at(path, model))
        message = f"want {{{keys}}}, found {_short(detail['input'])}"
    elif detail["type"] not in ("fact", "precision", "claim"):
        text = message.replace("Input should be", "want").replace("String should", "want a text that should")
        message = f"{text[:1].lower()}{text[1:]}, found {_short(detail['input'])}"
    return document.problem(path, f"{dotted}: {message}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_key(path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    key = str(path[-1])
    if _TYPED_PEAK.search(key):
        return f"'{key}' states a peak; peaks are derived from facts, and a vendor's figure is a claim in golden/"
    near = difflib.get_close_matches(key, _keys_at(path[:-1], model), n=1, cutoff=0.6)
    return f"unknown key '{'.'.join(map(str, path))}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _keys_at(path: tuple[str | int, ...], model: type[BaseModel], *, required: bool = False) -> list[str]:
    """Keys that the model has at a path, or those that it must have; none where it has no such path."""
    here: Any = model
    for part in path:
        if _is_model(here):
            info = here.model_fields.get(str(part))
            here = info.annotation if info else None
        elif getattr(here, "__origin__", None) in (dict, list):
            here = here.__args__[-1]
        here = next((one for one in getattr(here, "__args__", ()) if _is_model(one) and not _is_container(here)), here)
    fields = here.model_fields if _is_model(here) else {}
    return [key for key, info in fields.items() if info.is_required() or not required]


def _is_model(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseModel)


def _is_container(thing: Any) -> bool:
    return getattr(thing, "__origin__", None) in (dict, list)


def sources_of(spec: SharedSpec | SourcedSpec) -> dict[str, Source]:
    """The documents of a spec by key."""
    return {key: Source(key, source.document, source.grade, source.url) for key, source in spec.sources.items()}


def flatten(spec: SharedSpec | SourcedSpec, document: Document) -> dict[str, Fact]:
    """Every fact of a spec by its dotted path, with source and line. Raises InputError for a source not listed."""
    sources, problems = sources_of(spec), list[Problem]()
    facts = {}
    for path, raw in _raw_facts(spec, ()):
        if raw.source not in sources:
            problems.append(_unknown_source(document, path, raw.source, sources))
            continue
        fact = _fact(path, raw, sources, document, document.line(path))
        facts[fact.path] = fact
    if problems:
        raise InputError(problems)
    return facts


def _fact(path: strict_yaml.Path, raw: RawFact, sources: Mapping[str, Source], document: Document, line: int) -> Fact:
    source = sources[raw.source]
    return Fact(".".join(map(str, path)), raw.quantity, source, raw.where, document.file, line)


def _unknown_source(document: Document, path: strict_yaml.Path, key: str, sources: Mapping[str, Source]) -> Problem:
    listed = f"listed: {', '.join(sources)}" if sources else "the file lists none"
    return document.problem(path, f"{'.'.join(map(str, path))}: unknown source '{key}' ({listed})")


def _raw_facts(value: Any, path: strict_yaml.Path) -> Iterator[tuple[strict_yaml.Path, RawFact]]:
    if isinstance(value, RawFact):
        yield path, value
    elif isinstance(value, BaseModel):
        for name, child in value:
            if child is not None:
                yield from _raw_facts(child, (*path, name))
    elif isinstance(value, dict) and path != ("operating_points",):
        for name, child in value.items():
            yield from _raw_facts(child, (*path, name))
    elif isinstance(value, list):
        for position, child in enumerate(value):
            yield from _raw_facts(child, (*path, position))


def read_override(
    dotted: str, value: Any, sources: Mapping[str, Source], document: Document, path: strict_yaml.Path, at: str = ""
) -> Fact | Problem:
    """The fact that an operating point (`at`) or a replay puts at a dotted path, or what is wrong with it."""
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
    return Fact(dotted, raw.quantity, sources[raw.source], raw.where, document.file, document.line(path), at)
