"""Figures: predictions of many tables on a device at once, as columns; what Prediction says of one, for each of them.

found = predict_tables(h100, list(stacks(tables)), energies, Setting("fp16"))
found.values[QUANTITIES.index("energy_j")]                              # shape (tables,)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rooflint.energy.model import Energies
from rooflint.hardware.device import Hardware
from rooflint.prediction.predict import Prediction, Setting, predict
from rooflint.workloads.stack import Stack

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
"""For the whole batch; NaN where one is not known."""

NOTES = ("launch", "fidelity")
"""Reasons of a prediction that say how figures were found, and not why one is missing."""


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of tables on a device, or on a column of variants of one."""

    values: NDArray[np.float64]
    """Shape (quantities, tables), or (quantities, variants, tables). In the order of QUANTITIES, in SI base units."""
    not_known: tuple[str, ...]
    """What is not known, for each table: why some are NaN, and notes on launches and fidelity; empty without any."""
    missing: tuple[str, ...]
    """Why some are NaN, for each table; empty where all are known."""


def predict_tables(hardware: Hardware, works: Iterable[Stack], energies: Energies, setting: Setting) -> Figures:
    """Predictions of all tables, which are fused already where ops are to be fused. Raises as `predict` does."""
    alike = replace(setting, fuse=False)
    found = [(predict(hardware, stack.work, energies, alike), stack) for stack in works]
    return Figures(
        np.concatenate([_values(*one) for one in found], axis=-1),
        tuple(text for one in found for text in _not_known(*one)),
        tuple(text for one in found for text in _not_known(*one, besides=NOTES)),
    )


def _values(found: Prediction, stack: Stack) -> NDArray[np.float64]:
    latency_s, waits = found.times.latencies_s(stack.sums), found.times.waits_of(stack.sums)
    energy_j = found.energy.totals_j(stack.sums) if found.has("energy") else np.nan
    utilization = found.utilizations(stack.sums) if found.has("allocation") else np.nan
    each = (latency_s, *waits.values(), energy_j, energy_j / latency_s, utilization, stack.peak_bytes(found.storage))
    return np.stack(np.broadcast_arrays(*each))


def _not_known(found: Prediction, stack: Stack, besides: Sequence[str] = ()) -> list[str]:
    """The reasons of the device but for some, and of each table that it has no footprint."""
    texts, kept = {}, {what: why for what, why in found.reasons.items() if what not in besides}
    for footprint in set(stack.without_footprint):
        reasons = {**kept, "footprint": footprint}
        texts[footprint] = "; ".join(dict.fromkeys(filter(None, reasons.values())))
    return [texts[footprint] for footprint in stack.without_footprint]
