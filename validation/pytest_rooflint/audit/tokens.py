"""Tokens of source code of languages with braces: texts, numbers, names and signs, each with its place."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_TOKEN = re.compile(
    r"""
      (?P<remark> //[^\n]* | /\*.*?\*/ )
    | (?P<raw> r(?P<hash>\#*)"(?P<inside>.*?)"(?P=hash) )
    | (?P<text> "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | `(?:\\.|[^`\\])*` )
    | (?P<number> 0[xX][0-9a-fA-F_]+ | (?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d+)(?:[eE][+-]?\d+)? )
      (?: _?[fiu](?:8|16|32|64|128|size)\b | [fFlLUund]+\b | \.(?![\d.A-Za-z_]) )?
    | (?P<name> [A-Za-z_$][\w$]* )
    | (?P<sign> => | -> | :: | := | ={2,3} | != =? | <= | >= | [-+*/]= | && | \|\| | <<(?!<) | \*\* | \+\+ | -- | \.{3}
      | \?\. | [^\s\w] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)")
_FRAME = re.compile(r"^[\s*/!#]+|[\s*/]+$")
"""What frames the text of a comment: `///`, `/**`, ` * `."""


@dataclass(frozen=True, slots=True)
class Token:
    """A text, a number, a name or a sign of the language."""

    kind: str
    """`text`, `number`, `name`, `sign`."""
    text: str
    start: int
    """Offset in the source, in characters."""
    end: int
    line: int

    def is_sign(self, *signs: str) -> bool:
        """Whether it is one of some signs."""
        return self.kind == "sign" and self.text in signs


@dataclass(frozen=True)
class Source:
    """The text of a file with the lines and columns of its characters."""

    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line(self, offset: int) -> int:
        """The line of a character, from 1."""
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        """The column of a character in the bytes of UTF-8, as syntax trees count them."""
        return len(self.text[self._starts[self.line(offset) - 1] : offset].encode())

    def tokens(self) -> list[Token]:
        """All tokens without the comments."""
        found = []
        for match in _TOKEN.finditer(self.text):
            kind = str(match.lastgroup) if match["raw"] is None else "raw"
            kind = next(name for name in ("remark", "raw", "text", "number", "name", "sign") if match[name] is not None)
            if kind == "remark":
                continue
            text = _ESCAPE.sub(r"\1", match[kind][1:-1]) if kind == "text" else match[kind]
            text = match["inside"] if kind == "raw" else text
            start, end = match.span(kind)
            found.append(Token("text" if kind == "raw" else kind, text, start, end, self.line(start)))
        return found

    def comments(self) -> Iterator[tuple[int, str]]:
        """Comments by line; those that have a line of their own by its negative."""
        for match in _TOKEN.finditer(self.text):
            if match["remark"] is None:
                continue
            line, column = self.line(match.start()), match.start() - self._starts[self.line(match.start()) - 1]
            alone = not self.text[match.start() - column : match.start()].strip()
            for number, text in enumerate(match["remark"].split("\n")):
                if said := _FRAME.sub("", text):
                    yield (-(line + number) if alone or number else line), said
