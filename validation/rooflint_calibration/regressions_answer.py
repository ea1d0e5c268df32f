"""The answer to `rooflint calibrate regressions`: a record for programs, and its sections for readers."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.text import counted
from rooflint.base.units import SECONDS, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Grid, Prose, Section, Table
from rooflint_calibration.regressions import BAD, GOOD, Change, Comparison, Family, Regression, terms
from rooflint_calibration.topics import TOPICS

Count = Annotated[int, Field(ge=0)]


class RegressionRecord(Strict):
    """A row that was predicted well and is predicted badly now."""

    device: str
    sizes: dict[str, float]
    measured_s: float
    old_s: float
    new_s: float
    terms_s: dict[str, float]
    """New less old, by term."""


class FamilyRecord(Strict):
    """One op on one family of GPUs, by both states of the model."""

    topic: str
    family: str
    rows: Count
    good_before: Count
    good_now: Count
    regressed: Count
    improved: Count
    failed: bool
    regime: str | None
    """The regime of the regressed rows; null where there are none."""
    terms: dict[str, float]
    """Share of each term in the change of the listed rows, the largest first."""
    worst: list[RegressionRecord]


class ChangeRecord(Strict):
    """A constant with two values; null where one state does not have it."""

    name: str
    old: float | None
    new: float | None
    folds: Count
    place: str


class RegressionsRecord(Record):
    """`rooflint calibrate regressions -f json`; times in seconds."""

    schema_: Annotated[Literal["rooflint.calibrate.regressions/1"], Field(alias="schema")]
    base: str
    good: float
    bad: float
    """Factors between prediction and measurement."""
    tolerance: float
    failed: bool
    families: list[FamilyRecord]
    changes: list[ChangeRecord]
    left_out: list[str]


LISTED = ("topic", "family", "rows", "good_before", "good_now", "regressed", "improved", "failed")
"""Columns of the listing."""
NAMED = 0.05
"""Share of the change from which a term is named."""
WORST = 3
"""Regressed rows that are printed for a family."""


def answer(found: Comparison, base: str, tolerance: float, between: Sequence[Change] = ()) -> Answer:
    """The regressions since a base, and the constants that changed since."""
    records = [_record(found, one, tolerance) for one in found.families]
    record = RegressionsRecord.build(
        base=base,
        good=GOOD,
        bad=BAD,
        tolerance=tolerance,
        failed=any(one.failed for one in records),
        families=records,
        changes=[ChangeRecord(**vars(one)) for one in between],
        left_out=list(found.left_out),
    )
    return Answer(
        title=f"Kernel times against {base}: {_headline(records)}",
        subtitle=f"good: within a factor of {GOOD:g} of the measurement; bad: beyond {BAD:g}; by constants fitted "
        f"without the family; a family fails if more than {percent(tolerance)} of its rows regressed, and more than "
        "improved",
        sections=tuple(_sections(found, records, between)),
        record=record,
        listing=Table(LISTED, tuple(tuple(getattr(one, name) for name in LISTED) for one in records)),
    )


def _record(found: Comparison, one: Family, tolerance: float) -> FamilyRecord:
    regressions = found.regressions.get((one.topic, one.family), ())
    before, now = (int((one.off(side) <= GOOD).sum()) for side in (one.old_s, one.new_s))
    sizes = TOPICS[one.topic].columns
    return FamilyRecord(
        topic=one.topic,
        family=one.family,
        rows=len(one.seconds),
        good_before=before,
        good_now=now,
        regressed=int(one.regressed.sum()),
        improved=int(one.improved.sum()),
        failed=one.fails(tolerance),
        regime=one.regime if regressions else None,
        terms=terms(regressions) if regressions else {},
        worst=[
            RegressionRecord(**{**vars(row), "sizes": dict(zip(sizes, row.sizes, strict=True))}) for row in regressions
        ],
    )


def _headline(records: Sequence[FamilyRecord]) -> str:
    bad, good = sum(one.regressed for one in records), sum(one.improved for one in records)
    both = f"{counted(bad, 'row')} regressed, {good} improved"
    failed = ", ".join(f"{one.topic} {one.family}" for one in records if one.failed)
    return f"{both}; failed: {failed}" if failed else both


def _sections(found: Comparison, records: Sequence[FamilyRecord], between: Sequence[Change]) -> Iterator[Section]:
    for one, record in zip(found.families, records, strict=True):
        if record.failed:
            rows = found.regressions[one.topic, one.family]
            details = (*_details(one, record, rows), *(sentence(one, row) for row in rows[:WORST]))
            yield Prose(f"Failed: {one.topic} {one.family}", details)
    changed = [one for one in records if one.regressed or one.improved]
    if changed:
        strong = tuple(position for position, one in enumerate(changed) if one.failed)
        columns = ("topic", "family", "rows", "good before", "now", "regressed", "improved", "mostly")
        table = Table(columns, tuple(map(_shown, changed)))
        yield Grid("Regressions by family", table, "mostly: regime and term of the regressed rows", strong)
    if between:
        yield Prose("Constants that changed", tuple(map(str, between)))
    if found.left_out:
        yield Prose("Not compared", found.left_out)


def _details(one: Family, record: FamilyRecord, rows: Sequence[Regression]) -> Iterator[str]:
    yield f"{counted(record.regressed, 'row')} of {record.rows} regressed, {record.improved} improved"
    if record.regime and record.regime != "all":
        inside = TOPICS[one.topic].inside(record.regime, one.sizes)
        share, expected = inside[one.regressed].mean(), inside.mean()
        means = TOPICS[one.topic].regimes[record.regime]
        yield f"regime {record.regime} ({means}): {percent(share)} of them, {percent(expected)} of all rows"
    slower = sum(row.new_s > row.old_s for row in rows)
    most = sorted(record.terms.items(), key=lambda one: -abs(one[1]))[:3]
    shares = [f"{name} {percent(share)}" for name, share in most if abs(share) > NAMED]
    yield f"term: {', '.join(shares)} of the change; {slower} of the {len(rows)} that moved most became slower"


def sentence(one: Family, row: Regression) -> str:
    """`m 8, n 32, k 5120 on nvidia/l40s: measured 22.5 us, before 21 us, now 32 us: fill +9 us`."""
    sizes = ", ".join(f"{name} {size:g}" for name, size in zip(TOPICS[one.topic].columns, row.sizes, strict=True))
    measured, before, now = (format_quantity(each, SECONDS) for each in (row.measured_s, row.old_s, row.new_s))
    by = row.terms_s[row.term]
    sign = "+" if by > 0 else "−"
    return (
        f"{sizes} on {row.device}: measured {measured}, before {before}, now {now}: {row.term} "
        f"{sign}{format_quantity(abs(by), SECONDS)}"
    )


def _shown(one: FamilyRecord) -> tuple[Any, ...]:
    term = next(iter(one.terms), "")
    mostly = term if one.regime in (None, "all") else f"{one.regime}, {term}"
    return one.topic, one.family, one.rows, one.good_before, one.good_now, one.regressed, one.improved, mostly
