"""What is said of predictions, in sentences that name the device and carry a number.

Limitations and insights of each, and explanations why two of them differ, derived from their own terms. The deciding
figure is found by giving one device a single figure of the other and predicting again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from rooflint.base import units
from rooflint.base.units import format_quantity, percent
from rooflint.energy.terms import Term
from rooflint.output.sections import Bar, Part, Point, Roof
from rooflint.prediction.comparison import CRITERIA, Comparison, Contender, flips, score_of
from rooflint.prediction.metrics import red_flags
from rooflint.prediction.predict import Prediction
from rooflint.roofline import cache_bytes

if TYPE_CHECKING:
    from rooflint.kernels.network import SiliconEstimate


def caveats(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """What is refused, not known, left out or estimated; each sentence once."""
    return tuple(dict.fromkeys(sentence for one in contenders for sentence in _of(one)))


def _of(one: Contender) -> Iterator[str]:
    if one.found is None:
        yield one.refused + (f"; try -p {one.instead}" if one.instead else "")
        return
    for reason in dict.fromkeys(one.found.reasons.values()):
        yield reason if one.hardware.id in reason else f"{one.short}: {reason}"
    if one.found.silicon:
        from rooflint.answers.calibration_caveats import of_silicon  # noqa: PLC0415  # the roofline needs none

        yield from of_silicon(one, one.found.silicon)
    if one.found.has("energy"):
        for left_out in one.found.energy.left_out:
            yield f"{one.short}: energy is a lower bound; {left_out}"
    if one.estimated:
        yield f"{one.short}: its peak is an estimate (rooflint peaks {one.typed.partition('@')[0]})"


# ---- insights

CLOSE = 1.05
"""A lead below this factor is shown in percent."""

MOST = 12
"""Up to so many devices every flag is listed; beyond, flags are counted."""


def insights(found: Comparison) -> tuple[str, ...]:
    """In the order in which a reader needs them."""
    told = [*_uneven(found), *_mixed(found), *_kept(found), *_leads(found), *_flips(found)]
    if len(found.able) <= MOST:
        told += [f"{one.short}: {flag.message}" for one in found.able for flag in red_flags(one.prediction)]
        told += [_largest_term(one) for one in found.able if one.prediction.has("energy")]
    else:
        told += _counted(found.able)
    return tuple(told)


def _uneven(found: Comparison) -> Iterator[str]:
    """A launch overhead that is known for some devices only makes the comparison unfair."""
    without = [one.short for one in found.able if one.prediction.launch is None and not one.prediction.silicon]
    if without and len(without) < len(found.able):
        yield (
            f"{', '.join(without)}: launch overhead is not known and not counted, so it does not compete in latency "
            "and energy with devices that pay theirs; --launch free ignores it for all"
        )


def keeps_weights(one: Prediction) -> bool:
    """Whether the largest cache keeps all weights from batch to batch. Raises NotKnownError without a footprint."""
    return bool(one.weight_bytes <= cache_bytes(one.hardware))


def _kept(found: Comparison) -> Iterator[str]:
    """Weights that no memory is read for, which services of several networks cannot count on."""
    able = [one for one in found.able if one.prediction.has("footprint")] if found.setting.cached else []
    if names := [one.short for one in able if keeps_weights(one.prediction)]:
        size = format_quantity(able[0].prediction.weight_bytes, units.BYTES)
        yield (
            f"{', '.join(names)}: weights ({size}) stay in the largest cache between batches; with --uncached they are "
            "read from memory"
        )


def _mixed(found: Comparison) -> Iterator[str]:
    """Latencies of two fidelities in one comparison, and calibrated latencies over roofline ones."""
    silicon = [one for one in found.able if one.prediction.silicon]
    least = [one.short for one in found.able if not one.prediction.silicon]
    if silicon and least:
        yield (
            f"{', '.join(least)}: roofline latency, a lower bound, beside calibrated latency of "
            f"{', '.join(one.short for one in silicon)}; --fidelity roofline compares all alike"
        )
    if found.at_roofline and len(silicon) <= MOST:
        plain = {one.label: one.prediction for one in found.at_roofline.able}
        for one in silicon:
            times = _factor(one.prediction.latency_s / plain[one.label].latency_s)
            yield f"{one.short} takes {times} {LONGER[times.endswith('×')]} roofline latency: {_parts(one)}"


LONGER = {True: "the", False: "more than the"}


def _parts(one: Contender) -> str:
    """`29.4 % launch overhead, 55 % compute-bound kernels, …`"""
    shares = ((name, seconds / one.prediction.latency_s) for name, seconds in one.prediction.shares.items() if seconds)
    words = {
        "launch": "launch overhead",
        "compute": "compute-bound kernels",
        "memory": "memory-bound kernels",
    }
    return ", ".join(f"{percent(share)} {words[name]}" for name, share in shares)


def _leads(found: Comparison) -> Iterator[str]:
    if len(found.able) < 2:
        return  # there is nothing to win against
    frugal, fast = found.winner("energy"), found.winner("latency")
    if frugal and frugal is fast:
        yield f"{fast.short} wins both energy and latency: no trade-off between these devices"
    elif frugal and fast:
        yield from _trade_off(frugal, fast)
    for by, winner in (("energy", frugal), ("latency", fast)):
        if winner:
            yield from _lead(found, by, winner)


def _trade_off(frugal: Contender, fast: Contender) -> Iterator[str]:
    energy = CRITERIA["energy"].of(fast.prediction)
    if energy is None:
        return
    less = energy / frugal.prediction.energy_per_sample_j
    faster = frugal.prediction.latency_s / fast.prediction.latency_s
    speed = f"{faster:.3g} × as fast" if faster >= CLOSE else f"{_factor(faster)} faster"
    saving = f"1/{less:.3g} of" if less >= CLOSE else f"{_factor(less)} less than"
    yield f"trade-off: {frugal.short} takes {saving} the energy of {fast.short}, which is {speed}"


def _lead(found: Comparison, by: str, winner: Contender) -> Iterator[str]:
    others = (one for one in found.competing(by) if one is not winner)
    scores = [(score, one) for one in others if (score := score_of(one.prediction, by))]
    if not scores:
        return
    score, second = min(scores, key=lambda pair: pair[0])
    lead = score / CRITERIA[by].value(winner.prediction)
    overlap = _overlap(winner, second) if by == "energy" else ""
    yield f"{winner.short} leads {second.short} by {_factor(lead)} in {by}{overlap}"


def _factor(ratio: float) -> str:
    """`1.94 ×`, or in percent where that says more: `0.5 %`."""
    return f"{ratio:.3g} ×" if ratio >= CLOSE else f"{100 * (ratio - 1):.2g} %"


def _overlap(one: Contender, two: Contender) -> str:
    """Whether the documents' ranges leave the order of two energies open."""
    ranges = [tuple(end / each.prediction.batch for end in each.prediction.energy.ends_j) for each in (one, two)]
    if ranges[0][1] < ranges[1][0]:
        return ""
    shown = " and ".join(
        f"{format_quantity(low, units.JOULES)} … {format_quantity(high, units.JOULES)}" for low, high in ranges
    )
    return f", but their published ranges overlap ({shown})"


