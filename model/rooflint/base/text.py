"""Text for a reader: lists of names, counts, lines of three columns in a terminal, and nothing that acts on one."""

import re
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


def short_id(name: str, longest: int = 88) -> str:
    """`golden/x.yaml::allocation-a-15w-le…batch-16`: the file, and of a long id its beginning and its end."""
    file, colons, claim = name.rpartition("::")
    room = max(longest - len(file + colons), 24)
    cut = claim if len(claim) <= room else f"{claim[: room - 13]}…{claim[-12:]}"
    return f"{file}{colons}{cut}"


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
    """Lines of a width, by default the terminal's; paths and ids are not broken, long ones are indented less."""
    width = width or terminal_width()
    if text.strip() and text.isprintable() and len(head) + len(text) <= width:  # most lines are short
        return f"{head}{text}".rstrip()
    wrapper = textwrap.TextWrapper(width, initial_indent=head, subsequent_indent=" " * indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    first, *rest = wrapper.wrap(text) or [""]
    rest = [line if len(line) <= width else _indented_less(line.strip(), indent, width) for line in rest]
    return "\n".join((first, *rest)).rstrip()


def _indented_less(line: str, indent: int, width: int) -> str:
    """As far as the second column, so that paths stand below one another, where they fit there."""
    return f"{'':{max(0, min(12, indent, width - len(line)))}}{line}"


def grouped(number: int, gap: str = " ") -> str:
    """`4443`, `22 440`: five digits and more in groups of three."""
    return str(number) if abs(number) < 10_000 else f"{number:,}".replace(",", gap)


def counted(number: int, noun: str) -> str:
    """`1 device`, `2 devices`, `22 440 predictions`."""
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def article(name: str) -> str:
    """A noun with its article: `a peak`, `an intensity`, `an NPU`."""
    return f"{'an' if name[:1].lower() in 'aeiou' or name.lower() == 'npu' else 'a'} {name}"


def fail_text(number: int, noun: str = "claim") -> str:
    """`1 claim fails`, `2 claims fail`."""
    return f"{counted(number, noun)} {'fails' if number == 1 else 'fail'}"


def changed(path: str, at: str | None, old: str | None, new: str | None) -> str:
    """`tdp at 30w 40 W → 4 W`; a side that does not state a value has nothing."""
    return f"{path}{f' at {at}' if at else ''} {old or 'nothing'} → {new or 'nothing'}"


# ---- text from files that others wrote

#: Control characters but tabs and line ends; separators of lines; marks of the writing direction; what has no width.
HIDDEN = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u061c\u202a-\u202e\u2066-\u2069"
    r"\u00ad\u180e\u200b-\u200f\u2060-\u2065\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
#: What GitHub's runner takes for a command in a log.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=\[)(?<=##)", re.MULTILINE)


def visible(text: str) -> str:
    """The text with each character of HIDDEN as the escape that JSON has for it."""
    return text if text.isprintable() else HIDDEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def without_commands(text: str) -> str:
    """The text with `::` at the start of a line and `##[` broken by an escape: CI runners obey such lines of a log."""
    if "::" not in text and "##[" not in text:
        return text
    return _COMMAND.sub(lambda found: f"{found[1]}\\u003a" if found[1] is not None else "\\u0023", text)


def sanitized(text: str) -> str:
    """Both: text that does nothing to a terminal, a log or a page but to be read."""
    return without_commands(visible(text))


def workflow_command(kind: str, title: str, message: str, file: str | None = None, line: int | None = None) -> str:
    """An `error`, `warning` or `notice` for GitHub's runner, at a line of a file if one is named."""
    place = f"file={_property(file)},line={line}," if file else ""
    return f"::{kind} {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
