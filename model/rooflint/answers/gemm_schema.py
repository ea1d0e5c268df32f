"""The shape of what `rooflint explain gemm --format json` writes. SI base units are in the names."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.answers.schema import GradeName
from rooflint.schema import Strict

Positive = Annotated[float, Field(gt=0)]
Term = Literal["memory", "power", "arithmetic", "feed", "steps", "store", "reduction", "launch"]


class GemmKernelRecord(Strict):
    """One tile with one split of k."""

    tile_m: int
    tile_n: int
    split: int
    waves: Positive
    bound: Term
    latency_s: Positive
    main_s: float
    store_s: float
    kernel_s: float
    power_s: float
    memory_s: float
    l2_miss_share: float
    overlapped_s: float
    reduction_s: float
    launch_s: float


class GemmMoreRecord(Strict):
    """Twice as much of one resource."""

    resource: str
    latency_s: Positive


class GemmFactRecord(Strict):
    """One fact that it follows from."""

    path: str
    value: float
    shown: str
    document: str
    where: str
    grade: GradeName


class GemmRecord(Strict):
    """A matrix product on a GPU, explained."""

    schema_: Annotated[Literal["rooflint.explain.gemm/1"], Field(alias="schema")]
    hardware: str
    precision: str
    m: int
    n: int
    k: int
    batch: int
    copies: int | None
    """Sets of weights that take turns; null where nothing is left of them in L2."""
    latency_s: Positive
    latency_low_s: Positive
    """With the constants of any family left out."""
    latency_high_s: Positive
    roofline_s: Positive
    kernel: GemmKernelRecord
    alternatives: list[GemmKernelRecord]
    twice: list[GemmMoreRecord]
    facts: list[GemmFactRecord]
    caveats: list[str]
