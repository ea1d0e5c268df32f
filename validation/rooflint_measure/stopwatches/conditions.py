"""Who sees what disturbs a sample: time that others had, heat and power limits that held a clock back."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from rooflint.base.errors import RooflintError
from rooflint_measure.identity import processor
from rooflint_measure.identity.libraries import environment, software, threads
from rooflint_measure.identity.system_files import ROOT, number
from rooflint_measure.record.measurement import Conditions, State, Unavailable
from rooflint_measure.record.recording import Machine
from rooflint_measure.sensors import gpus, powermetrics, rapl
from rooflint_measure.sensors.allowance import affinity, quota_cpus, quota_files, throttled_periods
from rooflint_measure.sensors.core_clock import clock_hz
from rooflint_measure.sensors.heat import temperature_c, throttle_files
from rooflint_measure.sensors.power import PowerSource
from rooflint_measure.sensors.waiting import queued_s, stolen_s
from rooflint_measure.stopwatches.timing import Seen, Watch

Counts = dict[str, int]


class HostWatch:
    """Of the CPUs that a process may use: steal, waits for a core, heat, and a container's share that was used up."""

    def __init__(self, cpus: Collection[int] | None = None, root: Path = ROOT) -> None:
        self._cpus, self._root = cpus, root
        # looked for once: a sample is to be disturbed by as little reading as can be
        self._heat, self._quota = throttle_files(root), quota_files(root)
        self._stolen_s: float | None = None
        self._queued_s: float | None = None
        self._counts: Counts = {}

    def start(self) -> None:
        """A sample begins."""
        self._counts = self._read_counts()
        self._stolen_s, self._queued_s = stolen_s(self._cpus, self._root), queued_s(self._root)

    def stop(self) -> Seen:
        """It ended."""
        queued, stolen = queued_s(self._root), stolen_s(self._cpus, self._root)
        reasons = grown(self._counts, self._read_counts())
        return Seen(_since(self._stolen_s, stolen), _since(self._queued_s, queued), reasons)

    def _read_counts(self) -> Counts:
        heat = {reason: sum(number(file) or 0 for file in files) for reason, files in self._heat.items()}
        return {**heat, "cpu_quota": throttled_periods(self._quota)}


class DeviceWatch:
    """Of an accelerator, and of the host that feeds it."""

    def __init__(self, reasons: Callable[[], tuple[str, ...]], counts: Callable[[], Counts], host: HostWatch) -> None:
        self._reasons, self._read_counts, self._host = reasons, counts, host
        self._before: tuple[str, ...] = ()
        self._counts: Counts = {}

    def start(self) -> None:
        """A sample begins."""
        self._before, self._counts = self._reasons(), self._read_counts()
        self._host.start()

    def stop(self) -> Seen:
        """It ended: what the host lost, and what held the device or the host back.

        A reason counts that held at either end, and one whose counter grew in between.
        """
        of_host = self._host.stop()
        reasons = (*self._before, *self._reasons(), *grown(self._counts, self._read_counts()), *of_host.reasons)
        return of_host._replace(reasons=tuple(dict.fromkeys(reasons)))


def _since(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else max(0.0, after_s - before_s)


def grown(before: Counts, after: Counts) -> tuple[str, ...]:
    """Names of the counters that moved."""
    return tuple(name for name, count in after.items() if count > before.get(name, count))


# ---- Observers: everything that a stopwatch must know of the machine, of one device, behind five questions


class Observer(Protocol):
    """Who looks at the device that computes."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """What must be equal for two recordings to be of the same thing; libraries with their versions.

        Asked after the first product was computed, when the libraries have loaded what they bring along.
        """

    def state(self) -> State:
        """What the device does just now."""

    def watch(self) -> Watch:
        """Who sees what disturbs a sample."""

    def power(self) -> PowerSource | Unavailable:
        """Who knows the device's energy."""

    def conditions(self, before: State, after: State, during: Iterable[State] = ()) -> Conditions:
        """The states around a measurement, and what the process may use."""


class _Host:
    """What is the same whichever device computes; a root of their own lets tests bring a machine of their own."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root

    def conditions(self, before: State, after: State, during: Iterable[State] = ()) -> Conditions:
        """States, threads and affinity."""
        used = threads() or usable_cpus()
        return Conditions(before=before, after=after, during=tuple(during), threads=used, affinity=affinity())

    def _host_watch(self) -> HostWatch:
        allowed = affinity()
        return HostWatch(None if isinstance(allowed, Unavailable) else allowed, self._root)

    def _allowance(self) -> dict[str, float]:
        quota = quota_cpus(self._root)
        return {} if quota is None else {"cpu quota": quota}


class CpuObserver(_Host):
    """Of the processor, from what its system shows."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The processor, what of it this process may use, and what the environment tells the libraries."""
        return Machine(
            device=processor.device(self._root),
            kind="cpu",
            count=usable_cpus(),
            facts={**processor.facts(self._root), **self._allowance(), **environment()},
            software=software(libraries),
        )

    def state(self) -> State:
        """Clock of the core that this thread stands on, temperature, load."""
        clock, source = clock_hz(self._root)
        return State(
            clock_hz=clock,
            clock_source=source,
            memory_clock_hz=Unavailable(reason="no interface of the system tells a CPU's memory clock"),
            temperature_c=temperature_c(self._root),
            power_w=Unavailable(reason="a counter of energy tells no power at one moment"),
            power_limit_w=Unavailable(reason="no interface that every CPU has tells its power limit"),
            throttle=Unavailable(reason="a CPU counts what held it back and tells no state; the samples carry it"),
            load=load(),
        )

    def watch(self) -> HostWatch:
        """Of the CPUs that this process may use."""
        return self._host_watch()

    def power(self) -> PowerSource | Unavailable:
        """RAPL, or powermetrics on macOS."""
        return powermetrics.source() if sys.platform == "darwin" else rapl.source(self._root)


class GpuObserver(_Host):
    """Of a GPU, and of the host as far as it feeds it."""

    def __init__(self, gpu: gpus.Gpu, root: Path = ROOT) -> None:
        super().__init__(root)
        self._gpu = gpu

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The device, its driver, and the host that feeds it."""
        host: gpus.Facts = {"host": processor.device(self._root), "host CPUs": usable_cpus()}
        return Machine(
            device=self._gpu.name,
            kind="gpu",
            count=1,
            facts={**self._gpu.facts(), **host, **self._allowance(), **environment()},
            software={**software(libraries), **self._gpu.software()},
        )

    def state(self) -> State:
        """Clocks, temperature, power and what holds it back."""
        return self._gpu.state(load())

    def watch(self) -> DeviceWatch:
        """Of the device and of the host."""
        return DeviceWatch(self._gpu.reasons, self._gpu.violations, self._host_watch())

    def power(self) -> PowerSource | Unavailable:
        """The device's own meter."""
        return self._gpu.power()


def observer(device: str = "cpu") -> Observer:
    """Of `cpu`, `cuda` or `cuda:1`, as torch names devices; AMD's are called `cuda` there, too."""
    kind, _, index = device.partition(":")
    if device == "cpu":
        return CpuObserver()
    if kind != "cuda" or not (index or "0").isdecimal():
        raise RooflintError(f"--device: want cpu, cuda or cuda:N, found '{device}'")
    return GpuObserver(gpus.find(int(index or 0)))


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    allowed = affinity()
    return (os.cpu_count() or 1) if isinstance(allowed, Unavailable) else len(allowed)


def load() -> float | Unavailable:
    """Runnable tasks of all CPUs together, averaged over a minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else Unavailable(reason="this system keeps no load average")
