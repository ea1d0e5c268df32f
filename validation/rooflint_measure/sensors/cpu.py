"""Clock and power of a processor.

The clock is timed by a chain of additions in machine code, or read from the frequency driver. RAPL counts the energy
of x86 packages and their DRAM; Linux shows it under powercap. The program powermetrics estimates the power of Apple
silicon and may only be run by root.
"""

import ctypes
import errno
import mmap
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal

from rooflint_measure.identity import ROOT, cpu_folder, read_int, read_text
from rooflint_measure.record import Unavailable
from rooflint_measure.sensors.host import affinity
from rooflint_measure.sensors.power import CounterSource, PowerLost, PowerSource, Run, Unwrapped

Routine = Callable[[int], Any]


def callable_code(code: bytes) -> Routine | Unavailable:
    """Code that takes one integer in the first argument register of the C convention and whose result is ignored.

    The page is written first and made executable afterwards, never both at once, as hardened systems demand; some
    refuse even that.
    """
    if os.name != "posix":
        return Unavailable(reason="machine code is written for the calling convention of Linux and macOS")
    try:
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        page = mmap.mmap(-1, max(mmap.PAGESIZE, len(code)), kind, mmap.PROT_READ | mmap.PROT_WRITE)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        _make_executable(address, len(page))
    except OSError as error:
        return Unavailable(reason=f"this system does not let generated code run ({error.strerror})")
    routine = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)
    routine.page = page  # type: ignore[attr-defined]  # lives as long as what runs in it
    return routine


def _make_executable(address: int, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(mmap.PROT_READ | mmap.PROT_EXEC))
    if libc.mprotect(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# ---- A chain of additions, each waiting for the one before: one cycle each

ADDITIONS = 64
"""In a turn of the loop; its counter is another chain, which runs beside them."""

TURNS = 16_000
"""Of the loop in a run: a million cycles, a quarter of a millisecond at 4 GHz, so that many runs meet no interrupt."""

RUNS = 20

Chain = Literal["add", "multiply"]


def timed_clock_hz(runs: int = RUNS, turns: int = TURNS) -> float | Unavailable:
    """Clock of the core that this thread runs on, while it is busy: the fastest of the runs. [Hz]"""
    return cycles_per_s("add", runs, turns)


def cycles_per_s(chain: Chain, runs: int = RUNS, turns: int = TURNS) -> float | Unavailable:
    """Links of a chain in a second, at the most. [1/s]

    One addition is one cycle; a multiplication takes a whole number of them (three on x86-64 since 2019), which lets
    the additions be checked: the ratio of the two chains must come out whole.
    """
    routine = _routine(chain, platform.machine().lower())
    if isinstance(routine, Unavailable):
        return routine
    return ADDITIONS * turns / min(_seconds(routine, turns) for _ in range(runs))


def _seconds(routine: Routine, turns: int) -> float:
    begin = time.perf_counter_ns()
    routine(turns)
    return (time.perf_counter_ns() - begin) / 1e9


@cache
def _routine(chain: Chain, machine: str) -> Routine | Unavailable:
    try:
        code = machine_code(chain, machine)
    except KeyError:
        return Unavailable(reason=f"no chain of additions is available for {machine or 'this machine'}")
    return callable_code(code)


def machine_code(chain: Chain, machine: str) -> bytes:
    """A loop that runs as often as its argument says. Raises KeyError for a machine that is not known."""
    return {"x86_64": _x86_64, "amd64": _x86_64, "aarch64": _aarch64, "arm64": _aarch64}[machine](chain)


def _x86_64(chain: Chain) -> bytes:
    link = {"add": b"\x48\x01\xf0", "multiply": b"\x48\x0f\xaf\xc6"}[chain]  # add rax, rsi; imul rax, rsi
    body = ADDITIONS * link + b"\x48\xff\xcf"  # dec rdi
    back = -(len(body) + 6)
    return body + b"\x0f\x85" + struct.pack("<i", back) + b"\xc3"  # jnz to the start; ret


def _aarch64(chain: Chain) -> bytes:
    link = {"add": 0x8B020021, "multiply": 0x9B027C21}[chain]  # add x1, x1, x2; mul x1, x1, x2
    back = (-(ADDITIONS + 1) & 0x7FFFF) << 5
    words = [*[link] * ADDITIONS, 0xF1000400, 0x54000001 | back, 0xD65F03C0]  # subs x0, x0, #1; b.ne to the start; ret
    return struct.pack(f"<{len(words)}I", *words)


# ---- The clock of the core that this thread runs on: timed, else from the frequency driver

#: Drivers that report what the hardware counted; others repeat the requested frequency, and /proc/cpuinfo of a
#: virtual machine shows the speed of the time stamp counter.
COUNTING = ("intel_pstate", "intel_cpufreq", "amd-pstate", "amd-pstate-epp", "cppc_cpufreq")


def clock_hz(root: Path = ROOT) -> tuple[float | Unavailable, str]:
    """(clock [Hz], its source: `dependent chain` or `cpufreq`).

    The chain comes first: it is the core itself, now and busy, while a driver averages over a past that may have been
    idle. Where our code may not run, the driver answers.
    """
    timed = timed_clock_hz()
    if not isinstance(timed, Unavailable):
        return timed, "dependent chain"
    reported = cpufreq_hz(root)
    return (timed, "") if reported is None else (reported, "cpufreq")


def cpufreq_hz(root: Path = ROOT) -> float | None:
    """The fastest of the CPUs that this process may use, from a driver that counts; None without one. [Hz]"""
    allowed = affinity()
    numbers = range(os.cpu_count() or 1) if isinstance(allowed, Unavailable) else allowed
    folders = [cpu_folder(root, one) / "cpufreq" for one in numbers]
    found = [read_int(f / "scaling_cur_freq") for f in folders if read_text(f / "scaling_driver") in COUNTING]
    known = [value for value in found if value is not None]
    return max(known) * 1e3 if known else None


# ---- Power


def power_source(root: Path = ROOT) -> PowerSource | Unavailable:
    """RAPL, or powermetrics on macOS."""
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


class PowermetricsSource(PowerSource):
    """Energy of the processor, its GPU and its neural engine together."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        super().__init__("powermetrics")
        self._command = command

    def _measured(self, run: Callable[[], int]) -> Run:
        """The sum over the samples that overlap the run, each by its share."""
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
        seconds, covered_s = end_s - begin_s, sum(one.seconds_within(begin_s, end_s) for one in found)
        if covered_s < 0.5 * seconds:
            raise PowerLost("powermetrics: its samples cover less than half of the run")
        joules = sum(one.power_w * one.seconds_within(begin_s, end_s) for one in found)
        most_w = max(one.power_w for one in found if one.seconds_within(begin_s, end_s) > 0)
        return Run(calls, seconds, joules, INTERVAL_MS / 1e3 * joules / seconds, most_w)

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


def _wait_until(condition: Callable[[], bool], longest_s: float = 3.0) -> None:
    end_s = time.perf_counter() + longest_s
    while not condition() and time.perf_counter() < end_s:
        time.sleep(INTERVAL_MS / 1e4)
