"""Strict YAML: YAML 1.2 scalars with their line numbers; nothing is accepted that a reader could misread.

Refused: duplicate keys, anchors and aliases (no spec needs them; YAML bombs do), tags, several documents, NaN and
infinities, control characters, files that are too large, too deep or not UTF-8. A value of a file can also be changed
in place, with its comments, quotes and spaces as they were.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from rooflint.base.errors import InputError, Problem, refuse
from rooflint.base.files import MAX_BYTES, read_text
from rooflint.base.text import HIDDEN, visible

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML built without libyaml: slower, the same events
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

MAX_DEPTH = 12

#: Styles of a scalar that is quoted, or a block of text.
_QUOTED = frozenset("'\"|>")
#: First letters of what can only be a text; null, true and false begin with others.
_LETTERS = frozenset("abcdeghijklmopqrsuvwxyzABCDEGHIJKLMOPQRSUVWXYZ")

#: Keys and positions from the root of a document to one of its nodes.
Path = tuple[str | int, ...]

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NAN = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Document:
    """A parsed file: plain Python data, and the line of every node of it."""

    file: FilePath
    data: Any
    lines: dict[Path, int] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    """Numbers as they were written, with their trailing zeros: `2.00`."""
    empty: tuple[Path, ...] = ()
    """Keys and places without a value."""

    def line(self, path: Path) -> int:
        """The line of a node, or of the nearest node above it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, path: Path, message: str) -> Problem:
        """A problem at a node of this document."""
        return Problem(self.file, self.line(path), message)


def load(file: FilePath, *, max_bytes: int = MAX_BYTES) -> Document:
    """Read and parse a file.

    Raises InputError with file and line for everything that the module docstring lists, and for an empty file.
    """
    return parse(read_text(file, max_bytes), file)


def parse(text: str, file: FilePath) -> Document:
    """Parse text that came from `file`. Raises InputError as `load` does."""
    builder = _Builder(file, text)
    try:
        data = builder.document()
    except yaml.MarkedYAMLError as error:
        raise refuse(file, _line_of(error), f"is not YAML: {_text_of(error)}") from error
    except yaml.YAMLError as error:  # a control character, say: no mark
        raise refuse(file, 1, f"is not YAML: {' '.join(str(error).split())}") from error
    if builder.problems:
        raise InputError(builder.problems)
    return Document(file, data, builder.lines, builder.texts, tuple(builder.empty))


