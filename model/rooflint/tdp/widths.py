"""Widths: what stays the same when precisions are compared, so many ALUs or so many bits of datapath."""

from enum import StrEnum

from rooflint.precision import precision as precision_named

DATAPATH_BITS = 64
"""Width of one ALU where the width is held: that of the widest precision. [bit]"""


class Hold(StrEnum):
    """What stays the same from precision to precision."""

    alus = "alus"
    """An ALU does as many MACs per clock in any of them."""
    width = "width"
    """An ALU is 64 bits wide and does as many MACs per clock as fit side by side; a TF32 takes 32 bits."""


def packed_macs(precision: str, hold: Hold) -> float:
    """MACs that fit into one ALU side by side. [1]"""
    return DATAPATH_BITS / precision_named(precision).bits if hold is Hold.width else 1.0
