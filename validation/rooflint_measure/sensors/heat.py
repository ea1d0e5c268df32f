"""How hot a processor is, and how often heat held it back."""

from pathlib import Path

from rooflint_measure.identity.system_files import ROOT, cpu, number, numbers, text
from rooflint_measure.record.measurement import Unavailable

#: Names by which drivers call the sensor of the processor itself.
SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "x86_pkg_temp", "soc_thermal")

#: Events that the kernel counts for each CPU, by what they are called here.
EVENTS = {"core_thermal": "core_throttle_count", "package_thermal": "package_throttle_count"}


def temperature_c(root: Path = ROOT) -> float | Unavailable:
    """The hottest sensor of the processor. [°C]"""
    found = [value / 1e3 for value in (*_hwmon(root), *_zones(root))]
    return max(found) if found else Unavailable(reason="the system shows no temperature of the processor")


def throttle_files(root: Path = ROOT) -> dict[str, tuple[Path, ...]]:
    """Where the kernel counts how often heat held a CPU back, by reason; empty where nobody counts."""
    online = numbers(text(root / "sys/devices/system/cpu/online") or "")
    found = {
        reason: tuple(file for one in online if (file := cpu(root, one) / "thermal_throttle" / name).is_file())
        for reason, name in EVENTS.items()
    }
    return {reason: files for reason, files in found.items() if files}


def _hwmon(root: Path) -> list[int]:
    chips = [chip for chip in (root / "sys/class/hwmon").glob("hwmon*") if text(chip / "name") in SENSORS]
    return [value for chip in chips for file in chip.glob("temp*_input") if (value := number(file)) is not None]


def _zones(root: Path) -> list[int]:
    zones = [zone for zone in (root / "sys/class/thermal").glob("thermal_zone*") if _names_processor(zone)]
    return [value for zone in zones if (value := number(zone / "temp")) is not None]


def _names_processor(zone: Path) -> bool:
    kind = (text(zone / "type") or "").replace("-", "_")
    return kind.startswith(("cpu", *SENSORS))
