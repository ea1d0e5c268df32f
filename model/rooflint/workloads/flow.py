"""Data flow of a network, and fusion: which op reads the result of which, and which ops run in one kernel.

Rows are known by their position in the table. What a kernel hands on inside of itself never reaches memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, starmap
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rooflint.base.precision import Part
from rooflint.workloads.ops import FUSES, Op

INPUT = -1
"""Stands among the rows for the input of the network, which may consist of several tensors."""


class Misfit(NamedTuple):
    """A problem of a data flow, and its row if it concerns one."""

    message: str
    row: int | None = None


class Share(NamedTuple):
    """Weights that a policy of precisions can tell from others."""

    part: Part | None = None
    elements: int = 0
    """Without biases."""
    channels: int = 0
    """Output channels, each of which may have a scale."""


class Role(NamedTuple):
    """What of a row is such weights, and what is keys and values of the cache; amounts are of all repeats."""

    weights: Share = Share()
    cache_in: int = 0
    """Elements that are read from the cache."""
    cache_out: int = 0
    """Elements that are written to it."""

    def times(self, runs: int) -> "Role":
        """Of as many runs."""
        part, elements, channels = self.weights
        return Role(Share(part, runs * elements, runs * channels), runs * self.cache_in, runs * self.cache_out)


class RoleColumns(NamedTuple):
    """Roles of rows as columns of shape (ops,)."""

    part: NDArray[np.str_]
    elements: NDArray[np.int64]
    channels: NDArray[np.int64]
    cache_in: NDArray[np.int64]
    cache_out: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Role]) -> "RoleColumns":
        """Those of some rows."""
        # a row has more elements than its role, and one with so many is refused
        each = [[min(count, 2**62) for count in (*one.weights[1:], one.cache_in, one.cache_out)] for one in rows]
        parts = np.array([one.weights.part or "" for one in rows], dtype=np.str_)
        return cls(parts, *np.array(each, dtype=np.int64).reshape(-1, 4).T)


@dataclass(frozen=True)
class Roles:
    """Of each row, and of the constants of the whole network, each once."""

    columns: RoleColumns
    constant: tuple[Share, ...]

    @classmethod
    def of(cls, rows: Sequence[Role], constant: tuple[Share, ...]) -> "Roles":
        """Those of some rows."""
        return cls(RoleColumns.of(rows), constant)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Roles):
            return NotImplemented
        return self.constant == other.constant and all(map(np.array_equal, self.columns, other.columns))

    def __hash__(self) -> int:
        return hash((self.constant, *(column.tobytes() for column in self.columns[1:])))

    @cached_property
    def rows(self) -> tuple[Role, ...]:
        """The columns row by row."""
        return tuple(starmap(_role, zip(*(column.tolist() for column in self.columns), strict=True)))

    def scaled(self, samples: int, batch: int) -> "Roles":
        """The same for another number of samples, which share the weights."""
        read, written = self.columns.cache_in, self.columns.cache_out
        if not (read.any() or written.any()):
            return self
        columns = self.columns._replace(cache_in=read // batch * samples, cache_out=written // batch * samples)
        return Roles(columns, self.constant)

    def some(self, rows: Sequence[int]) -> "Roles":
        """Those of some rows."""
        at = [*rows]
        part, elements, channels, read, written = self.columns
        columns = RoleColumns(part[at], elements[at], channels[at], read[at], written[at])
        return Roles(columns, self.constant)

    @property
    def has_experts(self) -> bool:
        """Whether some of its weights are those of experts."""
        return any(one.part == "experts" for one in self.constant)


def _role(part: Part | Literal[""], elements: int, channels: int, cache_in: int, cache_out: int) -> Role:
    return Role(Share(part or None, elements, channels), cache_in, cache_out)


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
    where a row picks from it. None where it is not known."""
    elements_cache: int = 0
    """Elements of keys and values that are kept for all samples, new ones too."""
    roles: Roles | None = None
    """What is weights of the blocks and what is cache; None where it is not known, as of a capture."""

    @classmethod
    def chain(cls, length: int, elements_input: int, elements_constant: int | None = None) -> Self:
        """Each row reads the one above it, and the last is returned."""
        reads = tuple((row,) for row in range(INPUT, length - 1))
        return cls(reads, (length - 1,), elements_input, elements_constant)

    def scaled(self, samples: int, batch: int) -> Self:
        """The same for another number of samples."""
        return replace(
            self,
            elements_input=self.elements_input // batch * samples,
            elements_cache=self.elements_cache // batch * samples,
            roles=self.roles and self.roles.scaled(samples, batch),
        )

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
        """What is wrong with it as the data flow of a table with that many rows."""
        if len(self.reads) != rows:
            yield Misfit(f"want what each of {rows} ops reads, found {len(self.reads)}")
        for row, read in enumerate(self.reads):
            if not _ascends(read, row):
                yield Misfit("want to read results of ops above it, in their order, each once", row)
        if not _ascends(self.returns, rows):
            yield Misfit("want to return results of its ops, in their order, each once")
        if min(self.elements_input, self.elements_constant or 0, self.elements_cache) < 0:
            yield Misfit("want no negative number of elements in its input, its constants and its cache")


