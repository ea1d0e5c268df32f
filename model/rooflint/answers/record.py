"""The shape of what `--format json` writes: one class a kind of record, exported as JSON Schema for other programs.

SI base units are in the names; null is what nobody knows. A change that breaks a reader gets another number after the
slash of `schema`; what is only added does not.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.coefficients.launch_overheads import FREE
from rooflint.devices.schema import Strict
from rooflint.output.table import Cell
from rooflint.prediction.metrics import red_flags, zone
from rooflint.prediction.predict import SILICON, NotKnownError, Prediction, Setting, UnitShare

Share = Annotated[float, Field(ge=0)]
Bound = Literal["compute", "memory", "launch"]
FidelityName = Literal["roofline", "silicon"]
WayName = Literal["product", "convolution", "attention", "decode", "stream", "roofline"]
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
    over_limit: float | None
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


class UnitRecord(Strict):
    """Units of one kind that hold work, over the time of the kernels on them."""

    kind: str
    held: float
    total: int
    share_of_latency: Share


class RunRecord(Strict):
    """How a network was asked to run: in every answer."""

    batch: int
    compute: str
    storage: str
    fused: bool
    launch: str
    fidelity: FidelityName


class FlagRecord(Strict):
    """Something that should make a reader stop."""

    name: Literal["compute", "bandwidth", "idle units", "padding", "memory", "power"]
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
    fidelity: FidelityName
    """That of its latency: the roofline's, too, where silicon was asked for and the device lacks a fact."""
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
    latency_of_held_units_s: float | None
    utilization: Share | None
    units: list[UnitRecord] | None
    fits: bool | None
    memory: MemoryRecord | None
    energy: EnergyRecord | None
    red_flags: list[FlagRecord]
    not_known: dict[str, str]


class ExplanationRecord(Strict):
    """Why two devices differ."""

    metric: Literal["energy", "latency", "memory", "utilization"]
    of: Annotated[list[str], Field(min_length=2, max_length=2)]
    sentences: list[str]


class KernelValuesRecord(Strict):
    """What a kernel takes on each device: J of an inference, or s of a batch."""

    kernel: str
    values: dict[str, float | None]


