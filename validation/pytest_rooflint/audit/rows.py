"""Rows of a table: texts by column, each with its line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

NAME = "device"
"""Name of the column of devices where the format has none: keys of a mapping, names in source code."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a table with its line."""

    text: str
    line: int
    remark: str = ""
    """A comment of source code on the text; it may name a precision."""


#: One row: cells by column name.
Row = Mapping[str, Cell]
#: Whether a text names a device.
IsDevice = Callable[[str], bool]
