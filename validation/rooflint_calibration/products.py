"""Measured: the bf16 matrix products of one device, each with the best time of the frameworks that ran it.

Every framework of the package calls the same library; what differs is how it measures, and above all how many sets of
weights it takes in turn. The best of them is the machine's, the rest is theirs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.units import OPS_PER_MAC
from rooflint.kernels.chip import Chip
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint_calibration.package import SUPERSEDED, folder_of

PRECISION, ELEMENT_BYTES = "bf16", 2.0
SPELT = "bfloat16"

MOST_L2_BYTES = 64.0
"""What no SM takes in faster: two sectors of 32 B. [B/clock]"""


@dataclass(frozen=True)
class Measured:
    """One device."""

    device: str
    shapes: Shapes
    seconds: Numbers
    """Best of the frameworks. [s]"""
    copies: Numbers
    """Sets of weights that the framework with the best time took in turn."""
    dropped: Mapping[str, int]
    """Rows that were left out, by reason."""

    def rows(self, which: NDArray[Any]) -> "Measured":
        """Some of the rows, by position or by a mask."""
        few = Shapes(*(column[which] for column in self.shapes))
        return Measured(self.device, few, self.seconds[which], self.copies[which], self.dropped)

    def __len__(self) -> int:
        """Shapes."""
        return len(self.seconds)


def read(data: Path, device: str, chip: Chip) -> Measured:
    """What the tables of a device say. Raises RooflintError where there is none."""
    folder = data / folder_of(device) / "gemm"
    found = [one for one in _tables(folder) if len(one[1])]
    if not found:
        raise RooflintError(f"{folder}: want tables gemm_perf.parquet with {SPELT} rows, found none")
    sizes, which = np.unique(np.concatenate([one for _, one, _ in found]), axis=0, return_inverse=True)
    sets = np.concatenate([sets_of_weights(framework, own, chip) for framework, own, _ in found])
    seconds = np.concatenate([one for _, _, one in found])
    first = first_of_each(which.ravel(), seconds, sets)
    best, copies = seconds[first], sets[first]
    twice = sum(len(own) - len(np.unique(own, axis=0)) for _, own, _ in found)
    kept = shapes(*sizes.T.astype(float))
    wrong = implausible(kept, best, chip)
    good = ~np.any(list(wrong.values()), axis=0)
    dropped = {"the same shape twice in one table": twice} | {why: int(rows.sum()) for why, rows in wrong.items()}
    return Measured(device, kept, best, copies, dropped).rows(good)


def first_of_each(which: NDArray[Any], seconds: Numbers, sets: Numbers) -> NDArray[np.int_]:
    """Position of the least time of each shape, of equal ones the one with fewest sets of weights."""
    order = np.lexsort((sets, seconds, which))
    return np.asarray(order[np.flatnonzero(np.diff(which[order], prepend=-1))])


def sets_of_weights(framework: str, sizes: NDArray[Any], chip: Chip) -> Numbers:
    """How many sets of weights a framework's benchmark takes in turn; sizes are m, n, k.

    TensorRT-LLM: as many as fill L2, from 1 to 5; vLLM and SGLang: 6. aiconfigurator, collector/*/collect_gemm.py.
    """
    if framework != "trtllm":
        return np.full(len(sizes), 6.0)
    weights_bytes = ELEMENT_BYTES * sizes[:, 1] * sizes[:, 2]
    return np.asarray(np.clip(np.ceil(chip.l2_bytes / weights_bytes), 1, 5), float)


def implausible(shapes: Shapes, seconds: Numbers, chip: Chip) -> dict[str, NDArray[np.bool_]]:
    """Rows that no machine with these facts can have measured, by reason."""
    m, n, k, _ = shapes
    least_s = shapes.macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    read_s = ELEMENT_BYTES * (m * k + n * k) / (MOST_L2_BYTES * chip.sms * chip.clock_hz)
    return {
        "no time above zero": ~(np.isfinite(seconds) & (seconds > 0)),
        "faster than the dense peak": seconds < least_s,
        f"operands faster than {MOST_L2_BYTES:g} B a clock and SM": seconds < read_s,
    }


def gflop(shapes: Shapes) -> Numbers:
    """Work. [10⁹ op]"""
    return OPS_PER_MAC * shapes.macs / 1e9


def _tables(folder: Path) -> Iterator[tuple[str, NDArray[Any], Numbers]]:
    """Framework, sizes and seconds of every table that counts."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # of an extra

    for file in sorted(folder.glob("*/*/gemm_perf.parquet")):
        framework, version = file.parts[-3:-1]
        if (folder.parent.name, framework, version) in SUPERSEDED:
            continue
        columns = ["gemm_dtype", "m", "n", "k", "latency"]
        table = pq.read_table(file, columns=columns, filters=[("gemm_dtype", "==", SPELT)])
        sizes = np.stack([table[name].to_numpy() for name in ("m", "n", "k")], axis=1)
        yield framework, sizes, table["latency"].to_numpy() * 1e-3