def _line_of(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def _text_of(error: yaml.MarkedYAMLError) -> str:
    return " ".join(str(part) for part in (error.problem, error.context) if part)


class _Builder:
    """Turns parser events into data, and notes lines and problems on the way.

    Events rather than nodes: tags and anchors are seen as they were written, and what is too deep is refused before
    anything recurses into it.
    """

    def __init__(self, file: FilePath, text: str) -> None:
        self.file = file
        self.next_event = Loader(text).get_event
        self.lines: dict[Path, int] = {}
        self.texts: dict[Path, str] = {}
        self.empty: list[Path] = []
        self.problems: list[Problem] = []

    def document(self) -> Any:
        """The one document of the text."""
        event = self.next_event()
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = self.next_event()
        if isinstance(event, yaml.StreamEndEvent):
            raise refuse(self.file, 1, "is empty")
        data = self._value(event, ())
        self.next_event()  # the document's end
        event = self.next_event()
        if not isinstance(event, yaml.StreamEndEvent):
            raise refuse(self.file, _line(event), "want one document, found another one after '---'")
        return data

    def _value(self, event: Any, path: Path) -> Any:
        self.lines[path] = _line(event)
        self._plain(event)
        if len(path) > MAX_DEPTH:
            raise refuse(self.file, _line(event), f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        return self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)

    def _plain(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise refuse(self.file, _line(event), "anchors and aliases are not part of this format; write it out")
        if event.tag is not None:
            self._add(_line(event), f"tags such as '{event.tag}' are not part of this format")

    def _sequence(self, path: Path) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := self.next_event(), yaml.SequenceEndEvent):
            values.append(self._value(event, (*path, len(values))))
        return values

    def _mapping(self, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        first: dict[str, int] = {}
        while not isinstance(event := self.next_event(), yaml.MappingEndEvent):
            line, key = _line(event), self._key(event)
            if key in first:
                self._add(line, f"'{key}' is written twice (first in line {first[key]}); keep one")
            first.setdefault(key, line)
            values[key] = self._value(self.next_event(), (*path, key))
            self.lines[(*path, key)] = line
        return values

    def _key(self, event: Any) -> str:
        self._plain(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise refuse(self.file, _line(event), "want a text as key, found a collection")
        if found := HIDDEN.search(event.value):
            raise refuse(self.file, _line(event), f"want visible characters, found U+{ord(found[0]):04X}")
        return str(event.value)

    def _scalar(self, event: Any, path: Path) -> Any:
        text: str = event.value
        if not text.isprintable() and (found := HIDDEN.search(text)):
            self._add(_line(event), f"want visible characters, found U+{ord(found[0]):04X}")
            return visible(text)
        if event.style in _QUOTED or text[:1] in _LETTERS:  # most scalars are plain words
            return text
        if text in _WORDS:
            if _WORDS[text] is None:
                self.empty.append(path)
            return _WORDS[text]
        if _NAN.fullmatch(text):
            self._add(_line(event), f"want a finite number, found {text}")
            return None
        value = _number(text)
        if not isinstance(value, str):
            self.texts[path] = text
        return value

    def _add(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.file, line, message))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _number(text: str) -> Any:
    if _INT.fullmatch(text):
        return int(text) if len(text) < 30 else text
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


class PlaceError(LookupError):
    """A value that cannot be changed in place; the message does not name the file."""


def value_at(text: str, path: Path) -> str:
    """The scalar at a path, as its quotes enclose it. Raises PlaceError."""
    return str(_scalar(text, path).value)


def keys_at(text: str, path: Path) -> list[str]:
    """Keys of the mapping at a path; none where there is no mapping."""
    try:
        node = _found(text, path)[1]
    except PlaceError:
        return []
    return [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []


def line_of_key(text: str, path: Path) -> int:
    """The line of the key at a path. Raises PlaceError."""
    key = _found(text, path)[2]
    if key is None:
        raise PlaceError("is not a key of a mapping")
    return int(key.start_mark.line) + 1


def with_value(text: str, path: Path, value: str) -> str:
    """The text with another plain value at a path, in the quotes of the old one. Raises PlaceError."""
    node = _scalar(text, path)
    quote = node.style or ""
    return f"{text[: node.start_mark.index]}{quote}{value}{quote}{text[node.end_mark.index :]}"


def with_entry_before(text: str, path: Path, entry: str) -> str:
    """The text with `key: value` before the key at a path, on a line of its own only in block style.

    Raises PlaceError.
    """
    mapping, _, key = _found(text, path)
    if key is None:
        raise PlaceError("is not a key of a mapping")
    start = key.start_mark
    newline = "\r\n" if "\r\n" in text else "\n"
    joint = ", " if mapping.flow_style else newline + " " * start.column
    return f"{text[: start.index]}{entry}{joint}{text[start.index :]}"


def _scalar(text: str, path: Path) -> Any:
    node = _found(text, path)[1]
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise PlaceError("is not a scalar on one line")
    if node.start_mark.line != node.end_mark.line:
        raise PlaceError("spans several lines")
    return node


def _found(text: str, path: Path) -> tuple[Any, Any, Any]:
    """(collection around it, node, its key or None) of the value at a path."""
    # marks of SafeLoader count characters, those of libyaml bytes
    above, node, key = None, yaml.compose(text, Loader=yaml.SafeLoader), None
    for part in path:
        above = node
        key, node = next((pair for pair in _children(above, part)), (None, None))
        if node is None:
            raise PlaceError(f"has no '{'.'.join(map(str, path))}'")
    return above, node, key


def _children(node: Any, part: str | int) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key, value) for key, value in node.value if key.value == str(part))
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        yield None, node.value[part]
