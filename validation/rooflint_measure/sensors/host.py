"""What the host gives this process and what it takes away: CPUs, shares of a container, heat, steal, waits for a core.

A `HostWatch` reads the counters before and after a sample and says what disturbed it.
"""

import ctypes
import gc
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rooflint_measure.identity import ROOT, cpu_folder, online_cpus, read_int, read_text
from rooflint_measure.record import Memory, Unavailable

if sys.platform == "linux":  # elsewhere threads are not counted apart
    import resource
else:
    resource = None

# ---- CPUs and shares that this process may use


def affinity() -> tuple[int, ...] | Unavailable:
    """CPUs that the process may run on, in order."""
    if not hasattr(os, "sched_getaffinity"):
        return Unavailable(reason="this system cannot bind a process to CPUs")
    return tuple(sorted(os.sched_getaffinity(0)))


def usable_cpus() -> int:
    """Number of CPUs that this process may run on."""
    allowed = affinity()
    return (os.cpu_count() or 1) if isinstance(allowed, Unavailable) else len(allowed)


def load() -> float | Unavailable:
    """Runnable tasks of all CPUs together, averaged over a minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else Unavailable(reason="this system has no load average")


def quota_cpus(root: Path = ROOT) -> float | None:
    """CPU time per time that the control group may use, `1.5` for one and a half CPUs; None without a limit."""
    found = [*_second_version(root), *_first_version(root)]
    return min(found, default=None)


def throttled_periods(files: Iterable[Path]) -> int:
    """How often a control group was held back because its share was used up, by its `quota_files`."""
    pairs = (line.split() for file in files for line in (read_text(file) or "").splitlines())
    return sum(int(value) for key, value in pairs if key == "nr_throttled")


def quota_files(root: Path = ROOT) -> tuple[Path, ...]:
    """Where the control groups that set this process a share count; empty where none does."""
    if quota_cpus(root) is None:
        return ()
    folders = (*_folders(root, ""), *_folders(root, "cpu"))
    return tuple(file for folder in folders if (file := folder / "cpu.stat").is_file())


def _second_version(root: Path) -> list[float]:
    limits = [(read_text(folder / "cpu.max") or "max").split() for folder in _folders(root, "")]
    return [int(limit[0]) / int(limit[1]) for limit in limits if limit[0] != "max" and len(limit) > 1]


def _first_version(root: Path) -> list[float]:
    pairs = [(read_int(f / "cpu.cfs_quota_us"), read_int(f / "cpu.cfs_period_us")) for f in _folders(root, "cpu")]
    return [quota / period for quota, period in pairs if quota and quota > 0 and period]


def _folders(root: Path, controller: str) -> list[Path]:
    """The group's folder and those above it, of the second version ("") or of a controller of the first."""
    lines = [line.split(":", 2) for line in (read_text(root / "proc/self/cgroup") or "").splitlines()]
    path = next((line[2] for line in lines if len(line) == 3 and controller in line[1].split(",")), None)
    if path is None:
        return []
    base = root / "sys/fs/cgroup" / controller
    inner = base / path.strip("/")
    # in a container, the path is the host's and only the base exists
    return [folder for folder in (inner, *inner.parents) if folder == base or base in folder.parents]


# ---- Heat

#: Names by which drivers call the sensor of the processor itself.
SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "x86_pkg_temp", "soc_thermal")

#: Events that the kernel counts for each CPU, by what they are called here.
EVENTS = {"core_thermal": "core_throttle_count", "package_thermal": "package_throttle_count"}


def temperature_c(root: Path = ROOT) -> float | Unavailable:
    """The hottest sensor of the processor. [°C]"""
    found = [value / 1e3 for value in (*_hwmon(root), *_zones(root))]
    return max(found) if found else Unavailable(reason="the system does not report the temperature of the processor")


def throttle_files(root: Path = ROOT) -> dict[str, tuple[Path, ...]]:
    """Where the kernel counts how often heat held a CPU back, by reason; empty where it does not count."""
    online = online_cpus(root)
    found = {
        reason: tuple(file for one in online if (file := cpu_folder(root, one) / "thermal_throttle" / name).is_file())
        for reason, name in EVENTS.items()
    }
    return {reason: files for reason, files in found.items() if files}


def _hwmon(root: Path) -> list[int]:
    chips = [chip for chip in (root / "sys/class/hwmon").glob("hwmon*") if read_text(chip / "name") in SENSORS]
    return [value for chip in chips for file in chip.glob("temp*_input") if (value := read_int(file)) is not None]


def _zones(root: Path) -> list[int]:
    kinds = {zone: read_text(zone / "type") or "" for zone in (root / "sys/class/thermal").glob("thermal_zone*")}
    zones = [zone for zone, kind in kinds.items() if kind.replace("-", "_").startswith(("cpu", *SENSORS))]
    return [value for zone in zones if (value := read_int(zone / "temp")) is not None]


# ---- Time that others had

_DELAY = 1
"""Column of schedstat: time on a core, time that it waited for one, turns. [ns]"""

_STEAL = 8
"""Column of /proc/stat behind the name: user nice system idle iowait irq softirq steal."""


def queued_s(root: Path = ROOT) -> float | None:
    """Time that threads of this process were ready to run and had no core; None where the kernel does not count. [s]

    Other processes of the same system had the cores, which steal does not show. All threads are added up; a thread
    that ends takes its time with it. Linux, Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat".
    """
    found = [read_text(file) for file in (root / "proc/self/task").glob("*/schedstat")]
    waits_ns = [int(line.split()[_DELAY]) for line in found if line]
    return sum(waits_ns) / 1e9 if waits_ns else None


