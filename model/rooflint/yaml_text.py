"""The text of a YAML file with one value changed: its comments, quotes and spaces as they were.

Places come from the parser's own marks. Nothing is dumped: a dump loses what people wrote between the values.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from rooflint.strict_yaml import Path

#: The parser in Python: its marks count characters, whatever the text is made of.
_Loader = yaml.SafeLoader


class PlaceError(LookupError):
    """A value that cannot be changed in place, said in one sentence without the file."""


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
        raise PlaceError("is no key of a mapping")
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
        raise PlaceError("is no key of a mapping")
    start = key.start_mark
    newline = "\r\n" if "\r\n" in text else "\n"
    joint = ", " if mapping.flow_style else newline + " " * start.column
    return f"{text[: start.index]}{entry}{joint}{text[start.index :]}"


def _scalar(text: str, path: Path) -> Any:
    node = _found(text, path)[1]
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise PlaceError("is no value that stands in one line")
    if node.start_mark.line != node.end_mark.line:
        raise PlaceError("runs over several lines")
    return node


def _found(text: str, path: Path) -> tuple[Any, Any, Any]:
    """(collection around it, node, its key or None) of the value at a path."""
    above, node, key = None, yaml.compose(text, Loader=_Loader), None
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
