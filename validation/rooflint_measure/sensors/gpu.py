"""GPUs through the libraries of their drivers: identity, clocks, heat, power, and what holds a clock back.

NVIDIA's are read through NVML, AMD's through AMD SMI, the Python library of ROCm.
"""

import importlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from typing import Any

from rooflint_measure.identity import Facts
from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.power import PowerSource, source_of

MICRO, MILLI, MEGA = 1e-6, 1e-3, 1e6


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
            return Unavailable(reason="nvidia-ml-py is not installed; pip install 'rooflint[gpu]'")
    try:
        nvml.nvmlInit()
        return NvidiaGpu(nvml, _handle(nvml, index, environment.get("CUDA_VISIBLE_DEVICES")))
    except (nvml.NVMLError, LookupError) as error:
        return Unavailable(reason=f"NVML: {error}")


#: Oldest Linux driver of each CUDA, by the number before the point. CUDA compatibility guide, "minor version
#: compatibility" (recalled): a CUDA of the same number runs on it, too.
LEAST_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}


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


# ---- AMD

#: What the library writes where the hardware has no value.
MISSING = (None, "", "N/A")

#: Fields of the power, newest first: of this moment, or averaged by the firmware. [W]
POWERS = ("current_socket_power", "socket_power", "average_socket_power")

#: Fields of the violation status that are true while something holds the clock back. The library's counters are not
#: used: they need a tenth of a second to be read.
ACTIVE = {
    "active_ppt_pwr": "power_limit",
    "active_prochot_thrm": "processor_hot",
    "active_socket_thrm": "socket_thermal",
    "active_vr_thrm": "voltage_regulator_thermal",
    "active_hbm_thrm": "memory_thermal",
}


@dataclass(frozen=True)
class AmdGpu(Gpu):
    """One device; `smi` is the module amdsmi, or a stand-in."""

    smi: Any
    handle: Any

    @property
    def name(self) -> str:
        """`AMD Instinct MI300X`, as the driver names it."""
        found = self._field("amdsmi_get_gpu_asic_info", "market_name")
        return "unknown AMD GPU" if isinstance(found, Unavailable) else str(found)

    def facts(self) -> Facts:
        """What the driver says of the board."""
        found = {
            "graphics version": self._field("amdsmi_get_gpu_asic_info", "target_graphics_version"),
            "compute units": self._field("amdsmi_get_gpu_asic_info", "num_compute_units"),
            "vbios": self._field("amdsmi_get_gpu_vbios_info", "version"),
        }
        return {name: value for name, value in found.items() if not isinstance(value, Unavailable)}

    def software(self) -> dict[str, str]:
        """Version of the driver."""
        found = self._field("amdsmi_get_gpu_driver_info", "driver_version")
        return {} if isinstance(found, Unavailable) else {"amdgpu driver": str(found)}

    def state(self, load: float | Unavailable) -> State:
        """What it does just now."""
        return State(
            clock_hz=self._clock_hz("GFX"),
            clock_source="amdsmi",
            memory_clock_hz=self._clock_hz("MEM"),
            temperature_c=self._temperature_c(),
            power_w=self._power_w(),
            power_limit_w=Unavailable(reason="AMD SMI gives the limit in watts or in microwatts, by its version"),
            throttle=self.throttle(),
            load=load,
        )

    def power(self) -> PowerSource | Unavailable:
        """The energy counter; else the power, sampled."""

        def unit_j() -> float:
            return float(self._field("amdsmi_get_energy_count", "counter_resolution")) * MICRO

        return source_of("amdsmi", self._energy_j, self._power_w, unit_j)

    def _energy_j(self) -> float | Unavailable:
        """Counts times what one stands for, which the library gives in microjoules. [J]"""
        found = self._call("amdsmi_get_energy_count", self.handle)
        if isinstance(found, Unavailable):
            return found
        counts, each_uj = (found.get(name) for name in ("energy_accumulator", "counter_resolution"))
        if counts in MISSING or each_uj in MISSING:  # older libraries call the first one `power`
            return Unavailable(
                reason="AMD SMI: amdsmi_get_energy_count returned no energy_accumulator of a known resolution"
            )
        return float(counts * each_uj * MICRO)

    def _power_w(self) -> float | Unavailable:
        found = [self._field("amdsmi_get_power_info", name) for name in POWERS]
        known = [float(value) for value in found if not isinstance(value, Unavailable) and value]
        return known[0] if known else found[0] if isinstance(found[0], Unavailable) else Unavailable(reason="no power")

    def _clock_hz(self, domain: str) -> float | Unavailable:
        kind = getattr(getattr(self.smi, "AmdSmiClkType", None), domain, None)
        found = self._field("amdsmi_get_clock_info", "clk", kind)
        return found if isinstance(found, Unavailable) else float(found) * MEGA

    def _temperature_c(self) -> float | Unavailable:
        kinds = getattr(self.smi, "AmdSmiTemperatureType", None), getattr(self.smi, "AmdSmiTemperatureMetric", None)
        arguments = getattr(kinds[0], "HOTSPOT", None), getattr(kinds[1], "CURRENT", None)
        found = self._call("amdsmi_get_temp_metric", self.handle, *arguments)
        return found if isinstance(found, Unavailable) else float(found)

    def throttle(self) -> tuple[str, ...] | Unavailable:
        """The active violations."""
        found = self._call("amdsmi_get_violation_status", self.handle)
        if isinstance(found, Unavailable):
            return found
        return tuple(reason for field, reason in ACTIVE.items() if found.get(field) is True)

    def _field(self, function: str, field: str, *arguments: Any) -> Any:
        found = self._call(function, self.handle, *arguments)
        if isinstance(found, Unavailable):
            return found
        value = found.get(field)
        return Unavailable(reason=f"AMD SMI: {function} returned no {field}") if value in MISSING else value

    def _call(self, function: str, *arguments: Any) -> Any:
        if not hasattr(self.smi, function):
            return Unavailable(reason=f"this amdsmi has no {function}")
        try:
            return getattr(self.smi, function)(*arguments)
        except self.smi.AmdSmiException as error:
            return Unavailable(reason=f"AMD SMI: {function}: {error}")