def involuntary_switches() -> int | None:
    """How often this thread lost its core to another one, since it began; None where it is not counted: not on Linux.

    getrusage(2), RUSAGE_THREAD, `ru_nivcsw`.
    """
    return None if resource is None else resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def stolen_s(cpus: Collection[int] | None = None, root: Path = ROOT) -> float | None:
    """CPU time that a hypervisor gave to other guests, since the system started; None where it does not count. [s]

    Of the CPUs that are named, or of all. The kernel counts in ticks of 10 ms: a shorter theft in a sample is not
    visible.
    """
    rows = [line.split() for line in (read_text(root / "proc/stat") or "").splitlines() if line.startswith("cpu")]
    wanted = {"cpu"} if cpus is None else {f"cpu{number}" for number in cpus}
    ticks = [int(row[_STEAL]) for row in rows if row[0] in wanted and len(row) > _STEAL]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


# ---- What disturbed a sample

Counts = dict[str, int]


class Disturbance(NamedTuple):
    """What disturbed a sample."""

    stolen_s: float | None = None
    """CPU time that the hypervisor gave to others; None where it is not counted. [s]"""
    queued_s: float | None = None
    """Time that our threads were ready and had no core; None where it is not counted. [s]"""
    reasons: tuple[str, ...] = ()
    """For which clocks were held back."""


class Watch:
    """Sees nothing that disturbs a sample, and reports all of it as unknown; other watches see more."""

    def expect(self, samples: int) -> None:
        """So many samples follow."""

    def start(self) -> None:
        """A sample begins."""

    def stop(self) -> Disturbance:
        """The sample ended."""
        return Disturbance()


class HostWatch(Watch):
    """Steal, waits for a core, heat and the used-up share of a container, of the CPUs that a process may use.

    Of an accelerator that the host feeds also what holds its clock back: `reasons` are those of the moment, `counts`
    are counters by reason. A reason counts if it held at either end of a sample, or if its counter grew in between.
    """

    def __init__(
        self,
        cpus: Collection[int] | None = None,
        root: Path = ROOT,
        *,
        reasons: Callable[[], tuple[str, ...]] = tuple,
        counts: Callable[[], Counts] = dict,
    ) -> None:
        self._cpus, self._root, self._reasons, self._counts_of_device = cpus, root, reasons, counts
        # looked up once: reading disturbs a sample, too
        self._heat, self._quota = throttle_files(root), quota_files(root)
        self._stolen_s: float | None = None
        self._queued_s: float | None = None
        self._held: tuple[str, ...] = ()
        self._counts: Counts = {}

    def start(self) -> None:
        """A sample begins."""
        self._held, self._counts = self._reasons(), self._read_counts()
        self._stolen_s, self._queued_s = stolen_s(self._cpus, self._root), queued_s(self._root)

    def stop(self) -> Disturbance:
        """The sample ended."""
        queued, stolen = queued_s(self._root), stolen_s(self._cpus, self._root)
        reasons = (*self._held, *self._reasons(), *grown(self._counts, self._read_counts()))
        return Disturbance(
            _since(self._stolen_s, stolen), _since(self._queued_s, queued), tuple(dict.fromkeys(reasons))
        )

    def _read_counts(self) -> Counts:
        heat = {reason: sum(read_int(file) or 0 for file in files) for reason, files in self._heat.items()}
        return {**self._counts_of_device(), **heat, "cpu_quota": throttled_periods(self._quota)}


def _since(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else max(0.0, after_s - before_s)


def grown(before: Counts, after: Counts) -> tuple[str, ...]:
    """Names of the counters that moved."""
    return tuple(name for name, count in after.items() if count > before.get(name, count))


# ---- The most memory of a call

RESET = "5"
"""Written to `/proc/self/clear_refs`, it lets the peak of resident memory begin anew. proc(5)"""


def held_bytes(root: Path = ROOT) -> int | None:
    """Resident memory of the process, once what is free was given back; None where the system does not count it. [B]

    Otherwise a network that is built in free memory seems to take none. malloc_trim(3)
    """
    _give_back()
    return _status(root, "VmRSS")


def available_bytes(root: Path = ROOT) -> int | None:
    """Memory that a process may still take without pushing others out; None where the system does not say. [B]"""
    with suppress(OSError):
        text = (root / "proc/meminfo").read_text(encoding="utf-8")
        if found := re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE):
            return int(found[1]) * 1024
    return None


def _give_back() -> None:
    """Return free memory to the system, as far as the C library does."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def _status(root: Path, name: str) -> int | None:
    """A figure of `/proc/self/status`. [B]"""
    with suppress(OSError):
        text = (root / "proc/self/status").read_text(encoding="utf-8")
        if found := re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE):
            return int(found[1]) * 1024
    return None


def resident_peak(call: Callable[[], object], root: Path = ROOT, before: int | None = None) -> Memory | Unavailable:
    """The most resident memory of the process while a call runs, less what it held before. [B]

    Without `before` it is that of the whole process, interpreter and libraries included.
    """
    process = root / "proc/self"
    _give_back()  # what building it took
    try:
        (process / "clear_refs").write_text(RESET, encoding="utf-8")
    except OSError as error:
        return Unavailable(reason=f"the peak of resident memory cannot be reset ({error.strerror})")
    call()
    most = _status(root, "VmHWM")
    if most is None:
        return Unavailable(reason="the system does not count the peak of resident memory")
    if before is None:
        return Memory(peak_bytes=most, source="resident memory of the process")
    if most <= before:
        return Unavailable(reason="the process held as much memory before the network was built")
    return Memory(peak_bytes=most - before, source="resident memory of the process, less that before it was built")
