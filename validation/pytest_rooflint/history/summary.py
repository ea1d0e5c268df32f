"""What moved, in sentences and as a record: formatted once, for the terminal, the evidence and the report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pytest_rooflint.evidence.power import limit
from pytest_rooflint.history.changes import Change, FileChange, StatedValue
from pytest_rooflint.history.comparison import Comparison, Effect, Move, PowerMove, Share
from pytest_rooflint.history.side import Side
from rooflint.answers.tdp_registry import ends, ratio_shown
from rooflint.energy.power import PowerCheck
from rooflint.prediction.ledger import PRECISIONS, QUANTITIES, RUNS
from rooflint_report import differences
from rooflint_report.differences import (
    BothWays,
    Combination,
    Compared,
    Delta,
    LeftOut,
    Matrix,
    Moved,
    MovedCounts,
    PowerAlone,
    PowerMoved,
    PowerThen,
    Shift,
)

#: The quantities of the ledger as they are spoken of.
WORDS: Mapping[str, str] = {
    "latency_s": "latency",
    "compute_wait_s": "compute wait",
    "memory_wait_s": "memory wait",
    "launch_wait_s": "launch wait",
    "energy_j": "energy",
    "power_w": "power",
    "utilization": "utilization",
    "peak_memory_bytes": "peak memory",
}

_NAMED = 6
"""Devices that a sentence names."""


def headline(old: Side, new: Side, predictions: int, moved: MovedCounts) -> str:
    """One sentence: how many predictions moved, between which sides, out of how many."""
    of = f"of {_grouped(predictions)} predictions"
    if not moved.predictions:
        return f"nothing moved between {old.label} and {new.label}: {of}, none"
    devices = counted(moved.devices, "device")
    return f"{_grouped(moved.predictions)} {of} moved between {old.label} and {new.label}, on {devices}"


def others(
    names: Mapping[str, BothWays], power: Sequence[PowerMoved], recited: int, left_out: Sequence[LeftOut]
) -> Iterator[str]:
    """What appeared, vanished or was left out."""
    for noun, both in names.items():
        for word, listed in (("appeared", both.appeared), ("vanished", both.vanished)):
            if listed:
                yield f"{counted(len(listed), noun)} {word}: {', '.join(listed)}"
    if power:
        other = sum(_verdict(one.old) != _verdict(one.new) for one in power)
        said = f", at {other} with another verdict" if other else ", every verdict as before"
        yield f"another power over its limit at {counted(len(power), 'point')}{said}"
    if recited:
        yield f"{counted(recited, 'fact')} with the same value cited from another place"
    yield from (one.said for one in left_out)


def alone(effect: Effect, moves: Sequence[Shift]) -> str:
    """The effect of a change alone, in a sentence."""
    if effect.untried or effect.alone is None:
        return f"not tried alone: {effect.untried}"
    power = f"; power over its limit at {counted(len(effect.power), 'point')}" if effect.power else ""
    predictions = effect.alone.predictions
    if not predictions:
        return f"alone moves no prediction{_of(effect.holders)}{power}"
    said = [f"{one.word} {' and '.join(parts(one)) or 'from or to nothing'}" for one in moves]
    return f"alone moves {counted(predictions, 'prediction')}{_of(effect.holders)}: {', '.join(said)}{power}"


def power_said(device: str, at: str | None, old: PowerThen | None, new: PowerThen | None) -> str:
    """`nvidia/t4: tensor_core int4 0.50 → 1.46 of its limit, sustains → cannot sustain`."""
    subject = f"{device} at {at}" if at else device
    if old is None or new is None:
        known = old or new
        if known is None:
            return f"{subject}: not known"
        told = f"{known.ratio_display} of its limit, {known.verdict}"
        return f"{subject}: {_hard(known)} {told}, {'newly' if old is None else 'no longer'} known"
    load = _hard(new) if _hard(old) == _hard(new) else f"{_hard(old)} → {_hard(new)}"
    ratio = f"{old.ratio_display} → {new.ratio_display} of its limit"
    verdict = " → ".join(dict.fromkeys((old.verdict, new.verdict)))
    return f"{subject}: {load} {ratio}, {verdict}"


def _verdict(load: PowerThen | None) -> str | None:
    return load.verdict if load else None


def _hard(load: PowerThen) -> str:
    return f"{load.unit} {load.precision}"


def parts(move: Shift) -> list[str]:
    """The factor of a move, and how many predictions became known or unknown."""
    return [*filter(None, [move.factor]), *move.knowledge]


def _of(devices: Sequence[str]) -> str:
    if not devices:
        return ""
    named = ", ".join(devices[:_NAMED])
    return f" of {named}" + (f" and {len(devices) - _NAMED} more devices" if len(devices) > _NAMED else "")


def source(change: Change | FileChange) -> str:
    """The source of the new value, or of the one that is gone; empty for what is not a fact."""
    found = None if isinstance(change, FileChange) else change.new or change.old
    return f"{found.document}, {found.where} ({found.grade})" if found and found.document else ""


def span(low: float | None, high: float | None) -> str:
    """`×0.92 … ×1.07`, or one factor where both are the same as printed; empty where there is none."""
    if low is None or high is None:
        return ""
    ends = [_factor(low), _factor(high)]
    return ends[0] if ends[0] == ends[1] else " … ".join(ends)


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


def counted(number: int, noun: str) -> str:
    """`1 device`, `18 480 predictions`."""
    return f"{_grouped(number)} {noun}" + ("" if number == 1 else "s")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


# ---- The comparison as a record, for programs, for the evidence and for the renderings

_MANY = 4
"""Shares that a sentence names."""


def summary(found: Comparison) -> Delta:
    """What moved, and what moved it."""
    before, after = {name for name, _ in found.old.points}, {name for name, _ in found.new.points}
    moved = MovedCounts(predictions=found.difference.predictions, devices=len({one.device for one in found.moves}))
    devices = _both_ways(before, after)
    points = _both_ways(_points(found.old, before & after), _points(found.new, before & after))
    networks = _both_ways(found.old.networks, found.new.networks)
    left_out = [*(_left_out("old", found.old)), *(_left_out("new", found.new))]
    power = [_power(found, move) for move in found.power]
    names = {"device": devices, "operating point": points, "network": networks}
    return Delta(
        old=Compared(label=found.old.label, commit=found.old.commit),
        new=Compared(label=found.new.label, commit=found.new.commit),
        matrix=Matrix(
            predictions=found.cells,
            devices=len(before & after),
            networks=sorted(frozenset(found.old.networks) & frozenset(found.new.networks)),
            precisions=list(PRECISIONS),
            runs=[Combination(batch=batch, fused=fused) for batch, fused in RUNS],
        ),
        moved=moved,
        devices=devices,
        points=points,
        networks=networks,
        recited=found.recited,
        left_out=left_out,
        changes=[_effect(effect) for effect in found.effects],
        moves=[_move(found, move) for move in found.moves],
        power=power,
        said=headline(found.old, found.new, found.cells, moved),
        also=list(others(names, power, found.recited, left_out)),
    )


def _left_out(name: Literal["old", "new"], side: Side) -> list[LeftOut]:
    return [LeftOut(side=name, said=said) for said in side.left_out]


def _both_ways(old: Iterable[str], new: Iterable[str]) -> BothWays:
    before, after = frozenset(old), frozenset(new)
    return BothWays(appeared=sorted(after - before), vanished=sorted(before - after))


def _points(side: Side, devices: set[str]) -> list[str]:
    """Operating points of devices that both sides have."""
    return [f"{name} at {at}" for name, at in side.points if at and name in devices]


# ---- changes


def _effect(effect: Effect) -> differences.Change:
    moves = [] if effect.alone is None else _overall(effect.alone.moves())
    return differences.Change(
        **(_of_file(effect.change) if isinstance(effect.change, FileChange) else _of_fact(effect.change)),
        devices=list(effect.holders),
        predictions=None if effect.alone is None else effect.alone.predictions,
        untried=effect.untried,
        moves=moves,
        powers=len(effect.power),
        source=source(effect.change),
        alone=alone(effect, moves),
    )


def _of_fact(change: Change) -> dict[str, Any]:
    place = change.new or change.old
    return {
        "what": "trait" if change.trait else "fact",
        "path": change.path,
        "at": change.at,
        "old": _said(change.old),
        "new": _said(change.new),
        "file": place.file if place else None,
        "line": place.line if place else None,
        "text": f"{_name(change)} {_value(change.old)} → {_value(change.new)}",
    }


def _name(change: Change) -> str:
    path = f"{change.trait} {change.path}" if change.trait and change.trait != change.path else change.path
    return f"{path} at {change.at}" if change.at else path


def _value(said: StatedValue | None) -> str:
    return said.text if said else "nothing"


def _said(said: StatedValue | None) -> differences.StatedValue | None:
    if said is None:
        return None
    return differences.StatedValue(
        text=said.text, file=said.file, line=said.line, document=said.document, where=said.where, grade=said.grade
    )


def _of_file(change: FileChange) -> dict[str, Any]:
    return {
        "what": "file",
        "path": change.name,
        "at": None,
        "old": None,
        "new": None,
        "file": change.name,
        "line": None,
        "text": f"{change.name} {change.status}",
    }


def _overall(moves: Sequence[Move]) -> list[Shift]:
    """By quantity, over all devices."""
    found = []
    for quantity in QUANTITIES:
        of_it = [move for move in moves if move.quantity == quantity]
        if of_it:
            low, high = _ends((move.low, move.high) for move in of_it)
            found.append(
                Shift(
                    quantity=quantity,
                    word=WORDS[quantity],
                    rows=sum(move.rows for move in of_it),
                    low=low,
                    high=high,
                    factor=span(low, high),
                    knowledge=knowledge(sum(move.known for move in of_it), sum(move.unknown for move in of_it)),
                )
            )
    return found


def _ends(pairs: Iterable[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    known = [(low, high) for low, high in pairs if low is not None and high is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else (None, None)


# ---- moves


def _move(found: Comparison, move: Move) -> Moved:
    shares = found.shares(move)
    return Moved(
        device=move.device,
        quantity=move.quantity,
        word=WORDS[move.quantity],
        rows=move.rows,
        of=move.of,
        low=move.low,
        high=move.high,
        factor=span(move.low, move.high),
        known=move.known,
        unknown=move.unknown,
        knowledge=knowledge(move.known, move.unknown),
        alone=[differences.Share(change=share.effect, low=share.low, high=share.high) for share in shares],
        together=_together(found, move, shares),
    )


def _together(found: Comparison, move: Move, shares: Sequence[Share]) -> str:
    """How several changes act together; empty if there is only one."""
    whole = found.multiplies(move)
    if not shares or (len(shares) == 1 and whole):
        return ""
    each = [f"{span(share.low, share.high)} ({_path(found.effects[share.effect])})" for share in shares[:_MANY]]
    more = f" and {len(shares) - _MANY} more" if len(shares) > _MANY else ""
    sentence = f"together {span(move.low, move.high)}, alone {' and '.join(each)}{more}"
    return sentence if whole else f"{sentence}; the rest is interaction"


def _path(effect: Effect) -> str:
    return effect.change.name if isinstance(effect.change, FileChange) else effect.change.path


# ---- power


def _power(found: Comparison, move: PowerMove) -> PowerMoved:
    """The hardest load of a point on both sides, and what each change makes of it alone."""
    device, at = move.point[0], move.point[1] or None
    old, new = _load(move.old), _load(move.new)
    return PowerMoved(
        device=device,
        at=at,
        old=old,
        new=new,
        alone=[
            PowerAlone(change=position, new=_load(one.new))
            for position, effect in enumerate(found.effects)
            for one in effect.power
            if one.point == move.point
        ],
        said=power_said(device, at, old, new),
    )


def _load(one: PowerCheck | None) -> PowerThen | None:
    if one is None:
        return None
    return PowerThen(
        unit=one.load.unit,
        precision=one.load.precision,
        limit=limit(one),
        verdict=one.verdict,
        ratio=one.ratio,
        ratio_display=ratio_shown(one.ratio),
        ends_display=ends(one),
    )
