"""Detection shapes: detectors traced as if every box passed every threshold. Needs torch.

How many boxes a detector works on depends on the picture, and so do its shapes. Here every filter lets everything
pass, up to the limits that the network sets itself (top-k before, proposals and detections after), so that its shapes
are known and its counts are the most that a picture can ask for. docs/method-workloads.md says what follows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from rooflint.workloads.capture.torchvision_import import import_torchvision

BOX = 224
"""Edge of a detected box on the picture: the canonical box of Lin et al., "Feature Pyramid Networks", CVPR 2017, eq. 1,
and `canonical_scale` of torchvision's pooler. Masks and key-point maps are scaled to it. [pixel]"""

_library: Any = torch.library.Library("rooflint", "FRAGMENT")
_library.define("every(Tensor condition) -> Tensor")
_library.define("batched_nms(Tensor boxes, Tensor scores, Tensor classes) -> Tensor")
_library.define("roi_align(Tensor[] features, Tensor rois, int height, int width, int sampling) -> Tensor")


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
    import_torchvision()
    from torchvision.models.detection import (  # noqa: PLC0415
        roi_heads,
        transform,  # only after the guarded import
    )
    from torchvision.ops import (  # noqa: PLC0415
        boxes,
        poolers,
    )

    with ExitStack() as stack:
        stack.enter_context(patch.object(boxes, "batched_nms", _batched_nms))
        stack.enter_context(patch.object(poolers, "_multiscale_roi_align", _multiscale_roi_align))
        stack.enter_context(patch.object(transform, "paste_masks_in_image", _paste_masks))
        stack.enter_context(patch.object(roi_heads, "heatmaps_to_keypoints", _keypoints))
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
