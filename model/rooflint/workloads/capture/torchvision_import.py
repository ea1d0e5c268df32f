"""Import torchvision, also where its compiled operators do not load.

torchvision's wheels link a CUDA build of torch. Beside a CPU build their shared library does not load, and importing
the package then fails where it registers shapes for two operators that the library would have defined. Nothing here
calls them: their schemas are enough for the import. Where torchvision imports by itself, this module only imports it.
"""

import importlib
from functools import cache
from types import ModuleType
from typing import Any

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_SYMPTOM = "operator torchvision::nms does not exist"


@cache
def import_torchvision() -> ModuleType:
    """The package torchvision. Any error but that of the missing operators is raised as it is."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if _SYMPTOM not in str(error):
            raise
    library = _definitions()
    for schema in _SCHEMAS:
        library.define(schema)
    return importlib.import_module("torchvision")


@cache
def _definitions() -> Any:
    """Schemas live as long as this object, which the cache keeps."""
    untyped: Any = torch.library
    return untyped.Library("torchvision", "FRAGMENT")
