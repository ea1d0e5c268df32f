"""The account of a recording: rates, shares of what the model derives, conditions, and what was left out."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_rooflint.recordings import charts
from pytest_rooflint.recordings.bounds import best_rate
from pytest_rooflint.recordings.charts import of_product, other_precision
from pytest_rooflint.recordings.files import as_seen, slice_of
from pytest_rooflint.recordings.findings import findings
from pytest_rooflint.recordings.row import OWN
from rooflint.base.errors import RooflintError
from rooflint.base.precision import rate_unit
from rooflint.base.text import UNKNOWN, counted
from rooflint.base.units import (
    BYTES,
    BYTES_PER_S,
    OPS_PER_J,
    OPS_PER_S,
    SECONDS,
    WATTS,
    format_number,
    format_quantity,
    percent,
)
from rooflint.hardware.device import Hardware
from rooflint.output.answer import Answer
from rooflint.output.sections import Cell, Grid, Prose, Section, Table
from rooflint_measure import record
from rooflint_measure.recording import SEVERAL, Machine, Recording, as_json
from rooflint_measure.stopwatches.network import INT4_MULTIPLES

HOW = (
    "Rates are those of the fastest sample, latencies the median; spread is the quartile distance over the median of "
    "this run; * marks disturbed samples among them",
    "Peaks are dense and derived from the spec; ! marks a share above 100 %: a finding about the spec where it is of "
    "its peak; of the product in turn, a faster product exists, or fewer multiplications were made than counted",
)


def account(recording: Recording, hardware: Hardware | None, *, drawn: bool = False) -> Answer:
    """The measurements of a recording, with what the model derives if the device is known; `drawn` with charts."""
    whole, hardware = hardware, hardware and as_seen(hardware, recording.machine)
    shown = [charts.Shown(row, hardware) for row in recording.measurements] if drawn else []
    listed = [_listed(row, hardware) for row in recording.measurements]
    return Answer(
        title=f"Measured on {recording.machine.device}",
        subtitle=f"{recording.taken:%Y-%m-%d %H:%M} UTC, {recording.command}",
        sections=(*findings(shown), *_sections(recording, hardware, whole), *charts.sections(shown)),
        record=json.loads(as_json(recording)),
        listing=Table.of(tuple(listed[0]), listed),
    )


def beside(recordings: Sequence[tuple[Recording, Hardware | None]]) -> Answer:
    """Several recordings side by side: the same measurement on each, with its time over that on the first."""
    names = [_letter(position) for position in range(len(recordings))]
    shown = [
        charts.Shown(row, hardware and as_seen(hardware, one.machine), name)
        for name, (one, hardware) in zip(names, recordings, strict=True)
        for row in one.measurements
    ]
    times = {
        name: {label: row.samples.median_s for row in one.measurements if (label := record.label(row.subject))}
        for name, (one, _) in zip(names, recordings, strict=True)
    }
    labels = dict.fromkeys(label for rows in times.values() for label in rows)
    rows = tuple((label, *_beside(label, times)) for label in labels)
    table = Table(("measurement", *names), rows)
    note = "median of a call; × is its time over that on the first"
    return Answer(
        title="Measured side by side",
        subtitle="; ".join(
            f"{name} is {_machine(one, hardware)}" for name, (one, hardware) in zip(names, recordings, strict=True)
        ),
        sections=(
            Prose("Compared", tuple(_leads(times))),
            *findings(shown),
            Grid("Times", table, note),
            *charts.sections(shown),
        ),
        record={SEVERAL: [json.loads(as_json(one)) for one, _ in recordings]},
        listing=table,
    )


def _letter(position: int) -> str:
    """A, B, … Z, AA: columns and curves have no room for the name of a machine."""
    return (_letter(position // 26 - 1) if position >= 26 else "") + chr(ord("A") + position % 26)


def _machine(recording: Recording, hardware: Hardware | None) -> str:
    """`AMD EPYC (amd/epyc-zen5-2vcpu), 2 used, on 2026-11-20`."""
    machine = recording.machine
    known = f" ({_id(hardware)})" if hardware else ""
    return f"{machine.device.partition(',')[0]}{known}, {machine.count} used, on {recording.taken:%Y-%m-%d}"


def _beside(label: str, times: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    first = next(iter(times.values())).get(label)
    for position, rows in enumerate(times.values()):
        if label not in rows:
            yield UNKNOWN
            continue
        ratio = f" ({rows[label] / first:.3g} ×)" if position and first else ""
        yield f"{format_quantity(rows[label], SECONDS)}{ratio}"


def _leads(times: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Each machine against the first, over what both measured: the geometric mean, and what is farthest from it."""
    (first, base), *others = times.items()
    for name, rows in others:
        ratios = {label: rows[label] / base[label] for label in base if label in rows and not label.startswith("wait-")}
        if not ratios:
            yield f"{name} and {first} have no measurement in common"
            continue
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        of = counted(len(ratios), "measurement")
        ends = f": {ratios[least]:.3g} times in {least}, {ratios[most]:.3g} times in {most}" if len(ratios) > 1 else ""
        yield f"{name} takes {mean:.3g} times as long as {first} in the geometric mean of {of}{ends}"


