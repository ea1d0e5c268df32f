"""Power of a processor: RAPL's energy counters on Linux, the program powermetrics on macOS.

RAPL counts the energy of x86 packages and their DRAM; Linux shows it under powercap. powermetrics estimates the power
of Apple silicon and may only be run by root.
"""

import errno
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rooflint_measure.identity import ROOT, read_int, read_text
from rooflint_measure.record import Energy, Unavailable
from rooflint_measure.sensors.power import CounterSource, PowerLost, PowerSource, Unwrapped


def source(root: Path = ROOT) -> PowerSource | Unavailable:
    """The source of this system."""
    return powermetrics_source() if sys.platform == "darwin" else rapl_source(root)


# ---- RAPL

UNIT_J = 1e-6
"""The kernel counts in microjoules; the hardware steps by 15 to 61 of them, some thousand times a second. [J]"""

MOST_W = 1000.0
"""No zone draws more; within range / power its counter wraps at most once. [W]"""


@dataclass(frozen=True)
class RaplZone:
    """One counter: a package, or the DRAM of one."""

    folder: Path
    name: str
    range_uj: int

    def microjoules(self) -> int:
        """The counter as it stands. Raises PowerLost where it cannot be read."""
        try:
            return int((self.folder / "energy_uj").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a number"
            raise PowerLost(f"rapl: {self.name} cannot be read any more ({why})") from None


def rapl_source(root: Path = ROOT) -> CounterSource | Unavailable:
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


def _zones(root: Path) -> Iterator[RaplZone]:
    # psys contains the packages, and core and uncore are contained in them; intel-rapl is also AMD's name there
    for folder in sorted((root / "sys/class/powercap").glob("intel-rapl:*")):
        name = read_text(folder / "name") or ""
        if name.startswith("package") or name == "dram":
            yield RaplZone(folder, name, read_int(folder / "max_energy_range_uj") or 0)


def _refused(zone: RaplZone) -> str | None:
    try:
        (zone.folder / "energy_uj").read_text(encoding="utf-8")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return f"RAPL counters are readable by root only: chmod a+r {zone.folder / 'energy_uj'}, or run as root"
        return f"RAPL counter {zone.name} cannot be read ({os.strerror(error.errno or 0)})"
    if not zone.range_uj:
        return f"RAPL counter {zone.name} does not say where it wraps around"
    return None


# ---- powermetrics

INTERVAL_MS = 100
"""Between two samples. [ms]"""

COMMAND = ("powermetrics", "--samplers", "cpu_power,gpu_power", "--sample-rate", str(INTERVAL_MS))

_ELAPSED = re.compile(r"\((\d+(?:\.\d+)?)ms elapsed\)")
_COMBINED = re.compile(r"^Combined Power \(.*\): (\d+) mW")


@dataclass(frozen=True)
class Stretch:
    """Mean power of a piece of time that ended at a moment of the clock."""

    end_s: float
    seconds: float
    power_w: float

    def seconds_within(self, begin_s: float, end_s: float) -> float:
        """How much of it lies within a window. [s]"""
        return max(0.0, min(self.end_s, end_s) - max(self.end_s - self.seconds, begin_s))


def stretches(lines: Iterable[str], clock: Callable[[], float]) -> Iterator[Stretch]:
    """Samples as the program prints them, each dated when its power is read."""
    seconds = INTERVAL_MS / 1e3
    for line in lines:
        if found := _ELAPSED.search(line):
            seconds = float(found[1]) / 1e3
        elif found := _COMBINED.match(line):
            yield Stretch(clock(), seconds, int(found[1]) / 1e3)


class PowermetricsSource:
    """Energy of the processor, its GPU and its neural engine together."""

    name = "powermetrics"

    def __init__(self, command: tuple[str, ...] = COMMAND, clock: Callable[[], float] = time.perf_counter) -> None:
        self._command, self._clock = command, clock

    def idle_w(self, seconds: float) -> float:
        """Average over a while. [W]"""
        begin_s, end_s, joules, _ = self._measure(lambda: _rest(seconds))
        return joules / (end_s - begin_s)

    def metered(self, run: Callable[[], int], idle_w: float) -> Energy | Unavailable:
        """Sum over the samples that overlap the run, each by its share."""
        try:
            begin_s, end_s, joules, calls = self._measure(run)
        except PowerLost as error:
            return Unavailable(reason=str(error))
        seconds = end_s - begin_s
        step_j = INTERVAL_MS / 1e3 * joules / seconds
        return Energy(source=self.name, joules=joules, seconds=seconds, calls=calls, idle_w=idle_w, resolution_j=step_j)

    def _measure(self, run: Callable[[], int]) -> tuple[float, float, float, int]:
        found: list[Stretch] = []
        try:
            program = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
            )
        except OSError as error:
            raise PowerLost(f"powermetrics: cannot be started ({error.strerror})") from None
        with program:
            reader = threading.Thread(target=self._collect, args=(program.stdout, found), daemon=True)
            reader.start()
            _wait_until(lambda: bool(found))
            begin_s = self._clock()
            calls = run()
            end_s = self._clock()
            _wait_until(lambda: bool(found) and found[-1].end_s >= end_s)
            program.terminate()
            reader.join()
        covered_s = sum(one.seconds_within(begin_s, end_s) for one in found)
        if covered_s < 0.5 * (end_s - begin_s):
            raise PowerLost("powermetrics: its samples cover less than half of the run")
        joules = sum(one.power_w * one.seconds_within(begin_s, end_s) for one in found)
        return begin_s, end_s, joules, calls

    def _collect(self, lines: IO[str], found: list[Stretch]) -> None:
        for one in stretches(lines, self._clock):
            found.append(one)  # one at a time: `_measure` waits for the first


def powermetrics_source() -> PowermetricsSource | Unavailable:
    """The program, where it exists and this process may run it."""
    if platform.system() != "Darwin" or not shutil.which(COMMAND[0]):
        return Unavailable(reason="powermetrics is a program of macOS")
    if os.geteuid() != 0:
        return Unavailable(reason="powermetrics runs as root only: start the measurement with sudo")
    return PowermetricsSource()


def _rest(seconds: float) -> int:
    time.sleep(seconds)
    return 0


def _wait_until(condition: Callable[[], bool], longest_s: float = 3.0) -> None:
    end_s = time.perf_counter() + longest_s
    while not condition() and time.perf_counter() < end_s:
        time.sleep(INTERVAL_MS / 1e4)
