"""GPUs through the libraries of their drivers: identity, clocks, heat, power, and what holds a clock back.

NVIDIA's are read through NVML here, AMD's in `amd`.
"""

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rooflint.base.errors import extra
from rooflint_measure.identity import Facts
from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.power import PowerSource, source_of

MILLI, MEGA = 1e-3, 1e6


class Gpu(ABC):
    """One device, as the library of its driver shows it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As the driver names it: `NVIDIA H200`, `AMD Instinct MI300X`."""

    @abstractmethod
    def facts(self) -> Facts:
        """What can change a figure and stays from run to run; no serial number, no UUID."""

    @abstractmethod
    def state(self, load: float | Unavailable) -> State:
        """What it does just now; the load is the host's."""

    @abstractmethod
    def power(self) -> PowerSource | Unavailable:
        """The source of its energy."""

    def software(self) -> dict[str, str]:
        """The driver and its version, as far as known."""
        return {}

    @abstractmethod
    def throttle(self) -> tuple[str, ...] | Unavailable:
        """What holds the clock back just now, set limits included."""

    def reasons(self) -> tuple[str, ...]:
        """What holds the clock back just now without having been set; none where the driver does not report it."""
        found = self.throttle()
        return () if isinstance(found, Unavailable) else tuple(one for one in found if one not in CHOSEN)

    def violations(self) -> dict[str, int]:
        """Counters of what held the clock back, as far as they can be read from sample to sample."""
        return {}

    def others(self) -> str | Unavailable:
        """What other processes do on it; empty where there are none."""
        return Unavailable(reason="the driver's library is not asked for other processes")


@dataclass(frozen=True)
class UnreadableGpu(Gpu):
    """A device that computes, but whose driver's library is missing."""

    torch_name: str
    reason: Unavailable

    @property
    def name(self) -> str:
        """As torch names it."""
        return self.torch_name

    def facts(self) -> Facts:
        """Why nothing is known, so that it is not taken for a device that could be read."""
        return {"driver library": str(self.reason)}

    def state(self, load: float | Unavailable) -> State:
        """The reason in place of every value."""
        return State(
            clock_hz=self.reason,
            memory_clock_hz=self.reason,
            temperature_c=self.reason,
            power_w=self.reason,
            power_limit_w=self.reason,
            throttle=self.reason,
            load=load,
        )

    def power(self) -> Unavailable:
        """The reason."""
        return self.reason

    def throttle(self) -> Unavailable:
        """The reason."""
        return self.reason


# ---- NVIDIA

#: Bits of the clocks event reasons, as NVML's headers name them. The bit of an idle GPU is left out.
REASONS = {
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}

#: A clock that was set is a condition of all samples alike, and disturbs none of them. So is the power limit: a large
#: product runs at it, and a clock that follows it is one state, in which the limit is reported now and then.
CHOSEN = ("applications_clocks_setting", "sw_power_cap", "power_limit")

#: Policies whose violation is counted in nanoseconds, by their number in NVML. Number 0, the power limit, is CHOSEN.
POLICIES = {1: "thermal_violation", 3: "board_limit_violation"}

#: Field of `nvmlDeviceGetFieldValues` with the power of this moment. [mW]
POWER_INSTANT = 186

AVERAGED_S = 1.0
"""What PowerUsage averages over on GPUs of Ampere (except GA100) and later, by NVML's reference. [s]"""

GA100 = (8, 0)
"""Compute capability of the last architecture whose PowerUsage is of this moment, and of the A100 alone."""

SM, MEMORY = 1, 2
"""Clock domains of NVML."""


