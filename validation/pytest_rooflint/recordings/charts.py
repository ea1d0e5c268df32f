"""Charts of recordings: efficiency over size, the roofline with measured points, power, distributions of latencies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pytest_rooflint.recordings.bounds import gemm_bytes
from rooflint.base.errors import RooflintError
from rooflint.base.text import counted
from rooflint.base.units import JOULES, format_number, format_quantity, percent
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.output.sections import Curve, Curves, Point, Prose, Roof, Rooflines, Section
from rooflint.workloads import load
from rooflint_measure.record import Energy, Gemm, Measurement, Network, Stream, Unavailable

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""Of the samples, at which a distribution is drawn."""

TAIL = 1.2
"""A run whose 99th percentile is so many times its median has a tail that is worth a sentence. [1]"""


@dataclass(frozen=True)
class Shown:
    """A measurement in a chart."""

    row: Measurement
    hardware: Hardware | None
    """The device that it was made on, where that is known."""
    where: str = ""
    """The machine; empty where all are of one."""

    @property
    def name(self) -> str:
        """`resnet18 fp32 b8`, `gemm bf16 onednn`, with the machine where there are several."""
        one = self.row.subject
        match one:
            case Network():
                words = [one.name, one.precision, f"b{one.batch}", *one.settings]
            case Gemm():
                words = ["gemm", one.precision, one.library]
            case _:
                words = [self.row.name]
        return " ".join((*words, f"@ {self.where}") if self.where else words)


def sections(shown: Sequence[Shown]) -> Iterator[Section]:
    """Every chart that the measurements have figures for."""
    yield from _efficiency(shown)
    yield from _roofline(shown)
    yield from _power(shown)
    yield from _latencies(shown)


def findings(shown: Sequence[Shown]) -> Iterator[Section]:
    """What the figures say, in words."""
    found = (_spans, _batches, _ways, _devices, _energies, _bounds, _tails)
    if lines := tuple(line for each in found for line in each(shown)):
        yield Prose("Findings", lines)


# ---- efficiency


def of_product(row: Measurement) -> float | None:
    """Rate over that of the product that was timed in turn with it. [1]"""
    one = row.reference
    if one is None or not isinstance(one.subject, Gemm) or not isinstance(row.subject, Gemm | Network):
        return None
    return row.subject.macs / row.samples.best_s / (one.subject.macs / one.samples.best_s)


def _networks(shown: Sequence[Shown]) -> list[tuple[Shown, Network]]:
    return [(one, one.row.subject) for one in shown if isinstance(one.row.subject, Network)]


def _series(shown: Sequence[Shown]) -> dict[str, list[tuple[Shown, Network]]]:
    """Networks by all but their batch, each in the order of its batches."""
    found: dict[str, list[tuple[Shown, Network]]] = {}
    for one, net in sorted(_networks(shown), key=lambda pair: pair[1].batch):
        label = " ".join((net.name, net.precision, *net.settings, *([f"@ {one.where}"] if one.where else [])))
        found.setdefault(label, []).append((one, net))
    return found


def _efficiency(shown: Sequence[Shown]) -> Iterator[Curves]:
    curves = []
    for label, pairs in _series(shown).items():
        known = [(2.0 * net.macs, share) for one, net in pairs if (share := of_product(one.row))]
        if known:
            work, shares = zip(*known, strict=True)
            curves.append(Curve(label, work, tuple(100 * share for share in shares)))
    if curves:
        note = "of the product of the same precision that was timed in turn with it; one point a batch"
        yield Curves("Efficiency over size", "work of a call", "efficiency", tuple(curves), note, "op", "%")


# ---- roofline


@lru_cache(maxsize=256)
def _bytes(name: str, batch: int, precision: str) -> float | None:
    """Traffic of a network by its table: operands read once, results written once. [B]"""
    try:
        return load.network(name).at_batch(batch).total_bytes(precision)
    except RooflintError:
        return None  # a network of the user's own has no table here, and an old recording has no bytes


def intensity(row: Measurement) -> float | None:
    """Ops over bytes that must be moved at least. [op/B]"""
    one, ops = row.subject, row.ops
    if isinstance(one, Network):
        moved = row.bytes_moved or _bytes(one.name, one.batch, one.precision)
        return ops / moved if ops and moved else None
    return ops / gemm_bytes(row) if isinstance(one, Gemm) and ops else None


@dataclass(frozen=True)
class Bound:
    """What limits a network at best, by the roofline that it stands under."""

    word: str
    """`compute` or `memory`."""
    intensity_ops_per_byte: float
    roof: Roof

    @property
    def reason(self) -> str:
        """`12.3 op/B, left of the breakpoint at 40 (fp32, measured)`."""
        side = "left" if self.word == "memory" else "right"
        at, ridge = (format_number(one, 3) for one in (self.intensity_ops_per_byte, self.roof.breakpoint_ops_per_byte))
        return f"{at} op/B, {side} of the breakpoint at {ridge} ({self.roof.name})"


