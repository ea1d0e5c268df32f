"""Matrix products in bf16 of one device, each with the best time of the frameworks that ran it, and predictions.

All frameworks call the same library; they differ in how they measure, above all in how many sets of weights they
rotate. The best time is that of the machine.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooflint.base.errors import RooflintError
from rooflint.base.units import OPS_PER_MAC
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, chip_of
from rooflint.kernels.constants import Constants
from rooflint.kernels.products import Gemm
from rooflint.kernels.residency import working_set_bytes
from rooflint.kernels.shapes import Numbers, Shapes, shapes
from rooflint_calibration import package
from rooflint_calibration.package import SUPERSEDED, folder_of

PRECISION, ELEMENT_BYTES = "bf16", 2.0
GEMM = Gemm()
"""Their kernel model."""

SPELT = "bfloat16"

MOST_L2_BYTES = 64.0
"""The most that an SM takes in: two sectors of 32 B. [B/clock]"""

RESIDENT = 3.5
"""Working set over L2 capacity up to which memory need not have been read, so that the roofline does not apply.

Inputs are used again with each set of weights and stay longer than these: at 3.4 times L2 one product, a third of whose
bytes are inputs, takes 0.94 of the roofline on an L40S.
"""


@dataclass(frozen=True)
class Measured:
    """One device."""

    device: str
    shapes: Shapes
    seconds: Numbers
    """Best of the frameworks. [s]"""
    copies: Numbers
    """Sets of weights that the framework with the best time rotated."""
    dropped: Mapping[str, int]
    """Rows that were left out, by reason."""

    def rows(self, which: NDArray[Any]) -> "Measured":
        """Some of the rows, by position or by a mask."""
        few = Shapes(*(column[which] for column in self.shapes))
        return Measured(self.device, few, self.seconds[which], self.copies[which], self.dropped)

    def __len__(self) -> int:
        """Number of shapes."""
        return len(self.seconds)


def read(data: Path, device: str, chip: Chip) -> Measured:
    """The rows of the tables of a device. Raises RooflintError if there is none."""
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
    """How many sets of weights a framework's benchmark rotates; sizes are m, n, k.

    TensorRT-LLM: as many as fill L2, from 1 to 5; vLLM and SGLang: 6. aiconfigurator, collector/*/collect_gemm.py.
    """
    if framework != "trtllm":
        return np.full(len(sizes), 6.0)
    weights_bytes = ELEMENT_BYTES * sizes[:, 1] * sizes[:, 2]
    return np.asarray(np.clip(np.ceil(chip.l2_bytes / weights_bytes), 1, 5), float)


def implausible(shapes: Shapes, seconds: Numbers, chip: Chip) -> dict[str, NDArray[np.bool_]]:
    """Rows that are impossible on a device with these facts, by reason."""
    m, n, k, _ = shapes
    least_s = shapes.macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    read_s = ELEMENT_BYTES * (m * k + n * k) / (MOST_L2_BYTES * chip.sms * chip.clock_hz)
    return {
        "no time above zero": ~(np.isfinite(seconds) & (seconds > 0)),
        "faster than the dense peak": seconds < least_s,
        f"operands faster than {MOST_L2_BYTES:g} B a clock and SM": seconds < read_s,
    }


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


# ---- Predictions


@cache
def measured_of(device: str, chip: Chip) -> Measured:
    """The rows of a device. Raises NotInstalledError or RooflintError."""
    return read(package.data_folder(), device, chip)


def of_device(registry: Registry, device: str) -> tuple[Measured, Chip]:
    """The rows of a device and its chip. Raises NotInstalledError or RooflintError."""
    chip = chip_of(registry.get(device), PRECISION, Coefficients(registry).launches())
    return measured_of(device, chip), chip


def predicted_s(measured: Measured, chip: Chip, constants: Constants) -> Numbers:
    """Predicted time of each row. [s]"""
    return GEMM.predict(GEMM.work(*measured.shapes, copies=measured.copies), chip, constants)


def roofline_s(measured: Measured, chip: Chip) -> Numbers:
    """The roofline baseline of each row. [s]"""
    return GEMM.floor_s(GEMM.work(*measured.shapes), chip)


def below_roofline(measured: Measured, chip: Chip) -> Measured:
    """Rows that are faster than the roofline although L2 cannot hold what they read."""
    touched = working_set_bytes(measured.shapes, ELEMENT_BYTES, measured.copies)
    cold = touched > RESIDENT * chip.l2_bytes
    return measured.rows(cold & (measured.seconds < roofline_s(measured, chip)))


# ---- Regimes and samples


def gflop(shapes: Shapes) -> Numbers:
    """Work. [10⁹ op]"""
    return OPS_PER_MAC * shapes.macs / 1e9


REGIMES: Mapping[str, Callable[[Shapes], NDArray[np.bool_]]] = MappingProxyType(
    {
        "all": lambda shapes: np.ones(len(shapes), bool),
        "large": lambda shapes: gflop(shapes) > 20,
        "small": lambda shapes: gflop(shapes) < 1,
        "narrow": lambda shapes: shapes.m <= 16,
    }
)
"""Parts of the data: all, above 20 GFLOP, below 1 GFLOP, m up to 16."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def shape_hash(shapes: Shapes) -> NDArray[np.uint64]:
    """A pseudorandom number for each shape: the finaliser of SplitMix64 over m, n and k."""
    found = np.zeros(len(shapes), np.uint64)
    with np.errstate(over="ignore"):
        for column in (shapes.m, shapes.n, shapes.k):
            found = found + np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
            found = (found ^ (found >> np.uint64(30))) * _MIX[0]
            found = (found ^ (found >> np.uint64(27))) * _MIX[1]
            found = found ^ (found >> np.uint64(31))
    return found


def picked(measured: Measured, rows: int, regime: str = "all") -> Measured:
    """`rows` rows of a regime, the same on every machine; all of them if there are fewer."""
    inside: NDArray[Any] = np.flatnonzero(REGIMES[regime](measured.shapes))
    order = np.argsort(shape_hash(measured.shapes)[inside], kind="stable")
    return measured.rows(np.sort(inside[order[:rows]]))
