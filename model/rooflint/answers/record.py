"""What `--format json` writes of networks on devices: typed records, from which the JSON Schemas are generated.

SI base units are in the names; null stands for what is not known. A change that breaks a reader raises the number at
the end of `schema`; an addition does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from rooflint.base.facts import Grade
from rooflint.base.precision import Policy
from rooflint.coefficients.library import FREE
from rooflint.energy.terms import Term
from rooflint.hardware.schema import Strict
from rooflint.output.sections import Cell, Table
from rooflint.prediction.metrics import Zone, red_flags, zone
from rooflint.prediction.predict import SILICON, Prediction, Setting
from rooflint.workloads.workload import Workload

Share = Annotated[float, Field(ge=0)]
Bound = Literal["compute", "memory", "launch"]
FidelityName = Literal["roofline", "silicon"]


class PolicyRecord(Strict):
    """Precisions of weights, activations and cache. What is not narrow has 16 bits."""

    name: str
    weight_bits: float
    """Of an element of a narrow weight, with its share of a block's scale."""
    activations: str
    """What products with narrow weights read beside them."""
    compute: list[str]
    """Of these products, the first that a device has."""
    cache: str
    experts_only: bool
    """Whether in a network with experts only these are narrow."""


class RunRecord(Strict):
    """How a network was asked to run: in every answer."""

    batch: int
    compute: str
    """Precision of the arithmetic, or the policy."""
    storage: str
    fused: bool
    launch: str
    fidelity: FidelityName
    cached: bool
    """Whether the largest cache keeps what it can from op to op."""
    policy: PolicyRecord | None = None
    """Null for a precision."""


def run_fields(batch: int, setting: Setting) -> dict[str, Any]:
    """Values of a RunRecord."""
    return {
        "batch": batch,
        "compute": setting.compute,
        "storage": setting.storage or setting.compute,
        "fused": setting.fuse,
        "launch": setting.launch,
        "fidelity": setting.fidelity,
        "cached": setting.cached,
    } | ({"policy": policy_record(setting.policy)} if setting.policy else {})


def policy_record(policy: Policy) -> PolicyRecord:
    """A policy as it is written."""
    return PolicyRecord.from_object(policy, weight_bits=policy.weights.stored_bits, compute=list(policy.compute))


def run_text(batch: int | None, setting: Setting) -> str:
    """The same for a reader: `batch 8, int8 compute, fp32 storage, fused, stream launches`."""
    parts = [f"batch {batch}"] if batch else []
    precisions = f"{setting.compute} compute, {setting.storage} storage" if setting.storage else setting.compute
    parts.append(f"{precisions} ({policy_text(policy_record(setting.policy))})" if setting.policy else precisions)
    parts.append("fused" if setting.fuse else "not fused")
    parts.append("no launch overhead" if setting.launch == FREE else f"{setting.launch} launches")
    parts += ["calibrated kernel times where available"] if setting.fidelity == SILICON else []
    parts += [] if setting.cached else ["every byte from memory"]
    return ", ".join(parts)


def settings_text(settings: Sequence[Setting]) -> str:
    """The same of settings that differ in precision alone: `bf16, w4a16, not fused, stream launches`."""
    names = list(dict.fromkeys(setting.compute for setting in settings))
    if len(names) == 1:
        return run_text(None, settings[0])
    plain = run_text(None, replace(settings[0], compute="bf16"))  # without the terms of a policy
    return plain.replace("bf16", ", ".join(names), 1)


def policy_text(policy: PolicyRecord) -> str:
    """`weights 4.125 bit, cache bf16`."""
    return f"weights {policy.weight_bits:.5g} bit, cache {policy.cache}"


def basis_text(setting: Setting) -> str:
    """What latencies of several devices rest on."""
    return "calibrated latency where available" if setting.fidelity == SILICON else "roofline latency"


class TokensRecord(Strict):
    """The tokens of each sequence, where the network works on sequences."""

    new: int
    past: int
    steps: int


def tokens_fields(work: Workload) -> dict[str, Any]:
    """Values for `tokens` of a record; none for a network that works on no sequences."""
    return {"tokens": TokensRecord(**work.tokens._asdict())} if work.tokens else {}


def tokens_text(work: Workload) -> str:
    """The same for a reader, in front of the other options: `2048 new tokens, `."""
    return f"{work.tokens}, " if work.tokens else ""


class TermRecord(Strict):
    """One term of the energy of a batch."""

    name: str
    group: Literal["compute", "memory", "control", "static"]
    events: float
    unit: str
    each_j: float
    each_low_j: float
    each_high_j: float
    energy_j: float
    basis: str
    grade: Grade


class EnergyRecord(Strict):
    """Energy of a batch as terms that add up to it."""

    batch_j: float
    batch_low_j: float
    batch_high_j: float
    per_inference_j: float
    power_w: float
    over_limit: float | None
    ops_per_j: float
    grade: Grade
    left_out: list[str]
    terms: list[TermRecord]


class MemoryRecord(Strict):
    """The memory that a batch takes."""

    peak_bytes: float
    activation_bytes: float
    weight_bytes: float
    cache_bytes: float
    """Keys and values of all tokens."""
    peak_at: str


class WaitsRecord(Strict):
    """Latency by bottleneck; the parts add up to it."""

    compute: float
    memory: float
    launch: float


