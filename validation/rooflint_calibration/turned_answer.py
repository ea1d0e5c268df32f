"""The shape of what `rooflint calibrate moved -f json` writes; seconds, and rows by the count."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.answers.answer import Answer, Grid, Prose, Section
from rooflint.answers.table import Table
from rooflint.base.text import counted
from rooflint.base.units import SECONDS, format_quantity, percent
from rooflint.devices.schema import Strict
from rooflint_calibration.changed import Changed
from rooflint_calibration.topics import TOPICS
from rooflint_calibration.turned import BAD, GOOD, Family, Moved, Turned, terms

Count = Annotated[int, Field(ge=0)]


class MovedRowRecord(Strict):
    """A row that went from good to bad."""

    device: str
    sizes: dict[str, float]
    measured_s: float
    old_s: float
    new_s: float
    terms_s: dict[str, float]
    """New less old, by term."""


class FamilyRecord(Strict):
    """One op on one family, by both states of the model."""

    topic: str
    family: str
    rows: Count
    good_before: Count
    good_now: Count
    went_bad: Count
    went_good: Count
    red: bool
    regime: str | None
    """Of those that went bad; null where none did."""
    terms: dict[str, float]
    """Part of each term in the change of those that moved the farthest, the largest first."""
    worst: list[MovedRowRecord]


class ChangedRecord(Strict):
    """A constant that the two states say differently; null where one does not have it."""

    name: str
    old: float | None
    new: float | None
    folds: Count
    place: str


class TurnedRecord(Strict):
    """`rooflint calibrate moved -f json`."""

    schema_: Annotated[Literal["rooflint.calibrate.moved/1"], Field(alias="schema")]
    base: str
    good: float
    bad: float
    """Factors between prediction and measurement."""
    tolerance: float
    red: bool
    families: list[FamilyRecord]
    changed: list[ChangedRecord]
    left_out: list[str]


# ---- The answer to `rooflint calibrate moved`: rows that went from good to bad, where, and which term took them ther

SCHEMA = "rooflint.calibrate.moved/1"
COUNTS = 0.05
"""Share of the change from which a term is named; one that made up for a part of it has less than none."""
WORST = 3
"""Rows of a family that are listed."""
LISTING = ("topic", "family", "rows", "good_before", "good_now", "went_bad", "went_good", "red")


def answer(found: Turned, base: str, tolerance: float, between: Sequence[Changed] = ()) -> Answer:
    """What was found against a base, and the constants that changed since."""
    red = [one for one in found.families if one.is_red(tolerance)]
    return Answer(
        title=f"Silicon against {base}: {_headline(found, red)}",
        subtitle=f"good: within a factor of {GOOD:g} of what was measured; bad: beyond {BAD:g}; constants that have "
        f"not seen the family; red: more than {percent(tolerance)} of its rows went bad, and more than went good",
        sections=tuple(_sections(found, red, tolerance, between)),
        record={
            "schema": SCHEMA,
            "base": base,
            "good": GOOD,
            "bad": BAD,
            "tolerance": tolerance,
            "red": bool(red),
            "families": [_record(found, one, tolerance) for one in found.families],
            "changed": [asdict(one) for one in between],
            "left_out": list(found.left_out),
        },
        listing=Table(LISTING, tuple(_counts(one, tolerance) for one in found.families)),
    )


def _headline(found: Turned, red: list[Family]) -> str:
    bad, good = (sum(int(mask.sum()) for mask in masks) for masks in _masks(found))
    sides = f"{counted(bad, 'row')} went bad, {good} went good"
    return f"{sides}; red: {', '.join(f'{one.topic} {one.family}' for one in red)}" if red else sides


def _masks(found: Turned) -> tuple[Iterator[Any], Iterator[Any]]:
    return (one.went_bad for one in found.families), (one.went_good for one in found.families)


def _sections(found: Turned, red: list[Family], tolerance: float, between: Sequence[Changed]) -> Iterator[Section]:
    for one in red:
        moved = found.moved[one.topic, one.family]
        yield Prose(f"Red: {one.topic} {one.family}", (*_why(one, moved), *(said(one, row) for row in moved[:WORST])))
    turned = [one for one in found.families if one.went_bad.any() or one.went_good.any()]
    if turned:
        strong = tuple(position for position, one in enumerate(turned) if one.is_red(tolerance))
        rows = tuple(_shown(found, one) for one in turned)
        columns = ("topic", "family", "rows", "good before", "now", "went bad", "went good", "most of it")
        yield Grid(
            "Rows that turned", Table(columns, rows), "most of it: regime and term of those that went bad", strong
        )
    if between:
        yield Prose("Constants that changed", tuple(map(str, between)))
    if found.left_out:
        yield Prose("Not compared", found.left_out)


def _why(one: Family, moved: tuple[Moved, ...]) -> Iterator[str]:
    bad, rows = int(one.went_bad.sum()), len(one.seconds)
    yield f"{counted(bad, 'row')} of {rows} went from good to bad, {int(one.went_good.sum())} the other way"
    regime = one.regime
    inside = TOPICS[one.topic].inside(regime, one.sizes)
    share, expected = inside[one.went_bad].mean(), inside.mean()
    means = TOPICS[one.topic].regimes[regime]
    if regime != "all":
        yield f"regime {regime} ({means}): {percent(share)} of them, and {percent(expected)} of all rows"
    slower = sum(row.new_s > row.old_s for row in moved)
    most = sorted(terms(moved).items(), key=lambda one: -abs(one[1]))[:3]
    shares = [f"{name} {percent(share)}" for name, share in most if abs(share) > COUNTS]
    yield f"term: {', '.join(shares)} of the change; {slower} of the {len(moved)} that moved the farthest went slower"


def said(one: Family, row: Moved) -> str:
    """`m 8, n 32, k 5120 on nvidia/l40s: measured 22.5 us, before 21 us, now 32 us: fill +9 us`."""
    sizes = ", ".join(f"{name} {size:g}" for name, size in zip(TOPICS[one.topic].sizes, row.sizes, strict=True))
    measured, before, now = (format_quantity(each, SECONDS) for each in (row.measured_s, row.old_s, row.new_s))
    by = row.terms_s[row.term]
    sign = "+" if by > 0 else "−"
    return (
        f"{sizes} on {row.device}: measured {measured}, before {before}, now {now}: {row.term} "
        f"{sign}{format_quantity(abs(by), SECONDS)}"
    )


def _counts(one: Family, tolerance: float) -> tuple[Any, ...]:
    before, now = (int((one.off(side) <= GOOD).sum()) for side in (one.old_s, one.new_s))
    bad, good = int(one.went_bad.sum()), int(one.went_good.sum())
    return one.topic, one.family, len(one.seconds), before, now, bad, good, one.is_red(tolerance)


def _shown(found: Turned, one: Family) -> tuple[Any, ...]:
    topic, family, rows, before, now, bad, good, _ = _counts(one, 0.0)
    return topic, family, rows, before, now, bad, good, _most(found, one) if bad else ""


def _most(found: Turned, one: Family) -> str:
    term = next(iter(terms(found.moved[one.topic, one.family])))
    return term if one.regime == "all" else f"{one.regime}, {term}"


def _record(found: Turned, one: Family, tolerance: float) -> dict[str, Any]:
    moved = found.moved.get((one.topic, one.family), ())
    return {
        **dict(zip(LISTING, _counts(one, tolerance), strict=True)),
        "regime": one.regime if moved else None,
        "terms": terms(moved) if moved else {},
        "worst": [
            {
                "device": row.device,
                "sizes": dict(zip(TOPICS[one.topic].sizes, row.sizes, strict=True)),
                "measured_s": row.measured_s,
                "old_s": row.old_s,
                "new_s": row.new_s,
                "terms_s": dict(row.terms_s),
            }
            for row in moved
        ],
    }
