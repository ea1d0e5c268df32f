"""What moved, as a record: each sentence is formatted here once, for the terminal, Markdown, evidence and report."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pytest_rooflint.evidence.devices import derivable, limit
from pytest_rooflint.history.changes import Change, FileChange
from pytest_rooflint.history.comparison import WHOLE, Comparison, Effect, Move, PowerMove
from pytest_rooflint.history.side import LedgerSide, Side
from rooflint.answers.tdp_registry import ends, ratio_shown
from rooflint.base.text import changed, counted, grouped
from rooflint.energy.power import PowerCheck
from rooflint.hardware.device import Hardware
from rooflint.output.answer import as_markdown
from rooflint.output.sections import Table
from rooflint.prediction.figures import QUANTITIES
from rooflint.prediction.ledger import PRECISIONS, RUNS
from rooflint_report import differences as records

#: The quantities of the ledger as they are spoken of.
WORDS: Mapping[str, str] = {
    "latency_s": "latency",
    "compute_wait_s": "compute-bound time",
    "memory_wait_s": "memory-bound time",
    "launch_wait_s": "launch-bound time",
    "energy_j": "energy",
    "power_w": "power",
    "utilization": "utilization",
    "peak_memory_bytes": "peak memory",
}

WAITED = (
    "Compute-bound time is the time of all kernels whose slowest part is compute; memory-bound and launch-bound "
    "likewise. A kernel that becomes bound by something else moves all of its time there."
)

_NAMED = 6
"""Devices that a sentence names."""

_SHARES = 4
"""Shares that a sentence names."""


def summary(found: Comparison) -> records.Delta:
    """What moved, and what moved it."""
    old, new = found.old, found.new
    before, after = ({name for name, _ in side.points} for side in (old, new))
    common = before & after
    moved = records.MovedCounts(
        predictions=found.difference.predictions, devices=len({one.device for one in found.moves})
    )
    names = {
        "device": _both_ways(before | old.named, after | new.named),  # what cannot be read is left out, not gone
        "operating point": _both_ways(_points(old, common), _points(new, common)),
        "network": _both_ways(old.networks, new.networks),
    }
    left_out = [*_left_out("old", old), *_left_out("new", new)]
    power = [_power(found, move) for move in found.power]
    return records.Delta(
        old=records.Compared(label=old.label, commit=old.commit),
        new=records.Compared(label=new.label, commit=new.commit),
        matrix=records.Matrix(
            predictions=found.cells,
            devices=len(common),
            networks=sorted(frozenset(old.networks) & frozenset(new.networks)),
            precisions=list(PRECISIONS),
            runs=[records.Combination(batch=batch, fused=fused) for batch, fused in RUNS],
        ),
        moved=moved,
        devices=names["device"],
        points=names["operating point"],
        networks=names["network"],
        citations_changed=found.citations_changed,
        left_out=left_out,
        changes=[_effect(effect) for effect in found.effects],
        moves=[_move(found, move) for move in found.moves],
        power=power,
        roofs=list(_roofs(found)),
        text=headline(old, new, found.cells, moved),
        also=list(others(names, power, found.citations_changed, left_out)),
    )


def _roofs(found: Comparison) -> Iterator[records.Roof]:
    """Dense peaks and bandwidths of the base of which one is another now."""
    if isinstance(found.old, LedgerSide) or isinstance(found.new, LedgerSide):
        return
    for name in sorted({name for effect in found.effects for name in effect.holders}):
        if name in found.old.devices and name in found.new.devices:
            now = dict(_peaks(found.new.devices[name]))
            for (unit, precision), then in _peaks(found.old.devices[name]):
                if now.get((unit, precision), then) != then:
                    yield records.Roof(device=name, unit=unit, precision=precision, peak=then[0], bandwidth=then[1])


def _peaks(hardware: Hardware) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    """Peak and bandwidth of the main memory, by unit and precision; none without a bandwidth. [op/s], [B/s]"""
    if not any(memory.has_bandwidth for memory in hardware.memories.values()):
        return
    bandwidth = hardware.main_memory().bandwidth_bytes_per_s
    for unit in hardware.units.values():
        for precision in derivable(unit):
            yield (unit.name, precision), (unit.peak_ops_per_s(precision), bandwidth)


def _left_out(name: Literal["old", "new"], side: Side) -> list[records.LeftOut]:
    return [records.LeftOut(side=name, text=text) for text in side.left_out]


def _both_ways(old: Iterable[str], new: Iterable[str]) -> records.BothWays:
    before, after = frozenset(old), frozenset(new)
    return records.BothWays(appeared=sorted(after - before), vanished=sorted(before - after))


def _points(side: Side, devices: set[str]) -> list[str]:
    """Operating points of devices that both sides have."""
    return [f"{name} at {at}" for name, at in side.points if at and name in devices]


def headline(old: Side, new: Side, predictions: int, moved: records.MovedCounts) -> str:
    """One sentence: how many predictions moved, between which sides, out of how many."""
    of = f"of {grouped(predictions)} predictions"
    if not moved.predictions:
        return f"no prediction moved between {old.label} and {new.label}; {grouped(predictions)} compared"
    devices = counted(moved.devices, "device")
    return f"{grouped(moved.predictions)} {of} moved between {old.label} and {new.label}, on {devices}"


def others(
    names: Mapping[str, records.BothWays],
    power: Sequence[records.PowerMoved],
    citations_changed: int,
    left_out: Sequence[records.LeftOut],
) -> Iterator[str]:
    """What appeared, vanished or was left out."""
    for noun, both in names.items():
        for word, listed in (("appeared", both.appeared), ("vanished", both.vanished)):
            if listed:
                yield f"{counted(len(listed), noun)} {word}: {', '.join(listed)}"
    if power:
        verdicts = [{load.verdict if load else None for load in (one.old, one.new)} for one in power]
        other = sum(len(both) > 1 for both in verdicts)
        text = f", and {counted(other, 'verdict')}" if other else ", no verdict"
        yield f"power at the printed peak changed at {counted(len(power), 'operating point')}{text}"
    if citations_changed:
        yield f"{counted(citations_changed, 'fact')} with the same value cited from another place"
    yield from (one.text for one in left_out)


NOISE = 1e-3
"""A change below which a move is not listed beside others. [1]"""


def is_noise(low: float | None, high: float | None) -> bool:
    """Whether all factors are 1 within NOISE."""
    return low is not None and high is not None and low >= 1 - NOISE and high <= 1 + NOISE


def span(low: float | None, high: float | None) -> str:
    """`×0.92 … ×1.07`, or one factor where both are the same as printed; empty where there is none."""
    if low is None or high is None:
        return ""
    show = _factor if is_noise(low, high) else "×{:.3g}".format
    return " … ".join(dict.fromkeys((show(low), show(high))))


def _factor(factor: float) -> str:
    """Three digits, or more where needed to show that it is not 1."""
    digits = 3
    while factor != 1 and float(f"{factor:.{digits}g}") == 1 and digits < 9:
        digits += 1
    return f"×{factor:.{digits}g}"


def knowledge(known: int, unknown: int) -> list[str]:
    """How many predictions only one side has a figure for."""
    found = [f"{unknown} no longer known"] if unknown else []
    return [*found, f"{known} newly known"] if known else found


# ---- changes


def _effect(effect: Effect) -> records.Change:
    moves = [] if effect.alone is None else list(_overall(effect.alone.moves()))
    return records.Change(
        **(_of_file(effect.change) if isinstance(effect.change, FileChange) else _of_fact(effect.change)),
        devices=list(effect.holders),
        predictions=None if effect.alone is None else effect.alone.predictions,
        untried=effect.untried,
        moves=moves,
        powers=len(effect.power),
        alone=alone(effect, moves),
    )


def _of_fact(change: Change) -> dict[str, Any]:
    """A fact or a trait; its place and source are those of the new value, or of the one that is gone."""
    old, new = (text.text if text else None for text in (change.old, change.new))
    name = f"{change.trait} {change.path}" if change.trait and change.trait != change.path else change.path
    stated = change.new or change.old
    return {
        "what": "trait" if change.trait else "fact",
        "path": change.path,
        "at": change.at,
        "old": change.old,
        "new": change.new,
        "file": stated.file if stated else None,
        "line": stated.line if stated else None,
        "text": changed(name, change.at, old, new),
        "source": f"{stated.document}, {stated.where} ({stated.grade})" if stated and stated.document else "",
    }


def _of_file(change: FileChange) -> dict[str, Any]:
    absent = dict.fromkeys(("at", "old", "new", "line"))
    text = f"{change.name} {change.status}"
    return {"what": "file", "path": change.name, "file": change.name, "text": text, "source": "", **absent}


def _overall(moves: Sequence[Move]) -> Iterator[records.Shift]:
    for quantity in QUANTITIES:
        if several := [move for move in moves if move.quantity == quantity]:
            low = min((move.low for move in several if move.low is not None), default=None)
            high = max((move.high for move in several if move.high is not None), default=None)
            yield records.Shift(
                quantity=quantity,
                word=WORDS[quantity],
                rows=sum(move.rows for move in several),
                low=low,
                high=high,
                factor=span(low, high),
                knowledge=knowledge(sum(move.known for move in several), sum(move.unknown for move in several)),
            )


def alone(effect: Effect, moves: Sequence[records.Shift]) -> str:
    """The effect of a change alone, in a sentence."""
    if effect.untried or effect.alone is None:
        return f"not tried alone: {effect.untried}"
    points = counted(len(effect.power), "operating point")
    power = f"; changes the power at the printed peak at {points}" if effect.power else ""
    predictions = effect.alone.predictions
    if not predictions:
        return f"alone moves no prediction{_of(effect.holders)}{power}"
    far = [one for one in moves if one.knowledge or not is_noise(one.low, one.high)] or moves
    told = [one for one in far if one.quantity not in records.WAITS or len(far) == 1]
    text = [f"{one.word} {' and '.join(parts(one)) or 'from or to nothing'}" for one in told or far]
    return f"alone moves {counted(predictions, 'prediction')}{_of(effect.holders)}: {', '.join(text)}{power}"


def _of(devices: Sequence[str]) -> str:
    if not devices:
        return ""
    left = len(devices) - _NAMED
    more = f" and {counted(left, 'more device')}" if left > 0 else ""
    return f" of {', '.join(devices[:_NAMED])}{more}"


def parts(move: records.Shift) -> list[str]:
    """The factor of a move, and how many predictions became known or unknown."""
    return [*filter(None, [move.factor]), *move.knowledge]


# ---- moves


def _move(found: Comparison, move: Move) -> records.Moved:
    shares = found.shares(move)
    return records.Moved(
        **asdict(move),
        word=WORDS[move.quantity],
        factor=span(move.low, move.high),
        knowledge=knowledge(move.known, move.unknown),
        alone=shares,
        together=_together(found, move, shares),
    )


def _together(found: Comparison, move: Move, shares: Sequence[records.Share]) -> str:
    """How several changes act together; empty if there is only one."""
    whole = found.multiplies(move)
    if not shares or (len(shares) == 1 and whole):
        return ""
    each = [f"{span(share.low, share.high)} ({_path(found.effects[share.change])})" for share in shares[:_SHARES]]
    more = f" and {len(shares) - _SHARES} more" if len(shares) > _SHARES else ""
    sentence = f"together {span(move.low, move.high)}, alone {' and '.join(each)}{more}"
    return sentence if whole else f"{sentence}; the rest is interaction"


def _path(effect: Effect) -> str:
    return effect.change.name if isinstance(effect.change, FileChange) else effect.change.path


# ---- power


def _power(found: Comparison, move: PowerMove) -> records.PowerMoved:
    device, at = move.point[0], move.point[1] or None
    old, new = _load(move.old), _load(move.new)
    return records.PowerMoved(
        device=device,
        at=at,
        old=old,
        new=new,
        alone=[
            records.PowerAlone(change=position, new=_load(one.new))
            for position, effect in enumerate(found.effects)
            for one in effect.power
            if one.point == move.point
        ],
        text=power_said(f"{device} at {at}" if at else device, old, new),
    )


def _load(one: PowerCheck | None) -> records.PowerThen | None:
    if one is None:
        return None
    return records.PowerThen.from_object(
        one,
        unit=one.load.unit,
        precision=one.load.precision,
        limit=limit(one),
        ratio_display=ratio_shown(one.ratio),
        ends_display=ends(one),
    )


def power_said(subject: str, old: records.PowerThen | None, new: records.PowerThen | None) -> str:
    """`nvidia/t4: tensor_core int4 needs 0.50 → 1.46 of its rated power, sustains → cannot sustain`."""
    sides = [one for one in (old, new) if one]
    if not sides:
        return f"{subject}: not known"
    load = " → ".join(dict.fromkeys(f"{one.unit} {one.precision}" for one in sides))
    ratio = " → ".join(one.ratio_display for one in sides)
    verdict = " → ".join(dict.fromkeys(one.verdict for one in sides))
    known = "" if old and new else f", {'newly' if new else 'no longer'} known"
    return f"{subject}: {load} needs {ratio} of its rated power, {verdict}{known}"


# ---- The record for a terminal of 80 columns, and for a page of Markdown

WIDTH = 80
MOST, FEW = 40, 6
"""Moves that are listed unless all are asked for; and beside a run, whose evidence has them all."""


def as_text(found: records.Delta, most: int | None = MOST) -> str:
    """Changes with their effects alone, then the moves; `most` is None for all moves."""
    moves = _listed(found, most)
    lines = [line for text in (found.text, *found.also) for line in _wrapped(text)]
    for change in found.changes:
        lines += ["", _place(change)]
        lines += [line for text in (change.text, change.source, change.alone) if text for line in _wrapped(text, 2)]
    if moves:
        lines += ["", *_grid(moves)]
    lines += _rest(found, moves)
    if powers := (found.power or [])[:most]:
        lines += ["", "power at the printed peak"]
        lines += [line for one in powers for line in _wrapped(one.text, 2)]
    for move in moves:
        if move.together and move.quantity in WHOLE:  # the waits only divide a latency up
            lines += ["", *_wrapped(f"{move.device} {move.word}: {move.together}")]
    return "\n".join(lines) + "\n"


def _listed(found: records.Delta, most: int | None) -> list[records.Moved]:
    """As many moves, without those of less than NOISE; all of them for None."""
    if most is None:
        return found.moves
    return [one for one in found.moves if one.knowledge or not is_noise(one.low, one.high)][:most]


def _rest(found: records.Delta, shown: list[records.Moved]) -> list[str]:
    hidden = len(found.moves) - len(shown)
    base = f" {found.old.commit[:12]}" if found.old.commit else ""
    near = sum(is_noise(one.low, one.high) and not one.knowledge for one in found.moves)
    small = f", {near} of them by less than 0.1 %" if near else ""
    return [f"… and {hidden} more{small} (rooflint diff{base} --all)"] if hidden else []


def _place(change: records.Change) -> str:
    return f"{change.file}:{change.line}" if change.line else str(change.file)


def _grid(moves: Sequence[records.Moved]) -> Iterator[str]:
    cells = [("device", "quantity", "moved"), *((one.device, one.word, f"{one.rows}/{one.of}") for one in moves)]
    device, quantity, rows = (max(map(len, column)) for column in zip(*cells, strict=True))
    heads = [f"{one:<{device}}  {word:<{quantity}}  {moved:>{rows}}  " for one, word, moved in cells]
    for head, texts in zip(heads, [["factor"], *map(parts, moves)], strict=True):
        first, *more = texts or [""]
        yield f"{head}{first}".rstrip()
        yield from (" " * len(head) + text for text in more)
    if any(one.quantity in records.WAITS for one in moves):
        yield from ("", *_wrapped(WAITED))


def _wrapped(text: str, indent: int = 0) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(
        text, WIDTH, initial_indent=pad, subsequent_indent=pad, break_long_words=False, break_on_hyphens=False
    )


def as_md(found: records.Delta, most: int | None = MOST) -> str:
    """A heading, what changed, and the table of moves."""
    moves = _listed(found, most)
    blocks = ["## What moved", "\n".join(f"- {text}" for text in (found.text, *found.also))]
    if found.changes:
        head = ("where", "change", "source", "alone")
        rows = ((_place(one), one.text, one.source, one.alone) for one in found.changes)
        blocks.append(as_markdown(Table(head, tuple(rows))).rstrip("\n"))
    if moves:
        blocks.append(as_markdown(_moves(moves)).rstrip("\n"))
    blocks += _rest(found, moves)
    if powers := (found.power or [])[:most]:
        blocks += ["Power at the printed peak:", "\n".join(f"- {one.text}" for one in powers)]
    return "\n\n".join(blocks) + "\n"


def _moves(moves: Iterable[records.Moved]) -> Table:
    head = ("device", "quantity", "moved", "of", "factor", "together")
    rows = ((move.device, move.word, move.rows, move.of, ", ".join(parts(move)), move.together) for move in moves)
    return Table(head, tuple(rows))
