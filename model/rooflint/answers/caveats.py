"""Caveats: what a reader must know before believing a prediction, in sentences that name the device."""

from collections.abc import Iterable, Iterator

from rooflint.comparison import Contender
from rooflint.silicon.network import SiliconEstimate
from rooflint.silicon.ways import CALIBRATED, FITTED_ON, RESTS_ON, WAYS, Way
from rooflint.units import percent


def caveats(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """What is refused, not known, left out or somebody's judgement; each sentence once."""
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
            yield f"{one.short}: its energy is at least what is shown; {left_out}"
    if one.estimated:
        yield f"{one.short}: its peak rests on an estimate (rooflint peaks {one.typed.partition('@')[0]})"


def _of_silicon(one: Contender) -> Iterator[str]:
    """How much of a latency rests on constants that were carried over."""
    found = one.prediction
    if not found.silicon:
        return
    carried = {way: found.times.kernel_s[found.times.ways == way].sum() for way in WAYS if way not in CALIBRATED}
    share = sum(carried.values()) / found.latency_s
    if share:
        kinds = "; ".join(f"{way} {_carried(way)}" for way, seconds in carried.items() if seconds)
        yield f"{one.short}: {percent(share)} of its latency is not calibrated ({kinds})"
    if isinstance(found.times, SiliconEstimate) and found.times.chip.cores:
        yield f"{one.short}: CUDA cores compute; all constants but their efficiency and energy are of matrix units"
    elif found.compute != FITTED_ON:
        yield f"{one.short}: constants of silicon are fitted to {FITTED_ON}; in {found.compute} they are carried over"


def _carried(way: Way) -> str:
    """What an uncalibrated way takes instead."""
    return RESTS_ON[way].removeprefix("not calibrated: ")
