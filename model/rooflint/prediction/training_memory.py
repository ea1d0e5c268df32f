"""Memory of a training step: weights, gradients, states of Adam, and what the forward pass keeps."""

from dataclasses import dataclass

from rooflint.workloads.parallelism import Parallelism

MASTER_BYTES, MOMENTS_BYTES = 4, 8
"""Of a parameter, in FP32: its master copy, and the two moments of Adam."""


@dataclass(frozen=True)
class Memory:
    """Bytes of a device in mixed-precision training with Adam.

    Rajbhandari et al., "ZeRO", SC 2020, sections 3.1 and 5: 2 + 2 + 12 bytes a parameter in 16 bits, and what
    data-parallel devices share of them. arXiv:1910.02054
    """

    parameters: int
    """Of its part of the network."""
    width_bytes: float
    """Of a weight and of its gradient."""
    activation_bytes: float
    """What the forward pass keeps for the backward pass, of all micro-batches in flight, and the logits of one."""
    frozen: int = 0
    """Of its parameters, those that are not trained."""
    experts: int = 0
    """Of its parameters, those of experts that other groups with sequences of their own do not have."""
    groups: int = 1
    """Such groups: all but experts is shared by as many times more devices."""
    state_shares: int = 1
    """Devices that share the states of the optimizer."""
    gradient_shares: int = 1
    weight_shares: int = 1

    @property
    def trained(self) -> int:
        """Parameters with gradients and states."""
        return self.parameters - self.frozen

    @property
    def whole_bytes(self) -> float:
        """All its gradients, and as many weights, in the precision of the arithmetic. [B]"""
        return self.trained * self.width_bytes

    @property
    def weight_bytes(self) -> float:
        """Those that it keeps. [B]"""
        return self._own(self.parameters, self.weight_shares) * self.width_bytes

    @property
    def gradient_bytes(self) -> float:
        """Those that it keeps. [B]"""
        return self._own(self.trained, self.gradient_shares) * self.width_bytes

    @property
    def optimizer_bytes(self) -> float:
        """Master copy, unless the weights are in FP32 themselves, and moments. [B]"""
        master = MASTER_BYTES if self.width_bytes < MASTER_BYTES else 0
        return self._own(self.trained, self.state_shares) * (master + MOMENTS_BYTES)

    def _own(self, parameters: int, shares: int) -> float:
        """Parameters that a device keeps where so many share all but experts."""
        of_experts = max(shares // self.groups, 1)
        return (parameters - self.experts) / shares + self.experts / of_experts

    @property
    def total_bytes(self) -> float:
        """All of it. [B]"""
        return self.weight_bytes + self.gradient_bytes + self.optimizer_bytes + self.activation_bytes

    @property
    def moved_by_optimizer_bytes(self) -> float:
        """Adam reads gradients and states, and writes states and weights. [B]"""
        gradients_and_weights = 2 if self.width_bytes < MASTER_BYTES else 3
        moved = self._own(self.trained, self.state_shares) * self.width_bytes * gradients_and_weights
        return moved + 2 * self.optimizer_bytes


def in_flight(how: Parallelism, micro_batches: int, *, last: bool = False) -> float:
    """Micro-batches whose activations the first or the last stage keeps at most, each of all of its layers. [1]

    One forward pass after one backward pass keeps as many as there are stages behind it and its own. Stages of several
    parts that take turns keep the first stage 1 + (pp - 1) / (pp · virtual) times as much: Korthikanti et al., 2022,
    section 4.2.3. arXiv:2205.05198
    """
    stages, parts = how.pp, how.virtual
    if parts == 1:
        return 1 if last else min(stages, micro_batches)
    ahead = (parts - 1) * stages + 1 + (0 if last else 2 * (stages - 1))
    return min(ahead, micro_batches * parts) / parts
