"""Precisions: how many bits an element takes in storage, and in which unit rates are printed; and policies.

A new number format is one row of PRECISIONS, a new policy one row of POLICIES: schemas, options and messages read the
tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from rooflint.base.errors import RooflintError
from rooflint.base.units import OPS_PER_S, format_quantity


@dataclass(frozen=True, slots=True)
class Precision:
    """One number format."""

    name: str
    bits: int
    """Of an element, without its share of a scale. [bit]"""
    floating: bool
    accumulate: str | None = None
    """Accumulator format where it changes the rate and is not the usual one."""
    block: int = 1
    """Elements that share one scale."""
    scale_bits: int = 0
    """Of the scale of a block; 0 for a format without block scales. [bit]"""

    @property
    def stored_bits(self) -> float:
        """Of an element and its share of the scale. [bit]"""
        return self.bits + self.scale_bits / self.block


PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision("fp64", 64, floating=True),
        Precision("fp32", 32, floating=True),
        Precision("tf32", 32, floating=True),  # 19 significant bits, stored in 32
        Precision("bf16", 16, floating=True),
        Precision("fp16", 16, floating=True),
        Precision("fp16_acc16", 16, floating=True, accumulate="fp16"),
        Precision("fp8", 8, floating=True),
        Precision("fp8_acc16", 8, floating=True, accumulate="fp16"),
        Precision("fp6", 6, floating=True),
        Precision("mxfp6", 6, floating=True, block=32, scale_bits=8),  # OCP Microscaling Formats 1.0, table 1
        Precision("fp4", 4, floating=True),
        Precision("mxfp4", 4, floating=True, block=32, scale_bits=8),  # the same table
        Precision("int32", 32, floating=False),
        Precision("int16", 16, floating=False),
        Precision("int8", 8, floating=False),
        Precision("int4", 4, floating=False),
        Precision("int1", 1, floating=False),
    )
}


Part = Literal["linear", "experts"]
"""Weights that a policy can tell apart: of the products in the blocks of a transformer (attention, and feed-forward
that every token goes through), and of its experts. Embeddings, norms, biases, the router and the head are in neither.
"""

WIDE = ("bf16", "fp16")
"""What a policy leaves wide is stored in 16 bits and computed in the first of these that a device has."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Precisions of weights, activations and cache of a network whose table tells them apart."""

    name: str
    weights: Precision
    """Format of the weights of its parts; other weights are wide."""
    activations: str
    """Format in which the products with these weights read their other operand; all other activations are wide."""
    compute: tuple[str, ...]
    """Formats of these products, of which the first counts that a device has; attention and all else is wide."""
    cache: str = "bf16"
    """Format of keys and values."""
    experts_only: bool = False
    """Whether, in a network with experts, nothing else is narrow."""
    channel_scale_bits: int = 0
    """Of the scale of each output channel; 0 where the format has scales, or a tensor one for all. [bit]"""
    source: str = ""
    """Who publishes checkpoints like that."""

    def parts(self, experts: bool) -> tuple[Part, ...]:
        """The weights that are narrow, in a network with or without experts."""
        if experts and self.experts_only:
            return ("experts",)
        return ("linear", "experts")


_INT4_GROUPS = Precision("int4", 4, floating=False, block=128, scale_bits=16)
_FP8_BLOCKS = Precision("fp8", 8, floating=True, block=128 * 128, scale_bits=32)
_NVFP4 = Precision("fp4", 4, floating=True, block=16, scale_bits=8)
_INT8, _FP8, _MXFP4 = PRECISIONS["int8"], PRECISIONS["fp8"], PRECISIONS["mxfp4"]

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("w4a16", _INT4_GROUPS, "bf16", WIDE, source="compressed-tensors, preset W4A16"),
        Policy("w4a16-kv8", _INT4_GROUPS, "bf16", WIDE, "fp8", source="W4A16 and an FP8 cache"),
        Policy("w8a8", _INT8, "int8", ("int8",), channel_scale_bits=16, source="compressed-tensors, preset W8A8"),
        Policy("w8a8-kv8", _INT8, "int8", ("int8",), "fp8", channel_scale_bits=16, source="W8A8 and an FP8 cache"),
        Policy("fp8-kv16", _FP8, "fp8", ("fp8",), source="compressed-tensors, preset FP8"),
        Policy("fp8-kv8", _FP8, "fp8", ("fp8",), "fp8", source="FP8 and an FP8 cache"),
        Policy("fp8-block", _FP8_BLOCKS, "fp8", ("fp8",), source="DeepSeek-V3, arXiv:2412.19437, section 3.3"),
        Policy("nvfp4", _NVFP4, "fp4", ("fp4",), source="compressed-tensors, preset NVFP4"),
        Policy("nvfp4-kv8", _NVFP4, "fp4", ("fp4",), "fp8", source="NVIDIA Model Optimizer, NVFP4 and an FP8 cache"),
        Policy("mxfp4", _MXFP4, "bf16", WIDE, experts_only=True, source="gpt-oss, arXiv:2508.10925, section 2.1"),
        Policy("mxfp4-a8", _MXFP4, "fp8", ("fp8",), experts_only=True, source="gpt-oss, multiplied in FP8"),
    )
}
"""Names of policies are not those of formats, but for mxfp4: as a policy it is that of gpt-oss."""


class UnknownPrecisionError(RooflintError, ValueError):
    """A name that is not in PRECISIONS."""


def precision(name: str) -> Precision:
    """The precision of that name, in lower or upper case.

    Raises UnknownPrecisionError with the names that exist.
    """
    try:
        return PRECISIONS[name.lower()]
    except KeyError:
        raise UnknownPrecisionError(f"unknown precision '{name}' (known: {', '.join(PRECISIONS)})") from None


def named(name: str) -> str:
    """The name of a precision or of a policy, in lower or upper case.

    Raises UnknownPrecisionError with the names that exist.
    """
    if name.lower() in POLICIES:
        return name.lower()
    try:
        return precision(name).name
    except UnknownPrecisionError as error:
        raise UnknownPrecisionError(f"{str(error)[:-1]}; policies: {', '.join(POLICIES)})") from None


def nearest(name: str, having: Iterable[str]) -> str | None:
    """The precision that comes nearest: floating like it if there is one, then by its bits, the usual one first."""
    wanted = precision(name)

    def distance(one: Precision) -> tuple[bool, int, bool]:
        return one.floating != wanted.floating, abs(one.bits - wanted.bits), one.accumulate is not None

    return min(having, key=lambda one: distance(precision(one)), default=None)


def bytes_per_element(name: str) -> float:
    """Storage of one element in a large tensor, its share of a block's scale included. [B]"""
    return precision(name).stored_bits / 8


def tensor_bytes(elements: Any, form: str | Precision) -> Any:
    """Storage of a tensor, or of each of an array of tensors: all elements, and a whole scale for a block begun. [B]"""
    known = precision(form) if isinstance(form, str) else form
    stored = elements * (known.bits / 8)
    if not known.scale_bits:
        return stored
    return stored + -(-elements // known.block) * (known.scale_bits / 8)


def rate_unit(name: str) -> str:
    """How a peak of this precision is printed: floating-point rates in FLOP/s, the others in OP/s."""
    return "FLOP/s" if precision(name).floating else "OP/s"


def format_rate(ops_per_s: float, name: str, *, digits: int = 4) -> str:
    """`989.4 TFLOP/s` or `1.979 POP/s`, by the precision of the arithmetic."""
    return format_quantity(ops_per_s, OPS_PER_S, digits=digits, unit=rate_unit(name))