def limits(shown: Sequence[Shown]) -> dict[str, Bound]:
    """What limits each network, by the name of its measurement; one without a roof or a known traffic is left out."""
    return {
        one.row.name: Bound("memory" if at < roof.breakpoint_ops_per_byte else "compute", at, roof)
        for one, at, roof in _points(shown)
        if isinstance(one.row.subject, Network)
    }


def _roofs(shown: Sequence[Shown]) -> dict[tuple[str, str], Roof]:
    """By device and precision: what the model derives where the device is known, else the fastest that was measured."""
    found: dict[tuple[str, str], Roof] = {}
    for device in dict.fromkeys(one.where for one in shown):
        mine = [one for one in shown if one.where == device]
        streams = [one.row.bytes_per_s for one in mine if isinstance(one.row.subject, Stream) and one.row.bytes_per_s]
        for precision in dict.fromkeys(
            one.row.subject.precision for one in mine if isinstance(one.row.subject, Gemm | Network)
        ):
            products = [rate for one in mine for subject, rate in _products(one.row) if subject.precision == precision]
            if roof := _derived(mine[0].hardware, precision) or _measured(precision, products, streams):
                label = " ".join(filter(None, (device, roof.name)))
                found[device, precision] = Roof(label, roof.peak_ops_per_s, roof.bandwidth_bytes_per_s)
    return found


def _products(row: Measurement) -> Iterator[tuple[Gemm, float]]:
    """A product and its rate: what was timed, or what was timed in turn with it. [op/s]"""
    if isinstance(row.subject, Gemm) and row.ops_per_s:
        yield row.subject, row.ops_per_s
    if row.reference and isinstance(row.reference.subject, Gemm):
        yield row.reference.subject, 2 * row.reference.subject.macs / row.reference.samples.best_s


def _derived(hardware: Hardware | None, precision: str) -> Roof | None:
    if hardware is None:
        return None
    try:
        peak, memory = working_peak_ops_per_s(hardware, precision), hardware.main_memory()
        return Roof(f"{precision} of the spec", peak, memory.bandwidth_bytes_per_s)
    except RooflintError:
        return None  # undisclosed, or not supported


def _measured(precision: str, products: Sequence[float], streams: Sequence[float]) -> Roof | None:
    return Roof(f"{precision}, measured", max(products), max(streams)) if products and streams else None


def fastest_stream(shown: Sequence[Shown]) -> float | None:
    """Bandwidth of the device: by its spec, else of the fastest stream of the recording; None without either. [B/s]"""
    for one in shown:
        try:
            if one.hardware:
                return one.hardware.main_memory().bandwidth_bytes_per_s
        except RooflintError:
            break
    streams = [one.row.bytes_per_s for one in shown if isinstance(one.row.subject, Stream) and one.row.bytes_per_s]
    return max(streams, default=None)


def _points(shown: Sequence[Shown]) -> Iterator[tuple[Shown, float, Roof]]:
    roofs = _roofs(shown)
    for one in shown:
        where = intensity(one.row)
        subject = one.row.subject
        if where and one.row.ops_per_s and isinstance(subject, Gemm | Network):
            roof = roofs.get((one.where, subject.precision))
            if roof:
                yield one, where, roof


def _roofline(shown: Sequence[Shown]) -> Iterator[Rooflines]:
    found = [*_points(shown)]
    if found:
        points = tuple(Point(one.name, roof.name, at, one.row.ops_per_s or 0.0) for one, at, roof in found)
        roofs = {roof.name: roof for _, _, roof in found}
        note = "measured rates; bytes as the model counts them, each operand read once and each result written once"
        yield Rooflines("Roofline", tuple(roofs.values()), points, note)


# ---- power


def _power(shown: Sequence[Shown]) -> Iterator[Curves]:
    metered = [(number, one.row.energy) for number, one in enumerate(shown, 1) if isinstance(one.row.energy, Energy)]
    if metered:
        numbers = tuple(float(number) for number, _ in metered)
        means = Curve("mean of a metered run", numbers, tuple(energy.mean_w for _, energy in metered))
        idle = Curve("idle before it", numbers, tuple(energy.idle_w for _, energy in metered))
        highest = {float(number): energy.max_w for number, energy in metered if energy.max_w is not None}
        most = [Curve("highest of it", tuple(highest), tuple(highest.values()))] if highest else []
        yield Curves("Power by measurement", "measurement", "power", (means, idle, *most), "", "", "W", linear=True)
    yield from _power_over_time(shown)


