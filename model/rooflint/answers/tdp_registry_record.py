"""What a device sustains, for programs: JSON values in SI base units, null where nobody knows."""

from collections.abc import Sequence
from typing import Any

from rooflint.facts import Fact
from rooflint.sustained import VERDICTS, NotKnown, Power, Sustained
from rooflint.table import Cell

LISTING = (
    "device",
    "unit",
    "precision",
    "peak_ops_per_s",
    "limit_w",
    "low_w",
    "typical_w",
    "high_w",
    "low_ratio",
    "ratio",
    "high_ratio",
    "verdict",
    "grade",
    "exhausting_j_per_op",
    "clock_hz",
    "fitting_clock_hz",
    "left_out",
    "not_known",
)
"""Columns of a list of loads."""


def listed(one: Sustained | NotKnown) -> tuple[Cell, ...]:
    """One row of such a list; what nobody knows has its reason instead of figures."""
    found = record(one)
    if isinstance(one, NotKnown):
        return (one.device, found["unit"], found["precision"], *(None for _ in LISTING[3:-1]), one.reason)
    return (*(found[column] for column in LISTING[:-2]), "; ".join(one.left_out) or None, None)


def counted(found: Sequence[Sustained]) -> dict[str, int]:
    """How often each verdict was given."""
    return {verdict: sum(one.verdict == verdict for one in found) for verdict in VERDICTS}


def record(one: Sustained | NotKnown) -> dict[str, Any]:
    """Everything that is said of one load."""
    if isinstance(one, NotKnown):
        unit, precision = (one.load.unit, one.load.precision) if one.load else (None, None)
        return {"device": one.device, "unit": unit, "precision": precision, "reason": one.reason}
    load = one.load
    return {
        "device": load.device,
        "name": load.hardware.name,
        "kind": load.hardware.kind,
        "operating_point": load.hardware.mode,
        "unit": load.unit,
        "precision": load.precision,
        "peak_ops_per_s": load.peak_ops_per_s,
        "limit_w": one.limit_w,
        "limit": one.limit.path,
        "low_w": one.low_w,
        "typical_w": one.typical_w,
        "high_w": one.high_w,
        "low_ratio": one.low_ratio,
        "ratio": one.ratio,
        "high_ratio": one.high_ratio,
        "verdict": one.verdict,
        "grade": one.grade,
        "left_out": list(one.left_out),
        "j_per_op": one.j_per_op,
        "exhausting_j_per_op": one.exhausting_j_per_op,
        "exhausting_j_per_mac": one.exhausting_j_per_mac,
        "clock_hz": load.units[0].clock_hz(load.precision),
        "fitting_clock_hz": one.fitting_clock_hz,
        "powers": [_power(power) for power in one.powers],
    }


def _power(power: Power) -> dict[str, Any]:
    return {
        "name": power.name,
        "cause": power.cause,
        "rate_per_s": power.rate_per_s,
        "unit": power.unit,
        "each_low_j": power.each.low,
        "each_j": power.each.typical,
        "each_high_j": power.each.high,
        "low_w": power.low_w,
        "typical_w": power.typical_w,
        "high_w": power.high_w,
        "said": power.each.said,
        "grade": power.each.grade,
        "sources": [_source(fact) for fact in power.each.facts],
    }


def _source(fact: Fact) -> dict[str, str]:
    return {
        "fact": fact.path,
        "value": fact.display,
        "document": fact.source.document,
        "where": fact.where,
        "grade": fact.source.grade,
    }