class UnitRecord(Strict):
    """Time-averaged active units of one kind, over the time of the kernels on them."""

    kind: str
    active: float
    total: int
    share_of_latency: Share


class FlagRecord(Strict):
    """A sign that the device suits the network badly."""

    name: Literal["compute", "bandwidth", "idle units", "padding", "memory", "power"]
    value: float
    message: str


class RefusedRecord(Strict):
    """A device that cannot run the network."""

    device: str
    not_supported: str


class DeviceRecord(Strict):
    """A network on one device."""

    device: str
    name: str
    kind: str
    operating_point: str | None
    fidelity: FidelityName
    """Of the latency: `roofline` also where silicon was asked for and the device lacks a fact."""
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
    zone: Zone
    peak_bandwidth_bytes_per_s: float
    attained_bandwidth_bytes_per_s: float
    bandwidth_efficiency: Share
    latency_of_active_units_s: float | None
    utilization: Share | None
    units: list[UnitRecord] | None
    fits: bool | None
    memory: MemoryRecord | None
    energy: EnergyRecord | None
    red_flags: list[FlagRecord]
    not_known: dict[str, str]


def device_fields(label: str, found: Prediction) -> dict[str, Any]:
    """Values of a DeviceRecord."""
    allocation = found.has("allocation")
    values = {
        "device": label,
        "name": found.hardware.name,
        "kind": found.hardware.kind,
        "operating_point": found.hardware.mode,
        "kernels": found.launches,
        "waits_s": WaitsRecord(**found.shares),
        "ops": float(found.times.ops.sum()),
        "bytes_moved": float(found.times.bytes_moved.sum()),
        "zone": zone(found.compute_efficiency),
        "peak_bandwidth_bytes_per_s": found.bandwidth_bytes_per_s,
        "attained_bandwidth_bytes_per_s": found.attained_bytes_per_s,
        "latency_of_active_units_s": found.latency_of_active_units_s if allocation else None,
        "utilization": found.utilization if allocation else None,
        "units": [UnitRecord.from_object(one, share_of_latency=one.of_latency) for one in found.unit_shares]
        if allocation
        else None,
        "memory": MemoryRecord.from_object(found, peak_at=found.footprint.peak_op) if found.has("footprint") else None,
        "energy": _energy(found) if found.has("energy") else None,
        "red_flags": [FlagRecord.from_object(one, message=one.message) for one in red_flags(found)],
        "not_known": dict(found.reasons),
    }
    return {name: getattr(found, name) for name in DeviceRecord.model_fields if name not in values} | values


def _energy(found: Prediction) -> EnergyRecord:
    low, high = found.energy.ends_j
    return EnergyRecord.from_object(
        found,
        batch_j=found.energy_j,
        batch_low_j=low,
        batch_high_j=high,
        per_inference_j=found.energy_per_sample_j,
        grade=found.energy.grade,
        left_out=list(found.energy.left_out),
        terms=[_term(term) for term in found.energy.terms],
    )


def _term(term: Term) -> TermRecord:
    each = term.each
    return TermRecord.from_object(
        term,
        events=float(term.counts.sum()),
        each_j=each.typical,
        each_low_j=each.low,
        each_high_j=each.high,
        energy_j=term.total_j,
        basis=each.basis,
        grade=each.grade,
    )


def device_record(label: str, found: Prediction | None, refused: str) -> DeviceRecord | RefusedRecord:
    """A network on a device, or why the device cannot run it."""
    if found is None:
        return RefusedRecord(device=label, not_supported=refused)
    return DeviceRecord(**device_fields(label, found))


# ---- the same as rows of a spreadsheet

LISTING = (
    *(
        "device",
        "batch",
        "compute",
        "storage",
        "fused",
        "launch",
        "fidelity",
        "cached",
        "latency_s",
        "throughput_per_s",
    ),
    *("energy_per_inference_j", "energy_complete", "power_w", "peak_memory_bytes", "fits", "utilization"),
    *("compute_efficiency", "bandwidth_efficiency", "bound", "not_supported"),
)


def listing(found: Iterable[tuple[RunRecord, DeviceRecord | RefusedRecord]], **more: list[str]) -> Table:
    """A row for each device and run; a device that cannot run the network has its reason instead of figures."""
    rows = [_row(run, one) for run, one in found]
    values = (tuple(row.get(column) for column in LISTING) for row in rows)
    return Table((*more, *LISTING), tuple((*first, *row) for *first, row in zip(*more.values(), values, strict=True)))


def _row(run: RunRecord, one: DeviceRecord | RefusedRecord) -> dict[str, Cell]:
    named = (name for name in LISTING if name in RunRecord.model_fields)
    row: dict[str, Cell] = {name: getattr(run, name) for name in named} | {"device": one.device}
    if isinstance(one, RefusedRecord):
        return row | {"not_supported": one.not_supported}
    row |= {name: getattr(one, name) for name in LISTING if name in DeviceRecord.model_fields}
    row |= {"energy_complete": False, "peak_memory_bytes": one.memory.peak_bytes if one.memory else None}
    if one.energy:
        row |= {"energy_per_inference_j": one.energy.per_inference_j, "power_w": one.energy.power_w}
        row |= {"energy_complete": not one.energy.left_out}
    return row
