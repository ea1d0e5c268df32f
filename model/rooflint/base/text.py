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


def row(label: str, value: str, more: str = "") -> str:
    """Three columns, the last one wrapped to the terminal."""
    if not more:
        return wrapped(value, f"  {label:<9} ", 12)
    head = f"  {label:<9} {value:<17} " if len(value) <= 17 else f"  {label:<9} {value}  "
    return wrapped(more, head, 30)


def wrapped(text: str, head: str, indent: int) -> str:
    """Lines of the terminal's width; paths and ids are not broken."""
    width = max(80, shutil.get_terminal_size((110, 24)).columns)
    if text.strip() and text.isprintable() and len(head) + len(text) <= width:  # most lines are short
        return f"{head}{text}".rstrip()
    wrapper = textwrap.TextWrapper(width, initial_indent=head, subsequent_indent=" " * indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(text).rstrip()


def counted(number: int, noun: str) -> str:
    """`1 device`, `2 devices`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
