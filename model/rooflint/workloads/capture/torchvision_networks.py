"""torchvision's networks: how each is built without weights, called and traced. Needs torch.

A quantised network is traced without quantising anything: its own `fuse_model()` folds batch norms into convolutions,
as before a conversion, and its two stubs become the ops that they stand for. Counts are elements, so the table does
not depend on precisions: choose INT8 when using it.
"""

import difflib
import inspect
import warnings
from contextlib import nullcontext
from typing import Any

import torch

from rooflint.workloads.capture.detection import every_box_passes
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.torchvision_import import import_torchvision
from rooflint.workloads.capture.trace import Example, capture, fitted, sample_by_sample
from rooflint.workloads.workload import Workload

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


FAMILIES = ("classification", "quantization", "segmentation", "detection", "video", "optical_flow")

#: Edge of the square picture that a detector sees after its own resizing, where its name says so. [pixel]
DETECTION_EDGES = {"ssd300": 300, "ssdlite320": 320, "fasterrcnn_mobilenet_v3_large_320_fpn": 320}
DETECTION_EDGE = 800
SEGMENTATION_EDGE = 520
"""What torchvision's reference scripts train and test on. [pixel]"""
PICTURES = {1: "", 2: "it goes picture by picture"}
"""Why a trace of a detector at that batch cannot be scaled, if it cannot."""
FRAMES = 16
"""Length of a clip, for which torchvision prints the ops of its video networks."""
FLOW_SIZE = (520, 960)
"""What torchvision's optical-flow presets resize to. [pixel]"""


def networks() -> list[str]:
    """Names of all networks of torchvision."""
    names: list[str] = import_torchvision().models.list_models()
    return names


def family(network: str) -> str:
    """One of FAMILIES. Raises CaptureError for a name that torchvision does not know."""
    if network not in (known := networks()):
        near = difflib.get_close_matches(network.lower(), known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise CaptureError(f"torchvision has no network '{network}'{meant}")
    module = import_torchvision().models.get_model_builder(network).__module__.split(".")
    return module[2] if len(module) > 3 else "classification"


def input_shape(network: str) -> tuple[int, ...]:
    """Shape of one input at batch 1: the size that torchvision's first weights of the network were made for."""
    kind = family(network)
    if kind == "detection":
        edge = next((edge for start, edge in DETECTION_EDGES.items() if network.startswith(start)), DETECTION_EDGE)
        return (1, 3, edge, edge)
    if kind == "segmentation":
        return (1, 3, SEGMENTATION_EDGE, SEGMENTATION_EDGE)
    if kind == "optical_flow":
        return (1, 3, *FLOW_SIZE)
    high, wide = _crop(network)
    return (1, 3, FRAMES, high, wide) if kind == "video" else (1, 3, high, wide)


def capture_torchvision(network: str, shape: tuple[int, ...] | None = None) -> Workload:
    """The ops of a torchvision network, built without weights, for inputs of that shape or of its own.

    The shape is that of a batch of pictures or clips. Two of it go into an optical-flow network, and a detector takes
    its pictures as a list. Raises CaptureError for a name that torchvision does not know.
    """
    whole, kind = shape or input_shape(network), family(network)
    if kind == "detection":  # picture by picture behind its heads, so that more pictures are more rows
        one, two = (trace_torchvision(network, (batch, *whole[1:]), PICTURES[batch]) for batch in (1, 2))
        return sample_by_sample(one, two).at_batch(whole[0])
    one = trace_torchvision(network, whole)
    if kind == "optical_flow":  # its grid of positions is as long as the batch
        return fitted(one, trace_torchvision(network, (3 * whole[0], *whole[1:])))
    return one


def trace_torchvision(network: str, shape: tuple[int, ...], fixed_batch: str = "") -> Workload:
    """The ops for inputs of exactly that shape, as they are traced."""
    kind, module = family(network), build(network, shape)
    with every_box_passes() if kind == "detection" else nullcontext():
        return capture(module, example(module, kind, shape), f"torchvision/{network}", fixed_batch)


def example(module: torch.nn.Module, kind: str, shape: tuple[int, ...]) -> Example:
    """What a network of that family is called with."""
    parameter = next(module.parameters())

    def picture(*size: int) -> torch.Tensor:
        return torch.empty(size, device=parameter.device, dtype=parameter.dtype)

    if kind == "detection":
        return Example(([picture(*shape[1:]) for _ in range(shape[0])],), shape[0])
    count = 2 if kind == "optical_flow" else 1
    return Example(tuple(picture(*shape) for _ in range(count)), shape[0])


def build(network: str, shape: tuple[int, ...]) -> torch.nn.Module:
    """The network in evaluation mode, on the meta device where it can be built there."""
    models = import_torchvision().models
    options = _options(network, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # news of torchvision about its initialisations, which do not matter here
        try:
            with torch.device("meta"):
                module: torch.nn.Module = models.get_model(network, **options)
        except NotImplementedError:  # RegNet computes its widths with tensors
            module = models.get_model(network, **options)
        except AssertionError as error:  # a vision transformer wants whole patches
            raise CaptureError(f"torchvision/{network} is not made for {shape[-2:]}: {error}") from error
        module.eval()
        return lay_out(module) if family(network) == "quantization" else module


def _options(network: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """No weights, else as its weights would make it: with an auxiliary classifier, with a position for each patch."""
    parameters = inspect.signature(import_torchvision().models.get_model_builder(network)).parameters
    options: dict[str, Any] = {name: None for name in ("weights", "weights_backbone") if name in parameters}
    if "aux_loss" in parameters and family(network) == "segmentation":
        options["aux_loss"] = True
    if network.startswith("vit_"):
        options["image_size"] = shape[-1]
    return options


def _crop(network: str) -> tuple[int, int]:
    first = next(iter(import_torchvision().models.get_model_weights(network)))
    crop = first.transforms.keywords["crop_size"]
    return (crop, crop) if isinstance(crop, int) else tuple(crop)
