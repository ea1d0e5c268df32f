"""Limitations and insights of predictions, in sentences that name the device and carry a number."""

from collections.abc import Iterable, Iterator, Sequence

from rooflint.base.units import JOULES, format_quantity, percent
from rooflint.kernels.convolution import WinogradConvolution
from rooflint.kernels.kernel import FITTED_IN
from rooflint.kernels.network import CALIBRATED, MODELS, ModelName, SiliconEstimate, rests_on
from rooflint.kernels.products import Fp8Gemm
from rooflint.prediction.comparison import CRITERIA, Comparison, Contender, flips, score_of
from rooflint.prediction.metrics import red_flags


def caveats(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """What is refused, not known, left out or estimated; each sentence once."""
    return tuple(dict.fromkeys(sentence for one in contenders for sentence in _of(one)))


def _of(one: Contender) -> Iterator[str]:
    if one.found is None:
        yield one.refused
        return
    for reason in dict.fromkeys(one.found.reasons.values()):
        yield reason if one.hardware.id in reason else f"{one.short}: {reason}"
    yield from _of_silicon(one)
    if one.found.has("energy"):
        for left_out in one.found.energy.left_out:
            yield f"{one.short}: energy is a lower bound; {left_out}"
    if one.estimated:
        yield f"{one.short}: its peak is an estimate (rooflint peaks {one.typed.partition('@')[0]})"


def _of_silicon(one: Contender) -> Iterator[str]:
    """Warnings on calibration: what share of a latency uses constants of another precision, and unusual counting."""
    found = one.prediction
    times = found.silicon
    if not times:
        return
    carried = {
        name: float(times.kernel_s[times.kernel_models == name].sum()) for name in MODELS if name not in CALIBRATED
    }
    share = sum(carried.values()) / found.latency_s
    if share:
        kinds = "; ".join(f"{name} {_carried(times, name)}" for name, seconds in carried.items() if seconds)
        yield f"{one.short}: {percent(share)} of its latency is not calibrated ({kinds})"
    if times.chip.cores:
        yield f"{one.short}: runs on CUDA cores, for which only efficiency and energy are fitted"
    elif found.compute != FITTED_IN:
        yield from _of_precision(one, times)
    if times.below_counted:
        yield f"{one.short}: {WinogradConvolution().caveats[0]}"


def _of_precision(one: Contender, times: SiliconEstimate) -> Iterator[str]:
    """Warnings on constants reused from bf16, and on the quantise kernels of FP8."""
    own = sum(float(times.kernel_s[rows.ops].sum()) for rows in times.rows if isinstance(rows.kernel, Fp8Gemm))
    rest = " everything except streams" if own else ""
    yield (
        f"{one.short}: kernel times are calibrated in {FITTED_IN}; in {times.compute}{rest} "
        f"{'uses' if rest else 'they use'} the same constants"
    )
    if own:
        share = percent(times.quantise_s / float(times.kernel_s.sum()))
        yield (
            f"{one.short}: before each product with weights a kernel quantises the activations to {times.compute} "
            f"({share} of the latency), so small batches may be slower than in {FITTED_IN}; fusing it into the "
            "producer saves most of that time"
        )


def _carried(times: SiliconEstimate, name: ModelName) -> str:
    """What an uncalibrated kernel model uses instead of own measurements."""
    return rests_on(times, name).removeprefix("not calibrated: ")


# ---- insights

CLOSE = 1.05
"""A lead below this factor is shown in percent."""

MOST = 12
"""Up to so many devices every flag is listed; beyond, flags are counted."""


def insights(found: Comparison) -> tuple[str, ...]:
    """In the order in which a reader needs them."""
    told = [*_uneven(found), *_mixed(found), *_leads(found), *_flips(found)]
    if len(found.able) <= MOST:
        told += [sentence for one in found.able for sentence in _flags(one)]
        told += [_largest_term(one) for one in found.able if one.prediction.has("energy")]
    else:
        told += _counted(found.able)
    return tuple(told)


def _uneven(found: Comparison) -> Iterator[str]:
    """A launch overhead that is known for some devices only makes the comparison unfair."""
    without = [one.short for one in found.able if one.prediction.launch is None and not one.prediction.silicon]
    if without and len(without) < len(found.able):
        yield (
            f"{', '.join(without)}: launch overhead is not known and not counted, unlike that of the other devices; "
            "--launch free ignores it for all"
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
    """How far the winners lead, and the trade-off between them."""
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
    scores = [(score, one) for one in found.able if one is not winner and (score := score_of(one.prediction, by))]
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
    shown = " and ".join(f"{format_quantity(low, JOULES)} … {format_quantity(high, JOULES)}" for low, high in ranges)
    return f", but their published ranges overlap ({shown})"


def _flips(found: Comparison) -> Iterator[str]:
    for by, other in flips(found, found.without_launches).items():
        value = CRITERIA[by].shown(CRITERIA[by].value(other.prediction))
        yield f"launch overhead decides {by}: without it {other.short} wins ({value}; --launch free)"
    for by, other in flips(found, found.at_roofline).items():
        value = CRITERIA[by].shown(CRITERIA[by].value(other.prediction))
        yield f"calibration decides {by}: at the roofline {other.short} wins ({value}; --fidelity roofline)"


def _flags(one: Contender) -> Iterator[str]:
    for flag in red_flags(one.prediction):
        yield f"{one.short}: {flag.message}"


def _largest_term(one: Contender) -> str:
    terms = one.prediction.energy.terms
    largest = max(terms, key=lambda term: term.total_j)
    share = largest.total_j / one.prediction.energy_j
    return f"{one.short}: {percent(share)} of its energy is {largest.name} ({largest.each.grade})"


def _counted(able: Sequence[Contender]) -> Iterator[str]:
    """Flags of many devices, as counts."""
    flags = [flag.name for one in able for flag in red_flags(one.prediction)]
    for name in dict.fromkeys(flags):
        yield f"{flags.count(name)} of {len(able)} devices have the red flag '{name}'; see rooflint analyze"
