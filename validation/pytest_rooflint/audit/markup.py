"""Tables of HTML, also those inside Markdown."""

from collections import deque
from collections.abc import Iterator
from html.parser import HTMLParser

from pytest_rooflint.audit.grids import Grid

MOST_SPANNED = 32
"""Largest `colspan` or `rowspan` that is followed."""
_CELLS = frozenset({"td", "th"})
_INLINE = frozenset({"a", "abbr", "b", "code", "em", "font", "i", "span", "strong", "sub", "tt", "u", "wbr"})
"""Tags that do not part what stands before them from what stands after."""
_UNREAD = frozenset({"sup", "style", "script"})
"""Tags whose text is no part of a cell: footnotes, and what a browser does not show."""


def html_tables(text: str) -> Iterator[Grid]:
    """Every `<table>` of a page with its lines; a cell that spans others stands in each of them."""
    parser = _Tables()
    parser.feed(text)
    parser.close()
    yield from (grid for lines in parser.tables if len((grid := _grid(lines)).lines) > 1)


class _Tables(HTMLParser):
    """Collects the cells of each table, with the line of their row and how many places they span."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[tuple[int, list[tuple[str, int, int]]]]] = []
        self._open: list[list[tuple[int, list[tuple[str, int, int]]]]] = []
        self._text: list[str] | None = None
        self._spans = (1, 1)
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, a row or a cell; an end tag may be missing."""
        if tag not in _INLINE and self._text is not None:
            self._text.append(" ")
        if tag == "table":
            self._end_cell()  # what stands in a cell before a table inside it
            self._open.append([])
        elif tag == "tr" and self._open:
            self._end_cell()
            self._open[-1].append((self.getpos()[0], []))
        elif tag in _CELLS and self._open:
            self._end_cell()
            self._text = []
            given = dict(attrs)
            self._spans = (_span(given.get("colspan")), _span(given.get("rowspan")))
        elif tag in _UNREAD:
            self._hidden += 1

    def handle_endtag(self, tag: str) -> None:
        """Close what a tag closes."""
        if tag in _UNREAD and self._hidden:
            self._hidden -= 1
        if tag not in _INLINE and self._text is not None:
            self._text.append(" ")
        if tag in _CELLS or tag in ("tr", "table"):
            self._end_cell()
        if tag == "table" and self._open:
            self.tables.append(self._open.pop())

    def handle_data(self, data: str) -> None:
        """Keep the text of a cell."""
        if self._text is not None and not self._hidden:
            self._text.append(data)

    def close(self) -> None:
        """End the page; tables without an end tag count."""
        super().close()
        self._end_cell()
        self.tables += self._open
        self._open = []

    def _end_cell(self) -> None:
        if self._text is not None and self._open and self._open[-1]:
            self._open[-1][-1][1].append((" ".join("".join(self._text).split()), *self._spans))
        self._text = None


def _span(text: str | None) -> int:
    return min(max(int(text), 1), MOST_SPANNED) if text and text.isascii() and text.isdigit() and len(text) < 9 else 1


def _grid(lines: list[tuple[int, list[tuple[str, int, int]]]]) -> Grid:
    """The texts by row and column, with cells that span several repeated in each.

    A cell below the header that spans more than the table is wide, such as that of a subtitle, ends with the table.
    """
    width = max([sum(columns for _, columns, _ in lines[0][1]), *(len(cells) for _, cells in lines)]) if lines else 0
    hanging: dict[int, tuple[str, int]] = {}
    found = []
    for line, cells in lines:
        texts: list[str] = []
        left = deque(cells)
        while left or len(texts) in hanging:
            if (place := len(texts)) in hanging:
                text, rows = hanging.pop(place)
                texts.append(text)
                if rows > 1:
                    hanging[place] = (text, rows - 1)
                continue
            text, columns, rows = left.popleft()
            for _ in range(max(1, min(columns, width - place - len(left)))):
                if rows > 1:
                    hanging[len(texts)] = (text, rows - 1)
                texts.append(text)
        if any(texts):
            found.append((line, tuple(texts)))
    return Grid(tuple(found))
