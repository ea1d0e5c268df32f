"""The GPU of a Jetson module: its name from the device tree, its meter INA3221, its power mode, all from files.

torch and the driver call each of them `Orin`, and the driver's library has neither its clock nor its power. Files of
the meter: the Linux kernel's Documentation/hwmon/ina3221.rst. Rails, and that without VDD_IN all of them together are
the module's: rbonghi/jetson_stats at 2536e0f3a460, jtop/core/power.py, `total_power`. No Jetson has run it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rooflint_measure.identity import ROOT, Facts, read_int, read_text
from rooflint_measure.record import State, Unavailable
from rooflint_measure.sensors.gpu import Gpu
from rooflint_measure.sensors.power import PowerSource, SampledSource, or_lost

MODULES = {
    "p3701-0004": "NVIDIA Jetson AGX Orin 32GB",
    "p3701-0005": "NVIDIA Jetson AGX Orin 64GB",
    "p3767-0000": "NVIDIA Jetson Orin NX 16GB",
    "p3767-0001": "NVIDIA Jetson Orin NX 8GB",
    "p3767-0003": "NVIDIA Jetson Orin Nano 8GB",
    "p3767-0004": "NVIDIA Jetson Orin Nano 4GB",
    "p3767-0005": "NVIDIA Jetson Orin Nano 8GB",
}
"""Modules by the number in the device tree's `compatible`, but p3701-0000 of the first AGX kits, with either memory.

rbonghi/jetson_stats at f104f5e016c4, jtop/core/jetson_variables.py, `MODULE_NAME_TABLE`.
"""

WHOLE = "VDD_IN"
"""The rail that feeds all of an NX or a Nano. An AGX has none; there, all rails together are the module's."""

_PART = re.compile(r"nvidia,(p3701-\d{4}|p3767-\d{4})(?:$|\0)")
_MODE = re.compile(r"<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)\s*>")
_MILLI_MILLI = 1e-6
"""mV × mA in watts."""


@dataclass(frozen=True)
class JetsonGpu(Gpu):
    """The GPU of the module that this system runs on, as files below `root` show it."""

    root: Path
    part: str

    @property
    def name(self) -> str:
        """The module: `NVIDIA Jetson AGX Orin 64GB`."""
        return MODULES.get(self.part) or f"NVIDIA Jetson {self.part}"

    def facts(self) -> Facts:
        """The power mode, which sets clocks and gates SMs, and the module's number."""
        mode = power_mode(self.root)
        return {"module": self.part, **({"power mode": mode} if mode else {})}

    def software(self) -> dict[str, str]:
        """The release of Jetson Linux: `R36 (release), REVISION: 4.3`."""
        release = (read_text(self.root / "etc/nv_tegra_release") or "").lstrip("# ").split(", GCID")[0]
        return {"Jetson Linux": release} if release else {}

    def state(self, load: float | Unavailable) -> State:
        """What it does just now."""
        return State(
            clock_hz=self._clock_hz(),
            clock_source="devfreq",
            temperature_c=self._temperature_c(),
            power_w=self._power_w(),
            power_limit_w=Unavailable(reason="the power mode caps clocks; it is among the machine's facts"),
            throttle=self.throttle(),
            load=load,
        )

    def power(self) -> PowerSource | Unavailable:
        """The INA3221, sampled."""
        found = rails(self.root)
        if not found:
            return Unavailable(reason="no INA3221 below /sys/class/hwmon; is the driver loaded?")
        return SampledSource(f"ina3221 {' + '.join(found)}", lambda: or_lost(self._power_w()))

    def throttle(self) -> Unavailable:
        """The system counts over-current events, and has no state of them."""
        return Unavailable(reason="Jetson Linux reports no throttle state; see the clocks")

    def _power_w(self) -> float | Unavailable:
        found = rails(self.root)
        powers = [_rail_w(*files) for files in found.values()]
        known = [one for one in powers if one is not None]
        if not known or len(known) < len(powers):
            return Unavailable(reason="the INA3221 cannot be read")
        return sum(known)

    def _clock_hz(self) -> float | Unavailable:
        for folder in sorted((self.root / "sys/class/devfreq").glob("*.g*")):  # 17000000.gpu, 17000000.ga10b
            if (found := read_int(folder / "cur_freq")) is not None:
                return float(found)
        return Unavailable(reason="no clock of a GPU below /sys/class/devfreq")

    def _temperature_c(self) -> float | Unavailable:
        for zone in sorted((self.root / "sys/class/thermal").glob("thermal_zone*")):
            found = read_int(zone / "temp")
            if found is not None and (read_text(zone / "type") or "").lower().startswith("gpu"):
                return found / 1000
        return Unavailable(reason="no thermal zone of a GPU")


def find_jetson(root: Path = ROOT) -> JetsonGpu | None:
    """The GPU of this module; None on other systems."""
    compatible = read_text(root / "proc/device-tree/compatible") or ""
    found = _PART.search(compatible)
    return JetsonGpu(root, found[1]) if found else None


def power_mode(root: Path = ROOT) -> str:
    """`MODE_30W`, as nvpmodel calls the mode that is set; empty where it is not known."""
    status = re.match(r"pmode:(\d+)", read_text(root / "var/lib/nvpmodel/status") or "")
    listed = dict(_MODE.findall(read_text(root / "etc/nvpmodel.conf") or ""))
    return next((name for number, name in listed.items() if status and int(number) == int(status[1])), "")


def rails(root: Path = ROOT) -> Mapping[str, tuple[Path, Path]]:
    """Files with voltage and current of the module's rails by name: of all of it, else of each."""
    found: dict[str, tuple[Path, Path]] = {}
    for folder in sorted((root / "sys/class/hwmon").glob("hwmon*")):
        if read_text(folder / "name") != "ina3221":
            continue
        for channel in (1, 2, 3):  # 4 and up are shunt voltages and sums
            label = read_text(folder / f"in{channel}_label")
            if label and label != "NC":
                found[label] = folder / f"in{channel}_input", folder / f"curr{channel}_input"
    return {WHOLE: found[WHOLE]} if WHOLE in found else found


def _rail_w(voltage: Path, current: Path) -> float | None:
    millivolts, milliamperes = read_int(voltage), read_int(current)
    return None if millivolts is None or milliamperes is None else millivolts * milliamperes * _MILLI_MILLI
