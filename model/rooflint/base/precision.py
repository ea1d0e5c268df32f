"""Precisions: how many bits an element takes in storage, and in which unit rates are printed.

A new number format is one row of PRECISIONS: schemas, options and messages read the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
        Precision("int32", 32, floating=False),
        Precision("int16", 16, floating=False),
        Precision("int8", 8, floating=False),
        Precision("int4", 4, floating=False),
        Precision("int1", 1, floating=False),
    )
}


class UnknownPrecisionError(RooflintError, ValueError):
    """A name that is not in PRECISIONS."""


def precision(name: str) -> Precision:
    """The precision of that name, in any case.

    Raises UnknownPrecisionError with the names that exist.
    """
    try:
        return PRECISIONS[name.lower()]
    except KeyError:
        raise UnknownPrecisionError(f"unknown precision '{name}' (known: {', '.join(PRECISIONS)})") from None


def nearest(name: str, having: Iterable[str]) -> str | None:
    """The precision that comes nearest: floating like it if there is one, then by its bits, the usual one first."""
    wanted = precision(name)

    def distance(one: Precision) -> tuple[bool, int, bool]:
        return one.floating != wanted.floating, abs(one.bits - wanted.bits), one.accumulate is not None

    return min(having, key=lambda one: distance(precision(one)), default=None)


def bytes_per_element(name: str) -> float:
    """Storage of one element in a large tensor, its share of a block's scale included. [B]"""
    return precision(name).stored_bits / 8


def tensor_bytes(elements: Any, name: str) -> Any:
    """Storage of a tensor, or of each of an array of tensors: all elements, and a whole scale for a block begun. [B]"""
    known = precision(name)
    blocks = -(-elements // known.block)
    return elements * (known.bits / 8) + blocks * (known.scale_bits / 8)


def rate_unit(name: str) -> str:
    """How a peak of this precision is printed: floating-point rates in FLOP/s, the others in OP/s."""
    return "FLOP/s" if precision(name).floating else "OP/s"


def format_rate(ops_per_s: float, name: str, *, digits: int = 4) -> str:
    """`989.4 TFLOP/s` or `1.979 POP/s`, by the precision of the arithmetic."""
    return format_quantity(ops_per_s, OPS_PER_S, digits=digits, unit=rate_unit(name))
