"""The answer to `rooflint analyze`: everything that the model predicts of one network on one device."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rooflint.answers.insights import caveats, energy_bar, keeps_weights, latency_bar, roof_of
from rooflint.answers.record import (
    Bound,
    DeviceRecord,
    RunRecord,
    TokensRecord,
    device_fields,
    run_fields,
    run_text,
    tokens_fields,
    tokens_text,
)
from rooflint.base import units
from rooflint.base.precision import rate_unit
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import format_number, format_quantity, percent
from rooflint.hardware.schema import Strict
from rooflint.kernels.gemm import Breakdown
from rooflint.kernels.network import MODELS, ModelName, SiliconEstimate, rests_on
from rooflint.kernels.products import Gemm
from rooflint.output.answer import Answer, Record
from rooflint.output.sections import Bars, Grid, Point, Prose, Rooflines, Section, Table
from rooflint.prediction.comparison import Contender, per_second
from rooflint.prediction.cost import Amount
from rooflint.prediction.metrics import batch_efficiency, limit_name, power_efficiency_ops_per_j, zone
from rooflint.prediction.predict import Prediction, Setting
from rooflint.workloads.workload import Workload

COLUMNS = ("kernel", "m × n × k", "time", "tile", "dominant term")
NOTE = "identical ones grouped; a convolution is an implicit product; rooflint explain gemm M N K derives one"
PRODUCTS = ("product", "convolution")
"""Ways of timing an op that cut it into tiles."""
MOST = 8


def longest(times: SiliconEstimate) -> Iterator[tuple[str, ...]]:
    """A row for each shape, the one whose kernels take longest together first."""
    alike: dict[tuple[float, ...], list[int]] = {}
    each = times.kernel_s / times.launches
    for op in np.flatnonzero(np.isin(times.kernel_models, PRODUCTS)).tolist():
        alike.setdefault((*_sizes(times, op), float(each[op])), []).append(op)
    slowest = sorted(alike.values(), key=lambda ops: -float(times.kernel_s[ops].sum()))
    yield from (_row(times, ops) for ops in slowest[:MOST])


def taken_apart(times: SiliconEstimate, op: int) -> Breakdown:
    """One product with the bytes that its kernel moves, which may be others than those of a bare product."""
    model, work = times.asked(op)
    assert isinstance(model, Gemm)
    return model.apart(work, times.chip, times.shared, times.launch_gap_s)[0]


def by_winograd(times: SiliconEstimate, op: int) -> str:
    """`Winograd, fused` of a convolution that is not computed directly; else nothing."""
    chosen = times.algorithms[op]
    return "" if chosen == "direct" else f"Winograd, {chosen}"


def _sizes(times: SiliconEstimate, op: int) -> tuple[float, ...]:
    """m, n, k, products of that shape."""
    run = times.run
    return tuple(float(column[op]) for column in (run.m, run.n, run.k, run.groups))


def _row(times: SiliconEstimate, ops: list[int]) -> tuple[str, ...]:
    one, (m, n, k, groups) = taken_apart(times, ops[0]), _sizes(times, ops[0])
    tile, winograd = f"{one.tile}{f', k in {one.split}' if one.split > 1 else ''}", by_winograd(times, ops[0])
    return (
        _name(times.run, ops),
        f"{m:.0f} × {n:.0f} × {k:.0f}{f', {groups:.0f} times' if groups > 1 else ''}",
        format_quantity(float(times.kernel_s[ops[0]]) / float(times.launches[ops[0]]), units.SECONDS),
        winograd or tile,
        _longer(times, ops[0]) if winograd else one.bound,
    )


def _name(run: Workload, ops: list[int], kind: str = "") -> str:
    """`conv1 (convolution) and 3 identical`."""
    runs = int(run.repeats[ops].sum())
    others = f" and {runs - 1} identical" if runs > 1 else ""
    return f"{run.op_names[ops[0]]}{f' ({kind})' if kind else ''}{others}"


def _longer(times: SiliconEstimate, op: int) -> str:
    """The longest part of a kernel that is not computed in tiles."""
    parts = {"arithmetic": times.compute_s[op], "memory": times.memory_s[op], "launch": times.launch_s[op]}
    return max(parts, key=lambda name: float(parts[name]))


# ---- the answer


class KernelRecord(Strict):
    """One kernel of a network on a device."""

    kernel: str
    kind: str
    model: ModelName
    """The model that times it."""
    ops: float
    bytes_moved: float
    repeats: int
    """How often it runs; what stands in this record is of all its repeats."""
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


class AmountRecord(Strict):
    """An amount of money, time or carbon with its source, or why it is not known."""

    name: str
    value: float | None
    unit: str
    basis: str


class AnalyzeRecord(DeviceRecord, RunRecord, Record):
    """`rooflint analyze NETWORK DEVICE -f json`."""

    schema_: Annotated[Literal["rooflint.analyze/2"], Field(alias="schema")]
    network: str
    batch_efficiency: float | None
    power_efficiency_ops_per_j: float | None
    money_and_carbon: list[AmountRecord]
    per_kernel: list[KernelRecord]
    caveats: list[str]
    tokens: TokensRecord | None = None


def answer(one: Contender, setting: Setting, single: Prediction | None, spent: Sequence[Amount]) -> Answer:
    """The answer for a device that can run the network; `single` is the prediction of one sample, if there is one."""
    found = one.prediction
    record = AnalyzeRecord.build(
        network=found.network.name,
        **tokens_fields(found.network),
        **(run_fields(found.batch, setting) | device_fields(one.label, found)),
        batch_efficiency=batch_efficiency(single, found) if single else None,
        power_efficiency_ops_per_j=power_efficiency_ops_per_j(found) if found.has("energy") else None,
        money_and_carbon=[AmountRecord(**asdict(one)) for one in spent],
        per_kernel=_kernels(found),
        caveats=list(caveats((one,))),
    )
    return Answer(
        title=f"{found.network.name} on {one.label}",
        subtitle=f"{found.hardware.name}; {tokens_text(found.network)}{run_text(found.batch, setting)}",
        sections=tuple(_sections(one, single, record)),
        record=record,
        listing=Table.of(tuple(KernelRecord.model_fields), map(dict, record.per_kernel)),
    )


def _sections(one: Contender, single: Prediction | None, record: AnalyzeRecord) -> Iterator[Section]:
    found = one.prediction
    yield Prose("Red flags", tuple(flag.message for flag in record.red_flags) or ("none",))
    least = "" if found.silicon else "the roofline is a lower bound"
    yield Grid("Time", Table(("", "", ""), tuple(_time(found, single))), least)
    yield Bars("Latency by bottleneck", (latency_bar(one),), "seconds of a batch")
    if found.silicon:
        rows = tuple(_kernel_models(found, found.silicon))
        yield Grid("Kernel models", Table(MODEL_COLUMNS, rows), "docs/method-silicon-ops.md")
    yield Grid("Units", Table(("", "", ""), tuple(_units(found))))
    yield from _energy(one)
    if found.has("footprint"):
        yield Grid("Memory", Table(("", "", ""), tuple(_memory(found, cached=record.cached))))
    if record.money_and_carbon:
        yield Grid("Money and carbon", Table(("", "", "source"), tuple(map(_amount, record.money_and_carbon))))
    yield Grid("Where the time goes", Table(TIMES, tuple(_longest(found))), LONGEST)
    if found.silicon and (rows := tuple(longest(found.silicon))):
        yield Grid("Slowest matrix products", Table(COLUMNS, rows), NOTE)
    yield _rooflines(one)
    if record.caveats:
        yield Prose("Limitations", tuple(record.caveats))
    if found.hardware.notes:
        yield Prose("Spec notes", (" ".join(found.hardware.notes.split()),))


def _time(found: Prediction, single: Prediction | None) -> Iterator[tuple[str, str, str]]:
    flop = rate_unit(found.compute)
    yield "batch latency", format_quantity(found.latency_s, units.SECONDS), f"{found.launches} kernels"
    if found.has("allocation") and not found.silicon:
        slower = found.latency_of_active_units_s
        text = f"{slower / found.latency_s:.3g} × as long: idle slots of waves and padding count"
        yield "with active units only", format_quantity(slower, units.SECONDS), text
    yield "throughput", per_second(found.throughput_per_s), f"batch {found.batch}"
    if single and single.batch != found.batch:
        efficiency = batch_efficiency(single, found)
        yield "batch efficiency", percent(efficiency), f"throughput over {found.batch} × that of batch {single.batch}"
    peak = format_quantity(found.peak_ops_per_s, units.OPS_PER_S, unit=flop)
    attained = format_quantity(found.attained_ops_per_s, units.OPS_PER_S, unit=flop)
    yield "attained", attained, f"{percent(found.compute_efficiency)} of {peak}"
    bandwidth = format_quantity(found.bandwidth_bytes_per_s, units.BYTES_PER_S)
    moved = format_quantity(found.attained_bytes_per_s, units.BYTES_PER_S)
    yield "bandwidth", moved, f"{percent(found.bandwidth_efficiency)} of {bandwidth}"
    side = "right" if found.intensity_ops_per_byte > found.breakpoint_ops_per_byte else "left"
    breakpoint_ = f"{side} of the breakpoint at {found.breakpoint_ops_per_byte:.4g}"
    yield "intensity", f"{found.intensity_ops_per_byte:.4g} op/B", breakpoint_


MODEL_COLUMNS = ("model", "kernels", "time", "share", "× roofline", "calibration")


def _kernel_models(found: Prediction, times: SiliconEstimate) -> Iterator[tuple[str, ...]]:
    """Kernels by the model that times them, launches included; × roofline: without them."""
    for model in MODELS:
        rows = times.kernel_models == model
        if not rows.any():
            continue
        seconds, plain = float(times.kernel_s[rows].sum()), float(times.roofline_s[rows].sum())
        longer = f"{float(times.work_s[rows].sum()) / plain:.3g}" if plain else UNKNOWN
        shown, share = format_quantity(seconds, units.SECONDS), percent(seconds / found.latency_s)
        yield model, str(int(found.run.repeats[rows].sum())), shown, share, longer, rests_on(times, model)


def _units(found: Prediction) -> Iterator[tuple[str, str, str]]:
    if not found.has("allocation"):
        yield "units", UNKNOWN, found.reasons["allocation"]
        return
    for share in found.unit_shares:
        where = f"{percent(share.utilization)} on average, in kernels with {percent(share.of_latency)} of the latency"
        yield "active", str(share), where
    waves = found.allocation.waves
    yield "waves", str(int(waves.max())), "maximum over kernels"
    padding = float((found.allocation.padding * found.times.kernel_s).sum() / found.latency_s)
    yield "padding", percent(padding), "of the computed work, time-weighted"


def _energy(one: Contender) -> Iterator[Section]:
    found = one.prediction
    if not found.has("energy"):
        return
    ends = " … ".join(format_quantity(end / found.batch, units.JOULES) for end in found.energy.ends_j)
    each = format_quantity(found.energy_per_sample_j, units.JOULES)
    product = format_quantity(power_efficiency_ops_per_j(found), units.OPS_PER_J)
    rows = [
        ("per inference", each, f"{ends} over the range of the sources"),
        ("per batch", format_quantity(found.energy_j, units.JOULES), counted(found.batch, "inference")),
        ("power", format_quantity(found.power_w, units.WATTS), _of_limit(found)),
        ("efficiency", format_quantity(found.ops_per_j, units.OPS_PER_J), "attained ops per joule"),
        (
            "zone",
            zone(found.compute_efficiency),
            f"{percent(found.compute_efficiency)} of the peak (sweet spot 40 to 80); × op/J = {product}",
        ),
    ]
    yield Grid("Energy", Table(("", "", ""), tuple(rows)), "; ".join(found.energy.left_out))
    yield Bars("Energy by cause", (energy_bar(one),), "per inference; the parts add up to the whole")
    columns = ("cause", "energy", "events", "each", "range", "grade", "from")
    note = "per inference; each: typical value, and range in the sources"
    yield Grid("Terms", Table(columns, tuple(_terms(found))), note)


def _of_limit(found: Prediction) -> str:
    limit = found.power_limit
    if found.over_limit is None or limit is None:
        return "TDP not known"
    return f"{percent(found.over_limit)} of its {limit.display} ({limit_name(limit)})"


def _terms(found: Prediction) -> Iterator[tuple[str, ...]]:
    for term in found.energy.terms:
        each = term.each
        shown = units.WATTS if term.unit == "s" else units.JOULES
        ends = list(dict.fromkeys((each.low, each.high)))
        yield (
            term.name,
            format_quantity(term.total_j / found.batch, units.JOULES),
            f"{term.counts.sum() / found.batch:.4g} {term.unit}",
            format_quantity(each.typical, shown),
            " … ".join(format_quantity(end, shown) for end in ends) if len(ends) > 1 else "",
            each.grade,
            each.basis,
        )


def _memory(found: Prediction, *, cached: bool) -> Iterator[tuple[str, str, str]]:
    yield "peak", format_quantity(found.peak_bytes, units.BYTES), "weights and peak activations"
    yield "activations", format_quantity(found.activation_bytes, units.BYTES), f"at {found.footprint.peak_op}"
    is_kept = cached and keeps_weights(found)
    weights = "kept in a cache between batches (not with --uncached)" if is_kept else "read once per batch"
    yield "weights", format_quantity(found.weight_bytes, units.BYTES), weights
    if found.footprint.cache_elements:
        yield "cache", format_quantity(found.cache_bytes, units.BYTES), "keys and values of all tokens"
    memory = found.hardware.main_memory()
    if found.fits is not None:
        share = found.peak_bytes / memory.capacity_bytes
        text = f"{percent(share)} used" if found.fits else f"does NOT fit: needs {share:.3g} × as much"
        yield memory.name, memory.fact("capacity").display, text


def _amount(one: AmountRecord) -> tuple[str, str, str]:
    return one.name, UNKNOWN if one.value is None else f"{format_number(one.value)} {one.unit}", one.basis


LONGEST = "slowest kernels, identical ones grouped"
TIMES = ("kernel", "time", "share", "bound by", "units", "why")


def _longest(found: Prediction, most: int = 10) -> Iterator[tuple[str, ...]]:
    seconds, allocation = found.times.kernel_s, found.allocation if found.has("allocation") else None
    alike: dict[tuple[str, ...], list[int]] = {}
    each = seconds / found.run.repeats
    for op in np.argsort(-seconds, kind="stable").tolist():
        how = (allocation.display(op), allocation.reason(op)) if allocation else (UNKNOWN, "")
        key = (str(found.run.kinds[op]), format_quantity(float(each[op]), units.SECONDS), found.bounds[op], *how)
        alike.setdefault(key, []).append(op)
    for (kind, shown_s, bound, held, why), ops in list(alike.items())[:most]:
        share = float(seconds[ops].sum()) / found.latency_s
        yield _name(found.run, ops, kind), shown_s, percent(share), bound, held, why


def _rooflines(one: Contender) -> Rooflines:
    found = one.prediction
    points = tuple(
        Point(str(name), one.short, float(ops / moved), float(ops / seconds), float(seconds / found.latency_s))
        for name, ops, moved, seconds in zip(
            found.run.op_names, found.times.ops, found.times.bytes_moved, found.times.kernel_s, strict=True
        )
        if ops and moved
    )
    return Rooflines("Roofline", (roof_of(one),), points, "one point per kernel, launches included")


def _kernels(found: Prediction) -> list[dict[str, Any]]:
    """Values of a KernelRecord each; what is not known is None."""
    times, none = found.times, [None] * len(found.run)
    allocation = found.allocation if found.has("allocation") else None
    counts = (
        (
            allocation.units,
            allocation.total,
            allocation.unit_names,
            allocation.blocks,
            allocation.waves,
            allocation.padding,
        )
        if allocation
        else ()
    )
    arrays = (found.run.op_names, found.run.kinds, times.kernel_models, times.ops, times.bytes_moved, found.run.repeats)
    columns: list[Sequence[Any]] = [
        *(column.tolist() for column in (*arrays, times.compute_s, times.memory_s, times.launch_s)),
        found.bounds,
        found.energy.energy_j.tolist() if found.has("energy") else none,
        *([column.tolist() for column in counts] or [none] * 6),
    ]
    return [dict(zip(KernelRecord.model_fields, row, strict=True)) for row in zip(*columns, strict=True)]
