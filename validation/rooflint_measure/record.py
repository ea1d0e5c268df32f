"""Measurements, as immutable records: what was timed, every raw value, the work of a call and the conditions.

What could not be measured is `Unavailable` with its reason: never a zero, never a guess.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from rooflint.base.units import OPS_PER_MAC


class Frozen(BaseModel):
    """Immutable, and without keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Unavailable(Frozen):
    """A source that is not there, such as a power counter in a virtual machine."""

    available: Literal[False] = False
    reason: str

    def __str__(self) -> str:
        """`not available: reason`, as it is always shown."""
        return f"not available: {self.reason}"


# ---- Energy of a measurement, from a counter or an integral of power


class Energy(Frozen):
    """Energy of a run of `calls` calls that took `seconds`. The idle power stands beside it and is never subtracted."""

    source: str
    """`nvml energy counter`, `nvml power`, `rapl package`, `powermetrics`, `amdsmi`."""
    joules: NonNegativeFloat
    """All of the device's, idle power included. [J]"""
    seconds: PositiveFloat
    calls: PositiveInt
    idle_w: NonNegativeFloat
    """Measured by the same source with nothing running, before. [W]"""
    warm_idle_w: NonNegativeFloat | None = None
    """The same right after the run, when the silicon is hot and clocks may still be up; None where it failed. [W]"""
    max_w: NonNegativeFloat | None = None
    """The most that was read during the run; None where the source gives no power of a moment. [W]"""
    resolution_j: NonNegativeFloat = 0.0
    """Step of the source. [J]"""

    @property
    def mean_w(self) -> float:
        """Power, idle included. [W]"""
        return self.joules / self.seconds

    @property
    def call_j(self) -> float:
        """Energy of one call, idle included. [J]"""
        return self.joules / self.calls


class Memory(Frozen):
    """The most memory that a call held."""

    peak_bytes: PositiveInt
    """Weights, inputs and what lies between. [B]"""
    source: str
    """What counts it: `torch allocator`, `resident memory of the process`."""


class Traffic(Frozen):
    """Bytes that one call moved to and from memory, as hardware counted them."""

    bytes: NonNegativeFloat
    """Of one call, reads and writes. [B]"""
    calls: PositiveInt
    """Over which it is averaged."""
    source: str
    """`memory controllers, other processes included`, `misses of the last cache …`, `CUPTI, dram__bytes`."""


class Transfers(Frozen):
    """What a call on a device costs beside its kernels: its inputs are copied there, and its outputs back."""

    inputs_bytes: NonNegativeInt
    inputs_s: NonNegativeFloat
    """Median. [s]"""
    outputs_bytes: NonNegativeInt
    outputs_s: NonNegativeFloat
    """Median. [s]"""
    source: str
    """How they were copied: `pageable memory, one copy a tensor`."""


# ---- What the machine was doing at one moment: clocks, temperature, power, what held it back


NOT_READ = Unavailable(reason="not read")


class State(Frozen):
    """Read before, during and after a measurement. What no source reports is `Unavailable` with its reason."""

    clock_hz: float | Unavailable
    """Of the processor that computes: SM clock of a GPU, core clock of a CPU. [Hz]"""
    clock_source: str = ""
    """Where the clock was read: `nvml`, `cpufreq`, `dependent chain`."""
    memory_clock_hz: float | Unavailable = NOT_READ
    temperature_c: float | Unavailable = NOT_READ
    power_w: float | Unavailable = NOT_READ
    power_limit_w: float | Unavailable = NOT_READ
    throttle: tuple[str, ...] | Unavailable = NOT_READ
    """Reasons that hold the clock back just now; empty where there are none."""
    load: float | Unavailable = NOT_READ
    """Runnable tasks, averaged over a minute, over all CPUs."""
    read_at_s: float | None = None
    """When it was read, since 1970 UTC; None in recordings made before this was kept. [s]"""


class Conditions(Frozen):
    """The states around a measurement, and what the process had set."""

    before: State
    after: State
    during: tuple[State, ...] = ()
    threads: int
    affinity: tuple[int, ...] | Unavailable
    """CPUs that the process may run on."""
    others: str | None = None
    """Other processes on a GPU after the samples; None where there are none, or nobody says."""


# ---- What was timed: a wait, a matrix product, a stream through memory, a network


class Wait(Frozen):
    """A busy-wait of known length, which checks a stopwatch."""

    kind: Literal["wait"] = "wait"
    wanted_s: PositiveFloat