def _flips(found: Comparison) -> Iterator[str]:
    for by, other in flips(found, found.without_launches).items():
        value = CRITERIA[by].shown(CRITERIA[by].value(other.prediction))
        yield f"launch overhead decides {by}: without it {other.short} wins ({value}; --launch free)"
    for by, other in flips(found, found.at_roofline).items():
        value = CRITERIA[by].shown(CRITERIA[by].value(other.prediction))
        yield f"calibration decides {by}: at the roofline {other.short} wins ({value}; --fidelity roofline)"


def _largest_term(one: Contender) -> str:
    terms = one.prediction.energy.terms
    largest = max(terms, key=lambda term: term.total_j)
    share = largest.total_j / one.prediction.energy_j
    return f"{one.short}: {percent(share)} of its energy is {largest.name} ({largest.each.grade})"


def _counted(able: Sequence[Contender]) -> Iterator[str]:
    flags = [flag.name for one in able for flag in red_flags(one.prediction)]
    for name in dict.fromkeys(flags):
        yield f"{flags.count(name)} of {len(able)} devices have the red flag '{name}'; see rooflint analyze"


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
    first = _first(one, two, mine, theirs, units.JOULES, "energy")
    terms = sorted(_energy_differences(one, two), key=lambda pair: -abs(pair[0]))
    whole = theirs - mine
    large = [(difference, sentence) for difference, sentence in terms if whole and abs(difference / whole) > SMALL]
    rest = whole - sum(difference for difference, _ in large)
    others = (
        (f"all other terms: {percent(rest / whole)} of the difference",) if len(large) < len(terms) and whole else ()
    )
    return Explanation("energy", (first, *(text for _, text in large), *others, *_power(one, two)), bars)


def energy_bar(one: Contender) -> Bar:
    """The terms of one inference. [J]"""
    found = one.prediction
    parts = (
        Part(term.name, term.total_j / found.batch, format_quantity(term.total_j / found.batch, units.JOULES))
        for term in found.energy.terms
    )
    return Bar(one.short, tuple(parts), format_quantity(found.energy_per_sample_j, units.JOULES))


def _energy_differences(one: Contender, two: Contender) -> Iterator[tuple[float, str]]:
    """Each cause of energy with what it makes of the difference, per inference."""
    mine, theirs = ({term.name: term for term in each.prediction.energy.terms} for each in (one, two))
    whole = two.prediction.energy_per_sample_j - one.prediction.energy_per_sample_j
    for name in dict.fromkeys((*mine, *theirs)):
        ours, others = mine.get(name), theirs.get(name)
        difference = _per_sample_j(two, others) - _per_sample_j(one, ours)
        share = f"{percent(difference / whole)} of the difference" if whole else "no difference"
        yield difference, f"{name}: {_told(one, ours)}, {_told(two, others)}; {share}"


