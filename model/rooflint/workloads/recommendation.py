"""Recommendation: tables of which a sample picks rows, and products on what is picked (DLRM with crosses).

    Recommender(…).table(batch=2048)                     # 2048 samples

Naumov et al., "Deep Learning Recommendation Model", 2019, arXiv:1906.00091; Wang et al., "DCN V2", 2020,
arXiv:2008.13535.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rooflint.workloads.flow import INPUT
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.workload import Workload


@dataclass(frozen=True)
class Recommender(Architecture):
    """The facts of DLRM-v2: dense features through an MLP, sparse ones through tables, and crosses of low rank."""

    dense: int
    """Numbers of a sample."""
    bottom: tuple[int, ...]
    """Widths of the MLP of dense features; the last is that of the tables."""
    tables: tuple[int, ...]
    """Rows of each."""
    picked: tuple[int, ...]
    """Rows of each that a sample adds up."""
    crosses: int
    """Layers that multiply what is picked with itself."""
    rank: int
    top: tuple[int, ...]
    """Widths of the MLP of crosses; the last is 1."""

    def fits(self) -> Iterator[tuple[bool, str]]:
        """Something to pick from each table, and one result."""
        yield len(self.tables) == len(self.picked), "as many numbers picked as tables"
        yield bool(self.bottom) and bool(self.tables), "widths of bottom, and tables"
        yield self.top[-1:] == (1,), "a top whose last width is 1"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """Some samples. Raises WorkloadError for tokens."""
        self.refuse_tokens(new, past)
        given = batch * (self.dense + sum(self.picked))
        return self.finished(self._rows(batch), batch, given, partial(_of_batch, self))

    def layers(self) -> Layers:
        """Of one sample."""
        return self._rows(1)

    @property
    def embedding_parameters(self) -> int:
        """Of the tables."""
        return sum(self.tables) * self.bottom[-1]

    def _rows(self, batch: int) -> Layers:
        layers, width = Layers(), self.bottom[-1]
        dense = self._mlp(layers, "bottom", INPUT, batch, self.dense, self.bottom)
        read, written = batch * sum(self.picked), batch * len(self.tables) * width
        sparse = layers.add(
            "tables", "embedding", [INPUT], (read * width + read, 0, written), other_ops=read * width - written,
            parameters=self.embedding_parameters,
        )  # fmt: skip
        inner = (1 + len(self.tables)) * width
        count = batch * inner
        first = last = layers.add("joined", "cat", [dense, sparse], (count, 0, count))
        for place in range(self.crosses):
            layers.prefix = f"cross{place}_"
            short = layers.linear("down", last, rows=batch, n=self.rank, k=inner)
            crossed = layers.linear("up", short, rows=batch, n=inner, k=self.rank, bias=inner)
            crossed = layers.each("mul", "mul", [first, crossed], count, 1)
            last = layers.each("add", "add", [last, crossed], count, 1)
        layers.prefix = ""
        self._mlp(layers, "top", last, batch, inner, self.top)
        return layers

    def _mlp(self, layers: Layers, name: str, read: int, batch: int, width: int, widths: Sequence[int]) -> int:
        """Linear and ReLU by turns; the last product, of width 1, has none."""
        for place, out in enumerate(widths):
            read = layers.linear(f"{name}{place}", read, rows=batch, n=out, k=width, bias=out)
            if out > 1:
                read = layers.each(f"{name}{place}_relu", "relu", [read], batch * out, 1)
            width = out
        return read


def _of_batch(net: Architecture, batch: int) -> Workload:
    return net.table(batch)
