"""The mutation score: which mutants are caught, counted by operator, file and fact, as a record, text and Markdown."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pytest_rooflint.mutation import unguarded
from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Group, Mutant, Outcome, Subject, kind_of
from pytest_rooflint.mutation.unguarded import Name, name_of
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
    independent: bool = False
    """Whether a claim with a source of its own fails."""

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
        baseline: Baseline,
        only_class: str | None = None,
    ) -> "Result":
        """The mutants of some groups by position, or those of one class."""
        refused = Counter(
            name for position in outcomes for name in groups[position].refused if only_class in (None, name)
        )
        rows = tuple(
            Row(groups[position].subject, mutant, outcome, outcome.killed_by in baseline.independent)
            for position, found in outcomes.items()
            for mutant, outcome in zip(groups[position].mutants, found, strict=True)
            if only_class in (None, mutant.mutation.operator)
        )
        return cls(rows, refused, baseline.backed)

    @cached_property
    def counts(self) -> records.MutantCounts:
        """Counts of all mutants of the run."""
        return tally(self.rows)

    @property
    def score(self) -> float | None:
        """Killed over all that are not equivalent; None without any. [1]"""
        return score(self.counts)

    @property
    def independent(self) -> float | None:
        """Killed by an independent source, over all that are not equivalent; None without any. [1]"""
        return independent(self.counts)

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
    return records.MutantCounts(
        mutants=len(rows),
        equivalent=categories["equivalent"],
        killed=sum(row.outcome.killed_by is not None for row in rows),
        killed_independently=sum(row.independent for row in rows),
        unseen=sum(row.unseen for row in rows),
        killable=categories["killable"],
        survived=sum(row.survived for row in rows),
        within_digits=categories["within-digits"],
        uncorroborated=categories["uncorroborated"],
    )


def score(counts: records.MutantCounts) -> float | None:
    """Killed over all that are not equivalent; None without any. [1]"""
    return _of_all(counts.killed, counts)


def independent(counts: records.MutantCounts) -> float | None:
    """Killed by an independent source, over all that are not equivalent; None without any. [1]"""
    return _of_all(counts.killed_independently, counts)


def _of_all(number: int, counts: records.MutantCounts) -> float | None:
    total = counts.mutants - counts.equivalent
    return number / total if total else None


# ---- Why a mutant is equivalent


def _why_equivalent(row: Row) -> str:
    idle = row.mutant.fact.path == "launched" or row.subject.table
    return "nothing is computed with the fact" if idle else "what the fact gives way to is the same"


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
    if claim is None:
        return "no existing kind of claim"
    whose = f" at {fact.at} of {subject.id}" if fact.at else f" of {subject.id}"
    if subject.is_architecture and not claim.startswith(("ratio", "sparsity")):
        whose = f" of a device with {subject.id}"
    return f"{claim}{whose}, from a document other than '{fact.source.document}'"


def _of_table(subject: Subject, fact: Fact) -> str | None:
    if subject.table == "coefficients":
        return f"energies: {fact.path}"
    where, kind, _, _ = fact.path.rsplit(".", 3)
    section, name = where.split(".", 1)
    claim = {"devices": "price", "places": "grid"}.get(section)
    return f"{claim}: {name} {kind}" if claim else None


def _claim(subject: Subject, fact: Fact) -> str | None:
    """`bandwidth: hbm3`; None where no kind of claim asks for the figure itself."""
    section, *rest = fact.path.split(".")
    if section == "units":
        return _of_unit(subject, *rest)
    if section in ("full_die", "dies"):
        counted = (path.removeprefix("full_die.") for path in subject.hardware.facts if path.startswith("full_die."))
        return f"full_die: {rest[0] if rest else next(counted, 'SM')}"
    name = rest[0] if rest else "rated"
    return {
        "memories": f"{'capacity' if rest[1:] == ['capacity'] else 'bandwidth'}: {name}",
        "caches": f"capacity: {name}",
        "clocks": f"clock: {name}",
        "process": "process: node",
        "tdp": f"tdp: {name}",
        "powers": f"tdp: {name}",
        "parts": f"a peak, count or capacity per {name}",
    }.get(section)


def _of_unit(subject: Subject, name: str, field: str, precision: str | None = None) -> str:
    unit = subject.hardware.units[name]
    if field == "groups":
        return f"count: {unit.group}"
    if field == "per_group":
        return f"count: {name}"
    if field in ("clock", "clock_of"):
        return f"clock: {name} {precision or ''}".rstrip()
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
    "killed by an independent source": "a claim fails whose document is none of those that its facts were read in",
    "score": "killed over all mutants that are not equivalent",
    "unseen": "changes a figure, and no claim fails",
    "gross": "a factor of two or more on a fact that a corroborated peak or bandwidth rests on",
    "refused": "rejected by the schema; not counted as a mutant",
    "unguarded": "a figure of which no mutant is killed; a golden file may state why",
    "repeated": "a figure of which mutants are killed, and none by an independent source",
}


def summary(
    result: Result,
    baseline: Baseline,
    floor: float | None = None,
    independent_floor: float | None = None,
    ceiling: int | None = None,
    reasons: Mapping[Name, str] | None = None,
) -> records.Mutation:
    """The score with all counts. Scores and floors are shares, 1 is all; the ceiling is one of unguarded figures."""
    missed = result.gross_survivors
    facts = [_fact(rows, reasons or {}) for rows in result.by(lambda row: id(row.mutant.fact)).values()]
    guards = unguarded.guards(facts, ceiling)
    survivors = [*(row for row in missed if not row.survived), *result.survivors]
    return records.Mutation(
        score=result.score,
        independent=result.independent,
        floor=floor,
        independent_floor=independent_floor,
        holds=False if unguarded.too_many(guards) else holds(result, floor, independent_floor),
        definitions=DEFINITIONS,
        counts=records.AllMutants(refused=sum(result.refused.values()), **dict(result.counts)),
        gross=records.Gross(mutants=len(result.gross), killed=len(result.gross) - len(missed)),
        equivalents=dict(Counter(_why_equivalent(row) for row in result.rows if row.outcome.category == "equivalent")),
        kinds=list(_kinds(result)),
        classes=list(_classes(result)),
        subjects=list(_subjects(result)),
        guards=guards,
        facts=facts,
        survivors=[_survivor(row, baseline) for row in survivors],
    )


def holds(result: Result, floor: float | None, independent_floor: float | None = None) -> bool | None:
    """Whether both shares are on their floors and no gross mutant survives; None without a floor."""
    floors = ((result.score, floor), (result.independent, independent_floor))
    asked = [(found, least) for found, least in floors if least is not None]
    if not asked:
        return None
    return all(found is not None and found >= least for found, least in asked) and not result.gross_survivors


def _kinds(result: Result) -> Iterator[records.MutatedKind]:
    """Kinds of facts, those first of which the smallest share is killed by an independent source."""
    found = result.by(lambda row: kind_of(row.subject, row.mutant.fact))
    counted = {name: tally(rows) for name, rows in found.items()}
    for name, counts in sorted(counted.items(), key=lambda item: (independent(item[1]) or 0, item[0])):
        yield records.MutatedKind(name=name, score=score(counts), independent=independent(counts), **dict(counts))


def _classes(result: Result) -> Iterator[records.MutantClass]:
    found = result.by(lambda row: row.mutant.mutation.operator)
    for name, says in OPERATORS.items():
        rows, refused = found.get(name, []), result.refused.get(name, 0)
        if rows or refused:
            yield records.MutantClass(name=name, says=says, refused=refused, **dict(tally(rows)))


def _subjects(result: Result) -> Iterator[records.MutatedSubject]:
    """Files, those first in which most goes unseen."""
    found = {shown(file): rows for file, rows in result.by(lambda row: row.subject.hardware.file).items()}
    counted = {file: tally(rows) for file, rows in found.items()}
    for file, counts in sorted(counted.items(), key=lambda item: (-item[1].unseen / item[1].mutants, item[0])):
        subject = found[file][-1].subject
        yield records.MutatedSubject(
            id=subject.id,
            architecture=subject.is_architecture,
            file=file,
            score=score(counts),
            independent=independent(counts),
            **dict(counts),
        )


def _fact(rows: Sequence[Row], reasons: Mapping[Name, str]) -> records.MutatedFact:
    unseen, subject, fact = [row for row in rows if row.unseen], rows[0].subject, rows[0].mutant.fact
    return records.MutatedFact(
        unseen_classes=list(dict.fromkeys(row.mutant.mutation.operator for row in unseen)),
        would_kill=missing_claim_about(subject, fact) if unseen else None,
        kind=kind_of(subject, fact),
        reason=reasons.get(name_of(subject, fact)),
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
"""Files that are named."""

#: Heading and key of the columns of counts.
_COLUMNS = {
    "mutants": "mutants",
    "equivalent": "equivalent",
    "killed": "killed",
    "independently": "killed_independently",
    "unseen": "unseen",
    "survived": "survived",
}
_NARROW = {"equivalent": "equiv.", "independently": "independ."}


def as_text(summary: records.Mutation, most: int | None = 10) -> str:
    """Score first, then counts, then what is not caught; `most` survivors and unseen facts, None for all."""
    sentences = [line for sentence in _sentences(summary) for line in textwrap.wrap(sentence, WIDTH)]
    lines = [*sentences, "", *_grid("kind of fact", _kind_rows(summary)), ""]
    lines += [
        *_grid("operator", _rows(summary)),
        "",
        *unguarded.as_lines(summary.guards, WIDTH, WORST),
        "",
        *_worst(summary),
    ]
    lines += [*_section(list(_survivors(summary)), most), *_section(list(_unseen(summary)), most, by="fact")]
    return "\n".join(lines).rstrip() + "\n"


def _sentences(summary: records.Mutation) -> Iterator[str]:
    counts, gross = summary.counts, summary.gross
    every = counts.mutants - counts.equivalent
    floor, other = (
        "" if least is None else f" (floor {records.score_percent(least)})"
        for least in (summary.floor, summary.independent_floor)
    )
    yield f"mutation score {records.score_percent(summary.score)}{floor}: {counts.killed} of {every} mutants killed"
    share_of = f"{records.score_percent(summary.independent)}{other}"
    yield f"killed by an independent source {share_of}: {counts.killed_independently} of {every}"
    yield f"×2 and more on corroborated peaks and bandwidths: {gross.killed} of {gross.mutants} killed"
    total = counts.mutants or 1
    share = {key: f"{number / total:.1%}".replace("%", " %") for key, number in counts}
    yield (
        f"of {counts.mutants} mutants {share['killable']} are killable, {share['within_digits']} within the printed "
        f"digits, {share['uncorroborated']} uncorroborated, {share['equivalent']} equivalent; "
        f"{share['unseen']} are not caught; {counts.refused} more mutations are refused by the schema"
    )


def _grid(heading: str, rows: Iterable[tuple[str | int, ...]]) -> Iterator[str]:
    names = [_NARROW.get(name, name) for name in _COLUMNS]
    yield f"{heading:<20}" + "".join(f"{name:>{len(name) + 2}}" for name in names)
    for title, *numbers in rows:
        cells = zip(names, numbers, strict=True)
        yield f"{title:<20}" + "".join(f"{number:>{len(name) + 2}}" for name, number in cells)


def _rows(summary: records.Mutation) -> Iterator[tuple[str | int, ...]]:
    for title, counts in (*((one.name, one) for one in summary.classes), ("all", summary.counts)):
        yield title, *(getattr(counts, key) for key in _COLUMNS.values())


def _kind_rows(summary: records.Mutation) -> Iterator[tuple[str | int, ...]]:
    for one in summary.kinds:
        yield one.name, *(getattr(one, key) for key in _COLUMNS.values())


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
        text,
        WIDTH,
        initial_indent=" " * 10,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_md(summary: records.Mutation, most: int | None = 10) -> str:
    """A heading with the score, the tables of kinds and operators, the survivors."""
    parts = [
        "## Mutation score",
        "\n".join(f"- {line}" for line in _sentences(summary)),
        as_markdown(Table(("kind of fact", *_COLUMNS), tuple(_kind_rows(summary)))),
        as_markdown(Table(("operator", *_COLUMNS), tuple(_rows(summary)))),
        unguarded.sentence(summary.guards),
    ]
    if summary.guards.kinds:
        parts.append(as_markdown(unguarded.as_table(summary.guards)))
    if survivors := summary.survivors[:most]:
        columns = ("survivor", "fact", "from", "to", "operator", "would be killed by")
        rows = (
            (f"{one.file}:{one.line}", one.path, one.display, one.mutated, one.class_, one.would_kill)
            for one in survivors
        )
        parts.append(as_markdown(Table(columns, tuple(rows))))
    return "\n\n".join(parts)
