"""Tables in a terminal, fitted to its width: figures are never cut or folded; names shorten and fold before they are.

Only writers of text import this module, because it needs Rich.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from rooflint.base.text import UNKNOWN, visible
from rooflint.output.sections import Table

GAP = 2
GLUE = "\N{NO-BREAK SPACE}"
"""Shown as a blank at which no line breaks."""
LONGEST_FIGURE = 24
_COUNTED = re.compile(r"[▸ ]*\d+ × [a-z]")
"""`8 × h100-sxm5-80gb`: a name, not a figure."""
"""Whatever is longer folds like text. [columns]"""
LONGEST_PIECE = 20
"""Pieces of words are cut where they are longer and there is no room. [columns]"""
SENTENCE = 32
"""Least for a column of sentences; where there is no room for it, it stands in a block of its own. [columns]"""
STRONG = "▸ "
"""In front of rows that stand out, so that they do without colour, too."""

_FIGURE = re.compile(r"[*≈~<>≤≥±+−-]*\s?[.\d]")
_NUMBER_AND_UNIT = re.compile(r"(?<![^\s(*≈<>=])([≈~<>≤≥±+−-]*\.?\d[\d.,]*) (?=[^\s\d]{1,10}(?:[\s,;.:)]|$))")
_SIGN_AND_NAME = re.compile(r"(?<!\S)([≈≥≤]) (?=\S)")
_BREAK = re.compile(r"(?<=[/_-])(?!\d+\b)|(?<=\.)(?=[A-Za-z])")

Styles = Callable[[int, int], str]
"""Rich style of a row and a column of a table."""


def plain(text: str) -> str:
    """One line of it, with control characters that can be seen; what no terminal has a width for is a blank."""
    shown = visible(text)
    return shown if shown.isprintable() else "".join(one if one.isprintable() or one == GLUE else " " for one in shown)


def broken(text: str, width: int) -> list[str]:
    """Lines of at most so many columns: a number stays with its unit and a sign with what follows, where they fit.

    Words break behind `/`, `-`, `_` and dots.
    """
    lines = [""]
    for atom in _atoms(text, width):
        if not lines[-1] or cell_len(lines[-1] + atom) > width:
            lines.append(atom.lstrip(" "))
        else:
            lines[-1] += atom
    return [line.replace(GLUE, " ") for line in lines if line] or [""]


def _atoms(text: str, width: int) -> Iterator[str]:
    """What is not broken further, with a blank in front where a word begins."""
    for word in _words(text):
        first, *rest = [word] if cell_len(word) <= width else _pieces(word, width)
        yield f" {first}"
        yield from rest


def _words(text: str) -> list[str]:
    glued = _SIGN_AND_NAME.sub(rf"\1{GLUE}", plain(text))
    return _NUMBER_AND_UNIT.sub(rf"\1{GLUE}", glued).strip(" ").split(" ")


def _pieces(word: str, width: int) -> list[str]:
    """A long word, cut where a reader would; figures are one piece."""
    pieces = [word] if _FIGURE.match(word) else _BREAK.split(word)
    return [part for piece in pieces for part in chop_cells(piece, width)] or [""]


def shortened(text: str) -> str:
    """Ids by their last part: `nvidia/h100-sxm5-80gb at 30w` is `h100-sxm5-80gb at 30w`; units stay as they are."""
    return re.sub(r"[^\s]+", lambda word: _last_part(word[0]), text)


def _last_part(word: str) -> str:
    last = word.rpartition("/")[2]
    return last if re.fullmatch(r"[a-z][\w./-]*", word) and re.search(r"[a-z].*[\d-]|[\d-].*[a-z]", last) else word


@dataclass(frozen=True)
class Column:
    """A column as text; widths in columns of the terminal."""

    position: int
    head: str
    cells: tuple[str, ...]

    @cached_property
    def figures(self) -> bool:
        """Holds numbers, so that it stands right and in one piece."""
        known = [cell for cell in self.cells if cell.strip(f" {UNKNOWN}{GLUE}")]
        return bool(known) and all(
            _FIGURE.match(cell) and cell_len(cell) <= LONGEST_FIGURE and not _COUNTED.match(cell) for cell in known
        )

    @cached_property
    def body(self) -> int:
        """Width without breaks, of the cells."""
        return max(map(cell_len, self.cells), default=0)

    @cached_property
    def natural(self) -> int:
        """Width without breaks."""
        return max(self.body, cell_len(self.head))

    @cached_property
    def least(self) -> int:
        """Width that cuts no figure and no piece of a word that is not very long, and leaves sentences readable."""
        if self.figures:
            return max(self.body, _longest_piece([self.head]))
        return max(_longest_piece([self.head, *self.cells]), SENTENCE if self.body > 2 * SENTENCE else 0)

    def lines(self, row: int, width: int) -> list[str]:
        """A cell."""
        return [self.cells[row].replace(GLUE, " ")] if self.figures else broken(self.cells[row], width)

    def short(self) -> "Column":
        """With short ids, as far as they still tell rows apart."""
        cells = tuple(map(shortened, self.cells))
        unique = len(set(cells)) == len(set(self.cells))
        return replace(self, head=shortened(self.head), cells=cells if unique else self.cells)


def _longest_piece(texts: Iterable[str]) -> int:
    pieces = (piece for text in texts for word in _words(text) for piece in _pieces(word, LONGEST_PIECE))
    return max(map(cell_len, pieces), default=0)


def columns(table: Table) -> list[Column]:
    """The columns of a table, on one line each."""
    cells = [[plain("" if cell is None else str(cell)).strip(" ") for cell in row] for row in table.rows]
    return [
        Column(position, plain(head).strip(" "), tuple(row[position] for row in cells))
        for position, head in enumerate(table.columns)
    ]


def blocks(found: list[Column], width: int) -> Iterator[list[Column]]:
    """Columns that fit side by side; the first one, which names the rows, is repeated in each block.

    Where one block is not enough, names may take a third of the width before they fold.
    """
    if _total(column.natural for column in found) > width:
        found = _short(found)
    first, *rest = found
    names = first.least
    if _total(column.least for column in found) > width:
        names = max(names, min(first.natural, width // 3))
    block = [first]
    for column in rest:
        if len(block) > 1 and _total([names, *(one.least for one in [*block[1:], column])]) > width:
            yield block
            block = [first]
        block.append(column)
    yield block


def _short(found: list[Column]) -> list[Column]:
    """Short ids, but no two columns under the same name."""
    short = [column.short() for column in found]
    if len({column.head for column in short}) == len({column.head for column in found}):
        return short
    return [replace(new, head=old.head) for new, old in zip(short, found, strict=True)]


def _total(widths: Iterable[int]) -> int:
    return sum(width + GAP for width in widths) - GAP


def widths(block: list[Column], width: int) -> list[int]:
    """The least of each; what is left over goes to cells before headers, and first to those that lack little."""
    given = [column.least for column in block]
    spare = max(width - _total(given), 0)
    for wanted in ([column.body for column in block], [column.natural for column in block]):
        lacking = [max(want - now, 0) for want, now in zip(wanted, given, strict=True)]
        for position in sorted(range(len(block)), key=lambda number: lacking[number]):
            more = min(lacking[position], spare)
            given[position] += more
            spare -= more
    return given


def fitted(
    table: Table, width: int, strong: Collection[int] = (), styles: Styles | None = None
) -> Iterator[RenderableType]:
    """A table in as many blocks as its columns need, an empty line between them."""
    gutter = cell_len(STRONG) if strong else 0
    for number, block in enumerate(blocks(columns(table), width - gutter)):
        grid = _grid(block, width - gutter, strong, styles)
        yield Group(Text(""), grid) if number else grid


def paragraph(text: str, width: int, style: str = "") -> Text:
    """Lines of text."""
    return Text("\n".join(broken(text, width)), style)


def _grid(block: list[Column], width: int, strong: Collection[int], styles: Styles | None) -> Grid:
    given = widths(block, width)
    grid = Grid(
        box=None,
        padding=(0, GAP, 0, 0),
        pad_edge=False,
        header_style="bold",
        show_header=any(column.head for column in block),
    )
    for column, head in zip(block, _heads(block, given, bool(strong)), strict=True):
        grid.add_column(head, justify="right" if column.figures else "left", no_wrap=True)
    for row in range(len(block[0].cells)):
        style = "bold" if row in strong else ""
        cells = [
            Text("\n".join(column.lines(row, size)), style or (styles(row, column.position) if styles else ""))
            for column, size in zip(block, given, strict=True)
        ]
        cells[0] = _marked(cells[0], row in strong) if strong else cells[0]
        grid.add_row(*cells)
    return grid


def _heads(block: list[Column], given: list[int], gutter: bool) -> list[Text]:
    """The header, on its last line where names differ in length."""
    heads = [broken(column.head, size) for column, size in zip(block, given, strict=True)]
    deep = max(map(len, heads))
    texts = [Text("\n".join([""] * (deep - len(lines)) + lines)) for lines in heads]
    return [_marked(texts[0], False), *texts[1:]] if gutter else texts


def _marked(text: Text, strong: bool) -> Text:
    """With the mark in front of its first line, and the others as far to the right."""
    blank = " " * cell_len(STRONG)
    first, *rest = text.plain.split("\n")
    return Text("\n".join([(STRONG if strong else blank) + first, *(blank + line for line in rest)]), text.style)
