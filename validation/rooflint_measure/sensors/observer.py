"""Observers: everything that a stopwatch must know of the machine, of one device, behind five questions."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rooflint.base.errors import RooflintError
from rooflint_measure import identity
from rooflint_measure.identity import ROOT, Facts, environment, software, threads
from rooflint_measure.record import Conditions, Machine, State, Unavailable
from rooflint_measure.sensors import amd_smi, cpu_power, nvml
from rooflint_measure.sensors.core_clock import clock_hz
from rooflint_measure.sensors.host import (
    Counts,
    Disturbance,
    HostWatch,
    Watch,
    affinity,
    grown,
    load,
    quota_cpus,
    temperature_c,
    usable_cpus,
)
from rooflint_measure.sensors.power import PowerSource


class Observer(Protocol):
    """Looks at the device that computes."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """What must be equal for two recordings to be of the same thing; libraries with their versions.

        Asked after the first product was computed, when the libraries have loaded what they bring along.
        """

    def state(self) -> State:
        """Clocks, temperature, power and load just now."""

    def watch(self) -> Watch:
        """Sees what disturbs a sample."""

    def power(self) -> PowerSource | Unavailable:
        """The source of the device's energy, or why there is none."""

    def conditions(self, before: State, after: State, during: Iterable[State] = ()) -> Conditions:
        """The states around a measurement, and what the process may use."""


def observer(device: str = "cpu") -> Observer:
    """Of `cpu`, `cuda` or `cuda:1`, as torch names devices; AMD's are called `cuda` there, too."""
    kind, _, index = device.partition(":")
    if device == "cpu":
        return CpuObserver()
    if kind != "cuda" or not (index or "0").isdecimal():
        raise RooflintError(f"--device: want cpu, cuda or cuda:N, found '{device}'")
    return GpuObserver(find_gpu(int(index or 0)))


class _Host:
    """What is the same whichever device computes; another root lets tests bring a machine of their own."""

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
        """The processor, what of it this process may use, and the environment of the libraries."""
        return Machine(
            device=identity.device(self._root),
            kind="cpu",
            count=usable_cpus(),
            facts={**identity.facts(self._root), **self._allowance(), **environment()},
            software=software(libraries),
        )

    def state(self) -> State:
        """Clock of the core that this thread runs on, temperature, load."""
        clock, source = clock_hz(self._root)
        return State(
            clock_hz=clock,
            clock_source=source,
            memory_clock_hz=Unavailable(reason="the system does not report the memory clock of a CPU"),
            temperature_c=temperature_c(self._root),
            power_w=Unavailable(reason="an energy counter gives no instantaneous power"),
            power_limit_w=Unavailable(reason="no interface common to all CPUs reports the power limit"),
            throttle=Unavailable(reason="a CPU counts throttling events but reports no state; see the samples"),
            load=load(),
        )

    def watch(self) -> HostWatch:
        """Of the CPUs that this process may use."""
        return self._host_watch()

    def power(self) -> PowerSource | Unavailable:
        """RAPL, or powermetrics on macOS."""
        return cpu_power.source(self._root)


# ---- GPUs of any maker


class Gpu(Protocol):
    """One device, as its driver's library shows it."""

    @property
    def name(self) -> str:
        """As the driver names it."""

    def facts(self) -> Facts:
        """What can change a figure and stays from run to run."""

    def software(self) -> dict[str, str]:
        """Driver and its version."""

    def state(self, load: float | Unavailable) -> State:
        """What it does just now."""

    def reasons(self) -> tuple[str, ...]:
        """What holds the clock back just now without having been set."""

    def violations(self) -> dict[str, int]:
        """Counters of what held it back."""

    def power(self) -> PowerSource | Unavailable:
        """The source of its energy."""


@dataclass(frozen=True)
class UnreadableGpu:
    """A device that computes, but whose driver's library is missing."""

    name: str
    reason: Unavailable

    def facts(self) -> Facts:
        """Why nothing is known, so that it does not merge with recordings of a device that could be read."""
        return {"driver library": str(self.reason)}

    def software(self) -> dict[str, str]:
        """Unknown."""
        return {}

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

    def reasons(self) -> tuple[str, ...]:
        """Unknown."""
        return ()

    def violations(self) -> dict[str, int]:
        """Unknown."""
        return {}

    def power(self) -> Unavailable:
        """The reason."""
        return self.reason


def find_gpu(number: int) -> Gpu:
    """The device that torch calls `cuda:number`: NVIDIA's where NVML answers, else AMD's, else an unreadable one."""
    nvidia = nvml.find(number)
    if not isinstance(nvidia, Unavailable):
        return _same(nvidia, number)
    amd = amd_smi.find(number)
    if not isinstance(amd, Unavailable):
        return amd  # its libraries spell the names of one device differently, so they cannot be compared
    return UnreadableGpu(_torch_name(number) or "unknown GPU", Unavailable(reason=f"{nvidia.reason}; {amd.reason}"))


def _same(found: nvml.NvidiaGpu, number: int) -> Gpu:
    """What was found, unless torch computes on another device: the clock of a neighbour is worse than none."""
    name = _torch_name(number)
    if name is None or name == found.name:
        return found
    names = f"cuda:{number} is '{name}' to torch and '{found.name}' to its driver's library"
    return UnreadableGpu(name, Unavailable(reason=f"{names}; set CUDA_DEVICE_ORDER=PCI_BUS_ID"))


def _torch_name(number: int) -> str | None:
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name(number)) if torch and torch.cuda.is_available() else None


class DeviceWatch:
    """Sees what disturbs a sample of an accelerator, and of the host that feeds it."""

    def __init__(self, reasons: Callable[[], tuple[str, ...]], counts: Callable[[], Counts], host: HostWatch) -> None:
        self._reasons, self._read_counts, self._host = reasons, counts, host
        self._before: tuple[str, ...] = ()
        self._counts: Counts = {}

    def start(self) -> None:
        """A sample begins."""
        self._before, self._counts = self._reasons(), self._read_counts()
        self._host.start()

    def stop(self) -> Disturbance:
        """The sample ended: what the host lost, and what held the device or the host back.

        A reason counts if it held at either end, or if its counter grew in between.
        """
        of_host = self._host.stop()
        reasons = (*self._before, *self._reasons(), *grown(self._counts, self._read_counts()), *of_host.reasons)
        return of_host._replace(reasons=tuple(dict.fromkeys(reasons)))


class GpuObserver(_Host):
    """Of a GPU, and of the host as far as it feeds it."""

    def __init__(self, gpu: Gpu, root: Path = ROOT) -> None:
        super().__init__(root)
        self._gpu = gpu

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The device, its driver, and the host that feeds it."""
        host: Facts = {"host": identity.device(self._root), "host CPUs": usable_cpus()}
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
