"""The mutation score: which mutants are caught, counted by operator, file and fact, as a record, text and Markdown."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Group, Mutant, Outcome, Subject
from rooflint.base.errors import shown
from rooflint.base.facts import Fact, Place
from rooflint.output.answer import as_markdown
from rooflint.output.sections import Table
from rooflint_report import differences as records

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """A mutant and its outcome."""

    subject: Subject
    mutant: Mutant
    outcome: Outcome

    @property
    def survived(self) -> bool:
        """Whether a claim could have caught it, and none did."""
        return self.outcome.category == "killable" and self.outcome.killed_by is None

    @property
    def unseen(self) -> bool:
        """Whether it changes a figure and no claim fails."""
        return self.outcome.category != "equivalent" and self.outcome.killed_by is None

    @property
    def order(self) -> tuple[float, str, int, str]:
        """Sort key: farthest off first, then by place."""
        ratio, fact = self.mutant.ratio, self.mutant.fact
        return -max(ratio, 1 / ratio) if ratio else -math.inf, str(fact.file), fact.line, fact.path


@dataclass(frozen=True)
class Result:
    """Every mutant of a run."""

    rows: tuple[Row, ...]
    refused: Mapping[str, int]
    """Mutations that the schema refuses, by operator."""
    backed: frozenset[Place]
    """Lines of the facts that corroborated peaks and bandwidths rest on."""

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        outcomes: Mapping[int, Sequence[Outcome]],
        backed: frozenset[Place],
        only_class: str | None = None,
    ) -> "Result":
        """The mutants of some groups by position, or those of one class."""
        refused = Counter(
            name for position in outcomes for name in groups[position].refused if only_class in (None, name)
        )
        rows = tuple(
            Row(groups[position].subject, mutant, outcome)
            for position, found in outcomes.items()
            for mutant, outcome in zip(groups[position].mutants, found, strict=True)
            if only_class in (None, mutant.mutation.operator)
        )
        return cls(rows, refused, backed)

    @cached_property
    def counts(self) -> records.MutantCounts:
        """Counts of all mutants of the run."""
        return tally(self.rows)

    @property
    def score(self) -> float | None:
        """Killed over killable; None where nothing is killable. [1]"""
        return score(self.counts)

    @cached_property
    def gross(self) -> tuple[Row, ...]:
        """Mutants of a factor of two or more on facts that corroborated peaks and bandwidths rest on."""
        return tuple(row for row in self.rows if row.mutant.is_gross and row.mutant.fact.place in self.backed)

    @property
    def gross_survivors(self) -> list[Row]:
        """Gross mutants that no claim catches; there should be none."""
        return [row for row in self.gross if row.outcome.killed_by is None]

    @property
    def survivors(self) -> list[Row]:
        """Killable mutants that no claim catches, farthest off first."""
        return sorted((row for row in self.rows if row.survived), key=lambda row: row.order)

    def by(self, key: Callable[[Row], T]) -> dict[T, list[Row]]:
        """Parts of the rows, in their order, by what tells the parts apart."""
        parts: dict[T, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(key(row), []).append(row)
        return parts


def tally(rows: Sequence[Row]) -> records.MutantCounts:
    """Mutants by outcome.

    Unseen are those that change a figure without a failing claim; survivors are among them.
    """
    categories = Counter(row.outcome.category for row in rows)
    killed = Counter(row.outcome.category for row in rows if row.outcome.killed_by is not None)
    return records.MutantCounts(
        mutants=len(rows),
        killable=categories["killable"],
        killed=killed["killable"],
        survived=categories["killable"] - killed["killable"],
        within_digits=categories["within-digits"],
        uncorroborated=categories["uncorroborated"],
        equivalent=categories["equivalent"],
        killed_otherwise=killed.total() - killed["killable"],
        unseen=sum(row.unseen for row in rows),
    )


def score(counts: records.MutantCounts) -> float | None:
    """Killed over killable; None where nothing is killable. [1]"""
    return counts.killed / counts.killable if counts.killable else None


# ---- Missing claims: which claim, from which kind of source, would catch a mutant


def missing_claim(row: Row, baseline: Baseline) -> str:
    """The claim that would have killed a mutant."""
    witness = baseline.by_id.get(row.outcome.witness or "")
    if witness is None or witness.printed is None or witness.claim.expectation is None:
        digits = ", printed with more digits" if row.outcome.category == "within-digits" else ""
        return f"{missing_claim_about(row.subject, row.mutant.fact)}{digits}"
    claim, stated = witness.claim, witness.claim.expectation.tolerance_text
    return (
        f"{claim.kind}: {claim.subject} at {shown(claim.file)}:{claim.line}, "
        f"if it allowed the {witness.printed.tolerance_text} of its printed digits and not {stated}"
    )


def missing_claim_about(subject: Subject, fact: Fact) -> str:
    """An independent claim about the figure that a fact moves most directly."""
    claim = _of_table(subject, fact) if subject.table else _claim(subject, fact)
    if claim is None and subject.table:
        return "no existing kind of claim"
    if claim is None:
        return "no existing kind of claim; an order of clocks bounds it"
    whose = f" at {fact.at} of {subject.id}" if fact.at else f" of {subject.id}"
    if subject.is_architecture and not claim.startswith(("ratio", "sparsity")):
        whose = f" of a device with {subject.id}"
    return f"{claim}{whose}, from a document other than '{fact.source.document}'"


def _of_table(subject: Subject, fact: Fact) -> str | None:
    return f"energies: {fact.path}" if subject.table == "coefficients" else None


def _claim(subject: Subject, fact: Fact) -> str | None:
    """`bandwidth: hbm3`; None where no kind of claim asks for the figure itself."""
    section, *rest = fact.path.split(".")
    if section == "units":
        return _of_unit(subject, *rest)
    if section == "memories":
        return f"{'capacity' if rest[1] == 'capacity' else 'bandwidth'}: {rest[0]}"
    if section == "caches":
        return f"capacity: {rest[0]}"
    if section in ("tdp", "powers"):
        return f"tdp: {rest[0] if rest else 'rated'}"
    if section in ("full_die", "dies"):
        counted = (path.removeprefix("full_die.") for path in subject.hardware.facts if path.startswith("full_die."))
        return f"full_die: {rest[0] if rest else next(counted, 'SM')}"
    return f"a peak, count or capacity per {rest[0]}" if section == "parts" else None


def _of_unit(subject: Subject, name: str, field: str, precision: str | None = None) -> str:
    unit = subject.hardware.units[name]
    if field == "groups":
        return f"count: {unit.group}"
    if field == "per_group":
        return f"count: {name}"
    if field == "sparsity":
        return f"sparsity: {name} {precision}"
    return f"peak: {name} {precision or next(iter(unit.precisions), '')}".rstrip()


# ---- The mutation score as a record: what the evidence holds, and what every rendering of it is made from

#: Every word of the counts, as the documents say it.
DEFINITIONS = {
    "mutant": "one fact with one error that the schema accepts",
    "equivalent": "changes no derived figure by 1e-9 or more",
    "uncorroborated": "no independently sourced claim covers a figure that it changes",
    "within digits": "an independently sourced claim covers it, but its source printed too few digits to tell",
    "killable": "changes the figure of an independently sourced claim beyond its printed digits",
    "killed": "a claim other than a replay fails",
    "score": "killed over killable",
    "unseen": "changes a figure, and no claim fails",
    "gross": "a factor of two or more on a fact that a corroborated peak or bandwidth rests on",
    "refused": "rejected by the schema; not counted as a mutant",
}


def summary(result: Result, baseline: Baseline, floor: float | None = None) -> records.Mutation:
    """The score with all counts. `floor` and `score` are shares, 1 is all."""
    missed = result.gross_survivors
    survivors = [*(row for row in missed if not row.survived), *result.survivors]
    return records.Mutation(
        score=result.score,
        floor=floor,
        holds=holds(result, floor),
        definitions=DEFINITIONS,
        counts=records.AllMutants(refused=sum(result.refused.values()), **dict(result.counts)),
        gross=records.Gross(mutants=len(result.gross), killed=len(result.gross) - len(missed)),
        classes=list(_classes(result)),
        subjects=list(_subjects(result)),
        facts=[_fact(rows) for rows in result.by(lambda row: id(row.mutant.fact)).values()],
        survivors=[_survivor(row, baseline) for row in survivors],
    )


def holds(result: Result, floor: float | None) -> bool | None:
    """Whether the score is on its floor and no gross mutant survives; None without a floor."""
    if floor is None:
        return None
    return result.score is not None and result.score >= floor and not result.gross_survivors


def _classes(result: Result) -> Iterator[records.MutantClass]:
    found = result.by(lambda row: row.mutant.mutation.operator)
    for name, says in OPERATORS.items():
        rows, refused = found.get(name, []), result.refused.get(name, 0)
        if rows or refused:
            yield records.MutantClass(name=name, says=says, refused=refused, **dict(tally(rows)))


def _subjects(result: Result) -> Iterator[records.MutatedSubject]:
    """Devices and architectures, those first in which most goes unseen."""
    found = {shown(file): rows for file, rows in result.by(lambda row: row.subject.hardware.file).items()}
    counted = {file: tally(rows) for file, rows in found.items()}
    for file, counts in sorted(counted.items(), key=lambda item: (-item[1].unseen / item[1].mutants, item[0])):
        subject = found[file][-1].subject
        yield records.MutatedSubject(
            id=subject.id, architecture=subject.is_architecture, file=file, score=score(counts), **dict(counts)
        )


def _fact(rows: Sequence[Row]) -> records.MutatedFact:
    unseen = [row for row in rows if row.unseen]
    return records.MutatedFact(
        unseen_classes=list(dict.fromkeys(row.mutant.mutation.operator for row in unseen)),
        would_kill=missing_claim_about(rows[0].subject, rows[0].mutant.fact) if unseen else None,
        **_place(rows[0]),
        **dict(tally(rows)),
    )


def _place(row: Row) -> dict[str, Any]:
    fact = row.mutant.fact
    return {
        "subject": row.subject.id,
        "at": fact.at or None,
        "path": fact.path,
        "file": shown(fact.file),
        "line": fact.line,
        "display": fact.display,
    }


def _survivor(row: Row, baseline: Baseline) -> records.Survivor:
    mutation = row.mutant.mutation
    return records.Survivor(
        class_=mutation.operator,
        text=mutation.text,
        mutated=mutation.display,
        ratio=row.mutant.ratio,
        would_kill=missing_claim(row, baseline),
        **_place(row),
    )


# ---- The record for a terminal of 80 columns, and for a page of Markdown

WIDTH = 80
WORST = 5
"""Devices and architectures that are named."""

#: Heading and key of the columns of counts.
_COLUMNS = {
    "mutants": "mutants",
    "killable": "killable",
    "killed": "killed",
    "survived": "survived",
    "within digits": "within_digits",
    "uncorroborated": "uncorroborated",
    "equivalent": "equivalent",
}
_NARROW = {"within digits": "digits", "uncorroborated": "uncorr.", "equivalent": "equiv."}


def as_text(summary: records.Mutation, most: int | None = 10) -> str:
    """Score first, then counts, then what is not caught; `most` survivors and unseen facts, None for all."""
    sentences = [line for sentence in _sentences(summary) for line in textwrap.wrap(sentence, WIDTH)]
    lines = [*sentences, "", *_grid(summary), "", *_worst(summary)]
    lines += [*_section(list(_survivors(summary)), most), *_section(list(_unseen(summary)), most, by="fact")]
    return "\n".join(lines).rstrip() + "\n"


def _sentences(summary: records.Mutation) -> Iterator[str]:
    counts, gross = summary.counts, summary.gross
    floor = "" if summary.floor is None else f" (floor {records.score_percent(summary.floor)})"
    killed = f"{counts.killed} of {counts.killable} killable mutants killed"
    yield f"mutation score {records.score_percent(summary.score)}{floor}: {killed}"
    yield f"×2 and more on corroborated peaks and bandwidths: {gross.killed} of {gross.mutants} killed"
    total = counts.mutants or 1
    share = {key: f"{number / total:.1%}".replace("%", " %") for key, number in counts}
    yield (
        f"of {counts.mutants} mutants {share['killable']} are killable, {share['within_digits']} within the printed "
        f"digits, {share['uncorroborated']} uncorroborated, {share['equivalent']} equivalent; "
        f"{share['killed_otherwise']} are killed by uncorroborated claims only, {share['unseen']} are not caught; "
        f"{counts.refused} more mutations are refused by the schema"
    )


def _grid(summary: records.Mutation) -> Iterator[str]:
    names = [_NARROW.get(name, name) for name in _COLUMNS]
    yield f"{'operator':<18}" + "".join(f"{name:>{len(name) + 2}}" for name in names)
    for title, *numbers in _rows(summary):
        cells = zip(names, numbers, strict=True)
        yield f"{title:<18}" + "".join(f"{number:>{len(name) + 2}}" for name, number in cells)


def _rows(summary: records.Mutation) -> Iterator[tuple[str | int, ...]]:
    for title, counts in (*((one.name, one) for one in summary.classes), ("all", summary.counts)):
        yield title, *(getattr(counts, key) for key in _COLUMNS.values())


def _worst(summary: records.Mutation) -> Iterator[str]:
    found = [one for one in summary.subjects if one.unseen][:WORST]
    if found:
        yield "most mutants not caught"
    for one in found:
        yield f"  {one.id:<40} {one.unseen:>4} of {one.mutants:>4} mutants, {one.survived} survivors"


def _section(entries: Sequence[Sequence[str]], most: int | None, by: str = "survivor") -> Iterator[str]:
    shown = entries if most is None else entries[:most]
    for entry in shown:
        yield from ("", *entry)
    if len(entries) > len(shown):
        yield from ("", f"… and {len(entries) - len(shown)} more {by}s (--survivors all)")


def _survivors(summary: records.Mutation) -> Iterator[list[str]]:
    for one in summary.survivors:
        yield _entry("survivor", one, f"{one.display} → {one.mutated} ({one.class_}: {one.text})")


def _unseen(summary: records.Mutation) -> Iterator[list[str]]:
    """Facts with mutants that are not caught, besides survivors."""
    facts = [one for one in summary.facts if one.unseen > one.survived]
    for one in sorted(facts, key=lambda one: (-one.unseen, one.file, one.line)):
        yield _entry("unseen", one, f"{one.display}, {one.unseen} of {one.mutants} mutants not caught")


def _entry(kind: str, one: records.Survivor | records.MutatedFact, text: str) -> list[str]:
    at = f" at {one.at}" if one.at else ""
    sentences = (f"{one.path}{at}: {text}", f"would be killed by: {one.would_kill}")
    return [f"{kind:<10}{one.file}:{one.line}", *(line for sentence in sentences for line in _wrapped(sentence))]


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False
    )


def as_md(summary: records.Mutation, most: int | None = 10) -> str:
    """A heading with the score, the table of operators, the survivors."""
    parts = [
        "## Mutation score",
        "\n".join(f"- {line}" for line in _sentences(summary)),
        as_markdown(Table(("operator", *_COLUMNS), tuple(_rows(summary)))),
    ]
    if survivors := summary.survivors[:most]:
        columns = ("survivor", "fact", "from", "to", "operator", "would be killed by")
        rows = (
            (f"{one.file}:{one.line}", one.path, one.display, one.mutated, one.class_, one.would_kill)
            for one in survivors
        )
        parts.append(as_markdown(Table(columns, tuple(rows))))
    return "\n\n".join(parts)
