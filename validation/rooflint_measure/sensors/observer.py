"""Observers: everything that a stopwatch must know of the machine, of one device, behind five questions."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rooflint.base.errors import RooflintError
from rooflint_measure import identity
from rooflint_measure.identity import ROOT, Facts
from rooflint_measure.record import Conditions, State, Unavailable
from rooflint_measure.recording import Machine
from rooflint_measure.sensors import cpu
from rooflint_measure.sensors.amd import find_amd
from rooflint_measure.sensors.gpu import Gpu, NvidiaGpu, UnreadableGpu, find_nvidia
from rooflint_measure.sensors.host import HostWatch, affinity, load, quota_cpus, temperature_c, usable_cpus
from rooflint_measure.sensors.jetson import find_jetson
from rooflint_measure.sensors.power import PowerSource


class Observer(ABC):
    """Looks at the device that computes; another root lets tests bring a machine of their own."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root

    @abstractmethod
    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """What must be equal for two recordings to be of the same thing; libraries with their versions.

        Asked after the first product was computed, when the libraries have loaded what they bring along.
        """

    @abstractmethod
    def state(self) -> State:
        """Clocks, temperature, power and load just now."""

    @abstractmethod
    def power(self) -> PowerSource | Unavailable:
        """The source of the device's energy, or why there is none."""

    def others(self) -> str | Unavailable:
        """What others do on the device; empty where they do nothing."""
        runnable, cpus = load(), usable_cpus()
        if isinstance(runnable, Unavailable):
            return runnable
        return f"{runnable:.3g} runnable tasks on {cpus} CPUs" if runnable > cpus else ""

    def watch(self) -> HostWatch:
        """Sees what disturbs a sample."""
        return HostWatch(self._cpus(), self._root)

    def conditions(self, before: State, after: State, during: Iterable[State] = ()) -> Conditions:
        """The states around a measurement, and what the process may use."""
        used = identity.threads() or usable_cpus()
        return Conditions(before=before, after=after, during=tuple(during), threads=used, affinity=affinity())

    def _cpus(self) -> tuple[int, ...] | None:
        allowed = affinity()
        return None if isinstance(allowed, Unavailable) else allowed

    def _allowance(self) -> Facts:
        """What this process may use of the host, and the environment of its libraries."""
        quota = quota_cpus(self._root)
        return {**({} if quota is None else {"cpu quota": quota}), **identity.environment()}


def observer(device: str = "cpu") -> Observer:
    """The observer of `cpu`, `cuda`, `cuda:1` or `mps`, as torch names devices; AMD's are called `cuda` there, too."""
    kind, _, index = device.partition(":")
    if device == "cpu":
        return CpuObserver()
    if device == "mps":
        return MetalObserver()
    if kind != "cuda" or not (index or "0").isdecimal():
        raise RooflintError(f"--device: want cpu, cuda, cuda:N or mps, found '{device}'")
    return GpuObserver(find_jetson() or find_gpu(int(index or 0)))


class CpuObserver(Observer):
    """Looks at the processor, through what its system shows."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The processor, what of it this process may use, and the environment of the libraries."""
        return Machine(
            device=identity.device(self._root),
            kind="cpu",
            count=usable_cpus(),
            facts={**identity.facts(self._root), **self._allowance()},
            software=identity.software(libraries),
        )

    def state(self) -> State:
        """Clock of the core that this thread runs on, temperature, load."""
        clock, source = cpu.clock_hz(self._root)
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

    def power(self) -> PowerSource | Unavailable:
        """RAPL, or powermetrics on macOS."""
        return cpu.power_source(self._root)


class MetalObserver(CpuObserver):
    """Looks at a chip of Apple's, whose GPU shares memory, heat and meter with its cores."""

    def machine(self, libraries: Mapping[str, str]) -> Machine:
        """The chip, as a GPU; its system does not report the number of GPU cores."""
        found = super().machine(libraries)
        return found.model_copy(update={"device": f"{found.device} GPU", "kind": "gpu", "count": 1})

    def state(self) -> State:
        """Load; the clock of the GPU is not reported."""
        reason = Unavailable(reason="macOS does not report the clock of the GPU to a user's process")
        return super().state().model_copy(update={"clock_hz": reason, "clock_source": ""})


class GpuObserver(Observer):
    """Looks at a GPU, and at the host that feeds it."""

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
            facts={**self._gpu.facts(), **host, **self._allowance()},
            software={**identity.software(libraries), **self._gpu.software()},
        )

    def state(self) -> State:
        """Clocks, temperature, power and what holds it back."""
        return self._gpu.state(load())

    def others(self) -> str | Unavailable:
        """Other processes on the GPU."""
        return self._gpu.others()

    def conditions(self, before: State, after: State, during: Iterable[State] = ()) -> Conditions:
        """Also who else is on the GPU."""
        found, others = super().conditions(before, after, during), self.others()
        return found if isinstance(others, Unavailable) or not others else found.model_copy(update={"others": others})

    def power(self) -> PowerSource | Unavailable:
        """The device's own meter."""
        return self._gpu.power()

    def watch(self) -> HostWatch:
        """Sees what disturbs a sample, on the device or on the host."""
        return HostWatch(self._cpus(), self._root, reasons=self._gpu.reasons, counts=self._gpu.violations)


# ---- The device on which torch computes


def find_gpu(number: int) -> Gpu:
    """The device that torch calls `cuda:number`: NVIDIA's where NVML answers, else AMD's, else an unreadable one."""
    nvidia = find_nvidia(number)
    if not isinstance(nvidia, Unavailable):
        return _same(nvidia, number)
    amd = find_amd(number)
    if not isinstance(amd, Unavailable):
        return amd  # its libraries spell the names of one device differently, so they cannot be compared
    return UnreadableGpu(_torch_name(number) or "unknown GPU", Unavailable(reason=f"{nvidia.reason}; {amd.reason}"))


def _same(found: NvidiaGpu, number: int) -> Gpu:
    """What was found, unless torch computes on another device: the clock of a neighbour is worse than none."""
    name = _torch_name(number)
    if name is None or name == found.name:
        return found
    whole, mig, profile = name.partition(" MIG ")
    if mig and whole == found.name:
        return replace(found, slice=profile)
    names = f"cuda:{number} is '{name}' to torch and '{found.name}' to its driver's library"
    return UnreadableGpu(name, Unavailable(reason=f"{names}; set CUDA_DEVICE_ORDER=PCI_BUS_ID"))


def _torch_name(number: int) -> str | None:
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name(number)) if torch and torch.cuda.is_available() else None