@dataclass(frozen=True)
class NvidiaGpu(Gpu):
    """One device; `nvml` is the module pynvml of nvidia-ml-py, or a stand-in."""

    nvml: Any
    handle: Any
    """Of the whole GPU, also where a slice of it computes."""
    slice: str = ""
    """The MIG profile of the slice that computes: `1g.10gb`; empty for the whole GPU."""

    @property
    def name(self) -> str:
        """`NVIDIA H200`, as the driver names it; `NVIDIA H200 MIG 1g.18gb` for a slice, as torch does."""
        whole = str(self._value("Name") or "unknown NVIDIA GPU")
        return f"{whole} MIG {self.slice}" if self.slice else whole

    def facts(self) -> Facts:
        """Limits and modes that were set, and what the driver says of the board."""
        found = {
            "board part": self._value("BoardPartNumber"),
            "vbios": self._value("VbiosVersion"),
            "compute capability": self._value(
                "CudaComputeCapability", then=lambda numbers: ".".join(map(str, numbers))
            ),
            "memory MiB": self._value("MemoryInfo", then=lambda memory: int(memory.total) >> 20),
            "power limit W": self._value("EnforcedPowerLimit", then=_watts),
            "default power limit W": self._value("PowerManagementDefaultLimit", then=_watts),
            "max SM clock MHz": self._value("MaxClockInfo", SM),
            "max memory clock MHz": self._value("MaxClockInfo", MEMORY),
            "ecc": self._value("EccMode", then=_is_on_now),
            "mig": self._value("MigMode", then=_is_on_now),
            "mig slice": self.slice,
            "persistence": self._value("PersistenceMode", then=bool),
        }
        return {name: value for name, value in found.items() if value not in (None, "")}

    def software(self) -> dict[str, str]:
        """Driver, and the newest CUDA that it runs."""
        cuda = self._call("nvmlSystemGetCudaDriverVersion")
        found = {
            "NVIDIA driver": self._call("nvmlSystemGetDriverVersion"),
            "CUDA of the driver": None if isinstance(cuda, Unavailable) else f"{cuda // 1000}.{cuda % 1000 // 10}",
        }
        return {name: str(value) for name, value in found.items() if value and not isinstance(value, Unavailable)}

    def state(self, load: float | Unavailable) -> State:
        """What it does just now."""
        return State(
            clock_hz=self._number("ClockInfo", SM, scale=MEGA),
            clock_source="nvml",
            memory_clock_hz=self._number("ClockInfo", MEMORY, scale=MEGA),
            temperature_c=self._number("Temperature", 0),
            power_w=self._power_w(),
            power_limit_w=self._number("EnforcedPowerLimit", scale=MILLI),
            throttle=self.throttle(),
            load=load,
        )

    def violations(self) -> dict[str, int]:
        """Time for which power and heat held the clock back since the driver was loaded, as far as counted. [ns]"""
        found = {name: self._device("ViolationStatus", policy) for policy, name in POLICIES.items()}
        return {name: int(one.violationTime) for name, one in found.items() if not isinstance(one, Unavailable)}

    def others(self) -> str | Unavailable:
        """How many other processes compute on it, and the memory that they hold; containers hide some of them."""
        found = self._device("ComputeRunningProcesses")
        if isinstance(found, Unavailable):
            return found
        foreign = [one for one in found if one.pid != os.getpid()]
        held = sum(one.usedGpuMemory or 0 for one in foreign)
        count = f"{len(foreign)} other process{'es' if len(foreign) > 1 else ''}"
        return f"{count} on the GPU, with {held >> 20} MiB" if foreign else ""

    def power(self) -> PowerSource | Unavailable:
        """The energy counter, which Volta and later have; else the power, sampled."""
        if self.slice:
            return Unavailable(
                reason=f"a MIG slice ({self.slice}) has no meter; that of the GPU includes its neighbours"
            )
        read_j = partial(self._number, "TotalEnergyConsumption", scale=MILLI)
        averaged_s = AVERAGED_S if isinstance(self._instant_w(), Unavailable) and self._averages() else 0.0
        return source_of("nvml", read_j, self._power_w, lambda: MILLI, averaged_s)

    def _power_w(self) -> float | Unavailable:
        """Of this moment where the driver has it; else PowerUsage, which newer GPUs average over a second. [W]"""
        instant = self._instant_w()
        return self._number("PowerUsage", scale=MILLI) if isinstance(instant, Unavailable) else instant

    def _instant_w(self) -> float | Unavailable:
        found = self._device("FieldValues", [POWER_INSTANT])
        if isinstance(found, Unavailable):
            return found
        if found[0].nvmlReturn != 0:  # each field has a status of its own
            return Unavailable(reason="NVML: this GPU has no NVML_FI_DEV_POWER_INSTANT")
        return float(found[0].value.uiVal * MILLI)

    def _averages(self) -> bool:
        capability = self._device("CudaComputeCapability")
        return not isinstance(capability, Unavailable) and tuple(capability) > GA100

    def throttle(self) -> tuple[str, ...] | Unavailable:
        """The clocks event reasons."""
        bits = self._device("CurrentClocksEventReasons")
        if isinstance(bits, Unavailable):  # the name that it had before 2023
            bits = self._device("CurrentClocksThrottleReasons")
        return bits if isinstance(bits, Unavailable) else tuple(name for bit, name in REASONS.items() if bits & bit)

    def _number(self, what: str, *arguments: int, scale: float = 1.0) -> float | Unavailable:
        found = self._device(what, *arguments)
        return found if isinstance(found, Unavailable) else float(found * scale)

    def _value(self, what: str, *arguments: int, then: Callable[[Any], Any] = lambda found: found) -> Any:
        found = self._device(what, *arguments)
        return None if isinstance(found, Unavailable) else then(found)

    def _device(self, what: str, *arguments: Any) -> Any:
        return self._call(f"nvmlDeviceGet{what}", self.handle, *arguments)

    def _call(self, function: str, *arguments: Any) -> Any:
        if not hasattr(self.nvml, function):
            return Unavailable(reason=f"this nvidia-ml-py has no {function}")
        try:
            return getattr(self.nvml, function)(*arguments)
        except self.nvml.NVMLError as error:
            return Unavailable(reason=f"NVML: {function}: {error}")


