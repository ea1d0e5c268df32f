"""Quantised networks: what an INT8 network of torchvision runs, traced without quantising anything. Needs torch.

Its own `fuse_model()` folds batch norms into convolutions, as it does before a conversion, and its two stubs become
the ops that they stand for. Counts are elements, so the result says nothing of precisions: choose INT8 when using it.
"""

from typing import Any

import torch

_library: Any = torch.library.Library("rooflint", "FRAGMENT")
_library.define("quantize(Tensor self) -> Tensor")
_library.define("dequantize(Tensor self) -> Tensor")


@torch.library.register_fake("rooflint::quantize")
@torch.library.register_fake("rooflint::dequantize")
def _same(self: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(self)


class Quantize(torch.nn.Module):
    """Stands where the network's activations become integers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same shape."""
        result: torch.Tensor = torch.ops.rooflint.quantize(x)
        return result


class Dequantize(torch.nn.Module):
    """Stands where they become real numbers again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same shape."""
        result: torch.Tensor = torch.ops.rooflint.dequantize(x)
        return result


def lay_out(network: Any) -> torch.nn.Module:
    """The network with its batch norms folded and its stubs made ops; it is changed in place."""
    network.fuse_model(is_qat=False)
    stubs = {torch.ao.quantization.QuantStub: Quantize, torch.ao.quantization.DeQuantStub: Dequantize}
    for path, part in list(network.named_modules()):
        if type(part) in stubs:
            parent, _, name = path.rpartition(".")
            setattr(network.get_submodule(parent), name, stubs[type(part)]())
    module: torch.nn.Module = network.eval()
    return module
