"""AMD's GPUs through AMD SMI, the Python library of ROCm."""

import importlib
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rooflint_measure.identity import Facts
from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.gpu import Gpu
from rooflint_measure.sensors.power import PowerSource, source_of

MICRO, MEGA = 1e-6, 1e6

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
