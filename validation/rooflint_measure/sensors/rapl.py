"""RAPL: the energy counters of x86 packages and their DRAM, as Linux shows them under powercap."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rooflint_measure.identity.system_files import ROOT, number, text
from rooflint_measure.record.measurement import Unavailable
from rooflint_measure.sensors.power import CounterSource, PowerLost, Unwrapped

UNIT_J = 1e-6
"""The kernel counts in microjoules; the hardware steps by 15 to 61 of them, some thousand times a second. [J]"""

MOST_W = 1000.0
"""No zone draws more, so that its counter does not wrap twice within range / power, unseen. [W]"""


@dataclass(frozen=True)
class Zone:
    """One counter: a package, or the DRAM of one."""

    folder: Path
    name: str
    range_uj: int

    def microjoules(self) -> int:
        """The counter as it stands. Raises PowerLost where it cannot be read."""
        try:
            return int((self.folder / "energy_uj").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no number"
            raise PowerLost(f"rapl: {self.name} cannot be read any more ({why})") from None


def source(root: Path = ROOT) -> CounterSource | Unavailable:
    """All packages and their DRAM together; cores and uncore are parts of a package and not counted again."""
    zones = [*_zones(root)]
    if not zones:
        return Unavailable(reason="no RAPL counter below /sys/class/powercap, as in most virtual machines")
    for zone in zones:
        if why := _refused(zone):
            return Unavailable(reason=why)
    counters = [Unwrapped(zone.microjoules, zone.range_uj + 1) for zone in zones]
    kinds = dict.fromkeys(zone.name.partition("-")[0] for zone in zones)
    return CounterSource(
        f"rapl {' + '.join(kinds)}",
        lambda: sum(counter() for counter in counters) * UNIT_J,
        unit_j=UNIT_J,
        longest_s=min(zone.range_uj for zone in zones) * UNIT_J / MOST_W,
    )


def _zones(root: Path) -> Iterator[Zone]:
    # psys contains the packages, and core and uncore are contained in them; intel-rapl is also AMD's name there
    for folder in sorted((root / "sys/class/powercap").glob("intel-rapl:*")):
        name = text(folder / "name") or ""
        if name.startswith("package") or name == "dram":
            yield Zone(folder, name, number(folder / "max_energy_range_uj") or 0)


def _refused(zone: Zone) -> str | None:
    try:
        (zone.folder / "energy_uj").read_text(encoding="utf-8")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return f"RAPL counters are readable by root only: chmod a+r {zone.folder / 'energy_uj'}, or run as root"
        return f"RAPL counter {zone.name} cannot be read ({os.strerror(error.errno or 0)})"
    if not zone.range_uj:
        return f"RAPL counter {zone.name} does not say where it starts again from zero"
    return None
