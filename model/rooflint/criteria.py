"""Criteria: the quantities by which predictions are compared, and what a user requires of them."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rooflint.errors import RooflintError
from rooflint.prediction import NotKnownError, Prediction
from rooflint.table import UNKNOWN
from rooflint.units import (
    BYTES,
    DIMENSIONLESS,
    HERTZ,
    JOULES,
    SECONDS,
    WATTS,
    Dimension,
    format_quantity,
    parse_quantity,
    percent,
)


class CriterionError(RooflintError):
    """A requirement that nobody can check; the message shows one that works."""


@dataclass(frozen=True)
class Criterion:
    """One quantity of a prediction."""

    name: str
    dimension: Dimension
    value: Callable[[Prediction], float]
    """In base units. Raises NotKnownError."""
    less_is_better: bool = True

    def of(self, prediction: Prediction) -> float | None:
        """The value, or None where it is not known. In base units."""
        try:
            return self.value(prediction)
        except NotKnownError:
            return None

    def shown(self, value: float) -> str:
        """For a reader."""
        if self.dimension == HERTZ:
            return per_second(value)
        if self.dimension == DIMENSIONLESS:
            return percent(value)
        return format_quantity(value, self.dimension)


CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        one.name: one
        for one in (
            Criterion("energy", JOULES, lambda found: found.energy_per_sample_j),
            Criterion("latency", SECONDS, lambda found: found.latency_s),
            Criterion("throughput", HERTZ, lambda found: found.throughput_per_s, less_is_better=False),
            Criterion("memory", BYTES, lambda found: found.peak_bytes),
            Criterion("power", WATTS, lambda found: found.power_w),
            Criterion("utilization", DIMENSIONLESS, lambda found: found.utilization, less_is_better=False),
            Criterion("efficiency", DIMENSIONLESS, lambda found: found.compute_efficiency, less_is_better=False),
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


_REQUIREMENT = re.compile(r"\s*(?P<name>[a-z]+)\s*(?P<sign>[<>]=?)\s*(?P<number>[0-9.eE+-]+)\s*(?P<unit>\S*)\s*")
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

    def met(self, prediction: Prediction) -> bool | None:
        """Whether it holds; None where the quantity is not known."""
        value = self.criterion.of(prediction)
        return None if value is None else HOLDS[self.sign](value, self.limit)


HOLDS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


def requirements(text: str) -> tuple[Requirement, ...]:
    """Bounds such as `energy<100mJ,latency<50ms`; energy is of one inference. Raises CriterionError."""
    return tuple(_requirement(part) for part in text.split(",") if part.strip())


def _requirement(text: str) -> Requirement:
    found = _REQUIREMENT.fullmatch(text)
    if found is None or found["name"] not in CRITERIA:
        raise CriterionError(f"'{text.strip()}': want {', '.join(CRITERIA)} with a bound, such as {_EXAMPLE}")
    criterion = CRITERIA[found["name"]]
    limit = _limit(criterion, found["number"], found["unit"], text)
    return Requirement(criterion, found["sign"], limit, text.strip())


def _limit(criterion: Criterion, number: str, unit: str, text: str) -> float:
    """A bound in base units; a throughput may leave its unit out."""
    written = {"": "1/s", "/s": "1/s"}.get(unit, unit) if criterion.dimension == HERTZ else unit
    try:
        quantity = parse_quantity(f"{number} {written}".strip().replace(" 1/s", " Hz"))
    except ValueError as error:
        raise CriterionError(f"'{text.strip()}': {error}") from error
    if quantity.dimension != criterion.dimension or quantity.value <= 0:
        raise CriterionError(
            f"'{text.strip()}': '{number}{unit}' is no {criterion.name}; want a bound as in {_EXAMPLE}"
        )
    return quantity.value
