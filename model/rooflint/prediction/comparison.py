"""Comparison of one network on several devices, by criteria, with the requirements of a user.

Each device has a prediction, or the reason why there is none.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self, TypeVar

from rooflint.base import units
from rooflint.base.errors import RooflintError
from rooflint.base.facts import weakest
from rooflint.base.text import UNKNOWN
from rooflint.coefficients.library import FREE
from rooflint.energy.model import Energies
from rooflint.hardware.device import (
    Hardware,
    UndisclosedError,
    UnsupportedError,
    UnsupportedPrecisionError,
    working_units,
)
from rooflint.prediction.predict import ROOFLINE, NotKnownError, Prediction, Setting, predict
from rooflint.workloads.workload import Workload

T = TypeVar("T")


class CriterionError(RooflintError):
    """A requirement that cannot be checked; the message shows a valid one."""


@dataclass(frozen=True)
class Criterion:
    """One quantity of a prediction, or of a generation."""

    name: str
    dimension: units.Dimension
    value: Callable[[Any], float]
    """In base units. Raises NotKnownError."""
    less_is_better: bool = True

    def of(self, prediction: object) -> float | None:
        """The value, or None where it is not known. In base units."""
        try:
            return self.value(prediction)
        except NotKnownError:
            return None

    def shown(self, value: float) -> str:
        """For a reader."""
        return figure_text(value, self.dimension)


def figure_text(value: float, dimension: units.Dimension) -> str:
    """A figure for a reader: `429 µs`, `17,388/s`, `73.1 %`."""
    if dimension == units.HERTZ:
        return per_second(value)
    return units.percent(value) if dimension == units.DIMENSIONLESS else units.format_quantity(value, dimension)


CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        one.name: one
        for one in (
            Criterion("energy", units.JOULES, lambda found: found.energy_per_sample_j),
            Criterion("latency", units.SECONDS, lambda found: found.latency_s),
            Criterion("throughput", units.HERTZ, lambda found: found.throughput_per_s, less_is_better=False),
            Criterion("memory", units.BYTES, lambda found: found.peak_bytes),
            Criterion("power", units.WATTS, lambda found: found.power_w),
            Criterion("utilization", units.DIMENSIONLESS, lambda found: found.utilization, less_is_better=False),
            Criterion("efficiency", units.DIMENSIONLESS, lambda found: found.compute_efficiency, less_is_better=False),
        )
    }
)


def shown(prediction: Prediction, by: str) -> str:
    """A figure of a prediction for a reader, or a dash where it is not known."""
    value = CRITERIA[by].of(prediction)
    return UNKNOWN if value is None else CRITERIA[by].shown(value)


def per_second(value: float) -> str:
    """`17,388/s`: four digits at least, and never an exponent."""
    return f"{value:,.0f}/s" if value >= 999.95 else f"{value:.4g}/s"


_REQUIREMENT = re.compile(r"\s*(?P<name>[a-z][a-z-]*)\s*(?P<sign>[<>]=?)\s*(?P<number>[0-9.eE+-]+)\s*(?P<unit>\S*)\s*")
_EXAMPLE = "energy<100mJ,latency<50ms,memory<512MB,power<15W"


@dataclass(frozen=True)
class Requirement:
    """A bound on a criterion."""

    criterion: Criterion
    sign: str
    """`<`, `<=`, `>`, `>=`"""
    limit: float
    """In base units."""
    text: str

    def met(self, prediction: object) -> bool | None:
        """Whether it holds; None where the quantity is not known."""
        value = self.criterion.of(prediction)
        return None if value is None else bool(HOLDS[self.sign](value, self.limit))


HOLDS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


def requirements(
    text: str, criteria: Mapping[str, Criterion] = CRITERIA, example: str = _EXAMPLE
) -> tuple[Requirement, ...]:
    """Bounds such as `energy<100mJ,latency<50ms`; energy is of one inference. Raises CriterionError."""
    return tuple(_requirement(part, criteria, example) for part in text.split(",") if part.strip())


def _requirement(text: str, criteria: Mapping[str, Criterion], example: str) -> Requirement:
    found = _REQUIREMENT.fullmatch(text)
    if found is None or found["name"] not in criteria:
        raise CriterionError(f"'{text.strip()}': want {', '.join(criteria)} with a bound, such as {example}")
    criterion = criteria[found["name"]]
    limit = _limit(criterion, found["number"], found["unit"], text, example)
    return Requirement(criterion, found["sign"], limit, text.strip())


def _limit(criterion: Criterion, number: str, unit: str, text: str, example: str) -> float:
    """A bound in base units; a throughput may leave its unit out."""
    written = {"": "1/s", "/s": "1/s"}.get(unit, unit) if criterion.dimension == units.HERTZ else unit
    try:
        quantity = units.parse_quantity(f"{number} {written}".strip().replace(" 1/s", " Hz"))
    except ValueError as error:
        raise CriterionError(f"'{text.strip()}': {error}") from error
    if quantity.dimension != criterion.dimension or quantity.value <= 0:
        raise CriterionError(
            f"'{text.strip()}': '{number}{unit}' is not a bound on {criterion.name}; want one as in {example}"
        )
    return quantity.value


BALANCE = "balance"
"""Energy of an inference × latency, the energy-delay product. Gonzalez, Horowitz, IEEE JSSC 31(9), 1996."""

WINS = ("energy", "latency", "throughput", "memory", BALANCE)

OF_ENERGY = ("energy", "power", BALANCE)
"""Criteria that need a complete energy: a device would win by a term that is not counted."""


OF_TIME = ("energy", "latency", "throughput", "power", BALANCE)
"""Criteria that rest on the latency, and so on launches."""


@dataclass(frozen=True)
class Contender:
    """A device with its prediction of the network, or the reason why there is none."""

    hardware: Hardware
    found: Prediction | None
    refused: str = ""
    """Why there is no prediction."""
    instead: str | None = None
    """A precision that the device has, where it lacks the one that was asked for."""

    @property
    def label(self) -> str:
        """`nvidia/t4`, `nvidia/jetson-agx-orin-64gb at 30w`."""
        return self.hardware.label

    @property
    def short(self) -> str:
        """The label without its vendor."""
        return self.label.rpartition("/")[2]

    @property
    def typed(self) -> str:
        """As a user names it: `jetson-agx-orin-64gb@30w`."""
        return self.short.replace(" at ", "@")

    @property
    def prediction(self) -> Prediction:
        """The prediction. Raises RooflintError with the reason where there is none."""
        if self.found is None:
            raise RooflintError(self.refused)
        return self.found

    @property
    def pays(self) -> bool:
        """Whether its launches are counted."""
        return self.prediction.launch is not None or self.prediction.silicon is not None

    @property
    def estimated(self) -> bool:
        """Whether its peak rests on an estimate, as that of a design without silicon does."""
        units = working_units(self.hardware, self.prediction.compute)
        facts = (fact for unit in units for fact in unit.derivation(self.prediction.compute).facts)
        return weakest(tuple(facts)) == "estimate"


@dataclass(frozen=True)
class Comparison:
    """Contenders in the order in which they were asked for."""

    network: Workload
    setting: Setting
    contenders: tuple[Contender, ...]
    without_launches: "Comparison | None" = None
    """The comparison with free launches; None where launches cost nothing anyway."""
    at_roofline: "Comparison | None" = None
    """The comparison by the plain roofline; None where no prediction has the times of silicon."""
    chosen_of: int = 0
    """How many were compared before some were chosen; 0 where none were left out."""

    @property
    def able(self) -> tuple[Contender, ...]:
        """The contenders that can run the network."""
        return tuple(one for one in self.contenders if one.found)

    def competing(self, by: str) -> tuple[Contender, ...]:
        """Those that may win by a criterion.

        A device whose launch overhead is not known does not compete with devices that pay theirs, nor a lower bound of
        the latency with calibrated times.
        """
        if by not in OF_TIME:
            return self.able
        paying = tuple(one for one in self.able if one.pays) or self.able
        return tuple(one for one in paying if one.prediction.silicon) or paying

    def leaders(self, by: str) -> tuple[Contender, ...]:
        """The best by a criterion or by balance, and all that equal it; none where it is known of no device."""
        return tuple(least((score_of(one.prediction, by), one) for one in self.competing(by)))

    def winner(self, by: str) -> Contender | None:
        """The one that leads alone; None in a tie, and where it is known of no device."""
        first = self.leaders(by)
        return first[0] if len(first) == 1 else None

    def among(self, chosen: Sequence[Contender]) -> Self:
        """This comparison with only some of the contenders, in the order in which they are given."""
        labels = [one.label for one in chosen]

        def kept(other: "Comparison | None") -> "Comparison | None":
            same = tuple(one for one in other.contenders if one.label in labels) if other else ()
            return replace(other, contenders=same) if other else None

        return replace(
            self,
            contenders=tuple(chosen),
            without_launches=kept(self.without_launches),
            at_roofline=kept(self.at_roofline),
            chosen_of=self.chosen_of or len(self.contenders),
        )

    def sorted_by(self, by: str, top: int | None = None) -> Self:
        """This comparison, best first by a criterion or by balance, cut after `top`; what has no score stands last."""
        scores = [(score_of(one.prediction, by) if one.found else None, one) for one in self.contenders]
        ordered = sorted(scores, key=lambda pair: (pair[0] is None, pair[0] or 0.0))
        return self.among([one for _, one in ordered][:top])

    def meets(self, wanted: Sequence[Requirement]) -> tuple[Contender, ...]:
        """The contenders of which all requirements are known to hold."""
        return tuple(one for one in self.able if all(each.met(one.prediction) for each in wanted))


def compare(devices: Iterable[Hardware], work: Workload, energies: Energies, setting: Setting) -> Comparison:
    """Predictions of a network on devices. A device that cannot run it is kept with its reason; the others go on."""
    found = Comparison(work, setting, tuple(contend(device, work, energies, setting) for device in devices))

    def again(other: Setting) -> Comparison:
        return Comparison(work, other, tuple(contend(one.hardware, work, energies, other) for one in found.able))

    if setting.launch != FREE and any(one.prediction.shares["launch"] for one in found.able):
        found = replace(found, without_launches=again(replace(setting, launch=FREE)))
    if any(one.prediction.silicon for one in found.able):
        found = replace(found, at_roofline=again(replace(setting, fidelity=ROOFLINE)))
    return found


def contend(device: Hardware, work: Workload, energies: Energies, setting: Setting) -> Contender:
    """One device, with a prediction or a reason."""
    try:
        return Contender(device, predict(device, work, energies, setting))
    except (UnsupportedError, UndisclosedError) as error:
        reason = str(error)
        instead = error.instead if isinstance(error, UnsupportedPrecisionError) else None
        return Contender(device, None, reason if device.id in reason else f"{device.id}: {reason}", instead)


def score_of(prediction: Prediction, by: str) -> float | None:
    """A figure of which less is better; None where it is not known, or is of a run that the device has no room for."""
    if prediction.fits is False or (by in OF_ENERGY and not prediction.complete):
        return None
    if by == BALANCE:
        return prediction.energy_per_sample_j * prediction.latency_s
    value = CRITERIA[by].of(prediction)
    return value if value is None or CRITERIA[by].less_is_better else -value


def least(scored: Iterable[tuple[float | None, T]]) -> list[T]:
    """What has the least score, and all that equal it; a score of None does not count."""
    known = [(score, one) for score, one in scored if score is not None]
    best = min((score for score, _ in known), default=0.0)
    return [one for score, one in known if math.isclose(score, best, rel_tol=1e-9)]


def flips(found: Comparison, otherwise: Comparison | None) -> Mapping[str, Contender]:
    """Criteria that another device would win otherwise (without launches, by the roofline), with that device."""
    if otherwise is None:
        return {}
    now = {by: found.winner(by) for by in ("latency", "energy")}
    then = {by: otherwise.winner(by) for by in now}
    return {by: other for by, other in then.items() if other and now[by] and other.label != now[by].label}  # type: ignore[union-attr]