def find_amd(index: int = 0, smi: Any = None) -> AmdGpu | Unavailable:
    """The GPU of this number, in the driver's order."""
    if smi is None:
        try:
            with redirect_stdout(StringIO()):  # it prints if ROCm's shared library is missing
                smi = importlib.import_module("amdsmi")
        except (ImportError, OSError, KeyError, AttributeError):  # the last three: the package without the library
            return Unavailable(reason="amdsmi, which comes with ROCm, is not installed")
    try:
        smi.amdsmi_init()
        return AmdGpu(smi, smi.amdsmi_get_processor_handles()[index])
    except (smi.AmdSmiException, LookupError) as error:
        return Unavailable(reason=f"AMD SMI: no GPU number {index} ({error})")


# ---- The device on which torch computes


def find_gpu(number: int) -> Gpu:
    """The device that torch calls `cuda:number`: NVIDIA's where NVML answers, else AMD's, else an unreadable one."""
    nvidia = find_nvidia(number)
    if not isinstance(nvidia, Unavailable):
        return _same(nvidia, number)
    amd = find_amd(number)
    if not isinstance(amd, Unavailable):
        return amd  # its libraries spell the names of one device differently, so they cannot be compared
    return UnreadableGpu(_torch_name(number) or "unknown GPU", Unavailable(reason=f"{nvidia.reason}; {amd.reason}"))


def _same(found: NvidiaGpu, number: int) -> Gpu:
    """What was found, unless torch computes on another device: the clock of a neighbour is worse than none."""
    name = _torch_name(number)
    if name is None or name == found.name:
        return found
    whole, mig, profile = name.partition(" MIG ")
    if mig and whole == found.name:
        return replace(found, slice=profile)
    names = f"cuda:{number} is '{name}' to torch and '{found.name}' to its driver's library"
    return UnreadableGpu(name, Unavailable(reason=f"{names}; set CUDA_DEVICE_ORDER=PCI_BUS_ID"))


def _torch_name(number: int) -> str | None:
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name(number)) if torch and torch.cuda.is_available() else None
