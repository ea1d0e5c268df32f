"""What moved, for a terminal of 80 columns and for a page of Markdown."""

import textwrap
from collections.abc import Iterable, Iterator

from pytest_rooflint.history.summary import parts
from rooflint.output.answer import as_markdown
from rooflint.output.sections import Table
from rooflint_report.differences import Change, Delta, Moved

WIDTH = 80
MOST = 40
"""Moves that are listed unless all are asked for."""

_COLUMNS = "{:<34}{:<13}{:>10}  "

_WHOLE = ("latency_s", "energy_j", "peak_memory_bytes")
"""Quantities of which the text says how several changes work together; the waits only divide a latency up."""


def as_text(found: Delta, most: int | None = MOST) -> str:
    """Changes with their effects alone, then the moves; `most` is None for all moves."""
    moves = found.moves[:most]
    lines = [line for said in (found.said, *found.also) for line in _wrapped(said)]
    for change in found.changes:
        lines += ["", *_change(change)]
    if moves:
        lines += ["", *_grid(moves)]
    lines += _rest(found, moves)
    if powers := (found.power or [])[:most]:
        lines += [
            "",
            "printed peak within printed power",
            *(line for one in powers for line in _wrapped(one.said, 2)),
        ]
    for move in moves:
        if move.together and move.quantity in _WHOLE:
            lines += ["", *_wrapped(f"{move.device} {move.word}: {move.together}")]
    return "\n".join(lines) + "\n"


def _rest(found: Delta, shown: list[Moved]) -> list[str]:
    hidden = len(found.moves) - len(shown)
    return [f"… and {hidden} more (--all)"] if hidden else []


def _change(change: Change) -> Iterator[str]:
    yield _place(change)
    for said in filter(None, (change.text, change.source, change.alone)):
        yield from _wrapped(said, 2)


def _place(change: Change) -> str:
    return f"{change.file}:{change.line}" if change.line else str(change.file)


def _grid(moves: Iterable[Moved]) -> Iterator[str]:
    head = _COLUMNS.format("device", "quantity", "moved")
    yield f"{head}factor"
    for move in moves:
        first, *more = parts(move) or [""]
        rows = f"{move.rows}/{move.of}"
        yield f"{_COLUMNS.format(move.device, move.word, rows)}{first}".rstrip()
        yield from (" " * len(head) + said for said in more)


def _wrapped(text: str, indent: int = 0) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(
        text, WIDTH, initial_indent=pad, subsequent_indent=pad, break_long_words=False, break_on_hyphens=False
    )


def as_md(found: Delta, most: int | None = MOST) -> str:
    """A heading, what changed, and the table of moves."""
    moves = found.moves[:most]
    blocks = ["## What moved", "\n".join(f"- {said}" for said in (found.said, *found.also))]
    if found.changes:
        head = ("where", "change", "source", "alone")
        rows = ((_place(one), one.text, one.source, one.alone) for one in found.changes)
        blocks.append(as_markdown(Table(head, tuple(rows))).rstrip("\n"))
    if moves:
        blocks.append(as_markdown(_moves(moves)).rstrip("\n"))
    blocks += _rest(found, moves)
    if powers := (found.power or [])[:most]:
        blocks += ["Printed peak within printed power:", "\n".join(f"- {one.said}" for one in powers)]
    return "\n\n".join(blocks) + "\n"


def _moves(moves: Iterable[Moved]) -> Table:
    head = ("device", "quantity", "moved", "of", "factor", "together")
    rows = ((move.device, move.word, move.rows, move.of, ", ".join(parts(move)), move.together) for move in moves)
    return Table(head, tuple(rows))