class CompareRecord(RunRecord):
    """`rooflint compare NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.compare/1"], Field(alias="schema")]
    network: str
    devices: list[DeviceRecord | RefusedRecord]
    winners: dict[Literal["energy", "latency", "throughput", "memory", "balance"], list[str]]
    winners_without_launches: dict[Literal["energy", "latency"], str]
    winners_at_roofline: dict[Literal["energy", "latency"], str]
    """Where silicon decides: who wins what by the roofline."""
    insights: list[str]
    caveats: list[str]
    baseline: str | None = None
    requirements: list[str] | None = None
    meeting_all: list[str] | None = None
    explanation: ExplanationRecord | None = None
    kernels: list[KernelValuesRecord] | None = None


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
    way: WayName
    """By which formula it is timed."""
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


class AnalyzeRecord(DeviceRecord, RunRecord):
    """`rooflint analyze NETWORK DEVICE -f json`."""

    schema_: Annotated[Literal["rooflint.analyze/1"], Field(alias="schema")]
    network: str
    batch_efficiency: float | None
    power_efficiency_ops_per_j: float | None
    money_and_carbon: list[AmountRecord]
    per_kernel: list[KernelRecord]
    caveats: list[str]


class NetworkRecord(DeviceRecord):
    """One network on the device."""

    network: str


class RefusedNetworkRecord(RefusedRecord):
    """A network that the device cannot run."""

    network: str


class ModelsRecord(RunRecord):
    """`rooflint models DEVICE NETWORK… -f json`."""

    schema_: Annotated[Literal["rooflint.models/1"], Field(alias="schema")]
    device: str
    networks: list[NetworkRecord | RefusedNetworkRecord]
    not_captured: list[str]
    insights: list[str]
    caveats: list[str]


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


class LeaderRecord(Strict):
    """A combination of device and precision."""

    device: str
    compute: str


class PairRecord(Strict):
    """Which combination leads at a batch; null in a tie, and where it is known of none."""

    batch: int
    latency: LeaderRecord | None
    energy: LeaderRecord | None
    balance: LeaderRecord | None


class SweepRecord(Strict):
    """`rooflint sweep NETWORK -f json`."""

    schema_: Annotated[Literal["rooflint.sweep/1"], Field(alias="schema")]
    network: str
    storage: str | None
    """None where it is that of the arithmetic."""
    fused: bool
    launch: str
    fidelity: FidelityName
    requirements: list[str]
    sweeps: list[DeviceSweepRecord | RefusedSweepRecord]
    pairing: list[PairRecord]
    insights: list[str]
    caveats: list[str]


# ---- A prediction for programs: JSON values in SI base units, null where nobody knows; docs/commands.md has the sche

LISTING = (
    "device",
    "batch",
    "compute",
    "storage",
    "fused",
    "launch",
    "fidelity",
    "latency_s",
    "throughput_per_s",
    "energy_per_inference_j",
    "energy_complete",
    "power_w",
    "peak_memory_bytes",
    "fits",
    "utilization",
    "compute_efficiency",
    "bandwidth_efficiency",
    "bound",
    "not_supported",
)
"""Columns of a list of predictions."""


def listed(label: str, found: Prediction | None, batch: int, setting: Setting, refused: str = "") -> tuple[Cell, ...]:
    """One row of such a list; a device that cannot run the network has its reason instead of figures."""
    run = run_record(batch, setting)
    if found is None:
        return (label, *run.values(), *(None for _ in LISTING[1 + len(run) : -1]), refused)
    return (
        label,
        *(run | {"fidelity": found.fidelity}).values(),
        found.latency_s,
        found.throughput_per_s,
        known(lambda: found.energy_per_sample_j),
        found.complete,
        known(lambda: found.power_w),
        known(lambda: found.peak_bytes),
        found.fits,
        known(lambda: found.utilization),
        found.compute_efficiency,
        found.bandwidth_efficiency,
        found.bound,
        None,
    )


def run_record(batch: int, setting: Setting) -> dict[str, Any]:
    """How a network was asked to run: the same keys in every answer."""
    return {
        "batch": batch,
        "compute": setting.compute,
        "storage": setting.storage or setting.compute,
        "fused": setting.fuse,
        "launch": setting.launch,
        "fidelity": setting.fidelity,
    }


def said_of_run(batch: int | None, setting: Setting) -> str:
    """The same for a reader: `batch 8, int8 on fp32, fused, launches by stream`."""
    parts = [f"batch {batch}"] if batch else []
    parts.append(f"{setting.compute} on {setting.storage}" if setting.storage else setting.compute)
    parts.append("fused" if setting.fuse else "not fused")
    parts.append("launches free" if setting.launch == FREE else f"launches by {setting.launch}")
    parts += ["on silicon where it is known"] if setting.fidelity == SILICON else []
    return ", ".join(parts)


def record(label: str, found: Prediction | None, refused: str = "") -> dict[str, Any]:
    """Everything that is said of one device."""
    if found is None:
        return {"device": label, "not_supported": refused}
    return {
        "device": label,
        "name": found.hardware.name,
        "kind": found.hardware.kind,
        "operating_point": found.hardware.mode,
        "fidelity": found.fidelity,
        "kernels": len(found.run),
        "latency_s": found.latency_s,
        "waits_s": dict(found.shares),
        "bound": found.bound,
        "throughput_per_s": found.throughput_per_s,
        "ops": float(found.times.ops.sum()),
        "bytes_moved": float(found.times.bytes_moved.sum()),
        "intensity_ops_per_byte": found.intensity_ops_per_byte,
        "breakpoint_ops_per_byte": found.breakpoint_ops_per_byte,
        "peak_ops_per_s": found.peak_ops_per_s,
        "attained_ops_per_s": found.attained_ops_per_s,
        "compute_efficiency": found.compute_efficiency,
        "zone": zone(found.compute_efficiency),
        "peak_bandwidth_bytes_per_s": found.bandwidth_bytes_per_s,
        "attained_bandwidth_bytes_per_s": found.attained_bytes_per_s,
        "bandwidth_efficiency": found.bandwidth_efficiency,
        "latency_of_held_units_s": known(lambda: found.latency_of_held_units_s),
        "utilization": known(lambda: found.utilization),
        "units": known(lambda: [_unit(share) for share in found.unit_shares]),
        "fits": found.fits,
        "memory": known(lambda: _memory(found)),
        "energy": known(lambda: _energy(found)),
        "red_flags": [{"name": flag.name, "value": flag.value, "said": flag.said} for flag in red_flags(found)],
        "not_known": dict(found.reasons),
    }


def _unit(share: UnitShare) -> dict[str, Any]:
    return {"kind": share.kind, "held": share.held, "total": share.total, "share_of_latency": share.of_latency}


def known(value: Callable[[], Any]) -> Any:
    """A value, or None where nobody knows it."""
    try:
        return value()
    except NotKnownError:
        return None


def _memory(found: Prediction) -> dict[str, Any]:
    return {
        "peak_bytes": found.peak_bytes,
        "activation_bytes": found.activation_bytes,
        "weight_bytes": found.weight_bytes,
        "peak_at": found.footprint.peak_op,
    }


def _energy(found: Prediction) -> dict[str, Any]:
    low, high = found.energy.ends_j
    return {
        "batch_j": found.energy_j,
        "batch_low_j": low,
        "batch_high_j": high,
        "per_inference_j": found.energy_per_sample_j,
        "power_w": found.power_w,
        "over_limit": found.over_limit,
        "ops_per_j": found.ops_per_j,
        "grade": found.energy.grade,
        "left_out": list(found.energy.left_out),
        "terms": [
            {
                "name": term.name,
                "group": term.group,
                "events": float(term.counts.sum()),
                "unit": term.unit,
                "each_j": term.each.typical,
                "each_low_j": term.each.low,
                "each_high_j": term.each.high,
                "energy_j": term.total_j,
                "said": term.each.said,
                "grade": term.each.grade,
            }
            for term in found.energy.terms
        ],
    }
