"""torchvision's networks: how each is built without weights, called and traced. Needs torch.

A quantised network is traced without quantising anything: its own `fuse_model()` folds batch norms into convolutions,
as before a conversion, and its two stubs become the ops that they stand for. Counts are elements, so the table does
not depend on precisions: choose INT8 when using it.
"""

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from rooflint.base.errors import MissingTorchError, extra
from rooflint.workloads.capture.graph import AXES, CaptureError
from rooflint.workloads.capture.trace import Example, capture, no_batch
from rooflint.workloads.scaling import fitted, sample_by_sample
from rooflint.workloads.tables import UnknownNetworkError
from rooflint.workloads.workload import Workload

# ---- Import, also where torchvision's compiled operators do not load
#
# Its wheels link a CUDA build of torch. Beside a CPU build their shared library does not load, and importing the
# package then fails where it registers shapes for two operators that the library would have defined. Nothing here
# calls them: their schemas are enough for the import.

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_SYMPTOM = "operator torchvision::nms does not exist"


@cache
def import_torchvision() -> ModuleType:
    """The package torchvision. Any error but that of the missing operators is raised as it is.

    Raises MissingTorchError where it is not installed.
    """
    try:
        return importlib.import_module("torchvision")
    except ModuleNotFoundError as error:
        if error.name != "torchvision":
            raise
        raise MissingTorchError(f"building this network needs torchvision; {extra('torch')}") from error
    except RuntimeError as error:
        if _SYMPTOM not in str(error):
            raise
    library = _definitions()
    for schema in _SCHEMAS:
        library.define(schema)
    return importlib.import_module("torchvision")


def lacks_operators(error: BaseException | None) -> bool:
    """Whether an error goes back to an import of torchvision that misses its operators."""
    while error is not None:
        if _SYMPTOM in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@cache
def _definitions() -> Any:
    """Schemas live as long as this object, which the cache keeps."""
    untyped: Any = torch.library
    return untyped.Library("torchvision", "FRAGMENT")


# ---- Ops that stand for what torch.export cannot show

_library: Any = torch.library.Library("rooflint", "FRAGMENT")
_library.define("quantize(Tensor self) -> Tensor")
_library.define("dequantize(Tensor self) -> Tensor")
_library.define("every(Tensor condition) -> Tensor")
_library.define("batched_nms(Tensor boxes, Tensor scores, Tensor classes) -> Tensor")
_library.define("roi_align(Tensor[] features, Tensor rois, int height, int width, int sampling) -> Tensor")


# ---- Quantised networks


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


# ---- Detectors, traced as if every box passed every threshold
#
# How many boxes a detector works on depends on the picture, and so do its shapes. Here every filter lets everything
# pass, up to the limits that the network sets itself (top-k before, proposals and detections after), so that its shapes
# are known and its counts are the most that a picture can ask for. docs/method-workloads.md says what follows.

BOX = 224
"""Edge of a detected box on the picture: the canonical box of Lin et al., "Feature Pyramid Networks", CVPR 2017, eq. 1,
and `canonical_scale` of torchvision's pooler. Masks and key-point maps are scaled to it. [pixel]"""


@torch.library.register_fake("rooflint::every")
def _every(condition: torch.Tensor) -> torch.Tensor:
    """Indices of the rows that pass: all."""
    return condition.new_empty((condition.shape[0],), dtype=torch.int64)


@torch.library.register_fake("rooflint::batched_nms")
def _nms(boxes: torch.Tensor, scores: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """Indices of the boxes that no better one covers: all."""
    return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)


@torch.library.register_fake("rooflint::roi_align")
def _roi_align(
    features: list[torch.Tensor],
    rois: torch.Tensor,
    height: int,
    width: int,
    sampling: int,  # noqa: ARG001
) -> torch.Tensor:
    """A window for each box, from the level of the pyramid that fits it."""
    return features[0].new_empty((rois.shape[0], features[0].shape[1], height, width))


