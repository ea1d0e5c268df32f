"""Rows of a transformer while they are collected, and the amounts that they are counted with."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from rooflint.workloads.flow import Role, Share
from rooflint.workloads.ops import Op

AMOUNTS = ("batch", "new", "chosen", "hit", "times", "held", "mean")
"""What the counts of a row are made of, as `Pass` and `Seen` call it."""


class Seen(NamedTuple):
    """What the new tokens of a sequence see in a step, in the layers of one kind."""

    place: int
    """Among the amounts of a pass."""
    past: int
    times: int
    """How often the step runs."""
    held: int
    """Keys that some of the new tokens see."""
    mean: int
    """Keys that one of them sees on average, rounded up."""


class Pass(NamedTuple):
    """What goes through a network, in one step or several."""

    one: bool
    """Whether each sequence has one new token, which sees all that came before it."""
    batch: int
    new: int
    times: int
    """Steps: rows run once in each."""
    steps: tuple[Seen, ...]
    """In layers that see everything."""
    windows: tuple[Seen, ...] = ()
    """In layers that see a window."""
    chosen: int = 0
    """Tokens × experts of a token."""
    hit: int = 0
    """Experts that are read for them."""

    @property
    def tokens(self) -> int:
        """New tokens of all sequences in a step."""
        return self.batch * self.new

    @property
    def amounts(self) -> list[tuple[int, ...]]:
        """All numbers that rows are counted with: the largest ones, then those of the rows in each place."""
        around = (self.batch, self.new, self.chosen, self.hit)
        held, mean = max(one.held for one in self.steps), max(one.mean for one in self.steps)
        found: list[tuple[int, ...]] = [(*around, self.times, held, mean)]
        for seen in (*self.steps, *self.windows):
            if seen.place:
                found.append((*around, seen.times, seen.held, seen.mean))
        return found


WIDE_PRODUCTS = ("head", "router")
"""Products whose weights are in no part of a policy: checkpoints leave them in 16 bits."""


class Rows:
    """Rows while they are collected; amounts are given of one run."""

    def __init__(self, run: Pass) -> None:
        self.run = run
        self.ops: list[Op] = []
        self.reads: list[tuple[int, ...]] = []
        self.roles: list[Role] = []
        self.places: list[int] = []
        """Of each row, among the amounts of the pass."""

    def add(
        self,
        name: str,
        kind: str,
        reads: Sequence[int],
        elements: tuple[int, int, int],
        layers: int,
        *,
        other_ops: int = 0,
        shape: tuple[int, int, int, int] = (0, 0, 0, 0),
        seen: Seen | None = None,
        window: tuple[int, ...] = (),
        role: Role | None = None,
    ) -> int:
        """A row that each of some layers has, `elements` (in, weight, out); returns its position.

        It runs in each step, or in that whose keys are seen.
        """
        runs = layers * (seen.times if seen else self.run.times)
        read, weights, written = (runs * count for count in elements)
        macs = runs * math.prod(shape)
        if seen and len(self.run.steps) > 1:
            name = f"{name}@{seen.past}"
        self.ops.append(Op(name, kind, macs, runs * other_ops, read, weights, written, *shape, window, runs))
        self.reads.append(tuple(sorted(reads)))
        self.roles.append(role.times(runs) if role else Role())
        self.places.append(seen.place if seen else 0)
        return len(self.ops) - 1

    def linear(
        self, name: str, read: int, n: int, k: int, layers: int, *, bias: bool = False, rows: int | None = None
    ) -> int:
        """A product of each token with weights n × k."""
        m = self.run.tokens if rows is None else rows
        role = Role(Share("linear", n * k, n)) if name not in WIDE_PRODUCTS else None
        elements = (m * k, n * k + bias * n, m * n)
        return self.add(name, "linear", [read], elements, layers, shape=(m, n, k, 1), role=role)

    def each(
        self, name: str, kind: str, reads: Sequence[int], width: int, layers: int, ops: int, *, operands: int = 1
    ) -> int:
        """Arithmetic of so many ops an element on `width` elements of each token."""
        count = self.run.tokens * width
        return self.add(name, kind, reads, (operands * count, 0, count), layers, other_ops=ops * count)
