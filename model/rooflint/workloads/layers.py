"""Layers: rows of a network and its parameters, written down together, for architectures that are no decoder.

    layers = Layers()
    last = layers.linear("head", INPUT, rows=8, n=1000, k=512, bias=True)       # returns the place of the row

An architecture is a dataclass of facts; `rooflint.workloads.networks` reads its fields from a file. What it is made of
is written once: the parameters are those that its rows read.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from rooflint.workloads.flow import INPUT, Flow, Role, Roles, Share
from rooflint.workloads.ops import NORM_OPS, SOFTMAX_OPS, Op, Tokens, Window
from rooflint.workloads.workload import Workload, WorkloadError

NORM_WEIGHTS = {"rms_norm": 1, "layer_norm": 2, "group_norm": 2}
"""An element of the width: scale, and shift."""


class Layers:
    """Rows while they are collected; amounts are given of one layer."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.reads: list[tuple[int, ...]] = []
        self.roles: list[Role] = []
        self.parameters = 0
        """Of all layers so far, each once however many rows read it."""
        self.prefix = ""
        """Stands before the name of each row."""

    def add(
        self,
        name: str,
        kind: str,
        reads: Sequence[int],
        elements: tuple[int, int, int],
        layers: int = 1,
        *,
        other_ops: int = 0,
        shape: tuple[int, int, int, int] = (0, 0, 0, 0),
        window: tuple[int, ...] = (),
        parameters: int | None = None,
        role: Role | None = None,
    ) -> int:
        """A row that each of some layers has, `elements` (in, weight, out); returns its place.

        Its parameters are the weights that it reads, unless told otherwise.
        """
        read, weights, written = (layers * count for count in elements)
        macs = layers * math.prod(shape)
        row = Op(f"{self.prefix}{name}", kind, macs, layers * other_ops, read, weights, written, *shape, window, layers)
        self.ops.append(row)
        self.reads.append(tuple(sorted(set(reads))))
        self.roles.append(role.times(layers) if role else Role())
        self.parameters += weights if parameters is None else layers * parameters
        return len(self.ops) - 1

    def take(self, table: Workload, also: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
        """All rows of another table with the prefix, some of which also read a row from here; places by old name.

        Raises WorkloadError for a table whose data flow is not known.
        """
        flow = table.flow
        if flow is None or flow.elements_constant is None:
            raise WorkloadError(f"{table.name}: is no part of a network, because its data flow is not known")
        start = len(self.ops)
        for row, reads in zip(table.rows(), flow.reads, strict=True):
            more = [also[row.name]] if row.name in also else []
            self.reads.append(tuple(sorted({*(one if one == INPUT else one + start for one in reads), *more})))
            self.ops.append(row._replace(name=f"{self.prefix}{row.name}"))
        self.roles += flow.roles.rows if flow.roles else [Role()] * len(table)
        self.parameters += flow.elements_constant
        return {name: start + place for place, name in enumerate(table.op_names.tolist())}

    def linear(self, name: str, read: int, *, rows: int, n: int, k: int, layers: int = 1, bias: int = 0) -> int:
        """A product of each row with weights n × k and so many biases."""
        role = Role(Share("linear", n * k, n))
        return self.add(
            name, "linear", [read], (rows * k, n * k + bias, rows * n), layers, shape=(rows, n, k, 1), role=role
        )

    def head(self, read: int, *, rows: int, n: int, k: int, tied: bool = False) -> int:
        """Logits, by weights that policies of precisions leave as they are, and which may be those of the embedding."""
        elements = (rows * k, n * k, rows * n)
        return self.add("head", "linear", [read], elements, shape=(rows, n, k, 1), parameters=0 if tied else None)

    def cached(self, name: str, read: int, count: int, layers: int) -> None:
        """Keys and values of new tokens, in the cache."""
        self.add(name, "copy", [read], (count, 0, count), layers, role=Role(cache_out=count))

    def norm(self, name: str, kind: str, read: int, *, rows: int, width: int, layers: int = 1) -> int:
        """A norm of each row."""
        count = rows * width
        elements = (count, NORM_WEIGHTS[kind] * width, count)
        return self.add(name, kind, [read], elements, layers, other_ops=NORM_OPS * count)

    def each(self, name: str, kind: str, reads: Sequence[int], count: int, ops: int, layers: int = 1) -> int:
        """Arithmetic of so many ops on each element of what it reads."""
        return self.add(name, kind, reads, (len(reads) * count, 0, count), layers, other_ops=ops * count)

    def embedding(self, name: str, read: int, *, rows: int, width: int, vocabulary: int) -> int:
        """A row of a table for each index."""
        elements = (rows * width + rows, 0, rows * width)
        return self.add(name, "embedding", [read], elements, parameters=vocabulary * width)

    def conv(
        self,
        name: str,
        read: int,
        *,
        batch: int,
        c_in: int,
        c_out: int,
        kernel: int,
        out: tuple[int, ...],
        stride: int = 1,
        bias: bool = True,
        groups: int = 1,
        layers: int = 1,
        elements_in: int | None = None,
    ) -> int:
        """A convolution with one or two axes, whose result has so many places; it reads each element once."""
        k = kernel ** len(out) * (c_in // groups)
        rows = batch * math.prod(out)
        read_elements = rows * stride ** len(out) * c_in if elements_in is None else elements_in
        elements = (read_elements, c_out * k + bias * c_out, rows * c_out)
        window = Window(kernel, kernel, stride, 1, *out) if len(out) == 2 else ()
        shape = (rows, c_out // groups, k, groups)
        return self.add(name, f"conv{len(out)}d", [read], elements, layers, shape=shape, window=window)

    def attention(
        self,
        name: str,
        reads: Sequence[int],
        *,
        heads: int,
        queries: int,
        keys: int,
        size: int,
        layers: int = 1,
        kind: str = "attention",
        seen: int | None = None,
        more: int = 0,
        more_ops: int = 0,
        cached: bool = False,
    ) -> int:
        """Heads of all samples, each so many queries and keys, of which a query sees `seen` on average; all if None.

        `more` is what it reads beside queries, keys and values; `more_ops` are those of a score beside its scale.
        `cached` says that keys and values come from a cache.
        """
        each = keys if seen is None else seen
        count, kept = heads * queries * size, 2 * heads * keys * size
        return self.add(
            name,
            kind,
            reads,
            (count + kept + more, 0, count),
            layers,
            other_ops=heads * queries * each * (1 + SOFTMAX_OPS + more_ops),
            shape=(queries, each, 2 * size, heads),
            role=Role(cache_in=kept) if cached else None,
        )


@dataclass(frozen=True)
class Architecture(ABC):
    """The facts of a network that is no decoder, and the table that they make."""

    name: str

    @abstractmethod
    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """The ops of some samples. Raises WorkloadError for tokens that it cannot have."""

    def __post_init__(self) -> None:
        """Raises WorkloadError for facts that do not fit one another."""
        for fits, wanted in self.fits():
            if not fits:
                raise WorkloadError(f"{self.name}: want {wanted}")

    def fits(self) -> Iterator[tuple[bool, str]]:
        """(whether it holds, what is wanted) of facts that must fit one another, the basic ones first."""
        yield from ()

    @abstractmethod
    def layers(self) -> Layers:
        """All of its rows once, for its parameters."""

    @cached_property
    def parameters(self) -> int:
        """All weights, biases and norms."""
        return self.layers().parameters

    @cached_property
    def _share(self) -> Share:
        """The weights that policies of precisions tell from others, each once."""
        weights = [role.weights for role in self.layers().roles]
        return Share("linear", sum(one.elements for one in weights), sum(one.channels for one in weights))

    @property
    def embedding_parameters(self) -> int:
        """Of tables of which a sample picks rows, and of which no product makes use."""
        return 0

    @property
    def active_parameters(self) -> int:
        """Those that a sample is multiplied with."""
        return self.parameters - self.embedding_parameters

    def refuse_tokens(self, new: int | None, past: int, why: str = "takes no tokens") -> None:
        """Raises WorkloadError for tokens of a network that has none."""
        if new is not None or past:
            raise WorkloadError(f"{self.name}: {why}; want no --prompt and no --past")

    def finished(
        self,
        layers: Layers,
        batch: int,
        elements_input: int,
        remake: Callable[[int], Workload] | None = None,
        *,
        cache: int = 0,
        tokens: Tokens | None = None,
        returns: Sequence[int] = (),
    ) -> Workload:
        """The table of those rows, of which the last is returned if none are named.

        It is made again for another batch where it is more than this one scaled.
        """
        last = tuple(returns) or (len(layers.ops) - 1,)
        roles = Roles.of(layers.roles, (self._share,))
        flow = Flow(tuple(layers.reads), last, elements_input, self.parameters, cache, roles)
        return Workload.from_ops(self.name, layers.ops, batch, flow=flow, tokens=tokens, remake=remake)
