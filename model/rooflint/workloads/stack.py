"""Stacks: the rows of several tables under one another, so that what is worked out for each op is worked out at once.

tables = stacked([resnet18, resnet18.at_batch(8)])
tables.sums(estimate(h100, tables.work, compute="fp16").kernel_s)       # latencies, shape (tables,)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.memo import memoised
from rooflint.workloads.footprint import Footprint, footprint
from rooflint.workloads.ops import QUANTITIES
from rooflint.workloads.workload import Workload, WorkloadError, read_only

Numbers = Any
"""A scalar or an array of them."""

Sums = Callable[..., Numbers]
"""What adds up a quantity of ops along the last axis: `whole` over all of them, `Stack.sums` over those of each table.

Its second argument says which ops count, all of them if None.
"""

MOST_OPS = 2**14
"""Ops of a stack that are worked on together, so that columns stay in a core's cache."""


SUMS_KEPT = 32
"""Sums of a stack that are kept."""


def whole(values: NDArray[Any], which: NDArray[np.bool_] | None = None) -> Numbers:
    """The sum over all ops, of a table that stands alone."""
    return (values if which is None else values[which]).sum()


@dataclass(frozen=True, eq=False)
class Stack:
    """Tables and all their rows."""

    tables: tuple[Workload, ...]
    work: Workload
    """The rows of all tables; it has no data flow, and no other batch."""

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each table. Shape (tables,)"""
        lengths = [len(table) for table in self.tables]
        return np.cumsum([0, *lengths[:-1]])

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Of each row, where every table begins with one place more. Shape (ops,)"""
        lengths = [len(table) for table in self.tables]
        return np.arange(len(self.work)) + np.repeat(np.arange(1, len(lengths) + 1), lengths)

    def sums(self, values: NDArray[Any], which: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """The sum over the ops of each table: of a column to the bit what `whole` gives for the table alone.

        Shape (…, ops) becomes (…, tables).
        """
        return self._kept_sums(values) if which is None and not values.flags.writeable else self._sums(values, which)

    @cached_property
    def _known_sums(self) -> dict[int, tuple[NDArray[Any], NDArray[np.float64]]]:
        """Read-only arrays and their sums, by the id of the array, which the entry keeps alive."""
        return {}

    def _kept_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The sums of a read-only array, which are kept: the next device asks for the same ones."""
        kept = self._known_sums.pop(id(values), None)
        if kept is None:
            kept = values, self._sums(values, None)
            while len(self._known_sums) >= SUMS_KEPT:
                self._known_sums.pop(next(iter(self._known_sums)))
        self._known_sums[id(values)] = kept
        return kept[1]

    def _sums(self, values: NDArray[Any], which: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        if values.ndim > 1:
            some = values if which is None else np.where(which, values, 0.0)
            return np.asarray(np.add.reduceat(some, self.starts, axis=-1))
        heads = self.starts + np.arange(len(self.starts))
        # a sum begins with zero, reduceat with the first value of each table
        after_zeros = np.zeros(len(values) + len(heads))
        after_zeros[self._places] = values
        if which is not None:
            kept = np.ones(len(after_zeros), dtype=np.bool_)
            kept[self._places] = which
            after_zeros, heads = after_zeros[kept], np.add.reduceat(kept, heads, dtype=np.intp).cumsum()
            heads = np.concatenate([[0], heads[:-1]])
        return np.asarray(np.add.reduceat(after_zeros, heads))

    @cached_property
    def _footprints(self) -> tuple[Footprint | WorkloadError, ...]:
        return tuple(map(_footprint, self.tables))

    @cached_property
    def without_footprint(self) -> tuple[str, ...]:
        """Why the footprint of a table is not known, for each table; empty where it is."""
        return tuple(str(one) if isinstance(one, WorkloadError) else "" for one in self._footprints)

    @memoised
    def peak_bytes(self, storage: str) -> NDArray[np.float64]:
        """Weights of each table and the most that lives beside them; NaN where not known. [B], shape (tables,)"""
        known = (None if isinstance(one, WorkloadError) else one for one in self._footprints)
        return np.array([one.peak_bytes(storage) if one else np.nan for one in known])


def _footprint(table: Workload) -> Footprint | WorkloadError:
    try:
        return footprint(table)
    except WorkloadError as error:
        return error


def stacked(tables: Sequence[Workload]) -> Stack:
    """One stack of some tables, at least one."""
    first, names = tables[0], ("op_names", "kinds", *QUANTITIES)
    columns = {name: read_only(np.concatenate([getattr(table, name) for table in tables])) for name in names}
    work = first.unchecked(
        **columns,
        name=f"{len(tables)} tables",
        windows=tuple(window for table in tables for window in table.windows),
        fixed_batch="it is a stack of tables",
        flow=None,
        stacks_rows=tuple(rows for table in tables for rows in table.gets_rows.tolist()),
        tables=tuple(tables),
    )
    return Stack(tuple(tables), work)


def stacks(tables: Sequence[Workload], most_ops: int = MOST_OPS) -> Iterator[Stack]:
    """Tables in their order in stacks of so many ops at the most; a larger table stands alone."""
    some: list[Workload] = []
    for table in tables:
        if some and sum(map(len, some)) + len(table) > most_ops:
            yield stacked(some)
            some = []
        some.append(table)
    if some:
        yield stacked(some)
