"""The shape of what `--format json` writes: one class a kind of record, exported as JSON Schema for other programs.

SI base units are in the names; null is what nobody knows. A change that breaks a reader gets another number after the
slash of `schema`; what is only added does not.
"""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import Strict

Share = Annotated[float, Field(ge=0)]
Bound = Literal["compute", "memory", "launch"]
GradeName = Literal["read", "device", "quoted", "recalled", "estimate"]


class TermRecord(Strict):
    """One cause of energy, of a batch."""

    name: str
    group: Literal["compute", "memory", "control", "static"]
    events: float
    unit: str
    each_j: float
    each_low_j: float
    each_high_j: float
    energy_j: float
    said: str
    grade: GradeName


class EnergyRecord(Strict):
    """Energy of a batch as terms that add up to it."""

    batch_j: float
    batch_low_j: float
    batch_high_j: float
    per_inference_j: float
    power_w: float
    over_tdp: float | None
    ops_per_j: float
    grade: GradeName
    left_out: list[str]
    terms: list[TermRecord]


class MemoryRecord(Strict):
    """What lives at once."""

    peak_bytes: float
    activation_bytes: float
    weight_bytes: float
    peak_at: str


class WaitsRecord(Strict):
    """What the latency waits for; the parts add up to it."""

    compute: float
    memory: float
    launch: float


class FlagRecord(Strict):
    """Something that should make a reader stop."""

    name: Literal["compute", "bandwidth", "idle units"]
    value: float
    said: str


class RefusedRecord(Strict):
    """A device that cannot run the network."""

    device: str
    not_supported: str


class DeviceRecord(Strict):
    """Everything that is said of one device."""

    device: str
    name: str
    kind: str
    operating_point: str | None
    kernels: int
    latency_s: float
    waits_s: WaitsRecord
    bound: Bound
    throughput_per_s: float
    ops: float
    bytes_moved: float
    intensity_ops_per_byte: float
    breakpoint_ops_per_byte: float
    peak_ops_per_s: float
    attained_ops_per_s: float
    compute_efficiency: Share
    zone: Literal["idle silicon", "sweet spot", "near its limit"]
    peak_bandwidth_bytes_per_s: float
    attained_bandwidth_bytes_per_s: float
    bandwidth_efficiency: Share
    utilization: Share | None
    units: str | None
    memory: MemoryRecord | None
    energy: EnergyRecord | None
    red_flags: list[FlagRecord]
    not_known: dict[str, str]


class ExplanationRecord(Strict):
    """Why two devices differ."""

    metric: Literal["energy", "latency", "memory", "utilization"]
    of: Annotated[list[str], Field(min_length=2, max_length=2)]
    sentences: list[str]


class CompareRecord(Strict):
    """`rooflint compare NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.compare/1"], Field(alias="schema")]
    network: str
    batch: int
    compute: str
    storage: str
    fused: bool
    launch: str
    devices: list[DeviceRecord | RefusedRecord]
    winners: dict[Literal["energy", "latency", "throughput", "memory", "balance"], str | None]
    insights: list[str]
    baseline: str | None = None
    requirements: list[str] | None = None
    meeting_all: list[str] | None = None
    explanation: ExplanationRecord | None = None


class AmountRecord(Strict):
    """An amount of money, time or carbon, with what it rests on."""

    name: str
    value: float | None
    unit: str
    said: str


class KernelRecord(Strict):
    """One kernel of a network on a device."""

    kernel: str
    kind: str
    ops: float
    bytes_moved: float
    compute_s: float
    memory_s: float
    launch_s: float
    bound: Bound
    energy_j: float | None
    units: int | None
    total_units: int | None
    unit: str | None
    blocks: int | None
    waves: int | None
    padding: float | None


class AnalyzeRecord(DeviceRecord):
    """`rooflint analyze NETWORK DEVICE -f json`."""

    schema_: Annotated[Literal["rooflint.analyze/1"], Field(alias="schema")]
    network: str
    batch: int
    compute: str
    storage: str
    batch_efficiency: float
    power_efficiency_ops_per_j: float | None
    money_and_carbon: list[AmountRecord]
    per_kernel: list[KernelRecord]


class NetworkRecord(DeviceRecord):
    """One network on the device."""

    network: str


class RefusedNetworkRecord(RefusedRecord):
    """A network that the device cannot run."""

    network: str


class ModelsRecord(Strict):
    """`rooflint models DEVICE NETWORK… -f json`."""

    schema_: Annotated[Literal["rooflint.models/1"], Field(alias="schema")]
    device: str
    networks: list[NetworkRecord | RefusedNetworkRecord]
    not_captured: list[str]


class BatchRecord(DeviceRecord):
    """One batch on a device."""

    batch: int
    batch_efficiency: float


class DeviceSweepRecord(Strict):
    """A device in a precision over batches."""

    device: str
    compute: str
    best_batch: int | None
    least_energy_batch: int | None
    batches: list[BatchRecord]


class RefusedSweepRecord(RefusedRecord):
    """A device that cannot run the network in that precision."""

    compute: str


class PairRecord(Strict):
    """Which combination leads at a batch."""

    batch: int
    latency: str | None
    energy: str | None
    balance: str | None


class SweepRecord(Strict):
    """`rooflint sweep NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.sweep/1"], Field(alias="schema")]
    network: str
    requirements: list[str]
    sweeps: list[DeviceSweepRecord | RefusedSweepRecord]
    pairing: list[PairRecord]
    insights: list[str]
