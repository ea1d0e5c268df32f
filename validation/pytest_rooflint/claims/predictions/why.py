"""Mend: the constant or the fact that would take most of an error away, if it were another, and what it would be."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rooflint.base.errors import shown
from rooflint.base.text import counted, row
from rooflint.base.units import SECONDS, format_quantity
from rooflint.devices.registry import Registry
from rooflint.diagnosis.causes import Cause
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.knobs import TURNS, Knob, knobs
from rooflint_calibration.tested import Tested
from rooflint_calibration.topics import TOPICS

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


# ---- Why: on which rows a red prediction is off, in which regime and term, what the term reads, and what would mend

WORST = 0.1
"""Share of the rows that a reason is sought for: those that are off the most."""
MOST = 100
"""Rows of them at most: a term that binds is seen on fewer, and each is timed tile by tile."""
CROWDED = 1.25
"""Share of the worst rows over share of all rows from which a regime is named."""
READS = 0.05
"""Share of its time by which a term that reads a knob moves, or more."""
ASKED = 4
"""Rows of a device on which it is asked; each is timed tile by tile, with every knob turned."""
READ = 6
"""Knobs that are listed, those first that a term moves most with."""
NOTHING = f"no constant and no fact by itself would take {WORTH:.0%} of the error away"


@dataclass(frozen=True)
class Reason:
    """Why a prediction is red."""

    details: str = ""
    causes: tuple[Cause, ...] = ()


def reason(registry: Registry, family: str, regime: str, ones: Sequence[Tested]) -> Reason:
    """What a red claim says besides its figures. Raises RooflintError."""
    worst, there = _worst(ones), list(knobs(registry, family, ones))
    found = tuple(causes(ones, there))
    lines = [*_details(worst, ones, regime, there), *([] if found else [row("alone", NOTHING)])]
    return Reason("\n".join(lines), found)


def _worst(ones: Sequence[Tested]) -> list[Tested]:
    """The rows that are off the most, of all devices together."""
    logs = [np.abs(_log_ratio(one)) for one in ones]
    together = np.sort(np.concatenate(logs))[::-1]
    least = together[min(len(together), max(10, int(WORST * len(together))), MOST) - 1]
    return [one.only(log >= least) for one, log in zip(ones, logs, strict=True)]


def _log_ratio(one: Tested) -> Numbers:
    return np.log(one.predicted_s() / one.rows.seconds)


def _details(worst: Sequence[Tested], ones: Sequence[Tested], regime: str, there: Sequence[Knob]) -> Iterator[str]:
    logs = np.concatenate([_log_ratio(one) for one in worst])
    slow, of = int((logs > 0).sum()), sum(len(one.rows) for one in ones)
    lean = f"{slow} predicted too slow, {len(logs) - slow} too fast"
    least = float(np.exp(np.abs(logs).min()))
    yield row("worst", f"{len(logs)} of {counted(of, 'row')} are off by a factor of {least:.3g} or more: {lean}")
    if said := _regime(worst, ones, regime):
        yield row("", said)
    term, line = _term(worst)
    yield row("term", line)
    yield from _reads(worst, term, there)
    yield row("row", sentence(_typical(worst, term, slow=2 * slow >= len(logs))))


def _regime(worst: Sequence[Tested], ones: Sequence[Tested], regime: str) -> str:
    """The regime that the worst rows crowd into; nothing where the claim names one itself, or they crowd nowhere."""
    topic = TOPICS[ones[0].rows.topic]
    if regime != "all":
        return ""
    found = {name: (_inside(worst, name), _inside(ones, name)) for name, said in topic.regimes.items() if name != "all"}
    name = max(found, key=lambda one: found[one][0] - found[one][1])
    inside, share = found[name]
    if inside < CROWDED * share:
        return ""
    return f"regime {name} ({topic.regimes[name]}) holds {inside:.0%} of them, and {share:.0%} of all rows"


def _inside(ones: Sequence[Tested], regime: str) -> float:
    """Share of the rows that lie in a regime. [1]"""
    masks = [TOPICS[one.rows.topic].inside(regime, one.rows.sizes) for one in ones if len(one.rows)]
    return float(np.concatenate(masks).mean())


def _term(worst: Sequence[Tested]) -> tuple[str, str]:
    """The term that binds where most of the error is, and a sentence that says how much of it."""
    rows, errors = Counter[str](), Counter[str]()
    for one in worst:
        for name, log in zip(_binding(one), np.abs(_log_ratio(one)), strict=True):
            rows[name] += 1
            errors[name] += log
    shares = [(name, error / errors.total()) for name, error in errors.most_common(3)]
    first = shares[0][0]
    also = "".join(f", {name} {share:.0%}" for name, share in shares[1:])
    return first, f"{first} is most of the time in {rows[first]} of them, with {shares[0][1]:.0%} of their error{also}"


def _binding(one: Tested) -> list[str]:
    """The term that is most of each row."""
    if not len(one.rows):
        return []
    terms = one.shares_s()
    names = list(terms)
    return [names[position] for position in np.argmax(np.stack(list(terms.values())), axis=0)]


def _reads(worst: Sequence[Tested], term: str, there: Sequence[Knob]) -> Iterator[str]:
    """The numbers that a term follows from on those rows, each with its line."""
    bound = [one.only(np.flatnonzero(np.array(_binding(one)) == term)[:ASKED]) for one in worst if len(one.rows)]
    timed = [(one, _seconds(one, term)) for one in bound if len(one.rows)]
    moved = {knob.name: _moves(knob, timed, term) for knob in there}
    found = sorted((knob for knob in there if moved[knob.name] > READS), key=lambda knob: -moved[knob.name])
    for position, knob in enumerate(found[:READ]):
        place = f"{shown(knob.fact.file)}:{knob.fact.line}"
        yield row("" if position else "reads", f"{knob.name} {knob.fact.display}", place)


def _moves(knob: Knob, timed: Sequence[tuple[Tested, float]], term: str) -> float:
    """By what share of its time a term moves where a knob is turned, the way that moves it more. [1]"""
    before = sum(seconds for _, seconds in timed)
    after = (sum(_turned_s(knob.turned(one, by), one, seconds, term) for one, seconds in timed) for by in TURNS)
    return max(abs(seconds / before - 1) for seconds in after)


def _turned_s(turned: Tested, one: Tested, seconds: float, term: str) -> float:
    """Time of a term on all rows; terms are timed slowly, and most knobs are not of a topic or a device. [s]"""
    same = turned is one or np.array_equal(turned.predicted_s(), one.predicted_s())
    return seconds if same else _seconds(turned, term)


def _seconds(one: Tested, term: str) -> float:
    return float(np.sum(one.shares_s().get(term, 0.0)))


def _typical(worst: Sequence[Tested], term: str, *, slow: bool) -> Tested:
    """The row that is off the most on the side that most are, and waits for the term that most of the error is in."""
    alone = [one.only(np.array([position])) for one in worst for position in range(len(one.rows))]
    alike = [one for one in alone if _binding(one) == [term] and (_log_ratio(one)[0] > 0) == slow]
    return max(alike or alone, key=lambda one: float(np.abs(_log_ratio(one)[0])))


def sentence(one: Tested) -> str:
    """`m 16, n 4096, k 4096 on nvidia/l40s: measured 12.1 us, predicted 20.2 us, of which memory 15 us`."""
    names = TOPICS[one.rows.topic].sizes
    sizes = ", ".join(f"{name} {size:g}" for name, size in zip(names, one.rows.sizes[0], strict=True))
    terms = {name: seconds.item() for name, seconds in one.shares_s().items()}
    first = max(terms, key=lambda name: terms[name])
    measured, predicted, of_it = (
        format_quantity(seconds, SECONDS) for seconds in (one.rows.seconds[0], one.predicted_s()[0], terms[first])
    )
    return f"{sizes} on {one.rows.device}: measured {measured}, predicted {predicted}, of which {first} {of_it}"
