"""YAML at the door: YAML 1.2 scalars, every line number kept, and nothing accepted that a reader could misread.

Refused: a key written twice, anchors and aliases (no file needs them, bombs do), tags, several documents, NaN and
infinities, files that are too large, too deep or not UTF-8.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, ClassVar

import yaml

from rooflint.errors import InputError, Problem, refuse

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: slower, the same nodes
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]


class Loader(_Loader):
    """Makes nodes only; what a plain scalar means is decided here, by YAML 1.2, so PyYAML's 1.1 rules are off."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]  # the stubs call it an instance variable


MAX_BYTES = 256 * 1024
MAX_DEPTH = 12

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

    Raises InputError with file and line for everything that the module's text refuses, and for an empty file.
    """
    return parse(read_text(file, max_bytes), file)


def read_text(file: FilePath, max_bytes: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file that is not larger than it may be. Raises InputError otherwise."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise refuse(file, 1, f"cannot be read: {error.strerror}") from error
    if len(raw) > max_bytes:
        raise refuse(file, 1, f"is larger than {max_bytes // 1024} KiB; split it")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refuse(file, line, f"want UTF-8, found byte 0x{raw[error.start]:02x}") from error


def parse(text: str, file: FilePath) -> Document:
    """Parse text that came from `file`. Raises InputError as `load` does."""
    try:
        _refuse_anchors(text, file)
        node = yaml.compose(text, Loader)
    except yaml.MarkedYAMLError as error:
        raise refuse(file, _line_of(error), f"is not YAML: {_said(error)}") from error
    except yaml.YAMLError as error:  # a control character, say: no mark
        raise refuse(file, 1, f"is not YAML: {' '.join(str(error).split())}") from error
    if node is None:
        raise refuse(file, 1, "is empty")
    builder = _Builder(file)
    data = builder.build(node, ())
    if builder.problems:
        raise InputError(builder.problems)
    return Document(file, data, builder.lines)


def _refuse_anchors(text: str, file: FilePath) -> None:
    if "&" not in text and "*" not in text:  # the usual case costs one scan of the text
        return
    for event in yaml.parse(text, Loader):
        if getattr(event, "anchor", None) is not None:
            raise refuse(
                file, _mark_line(event.start_mark), "anchors and aliases are not part of this format; write it out"
            )


def _line_of(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def _mark_line(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _said(error: yaml.MarkedYAMLError) -> str:
    return " ".join(str(part) for part in (error.problem, error.context) if part)


class _Builder:
    """Turns nodes into data, and notes lines and problems on the way."""

    def __init__(self, file: FilePath) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.lines[path] = node.start_mark.line + 1
        if len(path) > MAX_DEPTH:
            raise refuse(self.file, node.start_mark.line + 1, f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*path, position)) for position, child in enumerate(node.value)]
        return self._scalar(node)

    def _pairs(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(line, "want a word as key, found a collection")
                continue
            key = key_node.value
            if key in seen:
                self._add(line, f"'{key}' is written twice (first in line {seen[key]}); keep one")
            seen[key] = line
            value = self.build(value_node, (*path, key))
            self.lines[(*path, key)] = line
            yield key, value

    def _scalar(self, node: yaml.Node) -> Any:
        text: str = node.value
        if node.tag not in _PLAIN_TAGS:
            self._add(node.start_mark.line + 1, f"tags such as '{node.tag}' are not part of this format")
        if getattr(node, "style", None) in tuple("'\"|>"):  # quoted, or a block of text
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _NAN.fullmatch(text):
            self._add(node.start_mark.line + 1, f"want a finite number, found {text}")
            return None
        return _number(text)

    def _add(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.file, line, message))


_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
}


def _number(text: str) -> Any:
    if _INT.fullmatch(text):
        return int(text) if len(text) < 30 else text
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text
