"""Flow: which op reads the result of which. Rows are known by their position in the table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

INPUT = -1
"""Stands among the rows for the input of the network, which may consist of several tensors."""


class Misfit(NamedTuple):
    """What a table cannot have, and at which row, where there is one."""

    wish: str
    row: int | None = None


@dataclass(frozen=True)
class Flow:
    """The data flow of a table. Views, reshapes and other free ops are looked through; a write in place is a result."""

    reads: tuple[tuple[int, ...], ...]
    """For each row the rows whose results it reads, or INPUT, in ascending order. Constants are not among them."""
    returns: tuple[int, ...]
    """Rows whose results the network returns, in ascending order; INPUT where it returns what it was given."""
    elements_input: int
    """Elements of the input, for the whole batch."""
    elements_constant: int | None = None
    """Elements of all constants that the rows read, weights above all: each once, however many rows read it, and whole,
    where a row picks from it. None where nobody knows."""

    @classmethod
    def chain(cls, length: int, elements_input: int, elements_constant: int | None = None) -> Self:
        """Each row reads the one above it, and the last is returned."""
        reads = tuple((row,) for row in range(INPUT, length - 1))
        return cls(reads, (length - 1,), elements_input, elements_constant)

    def scaled(self, samples: int, batch: int) -> Self:
        """The same for another number of samples."""
        return replace(self, elements_input=self.elements_input // batch * samples)

    def readers(self) -> list[set[int]]:
        """For each row the rows that read its result."""
        found: list[set[int]] = [set() for _ in self.reads]
        for row, read in enumerate(self.reads):
            for source in read:
                if source != INPUT:
                    found[source].add(row)
        return found

    @cached_property
    def until(self) -> tuple[int, ...]:
        """For each row the last one that needs its result: what the network returns is needed to its end."""
        found = list(range(len(self.reads)))
        for row, read in enumerate(self.reads):
            for source in read:
                if source != INPUT:
                    found[source] = row
        for row in self.returns:
            if row != INPUT:
                found[row] = len(self.reads) - 1
        return tuple(found)

    @cached_property
    def input_until(self) -> int:
        """The last row that needs the input; INPUT where none does."""
        if INPUT in self.returns:
            return len(self.reads) - 1
        return max((row for row, read in enumerate(self.reads) if INPUT in read), default=INPUT)

    def misfits(self, rows: int) -> Iterator[Misfit]:
        """What of it no table with that many rows can have."""
        if len(self.reads) != rows:
            yield Misfit(f"want what each of {rows} ops reads, found {len(self.reads)}")
        for row, read in enumerate(self.reads):
            if not _ascends(read, row):
                yield Misfit("want to read results of ops above it, in their order, each once", row)
        if not _ascends(self.returns, rows):
            yield Misfit("want to return results of its ops, in their order, each once")
        if min(self.elements_input, self.elements_constant or 0) < 0:
            yield Misfit("want no negative number of elements in its input and its constants")


def _ascends(rows: tuple[int, ...], below: int) -> bool:
    """Whether rows stand in ascending order, from INPUT to the last one above `below`."""
    whole = (INPUT - 1, *rows, below)
    return all(first < second for first, second in pairwise(whole))
