"""What moved, in sentences: formatted once, for the terminal, the evidence and the report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_rooflint.history.changes import Change, FileChange, Said
from pytest_rooflint.history.comparison import Comparison, Effect, Move, PowerMove, Share
from pytest_rooflint.history.side import Side
from rooflint.answers.tdp_registry import ends, ratio_shown, watts
from rooflint.energy.power import PowerCheck
from rooflint.prediction.ledger import PRECISIONS, QUANTITIES, RUNS

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


def headline(found: Mapping[str, Any]) -> str:
    """How much moved, between what, of how many."""
    old, new, moved = found["old"]["label"], found["new"]["label"], found["moved"]
    of = f"of {_grouped(found['matrix']['predictions'])} predictions"
    if not moved["predictions"]:
        return f"nothing moved between {old} and {new}: {of}, none"
    devices = counted(moved["devices"], "device")
    return f"{_grouped(moved['predictions'])} {of} moved between {old} and {new}, on {devices}"


def others(found: Mapping[str, Any]) -> Iterator[str]:
    """What appeared, vanished or was left out."""
    for noun, key in (("device", "devices"), ("operating point", "points"), ("network", "networks")):
        for fate, names in found[key].items():
            if names:
                yield f"{counted(len(names), noun)} {fate}: {', '.join(names)}"
    if found["power"]:
        other = sum(_verdict(one["old"]) != _verdict(one["new"]) for one in found["power"])
        said = f", at {other} with another verdict" if other else ", every verdict as before"
        yield f"another power over its limit at {counted(len(found['power']), 'point')}{said}"
    if found["recited"]:
        yield f"{counted(found['recited'], 'fact')} with the same value cited from another place"
    for one in found["left_out"]:
        yield str(one["said"])


def alone(change: Mapping[str, Any]) -> str:
    """What a change moves by itself."""
    if change["untried"]:
        return f"not tried alone: {change['untried']}"
    power = f"; power over its limit at {counted(change['powers'], 'point')}" if change["powers"] else ""
    if not change["predictions"]:
        return f"alone moves no prediction{_of(change['devices'])}{power}"
    said = [f"{one['word']} {' and '.join(parts(one)) or 'from or to nothing'}" for one in change["moves"]]
    return (
        f"alone moves {counted(change['predictions'], 'prediction')}{_of(change['devices'])}: {', '.join(said)}{power}"
    )


def power_said(move: Mapping[str, Any]) -> str:
    """`nvidia/t4: tensor_core int4 0.50 → 1.46 of its limit, sustains → cannot sustain`."""
    old, new = move["old"], move["new"]
    subject = f"{move['device']} at {move['at']}" if move["at"] else move["device"]
    if old is None or new is None:
        known = old or new
        told = f"{known['ratio_display']} of its limit, {known['verdict']}"
        return f"{subject}: {_hard(known)} {told}, {'newly' if old is None else 'no longer'} known"
    load = _hard(new) if _hard(old) == _hard(new) else f"{_hard(old)} → {_hard(new)}"
    ratio = f"{old['ratio_display']} → {new['ratio_display']} of its limit"
    verdict = " → ".join(dict.fromkeys((old["verdict"], new["verdict"])))
    return f"{subject}: {load} {ratio}, {verdict}"


def _verdict(load: Mapping[str, Any] | None) -> str | None:
    return load["verdict"] if load else None


def _hard(load: Mapping[str, Any]) -> str:
    return f"{load['unit']} {load['precision']}"


def parts(move: Mapping[str, Any]) -> list[str]:
    """Factor and knowledge of a move, as far as there is something to say."""
    return [*filter(None, [move["factor"]]), *move["knowledge"]]


def _of(devices: Sequence[str]) -> str:
    if not devices:
        return ""
    named = ", ".join(devices[:_NAMED])
    return f" of {named}" + (f" and {len(devices) - _NAMED} more devices" if len(devices) > _NAMED else "")


def source(change: Mapping[str, Any]) -> str:
    """The source of the new value, or of the one that is gone; empty for what is no fact."""
    said = change["new"] or change["old"]
    return f"{said['document']}, {said['where']} ({said['grade']})" if said and said["document"] else ""


def span(low: float | None, high: float | None) -> str:
    """`×0.92 … ×1.07`, or one factor where both are the same as printed; empty where there is none."""
    if low is None or high is None:
        return ""
    ends = [_factor(low), _factor(high)]
    return ends[0] if ends[0] == ends[1] else " … ".join(ends)


def _factor(factor: float) -> str:
    """To three digits, and to as many more as it takes to be another than 1."""
    digits = 3
    while factor != 1 and float(f"{factor:.{digits}g}") == 1 and digits < 9:
        digits += 1
    return f"×{factor:.{digits}g}"


def knowledge(known: int, unknown: int) -> list[str]:
    """Predictions that only one side has a figure for."""
    found = [f"{unknown} no longer known"] if unknown else []
    return [*found, f"{known} newly known"] if known else found


def counted(number: int, noun: str) -> str:
    """`1 device`, `18 480 predictions`."""
    return f"{_grouped(number)} {noun}" + ("" if number == 1 else "s")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


# ---- The comparison as plain data, for programs, for the evidence and for whoever writes it down

SCHEMA = "rooflint-delta/1"

_MANY = 4
"""Shares that a sentence names."""


def summary(found: Comparison) -> dict[str, Any]:
    """What moved, and what moved it."""
    before, after = {name for name, _ in found.old.points}, {name for name, _ in found.new.points}
    effects = [_effect(effect) for effect in found.effects]
    plain = {
        "schema": SCHEMA,
        "old": _side(found.old),
        "new": _side(found.new),
        "matrix": {
            "predictions": found.cells,
            "devices": len(before & after),
            "networks": sorted(frozenset(found.old.networks) & frozenset(found.new.networks)),
            "precisions": list(PRECISIONS),
            "runs": [{"batch": batch, "fused": fused} for batch, fused in RUNS],
        },
        "moved": {"predictions": found.difference.predictions, "devices": len({one.device for one in found.moves})},
        "devices": _both_ways(before, after),
        "points": _both_ways(_points(found.old, before & after), _points(found.new, before & after)),
        "networks": _both_ways(found.old.networks, found.new.networks),
        "recited": found.recited,
        "left_out": [
            {"side": side, "said": said}
            for side, one in (("old", found.old), ("new", found.new))
            for said in one.left_out
        ],
        "changes": effects,
        "moves": [_move(found, move, effects) for move in found.moves],
        "power": [_power(found, move) for move in found.power],
    }
    return {**plain, "said": headline(plain), "also": list(others(plain))}


def _side(side: Side) -> dict[str, Any]:
    return {"label": side.label, "commit": side.commit}


def _both_ways(old: Iterable[str], new: Iterable[str]) -> dict[str, list[str]]:
    before, after = frozenset(old), frozenset(new)
    return {"appeared": sorted(after - before), "vanished": sorted(before - after)}


def _points(side: Side, devices: set[str]) -> list[str]:
    """Operating points of devices that both sides have."""
    return [f"{name} at {at}" for name, at in side.points if at and name in devices]


# ---- changes


def _effect(effect: Effect) -> dict[str, Any]:
    said = _of_file(effect.change) if isinstance(effect.change, FileChange) else _of_fact(effect.change)
    tried = effect.alone
    plain = {
        **said,
        "devices": list(effect.holders),
        "predictions": None if tried is None else tried.predictions,
        "untried": effect.untried,
        "moves": [] if tried is None else _overall(tried.moves()),
        "powers": len(effect.power),
    }
    return {**plain, "source": source(plain), "alone": alone(plain)}


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


def _value(said: Said | None) -> str:
    return said.text if said else "nothing"


def _said(said: Said | None) -> dict[str, Any] | None:
    if said is None:
        return None
    names = ("text", "file", "line", "document", "where", "grade")
    return {name: getattr(said, name) for name in names}


def _of_file(change: FileChange) -> dict[str, Any]:
    return {
        "what": "file",
        "path": change.name,
        "at": None,
        "old": None,
        "new": None,
        "file": change.name,
        "line": None,
        "text": f"{change.name} {change.fate}",
    }


def _overall(moves: Sequence[Move]) -> list[dict[str, Any]]:
    """By quantity, over all devices."""
    found = []
    for quantity in QUANTITIES:
        of_it = [move for move in moves if move.quantity == quantity]
        if of_it:
            low, high = _ends((move.low, move.high) for move in of_it)
            found.append(
                {
                    "quantity": quantity,
                    "word": WORDS[quantity],
                    "rows": sum(move.rows for move in of_it),
                    "low": low,
                    "high": high,
                    "factor": span(low, high),
                    "knowledge": knowledge(sum(move.known for move in of_it), sum(move.unknown for move in of_it)),
                }
            )
    return found


def _ends(pairs: Iterable[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    known = [(low, high) for low, high in pairs if low is not None and high is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else (None, None)


# ---- moves


def _move(found: Comparison, move: Move, effects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shares = found.shares(move)
    return {
        "device": move.device,
        "quantity": move.quantity,
        "word": WORDS[move.quantity],
        "rows": move.rows,
        "of": move.of,
        "low": move.low,
        "high": move.high,
        "factor": span(move.low, move.high),
        "known": move.known,
        "unknown": move.unknown,
        "knowledge": knowledge(move.known, move.unknown),
        "alone": [{"change": share.effect, "low": share.low, "high": share.high} for share in shares],
        "together": _together(found, move, shares, effects),
    }


def _together(found: Comparison, move: Move, shares: Sequence[Share], effects: Sequence[Mapping[str, Any]]) -> str:
    """How several changes work together; empty where one does it all."""
    whole = found.multiplies(move)
    if not shares or (len(shares) == 1 and whole):
        return ""
    each = [f"{span(share.low, share.high)} ({effects[share.effect]['path']})" for share in shares[:_MANY]]
    more = f" and {len(shares) - _MANY} more" if len(shares) > _MANY else ""
    sentence = f"together {span(move.low, move.high)}, alone {' and '.join(each)}{more}"
    return sentence if whole else f"{sentence}; the rest is interplay"


# ---- power


def _power(found: Comparison, move: PowerMove) -> dict[str, Any]:
    """The hardest load of a point on both sides, and what each change makes of it alone."""
    device, at = move.point
    plain = {"device": device, "at": at or None, "old": _load(move.old), "new": _load(move.new)}
    alone = [
        {"change": position, "new": _load(one.new)}
        for position, effect in enumerate(found.effects)
        for one in effect.power
        if one.point == move.point
    ]
    return {**plain, "alone": alone, "said": power_said(plain)}


def _load(one: PowerCheck | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "unit": one.load.unit,
        "precision": one.load.precision,
        "limit": {"path": one.limit.path, "value": one.limit_w, "display": watts(one.limit_w)},
        "verdict": one.verdict,
        "ratio": one.ratio,
        "ratio_display": ratio_shown(one.ratio),
        "ends_display": ends(one),
    }
