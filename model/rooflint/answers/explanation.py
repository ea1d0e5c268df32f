"""Explanations: why two predictions differ, derived from their own terms.

The deciding figure is found by giving one device a single figure of the other and predicting again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rooflint.base.units import (
    BYTES,
    BYTES_PER_S,
    HERTZ,
    JOULES,
    OPS_PER_S,
    SECONDS,
    WATTS,
    Dimension,
    format_quantity,
    percent,
)
from rooflint.energy.terms import Term
from rooflint.kernels.network import SiliconEstimate
from rooflint.output.sections import Bar, Part
from rooflint.prediction.comparison import Contender
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Prediction
from rooflint.roofline import Numbers, kernel_time_s

SMALL = 0.02
"""Terms with a smaller share of a difference are summed up as others."""

Metric = Literal["energy", "latency", "memory", "utilization"]
METRICS: tuple[Metric, ...] = get_args(Metric)


@dataclass(frozen=True)
class Explanation:
    """Why two devices differ in a metric."""

    metric: Metric
    sentences: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    """The terms of both, where they add up to the metric."""


def explain(one: Contender, two: Contender, metric: str) -> Explanation:
    """Why the second differs from the first.

    Raises RooflintError where one of them cannot run the network, NotKnownError where the metric is not known.
    """
    tell = {"energy": _energy, "latency": _latency, "memory": _memory, "utilization": _utilization}[metric]
    return tell(one, two)


# ---- energy


def _energy(one: Contender, two: Contender) -> Explanation:
    mine, theirs = one.prediction.energy_per_sample_j, two.prediction.energy_per_sample_j
    bars = tuple(energy_bar(each) for each in (one, two))
    first = _first(one, two, mine, theirs, JOULES, "energy")
    terms = sorted(_energy_differences(one, two), key=lambda pair: -abs(pair[0]))
    whole = theirs - mine
    large = [(difference, sentence) for difference, sentence in terms if whole and abs(difference / whole) > SMALL]
    rest = whole - sum(difference for difference, _ in large)
    others = (
        (f"all other terms: {percent(rest / whole)} of the difference",) if len(large) < len(terms) and whole else ()
    )
    return Explanation("energy", (first, *(said for _, said in large), *others, *_power(one, two)), bars)


def energy_bar(one: Contender) -> Bar:
    """The terms of one inference. [J]"""
    found = one.prediction
    parts = (
        Part(term.name, term.total_j / found.batch, format_quantity(term.total_j / found.batch, JOULES))
        for term in found.energy.terms
    )
    return Bar(one.short, tuple(parts), format_quantity(found.energy_per_sample_j, JOULES))


def _energy_differences(one: Contender, two: Contender) -> Iterator[tuple[float, str]]:
    """Each cause of energy with what it makes of the difference, per inference."""
    mine, theirs = (_causes(each.prediction) for each in (one, two))
    whole = two.prediction.energy_per_sample_j - one.prediction.energy_per_sample_j
    for name in dict.fromkeys((*mine, *theirs)):
        ours, others = mine.get(name), theirs.get(name)
        difference = (others.per_sample_j if others else 0.0) - (ours.per_sample_j if ours else 0.0)
        share = f"{percent(difference / whole)} of the difference" if whole else "no difference"
        yield difference, f"{name}: {_told(one, ours)}, {_told(two, others)}; {share}"


@dataclass(frozen=True)
class _Cause:
    """A term of one inference."""

    term: Term
    batch: int

    @property
    def per_sample_j(self) -> float:
        return self.term.total_j / self.batch

    def __str__(self) -> str:
        counts = float(self.term.counts.sum()) / self.batch
        each = self.term.each.typical
        if self.term.unit == "s":
            return f"{format_quantity(each, WATTS)} × {format_quantity(counts, SECONDS)}"
        return f"{_many(counts, self.term.unit)} × {format_quantity(each, JOULES)}"


def _causes(found: Prediction) -> dict[str, _Cause]:
    return {term.name: _Cause(term, found.batch) for term in found.energy.terms}


def _told(who: Contender, cause: _Cause | None) -> str:
    if cause is None:
        left_out = who.prediction.energy.left_out
        return f"not known for {who.short}" if left_out else f"{who.short} has no such term"
    return f"{who.short} {format_quantity(cause.per_sample_j, JOULES)} ({cause})"


def _power(one: Contender, two: Contender) -> Iterator[str]:
    for each in (one, two):
        yield from (f"{each.short}: {flag.message}" for flag in red_flags(each.prediction) if flag.name == "power")


# ---- latency


def _latency(one: Contender, two: Contender) -> Explanation:
    mine, theirs = one.prediction, two.prediction
    first = _first(one, two, mine.latency_s, theirs.latency_s, SECONDS, "time")
    waits = tuple(f"{each.short}: {_waits(each.prediction)}" for each in (one, two))
    bars = tuple(latency_bar(each) for each in (one, two))
    return Explanation("latency", (first, *waits, *_what_if(one, two)), bars)


def latency_bar(one: Contender) -> Bar:
    """Latency of a batch by bottleneck. [s]"""
    shares = one.prediction.shares.items()
    parts = tuple(Part(name, seconds, format_quantity(seconds, SECONDS)) for name, seconds in shares)
    return Bar(one.short, parts, format_quantity(one.prediction.latency_s, SECONDS))


def _waits(found: Prediction) -> str:
    """Latency by bottleneck, and how many kernels are memory-bound."""
    parts = [f"{name} {format_quantity(seconds, SECONDS)}" for name, seconds in found.shares.items() if seconds]
    memory = int((found.times.compute_s < found.times.memory_s).sum())
    where = f"{found.intensity_ops_per_byte:.3g} op/B, breakpoint {found.breakpoint_ops_per_byte:.3g}"
    kernels = f"{memory} of {len(found.run)} kernels are memory-bound"
    return f"{', '.join(parts)}; {kernels} ({where})"


def _what_if(one: Contender, two: Contender) -> Iterator[str]:
    """What the second would take with one figure of the first, the figure that moves it most first."""
    mine, theirs = one.prediction, two.prediction
    gap = mine.latency_s - theirs.latency_s
    if not gap:
        return
    moved = [(name, shown, seconds - theirs.latency_s) for name, shown, seconds in _exchanges(mine, theirs)]
    for name, shown, change in sorted(moved, key=lambda entry: -abs(entry[2])):
        if change:
            seconds = format_quantity(theirs.latency_s + change, SECONDS)
            told = f"with the {name} of {one.short} ({shown}) {two.short} would take {seconds}"
            yield f"{told}: {_closed(change / gap)}"


def _closed(share: float) -> str:
    """What a change does to the gap, of which it is that share."""
    if share < 0:
        return f"that alone widens the gap by {-100 * share:.3g} %"
    return f"that alone closes {percent(share)} of the gap" if share <= 1 else "that alone more than closes the gap"


def _exchanges(mine: Prediction, theirs: Prediction) -> Iterator[tuple[str, str, float]]:
    """One figure of the first, for a reader, and the latency of the second with it. [s]"""
    if theirs.silicon:
        yield from _exchanged_chips(mine, theirs.silicon)
        return
    times, peak, bandwidth = theirs.times, mine.peak_ops_per_s, mine.bandwidth_bytes_per_s
    overhead = mine.times.overhead_s
    others = times.memory_s, times.compute_s
    yield "peak", format_quantity(peak, OPS_PER_S), _total(times.ops / peak, others[0], times.overhead_s)
    moved = times.bytes_moved / bandwidth
    yield "bandwidth", format_quantity(bandwidth, BYTES_PER_S), _total(others[1], moved, times.overhead_s)
    yield "launch overhead", format_quantity(overhead, SECONDS), _total(others[1], others[0], overhead)


def _exchanged_chips(mine: Prediction, theirs: SiliconEstimate) -> Iterator[tuple[str, str, float]]:
    """The same on silicon, where the chip has more figures; of a device at the roofline only its bandwidth."""
    bandwidth = mine.bandwidth_bytes_per_s
    wider = replace(theirs.chip, bandwidth_bytes_per_s=bandwidth)
    yield "bandwidth", format_quantity(bandwidth, BYTES_PER_S), theirs.on(wider).latency_s
    if not mine.silicon:
        return
    chip = mine.silicon.chip
    units = {name: getattr(chip, name) for name in ("sms", "macs_per_clock", "clock_hz", "asynchronous")}
    said = f"{chip.sms:g} × {chip.macs_per_clock:g} MAC at {format_quantity(chip.clock_hz, HERTZ)}"
    yield "SMs", said, theirs.on(replace(theirs.chip, **units)).latency_s
    shown = format_quantity(chip.tdp_w, WATTS)
    yield "rated power", shown, theirs.on(replace(theirs.chip, tdp_w=chip.tdp_w)).latency_s


def _total(compute_s: Numbers, memory_s: Numbers, overhead_s: float) -> float:
    """Latency of kernels one after the other. [s]"""
    return float(kernel_time_s(compute_s, memory_s, overhead_s).sum())


# ---- memory, utilization


def _memory(one: Contender, two: Contender) -> Explanation:
    mine = one.prediction
    parts = (
        f"both need {_bytes(mine.peak_bytes)}, which depends on the network and its storage precision alone",
        f"weights {_bytes(mine.weight_bytes)}, activations at most {_bytes(mine.activation_bytes)} "
        f"(at {mine.footprint.peak_op}); activations grow with the batch, weights do not",
        *(f"{each.short} {_fits(each.prediction)}" for each in (one, two)),
    )
    return Explanation("memory", parts)


def _fits(found: Prediction) -> str:
    memory = found.hardware.main_memory()
    if found.fits is None:
        return "has an unknown memory capacity"
    share = 100 * found.peak_bytes / memory.capacity_bytes
    taken = f"{share:.3g} % of it is used" if found.fits else f"does NOT fit, needs {share / 100:.3g} × as much"
    return f"has {memory.fact('capacity').display} of {memory.name}: {taken}"


def _utilization(one: Contender, two: Contender) -> Explanation:
    mine, theirs = one.prediction.utilization, two.prediction.utilization
    sentences = [
        f"{each.short}: {each.prediction.units} active, time-averaged ({percent(share)})"
        for each, share in ((one, mine), (two, theirs))
    ]
    for each in (one, two):
        sentences += [f"{each.short}, {told}" for told in _longest(each.prediction)]
    return Explanation("utilization", tuple(sentences))


def _longest(found: Prediction, most: int = 3) -> Iterator[str]:
    """How the kernels that take longest lie on the units."""
    order = sorted(range(len(found.run)), key=lambda op: -found.times.kernel_s[op])
    for op in order[:most]:
        share = found.times.kernel_s[op] / found.latency_s
        where = f"{found.allocation.display(op)}, {found.allocation.reason(op)}"
        yield f"{found.run.op_names[op]} ({percent(share)} of the time): {where}"


# ---- words


def _first(one: Contender, two: Contender, mine: float, theirs: float, dimension: Dimension, what: str) -> str:
    """`t4 takes 3.2 × the energy of l4: 48.9 mJ vs 15.3 mJ`."""
    ours, others = format_quantity(mine, dimension), format_quantity(theirs, dimension)
    ratio = theirs / mine
    if ratio == 1:
        return f"{two.short} takes as much {what} as {one.short}: {ours}"
    times = f"{ratio:.3g} × the" if ratio > 1 else f"1/{1 / ratio:.3g} of the"
    return f"{two.short} takes {times} {what} of {one.short}: {others} vs {ours}"


def _many(count: float, unit: str) -> str:
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.4g} {prefix}{unit}" if len(unit) < 3 else f"{count / size:.4g} {prefix} {unit}s"
    return f"{count:.4g} {unit}" if len(unit) < 3 else f"{count:.4g} {unit}s"


def _bytes(value: float) -> str:
    return format_quantity(value, BYTES)
