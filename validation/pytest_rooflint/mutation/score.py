"""The mutation score: which mutants are caught, counted by operator, by file and by fact."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pytest_rooflint.mutation.baseline import Baseline
from pytest_rooflint.mutation.operators import OPERATORS
from pytest_rooflint.mutation.outcome import Group, Mutant, Outcome, Subject
from rooflint.base.errors import shown
from rooflint.base.facts import Fact
from rooflint_report import differences


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


@dataclass(frozen=True)
class Tally:
    """Mutants by outcome."""

    mutants: int = 0
    killable: int = 0
    killed: int = 0
    """Killable ones that are killed."""
    within_digits: int = 0
    uncorroborated: int = 0
    equivalent: int = 0
    killed_besides: int = 0
    """Killed although no independently sourced figure can tell: by uncorroborated claims, orders and bounds."""
    unseen: int = 0
    """Those that change a figure without a failing claim; survivors are among them."""

    @property
    def survived(self) -> int:
        """Killable ones that no claim catches."""
        return self.killable - self.killed

    @property
    def score(self) -> float | None:
        """Killed over killable; None where nothing is killable. [1]"""
        return self.killed / self.killable if self.killable else None


@dataclass(frozen=True)
class Result:
    """Every mutant of a run."""

    rows: tuple[Row, ...]
    refused: Mapping[str, int]
    """Mutations that the schema refuses, by operator."""
    backed: frozenset[Fact]
    """Facts that corroborated peaks and bandwidths rest on."""

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        outcomes: Mapping[int, Sequence[Outcome]],
        backed: frozenset[Fact],
        only_class: str | None = None,
    ) -> "Result":
        """The mutants of some groups by position, or those of one class."""
        refused = Counter(name for position in outcomes for name in groups[position].refused)
        rows = tuple(row for position, found in outcomes.items() for row in _rows(groups[position], found))
        if only_class is None:
            return cls(rows, refused, backed)
        chosen = tuple(row for row in rows if row.mutant.mutation.operator == only_class)
        return cls(chosen, {name: count for name, count in refused.items() if name == only_class}, backed)

    @cached_property
    def tally(self) -> Tally:
        """All of them."""
        return tally(self.rows)

    @cached_property
    def gross(self) -> tuple[Row, ...]:
        """Those of a factor of two and more on facts that corroborated peaks and bandwidths rest on."""
        return tuple(row for row in self.rows if row.mutant.is_gross and row.mutant.fact in self.backed)

    @property
    def gross_survivors(self) -> list[Row]:
        """Those of them that no claim catches; there should be none."""
        return [row for row in self.gross if row.outcome.killed_by is None]

    @property
    def survivors(self) -> list[Row]:
        """Killable mutants that no claim catches, farthest off first."""
        return sorted((row for row in self.rows if row.survived), key=_farthest)

    def by(self, key: Callable[[Row], str]) -> dict[str, Tally]:
        """Tallies of parts, by what tells the parts apart."""
        parts: dict[str, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(key(row), []).append(row)
        return {name: tally(rows) for name, rows in parts.items()}

    def by_fact(self) -> Iterator[tuple[Subject, Fact, Sequence[Row]]]:
        """The mutants of each fact, in the order of the files."""
        parts: dict[Fact, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(row.mutant.fact, []).append(row)
        yield from ((rows[0].subject, fact, rows) for fact, rows in parts.items())


def _rows(group: Group, outcomes: Sequence[Outcome]) -> Iterator[Row]:
    for mutant, outcome in zip(group.mutants, outcomes, strict=True):
        yield Row(group.subject, mutant, outcome)


def tally(rows: Iterable[Row]) -> Tally:
    """Count them."""
    rows = list(rows)
    categories = Counter(row.outcome.category for row in rows)
    killed = Counter(row.outcome.category for row in rows if row.outcome.killed_by is not None)
    return Tally(
        mutants=len(rows),
        killable=categories["killable"],
        killed=killed["killable"],
        within_digits=categories["within-digits"],
        uncorroborated=categories["uncorroborated"],
        equivalent=categories["equivalent"],
        killed_besides=killed.total() - killed["killable"],
        unseen=sum(row.unseen for row in rows),
    )


def _farthest(row: Row) -> tuple[float, str, int, str]:
    ratio = row.mutant.ratio
    fact = row.mutant.fact
    return -max(ratio, 1 / ratio), str(fact.file), fact.line, fact.path


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
    claim = _claim(subject, fact)
    if claim is None:
        return "no existing kind of claim; an order of clocks bounds it"
    mode = subject.mode(fact)
    whose = f" at {mode} of {subject.id}" if mode else f" of {subject.id}"
    if subject.is_architecture and not claim.startswith(("ratio", "sparsity")):
        whose = f" of a device with {subject.id}"
    return f"{claim}{whose}, from a document other than '{fact.source.document}'"


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
        return f"full_die: {rest[0] if rest else next(iter(_counted(subject)), 'SM')}"
    return f"a peak, count or capacity per {rest[0]}" if section == "parts" else None


def _counted(subject: Subject) -> list[str]:
    """Groups that a full die is known to have."""
    return [path.removeprefix("full_die.") for path in subject.hardware.facts if path.startswith("full_die.")]


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


def summary(result: Result, baseline: Baseline, floor: float | None = None) -> differences.Mutation:
    """The score with all counts. `floor` and `score` are shares, 1 is all."""
    return differences.Mutation(
        score=result.tally.score,
        floor=floor,
        holds=holds(result, floor),
        definitions=DEFINITIONS,
        counts=differences.AllMutants(refused=sum(result.refused.values()), **_counts(result.tally)),
        gross=differences.Gross(mutants=len(result.gross), killed=len(result.gross) - len(result.gross_survivors)),
        classes=list(_classes(result)),
        subjects=list(_subjects(result)),
        facts=[_fact(subject, fact, rows) for subject, fact, rows in result.by_fact()],
        survivors=[_survivor(row, baseline) for row in _listed(result)],
    )


def holds(result: Result, floor: float | None) -> bool | None:
    """Whether the score is on its floor and no gross mutant survives; None without a floor."""
    if floor is None:
        return None
    score = result.tally.score
    return score is not None and score >= floor and not result.gross_survivors


def _listed(result: Result) -> list[Row]:
    """Survivors, before them the gross ones that are not even killable."""
    return [*(row for row in result.gross_survivors if not row.survived), *result.survivors]


def _counts(tally: Tally) -> dict[str, int]:
    return {**asdict(tally), "survived": tally.survived}


def _classes(result: Result) -> Iterator[differences.MutantClass]:
    found = result.by(lambda row: row.mutant.mutation.operator)
    for name, says in OPERATORS.items():
        if name in found or result.refused.get(name):
            counts = _counts(found.get(name, Tally()))
            yield differences.MutantClass(name=name, says=says, refused=result.refused.get(name, 0), **counts)


def _subjects(result: Result) -> Iterator[differences.MutatedSubject]:
    """Devices and architectures, those first in which most goes unseen."""
    found = result.by(lambda row: shown(row.subject.hardware.file))
    ids = {shown(row.subject.hardware.file): row.subject for row in result.rows}
    for file, counted in sorted(found.items(), key=lambda item: (-item[1].unseen / item[1].mutants, item[0])):
        subject = ids[file]
        yield differences.MutatedSubject(
            id=subject.id, architecture=subject.is_architecture, file=file, score=counted.score, **_counts(counted)
        )


def _fact(subject: Subject, fact: Fact, rows: Sequence[Row]) -> differences.MutatedFact:
    unseen = [row for row in rows if row.unseen]
    return differences.MutatedFact(
        unseen_classes=list(dict.fromkeys(row.mutant.mutation.operator for row in unseen)),
        would_kill=missing_claim_about(subject, fact) if unseen else None,
        **{**_place(subject, fact), **_counts(tally(rows))},
    )


def _place(subject: Subject, fact: Fact) -> dict[str, Any]:
    return {
        "subject": subject.id,
        "at": subject.mode(fact),
        "path": fact.path,
        "file": shown(fact.file),
        "line": fact.line,
        "display": fact.display,
    }


def _survivor(row: Row, baseline: Baseline) -> differences.Survivor:
    mutation = row.mutant.mutation
    return differences.Survivor(
        class_=mutation.operator,
        text=mutation.text,
        mutated=mutation.fact.display,
        ratio=row.mutant.ratio,
        would_kill=missing_claim(row, baseline),
        **_place(row.subject, row.mutant.fact),
    )
