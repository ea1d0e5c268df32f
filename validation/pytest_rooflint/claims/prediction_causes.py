"""Why a prediction claim fails: which rows, regime and term have most of the error, and which parameters reduce it."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rooflint.base.errors import shown
from rooflint.base.text import counted, row
from rooflint.base.units import SECONDS, format_quantity
from rooflint.diagnosis.causes import Cause
from rooflint.hardware.registry import Registry
from rooflint.kernels.shapes import Numbers
from rooflint_calibration.causes import FACTORS, Parameter, parameters
from rooflint_calibration.evaluation import HeldOut
from rooflint_calibration.topics import TOPICS

TRIED = 250
"""Rows of a device that the best factor of a parameter is searched on."""
ALIKE = 0.02
"""Factors within this share of the best reduction count as equal: beyond a roof all do the same."""
COARSE = 2.0 ** np.linspace(-2, 2, 17)
FINE = 2.0 ** np.linspace(-0.25, 0.25, 11)
"""Factors that are tried: up to four either way, then finer steps around the best."""
WORTH = 0.15
"""Share of the error that a change must remove to be listed."""
NEAR = 0.7
"""Share of the best reduction that another change must reach to be listed with it."""
FAR = 0.15
"""Cost of a factor of two, as a share of the best reduction: smaller mistakes are likelier."""


def causes(ones: Sequence[HeldOut], there: Sequence[Parameter]) -> Iterator[Cause]:
    """Values of single parameters that would reduce the error, best first; none if no parameter does by itself."""
    few = [one.only(np.arange(min(len(one.rows), TRIED))) for one in ones]
    now = _error(few)
    found = [(*_best(parameter, few, now), parameter) for parameter in there]
    least = min(error for error, _, _ in found)
    if least > (1 - WORTH) * now:
        return
    for error, factor, parameter in found:
        if now - error >= NEAR * (now - least):
            then = _error([parameter.scaled(one, factor) for one in ones])
            name, value = parameter.name, parameter.fact.display
            text = f"{name} is {value}: at {parameter.at(factor)} the error would be {then:.1%}"
            cost = (error - least) / (now - least) + FAR * abs(float(np.log2(factor)))
            yield Cause(text, 1 / factor, cost, parameter.fact)


def _best(parameter: Parameter, ones: Sequence[HeldOut], now: float) -> tuple[float, float]:
    """(The least error, its factor); of equally good factors the one nearest to 1."""

    def tried(factors: Numbers) -> list[tuple[float, float]]:
        return [(_error([parameter.scaled(one, float(factor)) for one in ones]), float(factor)) for factor in factors]

    if all(error == now for error, _ in tried(np.array(FACTORS))):
        return now, 1.0
    found = tried(COARSE)
    found += tried(FINE * min(found)[1])
    least = min(found)[0]
    alike = [one for one in found if one[0] <= least + ALIKE * (now - least)]
    return min(alike, key=lambda one: abs(float(np.log(one[1]))))


def _error(ones: Sequence[HeldOut]) -> float:
    """Mean of |predicted / measured − 1|. [1]"""
    return float(np.concatenate([np.abs(one.predicted_s() / one.rows.seconds - 1) for one in ones]).mean())


# ---- The details of a failed claim

WORST = 0.1
"""Share of the rows that are examined: those with the largest errors."""
MOST = 100
"""At most so many: each is timed tile by tile."""
CROWDED = 1.25
"""Share of the worst rows over share of all rows from which a regime is reported."""
READS = 0.05
"""Least relative change of a term that depends on a parameter."""
ASKED = 4
"""Rows of a device on which that is tried; each is timed tile by tile, with every parameter changed."""
READ = 6
"""Parameters that are listed, those with the largest effect on the term first."""
NOTHING = f"no single constant or fact would remove {WORTH:.0%} of the error"


def reason(registry: Registry, family: str, regime: str, ones: Sequence[HeldOut]) -> tuple[str, tuple[Cause, ...]]:
    """The details and causes of a failed claim. Raises RooflintError."""
    worst, there = _worst(ones), list(parameters(registry, family, ones))
    found = tuple(causes(ones, there))
    lines = [*_details(worst, ones, regime, there), *([] if found else [row("alone", NOTHING)])]
    return "\n".join(lines), found


def _worst(ones: Sequence[HeldOut]) -> list[HeldOut]:
    """The rows with the largest errors, over all devices."""
    logs = [np.abs(_log_ratio(one)) for one in ones]
    together = np.sort(np.concatenate(logs))[::-1]
    least = together[min(len(together), max(10, int(WORST * len(together))), MOST) - 1]
    return [one.only(log >= least) for one, log in zip(ones, logs, strict=True)]


def _log_ratio(one: HeldOut) -> Numbers:
    return np.log(one.predicted_s() / one.rows.seconds)


def _details(
    worst: Sequence[HeldOut], ones: Sequence[HeldOut], regime: str, there: Sequence[Parameter]
) -> Iterator[str]:
    logs = np.concatenate([_log_ratio(one) for one in worst])
    slow, of = int((logs > 0).sum()), sum(len(one.rows) for one in ones)
    sides = f"{slow} predicted too slow, {len(logs) - slow} too fast"
    least = float(np.exp(np.abs(logs).min()))
    yield row("worst", f"{len(logs)} of {counted(of, 'row')} are off by a factor of {least:.3g} or more: {sides}")
    if text := _regime(worst, ones, regime):
        yield row("", text)
    term, line = _term(worst)
    yield row("term", line)
    yield from _reads(worst, term, there)
    yield row("row", sentence(_typical(worst, term, slow=2 * slow >= len(logs))))


def _regime(worst: Sequence[HeldOut], ones: Sequence[HeldOut], regime: str) -> str:
    """The regime with a disproportionate share of the worst rows; empty if the claim names one, or there is none."""
    topic = TOPICS[ones[0].topic]
    if regime != "all":
        return ""
    found = {name: (_inside(worst, name), _inside(ones, name)) for name, text in topic.regimes.items() if name != "all"}
    name = max(found, key=lambda one: found[one][0] - found[one][1])
    inside, share = found[name]
    if inside < CROWDED * share:
        return ""
    return f"regime {name} ({topic.regimes[name]}) holds {inside:.0%} of them, and {share:.0%} of all rows"


def _inside(ones: Sequence[HeldOut], regime: str) -> float:
    """Share of the rows that lie in a regime. [1]"""
    masks = [TOPICS[one.topic].inside(regime, one.rows.sizes) for one in ones if len(one.rows)]
    return float(np.concatenate(masks).mean())


def _term(worst: Sequence[HeldOut]) -> tuple[str, str]:
    """The dominant term of the rows with most of the error, and a sentence about its share."""
    rows, errors = Counter[str](), Counter[str]()
    for one in worst:
        for name, log in zip(_binding(one), np.abs(_log_ratio(one)), strict=True):
            rows[name] += 1
            errors[name] += log
    shares = [(name, error / errors.total()) for name, error in errors.most_common(3)]
    first = shares[0][0]
    also = "".join(f", {name} {share:.0%}" for name, share in shares[1:])
    return first, f"{first} is most of the time in {rows[first]} of them, with {shares[0][1]:.0%} of their error{also}"


def _binding(one: HeldOut) -> list[str]:
    """The dominant term of each row."""
    if not len(one.rows):
        return []
    terms = one.terms_s()
    names = list(terms)
    return [names[position] for position in np.argmax(np.stack(list(terms.values())), axis=0)]


def _reads(worst: Sequence[HeldOut], term: str, there: Sequence[Parameter]) -> Iterator[str]:
    """The parameters that a term depends on, each with its line."""
    bound = [one.only(np.flatnonzero(np.array(_binding(one)) == term)[:ASKED]) for one in worst if len(one.rows)]
    timed = [(one, _seconds(one, term)) for one in bound if len(one.rows)]
    moved = {parameter.name: _moves(parameter, timed, term) for parameter in there}
    found = sorted((one for one in there if moved[one.name] > READS), key=lambda one: -moved[one.name])
    for position, parameter in enumerate(found[:READ]):
        place = f"{shown(parameter.fact.file)}:{parameter.fact.line}"
        yield row("" if position else "reads", f"{parameter.name} {parameter.fact.display}", place)


def _moves(parameter: Parameter, timed: Sequence[tuple[HeldOut, float]], term: str) -> float:
    """Relative change of a term if a parameter is halved or doubled, whichever is larger. [1]"""
    before = sum(seconds for _, seconds in timed)
    after = (sum(_term_s(parameter.scaled(one, by), one, seconds, term) for one, seconds in timed) for by in FACTORS)
    return max(abs(seconds / before - 1) for seconds in after)


def _term_s(scaled: HeldOut, one: HeldOut, seconds: float, term: str) -> float:
    """Time of a term on all rows; skipped if the prediction stays, because terms are slow to compute. [s]"""
    same = scaled is one or np.array_equal(scaled.predicted_s(), one.predicted_s())
    return seconds if same else _seconds(scaled, term)


def _seconds(one: HeldOut, term: str) -> float:
    return float(np.sum(one.terms_s().get(term, 0.0)))


def _typical(worst: Sequence[HeldOut], term: str, *, slow: bool) -> HeldOut:
    """The row with the largest error among those with this dominant term, on the more frequent side."""
    alone = [one.only(np.array([position])) for one in worst for position in range(len(one.rows))]
    alike = [one for one in alone if _binding(one) == [term] and (_log_ratio(one)[0] > 0) == slow]
    return max(alike or alone, key=lambda one: float(np.abs(_log_ratio(one)[0])))


def sentence(one: HeldOut) -> str:
    """`m 16, n 4096, k 4096 on nvidia/l40s: measured 12.1 µs, predicted 20.2 µs, of which memory 15 µs`."""
    terms = {name: seconds.item() for name, seconds in one.terms_s().items()}
    first = max(terms, key=lambda name: terms[name])
    measured, predicted, of_it = (
        format_quantity(seconds, SECONDS) for seconds in (one.rows.seconds[0], one.predicted_s()[0], terms[first])
    )
    row = f"{one.rows.label(0)} on {one.rows.device}"
    return f"{row}: measured {measured}, predicted {predicted}, of which {first} {of_it}"
