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
_TITLE = re.compile(r"\s*(?:\*\*(?P<bold>[^*:|]{2,40}?):?\*\*:?|(?P<plain>[^*:|]{2,40}?):)\s*")
"""A line that is the name of what the list below it is about: `H100 SXM:`, `**H100 SXM**`."""
_FENCE = re.compile(r"\s*(```|~~~)")
_ENTRY = re.compile(r"\s*[-*+•]\s+(?P<key>[^:|]{2,50}?)\s*:\s*(?P<value>\S.*)")
_BEGINS = re.compile(r"[~≈]?\s*\d")
_ITEM = re.compile(
    r"\s*(?:[-*+•]|\d{1,2}[.)])\s+(?P<name>[^:|]{2,50}?)(?:\s*:\s*|\s+[-–—]\s+|\s+(?=\([^()]*\)$))(?P<figures>\S.*)"
)
"""An entry of a list that begins with a name: `- H100: 989 TFLOPS, 80 GB`, `1. H100 (80 GB, 700 W)`."""
_SEPARATOR = re.compile(r"(?:[,;·]\s+|\s+/\s+)(?![^()]*\))")
_FIGURE = re.compile(r"(?<![\w.])[~≈]?\s*(\d[\d,.]*)\s*([A-Za-z]+(?:/s)?)(?![\w/])")
_COLUMNS = {"peak": "peak", "bandwidth": "bandwidth", "capacity": "memory", "tdp": "tdp"}
"""Names of columns for figures by their quantities, which their units say."""
_BESIDE = re.compile(
    r"of|with|without|dense|sparse|sparsity|tensor|core|cores|peak|memory|mem|vram|bandwidth|bw|tdp|power|board|max"
    r"|nvlink|xgmi|(lp|g)?ddr\d\w*|x|hbm\w*"
)
"""Words that may stand beside a figure, besides precisions; with another word it may be about something else."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The device that a heading names, and the line of the heading."""

    device: str
    line: int


def owners(text: str, is_device: IsDevice) -> list[Owner | None]:
    """For each line of a page of Markdown, the device that it is about: of its heading, or of `H100:` above a list."""
    found: list[Owner | None] = []
    heading: Owner | None = None
    named: Owner | None = None
    level, is_code = 0, False
    for number, line in enumerate(text.splitlines(), 1):
        match = None if is_code else _HEADING.fullmatch(line)
        if _FENCE.match(line):
            is_code, named = not is_code, None
        elif match:
            device = match[2] if is_device(match[2]) else mentioned(match[2], is_device)
            depth = len(match[1])
            if device or depth <= level:
                heading, level = (Owner(device, number) if device else None), depth
            named = None
        elif (own := _TITLE.fullmatch(line)) and is_device(own["bold"] or own["plain"]):
            named = Owner(own["bold"] or own["plain"], number)
        elif named and line.strip() and not (line[0].isspace() or "|" in line or _ENTRY.fullmatch(line)):
            named = None
        found.append(named or (None if is_code else heading))
    return found


def rows_of_lists(text: str, known: Sequence[Owner | None], plain: Callable[[str], str]) -> Iterator[Row]:
    """A row for each device below whose heading figures are listed: `- **Bandwidth**: 936 GB/s`.

    None where the list says how a program ran, since its memory and power may be those of the run.
    """
    listed: dict[Owner, dict[str, Cell]] = defaultdict(dict)
    run: set[Owner] = set()
    for number, (line, owner) in enumerate(zip(text.splitlines(), known, strict=False), 1):
        if owner and (match := _ENTRY.fullmatch(line)):
            key, value = plain(match["key"]), plain(match["value"])
            run |= {owner} if RUN & set(words_of(key)) else set()
            if _is_figure(key) and len(value) <= LONGEST_VALUE and _BEGINS.match(value):
                listed[owner].setdefault(key, Cell(value, number))
    for owner, cells in listed.items():
        if _says_enough(cells) and owner not in run:
            yield {NAME: Cell(owner.device, owner.line), **cells}


def rows_of_entries(text: str, is_device: IsDevice, plain: Callable[[str], str]) -> Iterator[Row]:
    """A row for each entry of a list that names a device and its figures: `- **L4**: 242 TFLOPS FP16, 24 GB`."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _ITEM.fullmatch(line.rstrip())
        if match and is_device(name := plain(match["name"])):
            figures = plain(match["figures"]).rstrip(".")
            if figures.startswith("(") and figures.find(")") == len(figures) - 1:
                figures = figures[1:-1]
            found = [one for part in _SEPARATOR.split(figures) if (one := _figure_of(part))]
            often = Counter(column for column, _ in found)  # 40 GB / 80 GB are of two devices
            cells = {column: Cell(figure, number) for column, figure in found if often[column] == 1}
            if _says_enough(cells):
                yield {NAME: Cell(name, number), **cells}


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
