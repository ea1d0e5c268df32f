"""Figures outside tables of devices: properties below a heading, and entries of lists such as `- H100: 80 GB`."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_rooflint.audit.cells import quantity_of
from pytest_rooflint.audit.columns import guessed
from pytest_rooflint.audit.grids import VALUES, Grid, with_unit
from pytest_rooflint.audit.mentions import mentioned
from pytest_rooflint.audit.rows import NAME, RUN, Cell, IsDevice, Row
from pytest_rooflint.audit.spelling import PRECISION_WORDS, words_of
from rooflint.diagnosis.figures import QUANTITIES

LONGEST_VALUE = 60
"""Characters of an entry of a list after its colon; a longer one is prose."""
FEWEST = 2
"""Quantities that a list or a table below a heading says, for its figures to be of the device."""
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
_BULLET = r"(?:[-*+•]|\d{1,2}[.)])\s+"
_TITLE = re.compile(
    rf"(?P<indent>\s*)(?P<bullet>{_BULLET})?"
    r"(?:\*\*(?P<bold>[^*:|]{2,40}?):?\*\*:?|(?P<plain>[^*:|]{2,40}?)(?P<colon>:)?)\s*"
)
"""A line that is the name of what the list below it is about: `H100 SXM:`, `**H100 SXM**`, `- H100 SXM`."""
_FENCE = re.compile(r"\s*(```|~~~)")
_ENTRY = re.compile(r"\s*[-*+•]\s+(?P<key>[^:|]{2,50}?)\s*:\s*(?P<value>\S.*)")
_BEGINS = re.compile(r"[~≈]?\s*\d")
_NAMED = re.compile(
    rf"\s*(?:{_BULLET})?(?P<name>[^:|]{{2,50}}?)(?:\s*:\s*|\s+[-–—]\s+|\s+(?=\([^()]*\)$))(?P<figures>\S.*)"
)
"""A line that begins with a name: `- H100: 989 TFLOPS, 80 GB`, `1. H100 (80 GB, 700 W)`."""
_FIGURES = re.compile(rf"\s*{_BULLET}(\S.*)")
"""An entry of a list below a title that may be nothing but figures: `- 192 GB HBM3`."""
_SEPARATOR = re.compile(r"(?:[,;·]\s+|\s+/\s+)(?![^()]*\))")
_FIGURE = re.compile(r"(?<![\w.])[~≈]?\s*(\d[\d,.]*)\s*([A-Za-z]+(?:/s)?)(?![\w/])")
_COLUMNS = {"peak": "peak", "bandwidth": "bandwidth", "capacity": "memory", "tdp": "tdp"}
"""Names of columns for figures by their quantities, which their units say."""
_BESIDE = re.compile(
    r"of|with|without|dense|sparse|sparsity|tensor|core|cores|peak|memory|mem|vram|bandwidth|bw|tdp|power|board|max"
    r"|nvlink|xgmi|(lp|g)?ddr\d\w*|x|hbm\w*"
)
"""Words that may stand beside a figure, besides precisions; with another word it may be about something else."""

_OF_RUN = RUN | {"used", "usage", "free", "measured", "allocated", "batch"}
"""Words of a list that says how a program ran."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The device that a heading or a title names, and its line."""

    device: str
    line: int
    is_title: bool = False


def owners(text: str, is_device: IsDevice) -> list[Owner | None]:
    """For each line of a page of Markdown, the device that it is about: of its heading, or of `H100:` above a list."""
    found: list[Owner | None] = []
    heading: Owner | None = None
    named: Owner | None = None
    level, depth, is_code = 0, -1, False
    for number, line in enumerate(text.splitlines(), 1):
        match = None if is_code else _HEADING.fullmatch(line)
        if _FENCE.match(line):
            is_code, named = not is_code, None
        elif match:
            device = match[2] if is_device(match[2]) else mentioned(match[2], is_device)
            if device or len(match[1]) <= level:
                heading, level = (Owner(device, number) if device else None), len(match[1])
            named = None
        elif (own := _TITLE.fullmatch(line)) and (name := _title(own)) and is_device(name):
            named, depth = Owner(name, number, is_title=True), len(own["indent"]) if own["bullet"] else -1
        elif named and line.strip() and _ends_list(line, depth):
            named = None
        found.append(named or (None if is_code else heading))
    return found


def _title(line: re.Match[str]) -> str:
    """What a line may be the title of; empty for plain words without a bullet before or a colon behind them."""
    return line["bold"] or (line["plain"] if line["bullet"] or line["colon"] else "")


