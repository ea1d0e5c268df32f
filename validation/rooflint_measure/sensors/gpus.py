"""GPUs, whoever made them: what a driver's library must tell, and one that tells nothing."""

import sys
from dataclasses import dataclass
from typing import Protocol

from rooflint_measure.record.measurement import State, Unavailable
from rooflint_measure.sensors import amd_smi, nvml
from rooflint_measure.sensors.power import PowerSource

Facts = dict[str, str | int | float | bool]


class Gpu(Protocol):
    """One device."""

    @property
    def name(self) -> str:
        """As the driver names it."""

    def facts(self) -> Facts:
        """What can change a figure and stays from run to run."""

    def software(self) -> dict[str, str]:
        """Driver and its version."""

    def state(self, load: float | Unavailable) -> State:
        """What it does just now."""

    def reasons(self) -> tuple[str, ...]:
        """What holds the clock back just now and was not asked for."""

    def violations(self) -> dict[str, int]:
        """Counters of what held it back."""

    def power(self) -> PowerSource | Unavailable:
        """Who knows its energy."""


@dataclass(frozen=True)
class MuteGpu:
    """A device that computes, and whose driver's library is not there."""

    name: str
    why: Unavailable

    def facts(self) -> Facts:
        """Why nothing is known, so that it does not merge with recordings of a device that told."""
        return {"driver library": str(self.why)}

    def software(self) -> dict[str, str]:
        """Nobody says."""
        return {}

    def state(self, load: float | Unavailable) -> State:
        """The reason in place of every value."""
        return State(
            clock_hz=self.why,
            memory_clock_hz=self.why,
            temperature_c=self.why,
            power_w=self.why,
            power_limit_w=self.why,
            throttle=self.why,
            load=load,
        )

    def reasons(self) -> tuple[str, ...]:
        """Nobody says."""
        return ()

    def violations(self) -> dict[str, int]:
        """Nobody counts."""
        return {}

    def power(self) -> Unavailable:
        """The reason."""
        return self.why


def find(number: int) -> Gpu:
    """The device that torch calls `cuda:number`: NVIDIA's where NVML answers, else AMD's, else a mute one."""
    nvidia = nvml.find(number)
    if not isinstance(nvidia, Unavailable):
        return _same(nvidia, number)
    amd = amd_smi.find(number)
    if not isinstance(amd, Unavailable):
        return amd  # its libraries spell the names of one device differently, so there is nothing to compare
    why = Unavailable(reason=f"{nvidia.reason}; {amd.reason}")
    return MuteGpu(_torch_name(number) or "unknown GPU", why)


def _same(found: nvml.NvidiaGpu, number: int) -> Gpu:
    """What was found, unless torch computes on another device: clocks and energy of a neighbour are worse than none."""
    name = _torch_name(number)
    if name is None or name == found.name:
        return found
    names = f"cuda:{number} is '{name}' to torch and '{found.name}' to its driver's library"
    return MuteGpu(name, Unavailable(reason=f"{names}; set CUDA_DEVICE_ORDER=PCI_BUS_ID"))


def _torch_name(number: int) -> str | None:
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name(number)) if torch and torch.cuda.is_available() else None
