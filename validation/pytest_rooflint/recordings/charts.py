"""Charts of recordings: efficiency over size, the roofline with measured points, power, distributions of latency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TypeVar

import numpy as np

from pytest_rooflint.recordings.bounds import gemm_bytes
from rooflint.base.errors import RooflintError
from rooflint.base.units import format_number
from rooflint.hardware.device import Hardware, working_peak_ops_per_s
from rooflint.output.sections import Curve, Curves, Point, Roof, Rooflines, Section
from rooflint.workloads import load
from rooflint_measure.record import Energy, Gemm, Measurement, Network, Stream, Unavailable

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""Of the samples, at which a distribution is drawn."""

MOST = 20
"""Curves or points of a chart; more are a chart for each precision. [1]"""

T = TypeVar("T")


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


# ---- efficiency


def of_product(row: Measurement) -> float | None:
    """Rate over that of the product that was timed in turn with it. [1]"""
    one = row.reference
    if one is None or not isinstance(one.subject, Gemm) or not isinstance(row.subject, Gemm | Network):
        return None
    return row.subject.macs / row.samples.best_s / (one.subject.macs / one.samples.best_s)


def other_precision(row: Measurement) -> str:
    """The precision of the product in turn, where it is not that of the measurement: of weights in 4 bit, `bf16`."""
    one = row.reference.subject if row.reference else None
    own = getattr(row.subject, "precision", "")
    return one.precision if isinstance(one, Gemm) and own and one.precision != own else ""


def networks(shown: Sequence[Shown]) -> list[tuple[Shown, Network]]:
    """Those that are networks."""
    return [(one, one.row.subject) for one in shown if isinstance(one.row.subject, Network)]


def series(shown: Sequence[Shown]) -> dict[str, list[tuple[Shown, Network]]]:
    """Networks by all but their batch, each in the order of its batches."""
    found: dict[str, list[tuple[Shown, Network]]] = {}
    for one, net in sorted(networks(shown), key=lambda pair: pair[1].batch):
        label = " ".join((net.name, net.precision, *net.settings, *([f"@ {one.where}"] if one.where else [])))
        found.setdefault(label, []).append((one, net))
    return found


def _efficiency(shown: Sequence[Shown]) -> Iterator[Curves]:
    curves = []
    for label, pairs in series(shown).items():
        known = [
            (2.0 * net.macs, share)
            for one, net in pairs
            if (share := of_product(one.row)) and not other_precision(one.row)
        ]
        if known:
            work, shares = zip(*known, strict=True)
            curves.append((pairs[0][1].precision, Curve(label, work, tuple(100 * share for share in shares))))
    note = "of the product of the same precision that was timed in turn with it; one point a batch"
    for kind, some in _with_room(curves):
        yield Curves(f"Efficiency over size{kind}", "work of a call", "efficiency", tuple(some), note, "op", "%")


def _with_room(items: Sequence[tuple[str, T]]) -> Iterator[tuple[str, list[T]]]:
    """What one chart has room for, with an addition to its heading; one chart a precision where there is more."""
    if len(items) <= MOST:
        if items:
            yield "", [one for _, one in items]
        return
    for precision in dict.fromkeys(precision for precision, _ in items):
        yield f", {precision}", [one for each, one in items if each == precision]


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
    roof: Roof

    @property
    def breakpoint(self) -> str:
        """`40 op/B (fp32, measured)`."""
        return f"{format_number(self.roof.breakpoint_ops_per_byte, 3)} op/B ({self.roof.name})"


def limits(shown: Sequence[Shown]) -> dict[str, Bound]:
    """What limits each network, by the name of its measurement; one without a roof or a known traffic is left out."""
    return {
        one.row.name: Bound("memory" if at < roof.breakpoint_ops_per_byte else "compute", roof)
        for one, at, roof in points(shown)
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


def points(shown: Sequence[Shown]) -> Iterator[tuple[Shown, float, Roof]]:
    """Products and networks with the intensity of each and the roof that it stands under. [op/B]"""
    roofs = _roofs(shown)
    for one in shown:
        where = intensity(one.row)
        subject = one.row.subject
        if where and one.row.ops_per_s and isinstance(subject, Gemm | Network):
            roof = roofs.get((one.where, subject.precision))
            if roof:
                yield one, where, roof


def _precision(one: Shown) -> str:
    return one.row.subject.precision if isinstance(one.row.subject, Gemm | Network) else ""


def _roofline(shown: Sequence[Shown]) -> Iterator[Rooflines]:
    found = [(_precision(one), (one, at, roof)) for one, at, roof in points(shown)]
    note = "measured rates; bytes as the model counts them, each operand read once and each result written once"
    for kind, some in _with_room(found):
        measured = tuple(Point(one.name, roof.name, at, one.row.ops_per_s or 0.0) for one, at, roof in some)
        roofs = {roof.name: roof for _, _, roof in some}
        yield Rooflines(f"Roofline{kind}", tuple(roofs.values()), measured, note)


# ---- power


def _power(shown: Sequence[Shown]) -> Iterator[Curves]:
    metered = [(number, one.row.energy) for number, one in enumerate(shown, 1) if isinstance(one.row.energy, Energy)]
    if metered:
        numbers = tuple(float(number) for number, _ in metered)
        means = Curve("mean of a metered run", numbers, tuple(energy.mean_w for _, energy in metered), joined=False)
        idle = Curve("idle before it", numbers, tuple(energy.idle_w for _, energy in metered), joined=False)
        highest = {float(number): energy.max_w for number, energy in metered if energy.max_w is not None}
        most = [Curve("highest of it", tuple(highest), tuple(highest.values()), joined=False)] if highest else []
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
    """Seconds since the first state, and power; states of one moment stay in the order of reading."""
    ordered = sorted(read, key=itemgetter(0))
    return tuple(at_s - ordered[0][0] for at_s, _ in ordered), tuple(power for _, power in ordered)


# ---- latencies


def _latencies(shown: Sequence[Shown]) -> Iterator[Curves]:
    curves = []
    for one, net in networks(shown):
        times = np.quantile(one.row.samples.seconds, SHARES)
        curve = Curve(one.name, tuple(float(t) for t in times), tuple(100 * share for share in SHARES))
        curves.append((net.precision, curve))
    note = "share of the samples that took at most that long; a steep line is a steady latency"
    for kind, some in _with_room(curves):
        heading = f"Distributions of latency{kind}"
        yield Curves(heading, "latency", "samples", tuple(some), note, "s", "%", linear_y=True, listed=False)