def _ends_list(line: str, depth: int) -> bool:
    """Whether a line is not about the title above it, which is an entry of a list with that indentation, or -1."""
    if len(line) - len(line.lstrip()) <= depth:
        return True
    return not (line[0].isspace() or "|" in line or _ENTRY.fullmatch(line) or _FIGURES.fullmatch(line))


def rows_of_lists(text: str, known: Sequence[Owner | None], plain: Callable[[str], str]) -> Iterator[Row]:
    """A row for each device below whose heading figures are listed: `- **Bandwidth**: 936 GB/s`.

    None where the list says how a program ran, since its memory and power may be those of the run.
    """
    listed: dict[Owner, dict[str, Cell]] = defaultdict(dict)
    run: set[Owner] = set()
    for number, (line, owner) in enumerate(zip(text.splitlines(), known, strict=False), 1):
        if owner and (match := _ENTRY.fullmatch(line)):
            key, value = plain(match["key"]), plain(match["value"])
            run |= {owner} if _OF_RUN & set(words_of(key)) else set()
            if _is_figure(key) and len(value) <= LONGEST_VALUE and _BEGINS.match(value):
                listed[owner].setdefault(key, Cell(value, number))
        elif owner and owner.is_title and (entry := _FIGURES.fullmatch(line)):
            run |= {owner} if _OF_RUN & set(words_of(entry[1])) else set()
            for column, figure in _figures(plain(entry[1])):
                listed[owner].setdefault(column, Cell(figure, number))
    for owner, cells in listed.items():
        if _says_enough(cells) and owner not in run:
            yield {NAME: Cell(owner.device, owner.line), **cells}


def rows_of_entries(text: str, is_device: IsDevice, plain: Callable[[str], str]) -> Iterator[Row]:
    """A row for each line that begins with a device and has its figures: `- **L4**: 242 TFLOPS FP16, 24 GB`."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _NAMED.fullmatch(plain(line))
        if match and is_device(name := match["name"]):
            figures = match["figures"]
            if figures.startswith("(") and figures.find(")") == len(figures) - 1:
                figures = figures[1:-1]
            cells = {column: Cell(figure, number) for column, figure in _figures(figures)}
            if _says_enough(cells):
                yield {NAME: Cell(name, number), **cells}


def _figures(text: str) -> list[tuple[str, str]]:
    """Names of columns and figures of `80 GB, 3.35 TB/s`; none of a column that has several, such as 40 GB / 80 GB."""
    found = [one for part in _SEPARATOR.split(text.rstrip(".")) if (one := _figure_of(part))]
    often = Counter(column for column, _ in found)
    return [one for one in found if often[one[0]] == 1]


def _figure_of(part: str) -> tuple[str, str] | None:
    """`bf16 peak` and `989 TFLOPS` of `989 TFLOPS (BF16)`; None where the figure may be about something else."""
    if len(split := _FIGURE.split(part)) != 4:  # none, or several
        return None
    before, value, unit, after = split
    figure = f"{value.rstrip('.,')} {unit}"
    column = _COLUMNS.get(quantity_of(figure))
    words = words_of(f"{before} {after}")
    if not column or not all(word in PRECISION_WORDS or _BESIDE.fullmatch(word) for word in words):
        return None
    return " ".join(dict.fromkeys([*words, column])), figure


def row_of_properties(grid: Grid, owner: Owner) -> Row | None:
    """The row of a table that has a line per property of one device; None of any other table."""
    _, header = grid.header
    at = next((place for place, name in enumerate(header) if name.strip().lower() in VALUES), 0)
    at = at or (1 if len(header) == 2 and _may_head(header[1]) else 0)
    if not at:
        return None
    said = guessed(header[at])
    unit = (said and said.unit) or ""
    held = [(number, texts) for number, texts in grid.lines[1:] if len(texts) > at and texts[0] and texts[at]]
    row = {with_unit(texts[0], unit): Cell(texts[at], number) for number, texts in held}
    return {NAME: Cell(owner.device, owner.line), **row} if _says_enough(row) else None


def _may_head(name: str) -> bool:
    return not name or guessed(name) is not None


def _is_figure(name: str) -> bool:
    known = guessed(name)
    return known is not None and known.role in QUANTITIES


def _says_enough(row: Row) -> bool:
    return sum(map(_is_figure, row)) >= FEWEST