class Gemm(Frozen):
    """A matrix product C = A·B of (m, k) by (k, n), `batch` of them."""

    kind: Literal["gemm"] = "gemm"
    precision: str
    library: str
    """The library that computes: `mkl`, `onednn`, `openblas`, `cublas`."""
    m: PositiveInt
    n: PositiveInt
    k: PositiveInt
    batch: PositiveInt = 1
    weight_copies: PositiveInt = 1
    """Matrices B, used in turn: a single one may stay in a cache between calls."""

    @property
    def macs(self) -> int:
        """Multiplications and additions in pairs, of one call. [MAC]"""
        return self.batch * self.m * self.n * self.k


class Stream(Frozen):
    """An element-wise pass through memory: `copy` a = b, `scale` a = s·b, `triad` a = b + s·c, `read` a sum of b."""

    kind: Literal["stream"] = "stream"
    kernel: Literal["copy", "scale", "triad", "read"]
    library: str
    array_bytes: PositiveInt
    """Of one array."""
    cache_bytes: int | None = None
    """The last-level cache that the arrays must exceed."""


class Network(Frozen):
    """An inference of a whole network."""

    kind: Literal["network"] = "network"
    name: str
    """As torchvision or its spec names it; `networks.py:whisper` for one of the user's own."""
    batch: PositiveInt
    precision: str
    library: str
    layout: Literal["contiguous", "channels_last"] = "contiguous"
    compiled: bool = False
    graph: bool = False
    """Replayed as a CUDA graph, which spares launches."""
    modes: tuple[str, ...] = ()
    """What else was set: `cudnn_benchmark`, `no_grad`, `flash_attention`, `dynamic` quantization."""
    tokens: PositiveInt | None = None
    """New tokens of each sequence, of a language model."""
    past: int = 0
    """Tokens of each sequence in its cache."""
    macs: PositiveInt
    """Of one inference of the whole batch, as captured. [MAC]"""

    @property
    def settings(self) -> tuple[str, ...]:
        """Settings that are not the defaults: `t128`, `channels_last`, `compiled`, `graph`."""
        chosen = {
            f"t{self.tokens}": self.tokens is not None,
            f"p{self.past}": self.past > 0,
            "channels_last": self.layout == "channels_last",
            "compiled": self.compiled,
            "graph": self.graph,
        }
        return (*(name for name, is_set in chosen.items() if is_set), *self.modes)


class Launch(Frozen):
    """An op on one element: what it takes to start one, in a row of launches, or as a kernel of a graph."""

    kind: Literal["launch"] = "launch"
    way: Literal["stream", "graph"]
    library: str


Subject = Annotated[Wait | Gemm | Stream | Network | Launch, Field(discriminator="kind")]


def label(subject: Wait | Gemm | Stream | Network | Launch) -> str:
    """Stable and shell-safe, for rows, ids and messages."""
    match subject:
        case Wait():
            return f"wait-{subject.wanted_s * 1e6:g}us"
        case Gemm():
            batch = f"{subject.batch}x" if subject.batch > 1 else ""
            turns = f"-{subject.weight_copies}w" if subject.weight_copies > 1 else ""
            return f"gemm-{subject.precision}-{subject.library}-{batch}{subject.m}x{subject.n}x{subject.k}{turns}"
        case Stream():
            return f"stream-{subject.kernel}-{subject.library}-{subject.array_bytes}"
        case Launch():
            return f"launch-{subject.way}-{subject.library}"
        case Network():
            words = ["network", subject.name, subject.precision, subject.library, f"b{subject.batch}"]
            return "-".join([*words, *subject.settings])


# ---- Raw times of one stopwatch, none left out: what disturbed a sample is marked beside it

STOLEN_SHARE = 0.01
"""A sample is disturbed if another guest of the host took more of its time than this. [1]"""

QUEUED_SHARE = 0.05
"""A sample is disturbed if its threads waited for a core longer than this; waking a thread takes part of it. [1]"""

STOLEN, QUEUED, PREEMPTED = "stolen", "queued", "preempted"


