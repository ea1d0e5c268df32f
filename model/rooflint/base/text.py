"""Names for a reader: some of them, and how many more there are."""

import shutil
import textwrap
from collections.abc import Iterable

UNKNOWN = "—"
"""What a table shows where a value is not known."""

NAMED = 3
"""Names that a sentence has room for."""


def some(names: Iterable[str]) -> str:
    """`a`, `a, b, c` or `a, b, c and 2 more`; each name once."""
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more


# ---- Lines of three columns for a terminal: a label, a value, and what there is to say about it


def row(label: str, value: str, more: str = "") -> str:
    """Three columns, the last one wrapped to the terminal."""
    if not more:
        return wrapped(value, f"  {label:<9} ", 12)
    head = f"  {label:<9} {value:<17} " if len(value) <= 17 else f"  {label:<9} {value}  "
    return wrapped(more, head, 30)


def wrapped(text: str, head: str, indent: int) -> str:
    """A path or an id is never broken."""
    wrapper = textwrap.TextWrapper(_width(), initial_indent=head, subsequent_indent=" " * indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(text).rstrip()


def _width() -> int:
    return max(80, shutil.get_terminal_size((110, 24)).columns)


def counted(number: int, noun: str) -> str:
    """`1 device`, `2 devices`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
