"""Footprint: how much memory a workload needs at once, for its activations and for its weights.

A result lives from the op that writes it to the last one that reads it, what the network returns to its end, the input
to its last reader. An op needs its operands and its result together: nothing is written in place.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooflint.flow import Flow
from rooflint.precision import bytes_per_element
from rooflint.workload import Counts, Workload, WorkloadError


@dataclass(frozen=True, eq=False)
class Footprint:
    """Elements that live while a workload runs; bytes follow from the precisions in storage."""

    op_names: NDArray[np.str_]
    activation_elements: Counts
    """Activations that live while each op runs. Shape [ops]."""
    weight_elements: int
    """Parameters and other constants: each once, as a capture counted them. A table that was written by hand may not
    know which rows share theirs, or how large a table is from which they pick: then as many as its rows read."""

    @property
    def peak_activation_elements(self) -> int:
        """The most activations that live at once."""
        return int(self.activation_elements.max())

    @property
    def peak_op(self) -> str:
        """The first op at which they do."""
        return str(self.op_names[self.activation_elements.argmax()])

    def peak_activation_bytes(self, storage: str) -> float:
        """Memory for activations. [B]"""
        return self.peak_activation_elements * bytes_per_element(storage)

    def weight_bytes(self, storage: str) -> float:
        """Memory for weights. [B]"""
        return self.weight_elements * bytes_per_element(storage)


def footprint(workload: Workload) -> Footprint:
    """What a workload, fused or not, keeps in memory when its ops run one after the other.

    Raises WorkloadError for a table that does not know its data flow.
    """
    if workload.flow is None:
        raise WorkloadError(f"{workload.name} has no footprint: its table does not say which op reads which result")
    live, weights = live_elements(workload.elements_out, workload.flow), workload.flow.elements_constant
    return Footprint(workload.op_names, live, int(workload.elements_weight.sum()) if weights is None else weights)


def live_elements(elements_out: Counts, flow: Flow) -> Counts:
    """Activations that live while each op runs: read by it, written by it, or still to be read. Shape [ops]."""
    ops = len(elements_out)
    change = np.zeros(ops + 1, dtype=np.int64)
    change[:-1] += elements_out
    np.subtract.at(change, np.array(flow.until, dtype=np.int64) + 1, elements_out)
    live: Counts = change.cumsum()[:-1]
    live[: flow.input_until + 1] += flow.elements_input
    return live
