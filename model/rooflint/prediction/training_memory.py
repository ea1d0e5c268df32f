"""Memory of a training step: weights, gradients, states of Adam, and what the forward pass keeps."""

from dataclasses import dataclass

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
    """What the forward pass keeps for the backward pass, and the logits."""
    frozen: int = 0
    """Of its parameters, those that are not trained."""
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
        return self.parameters * self.width_bytes / self.weight_shares

    @property
    def gradient_bytes(self) -> float:
        """Those that it keeps. [B]"""
        return self.whole_bytes / self.gradient_shares

    @property
    def optimizer_bytes(self) -> float:
        """Master copy, unless the weights are in FP32 themselves, and moments. [B]"""
        master = MASTER_BYTES if self.width_bytes < MASTER_BYTES else 0
        return self.trained * (master + MOMENTS_BYTES) / self.state_shares

    @property
    def total_bytes(self) -> float:
        """All of it. [B]"""
        return self.weight_bytes + self.gradient_bytes + self.optimizer_bytes + self.activation_bytes

    @property
    def moved_by_optimizer_bytes(self) -> float:
        """Adam reads gradients and states, and writes states and weights. [B]"""
        gradients, weights = self.whole_bytes, self.whole_bytes * (1 if self.width_bytes < MASTER_BYTES else 2)
        return (gradients + weights) / self.state_shares + 2 * self.optimizer_bytes
