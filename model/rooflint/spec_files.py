"""Reading spec files: strictly, every problem at once and in our words, then flat facts with sources and lines."""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rooflint import strict_yaml
from rooflint.errors import InputError, Problem, refuse
from rooflint.facts import Fact, Source
from rooflint.precision import PRECISIONS
from rooflint.schema import RawFact, SharedSpec, SourcedSpec, Strict, reader_of
from rooflint.strict_yaml import Document

_TYPED_PEAK = re.compile(r"peak|tops|flops|ops_per_s", re.IGNORECASE)

S = TypeVar("S", bound=Strict)


def read_spec(file: Path, model: type[S], text: str | None = None) -> tuple[Document, S]:
    """Read a spec file strictly, or a text in its place. Raises InputError with every problem in it, with lines."""
    document = strict_yaml.load(file) if text is None else strict_yaml.parse(text, file)
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
        for name in type(value).model_fields:
            yield from _raw_facts(getattr(value, name), (*path, name))
    elif isinstance(value, dict) and path != ("operating_points",):
        for name, child in value.items():
            yield from _raw_facts(child, (*path, name))
    elif isinstance(value, list):
        for position, child in enumerate(value):
            yield from _raw_facts(child, (*path, position))


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
