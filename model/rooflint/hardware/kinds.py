"""Kinds of devices: what the model takes from the kind alone. A new kind is a row here, besides its specs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceKind:
    """What all devices of a kind have in common."""

    example: str = ""
    """The device that stands for the kind where a user names only the kind."""
    is_default: bool = False
    """The example is compared where a user names no device."""
    control: str = ""
    """The events that its control energy counts; none where it is not known."""
    is_cores: bool = False
    """Units are ports of cores: matrix arrays are laid out as lanes, operands pass an L1, unlike units add up."""
    is_threaded: bool = False
    """Matrix units and lanes sit in groups that schedule warps."""
    has_kernel_models: bool = False
    """Kernel times are calibrated."""


KINDS = {
    "cpu": DeviceKind("intel/xeon-8490h", is_default=True, control="cores", is_cores=True),
    "gpu": DeviceKind(
        "nvidia/h100-sxm5-80gb", is_default=True, control="warps", is_threaded=True, has_kernel_models=True
    ),
    "tpu": DeviceKind("google/tpu-v4", is_default=True, control="systolic"),
    "kpu": DeviceKind("stillwater/kpu-t256", is_default=True, control="dataflow"),
    "npu": DeviceKind(),
    "dsp": DeviceKind("ti/tms320c6678", is_cores=True),
}
