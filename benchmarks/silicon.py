"""What a latency on silicon costs, side by side with the plain roofline of the same shapes.

Run `python benchmarks/silicon.py`. Both sides are measured in one run, in turn, on one core; a side's time is the
minimum over rounds, because noise on a shared machine only adds.
"""

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.products import Gemm
from rooflint.kernels.shapes import Numbers, Shapes, shapes, touched_bytes

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # read when NumPy is imported


DEVICES = ("nvidia/h100-sxm5-80gb", "nvidia/b200-sxm", "nvidia/a100-sxm4-80gb", "nvidia/l40s")


def drawn(count: int) -> Shapes:
    """Sizes from 1 to 32768, evenly over their logarithms."""
    return shapes(*np.round(2 ** np.random.default_rng(0).uniform(0, 15, (3, count))))


def roofline_s(some: Shapes, chip: Chip) -> Numbers:
    """The longer of compute and memory. [s]"""
    compute = some.macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    return np.maximum(compute, touched_bytes(some, 2.0) / chip.bandwidth_bytes_per_s)


def seconds(work: Callable[[], object]) -> float:
    """Time of one call. [s]"""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--shapes", type=int, default=200_000)
    options = parser.parse_args()
    registry, some = Registry(), drawn(options.shapes)
    constants, launches = constants_file(registry).constants, Coefficients(registry).launches()
    for name in DEVICES:
        chip = chip_of(registry.get(name), "bf16", launches)
        silicon, plain = [], []
        for _ in range(options.rounds):
            silicon.append(seconds(lambda chip=chip: Gemm().predict(Gemm().work(*some), chip, constants)))  # type: ignore[misc]
            plain.append(seconds(lambda chip=chip: roofline_s(some, chip)))  # type: ignore[misc]
        rate, ratio = options.shapes / min(silicon), min(silicon) / min(plain)
        print(f"{name}: {rate / 1e6:.2f} million shapes a second; the roofline alone {ratio:.0f} times as fast")


if __name__ == "__main__":
    main()
