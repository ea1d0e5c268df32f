"""What was timed, in the words of the field: a wait, a matrix product, a stream through memory, a network."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt


class _Subject(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wait(_Subject):
    """A busy-wait of known length: the answer that a stopwatch is held against."""

    kind: Literal["wait"] = "wait"
    wanted_s: PositiveFloat


class Gemm(_Subject):
    """A matrix product C = A·B of (m, k) by (k, n), `batch` of them."""

    kind: Literal["gemm"] = "gemm"
    precision: str
    library: str
    """Who computes: `mkl`, `onednn`, `openblas`, `cublas`."""
    m: PositiveInt
    n: PositiveInt
    k: PositiveInt
    batch: PositiveInt = 1
    weight_copies: PositiveInt = 1
    """Matrices B in turn: with one, it may stay in a cache between calls."""

    @property
    def macs(self) -> int:
        """Multiplications and additions in pairs, of one call. [MAC]"""
        return self.batch * self.m * self.n * self.k


class Stream(_Subject):
    """An element-wise pass through memory: `copy` a = b, `scale` a = s·b, `triad` a = b + s·c, `read` a sum of b."""

    kind: Literal["stream"] = "stream"
    kernel: Literal["copy", "scale", "triad", "read"]
    library: str
    array_bytes: PositiveInt
    """Of one array."""
    cache_bytes: int | None = None
    """The last-level cache that the arrays must exceed."""


class Network(_Subject):
    """An inference of a whole network."""

    kind: Literal["network"] = "network"
    name: str
    """As torchvision names it."""
    batch: PositiveInt
    precision: str
    library: str
    layout: Literal["contiguous", "channels_last"] = "contiguous"
    compiled: bool = False
    graph: bool = False
    """Replayed as a CUDA graph, which spares launches."""
    macs: PositiveInt
    """Of one inference of the whole batch, as captured. [MAC]"""

    @property
    def settings(self) -> tuple[str, ...]:
        """How it was run, where that is not as it came: `channels_last`, `compiled`, `graph`."""
        chosen = {"channels_last": self.layout == "channels_last", "compiled": self.compiled, "graph": self.graph}
        return tuple(name for name, is_set in chosen.items() if is_set)


Subject = Annotated[Wait | Gemm | Stream | Network, Field(discriminator="kind")]


def label(subject: Wait | Gemm | Stream | Network) -> str:
    """Stable and shell-safe, for rows, ids and messages."""
    match subject:
        case Wait():
            return f"wait-{subject.wanted_s * 1e6:g}us"
        case Gemm():
            batch = f"{subject.batch}x" if subject.batch > 1 else ""
            turns = f"-{subject.weight_copies}w" if subject.weight_copies > 1 else ""
            return f"gemm-{subject.precision}-{subject.library}-{batch}{subject.m}x{subject.n}x{subject.k}{turns}"
        case Stream():
            return f"stream-{subject.kernel}-{subject.library}-{subject.array_bytes}"
        case Network():
            words = ["network", subject.name, subject.precision, subject.library, f"b{subject.batch}"]
            return "-".join([*words, *subject.settings])
