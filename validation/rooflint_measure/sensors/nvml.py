"""An NVIDIA GPU as its driver sees it, through NVML: identity, clocks, heat, power, and what holds it back."""

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.power import CounterSource, PowerLost, SampledSource

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

#: A clock that was set is a condition of all samples alike, and disturbs none of them.
CHOSEN = ("applications_clocks_setting",)

#: Policies whose violation is counted in nanoseconds, by their number in NVML.
POLICIES = {0: "power_violation", 1: "thermal_violation", 3: "board_limit_violation"}

SM, MEMORY = 1, 2
"""Clock domains of NVML."""

MILLI, MEGA = 1e-3, 1e6


@dataclass(frozen=True)
class NvidiaGpu:
    """One device; `nvml` is the module pynvml of nvidia-ml-py, or a stand-in."""

    nvml: Any
    handle: Any

    @property
    def name(self) -> str:
        """`NVIDIA H200`, as the driver names it."""
        return str(self._value("Name") or "unknown NVIDIA GPU")

    def facts(self) -> dict[str, str | int | float | bool]:
        """What can change a figure and stays from run to run; no serial number, no UUID."""
        found = {
            "board part": self._value("BoardPartNumber"),
            "vbios": self._value("VbiosVersion"),
            "compute capability": _joined(self._value("CudaComputeCapability")),
            "memory MiB": self._memory_mib(),
            "power limit W": _scaled(self._value("EnforcedPowerLimit"), MILLI),
            "default power limit W": _scaled(self._value("PowerManagementDefaultLimit"), MILLI),
            "max SM clock MHz": self._value("MaxClockInfo", SM),
            "max memory clock MHz": self._value("MaxClockInfo", MEMORY),
            "ecc": _first_on(self._value("EccMode")),
            "mig": _first_on(self._value("MigMode")),
            "persistence": _on(self._value("PersistenceMode")),
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
            power_w=self._number("PowerUsage", scale=MILLI),
            power_limit_w=self._number("EnforcedPowerLimit", scale=MILLI),
            throttle=self._throttle(),
            load=load,
        )

    def reasons(self) -> tuple[str, ...]:
        """What holds the clock back just now without having been set; none where the driver does not report it."""
        found = self._throttle()
        return () if isinstance(found, Unavailable) else tuple(one for one in found if one not in CHOSEN)

    def violations(self) -> dict[str, int]:
        """Time for which power and heat held the clock back since the driver was loaded, as far as counted. [ns]"""
        found = {name: self._device("ViolationStatus", policy) for policy, name in POLICIES.items()}
        return {name: int(one.violationTime) for name, one in found.items() if not isinstance(one, Unavailable)}

    def power(self) -> CounterSource | SampledSource | Unavailable:
        """The energy counter, which Volta and later have; else the power, sampled."""
        if not isinstance(self._device("TotalEnergyConsumption"), Unavailable):
            return CounterSource(
                "nvml energy counter", lambda: self._or_lost("TotalEnergyConsumption") * MILLI, unit_j=MILLI
            )
        power = self._device("PowerUsage")
        if isinstance(power, Unavailable):
            return power
        return SampledSource("nvml power", lambda: self._or_lost("PowerUsage") * MILLI)

    def _throttle(self) -> tuple[str, ...] | Unavailable:
        bits = self._device("CurrentClocksEventReasons")
        if isinstance(bits, Unavailable):  # the name that it had before 2023
            bits = self._device("CurrentClocksThrottleReasons")
        return bits if isinstance(bits, Unavailable) else tuple(name for bit, name in REASONS.items() if bits & bit)

    def _memory_mib(self) -> int | None:
        memory = self._value("MemoryInfo")
        return None if memory is None else int(memory.total) >> 20

    def _number(self, what: str, *arguments: int, scale: float = 1.0) -> float | Unavailable:
        found = self._device(what, *arguments)
        return found if isinstance(found, Unavailable) else float(found * scale)

    def _value(self, what: str, *arguments: int) -> Any:
        found = self._device(what, *arguments)
        return None if isinstance(found, Unavailable) else found

    def _or_lost(self, what: str) -> int:
        found = self._device(what)
        if isinstance(found, Unavailable):
            raise PowerLost(f"{found.reason}; the device answered before")
        return int(found)

    def _device(self, what: str, *arguments: int) -> Any:
        return self._call(f"nvmlDeviceGet{what}", self.handle, *arguments)

    def _call(self, function: str, *arguments: Any) -> Any:
        """The answer, or Unavailable with the driver's message."""
        ask = getattr(self.nvml, function, None)
        if ask is None:
            return Unavailable(reason=f"this nvidia-ml-py has no {function}")
        try:
            return ask(*arguments)
        except self.nvml.NVMLError as error:
            return Unavailable(reason=f"NVML: {function}: {error}")


def find(index: int = 0, nvml: Any = None, environment: Mapping[str, str] = os.environ) -> "NvidiaGpu | Unavailable":
    """The GPU that CUDA calls by this index, by CUDA_VISIBLE_DEVICES; without it, in the driver's order.

    CUDA puts the fastest device first unless CUDA_DEVICE_ORDER is PCI_BUS_ID, which differs where devices differ.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return Unavailable(reason="nvidia-ml-py is not installed; pip install 'rooflint[gpu]'")
    try:
        nvml.nvmlInit()
        return NvidiaGpu(nvml, _handle(nvml, index, environment.get("CUDA_VISIBLE_DEVICES")))
    except (nvml.NVMLError, LookupError) as error:
        return Unavailable(reason=f"NVML: {error}")


def _handle(nvml: Any, index: int, visible: str | None) -> Any:
    names = [name.strip() for name in visible.split(",")] if visible else None
    if names is None:
        return nvml.nvmlDeviceGetHandleByIndex(index)
    if index >= len(names):
        raise LookupError(f"CUDA_VISIBLE_DEVICES shows {len(names)} devices, and number {index} was asked for")
    if names[index].isdecimal():
        return nvml.nvmlDeviceGetHandleByIndex(int(names[index]))
    return nvml.nvmlDeviceGetHandleByUUID(names[index])


def _scaled(value: int | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _on(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _first_on(modes: list[int] | None) -> bool | None:
    """Of (now, after the next start)."""
    return None if modes is None else bool(modes[0])


def _joined(numbers: tuple[int, int] | None) -> str | None:
    return None if numbers is None else ".".join(map(str, numbers))
