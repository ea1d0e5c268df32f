"""What moved, for a terminal of 80 columns and for a page of Markdown."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_rooflint.delta.summary import WORDS
from rooflint.table import Table, as_markdown

Summary = Mapping[str, Any]

WIDTH = 80
MOST = 40
"""Moves that are listed unless all are asked for."""

_WHOLE = ("latency_s", "energy_j", "peak_memory_bytes")
"""Quantities of which the text says how several changes work together; the waits only divide a latency up."""

_NAMED = 6
"""Devices that a sentence names."""


def as_text(found: Summary, most: int | None = MOST) -> str:
    """What changed first, each with what it moves alone, then the moves; None for all of them."""
    lines = [*_wrapped(headline(found)), *(line for said in others(found) for line in _wrapped(said))]
    for change in found["changes"]:
        lines += ["", *_change(change)]
    if found["moves"]:
        lines += ["", *_grid(found["moves"][:most])]
    if len(found["moves"]) > len(found["moves"][:most]):
        lines.append(f"… and {len(found['moves']) - int(most or 0)} more (--all)")
    for sentence in _together(found["moves"][:most]):
        lines += ["", *_wrapped(sentence)]
    return "\n".join(lines) + "\n"


def headline(found: Summary) -> str:
    """How much moved, between what, of how many."""
    old, new, moved = found["old"]["label"], found["new"]["label"], found["moved"]
    of = f"of {_grouped(found['matrix']['predictions'])} predictions"
    if not moved["predictions"]:
        return f"nothing moved between {old} and {new}: {of}, none"
    devices = _counted(moved["devices"], "device")
    return f"{_grouped(moved['predictions'])} {of} moved between {old} and {new}, on {devices}"


def others(found: Summary) -> Iterator[str]:
    """What appeared, vanished or was left out, in sentences."""
    for noun, key in (("device", "devices"), ("operating point", "points"), ("network", "networks")):
        for fate, names in found[key].items():
            if names:
                yield f"{_counted(len(names), noun)} {fate}: {', '.join(names)}"
    if found["recited"]:
        same = _counted(found["recited"], "fact")
        yield f"{same} with the same value cited from another place"
    for one in found["left_out"]:
        yield f"left out: {one['said']}"


def _change(change: Mapping[str, Any]) -> Iterator[str]:
    yield _place(change)
    yield from _wrapped(change["text"], 2)
    if source := _source(change):
        yield from _wrapped(source, 2)
    yield from _wrapped(alone(change), 2)


def _place(change: Mapping[str, Any]) -> str:
    return f"{change['file']}:{change['line']}" if change["line"] else str(change["file"])


def _source(change: Mapping[str, Any]) -> str:
    """The source of the new value, or of the one that is gone."""
    said = change["new"] or change["old"]
    return f"{said['document']}, {said['where']} ({said['grade']})" if said and said["document"] else ""


def alone(change: Mapping[str, Any]) -> str:
    """What a change moves by itself."""
    if change["untried"]:
        return f"not tried alone: {change['untried']}"
    if not change["predictions"]:
        return f"alone moves nothing{_of(change['devices'])}"
    spans = [f"{WORDS[one['quantity']]} {one['factor'] or 'to or from nothing'}" for one in change["moves"]]
    moved = _counted(change["predictions"], "prediction")
    return f"alone moves {moved}{_of(change['devices'])}: {', '.join(spans)}"


def _of(devices: Sequence[str]) -> str:
    if not devices:
        return ""
    named = ", ".join(devices[:_NAMED])
    return f" of {named}" + (f" and {len(devices) - _NAMED} more devices" if len(devices) > _NAMED else "")


def _grid(moves: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield f"{'device':<34}{'quantity':<19}{'moved':>11}  factor"
    for move in moves:
        rows = f"{move['rows']}/{move['of']}"
        yield f"{move['device']:<34}{WORDS[move['quantity']]:<19}{rows:>11}  {_factor(move)}".rstrip()


def _factor(move: Mapping[str, Any]) -> str:
    lost = [f"{move['unknown']} no longer known"] if move["unknown"] else []
    found = [f"{move['known']} newly known"] if move["known"] else []
    return ", ".join([*filter(None, [move["factor"]]), *lost, *found])


def _together(moves: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for move in moves:
        if move["together"] and move["quantity"] in _WHOLE:
            yield f"{move['device']} {WORDS[move['quantity']]}: {move['together']}"


def _wrapped(text: str, indent: int = 0) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(
        text, WIDTH, initial_indent=pad, subsequent_indent=pad, break_long_words=False, break_on_hyphens=False
    )


def _counted(number: int, noun: str) -> str:
    return f"{_grouped(number)} {noun}" + ("" if number == 1 else "s")


def _grouped(number: int) -> str:
    """`18 480`."""
    return f"{number:,}".replace(",", " ")


def as_md(found: Summary, most: int | None = MOST) -> str:
    """A heading, what changed, and the table of moves."""
    parts = ["## What moved", "\n".join(f"- {said}" for said in (headline(found), *others(found)))]
    if found["changes"]:
        head = ("where", "change", "source", "alone")
        rows = ((_place(one), one["text"], _source(one), alone(one)) for one in found["changes"])
        parts.append(as_markdown(Table(head, tuple(rows))).rstrip("\n"))
    if found["moves"]:
        parts.append(as_markdown(_moves(found["moves"][:most])).rstrip("\n"))
    if len(found["moves"]) > len(found["moves"][:most]):
        parts.append(f"… and {len(found['moves']) - int(most or 0)} more (--all)")
    return "\n\n".join(parts) + "\n"


def _moves(moves: Iterable[Mapping[str, Any]]) -> Table:
    head = ("device", "quantity", "moved", "of", "factor", "together")
    rows = (
        (move["device"], WORDS[move["quantity"]], move["rows"], move["of"], _factor(move), move["together"])
        for move in moves
    )
    return Table(head, tuple(rows))