def peak_per_s(row: record.Measurement, hardware: Hardware | None) -> float | None:
    """The peak or the bandwidth that the model derives for it; None where the device is not known. [op/s, B/s]"""
    if hardware is None:
        return None
    try:
        return sum(ladder.result for ladder in best_rate(row, hardware)) or None
    except RooflintError:
        return None  # undisclosed, or not supported


def share(row: record.Measurement, hardware: Hardware | None) -> float | None:
    """Efficiency: attained over derived, never clamped. [1]"""
    expected, rate = peak_per_s(row, hardware), row.ops_per_s or row.bytes_per_s
    return rate / expected if expected and rate else None


def _sections(recording: Recording, hardware: Hardware | None, whole: Hardware | None) -> Iterator[Section]:
    for kind, (heading, columns, cells) in _GRIDS.items():
        if rows := [row for row in recording.measurements if row.subject.kind == kind]:
            yield Grid(heading, _known(Table(columns, tuple(cells(row, hardware) for row in rows))), _mixed(rows))
    yield from _of_memory(recording, hardware)
    yield from _counted(recording.measurements)
    yield from _copied(recording.measurements)
    if metered := [row for row in recording.measurements if isinstance(row.energy, record.Energy)]:
        sources = dict.fromkeys(row.energy.source for row in metered if isinstance(row.energy, record.Energy))
        note = f"by {', '.join(sources)}; of a call, idle power included"
        yield Grid("Energy", _known(Table(_ENERGY, tuple(_energy(row) for row in metered))), note)
    if above := tuple(_above(recording.measurements, hardware)):
        yield Prose("Above what the spec derives", above)
    yield Prose("Conditions", tuple(_conditions(recording, whole)))
    if recording.left_out:
        yield Prose("Left out", tuple(_left_out(recording.left_out)))
    yield Prose("How to read it", HOW)