def find_nvidia(
    index: int = 0, nvml: Any = None, environment: Mapping[str, str] = os.environ
) -> NvidiaGpu | Unavailable:
    """The GPU that CUDA calls by this index, by CUDA_VISIBLE_DEVICES; without it, in the driver's order.

    CUDA puts the fastest device first unless CUDA_DEVICE_ORDER is PCI_BUS_ID, which differs where devices differ.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return Unavailable(reason=f"nvidia-ml-py is not installed; {extra('gpu')}")
    try:
        nvml.nvmlInit()
        return NvidiaGpu(nvml, _handle(nvml, index, environment.get("CUDA_VISIBLE_DEVICES")))
    except (nvml.NVMLError, LookupError) as error:
        return Unavailable(reason=f"NVML: {error}")


#: Oldest Linux driver of each CUDA, by the number before the point, whatever follows it. NVIDIA, CUDA Compatibility,
#: "Minor Version Compatibility", table 1 and note: https://docs.nvidia.com/deploy/cuda-compatibility/
LEAST_DRIVERS = {11: "450.80.02", 12: "525", 13: "580"}


def driver_version(nvml: Any = None) -> str:
    """`575.57.08`; empty where NVML is not there or does not answer."""
    found = find_nvidia(0, nvml, {})
    return "" if isinstance(found, Unavailable) else found.software().get("NVIDIA driver", "")


def old_driver(version: str, cuda: str | None) -> str:
    """Why a driver is too old for a build of torch, and what to do; empty where it is not, or nothing is known."""
    least = LEAST_DRIVERS.get(int(cuda.partition(".")[0])) if cuda else None
    if not version or least is None or _parts(version) >= _parts(least):
        return ""
    able = [number for number, driver in LEAST_DRIVERS.items() if _parts(version) >= _parts(driver)]
    instead = f", or install a torch for CUDA {max(able)}" if able else ""
    return (
        f"driver {version} is older than {least}, which CUDA {cuda} of this torch needs: "
        f"update the driver (nvidia-smi prints its version){instead}"
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _handle(nvml: Any, index: int, visible: str | None) -> Any:
    names = [name.strip() for name in visible.split(",")] if visible else None
    if names is None:
        return nvml.nvmlDeviceGetHandleByIndex(index)
    if index >= len(names):
        raise LookupError(f"CUDA_VISIBLE_DEVICES shows {len(names)} devices, and number {index} was asked for")
    if names[index].isdecimal():
        return nvml.nvmlDeviceGetHandleByIndex(int(names[index]))
    handle = nvml.nvmlDeviceGetHandleByUUID(names[index])
    # clocks, limits and power are those of the GPU; its slices have none
    return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle) if names[index].startswith("MIG-") else handle


def _watts(milliwatts: int) -> float:
    return milliwatts * MILLI


def _is_on_now(modes: list[int]) -> bool:
    """The first of (now, after the next start)."""
    return bool(modes[0])
