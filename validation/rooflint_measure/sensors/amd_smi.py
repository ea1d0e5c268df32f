"""An AMD GPU through AMD SMI, the Python library of ROCm: identity, clocks, heat, energy."""

import importlib
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.power import CounterSource, PowerLost, SampledSource

MICRO, MEGA = 1e-6, 1e6

#: What the library writes where the hardware has no value.
MISSING = (None, "", "N/A")

#: Fields of the power, newest first: of this moment, or averaged by the firmware. [W]
POWERS = ("current_socket_power", "socket_power", "average_socket_power")

#: Fields of the violation status that are true while something holds the clock back.
ACTIVE = {
    "active_ppt_pwr": "power_limit",
    "active_prochot_thrm": "processor_hot",
    "active_socket_thrm": "socket_thermal",
    "active_vr_thrm": "voltage_regulator_thermal",
    "active_hbm_thrm": "memory_thermal",
}


@dataclass(frozen=True)
class AmdGpu:
    """One device; `smi` is the module amdsmi, or a stand-in."""

    smi: Any
    handle: Any

    @property
    def name(self) -> str:
        """`AMD Instinct MI300X`, as the driver names it."""
        found = self._field("amdsmi_get_gpu_asic_info", "market_name")
        return "unknown AMD GPU" if isinstance(found, Unavailable) else str(found)

    def facts(self) -> dict[str, str | int | float | bool]:
        """What can change a figure and stays from run to run; no serial number."""
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
            throttle=self._throttle(),
            load=load,
        )

    def reasons(self) -> tuple[str, ...]:
        """What holds the clock back just now; none where the driver does not report it."""
        found = self._throttle()
        return () if isinstance(found, Unavailable) else found

    def violations(self) -> dict[str, int]:
        """Nothing is counted from sample to sample: the library's counters need a tenth of a second to be read."""
        return {}

    def power(self) -> CounterSource | SampledSource | Unavailable:
        """The energy counter; else the power, sampled."""
        counted = self._energy_j()
        if not isinstance(counted, Unavailable):
            unit_j = float(self._field("amdsmi_get_energy_count", "counter_resolution")) * MICRO
            return CounterSource("amdsmi energy counter", lambda: _or_lost(self._energy_j()), unit_j=unit_j)
        power_w = self._power_w()
        if isinstance(power_w, Unavailable):
            return power_w
        return SampledSource("amdsmi power", lambda: _or_lost(self._power_w()))

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

    def _throttle(self) -> tuple[str, ...] | Unavailable:
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
        ask = getattr(self.smi, function, None)
        if ask is None:
            return Unavailable(reason=f"this amdsmi has no {function}")
        try:
            return ask(*arguments)
        except self.smi.AmdSmiException as error:
            return Unavailable(reason=f"AMD SMI: {function}: {error}")


def find(index: int = 0, smi: Any = None) -> AmdGpu | Unavailable:
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


def _or_lost(found: float | Unavailable) -> float:
    if isinstance(found, Unavailable):
        raise PowerLost(f"{found.reason}; the device answered before")
    return found
