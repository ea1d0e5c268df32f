"""An answer for people at a terminal. 80 columns are enough; colour only says again what signs say. Needs Rich."""

from collections.abc import Callable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from rooflint.answers.answer import Answer, Grid, Prose
from rooflint.output.charts import bars_text, curves_text, heat_text, roofline_text
from rooflint.output.columns import broken, fitted, paragraph

NARROWEST, WIDEST = 80, 120
"""A narrower terminal would have to break figures; in a wider one lines are long to read. [columns]"""


def as_text(answer: Answer) -> str:
    """As wide as the terminal, from 80 to 120 columns; coloured where standard output is a terminal that wants it."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = width = min(max(console.width, NARROWEST), WIDEST)
    with console.capture() as capture:
        for part in _page(answer, width):
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().split("\n")).rstrip("\n") + "\n"


def _page(answer: Answer, width: int) -> Iterator[RenderableType]:
    yield paragraph(answer.title, width, "bold")
    if answer.subtitle:
        yield paragraph(answer.subtitle, width, "dim")
    for section in answer.sections:
        yield _heading(section.heading, width)
        yield from _WRITERS[section.kind](section, width)
        if note := getattr(section, "note", ""):
            yield paragraph(note, width, "dim")


def _heading(heading: str, width: int) -> Text:
    """With a rule behind it, so that sections are found without colour."""
    *above, last = broken(heading, width - 4)
    rule = "─" * (width - cell_len(last) - 1)
    return Text("\n").append("\n".join([*above, last]), "bold").append(f" {rule}", "dim")


def _prose(section: Prose, width: int) -> Iterator[Text]:
    for sentence in section.sentences:
        yield Text("• " + "\n  ".join(broken(sentence, width - 2)))


def _grid(section: Grid, width: int) -> Iterator[RenderableType]:
    return fitted(section.table, width, section.strong)


_WRITERS: dict[str, Callable[[Any, int], Iterator[RenderableType]]] = {
    "prose": _prose,
    "grid": _grid,
    "bars": bars_text,
    "heat": heat_text,
    "rooflines": roofline_text,
    "curves": curves_text,
}
