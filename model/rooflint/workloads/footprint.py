"""Footprints: what a workload keeps in memory while it runs: weights, keys and values, and live activations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooflint.base.precision import POLICIES, WIDE, tensor_bytes
from rooflint.workloads.flow import Flow, Roles
from rooflint.workloads.workload import Counts, Workload, WorkloadError, weight_bytes


@dataclass(frozen=True, eq=False)
class Footprint:
    """Elements that live while a workload runs; bytes follow from a precision or a policy in storage."""

    op_names: NDArray[np.str_]
    activation_elements: Counts
    """Activations that live while each op runs. Shape [ops]."""
    weight_elements: int
    """Parameters and other constants: each once, as a capture counted them. A table that was written by hand may not
    know which rows share theirs, or how large a table is from which they pick: then as many as its rows read."""
    cache_elements: int = 0
    """Keys and values of all tokens, which are there throughout."""
    roles: Roles | None = None
    """What of its weights policies tell apart."""

    @property
    def peak_activation_elements(self) -> int:
        """The most activations that live at once."""
        return int(self.activation_elements.max())

    @property
    def peak_op(self) -> str:
        """The first op at which they do."""
        return str(self.op_names[self.activation_elements.argmax()])

    def peak_activation_bytes(self, storage: str) -> float:
        """Memory for activations; under a policy they are counted in 16 bits, what a product reads as well. [B]"""
        return float(tensor_bytes(self.peak_activation_elements, WIDE[0] if storage in POLICIES else storage))

    def weight_bytes(self, storage: str) -> float:
        """Memory for weights. [B]"""
        if storage not in POLICIES or self.roles is None:
            return float(tensor_bytes(self.weight_elements, storage))
        policy = POLICIES[storage]
        parts = policy.parts(self.roles.has_experts)
        shares = [one for one in self.roles.constant if one.part in parts]
        narrow, channels = (sum(getattr(one, name) for one in shares) for name in ("elements", "channels"))
        return float(weight_bytes(policy, self.weight_elements, narrow, channels))

    def cache_bytes(self, storage: str) -> float:
        """Memory for keys and values. [B]"""
        policy = POLICIES.get(storage)
        return float(tensor_bytes(self.cache_elements, policy.cache if policy else storage))

    def peak_bytes(self, storage: str) -> float:
        """Weights, keys and values, and the most that lives beside them. [B]"""
        return self.peak_activation_bytes(storage) + self.weight_bytes(storage) + self.cache_bytes(storage)


def footprint(workload: Workload) -> Footprint:
    """What a workload, fused or not, keeps in memory when its ops run one after the other.

    Raises WorkloadError for a table that does not know its data flow.
    """
    if workload.flow is None:
        raise WorkloadError(f"{workload.name} has no footprint: its table does not say which op reads which result")
    out = workload.elements_out // workload.repeats  # the repeats of an op use the same memory one after the other
    live, weights = live_elements(out, workload.flow), workload.flow.elements_constant
    weights = int(workload.elements_weight.sum()) if weights is None else weights
    return Footprint(workload.op_names, live, weights, workload.flow.elements_cache, workload.flow.roles)


def live_elements(elements_out: Counts, flow: Flow) -> Counts:
    """Activations that live while each op runs: read by it, written by it, or still to be read. Shape [ops]."""
    ops = len(elements_out)
    change = np.zeros(ops + 1, dtype=np.int64)
    change[:-1] += elements_out
    np.subtract.at(change, np.array(flow.until, dtype=np.int64) + 1, elements_out)
    live: Counts = change.cumsum()[:-1]
    live[: flow.input_until + 1] += flow.elements_input
    return live
