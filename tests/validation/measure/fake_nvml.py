"""A FAKE of NVML, not a GPU: what pynvml would answer for a device whose power is a known function of time.

Time is a fake, too: it goes on by a step whenever somebody looks at it or sleeps, so integrals have a closed form and
no test waits. Names of functions and units (mW, mJ, MHz) are those of nvidia-ml-py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace


class FakeClock:
    """Seconds that pass when it is looked at, and when somebody sleeps."""

    def __init__(self, step_s: float = 1e-4) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass(frozen=True)
class Curve:
    """Power over time, and its integral from zero in closed form."""

    power_w: Callable[[float], float]
    energy_j: Callable[[float], float]


def constant(power_w: float) -> Curve:
    """P, P·t."""
    return Curve(lambda t: power_w, lambda t: power_w * t)


def ramp(begin_w: float, slope_w_per_s: float) -> Curve:
    """P₀ + s·t, P₀·t + s·t²/2."""
    return Curve(lambda t: begin_w + slope_w_per_s * t, lambda t: begin_w * t + slope_w_per_s * t * t / 2)


def sine(mean_w: float, swing_w: float, period_s: float) -> Curve:
    """m + a·sin(ωt), m·t + a/ω·(1 − cos ωt)."""
    omega = 2 * math.pi / period_s
    return Curve(
        lambda t: mean_w + swing_w * math.sin(omega * t),
        lambda t: mean_w * t + swing_w / omega * (1 - math.cos(omega * t)),
    )


class NVMLError(Exception):
    """As pynvml raises it."""


@dataclass
class FakeGpu:
    """State of the device that does not exist; tests change it while it runs."""

    curve: Curve = field(default_factory=lambda: constant(400.0))
    clock: FakeClock = field(default_factory=FakeClock)
    refresh_s: float = 0.02
    """The energy counter is brought up to date this often."""
    has_energy_counter: bool = True
    sm_mhz: int = 1980
    memory_mhz: int = 3201
    temperature_c: int = 41
    limit_w: float = 700.0
    reasons: int = 0x1
    violations_ns: dict[int, int] = field(default_factory=dict)
    vanishes_at_s: float = math.inf
    mig: bool = True
    capability: tuple[int, int] = (9, 0)
    processes: list[tuple[int, int]] = field(default_factory=list)
    """(pid, memory [B]) of those that compute on it."""
    has_instant: bool = True
    """Whether the driver has NVML_FI_DEV_POWER_INSTANT, which those of 2022 and before lack."""


class FakeNvml:
    """The module pynvml, as far as it is used."""

    NVMLError = NVMLError

    def __init__(self, gpu: FakeGpu | None = None, devices: int = 1, old: bool = False) -> None:
        """`old` has the names of before 2023 only."""
        self.gpu, self.devices, self.old = gpu or FakeGpu(), devices, old

    def nvmlInit(self) -> None:  # noqa: N802
        if not self.devices:
            raise NVMLError("Driver Not Loaded")

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "575.57.08"

    def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
        return 12090

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if index >= self.devices:
            raise NVMLError("Invalid Argument")
        return f"handle {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        return f"handle of {uuid}"

    def nvmlDeviceGetName(self, handle: str) -> str:  # noqa: N802
        return self._now("NVIDIA Fake 9000")

    def nvmlDeviceGetBoardPartNumber(self, handle: str) -> str:  # noqa: N802
        return self._now("900-FAKE-0000-000")

    def nvmlDeviceGetVbiosVersion(self, handle: str) -> str:  # noqa: N802
        return self._now("96.00.FA.KE.01")

    def nvmlDeviceGetCudaComputeCapability(self, handle: str) -> tuple[int, int]:  # noqa: N802
        return self._now(self.gpu.capability)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:  # noqa: N802
        return self._now(SimpleNamespace(total=141 << 30))

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: str) -> int:  # noqa: N802
        return self._now(round(self.gpu.limit_w * 1e3))

    def nvmlDeviceGetPowerManagementDefaultLimit(self, handle: str) -> int:  # noqa: N802
        return self._now(700_000)

    def nvmlDeviceGetMaxClockInfo(self, handle: str, domain: int) -> int:  # noqa: N802
        return self._now({1: 1980, 2: 3201}[domain])

    def nvmlDeviceGetClockInfo(self, handle: str, domain: int) -> int:  # noqa: N802
        return self._now({1: self.gpu.sm_mhz, 2: self.gpu.memory_mhz}[domain])

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:  # noqa: N802
        return self._now(self.gpu.temperature_c)

    def nvmlDeviceGetEccMode(self, handle: str) -> list[int]:  # noqa: N802
        return self._now([1, 1])

    def nvmlDeviceGetMigMode(self, handle: str) -> list[int]:  # noqa: N802
        if not self.gpu.mig:
            raise NVMLError("Not Supported")
        return self._now([0, 0])

    def nvmlDeviceGetPersistenceMode(self, handle: str) -> int:  # noqa: N802
        return self._now(1)

    def nvmlDeviceGetSerial(self, handle: str) -> str:  # noqa: N802
        raise AssertionError("a serial number tells who owns the device")

    nvmlDeviceGetUUID = nvmlDeviceGetSerial  # noqa: N815

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:  # noqa: N802
        if self.old:
            raise NVMLError("Function Not Found")
        return self._now(self.gpu.reasons)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:  # noqa: N802
        return self._now(self.gpu.reasons)

    def nvmlDeviceGetViolationStatus(self, handle: str, policy: int) -> SimpleNamespace:  # noqa: N802
        if policy not in self.gpu.violations_ns:
            raise NVMLError("Not Supported")
        return self._now(SimpleNamespace(violationTime=self.gpu.violations_ns[policy]))

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: str) -> str:  # noqa: N802
        return f"parent of {handle}"

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:  # noqa: N802
        return self._now([SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.gpu.processes])

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:  # noqa: N802
        """Averaged over a second on Ampere (except GA100) and later, as NVML's reference says."""
        now_s = self.gpu.clock.now_s
        if self.gpu.capability <= (8, 0):
            return self._now(round(self.gpu.curve.power_w(now_s) * 1e3))
        return self._now(round((self.gpu.curve.energy_j(now_s) - self.gpu.curve.energy_j(now_s - 1.0)) * 1e3))

    def nvmlDeviceGetFieldValues(self, handle: str, fields: list[int]) -> list[SimpleNamespace]:  # noqa: N802
        """A status for each field; 3 is NVML_ERROR_NOT_SUPPORTED."""
        power_mw = round(self.gpu.curve.power_w(self.gpu.clock.now_s) * 1e3)
        known = self.gpu.has_instant and fields == [186]
        found = SimpleNamespace(nvmlReturn=0 if known else 3, value=SimpleNamespace(uiVal=power_mw if known else 0))
        return self._now([found])

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:  # noqa: N802
        if not self.gpu.has_energy_counter:
            raise NVMLError("Not Supported")
        seen_s = math.floor(self.gpu.clock.now_s / self.gpu.refresh_s) * self.gpu.refresh_s
        return self._now(round(self.gpu.curve.energy_j(seen_s) * 1e3))

    def _now(self, answer):
        if self.gpu.clock.now_s >= self.gpu.vanishes_at_s:
            raise NVMLError("GPU is lost")
        return answer