def _per_sample_j(who: Contender, term: Term | None) -> float:
    return term.total_j / who.prediction.batch if term else 0.0


def _told(who: Contender, term: Term | None) -> str:
    """`t4 9.6 mJ (1.8 G op × 5.3 pJ)`: a term of one inference."""
    if term is None:
        left_out = who.prediction.energy.left_out
        return f"not known for {who.short}" if left_out else f"{who.short} has no such term"
    counts, each = float(term.counts.sum()) / who.prediction.batch, term.each.typical
    if term.unit == "s":
        product = f"{format_quantity(each, units.WATTS)} × {format_quantity(counts, units.SECONDS)}"
    else:
        product = f"{_many(counts, term.unit)} × {format_quantity(each, units.JOULES)}"
    return f"{who.short} {format_quantity(_per_sample_j(who, term), units.JOULES)} ({product})"


def _power(one: Contender, two: Contender) -> Iterator[str]:
    for each in (one, two):
        yield from (f"{each.short}: {flag.message}" for flag in red_flags(each.prediction) if flag.name == "power")


# ---- latency


def _latency(one: Contender, two: Contender) -> Explanation:
    mine, theirs = one.prediction, two.prediction
    first = _first(one, two, mine.latency_s, theirs.latency_s, units.SECONDS, "time")
    waits = tuple(f"{each.short}: {_waits(each.prediction)}" for each in (one, two))
    bars = tuple(latency_bar(each) for each in (one, two))
    return Explanation("latency", (first, *waits, *_what_if(one, two)), bars)


def latency_bar(one: Contender) -> Bar:
    """Latency of a batch by bottleneck. [s]"""
    shares = one.prediction.shares.items()
    parts = tuple(Part(name, seconds, format_quantity(seconds, units.SECONDS)) for name, seconds in shares)
    return Bar(one.short, parts, format_quantity(one.prediction.latency_s, units.SECONDS))


def roof_of(one: Contender) -> Roof:
    """The peak and the bandwidth of a device."""
    return Roof(one.short, one.prediction.peak_ops_per_s, one.prediction.bandwidth_bytes_per_s)


def point_of(label: str, one: Contender) -> Point:
    """A whole network under the roof of a device."""
    return Point(label, one.short, one.prediction.intensity_ops_per_byte, one.prediction.attained_ops_per_s)


def _waits(found: Prediction) -> str:
    """Latency by bottleneck, and how many kernels are memory-bound."""
    parts = [f"{name} {format_quantity(seconds, units.SECONDS)}" for name, seconds in found.shares.items() if seconds]
    memory = int(found.run.repeats[found.times.compute_s < found.times.memory_s].sum())
    where = f"{found.intensity_ops_per_byte:.3g} op/B, breakpoint {found.breakpoint_ops_per_byte:.3g}"
    kernels = f"{memory} of {found.launches} kernels are memory-bound"
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
            seconds = format_quantity(theirs.latency_s + change, units.SECONDS)
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
    yield "peak", format_quantity(peak, units.OPS_PER_S), replace(times, peak_ops_per_s=peak).latency_s
    moved = replace(times, bandwidth_bytes_per_s=bandwidth)
    yield "bandwidth", format_quantity(bandwidth, units.BYTES_PER_S), moved.latency_s
    overhead = mine.times.overhead_s
    yield "launch overhead", format_quantity(overhead, units.SECONDS), replace(times, overhead_s=overhead).latency_s


def _exchanged_chips(mine: Prediction, theirs: "SiliconEstimate") -> Iterator[tuple[str, str, float]]:
    """The same on silicon, where the chip has more figures; of a device at the roofline only its bandwidth."""
    bandwidth = mine.bandwidth_bytes_per_s
    wider = replace(theirs.chip, bandwidth_bytes_per_s=bandwidth)
    yield "bandwidth", format_quantity(bandwidth, units.BYTES_PER_S), theirs.on(wider).latency_s
    if not mine.silicon:
        return
    chip = mine.silicon.chip
    exchanged = {name: getattr(chip, name) for name in ("sms", "macs_per_clock", "clock_hz", "asynchronous")}
    text = f"{chip.sms:g} × {chip.macs_per_clock:g} MAC at {format_quantity(chip.clock_hz, units.HERTZ)}"
    yield "SMs", text, theirs.on(replace(theirs.chip, **exchanged)).latency_s
    shown = format_quantity(chip.tdp_w, units.WATTS)
    yield "rated power", shown, theirs.on(replace(theirs.chip, tdp_w=chip.tdp_w)).latency_s


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
    order = sorted(range(len(found.run)), key=lambda op: -found.times.kernel_s[op])
    for op in order[:most]:
        share = found.times.kernel_s[op] / found.latency_s
        where = f"{found.allocation.display(op)}, {found.allocation.reason(op)}"
        yield f"{found.run.op_names[op]} ({percent(share)} of the time): {where}"


# ---- words


def _first(one: Contender, two: Contender, mine: float, theirs: float, dimension: units.Dimension, what: str) -> str:
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
    return format_quantity(value, units.BYTES)
