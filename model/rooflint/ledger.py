"""The ledger: every prediction of a fixed matrix, one row each, so that two states of the specs or the model compare.

    record(registry.readable(), tables(map(load_workload, workload_ids())), Energies(Coefficients(registry)))

The matrix is devices, each at its own point and at every operating point × networks × precisions × runs. A row of what
a device does not support has the reason and no figures: it is counted, not dropped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rooflint.basis import Energies
from rooflint.hardware import Hardware, UndisclosedError, UnsupportedError
from rooflint.prediction import NotKnownError, Prediction, Setting, predict
from rooflint.workload import Workload, WorkloadError

PRECISIONS = ("fp32", "bf16", "fp16", "int8")

RUNS = ((1, False), (1, True), (32, True))
"""Batches, and whether ops are fused. One sample waits for memory and launches, 32 fused ones mostly for compute."""

QUANTITIES = (
    "latency_s",
    "compute_wait_s",
    "memory_wait_s",
    "launch_wait_s",
    "energy_j",
    "power_w",
    "utilization",
    "peak_memory_bytes",
)
"""Of the whole batch; NaN where nobody knows."""


class Key(NamedTuple):
    """What is predicted."""

    device: str
    at: str
    """The operating point; empty for the device's own."""
    network: str
    precision: str
    batch: int
    fused: bool


class Row(NamedTuple):
    """One prediction, or why there is none."""

    key: Key
    values: tuple[float, ...]
    """In the order of QUANTITIES, in SI base units."""
    not_supported: str = ""
    """Why the device cannot run it; all values are NaN then."""
    not_known: str = ""
    """Why some values are NaN."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Predictions as columns."""

    keys: tuple[Key, ...]
    values: NDArray[np.float64]
    """Shape (rows, quantities)."""
    not_supported: tuple[str, ...]
    not_known: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Ledger":
        """The ledger of these rows, in the order of their keys."""
        found = sorted(rows)
        values = np.array([row.values for row in found], dtype=np.float64).reshape(len(found), len(QUANTITIES))
        return cls(
            tuple(row.key for row in found),
            values,
            tuple(row.not_supported for row in found),
            tuple(row.not_known for row in found),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self) -> Iterator[Row]:
        """Row by row, for files."""
        texts = (self.not_supported, self.not_known)
        for key, values, *said in zip(self.keys, self.values.tolist(), *texts, strict=True):
            yield Row(key, tuple(values), *said)

    def column(self, quantity: str) -> NDArray[np.float64]:
        """One quantity of all rows."""
        return self.values[:, QUANTITIES.index(quantity)]

    @cached_property
    def places(self) -> dict[Key, int]:
        """The row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    @property
    def supported(self) -> int:
        """Rows that have figures."""
        return sum(not reason for reason in self.not_supported)


class Table(NamedTuple):
    """One network as one run of the matrix sees it, worked out once for all devices."""

    network: str
    batch: int
    fused: bool
    work: Workload | None
    refused: str = ""
    """Why there is no such table."""


def tables(networks: Iterable[Workload], runs: Sequence[tuple[int, bool]] = RUNS) -> tuple[Table, ...]:
    """The tables of networks, at each batch, fused or not."""
    return tuple(_table(network, batch, fused) for network in networks for batch, fused in runs)


def _table(network: Workload, batch: int, fused: bool) -> Table:
    try:
        scaled = network.at_batch(batch)
        return Table(network.name, batch, fused, scaled.fused() if fused else scaled)
    except WorkloadError as error:
        return Table(network.name, batch, fused, None, str(error))


def record(
    devices: Iterable[Hardware], works: Sequence[Table], energies: Energies, precisions: Sequence[str] = PRECISIONS
) -> Ledger:
    """The ledger of devices, at their own and at every operating point. Raises InputError for a broken file."""
    return Ledger.of(
        _row(point, work, energies, precision)
        for device in devices
        for point in points(device)
        for precision in precisions
        for work in works
    )


def points(device: Hardware) -> Iterator[Hardware]:
    """The device itself, then at each of its operating points."""
    yield device
    yield from map(device.at, device.operating_points)


def _row(point: Hardware, work: Table, energies: Energies, precision: str) -> Row:
    key = Key(point.id, point.mode or "", work.network, precision, work.batch, work.fused)
    if work.work is None:
        return Row(key, _NOTHING, work.refused)
    try:
        found = predict(point, work.work, energies, Setting(precision))
    except (UnsupportedError, UndisclosedError) as error:
        return Row(key, _NOTHING, str(error))
    return Row(key, _values(found), not_known="; ".join(dict.fromkeys(found.reasons.values())))


_NOTHING = (float("nan"),) * len(QUANTITIES)


def _values(found: Prediction) -> tuple[float, ...]:
    """In the order of QUANTITIES."""
    waits = found.shares
    energy = _known(found, "energy_j")
    return (
        found.latency_s,
        waits["compute"],
        waits["memory"],
        waits["launch"],
        energy,
        energy / found.latency_s,
        _known(found, "utilization"),
        _known(found, "peak_bytes"),
    )


def _known(found: Prediction, quantity: str) -> float:
    try:
        return float(getattr(found, quantity))
    except NotKnownError:
        return float("nan")