def _power_over_time(shown: Sequence[Shown]) -> Iterator[Curves]:
    """Power of the states before, during and after each measurement, by their times where all have one."""
    found: dict[str, list[tuple[float | None, float]]] = {}
    for one in shown:
        conditions = one.row.conditions
        for state in (conditions.before, *conditions.during, conditions.after):
            if not isinstance(state.power_w, Unavailable):
                found.setdefault(one.where or "device", []).append((state.read_at_s, state.power_w))
    timed = {name: [(at_s, power) for at_s, power in read if at_s is not None] for name, read in found.items()}
    if not found:
        return
    if timed == found:
        curves = tuple(Curve(name, *_since_first(read)) for name, read in timed.items())
        note = "states before, during and after each measurement, by the clock of the host"
        yield Curves("Power over time", "time", "power", curves, note, "s", "W", linear=True)
        return
    curves = tuple(
        Curve(name, tuple(float(n) for n in range(1, 1 + len(read))), tuple(power for _, power in read))
        for name, read in found.items()
    )
    note = "states before, during and after each measurement, in the order of measuring; not all have a time"
    yield Curves("Power over time", "state", "power", curves, note, "", "W", linear=True)


def _since_first(read: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds since the first state, and power."""
    ordered = sorted(read)
    return tuple(at_s - ordered[0][0] for at_s, _ in ordered), tuple(power for _, power in ordered)


# ---- latencies


def _latencies(shown: Sequence[Shown]) -> Iterator[Curves]:
    curves = []
    for one, _ in _networks(shown):
        times = np.quantile(one.row.samples.seconds, SHARES)
        curves.append(Curve(one.name, tuple(float(t) for t in times), tuple(100 * share for share in SHARES)))
    if curves:
        note = "share of the samples that took at most that long; a steep line is a steady latency"
        yield Curves(
            "Distributions of latency", "latency", "samples", tuple(curves), note, "s", "%", linear_y=True, listed=False
        )


# ---- findings


def _spans(shown: Sequence[Shown]) -> Iterator[str]:
    known = sorted((share, one.name) for one, _ in _networks(shown) if (share := of_product(one.row)))
    if len(known) > 1:
        (low, worst), (high, best) = known[0], known[-1]
        yield f"of the product in turn, {best} reaches {percent(high)} and {worst} {percent(low)}"


def _batches(shown: Sequence[Shown]) -> Iterator[str]:
    for label, pairs in _series(shown).items():
        if len(pairs) < 2:
            continue
        (one, first), (other, last) = pairs[0], pairs[-1]
        gain = (one.row.samples.best_s / first.batch) / (other.row.samples.best_s / last.batch)
        verb = "gains" if gain > 1.05 else "loses" if gain < 0.95 else "keeps"
        yield f"{label} {verb} throughput from batch {first.batch} to {last.batch}: {gain:.3g} times"


def _ways(shown: Sequence[Shown]) -> Iterator[str]:
    """The fastest precision and mode of each network at a batch, beside the slowest."""
    groups: dict[tuple[object, ...], list[Shown]] = {}
    for one, net in _networks(shown):
        groups.setdefault((net.name, net.batch, net.tokens, net.past, one.where), []).append(one)
    for group in groups.values():
        if len(group) > 1:
            fast, slow = (pick(group, key=lambda one: one.row.samples.median_s) for pick in (min, max))
            gain = slow.row.samples.median_s / fast.row.samples.median_s
            yield f"{fast.name} is the fastest of {len(group)} ways, {gain:.3g} times as fast as {slow.name}"


def _devices(shown: Sequence[Shown]) -> Iterator[str]:
    """Which machine is the fastest in how many of the networks that all of them ran."""
    machines = dict.fromkeys(one.where for one, _ in _networks(shown))
    times: dict[str, dict[str, float]] = {}
    for one, _ in _networks(shown):
        times.setdefault(one.row.name, {})[one.where] = one.row.samples.median_s
    common = [each for each in times.values() if len(each) == len(machines)]
    if len(machines) > 1 and common:
        first = [min(each, key=each.__getitem__) for each in common]
        for machine in dict.fromkeys(first):
            yield f"{machine} is the fastest in {first.count(machine)} of {counted(len(common), 'run')} that all made"


def _energies(shown: Sequence[Shown]) -> Iterator[str]:
    """What takes the least energy for an item, and the most."""
    known = sorted((one.row.item_j, one.name) for one, _ in _networks(shown) if one.row.item_j)
    if len(known) > 1:
        (low, best), (high, worst) = known[0], known[-1]
        least, most = (format_quantity(each, JOULES, digits=3) for each in (low, high))
        yield f"{best} takes the least energy for an item, {least}; {worst} takes {most}"


def _bounds(shown: Sequence[Shown]) -> Iterator[str]:
    memory = [one.name for one, at, roof in _points(shown) if at < roof.breakpoint_ops_per_byte]
    compute = [one.name for one, at, roof in _points(shown) if at >= roof.breakpoint_ops_per_byte]
    if memory:
        yield f"left of the breakpoint, so bound by memory at best: {', '.join(memory)}"
    if compute and memory:
        yield f"right of the breakpoint, so bound by compute at best: {counted(len(compute), 'measurement')}"


def _tails(shown: Sequence[Shown]) -> Iterator[str]:
    for one, _ in _networks(shown):
        median, late = np.quantile(one.row.samples.seconds, (0.5, 0.99))
        if late > TAIL * median:
            yield f"{one.name} has a tail: its 99th percentile is {late / median:.3g} times the median"
