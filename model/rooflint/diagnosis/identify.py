"""Identification: is a printed number the figure that its label claims, and if not, which figure is it?

A pure function of a number, its label, the devices that it may be of and the registry: the figure that agrees, or
candidate explanations, simplest first; none where nothing known gives the number.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from rooflint.base.memo import memoised
from rooflint.base.precision import PRECISIONS
from rooflint.base.units import OPS_PER_MAC
from rooflint.diagnosis.candidate_causes import substitutions
from rooflint.diagnosis.explanations import (
    DISTORTIONS,
    FEWEST_DIGITS,
    NODE,
    Distortion,
    Explanation,
    distinct,
    mistyped,
    of_links,
    of_rounded,
)
from rooflint.diagnosis.figures import (
    COARSE,
    FLOOR,
    NEARLY,
    SIX_DIGITS,
    Figure,
    Printed,
    figures,
    has_three_digits_of,
    is_round,
)
from rooflint.diagnosis.labels import ALSO, Asked, of_main_memory, peaks, relation
from rooflint.hardware.device import Hardware
from rooflint.hardware.names import systems_of
from rooflint.hardware.registry import Registry
from rooflint.hardware.vocabulary import required

MOST = 5
MOST_CORES = 8
"""Cores of an accelerator that are devices to programs where it has a few of them: two of a Trainium."""
JOINED = 0.25
"""Additional cost of two errors at once."""
SECOND = 0.4
"""Additional cost of a figure that is not the usual one."""
NEAR = 1.4
"""Up to this distance any figure of another device may be the one: its variants, and what has the same die."""
DISPUTED = 0.9
"""Additional cost of a figure that a vendor printed and the facts do not derive."""
KNOWN = 1.65
"""Cost of a known error: which figure the number is says more than which document prints it."""
OF_PART = 1.3
"""Cost of what a document prints wrongly of one of the parts of a device."""
FEW = 5e-3
"""Share of a number that its last digit may be, for two errors to be believed at once."""
SAME_DIGITS = 5e-4
"""Relative difference of figures that print alike in three digits or more."""
TWO_DIGITS = 1e-2
"""Share of a number that its last digit may be, for a far device to be believed; many devices share two digits."""
JOINABLE = 1.5
"""Largest cost of an error that is combined with a second one."""
UNLIKELY = 3.6
"""An explanation that costs more is a coincidence; it is not shown."""


TWOFOLD = frozenset({"MAC for op", "op counted twice", "data rate", "power of two"})
"""Mere ratios of two: a document that prints the same digits says more."""
WILD = frozenset({"power of two", "decimal point"})
"""Unspecific errors, which are not combined with others."""
#: Largest distance of a device whose figure may be taken; round figures are common.
_FARTHEST = {"peak": 2.2, "bandwidth": 1.6, "count": 1.6, "cache": 1.6, "link": 1.6, "memory_clock": 1.6}


@dataclass(frozen=True)
class _Candidates:
    """Explanations, looked up by the value that they predict: few of many are near a number."""

    explanations: Sequence[Explanation]

    @cached_property
    def _order(self) -> list[int]:
        return sorted(range(len(self.explanations)), key=lambda position: self.explanations[position].target)

    @cached_property
    def _targets(self) -> list[float]:
        return [self.explanations[position].target for position in self._order]

    def between(self, low: float, high: float) -> list[int]:
        """Positions of the explanations that predict a value in a range, in their own order."""
        first = bisect_left(self._targets, low)
        found = self._order[first : bisect_right(self._targets, high, first)]
        return sorted(found) if len(found) > 1 else found


@dataclass(frozen=True)
class Identifier:
    """Identification among the devices of a registry."""

    registry: Registry
    printed: Mapping[str, Sequence[Figure]] = field(default_factory=dict)
    """What documents print of a device besides its derived figures, by id."""
    refuted: Mapping[str, Sequence[Figure]] = field(default_factory=dict)
    """Figures that documents print wrongly, each with the reason, by id."""

    @memoised
    def of(self, device: str) -> tuple[Figure, ...]:
        """All figures of a device."""
        return (*figures(self.registry.get(device)), *self.printed.get(device, ()))

    @memoised
    def fitting(self, asked: Asked, device: str) -> list[Figure]:
        """The figures of a device that are what is asked for; several where the field uses one word for them."""
        alike = [one for one in self.of(device) if one.quantity == asked.quantity and one.mode is None]
        alike = [one for one in alike if one.part == asked.part]
        if asked.quantity in ("peak", "rate"):
            return peaks(asked, alike)
        if asked.quantity in ("bandwidth", "bus", "capacity", "memory_clock"):
            return of_main_memory(alike, self.registry.get(device))
        if asked.quantity == "tdp":
            return [one for one in alike if one.subject in ("rated", "peak")]
        return [one for one in alike if asked.subject in (None, one.subject)]

    def agreeing(self, printed: Printed, asked: Asked, device: str) -> Figure | None:
        """The figure of the device that the number is, within its digits."""
        near = [one for one in self.fitting(asked, device) if printed.is_near(one.value) or _is_binary(printed, one)]
        return min(near, key=lambda one: (one.dispute is not None, one.printed is not None), default=None)

    def explanations(self, printed: Printed, asked: Asked, devices: Sequence[str]) -> list[Explanation]:
        """Candidate explanations of a number for some devices, simplest first."""
        if not 0 < printed.value < math.inf:
            return []
        found = [explanation for device in devices for explanation in self._of_device(printed, asked, device, devices)]
        if asked.quantity != "memory_clock":  # which fits in several digits
            found += [one for device in devices for one in mistyped(printed, self.fitting(asked, device)[:1])]
        ratio = min((one.cost for one in found if one.error in TWOFOLD), default=math.inf)
        found = [_priced(one, min(one.cost, ratio)) if one.error == "known error" else one for one in found]
        likely = (one for one in found if one.cost <= UNLIKELY)
        ranked = sorted(likely, key=lambda one: (one.cost, one.error != "known error"))
        return list(distinct(ranked))[:MOST]

    def _of_device(self, printed: Printed, asked: Asked, device: str, meant: Sequence[str]) -> Iterator[Explanation]:
        fitting = self.fitting(asked, device)
        # a number that is almost right is told apart by its digits only
        near = FLOOR if any(printed.is_near(one.value, COARSE) for one in fitting) else NEARLY
        low, high = printed.span(near)
        single = asked if asked.times == 1 else replace(asked, times=1)
        singles = self._singles(single, device, tuple(meant))
        for one in (singles.explanations[position] for position in singles.between(low, high)):
            if _hits(printed, one, near):
                yield _rated(printed, one)
        distorted = self._distorted(asked, device)
        for one in (distorted.explanations[position] for position in distorted.between(low, high)):
            if printed.is_near(one.target, _reach(printed, one, near)) and not _is_too_coarse(printed, one):
                yield _rated(printed, one)
        precise = printed.step <= FEW * printed.value  # two digits fit too many pairs, save with what is known
        known = (*_distortions(asked), *self._of_racks(device, asked))
        yield from _pairs(printed, singles, known if precise else _of_several(asked))

    @memoised
    def _singles(self, asked: Asked, device: str, meant: tuple[str, ...]) -> _Candidates:
        """What each single error would give; the same for every number with that label."""
        fitting = self.fitting(asked, device)
        own = [*self._refuted(asked, device), *self._own(asked, device, fitting)]
        return _Candidates([*own, *self._foreign(asked, device, meant), *self._substituted(fitting)])

    @memoised
    def _distorted(self, asked: Asked, device: str) -> _Candidates:
        """The fitting figures after each error of known factor; wild ones are tried on the first figure only."""
        fitting = self.fitting(asked, device)
        return _Candidates(
            [
                one
                for place, figure in enumerate(fitting)
                for one in self._distortions_of(figure, asked, first=not place)
            ]
        )

    def _distortions_of(self, figure: Figure, asked: Asked, *, first: bool) -> Iterator[Explanation]:
        own = (*_of_parts(figure, asked), *self._accumulation(figure, asked), *self._halved_again(figure, asked))
        own += (*of_links(figure, asked.times), *self._of_racks(figure.hardware.id, asked))
        for distortion in (*_distortions(asked), *own):
            if first or distortion.name not in WILD:
                cost = distortion.cost + (0.0 if first else SECOND)
                target = figure.value * distortion.factor
                yield Explanation(distortion.name, distortion.text, target, cost, figure)
                loose = figure.with_other_prefix if distortion.name == "several devices" else None
                if loose:
                    yield Explanation(distortion.name, distortion.text, loose * distortion.factor, cost, figure)
        if first and asked.quantity in ("bandwidth", "capacity"):
            yield from of_rounded(figure)

    @memoised
    def _of_racks(self, device: str, asked: Asked) -> list[Distortion]:
        """All devices of a system with more of them than a node, which a row with the name of one may be of."""
        if asked.times > 1 or asked.quantity not in ("peak", "bandwidth", "capacity"):
            return []
        systems = [one for one in systems_of(self.registry, self.registry.get(device)) if one.count > NODE]
        said = {one.count: f"counts the {one.count} devices of a {one.hardware.name}" for one in systems}
        return [Distortion("several devices", text, float(number), 2.0) for number, text in said.items()]

    def _refuted(self, asked: Asked, device: str) -> Iterator[Explanation]:
        for figure in self.refuted.get(device, ()):
            same = (figure.quantity, figure.precision) == (asked.quantity, asked.precision)
            if same and figure.sparse == bool(asked.sparse) and asked.part in (None, figure.part):
                is_of_part = figure.part != asked.part
                text = f"is what {figure.printed} prints{f' per {figure.part}' if is_of_part else ''}: {figure.dispute}"
                error, cost = ("part for whole", OF_PART) if is_of_part else ("known error", KNOWN)
                yield Explanation(error, text, figure.value, cost, figure)

    def _own(self, asked: Asked, device: str, fitting: list[Figure]) -> Iterator[Explanation]:
        own = set(map(id, fitting))
        for figure in self.of(device):
            if id(figure) not in own and (known := relation(asked, figure)):
                error, cost = known
                cost += DISPUTED if figure.dispute else 0.0
                yield Explanation(error, f"is the {figure.says}, {figure.shown()}", figure.value, cost, figure)
        if asked.quantity == "rate":
            yield from self._counts(device)
        if asked.quantity == "peak" and asked.precision == "fp64":
            yield from self._half_of_fp32(device)
        if asked.quantity == "bandwidth":
            yield from self._peaks_of(device)

    def _peaks_of(self, device: str) -> Iterator[Explanation]:
        """The peaks of a device as bandwidths: 989 TFLOP/s in a column in TB/s or in GB/s."""
        for figure in self.of(device):
            if figure.quantity == "peak" and not (figure.part or figure.mode or figure.printed):
                text = f"has the digits of the {figure.says}, {figure.shown()}"
                for factor in (1.0, 1e-3):
                    yield Explanation("peak for bandwidth", text, figure.value * factor, 1.65, figure)

    def _counts(self, device: str) -> Iterator[Explanation]:
        """The number of SMs or CUs, taken for what one of them does."""
        hardware = self.registry.get(device)
        for figure in self.of(device):
            if figure.quantity == "count" and figure.subject in hardware.unit_groups.values() and not figure.part:
                for times in (1, 2, 4, 8):
                    text = f"is {times} × the number of its {figure.subject}s, {figure.shown()}".replace("1 × ", "")
                    yield Explanation("count for rate", text, times * figure.value, 1.45, figure)

    def _half_of_fp32(self, device: str) -> Iterator[Explanation]:
        """FP64 at half of FP32, which few dies have."""
        for figure in self.of(device):
            if figure.quantity == "peak" and figure.precision == "fp32" and not (figure.part or figure.mode):
                text = f"is half its FP32 peak, {figure.shown()}; FP64 is a smaller share of it on this die"
                yield Explanation("another rate", text, figure.value / 2, 1.6, figure)

    def _foreign(self, asked: Asked, device: str, meant: Sequence[str]) -> Iterator[Explanation]:
        for other, distance in self._others(device):
            if other not in meant and distance <= _FARTHEST.get(asked.quantity, NEAR):
                yield from (_priced(one, distance + one.cost) for one in self._usual(asked, other))
                if asked.quantity == "peak" and distance <= NEAR:
                    yield from (_priced(one, distance + one.cost + JOINED) for one in self._unusual(asked, other))

    @memoised
    def _others(self, device: str) -> list[tuple[str, float]]:
        """Ids of the other devices of the same kind, each with its distance."""
        own = self.registry.get(device)
        return [(other.id, _distance(own, other)) for other in self._readable if other.kind == own.kind]

    @memoised
    def _usual(self, asked: Asked, other: str) -> list[Explanation]:
        """The figures of another device that are what is asked for; their cost is beside its distance."""
        return [
            _foreign_explanation("another device", figure, SECOND if position else 0.0)
            for position, figure in enumerate(self.fitting(asked, other))
        ]

    @memoised
    def _unusual(self, asked: Asked, other: str) -> list[Explanation]:
        """The figures of another device that a second error takes for what is asked; cost as in `_usual`."""
        fitting = set(map(id, self.fitting(asked, other)))
        return [
            _foreign_explanation(f"another device + {known[0]}", figure, known[1])
            for figure in self.of(other)
            if (known := relation(asked, figure))
            and id(figure) not in fitting
            and figure.mode is None
            and figure.part is None
        ]

    def _substituted(self, fitting: Iterable[Figure]) -> Iterator[Explanation]:
        """The same derivation with one factor of it taken from somewhere else."""
        for position, figure in enumerate(fitting):
            for one in substitutions(self.registry, figure):
                yield replace(one, cost=one.cost + SECOND) if position else one

    def _halved_again(self, figure: Figure, asked: Asked) -> Iterator[Distortion]:
        """Half of a dense peak that is given with sparsity too; of integers, a count of MACs is as likely."""
        alike = (figure.quantity, figure.precision, figure.unit, figure.part)
        others = self.of(figure.hardware.id) if asked.quantity == "peak" and not asked.sparse else ()
        if any(one.sparse and (one.quantity, one.precision, one.unit, one.part) == alike for one in others):
            cost = 1.25 if PRECISIONS[str(figure.precision)].floating else 1.35
            yield Distortion("halved twice", "is half the dense peak, as if that were the sparse one", 0.5, cost)

    def _accumulation(self, figure: Figure, asked: Asked) -> Iterator[Distortion]:
        """GeForce boards halve what accumulates in FP32; the rule is carried over to boards that do not."""
        if asked.quantity != "peak" or not figure.is_matrix or figure.precision not in ("fp16", "bf16", "fp8", "tf32"):
            return
        line = (figure.hardware, *self._line(figure.hardware))
        if not any(self._is_halved(other, figure) for other in line):
            return
        halved = self._is_halved(figure.hardware, figure)
        if not halved:
            text = "is half the rate, as of boards that accumulate in FP32 at half speed; this one does not"
            yield Distortion("half-rate accumulation", text, 0.5, 1.15)
        elif asked.precision not in ALSO:
            yield Distortion(
                "half-rate accumulation", "is the full rate; this board accumulates in FP32 at half", 2.0, 1.2
            )

    def _is_halved(self, hardware: Hardware, figure: Figure) -> bool:
        """Whether a device does half of what its architecture does in a precision."""
        path = f"units.{figure.unit}.macs_per_clock.{figure.precision}"
        if hardware.architecture is None or path not in hardware.facts:
            return False
        base = self._full_rate(hardware, figure)
        if not base or base != self._full_rate(figure.hardware, figure):  # not the same multiprocessor
            return False
        return hardware.facts[path].value == base / 2

    def _full_rate(self, hardware: Hardware, figure: Figure) -> float:
        """What an architecture does in a precision, or in it with the accumulator that is not halved; 0 for neither."""
        facts = self.registry.architecture(str(hardware.architecture)).facts
        precision = str(figure.precision)
        other, share = {"tf32": ("fp16_acc16", 0.5), "fp8": ("fp8_acc16", 1.0)}.get(precision, ("fp16_acc16", 1.0))
        prefix = f"units.{figure.unit}.macs_per_clock."
        own, accumulated = facts.get(prefix + precision), facts.get(prefix + other)
        return own.value if own else accumulated.value * share if accumulated else 0.0

    @cached_property
    def _readable(self) -> tuple[Hardware, ...]:
        return tuple(self.registry.readable())

    def _line(self, hardware: Hardware) -> Iterator[Hardware]:
        """Other devices of the same line of dies: of GA102 and GA104, not of GA100, not of GA10B."""
        own = str(hardware.architecture)
        for other in self._readable:
            its = str(other.architecture)
            if its[:-1] == own[:-1] and its[-1].isdigit() and own[-1].isdigit() and other.id != hardware.id:
                yield other


def _is_binary(printed: Printed, figure: Figure) -> bool:
    """Whether a capacity of so many GiB is printed as so many GB, or the reverse, as is common.

    A conversion is another matter: 48 GB printed as 45.
    """
    loose = figure.with_other_prefix
    return loose is not None and printed.is_near(loose)


@cache
def _distortions(asked: Asked) -> tuple[Distortion, ...]:
    """What may happen to a figure of that quantity; how many devices it is of is not guessed where it is known."""
    known = DISTORTIONS[asked.quantity]
    single = tuple(distortion for distortion in known if asked.times == 1 or distortion.name != "several devices")
    return (*_of_several(asked), *single)


def _of_several(asked: Asked) -> tuple[Distortion, ...]:
    if asked.times <= 1:
        return ()
    return (Distortion("several devices", f"counts {asked.times} devices", float(asked.times), 0.9),)


def _of_parts(figure: Figure, asked: Asked) -> Iterator[Distortion]:
    """Pairs are already among the distortions; a device that says its own number of parts is named with it."""
    if asked.part is None and asked.quantity in ("peak", "bandwidth", "capacity"):
        for part, fact in figure.hardware.parts.items():
            if fact.value != OPS_PER_MAC:
                yield Distortion("part for whole", f"is that of one {part}", 1 / fact.value, 1.2)
    unit = figure.hardware.units.get(str(figure.unit))
    cores = unit.facts.get("groups") if unit and asked.part is None and asked.quantity == "peak" else None
    if unit and cores and figure.hardware.kind in ("npu", "tpu") and 1 < cores.value <= MOST_CORES:
        text = f"is that of one of its {cores.value:g} {unit.group}s, which programs see as devices"
        yield Distortion("part for whole", text, 1 / cores.value, 1.1)


def _distance(own: Hardware, other: Hardware) -> float:
    """How likely the figure of another device is taken: near relatives first, and the A100, which is often taken."""
    if required(own.id) == required(other.id):
        return 1.1
    cost = 2.2
    if own.architecture and own.architecture == other.architecture:
        cost = 1.35
    elif own.id.partition("/")[0] == other.id.partition("/")[0]:
        cost = 1.6
    return cost - (0.2 if required(other.id) == ("a100",) else 0.0)


def _foreign_explanation(error: str, figure: Figure, cost: float) -> Explanation:
    text = f"is the {figure.says} of {figure.hardware.id}, {figure.shown()}"
    return Explanation(error, text, figure.value, cost, figure)


def _priced(one: Explanation, cost: float) -> Explanation:
    return Explanation(one.error, one.text, one.target, cost, one.figure, one.fact)


def _pairs(printed: Printed, singles: _Candidates, distortions: Sequence[Distortion]) -> Iterator[Explanation]:
    """Two errors at once: a single one, and then one of known factor."""
    low, high = printed.span()
    near = [
        (position, number)
        for number, distortion in enumerate(distortions)
        for position in singles.between(low / distortion.factor, high / distortion.factor)
    ]
    for position, number in sorted(near):
        one, distortion = singles.explanations[position], distortions[number]
        if _joinable(one, distortion) and printed.is_near(one.target * distortion.factor):
            yield _rated(printed, _joined(one, distortion))


def _joinable(one: Explanation, distortion: Distortion) -> bool:
    """Whether two errors are believed together; a foreign rate only with the convention that goes with rates."""
    if one.error == "another rate" and distortion.name == "MAC for op":
        return True
    return one.cost <= JOINABLE and distortion.name not in WILD


def _joined(one: Explanation, distortion: Distortion) -> Explanation:
    return replace(
        one,
        error=f"{one.error} + {distortion.name}",
        text=f"{one.text}, and {distortion.text}",
        target=one.target * distortion.factor,
        cost=one.cost + distortion.cost + JOINED,
    )


def _hits(printed: Printed, explanation: Explanation, near: float) -> bool:
    """Whether a number is what an explanation predicts.

    Own figures may be rounded otherwise than ours. A figure of a far device is told by its digits alone: there are so
    many of them that some come near any number.
    """
    if explanation.error.startswith("another device") and explanation.cost > NEAR:
        coarse = printed.step / printed.value
        if coarse > COARSE:  # one digit is that of many devices
            return False
        off, reach = printed.off_by(explanation.target), coarse if coarse > FLOOR else max(coarse / 2, SAME_DIGITS)
        return off <= (reach if coarse <= TWO_DIGITS else SIX_DIGITS)
    if explanation.error == "peak for bandwidth":  # devices have many peaks
        coarse = printed.step / printed.value
        return coarse <= FEW and printed.off_by(explanation.target) <= max(coarse / 2, SAME_DIGITS)
    exact = explanation.error in ("known error", "count for rate")
    return not _is_too_coarse(printed, explanation) and printed.is_near(explanation.target, FLOOR if exact else near)


def _is_too_coarse(printed: Printed, explanation: Explanation) -> bool:
    """Whether an error of a few per cent is within what two digits leave open: 7 is not 7.8 with 2^40 for 10^12."""
    if not (explanation.error == "tebi for tera" or explanation.fact) or explanation.figure is None:
        return False
    if explanation.error == "tebi for tera" and is_round(printed.value):  # 800 is no 819.2 with 10^3 for 2^10
        return True
    return abs(printed.value - explanation.figure.value) < FEWEST_DIGITS * printed.step


def _reach(printed: Printed, one: Explanation, near: float) -> float:
    """How far an error of known factor reaches.

    A binary prefix reaches no further than its digits, unless it began as a round number, 1000 × 2^40 for 989, or as
    the figure in three digits: 204 × 2^30 for 204.8.
    """
    if one.is_exact:
        return SIX_DIGITS
    begun = printed.value / one.target * one.figure.value if one.figure else 0.0
    is_short = is_round(begun) or (one.figure is not None and has_three_digits_of(one.figure.value, begun))
    return near if one.error != "tebi for tera" or is_short else FLOOR


def _rated(printed: Printed, explanation: Explanation) -> Explanation:
    """An explanation that hits the digits is likelier than one that only comes near."""
    beyond = max(0.0, printed.off_by(explanation.target) - printed.step / 2 / printed.value)
    return _priced(explanation, explanation.cost + 40 * beyond) if beyond else explanation
