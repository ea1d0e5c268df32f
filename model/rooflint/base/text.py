"""Text for a reader: lists of names, counts, and lines of three columns in a terminal."""

import shutil
import textwrap
from collections.abc import Iterable

UNKNOWN = "—"
"""What a table shows where a value is not known."""

NAMED = 3
"""Names that a sentence lists."""


def some(names: Iterable[str]) -> str:
    """`a`, `a, b, c` or `a, b, c and 2 more`; each name once."""
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more


def terminal_width() -> int:
    """Columns of the terminal, 80 at least; 110 where there is none."""
    return max(80, shutil.get_terminal_size((110, 24)).columns)


def row(label: str, value: str, more: str = "", width: int = 0) -> str:
    """Three columns, the last one wrapped to a width, by default that of the terminal."""
    if not more:
        return wrapped(value, f"  {label:<9} ", 12, width)
    head = f"  {label:<9} {value:<17} " if len(value) <= 17 else f"  {label:<9} {value}  "
    return wrapped(more, head, 30, width)


def wrapped(text: str, head: str, indent: int, width: int = 0) -> str:
    """Lines of a width, by default the terminal's; paths and ids are not broken."""
    width = width or terminal_width()
    if text.strip() and text.isprintable() and len(head) + len(text) <= width:  # most lines are short
        return f"{head}{text}".rstrip()
    wrapper = textwrap.TextWrapper(width, initial_indent=head, subsequent_indent=" " * indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(text).rstrip()


def counted(number: int, noun: str) -> str:
    """`1 device`, `2 devices`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
