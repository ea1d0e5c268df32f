"""Mend: the constant or the fact that would take most of an error away, if it were another, and what it would be."""

from collections.abc import Iterator, Sequence

import numpy as np

from pytest_rooflint.silicon.knobs import TURNS, Knob
from pytest_rooflint.silicon.tested import Tested
from rooflint.causes import Cause
from rooflint.silicon.shapes import Numbers

TRIED = 250
"""Rows of a device on which a knob is turned in search of the best factor."""
ALIKE = 0.02
"""Share of what the best factor takes away that others may miss, to do alike: beyond a roof all do."""
COARSE = 2.0 ** np.linspace(-2, 2, 17)
FINE = 2.0 ** np.linspace(-0.25, 0.25, 11)
"""How far it is turned: up to four times either way, then nearer."""
WORTH = 0.15
"""Share of the error that a turn must take away to be worth naming."""
NEAR = 0.7
"""Share of what the best turn takes away that others must, to be named beside it."""
FAR = 0.15
"""What a turn by a factor of two costs, as a share of what the best one takes away: a smaller mistake is likelier."""


def causes(ones: Sequence[Tested], there: Sequence[Knob]) -> Iterator[Cause]:
    """What one number would have to be, best first; none where no number by itself takes much of the error away."""
    few = [one.only(np.arange(min(len(one.rows), TRIED))) for one in ones]
    now = _error(few)
    found = [(*_best(knob, few, now), knob) for knob in there]
    least = min(error for error, _, _ in found)
    if least > (1 - WORTH) * now:
        return
    for error, factor, knob in found:
        if now - error >= NEAR * (now - least):
            then = _error([knob.turned(one, factor) for one in ones])
            text = f"{knob.name} is {knob.fact.display}: at {knob.at(factor)} the error would be {then:.1%}"
            cost = (error - least) / (now - least) + FAR * abs(float(np.log2(factor)))
            yield Cause(text, 1 / factor, cost, knob.fact)


def _best(knob: Knob, ones: Sequence[Tested], now: float) -> tuple[float, float]:
    """(The least error, by which factor); of factors that do alike the one nearest to what the number is."""

    def tried(factors: Numbers) -> list[tuple[float, float]]:
        return [(_error([knob.turned(one, float(factor)) for one in ones]), float(factor)) for factor in factors]

    if all(error == now for error, _ in tried(np.array(TURNS))):
        return now, 1.0
    found = tried(COARSE)
    found += tried(FINE * min(found)[1])
    least = min(found)[0]
    alike = [one for one in found if one[0] <= least + ALIKE * (now - least)]
    return min(alike, key=lambda one: abs(float(np.log(one[1]))))


def _error(ones: Sequence[Tested]) -> float:
    """Mean of |predicted / measured − 1|. [1]"""
    return float(np.concatenate([np.abs(one.predicted_s() / one.rows.seconds - 1) for one in ones]).mean())
