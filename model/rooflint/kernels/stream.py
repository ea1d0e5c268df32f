"""Stream: what a kernel takes that moves bytes, from a tensor that fits in L2 to one that fills the memory.

    latency_s(bytes_moved, chip, constants) = launch + bytes / what memory or L2 attains

A small tensor pays the launch and little else: so bandwidth ramps up with size. docs/method-silicon-ops.md has the
measurements that the constants were fitted on.
"""

import numpy as np

from rooflint.kernels import residency
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Stream
from rooflint.kernels.shapes import Numbers


def miss_share(bytes_moved: Numbers, chip: Chip, constants: Stream, *, warm: bool) -> Numbers:
    """Share of the bytes that L2 does not answer; all of them unless the same kernel ran just before. [1]"""
    return residency.miss_share(bytes_moved, chip, constants) if warm else np.ones_like(bytes_moved)


def bytes_s(bytes_moved: Numbers, chip: Chip, constants: Stream, *, warm: bool) -> Numbers:
    """Time to move bytes, from memory or from L2. [s]"""
    return residency.memory_s(bytes_moved, miss_share(bytes_moved, chip, constants, warm=warm), chip, constants)


def launch_s(chip: Chip, constants: Stream) -> float:
    """From one kernel of a graph to the next, beside its bytes. [s]"""
    return constants.launch_clocks * chip.clock_s


def latency_s(bytes_moved: Numbers, chip: Chip, constants: Stream, *, warm: bool = False) -> Numbers:
    """One kernel of a graph that reads and writes each byte once. [s]

    `warm`: the same bytes were touched just before, as in a benchmark that repeats a kernel.
    """
    return launch_s(chip, constants) + bytes_s(bytes_moved, chip, constants, warm=warm)


def attained_bytes_per_s(bytes_moved: Numbers, chip: Chip, constants: Stream, *, warm: bool = False) -> Numbers:
    """The ramp: bytes over latency, which nears the stream's bandwidth as tensors grow. [B/s]"""
    return bytes_moved / latency_s(bytes_moved, chip, constants, warm=warm)
