"""Regressions: measured rows that one state of the model predicts well and another predicts badly.

An average hides them: a change may gain a little on many rows and lose a regime. So rows are counted, family by family.
`rooflint calibrate regressions` prints the answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rooflint.base import strict_yaml
from rooflint.base.errors import InputError, RooflintError, shown
from rooflint.base.text import counted
from rooflint.base.units import SECONDS, format_quantity, percent
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import Strict
from rooflint.kernels.constants import FILES
from rooflint.kernels.shapes import Numbers
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Grid, Prose, Section, Table
from rooflint_calibration.base import Ask, make_request
from rooflint_calibration.rows import Mask, Rows
from rooflint_calibration.topics import TOPICS, measured_devices, sample

Count = Annotated[int, Field(ge=0)]

GOOD = 1.15
"""A prediction within this factor of its measurement is good: frameworks that call one library differ by as much."""
BAD = 1.25
"""Beyond this factor it is bad; in between it is neither, so a prediction must move by 9 % to become a regression."""
COMPARED = 40
"""Regressed rows of a family whose terms are compared: those whose prediction moved most."""


@dataclass(frozen=True)
class Family:
    """One topic on one family of GPUs, predicted by both states of the model."""

    topic: str
    family: str
    devices: Sequence[str]
    """The device of each row; the rows of all devices follow each other."""
    sizes: Numbers
    """Shape (rows, columns)."""
    seconds: Numbers
    """Measured. [s]"""
    old_s: Numbers
    new_s: Numbers

    def off(self, predicted_s: Numbers) -> Numbers:
        """The factor between a prediction and its measurement, 1 or more. [1]"""
        return np.exp(np.abs(np.log(predicted_s / self.seconds)))

    @property
    def regressed(self) -> Mask:
        """Rows that were good and are bad now."""
        return np.asarray((self.off(self.old_s) <= GOOD) & (self.off(self.new_s) > BAD))

    @property
    def improved(self) -> Mask:
        """Rows that were bad and are good now."""
        return np.asarray((self.off(self.old_s) > BAD) & (self.off(self.new_s) <= GOOD))

    def fails(self, tolerance: float) -> bool:
        """Whether more rows regressed than is tolerated, and more than improved."""
        bad = int(self.regressed.sum())
        return bad > tolerance * len(self.seconds) and bad > int(self.improved.sum())

    @property
    def regime(self) -> str:
        """The regime that regressed rows are most concentrated in, relative to its share of all rows; `all` if none."""
        inside = {name: TOPICS[self.topic].inside(name, self.sizes) for name in TOPICS[self.topic].regimes}
        return max(inside, key=lambda name: inside[name][self.regressed].mean() - inside[name].mean())


class RegressionRecord(Strict):
    """A row that was predicted well and is predicted badly now."""

    device: str
    sizes: dict[str, float]
    measured_s: float
    old_s: float
    new_s: float
    terms_s: dict[str, float]
    """New less old, by term."""

    @property
    def share(self) -> Mapping[str, float]:
        """Share of each term in the change. [1]"""
        return {name: seconds / (self.new_s - self.old_s) for name, seconds in self.terms_s.items()}

    @property
    def term(self) -> str:
        """The term with the largest share in the change."""
        return max(self.share, key=lambda name: self.share[name])

    def __str__(self) -> str:
        """`m 8, n 32, k 5120 on nvidia/l40s: measured 22.5 µs, before 21 µs, now 32 µs: fill +9 µs`."""
        sizes = ", ".join(f"{name} {size:g}" for name, size in self.sizes.items())
        measured, before, now = (format_quantity(each, SECONDS) for each in (self.measured_s, self.old_s, self.new_s))
        by = self.terms_s[self.term]
        change = f"{self.term} {'+' if by > 0 else '−'}{format_quantity(abs(by), SECONDS)}"
        return f"{sizes} on {self.device}: measured {measured}, before {before}, now {now}: {change}"


@dataclass(frozen=True)
class Comparison:
    """The predictions of both states for the same rows."""

    families: tuple[Family, ...]
    regressions: Mapping[tuple[str, str], tuple[RegressionRecord, ...]]
    """Regressed rows by topic and family; those whose prediction moved most come first."""
    left_out: tuple[str, ...]
    """What the base could not predict, in sentences."""


class PredictionError(RooflintError):
    """This tree has no prediction for measured rows."""


def compare(registry: Registry, topics: Sequence[str], rows: int, old: Ask, new: Ask) -> Comparison:
    """Ask both states about the same rows. Raises PredictionError, NotInstalledError or RooflintError."""
    there = {
        (topic, family): tuple(_stratified(registry, topic, device, rows) for device in names)
        for topic in topics
        for family, names in measured_devices(topic).items()
    }
    request = make_request(
        [
            _group(topic, family, one.device, one.sizes, terms=False)
            for (topic, family), ones in there.items()
            for one in ones
        ]
    )
    answers = zip(old(request)["groups"], new(request)["groups"], strict=True)
    families, left_out = [], []
    for (topic, family), ones in there.items():
        pairs = [next(answers) for _ in ones]
        if errors := _errors(pairs, 1):  # an error whatever the base answers
            raise PredictionError(f"{topic} on {family}: no prediction in this tree: {errors[0]}")
        if errors := _errors(pairs, 0):
            left_out.append(f"{topic} on {family}: no prediction in the base: {errors[0]}")
            continue
        sides = [np.concatenate([pair[side]["seconds"] for pair in pairs]) for side in (0, 1)]
        if lost := int((~np.isfinite(sides[1])).sum()):  # NaN compares false, so none would count as bad
            raise PredictionError(f"{topic} on {family}: this tree predicts no finite time for {counted(lost, 'row')}")
        names = [one.device for one in ones for _ in range(len(one))]
        sizes, seconds = np.concatenate([one.sizes for one in ones]), np.concatenate([one.seconds for one in ones])
        families.append(Family(topic, family, names, sizes, seconds, *sides))
    return Comparison(
        tuple(families), _regressed([one for one in families if one.regressed.any()], old, new), tuple(left_out)
    )


def _errors(pairs: Sequence[Sequence[Mapping[str, Any]]], side: int) -> list[str]:
    return [pair[side]["error"] for pair in pairs if "error" in pair[side]]


def _stratified(registry: Registry, topic: str, device: str, rows: int) -> Rows:
    """`rows` rows of each regime; a row of several regimes is counted once."""
    ones = [sample(registry, topic, device, regime, rows)[0] for regime in TOPICS[topic].regimes]
    sizes, first = np.unique(np.concatenate([one.sizes for one in ones]), axis=0, return_index=True)
    return replace(ones[0], sizes=sizes, seconds=np.concatenate([one.seconds for one in ones])[first])


def _group(topic: str, family: str, device: str, sizes: Numbers, *, terms: bool) -> dict[str, Any]:
    return {
        "topic": topic,
        "precision": TOPICS[topic].precision,
        "device": device,
        "family": family,
        "sizes": sizes.tolist(),
        "terms": terms,
    }


def _regressed(families: Sequence[Family], old: Ask, new: Ask) -> dict[tuple[str, str], tuple[RegressionRecord, ...]]:
    few = [(family, _farthest(family)) for family in families]
    request = make_request(
        [
            _group(one.topic, one.family, one.devices[row], one.sizes[[row]], terms=True)
            for one, rows in few
            for row in rows
        ]
    )
    answers = zip(old(request)["groups"], new(request)["groups"], strict=True)
    return {(one.topic, one.family): tuple(_row(one, row, *next(answers)) for row in rows) for one, rows in few}


def _farthest(family: Family) -> list[int]:
    """Rows that regressed; those whose prediction moved most come first."""
    change = np.abs(np.log(family.new_s / family.old_s)) * family.regressed
    order: list[int] = np.argsort(-change, kind="stable").tolist()
    return order[: min(COMPARED, int(family.regressed.sum()))]


def _row(family: Family, row: int, old: Mapping[str, Any], new: Mapping[str, Any]) -> RegressionRecord:
    names = dict.fromkeys([*old["terms"], *new["terms"]])
    return RegressionRecord(
        device=family.devices[row],
        sizes=dict(zip(TOPICS[family.topic].columns, family.sizes[row].tolist(), strict=True)),
        measured_s=float(family.seconds[row]),
        old_s=float(family.old_s[row]),
        new_s=float(family.new_s[row]),
        terms_s={name: new["terms"].get(name, [0.0])[0] - old["terms"].get(name, [0.0])[0] for name in names},
    )


def terms(rows: Sequence[RegressionRecord]) -> dict[str, float]:
    """Mean share of each term in the change of some rows, the largest first. [1]"""
    names = dict.fromkeys(name for one in rows for name in one.terms_s)
    found = {name: float(np.mean([one.share.get(name, 0.0) for one in rows])) for name in names}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


# ---- Constants that changed between two states of the spec files


class ChangeRecord(Strict):
    """A constant with two values; null where one state does not have it."""

    name: str
    old: float | None
    new: float | None
    folds: Count
    place: str

    def __str__(self) -> str:
        """`start_clocks 2213 → 4426, and 5 of its folds (model/rooflint/specs/silicon.yaml:41)`."""
        old, new = (f"{value:g}" if value is not None else "nothing" for value in (self.old, self.new))
        value = f"{old} → {new}" if old != new else f"stays {new}"
        folds = f", and {self.folds} of its folds" if self.folds else ""
        return f"{self.name} {value}{folds} ({self.place})"


def changes(old: Path, new: Path = PACKAGED) -> list[ChangeRecord]:
    """Constants that differ between two folders of specs; a file that cannot be read is skipped.

    Asking its side reports the error.
    """
    return [one for name in FILES for one in _of_file(old / name, new / name)]


def _of_file(old: Path, new: Path) -> Iterator[ChangeRecord]:
    before, after = _read(old), _read(new)
    for path in dict.fromkeys([*before, *after]):
        one, other = before.get(path), after.get(path)
        if one is None or other is None or one[:2] != other[:2]:
            was, folds = (one or (None, {}, 0))[:2]
            now, unseen = (other or (None, {}, 0))[:2]
            place = f"{shown(new)}:{other[2]}" if other else f"{old.name} of the base"
            count = sum(folds.get(family) != value for family, value in unseen.items())
            name = ".".join(part for part in path if part != "constants")
            yield ChangeRecord(name=name, old=was, new=now, folds=count, place=place)


def _read(file: Path) -> dict[tuple[str, str], tuple[float, dict[str, float], int]]:
    """Value, folds and line by group and name; everything with a value is a constant, in any version of the file."""
    try:
        document = strict_yaml.load(file)
    except InputError:
        return {}
    groups: dict[str, Any] = document.data if isinstance(document.data, dict) else {}
    return {
        (group, name): (one["value"][0], one.get("folds", {}), document.line((group, name, "value")))
        for group, members in groups.items()
        if isinstance(members, dict)
        for name, one in members.items()
        if isinstance(one, dict) and isinstance(one.get("value"), list)
    }


# ---- The answer


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


def answer(found: Comparison, base: str, tolerance: float, between: Sequence[ChangeRecord] = ()) -> Answer:
    """The regressions since a base, and the constants that changed since."""
    records = [_record(found, one, tolerance) for one in found.families]
    record = RegressionsRecord.build(
        base=base,
        good=GOOD,
        bad=BAD,
        tolerance=tolerance,
        failed=any(one.failed for one in records),
        families=records,
        changes=list(between),
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
    return FamilyRecord.from_object(
        one,
        rows=len(one.seconds),
        good_before=before,
        good_now=now,
        regressed=int(one.regressed.sum()),
        improved=int(one.improved.sum()),
        failed=one.fails(tolerance),
        regime=one.regime if regressions else None,
        terms=terms(regressions) if regressions else {},
        worst=list(regressions),
    )


def _headline(records: Sequence[FamilyRecord]) -> str:
    bad, good = sum(one.regressed for one in records), sum(one.improved for one in records)
    both = f"{counted(bad, 'row')} regressed, {good} improved"
    failed = ", ".join(f"{one.topic} {one.family}" for one in records if one.failed)
    return f"{both}; failed: {failed}" if failed else both


def _sections(found: Comparison, records: Sequence[FamilyRecord], between: Sequence[ChangeRecord]) -> Iterator[Section]:
    for one, record in zip(found.families, records, strict=True):
        if record.failed:
            rows = found.regressions[one.topic, one.family]
            details = (*_details(one, record, rows), *map(str, rows[:WORST]))
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


def _details(one: Family, record: FamilyRecord, rows: Sequence[RegressionRecord]) -> Iterator[str]:
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


def _shown(one: FamilyRecord) -> tuple[Any, ...]:
    term = next(iter(one.terms), "")
    mostly = term if one.regime in (None, "all") else f"{one.regime}, {term}"
    return one.topic, one.family, one.rows, one.good_before, one.good_now, one.regressed, one.improved, mostly
