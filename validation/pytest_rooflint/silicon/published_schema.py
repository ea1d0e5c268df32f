"""The shape of golden/silicon/published/*.yaml: times of one op on one device that others measured and published."""

from typing import Annotated, Literal

from pydantic import Field

from pytest_rooflint.golden_schema import Id
from rooflint.schema import Strict, Text, Word

OpName = Literal["gemm", "convolution", "layernorm", "rmsnorm", "softmax", "gelu", "silu", "silu_mul", "add"]

SIZES: dict[OpName, tuple[str, ...]] = {
    "gemm": ("m", "n", "k"),
    "convolution": ("batch", "channels_in", "channels_out", "height", "width", "kernel_height", "kernel_width"),
    **dict.fromkeys(("layernorm", "rmsnorm", "softmax", "gelu", "silu", "silu_mul", "add"), ("m", "n")),
}
"""Columns that each op needs, as its formula names them. Height and width are those of the output; what streams writes
m rows of n elements."""

OPTIONAL: dict[OpName, tuple[str, ...]] = {"gemm": ("batch",), "convolution": ("stride", "groups", "winograd")}
"""Columns that an op may have; 1 where it has not. `winograd` is no size but what was run: outputs along a side of the
tiles that the library's kernel transforms; 1 where it computes directly."""

TIME = "us"
"""The last column: what was measured."""


class PublishedSourceSpec(Strict):
    """The document that the rows were read in."""

    document: Text
    where: Text
    grade: Literal["read", "device", "quoted", "recalled", "estimate"]
    url: Text | None = None


class FloorSpec(Strict):
    """What a call takes beside its kernel, where the clock was the host's; as the same source says it."""

    us: Annotated[float, Field(gt=0)]
    where: Text


class PublishedSpec(Strict):
    """One table: one op on one device, timed in one way."""

    title: Text
    device: Id
    op: OpName
    precision: Word
    source: PublishedSourceSpec
    why: Text
    """How it was timed, how the rows were picked, what was left out and why."""
    timing: Literal["graph", "kernel", "host"]
    """What the clock saw: kernels of a graph one after the other, a kernel alone, a call and the wait for its end."""
    floor: FloorSpec | None = None
    """With `timing: host`."""
    warm: bool = False
    """Whether the same operands were touched just before, so that L2 may still hold them."""
    from_us: Annotated[float, Field(ge=0)] = 0.0
    """Shorter rows are kept, and no claim is about them; `why` says the reason. [us]"""
    beats_peak: Text | None = None
    """Why rows may be faster than the dense peak of the spec; none may where it is not said."""
    columns: Annotated[list[Word], Field(min_length=2)]
    rows: Annotated[list[list[Annotated[float, Field(gt=0)]]], Field(min_length=1)]
