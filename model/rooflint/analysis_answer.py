"""The answer to `rooflint analyze`: everything that the model says of one network on one device."""

from collections.abc import Iterator, Sequence
from typing import Any

from rooflint.answer import Answer, Bars, Grid, Point, Prose, Roof, Rooflines, Section
from rooflint.comparison import Contender
from rooflint.explanation import energy_bar, latency_bar
from rooflint.metrics import batch_efficiency, power_efficiency_ops_per_j, red_flags, zone
from rooflint.precision import rate_unit
from rooflint.prediction import Prediction
from rooflint.prediction_record import known, record
from rooflint.spending import Figure, recorded
from rooflint.table import Table
from rooflint.units import (
    BYTES,
    BYTES_PER_S,
    JOULES,
    OPS_PER_J,
    OPS_PER_S,
    SECONDS,
    WATTS,
    format_number,
    format_quantity,
)

SCHEMA = "rooflint.analyze/1"

KERNELS = (
    "kernel", "kind", "ops", "bytes_moved", "compute_s", "memory_s", "launch_s", "bound", "energy_j", "units",
    "total_units", "unit", "blocks", "waves", "padding",
)  # fmt: skip


def answer(one: Contender, single: Prediction | None, spent: Sequence[Figure]) -> Answer:
    """Of a device that can run the network; `single` is the same for one sample, where the batch is larger."""
    found = one.prediction
    how = "fused" if len(found.run) != len(found.network) else "not fused"
    precision = found.compute if found.compute == found.storage else f"{found.compute} on {found.storage}"
    return Answer(
        title=f"{found.network.name} on {one.label}",
        subtitle=f"{found.hardware.name}; batch {found.batch}, {precision}, {how}",
        sections=tuple(_sections(one, single, spent)),
        record={"schema": SCHEMA, **_record(one, single, spent)},
        listing=Table(KERNELS, tuple(_kernels(found))),
    )


def _sections(one: Contender, single: Prediction | None, spent: Sequence[Figure]) -> Iterator[Section]:
    found = one.prediction
    flags = tuple(flag.said for flag in red_flags(found))
    if found.over_tdp and found.over_tdp > 1:
        flags += (
            f"{found.power_w:.4g} W by these terms is {found.over_tdp:.3g} times its TDP; it could not hold this rate",
        )
    yield Prose(
        "Red flags", flags or ("none: more than 20 % of the peak, less than 90 % of the bandwidth, units at work",)
    )
    yield Grid("Time", Table(("", "", ""), tuple(_time(found, single))))
    yield Bars("What the latency waits for", (latency_bar(one),), "seconds of a batch")
    yield Grid("Units", Table(("", "", ""), tuple(_units(found))))
    yield from _energy(one)
    if found.has("footprint"):
        yield Grid("Memory", Table(("", "", ""), tuple(_memory(found))))
    if spent:
        yield Grid("Money and carbon", Table(("", "", "rests on"), tuple(map(_amount, spent))))
    yield Grid("Where the time goes", Table(TIMES, tuple(_longest(found))), "the ten kernels that take longest")
    yield _rooflines(one)
    if found.reasons:
        yield Prose("Not known", tuple(dict.fromkeys(found.reasons.values())))


def _time(found: Prediction, single: Prediction | None) -> Iterator[tuple[str, str, str]]:
    flop = rate_unit(found.compute)
    yield "latency of a batch", format_quantity(found.latency_s, SECONDS), f"{len(found.run)} kernels"
    yield "throughput", f"{found.throughput_per_s:,.4g}/s", f"batch {found.batch}"
    if single:
        efficiency = batch_efficiency(single, found)
        yield "batch efficiency", f"{100 * efficiency:.3g} %", f"throughput over {found.batch} × that of batch 1"
    peak = format_quantity(found.peak_ops_per_s, OPS_PER_S, unit=flop)
    attained = format_quantity(found.attained_ops_per_s, OPS_PER_S, unit=flop)
    yield "attained", attained, f"{100 * found.compute_efficiency:.3g} % of {peak}"
    bandwidth = format_quantity(found.bandwidth_bytes_per_s, BYTES_PER_S)
    moved = format_quantity(found.attained_bytes_per_s, BYTES_PER_S)
    yield "bandwidth", moved, f"{100 * found.bandwidth_efficiency:.3g} % of {bandwidth}"
    side = "right" if found.intensity_ops_per_byte > found.breakpoint_ops_per_byte else "left"
    breakpoint_ = f"{side} of the breakpoint at {found.breakpoint_ops_per_byte:.4g}"
    yield "intensity", f"{found.intensity_ops_per_byte:.4g} op/B", breakpoint_


def _units(found: Prediction) -> Iterator[tuple[str, str, str]]:
    if not found.has("allocation"):
        yield "units", "—", found.reasons["allocation"]
        return
    yield "hold work", found.units, f"{100 * found.utilization:.3g} % of the units, over the latency"
    waves = found.allocation.waves
    yield "waves", str(int(waves.max())), "of the kernel with most"
    padding = float((found.allocation.padding * found.times.kernel_s).sum() / found.latency_s)
    yield "padding", f"{100 * padding:.3g} %", "of the blocks' work is on no element, over the latency"


