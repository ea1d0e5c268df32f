"""Caveats: what a reader must know before believing a prediction, in sentences that name the device."""

from collections.abc import Iterable, Iterator

from rooflint.comparison import Contender


def caveats(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """What is refused, not known, left out or somebody's judgement; each sentence once."""
    return tuple(dict.fromkeys(sentence for one in contenders for sentence in _of(one)))


def _of(one: Contender) -> Iterator[str]:
    if one.found is None:
        yield one.refused
        return
    for reason in dict.fromkeys(one.found.reasons.values()):
        yield reason if one.hardware.id in reason else f"{one.short}: {reason}"
    if one.found.has("energy"):
        for left_out in one.found.energy.left_out:
            yield f"{one.short}: its energy is at least what is shown; {left_out}"
    if one.estimated:
        yield f"{one.short}: its peak rests on an estimate (rooflint peaks {one.typed.partition('@')[0]})"