class _EveryPasses(TorchFunctionMode):
    """`torch.where(mask)` and `x[mask]` keep every row."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.where and len(args) == 1 and args[0].dim() == 1:
            return (torch.ops.rooflint.every(args[0]),)
        if func is torch.Tensor.__getitem__ and _is_mask(args[1]):
            return args[0][torch.ops.rooflint.every(args[1])]
        return func(*args, **(kwargs or {}))


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype == torch.bool and index.dim() == 1


@contextmanager
def every_box_passes() -> Iterator[None]:
    """While this is open, torchvision's detectors have shapes that do not depend on the picture."""
    library = import_torchvision()
    detection, ops = library.models.detection, library.ops

    with ExitStack() as stack:
        stack.enter_context(patch.object(ops.boxes, "batched_nms", _batched_nms))
        stack.enter_context(patch.object(ops.poolers, "_multiscale_roi_align", _multiscale_roi_align))
        stack.enter_context(patch.object(detection.transform, "paste_masks_in_image", _paste_masks))
        stack.enter_context(patch.object(detection.roi_heads, "heatmaps_to_keypoints", _keypoints))
        stack.enter_context(_EveryPasses())
        yield


def _batched_nms(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    idxs: torch.Tensor,
    iou_threshold: float,  # noqa: ARG001
) -> torch.Tensor:
    kept: torch.Tensor = torch.ops.rooflint.batched_nms(boxes, scores, idxs)
    return kept


def _multiscale_roi_align(
    x_filtered: list[torch.Tensor],
    boxes: list[torch.Tensor],
    output_size: tuple[int, int],
    sampling_ratio: int,
    scales: list[float] | None,  # noqa: ARG001
    mapper: Callable[[list[torch.Tensor]], torch.Tensor],
) -> torch.Tensor:
    """Each box is pooled once, whichever level it belongs to; which one is still worked out."""
    mapper(boxes)
    pooled: torch.Tensor = torch.ops.rooflint.roi_align(x_filtered, torch.cat(boxes), *output_size, sampling_ratio)
    return pooled


def _paste_masks(masks: torch.Tensor, boxes: torch.Tensor, img_shape: tuple[int, int], padding: int = 1) -> Any:  # noqa: ARG001
    """Each mask is scaled to its box and laid into an empty picture."""
    height, width = img_shape
    size = (min(BOX, height), min(BOX, width))
    padded = torch.nn.functional.pad(masks, (padding,) * 4)
    scaled = torch.nn.functional.interpolate(padded, size=size, mode="bilinear", align_corners=False)
    return torch.nn.functional.pad(scaled, (0, width - size[1], 0, height - size[0]))


def _keypoints(maps: torch.Tensor, rois: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The place of the largest value of each map, scaled to its box, and that value.

    Returns the places, shape [boxes, key points, 3], and the values, shape [boxes, key points].
    """
    scaled = torch.nn.functional.interpolate(maps, size=(BOX, BOX), mode="bicubic", align_corners=False)
    best, place = scaled.flatten(2).max(dim=2)
    down = torch.div(place, BOX, rounding_mode="floor")
    across = place - down * BOX
    corner, size = rois[:, None, :2], (rois[:, 2:] - rois[:, :2])[:, None, :] / BOX
    places = (torch.stack([across, down], dim=2) + 0.5) * size + corner
    return torch.cat([places, torch.ones_like(places[:, :, :1])], dim=2), best


# ---- Each network

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
    """One of FAMILIES. Raises UnknownNetworkError for a name that torchvision does not know."""
    if network not in (known := networks()):
        raise UnknownNetworkError(network, known)
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
    its pictures as a list. Raises UnknownNetworkError for a name that torchvision does not know, and CaptureError for
    a shape without a batch.
    """
    own, kind = input_shape(network), family(network)
    whole = shape or own
    if len(whole) == len(own) - 1:
        raise no_batch(network, "batch,channels,frames,height,width" if kind == "video" else AXES[2], whole)
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


def build_for_run(network: str, shape: tuple[int, ...]) -> torch.nn.Module:
    """The network in evaluation mode on the CPU, with random weights; a quantised one computes in int8.

    Raises CaptureError where this machine cannot build it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # news of torchvision about its initialisations, and of torch about int8
        options = _options(network, shape)
        if family(network) == "quantization":
            options["quantize"] = True
        try:
            module: torch.nn.Module = import_torchvision().models.get_model(network, **options)
        except (RuntimeError, AssertionError) as error:
            raise CaptureError(f"torchvision/{network} cannot be built here: {error}") from error
    return module.eval()


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