def _energy(one: Contender) -> Iterator[Section]:
    found = one.prediction
    if not found.has("energy"):
        return
    low, high = (end / found.batch for end in found.energy.ends_j)
    rows = [
        ("per inference", format_quantity(found.energy_per_sample_j, JOULES), _between(low, high)),
        ("per batch", format_quantity(found.energy_j, JOULES), f"{found.batch} inferences"),
        ("power", format_quantity(found.power_w, WATTS), _of_tdp(found)),
        ("efficiency", format_quantity(found.ops_per_j, OPS_PER_J), "attained ops per joule"),
        ("zone", zone(found.compute_efficiency), _zone_said(found)),
    ]
    yield Grid("Energy", Table(("", "", ""), tuple(rows)), "; ".join(found.energy.left_out))
    yield Bars("Energy by cause", (energy_bar(one),), "per inference; the parts add up to the whole")
    columns = ("cause", "energy", "events", "each", "range", "grade", "from")
    yield Grid(
        "Terms", Table(columns, tuple(_terms(found))), "per inference; each: typical, with its range in the documents"
    )


def _between(low: float, high: float) -> str:
    return f"{format_quantity(low, JOULES)} … {format_quantity(high, JOULES)} by the ends of the documents"


def _of_tdp(found: Prediction) -> str:
    if found.over_tdp is None or found.hardware.tdp_w is None:
        return "no TDP is known"
    return f"{100 * found.over_tdp:.3g} % of its {format_number(found.hardware.tdp_w)} W TDP"


def _zone_said(found: Prediction) -> str:
    product = format_quantity(power_efficiency_ops_per_j(found), OPS_PER_J)
    return f"{100 * found.compute_efficiency:.3g} % of the peak (40 to 80 is sweet); × ops per joule = {product}"


def _terms(found: Prediction) -> Iterator[tuple[str, ...]]:
    for term in found.energy.terms:
        each = term.each
        shown = WATTS if term.unit == "s" else JOULES
        yield (
            term.name,
            format_quantity(term.total_j / found.batch, JOULES),
            f"{term.counts.sum() / found.batch:.4g} {term.unit}",
            format_quantity(each.typical, shown),
            ""
            if each.low == each.high
            else f"{format_quantity(each.low, shown)} … {format_quantity(each.high, shown)}",
            each.grade,
            each.said,
        )


def _memory(found: Prediction) -> Iterator[tuple[str, str, str]]:
    yield "peak", format_quantity(found.peak_bytes, BYTES), "weights and the most that lives beside them"
    yield "activations", format_quantity(found.activation_bytes, BYTES), f"at {found.footprint.peak_op}"
    yield "weights", format_quantity(found.weight_bytes, BYTES), "read once a batch"
    memory = found.hardware.main_memory()
    if "capacity" in memory.facts:
        share = found.peak_bytes / memory.capacity_bytes
        fits = "fits" if share <= 1 else "DOES NOT FIT"
        yield memory.name, memory.fact("capacity").display, f"{100 * share:.3g} % taken: {fits}"


def _amount(one: Figure) -> tuple[str, str, str]:
    return one.name, "—" if one.value is None else f"{one.value:,.4g} {one.unit}", one.said


TIMES = ("kernel", "time", "share", "waits for", "units", "why")


def _longest(found: Prediction, most: int = 10) -> Iterator[tuple[str, ...]]:
    order = sorted(range(len(found.run)), key=lambda op: (-found.times.kernel_s[op], op))
    laid = found.allocation if found.has("allocation") else None
    for op in order[:most]:
        seconds = float(found.times.kernel_s[op])
        yield (
            f"{found.run.op_names[op]} ({found.run.kinds[op]})",
            format_quantity(seconds, SECONDS),
            f"{100 * seconds / found.latency_s:.3g} %",
            found.bound_of(op),
            laid.display(op) if laid else "—",
            laid.reason(op) if laid else "",
        )


def _rooflines(one: Contender) -> Rooflines:
    found = one.prediction
    points = tuple(
        Point(
            str(name),
            one.short,
            float(ops / moved),
            float(ops / seconds),
            float(seconds / found.latency_s),
        )
        for name, ops, moved, seconds in zip(
            found.run.op_names, found.times.ops, found.times.bytes_moved, found.times.kernel_s, strict=True
        )
        if ops and moved
    )
    roof = Roof(one.short, found.peak_ops_per_s, found.bandwidth_bytes_per_s)
    return Rooflines("Roofline", (roof,), points, "one point a kernel, launches included")


def _kernels(found: Prediction) -> Iterator[tuple[Any, ...]]:
    laid = found.allocation if found.has("allocation") else None
    energy = found.energy.energy_j if found.has("energy") else None
    for op in range(len(found.run)):
        lies = (
            (
                int(laid.units[op]),
                int(laid.total[op]),
                str(laid.unit_names[op]),
                int(laid.blocks[op]),
                int(laid.waves[op]),
            )
            if laid
            else (None,) * 5
        )
        yield (
            str(found.run.op_names[op]),
            str(found.run.kinds[op]),
            float(found.times.ops[op]),
            float(found.times.bytes_moved[op]),
            float(found.times.compute_s[op]),
            float(found.times.memory_s[op]),
            found.times.overhead_s,
            found.bound_of(op),
            None if energy is None else float(energy[op]),
            *lies,
            float(laid.padding[op]) if laid else None,
        )


def _record(one: Contender, single: Prediction | None, spent: Sequence[Figure]) -> dict[str, Any]:
    found = one.prediction
    kernels = Table(KERNELS, tuple(_kernels(found)))
    return {
        "network": found.network.name,
        "batch": found.batch,
        "compute": found.compute,
        "storage": found.storage,
        **record(one.label, found),
        "batch_efficiency": batch_efficiency(single, found) if single else 1.0,
        "power_efficiency_ops_per_j": known(lambda: power_efficiency_ops_per_j(found)),
        "money_and_carbon": recorded(tuple(spent)),
        "per_kernel": kernels.records(),
    }