def _left_out(left_out: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each reason; of runs without room in the budget, which come in its order, the two ends."""
    alike: dict[str, list[str]] = {}
    for name, why in left_out.items():
        alike.setdefault(why, []).append(name)
    unfit = [why for why in alike if why.startswith(NO_ROOM)]
    for why, names in alike.items():
        if why not in unfit or len(unfit) <= LINES:
            yield f"{', '.join(names)}: {why}"
    if len(unfit) > LINES:
        count = counted(sum(len(alike[why]) for why in unfit), "run")
        first, last = (
            f"{alike[why][place]} ({why.rpartition('; ')[2]})" for why, place in ((unfit[0], 0), (unfit[-1], -1))
        )
        yield f"{count} without room in the budget, from {first} to {last}"


def _known(table: Table) -> Table:
    """Without the columns that have no known value."""
    kept = [place for place in range(len(table.columns)) if any(row[place] != UNKNOWN for row in table.rows)]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return Table(tuple(table.columns[place] for place in kept), rows)


def _gemm(row: record.Measurement, hardware: Hardware | None) -> tuple[str, ...]:
    one = row.subject
    assert isinstance(one, record.Gemm)
    shape = f"{one.m}×{one.n}×{one.k}"
    return one.precision, one.library, shape, _ops(row), _spread(row.samples), _share(share(row, hardware))


def _stream(row: record.Measurement, hardware: Hardware | None) -> tuple[str, ...]:
    one = row.subject
    assert isinstance(one, record.Stream)
    size = format_quantity(one.array_bytes, BYTES)
    rate = format_quantity(row.bytes_per_s or 0.0, BYTES_PER_S)
    return one.kernel, one.library, size, rate, _spread(row.samples), _share(share(row, hardware))


def _network(row: record.Measurement, hardware: Hardware | None) -> tuple[str, ...]:
    one = row.subject
    assert isinstance(one, record.Network)
    latency = format_quantity(row.samples.median_s, SECONDS)
    shares = " ".join(filter(None, (_share(of_product(row)), other_precision(row)))), _share(share(row, hardware))
    return " ".join([one.name, *one.settings]), str(one.batch), one.precision, latency, _ops(row), *shares


def _wait(row: record.Measurement, _: Hardware | None) -> tuple[str, ...]:
    one = row.subject
    assert isinstance(one, record.Wait)
    waited, bias = (row.details.get(name) for name in ("waited_s", "bias"))
    own = format_quantity(waited, SECONDS) if isinstance(waited, float) else UNKNOWN
    reported = format_quantity(row.samples.median_s, SECONDS)
    return format_quantity(one.wanted_s, SECONDS), own, reported, percent(bias) if isinstance(bias, float) else UNKNOWN


def _launch(row: record.Measurement, _: Hardware | None) -> tuple[str, ...]:
    one = row.subject
    assert isinstance(one, record.Launch)
    return one.way, one.library, format_quantity(row.samples.best_s, SECONDS), _spread(row.samples)


Cells = Callable[[record.Measurement, Hardware | None], tuple[str, ...]]

_GRIDS: dict[str, tuple[str, tuple[str, ...], Cells]] = {
    "wait": ("Busy-waits", ("wanted", "waited", "reported", "bias"), _wait),
    "launch": ("Launches", ("way", "library", "each", "spread"), _launch),
    "gemm": ("Matrix products", ("precision", "library", "m×n×k", "rate", "spread", "of peak"), _gemm),
    "stream": ("Memory", ("kernel", "library", "array", "rate", "spread", "of bandwidth"), _stream),
    "network": (
        "Networks",
        ("network", "batch", "precision", "latency", "rate", "of product", "of peak"),
        _network,
    ),
}

NO_ROOM = "does not fit the budget; "
LINES = 3
"""Budgets that are told apart, of runs without room. [1]"""

_DYNAMIC = (
    "dynamic: linear layers alone run in int8 and the rest in fp32, and the share is of a product in int8, or in the "
    "precision that it names, for all of it"
)
_INT4 = (
    "int4: weights of linear layers from {} to {}; others stay in bf16, and bytes count all of them in 4 bit".format(
        *(f"a multiple of {one}" for one in INT4_MULTIPLES)
    )
)


def _mixed(rows: Sequence[record.Measurement]) -> str:
    """What is quantized, where that is a part of a network."""
    is_dynamic = any("dynamic" in getattr(row.subject, "modes", ()) for row in rows)
    is_int4 = any(isinstance(row.subject, record.Network) and row.subject.precision == "int4" for row in rows)
    return "; ".join([_DYNAMIC] * is_dynamic + [_INT4] * is_int4)


_MEMORY = ("network", "op/B", "bound by", "bandwidth", "of bandwidth", "memory", "items/s")
_BYTES = (
    "bandwidth: bytes as the model counts them, each operand read once and each result written once, over the least "
    "time; a cache may hold some of them"
)


def _of_memory(recording: Recording, hardware: Hardware | None) -> Iterator[Section]:
    """What networks move and hold, and what that says of them."""
    rows = [row for row in recording.measurements if isinstance(row.subject, record.Network)]
    if not any(row.bytes_moved or row.memory for row in rows):
        return
    shown = [charts.Shown(row, hardware) for row in recording.measurements]
    limits, fastest = charts.limits(shown), charts.fastest_stream(shown)
    cells = tuple(_moved(one, limits.get(one.row.name), fastest) for one in shown if one.row in rows)
    sources = dict.fromkeys(row.memory.source for row in rows if isinstance(row.memory, record.Memory))
    held = f"; memory: the most during a call, {', '.join(sources)}" if sources else ""
    sides = dict.fromkeys(bound.breakpoint for bound in limits.values())
    bounds = f"; bound by: at best, by which side of the breakpoint op/B is on, {', '.join(sides)}" if sides else ""
    yield Grid("Networks and memory", _known(Table(_MEMORY, cells)), _BYTES + held + bounds)


_COUNTED = ("network", "counted", "by the model", "ratio", "bandwidth")


def _counted(rows: Sequence[record.Measurement]) -> Iterator[Section]:
    """Bytes by hardware counters, beside those that a call moves at least."""
    found = [(row, row.traffic) for row in rows if isinstance(row.traffic, record.Traffic)]
    if not found:
        return
    cells = tuple(
        (
            row.name,
            format_quantity(one.bytes, BYTES),
            format_quantity(row.bytes_moved, BYTES) if row.bytes_moved else UNKNOWN,
            format_number(one.bytes / row.bytes_moved, 3) if row.bytes_moved else UNKNOWN,
            format_quantity(one.bytes / row.samples.median_s, BYTES_PER_S),
        )
        for row, one in found
    )
    how = ", ".join(dict.fromkeys(one.source for _, one in found))
    yield Grid("Bytes by hardware counters", _known(Table(_COUNTED, cells)), f"of a call; counted by: {how}")


_COPIES = ("network", "inputs", "in", "outputs", "out", "of the latency")


def _copied(rows: Sequence[record.Measurement]) -> Iterator[Section]:
    """What copies between the host and the device add to a call."""
    found = [(row, row.transfers) for row in rows if isinstance(row.transfers, record.Transfers)]
    if not found:
        return
    cells = tuple(
        (
            row.name,
            format_quantity(one.inputs_bytes, BYTES),
            format_quantity(one.inputs_s, SECONDS),
            format_quantity(one.outputs_bytes, BYTES),
            format_quantity(one.outputs_s, SECONDS),
            _share((one.inputs_s + one.outputs_s) / row.samples.median_s),
        )
        for row, one in found
    )
    how = ", ".join(dict.fromkeys(one.source for _, one in found))
    yield Grid("Copies to the device and back", Table(_COPIES, cells), f"medians, not counted in latencies; {how}")


def _moved(one: charts.Shown, bound: charts.Bound | None, fastest: float | None) -> tuple[str, ...]:
    row, at = one.row, charts.intensity(one.row)
    rate = row.bytes_per_s
    over = rate / fastest if rate and fastest else None
    return (
        one.name,
        format_number(at, 3) if at else UNKNOWN,
        bound.word if bound else UNKNOWN,
        format_quantity(rate, BYTES_PER_S) if rate else UNKNOWN,
        _share(over),
        format_quantity(row.memory.peak_bytes, BYTES) if isinstance(row.memory, record.Memory) else UNKNOWN,
        format_number(row.items_per_s, 4) if row.items_per_s else UNKNOWN,
    )


_ENERGY = ("measurement", "power", "most", "idle", "idle after", "J/call", "op/s/W", "items/s/W")


def _energy(row: record.Measurement) -> tuple[str, ...]:
    found = row.energy
    assert isinstance(found, record.Energy)
    rate = format_quantity(row.ops / found.call_j, OPS_PER_J) if row.ops and found.call_j else UNKNOWN
    read = (found.mean_w, found.max_w, found.idle_w, found.warm_idle_w)
    powers = (UNKNOWN if one is None else format_quantity(one, WATTS, digits=3) for one in read)
    items = f"{1 / row.item_j:.4g}" if row.item_j else UNKNOWN
    return row.name, *powers, f"{found.call_j:.4g}", rate, items


def _above(rows: Sequence[record.Measurement], hardware: Hardware | None) -> Iterator[str]:
    for row in rows:
        attained = share(row, hardware)
        if attained and attained > 1:
            yield f"{row.name} reaches {percent(attained)}: a clock, a count or a rate of {_id(hardware)} is too low"


def _conditions(recording: Recording, hardware: Hardware | None) -> Iterator[str]:
    machine, rows = recording.machine, recording.measurements
    yield f"{machine.kind}, {machine.count} used; fingerprint {machine.digest}"
    yield _identity(hardware, machine)
    software = ", ".join(f"{name} {version}" for name, version in machine.software.items())
    if software:
        yield software
    threads = sorted({row.conditions.threads for row in rows})
    yield f"{', '.join(map(str, threads))} thread{'' if threads == [1] else 's'}"
    yield _clocks([state for row in rows for state in (row.conditions.before, row.conditions.after)])
    yield from _busy(recording)
    disturbed, count = sum(len(row.samples.disturbed) for row in rows), sum(len(row.samples.seconds) for row in rows)
    is_known = any(row.samples.stolen_s is not None for row in rows)
    blind = "" if is_known else "; this system does not count stolen time"
    yield f"{disturbed} of {count} samples were disturbed (stolen, queued, throttled); they are kept{blind}"
    working = [row for row in rows if not isinstance(row.subject, record.Wait)]
    for reason in dict.fromkeys(str(row.energy) for row in working if isinstance(row.energy, record.Unavailable)):
        yield f"energy {reason}"
    for reason in dict.fromkeys(str(row.traffic) for row in rows if isinstance(row.traffic, record.Unavailable)):
        yield f"bytes by hardware counters {reason}"
    yield from _own_process(rows)


def _own_process(rows: Sequence[record.Measurement]) -> Iterator[str]:
    """Kernels that a library chose in a process of its own, without the variables of this one."""
    for row in rows:
        unset = ", ".join(f"{name} of {value}" for name, value in row.details.items() if name.startswith("unset "))
        if core := row.details.get("core"):
            yield f"{row.name} ran in a process of its own, on kernels for {core}{f' ({unset})' if unset else ''}"


def _busy(recording: Recording) -> Iterator[str]:
    """More runnable tasks than CPUs, which counters of stolen time do not show; only for a CPU, which they share."""
    found = recording.machine
    states = [state for row in recording.measurements for state in (row.conditions.before, row.conditions.after)]
    loads = [state.load for state in states if not isinstance(state.load, record.Unavailable)]
    if found.kind == "cpu" and loads and max(loads) > found.count + OWN:
        yield (
            f"up to {max(loads):.3g} runnable tasks on {found.count} CPUs: other processes ran, and slowed the "
            "measurements down"
        )


def _identity(hardware: Hardware | None, machine: Machine) -> str:
    if hardware is None:
        return (
            "the registry has no device of exactly that name, so there is no peak; name the device with --hardware ID"
        )
    if part := slice_of(hardware, machine):
        seen, whole = part
        return (
            f"compared with {seen} of the {whole} cores of {_id(hardware)}, {hardware.name}: peaks are those of "
            f"{counted(seen, 'core')}, bandwidth and caches those of the whole"
        )
    return f"compared with {_id(hardware)}, {hardware.name}"


def _id(hardware: Hardware | None) -> str:
    if hardware is None:
        return UNKNOWN
    return f"{hardware.id}@{hardware.mode}" if hardware.mode else hardware.id


def _clocks(states: Sequence[record.State]) -> str:
    known = [state.clock_hz for state in states if not isinstance(state.clock_hz, record.Unavailable)]
    if not known:
        return f"clock {states[0].clock_hz}"
    source = next(state.clock_source for state in states if not isinstance(state.clock_hz, record.Unavailable))
    return f"clock {min(known) / 1e9:.3g} to {max(known) / 1e9:.3g} GHz ({source or 'no source named'})"


def _ops(row: record.Measurement) -> str:
    subject = row.subject
    unit = rate_unit(subject.precision) if isinstance(subject, record.Gemm | record.Network) else "OP/s"
    return format_quantity(row.ops_per_s or 0.0, OPS_PER_S, unit=unit)


def _spread(samples: record.Samples) -> str:
    return percent(samples.spread) + (" *" if samples.disturbed else "")


def _share(value: float | None) -> str:
    """A share, marked where it is above all of it."""
    return UNKNOWN if value is None else percent(value) + ("!" if value > 1 else "")


def _listed(row: record.Measurement, hardware: Hardware | None) -> dict[str, Cell]:
    samples, subject = row.samples, row.subject
    return {
        "name": row.name,
        "kind": subject.kind,
        "precision": getattr(subject, "precision", None),
        "library": getattr(subject, "library", None),
        "samples": len(samples.seconds),
        "disturbed": len(samples.disturbed),
        "best_s": samples.best_s,
        "median_s": samples.median_s,
        "spread": samples.spread,
        "ops": row.ops,
        "bytes": row.bytes_moved,
        "ops_per_s": row.ops_per_s,
        "bytes_per_s": row.bytes_per_s,
        "peak_per_s": peak_per_s(row, hardware),
        "efficiency": share(row, hardware),
        "share_of_reference": of_product(row),
        "joules_per_call": row.energy.call_j if isinstance(row.energy, record.Energy) else None,
        "ops_per_byte": charts.intensity(row),
        "counted_bytes": row.traffic.bytes if isinstance(row.traffic, record.Traffic) else None,
        "peak_memory_bytes": row.memory.peak_bytes if isinstance(row.memory, record.Memory) else None,
        "inputs_s": row.transfers.inputs_s if isinstance(row.transfers, record.Transfers) else None,
        "outputs_s": row.transfers.outputs_s if isinstance(row.transfers, record.Transfers) else None,
        "items_per_s": row.items_per_s,
        "joules_per_item": row.item_j,
        "mean_w": row.energy.mean_w if isinstance(row.energy, record.Energy) else None,
        "max_w": row.energy.max_w if isinstance(row.energy, record.Energy) else None,
    }
