"""The mutation score: which mutants are caught, counted by operator, file and fact, as a record, text and Markdown."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pytest_rooflint.mutation import unguarded
from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Group, Mutant, Outcome, Subject, kind_of
from pytest_rooflint.mutation.unguarded import Name
from rooflint.base.errors import shown
from rooflint.base.facts import Fact, Place
from rooflint.hardware.device import Joined
from rooflint_report import differences as records
from rooflint_report.verdicts import Record

T = TypeVar("T")
K = TypeVar("K")
C = TypeVar("C", bound=Record)


@dataclass(frozen=True)
class Row:
    """A mutant and its outcome."""

    subject: Subject
    mutant: Mutant
    outcome: Outcome
    independent: bool = False
    """Whether a claim with a source of its own fails."""
    recalled: bool = False
    """Whether no such claim fails but those that quote from memory."""

    @property
    def survived(self) -> bool:
        """Whether a claim could have caught it, and none did."""
        return self.outcome.category == "killable" and self.outcome.killed_by is None

    @property
    def unseen(self) -> bool:
        """Whether it changes a figure and no claim fails."""
        return self.outcome.category != "equivalent" and self.outcome.killed_by is None


@dataclass(frozen=True)
class Result:
    """Every mutant of a file."""

    rows: tuple[Row, ...]
    refused: Mapping[str, int]
    """Mutations that the schema refuses, by operator."""
    backed: frozenset[Place]
    """Lines of the facts that corroborated peaks and bandwidths rest on."""

    @classmethod
    def of(
        cls, group: Group, outcomes: Iterable[Outcome], baseline: Baseline, only_class: str | None = None
    ) -> "Result":
        """The mutants of a group, or those of one class."""
        refused = Counter(name for name in group.refused if only_class in (None, name))
        rows = tuple(
            Row(
                group.subject,
                mutant,
                outcome,
                outcome.killed_by in baseline.independent,
                outcome.killed_by in baseline.recalled,
            )
            for mutant, outcome in zip(group.mutants, outcomes, strict=True)
            if only_class in (None, mutant.mutation.operator)
        )
        return cls(rows, refused, baseline.backed)

    @cached_property
    def gross(self) -> tuple[Row, ...]:
        """Mutants of a factor of two or more on facts that corroborated peaks and bandwidths rest on."""
        return tuple(row for row in self.rows if row.mutant.is_gross and row.mutant.fact.place in self.backed)

    @property
    def survivors(self) -> list[Row]:
        """Mutants that no claim catches and one should: killable ones, and gross ones on backed facts."""
        gross = {id(row) for row in self.gross}
        return [row for row in self.rows if row.survived or (id(row) in gross and row.outcome.killed_by is None)]


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
        killed_by_recalled=sum(row.recalled for row in rows),
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
        return f"{missing_claim_about(row.subject, row.mutant.fact)}{_digits([row])}"
    claim, stated = witness.claim, witness.claim.expectation.tolerance_text
    return (
        f"{claim.kind}: {claim.subject} at {shown(claim.file)}:{claim.line}, "
        f"if it allowed the {witness.printed.tolerance_text} of its printed digits and not {stated}"
    )


def _digits(rows: Sequence[Row]) -> str:
    """What the claim needs where there are such claims, and their digits leave room for all these mutants."""
    within = all(row.outcome.category == "within-digits" for row in rows)
    return ", with more digits than those of the claims that are there" if within else ""


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
    if subject.hardware.joined:
        return _of_system(subject.hardware.joined, section, rest)
    if section in ("full_die", "dies"):
        counted = (path.removeprefix("full_die.") for path in subject.hardware.facts if path.startswith("full_die."))
        return f"full_die: {rest[0] if rest else next(counted, 'SM')}"
    name = rest[0] if rest else "rated"
    return {
        "memories": f"{'capacity' if rest[1:] == ['capacity'] else 'bandwidth'}: {name}",
        "caches": f"capacity: {name}",
        "links": f"link: {name}",
        "clocks": f"clock: {name}",
        "process": "process: node",
        "tdp": f"tdp: {name}",
        "powers": f"tdp: {name}",
        "parts": f"a peak, count or capacity per {name}",
    }.get(section)


def _of_system(joined: Joined, section: str, rest: Sequence[str]) -> str:
    if section == "nics":
        return f"link: {rest[0]}"
    return (
        f"link: {joined.link} {'switch' if rest == ['ports'] else 'switches' if section == 'switches' else ''}".rstrip()
    )


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


class FileScore(Record):
    """The score of one spec file, without reasons."""

    subject: records.MutatedSubject | None
    """None without mutants."""
    gross: records.Gross
    equivalents: dict[str, int]
    classes: list[records.MutantClass]
    facts: list[records.MutatedFact]
    survivors: list[records.Survivor]


def score_of(result: Result, baseline: Baseline) -> FileScore:
    """The score of the mutants of one file."""
    killed = sum(row.outcome.killed_by is not None for row in result.gross)
    same = (_why_equivalent(row) for row in result.rows if row.outcome.category == "equivalent")
    return FileScore(
        subject=_subject(result.rows) if result.rows else None,
        gross=records.Gross(mutants=len(result.gross), killed=killed),
        equivalents=dict(Counter(same)),
        classes=list(_classes(result)),
        facts=[_fact(rows) for rows in _grouped(result.rows, lambda row: row.mutant.fact.place).values()],
        survivors=[_survivor(row, baseline) for row in result.survivors],
    )


def total(
    files: Sequence[FileScore],
    floor: float | None = None,
    independent_floor: float | None = None,
    ceiling: int | None = None,
    reasons: Mapping[Name, str] | None = None,
) -> records.Mutation:
    """The score of all files. Scores and floors are shares, 1 is all; the ceiling is one of unguarded figures."""
    facts = [_with_reason(fact, reasons or {}) for file in files for fact in file.facts]
    classes = _all_classes([one for file in files for one in file.classes])
    subjects = [file.subject for file in files if file.subject]
    counts = _sum(records.MutantCounts, subjects)
    gross = _sum(records.Gross, [file.gross for file in files])
    guards = unguarded.guards(facts, ceiling)
    killed, independently = score(counts), independent(counts)
    held = holds(((killed, floor), (independently, independent_floor)), gross)
    return records.Mutation(
        score=killed,
        independent=independently,
        floor=floor,
        independent_floor=independent_floor,
        holds=False if unguarded.too_many(guards) else held,
        definitions=DEFINITIONS,
        counts=records.AllMutants(refused=sum(one.refused for one in classes), **dict(counts)),
        gross=gross,
        equivalents=dict(sum((Counter(file.equivalents) for file in files), Counter[str]())),
        kinds=_kinds(facts),
        classes=classes,
        subjects=sorted(subjects, key=lambda one: (-one.unseen / one.mutants, one.file)),
        guards=guards,
        facts=facts,
        survivors=sorted((one for file in files for one in file.survivors), key=_farthest_first),
    )


def holds(shares: Iterable[tuple[float | None, float | None]], gross: records.Gross) -> bool | None:
    """Whether each share is on its floor and no gross mutant survives; None without a floor."""
    asked = [(found, least) for found, least in shares if least is not None]
    if not asked:
        return None
    return all(found is not None and found >= least for found, least in asked) and gross.killed == gross.mutants


def _sum(kind: type[C], parts: Sequence[Record], **names: str) -> C:
    """The sum of the counts of a kind, field by field."""
    fields = kind.model_fields.keys() - names
    return kind(**names, **{name: sum(getattr(part, name) for part in parts) for name in fields})


def _kinds(facts: Sequence[records.MutatedFact]) -> list[records.MutatedKind]:
    """Kinds of facts, those first of which the smallest share is killed by an independent source."""
    found = []
    for name, some in _grouped(facts, lambda one: one.kind).items():
        counts = _sum(records.MutantCounts, some)
        found.append(
            records.MutatedKind(name=name, score=score(counts), independent=independent(counts), **dict(counts))
        )
    return sorted(found, key=lambda one: (one.independent or 0, one.name))


def _classes(result: Result) -> Iterator[records.MutantClass]:
    """Operators with a mutant or a refusal."""
    found = _grouped(result.rows, lambda row: row.mutant.mutation.operator)
    for name, says in OPERATORS.items():
        rows, refused = found.get(name, []), result.refused.get(name, 0)
        if rows or refused:
            yield records.MutantClass(name=name, says=says, refused=refused, **dict(tally(rows)))


def _all_classes(found: Sequence[records.MutantClass]) -> list[records.MutantClass]:
    """Operators of all files, in the order in which they are defined."""
    parts = _grouped(found, lambda one: one.name)
    return [
        _sum(records.MutantClass, parts[name], name=name, says=says)
        for name, says in OPERATORS.items()
        if name in parts
    ]


def _grouped(found: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Parts, in their order, by what tells them apart."""
    parts: dict[K, list[T]] = {}
    for one in found:
        parts.setdefault(key(one), []).append(one)
    return parts


def _subject(rows: Sequence[Row]) -> records.MutatedSubject:
    subject, counts = rows[0].subject, tally(rows)
    return records.MutatedSubject(
        id=subject.id,
        architecture=subject.is_architecture,
        file=shown(subject.hardware.file),
        score=score(counts),
        independent=independent(counts),
        **dict(counts),
    )


def _with_reason(fact: records.MutatedFact, reasons: Mapping[Name, str]) -> records.MutatedFact:
    reason = reasons.get(unguarded.name_of(fact))
    return fact.model_copy(update={"reason": reason}) if reason else fact


def _farthest_first(one: records.Survivor) -> tuple[float, str, int, str]:
    return -max(one.ratio, 1 / one.ratio) if one.ratio else -math.inf, one.file, one.line, one.path


def _fact(rows: Sequence[Row]) -> records.MutatedFact:
    unseen, subject, fact = [row for row in rows if row.unseen], rows[0].subject, rows[0].mutant.fact
    return records.MutatedFact(
        unseen_classes=list(dict.fromkeys(row.mutant.mutation.operator for row in unseen)),
        would_kill=f"{missing_claim_about(subject, fact)}{_digits(unseen)}" if unseen else None,
        kind=kind_of(subject, fact),
        reason=None,
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