class Samples(Frozen):
    """Columns, one entry a sample: a sample is the time of `calls` calls in a row, divided by `calls`."""

    seconds: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)]
    """Of one call. [s]"""
    calls: PositiveInt
    """Calls in a row that make a sample."""
    sample_s: PositiveFloat | None = None
    """Length that samples were given, by the plan or for the load of the machine; None where it was not noted. [s]"""
    warm_up_s: tuple[PositiveFloat, ...] = ()
    """Samples before the machine was warm; no figure uses them. [s]"""
    stolen_s: tuple[float, ...] | None = None
    """CPU time that the hypervisor gave to others during each sample, of all CPUs; None where it is not counted. [s]"""
    queued_s: tuple[float, ...] | None = None
    """Time that threads of ours were ready and had no core, of all threads; None where it is not counted. [s]"""
    preempted: tuple[int, ...] | None = None
    """How often the thread that timed each sample lost its core to another; None where it is not counted."""
    throttled: dict[int, tuple[str, ...]] = {}
    """Reasons for which the device held its clock back, by number of the sample."""

    @model_validator(mode="after")
    def _columns_fit(self) -> "Samples":
        columns = (("stolen", self.stolen_s), ("queued", self.queued_s), ("preempted", self.preempted))
        for name, column in columns:
            if column is not None and len(column) != len(self.seconds):
                raise ValueError(f"want a {name} value for each of {len(self.seconds)} samples, found {len(column)}")
        if wrong := [number for number in self.throttled if not 0 <= number < len(self.seconds)]:
            raise ValueError(f"want throttled samples among {len(self.seconds)}, found number {wrong[0]}")
        return self

    @property
    def disturbed(self) -> tuple[int, ...]:
        """Numbers of the samples that were throttled or lost time to others; they are kept."""
        return tuple(number for number in range(len(self.seconds)) if self.disturbance(number))

    def disturbance(self, number: int) -> tuple[str, ...]:
        """What disturbed one sample: reasons of a clock that was held back, `stolen`, `queued`.

        `preempted` where it is not known how long its threads waited for a core, only how often the one that timed did.
        """
        took_s = self.seconds[number] * self.calls
        stolen = self.stolen_s is not None and self.stolen_s[number] > STOLEN_SHARE * took_s
        queued = self.queued_s is not None and self.queued_s[number] > QUEUED_SHARE * took_s
        lost = self.queued_s is None and self.preempted is not None and self.preempted[number] > 0
        found = ((STOLEN, stolen), (QUEUED, queued), (PREEMPTED, lost))
        return (*self.throttled.get(number, ()), *(reason for reason, holds in found if holds))

    @property
    def quiet_s(self) -> tuple[float, ...]:
        """The samples that nothing is known to have disturbed. [s]"""
        disturbed = set(self.disturbed)
        return tuple(value for number, value in enumerate(self.seconds) if number not in disturbed)

    @property
    def best_s(self) -> float:
        """The least time: noise only ever adds. [s]"""
        return min(self.seconds)

    @property
    def median_s(self) -> float:
        """The typical time of a call. [s]"""
        return float(np.median(self.seconds))

    @property
    def spread(self) -> float:
        """Quartile distance over the median: the noise within one run. A busy neighbour does not show in it."""
        low, high = np.quantile(self.seconds, (0.25, 0.75))
        return float((high - low) / self.median_s)


# ---- One measurement: what was timed, every raw value, the work of a call and the conditions. Immutable


class Reference(Frozen):
    """A kernel of known work that was timed in turn with the subject, so that a slow hour of the machine shows."""

    subject: Subject
    samples: Samples


class Measurement(Frozen):
    """What a stopwatch returns."""

    subject: Subject
    samples: Samples
    bytes_moved: PositiveFloat | None = None
    """Bytes that a call must read and write at least, as the kernel counts them. [B]"""
    reference: Reference | None = None
    conditions: Conditions
    energy: Energy | Unavailable
    memory: Memory | Unavailable | None = None
    """None where it was not asked for."""
    transfers: Transfers | Unavailable | None = None
    """Between the host and the device; no part of the samples. None where it was not asked for."""
    traffic: Traffic | Unavailable | None = None
    """By hardware counters; `bytes_moved` is what a call must move at least. None where it was not asked for."""
    details: dict[str, str | int | float] = Field(default_factory=dict)
    """Settings that change what runs: oneDNN's verbose kernel name, cuBLAS workspace, math mode."""

    @property
    def name(self) -> str:
        """Stable within a recording."""
        return label(self.subject)

    @property
    def ops(self) -> int | None:
        """Work of a call. [op]"""
        return OPS_PER_MAC * self.subject.macs if isinstance(self.subject, Gemm | Network) else None

    @property
    def ops_per_s(self) -> float | None:
        """The best rate that was reached. [op/s]"""
        return None if self.ops is None else self.ops / self.samples.best_s

    @property
    def items_per_s(self) -> float | None:
        """Samples of the batch that a network takes, at the median latency. [1/s]"""
        return self.subject.batch / self.samples.median_s if isinstance(self.subject, Network) else None

    @property
    def item_j(self) -> float | None:
        """Energy of one sample of the batch, idle included; its inverse is items per second per watt. [J]"""
        if not isinstance(self.subject, Network) or not isinstance(self.energy, Energy):
            return None
        return self.energy.call_j / self.subject.batch

    @property
    def bytes_per_s(self) -> float | None:
        """The best rate through memory that was reached. [B/s]"""
        return None if self.bytes_moved is None else self.bytes_moved / self.samples.best_s
