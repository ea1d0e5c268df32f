"""Explanations of a printed number that is none of the figures of its device: classes of error and their factors."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rooflint.base import units
from rooflint.base.facts import Fact
from rooflint.diagnosis.figures import Figure, Printed
from rooflint.hardware.device import DIRECTIONS


@dataclass(frozen=True, slots=True)
class Explanation:
    """One explanation of a number that is not what it is said to be."""

    error: str
    """The class of error, one of ERRORS."""
    text: str
    """Completes 'the number …'."""
    target: float
    """The value that this explanation predicts, in base units."""
    cost: float
    figure: Figure | None = None
    """The figure that the number is."""
    fact: Fact | None = None
    """The fact that was taken instead of the right one."""
    is_exact: bool = False
    """Whether the number must have the digits that it predicts, as what was rounded before may be near anything."""


@dataclass(frozen=True, slots=True)
class Distortion:
    """An error whose factor is known beforehand."""

    name: str
    text: str
    factor: float
    cost: float


#: Every class of error that an explanation can name, as they are called in tables and reports.
ERRORS = {
    "sparse for dense": "the figure with structured sparsity stands where the dense one is meant",
    "dense for sparse": "the dense figure stands where the one with structured sparsity is meant",
    "MAC for op": "a multiply-accumulate is counted as one op",
    "op counted twice": "the rate was in op already and is doubled again",
    "halved twice": "a dense figure is halved again, as if it were the one with structured sparsity",
    "half-rate accumulation": "the rate of boards that halve what accumulates in FP32, or the other way round",
    "another unit": "the rate of another unit: vector lanes for tensor cores, or the other way round",
    "another precision": "the figure of another precision of the same device",
    "peak for bandwidth": "the peak of the device stands where its bandwidth is meant",
    "known error": "a figure that a public source prints wrongly, and why",
    "another device": "the figure of another SKU or generation",
    "another mode": "the figure of another operating point",
    "another clock": "computed with another clock: base for boost, vector for tensor",
    "another rate": "computed with the rate of another architecture or precision",
    "another count": "computed with the unit count of another device",
    "full die": "computed with all units or links of the die instead of those enabled",
    "count for rate": "the number of units stands for what a unit does in a clock",
    "part for whole": "one die or partition of the device",
    "whole for part": "the whole package where one die or partition is meant",
    "several devices": "a pair, a board or a node of several devices",
    "platform total": "the sum over units of several kinds",
    "tebi for tera": "a binary prefix is taken for a decimal one, or the other way round",
    "prefix": "a prefix is off by a thousand",
    "decimal point": "the decimal point is off by one digit",
    "bits for bytes": "bits are taken for bytes, or bytes for bits",
    "one direction": "one direction of links stands where both are meant",
    "direction counted twice": "a rate of both directions is doubled again",
    "data rate": "the double in double data rate is missing, or applied twice",
    "power of two": "off by a power of two that no known figure explains",
    "recomputation counted": "8 N for 6 N: what runs again in the backward pass is counted, which makes it HFU",
    "recomputation left out": "what runs again is left out, which makes it MFU",
    "forward alone": "2 N for 6 N: a forward pass alone is counted",
    "all experts": "the parameters of all experts are counted, where a token meets a few",
    "above the peak": "a share of the peak above 100 %",
    "digits": "digits are exchanged or mistyped",
}

NODE = 8
"""Devices of a usual node."""

_PREFIXES = (
    Distortion("prefix", "is a thousand times too large: a prefix is off", 1e3, 1.2),
    Distortion("prefix", "is a thousandth: a prefix is off", 1e-3, 1.2),
    Distortion("prefix", "is a million times too large: a prefix is off twice", 1e6, 1.8),
    Distortion("prefix", "is a millionth: a prefix is off twice", 1e-6, 1.8),
    Distortion("decimal point", "is ten times too large: the decimal point is off", 10.0, 1.7),
    Distortion("decimal point", "is a tenth: the decimal point is off", 0.1, 1.7),
)
_SEVERAL = (
    Distortion("several devices", "counts a pair of devices", 2.0, 1.9),
    Distortion("several devices", "counts four devices", 4.0, 3.2),
    Distortion("several devices", "counts the eight devices of a node", NODE, 2.2),
)
_BYTES = (
    Distortion("bits for bytes", "is in bits: eight times the bytes", 8.0, 1.1),
    Distortion("bits for bytes", "is an eighth: bytes were taken for bits", 1 / 8, 1.2),
)
_POWERS = (
    *(Distortion("power of two", f"is 1/{factor} of it", 1 / factor, 3.2) for factor in (4, 8, 16, 32, 64)),
    *(Distortion("power of two", f"is {factor} times it", float(factor), 3.3) for factor in (4, 8, 16, 32, 64)),
)


def _binary(power: int, cost: float) -> Iterator[Distortion]:
    """2^(10·power) for 10^(3·power), both ways."""
    factor = 2 ** (10 * power) / 10 ** (3 * power)
    yield Distortion("tebi for tera", f"takes 2^{10 * power} for 10^{3 * power}", factor, cost)
    yield Distortion("tebi for tera", f"takes 10^{3 * power} for 2^{10 * power}", 1 / factor, cost + 0.3)


def of_links(figure: Figure, devices: int) -> Iterator[Distortion]:
    """What may happen to the links of a device, or of so many of a system: one of them, or what crosses its middle."""
    if figure.quantity != "link":
        return
    count = figure.ladders[0].factors[0].value
    if count > DIRECTIONS:  # twice is a direction
        yield Distortion("part for whole", "is that of one link", 1 / count, 1.3)
        yield Distortion("part for whole", "is that of one link in one direction", 1 / (DIRECTIONS * count), 1.5)
        yield Distortion("full die", "has one link more, such as that to the host", (count + 1) / count, 2.0)
    if devices > 1:
        yield Distortion(
            "one direction", "is the bisection of the system, or one direction of its devices", devices / 2, 1.0
        )


#: The errors of known factor that a quantity invites.
DISTORTIONS: dict[str, tuple[Distortion, ...]] = {
    "peak": (
        Distortion("MAC for op", "counts a MAC as one op", 1 / units.OPS_PER_MAC, 1.3),
        Distortion("op counted twice", "doubles a rate that is in op already", units.OPS_PER_MAC, 1.7),
        *_binary(4, 1.2),
        *_PREFIXES,
        *_SEVERAL,
        *_POWERS,
    ),
    "bandwidth": (
        *_BYTES,
        Distortion("data rate", "takes the memory clock for the data rate: the factor two of DDR is missing", 0.5, 1.3),
        Distortion("data rate", "applies double data rate twice", 2.0, 1.6),
        *_binary(3, 1.3),
        *_binary(4, 1.5),
        *_binary(1, 1.6),
        *_PREFIXES,
        *_SEVERAL,
        *_POWERS[:1],
    ),
    "link": (
        Distortion("one direction", "counts one direction of the links, where both are printed", 0.5, 1.0),
        Distortion("direction counted twice", "doubles a rate that is of both directions already", 2.0, 1.2),
        Distortion("bits for bytes", "is in bits, of one direction", 4.0, 1.5),
        Distortion(
            "several devices", "counts one direction of the eight devices of a node, or their bisection", 4.0, 1.9
        ),
        *_BYTES,
        *_binary(3, 1.2),
        Distortion("tebi for tera", "takes 2^30 for 10^9, of one direction", 2**30 / 1e9 / DIRECTIONS, 1.4),
        *_PREFIXES,
        *_SEVERAL[1:],
    ),
    "capacity": (*_BYTES, *_binary(3, 1.2), *_binary(1, 1.7), *_PREFIXES, *_SEVERAL),
    "tdp": (*_PREFIXES, *_SEVERAL),
    "count": (*_PREFIXES[4:], *_SEVERAL, Distortion("MAC for op", "is half of it", 0.5, 2.2)),
    "bus": (*_BYTES, *_SEVERAL, Distortion("part for whole", "is half of it", 0.5, 2.0)),
    "clock": (
        *_PREFIXES,
        Distortion("data rate", "is double it", 2.0, 1.9),
        Distortion("data rate", "is half of it", 0.5, 2.1),
    ),
    "memory_clock": _PREFIXES[:2],
    "cache": (*_BYTES, *_PREFIXES),
    "rate": (
        Distortion("MAC for op", "is in MAC, not in op", 1 / units.OPS_PER_MAC, 1.3),
        Distortion("op counted twice", "doubles a rate that is in op already", units.OPS_PER_MAC, 1.5),
        *_POWERS,
    ),
}


COARSELY = 0.125
"""Difference up to which a figure counts as rounded to one digit: 3 TB/s of 3.352."""


def of_rounded(figure: Figure) -> Iterator[Explanation]:
    """The figure in one or two digits, with a binary prefix: 2 TB/s of 2.039 given as 2048 GB/s, or as 2000 GiB/s."""
    near = (float(f"{figure.value:.{decimals}e}") for decimals in (1, 0))
    for rounded in dict.fromkeys(one for one in near if 0 < abs(one / figure.value - 1) <= COARSELY):
        for power, cost in ((1, 1.45), (3, 1.5)):
            factor = 2 ** (10 * power) / 10 ** (3 * power)
            text = (
                f"is {figure.shown(rounded)}, which is {figure.shown()} rounded, with 2^{10 * power} for 10^{3 * power}"
            )
            yield Explanation("tebi for tera", text, rounded * factor, cost, figure, is_exact=True)


FEWEST_DIGITS = 3
"""Digits that a number needs for one of them to be called mistyped."""


def mistyped(printed: Printed, fitting: Sequence[Figure]) -> Iterator[Explanation]:
    """The digits of the right figure with one of them wrong, or two neighbours exchanged."""
    number = re.search(r"[0-9]+(?:[.][0-9]+)?", printed.text.replace(",", ""))
    wrong = number[0] if number else ""
    if len(wrong.replace(".", "")) < FEWEST_DIGITS or not float(wrong):
        return
    for figure in fitting:
        right = f"{figure.value / printed.value * float(wrong):.{len(wrong.partition('.')[2])}f}"
        places = [place for place, (one, two) in enumerate(zip(wrong, right, strict=False)) if one != two]
        if len(wrong) == len(right) and len(places) == 2 and sorted(wrong) == sorted(right):
            exchanged = places[1] - places[0] <= 2
            cost = 1.75 if exchanged else 2.3
            yield Explanation("digits", f"is {right} with two digits exchanged", printed.value, cost, figure)
        elif len(wrong) == len(right) and len(places) == 1:
            yield Explanation("digits", f"is {right} with one digit mistyped", printed.value, 2.1, figure)


def distinct(ranked: Iterable[Explanation]) -> Iterator[Explanation]:
    """One explanation an error; other figures that give the same number are named or counted with it."""
    kept: dict[str, list[Explanation]] = {}
    for explanation in ranked:
        first = kept.setdefault(explanation.error, [])
        if not first or math.isclose(explanation.target, first[0].target, rel_tol=1e-3):
            first.append(explanation)
    for error, explanations in kept.items():
        one, _, other = error.partition(" + ")
        if other and (one in kept or other in kept):
            continue  # half of it explains the number already
        yield replace(explanations[0], text=f"{explanations[0].text}{_and_others(explanations)}")


def _and_others(explanations: list[Explanation]) -> str:
    """` (and of 3 more)` devices, ` or the sparse TF32 peak (tensor_core)`."""
    first, *rest = explanations
    if not rest or first.figure is None or " + " in first.error:
        return ""
    if first.error == "another device":
        devices = {one.figure.hardware.id for one in rest if one.figure} - {first.figure.hardware.id}
        return f" (and of {len(devices)} more)" if devices else ""
    fitting = [one.figure for one in rest if one.figure and math.isclose(one.figure.value, one.target, rel_tol=1e-3)]
    others = dict.fromkeys(figure.says for figure in fitting if figure.says != first.figure.says)
    own = first.text.startswith("is the ")
    return "".join(f", or the {says}" for says in list(others)[:2]) if own else ""
