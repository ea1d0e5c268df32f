"""Residency: what of a kernel's operands is still in L2 when it runs, and how long the bytes take."""

from typing import Protocol

import numpy as np

from rooflint.kernels.chip import Chip
from rooflint.kernels.shapes import Numbers, Shapes

COLD = np.inf
"""Copies of the weights beyond number: other kernels ran in between, and nothing is left in L2."""


SUREST = 64.0
"""Capacity over working set beyond which more of it changes no digit, and its power would overflow. [1]"""


class Constants(Protocol):
    """What is fitted of memory and L2; of products and of streams apart, whose accesses differ."""

    @property
    def dram_efficiency(self) -> float:
        """Share of the bandwidth that a stream attains. [1]"""

    @property
    def l2_bytes(self) -> float:
        """What an SM reads from L2, where that is more than memory gives. [B/clock/SM]"""

    @property
    def l2_reach(self) -> float:
        """Working set over L2 capacity at which half of the reads miss. [1]"""

    @property
    def l2_sharpness(self) -> float:
        """How suddenly L2 overflows. [1]"""


def touched_bytes(shapes: Shapes, element_bytes: float) -> Numbers:
    """Both operands and the result, each once. [B]"""
    m, n, k, batch = shapes
    return element_bytes * batch * (n * k + m * k + m * n)


def working_set_bytes(shapes: Shapes, element_bytes: float, copies: Numbers | float) -> Numbers:
    """What is touched before the same weights come again, where a benchmark takes `copies` of them in turn. [B]"""
    m, n, k, batch = shapes
    return element_bytes * batch * (copies * n * k + m * k + m * n)


def miss_share(working_set_bytes: Numbers, chip: Chip, constants: Constants) -> Numbers:
    """Share of the bytes that L2 does not answer. [1]

    What comes again in the same order is found nearly whole or nearly not at all, as the least recently used goes
    first; so the share rises from 0 to 1 where the working set passes the capacity.
    """
    room = constants.l2_reach * chip.l2_bytes / working_set_bytes
    with np.errstate(over="ignore"):  # sharper than anything can count is a step: nothing misses
        return 1 / (1 + np.minimum(room, SUREST) ** constants.l2_sharpness)


def dram_bytes_per_s(chip: Chip, constants: Constants) -> float:
    """What a stream from memory attains. [B/s]"""
    return constants.dram_efficiency * chip.bandwidth_bytes_per_s


def l2_bytes_per_s(chip: Chip, constants: Constants) -> float:
    """What hits attain, which is no less than memory gives. [B/s]"""
    return max(dram_bytes_per_s(chip, constants), constants.l2_bytes * chip.sms * chip.clock_hz)


def memory_s(touched_bytes: Numbers, miss_share: Numbers | float, chip: Chip, constants: Constants) -> Numbers:
    """Time to move bytes of which that share misses. [s]"""
    return split_s(touched_bytes, miss_share, dram_bytes_per_s(chip, constants), l2_bytes_per_s(chip, constants))


def split_s(touched_bytes: Numbers, miss_share: Numbers | float, dram_per_s: float, l2_per_s: float) -> Numbers:
    """Time to move bytes of which that share comes from memory, and the rest from L2; rates are in B/s. [s]"""
    return touched_bytes * (miss_share / dram_per_s + (1 - miss_share) / l2_per_s)
