"""Criteria: the quantities by which predictions are compared, and what a user requires of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rooflint.errors import RooflintError
from rooflint.prediction import NotKnownError, Prediction
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
            return f"{value:,.4g}/s" if value < 1e4 else f"{value:,.0f}/s"
        if self.dimension == DIMENSIONLESS:
            return f"{100 * value:.3g} %"
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

_REQUIREMENT = re.compile(r"\s*(?P<name>[a-z]+)\s*(?P<sign>[<>])=?\s*(?P<number>[0-9.eE+-]+)\s*(?P<unit>\S*)\s*")
_EXAMPLE = "energy<100mJ,latency<50ms,memory<512MB,power<15W"


@dataclass(frozen=True)
class Requirement:
    """A bound on a criterion."""

    criterion: Criterion
    below: bool
    limit: float
    """In base units."""
    text: str

    def met(self, prediction: Prediction) -> bool | None:
        """Whether it holds; None where the quantity is not known."""
        value = self.criterion.of(prediction)
        if value is None:
            return None
        return value < self.limit if self.below else value > self.limit

    def margin(self, prediction: Prediction) -> str:
        """How far from it, in words: `latency 431.5 µs, 116 times within 50 ms`."""
        value = self.criterion.of(prediction)
        if value is None:
            return f"{self.criterion.name} is not known"
        good = self.limit / value if self.below else value / self.limit
        within = f"{good:.3g} times within" if good >= 1 else f"{1 / good:.3g} times beyond"
        return f"{self.criterion.name} {self.criterion.shown(value)}, {within} {self.criterion.shown(self.limit)}"


def requirements(text: str) -> tuple[Requirement, ...]:
    """Bounds such as `energy<100mJ,latency<50ms`; energy is of one inference. Raises CriterionError."""
    return tuple(_requirement(part) for part in text.split(",") if part.strip())


def _requirement(text: str) -> Requirement:
    found = _REQUIREMENT.fullmatch(text)
    if found is None or found["name"] not in CRITERIA:
        raise CriterionError(f"'{text.strip()}': want {', '.join(CRITERIA)} with a bound, such as {_EXAMPLE}")
    criterion = CRITERIA[found["name"]]
    limit = _limit(criterion, found["number"], found["unit"], text)
    return Requirement(criterion, found["sign"] == "<", limit, text.strip())


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