def _ascends(rows: tuple[int, ...], below: int) -> bool:
    """Whether rows stand in ascending order, from INPUT to the last one above `below`."""
    whole = (INPUT - 1, *rows, below)
    return all(first < second for first, second in pairwise(whole))


@dataclass(frozen=True)
class Fused:
    """The table of kernels, in the order of their last ops."""

    rows: tuple[Op, ...]
    flow: Flow
    heads: tuple[int, ...]
    """The row with which each kernel starts, in the table that was fused."""


def fused(rows: Sequence[Op], flow: Flow) -> Fused:
    """The kernels of a table: its ops as they are, its elements without those that never leave a kernel."""
    kernels = _Kernels(rows, flow)
    while sum(kernels.join(place) for place in range(len(rows))):  # any() would stop at the first that joins
        pass
    return kernels.table(flow)


class _Kernels:
    """Kernels while they grow. A kernel is known by the place of its last op, whose result is the only one it has."""

    def __init__(self, rows: Sequence[Op], flow: Flow) -> None:
        self.rows = dict(enumerate(rows))
        self.heads = {place: place for place in self.rows}
        self.reads = {place: set(read) for place, read in enumerate(flow.reads)}
        self.readers = dict(enumerate(flow.readers()))
        self.kept = set(flow.returns)
        self.streams = {place: self._stream(place, flow.elements_input) for place in self.rows}

    def _stream(self, place: int, elements_input: int) -> set[int]:
        """Results that an element-wise op reads element by element; a kernel reads each of them once.

        Empty where the op reads fewer elements than its operands have: it reads a slice of an unknown one.
        """
        row = self.rows[place]
        sizes = {at: elements_input if at == INPUT else self.rows[at].elements_out for at in self.reads[place]}
        if row.kind not in FUSES or row.elements_in < sum(sizes.values()):
            return set()
        return {at for at, size in sizes.items() if size == row.elements_out}

    def join(self, place: int) -> bool:
        """Let the kernel at that place join the one whose result it reads last, where it can."""
        last = max(self.reads.get(place, ()), default=INPUT)
        if last == INPUT or not self._fits(place, last):
            return False
        ahead, row = self.rows.pop(last), self.rows[place]
        streams, mine = self.streams.pop(last), self.streams[place]
        if last not in mine:  # it reads a slice of some, so what it shares is not known
            mine = set()
        self.rows[place] = _joined(ahead, row, saved=len(streams & mine) * row.elements_out)
        self.streams[place] = (streams | mine) - {last}
        self.heads[place] = self.heads.pop(last)
        for source in self.reads[last] - {INPUT}:
            self.readers[source] = self.readers[source] - {last} | {place}
        self.reads[place] = (self.reads.pop(last) | self.reads[place]) - {last}
        return True

    def _fits(self, place: int, last: int) -> bool:
        row, ahead = self.rows[place], self.rows[last]
        return (
            row.kind in FUSES
            and last not in self.kept
            and self.readers[last] == {place}
            and row.repeats == ahead.repeats
            and row.elements_out == ahead.elements_out <= row.elements_in  # fewer in: it reads a slice, stretched
        )

    def table(self, flow: Flow) -> Fused:
        places = sorted(self.rows)
        now = {place: row for row, place in enumerate(places)} | {INPUT: INPUT}
        reads = tuple(tuple(sorted(now[at] for at in self.reads[place])) for place in places)
        returns = tuple(now[place] for place in flow.returns)
        rows = tuple(self.rows[place] for place in places)
        heads = tuple(self.heads[place] for place in places)
        # what joins a kernel has no such weights and leaves the cache alone
        roles = flow.roles and flow.roles.some(heads)
        return Fused(rows, replace(flow, reads=reads, returns=returns, roles=roles), heads)


def _joined(ahead: Op, row: Op, saved: int) -> Op:
    """The kernel of one and then the other: the shape of the first, `ahead`'s result neither written nor read."""
    _, plus, rest = row.name.partition(" + ")
    return ahead._replace(
        name=f"{ahead.name} + {row.kind}{plus}{rest}",
        other_ops=ahead.other_ops + row.other_ops,
        elements_in=ahead.elements_in + row.elements_in - ahead.elements_out - saved,
        elements_weight=ahead.elements_weight + row.elements_weight,
        elements_out=row.elements_out,
    )
