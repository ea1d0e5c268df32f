"""The score: who could have been noticed, who was, and counts of it by class of slip, by file, by fact."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_rooflint.mutation.fate import Fate
from pytest_rooflint.mutation.mutants import Group, Mutant, Subject
from rooflint.facts import Fact


@dataclass(frozen=True)
class Row:
    """A mutant and what became of it."""

    subject: Subject
    mutant: Mutant
    fate: Fate

    @property
    def survived(self) -> bool:
        """Whether a claim could have noticed, and none did."""
        return self.fate.standing == "killable" and self.fate.killed_by is None

    @property
    def unseen(self) -> bool:
        """Whether it moves something and no claim notices."""
        return self.fate.standing != "equivalent" and self.fate.killed_by is None


@dataclass(frozen=True)
class Tally:
    """Mutants by what became of them."""

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
    """Those that move a figure and that no claim notices, survivors among them."""

    @property
    def survived(self) -> int:
        """Killable ones that no claim notices."""
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
    """Slips by class that the schema refuses at the door."""
    backed: frozenset[Fact]
    """Facts that corroborated peaks and bandwidths rest on."""

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        fates: Mapping[int, Sequence[Fate]],
        backed: frozenset[Fact],
        only_class: str | None = None,
    ) -> "Result":
        """The mutants of some groups by position, or those of one class."""
        refused = Counter(name for position in fates for name in groups[position].refused)
        rows = tuple(row for position, found in fates.items() for row in _rows(groups[position], found))
        if only_class is None:
            return cls(rows, refused, backed)
        chosen = tuple(row for row in rows if row.mutant.slip.name == only_class)
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
        """Those of them that nobody noticed; there should be none."""
        return [row for row in self.gross if row.fate.killed_by is None]

    @property
    def survivors(self) -> list[Row]:
        """Killable mutants that nobody noticed, farthest off first."""
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


def _rows(group: Group, fates: Sequence[Fate]) -> Iterator[Row]:
    for mutant, fate in zip(group.mutants, fates, strict=True):
        yield Row(group.subject, mutant, fate)


def tally(rows: Iterable[Row]) -> Tally:
    """Count them."""
    rows = list(rows)
    standing = Counter(row.fate.standing for row in rows)
    killed = Counter(row.fate.standing for row in rows if row.fate.killed_by is not None)
    return Tally(
        mutants=len(rows),
        killable=standing["killable"],
        killed=killed["killable"],
        within_digits=standing["within-digits"],
        uncorroborated=standing["uncorroborated"],
        equivalent=standing["equivalent"],
        killed_besides=killed.total() - killed["killable"],
        unseen=sum(row.unseen for row in rows),
    )


def _farthest(row: Row) -> tuple[float, str, int, str]:
    ratio = row.mutant.ratio
    fact = row.mutant.fact
    return -max(ratio, 1 / ratio), str(fact.file), fact.line, fact.path
