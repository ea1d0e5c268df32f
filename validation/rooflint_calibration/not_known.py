"""Ops and GPUs without calibrated kernel times, and why."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import Hardware
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.dispatch import OPS
from rooflint.kernels.network import CALIBRATED, MODELS, OP_OF

PRECISIONS = ("bf16", "fp16")
"""Tried in this order."""

_WISH = re.compile("; without it there is no silicon latency.*")
"""The part of the reason that a page need not repeat."""

NAMES: Mapping[str, str] = {
    "stream": "element-wise ops, normalisation, softmax, pooling, copies, depthwise convolution",
    "roofline": "any other op",
}
"""Labels for ops whose kernel model has an unclear name."""


def ops() -> Mapping[str, str]:
    """Ops whose constants were fitted to other kernels, with those kernels."""
    others = (name for name in MODELS if name not in CALIBRATED)
    return {NAMES.get(name, name): OPS[OP_OF.get(name, name)].rests_on.partition(": ")[2] for name in others}


def gpus(devices: Iterable[Hardware], registry: Registry) -> Mapping[str, list[str]]:
    """GPUs without calibrated times by reason, usually a missing fact."""
    coefficients = Coefficients(registry)
    found = defaultdict(list)
    for device in devices:
        if device.traits.has_kernel_models and (why := missing(device, coefficients)):
            found[why].append(device.id)
    return dict(sorted(found.items(), key=lambda one: -len(one[1])))


def missing(device: Hardware, coefficients: Coefficients) -> str | None:
    """Why a GPU has no calibrated latency; None if it has one."""
    known = [name for name in PRECISIONS if any(name in unit.precisions for unit in device.units.values())]
    try:
        chip_of(device, (known or PRECISIONS)[0], coefficients.launches())
    except RooflintError as error:
        return _WISH.sub("", str(error).removeprefix(f"{device.label} "))
    return None
