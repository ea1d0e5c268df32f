"""The shape of specs/silicon.yaml: the constants of the latency model of silicon, and what they were fitted on."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import SourcedSpec, Strict, Text, Wish, Word, fact_of
from rooflint.units import DIMENSIONLESS

Number = fact_of(Wish("a number without a unit", DIMENSIONLESS, 1e-6, 1e9, "0.84"))


class SiliconConstantSpec(Strict):
    """One constant: what it means, and its value; of a fitted one also the value where a family was left out."""

    meaning: Text
    unit: Text
    """As a reader wants to see it: clock, B/clock/SM; values are in it."""
    value: Number  # type: ignore[valid-type]
    found: Literal["fitted", "chosen"]
    folds: dict[Word, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)


class SiliconFitSpec(Strict):
    """What the fitted constants were fitted on, so that they can be fitted again."""

    package: Text
    day: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    rows_per_family: Annotated[int, Field(gt=0)]
    loss: Text
    errors: dict[Word, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Mean absolute error on each family, by constants that were fitted without it. [%]"""


class SiliconSpec(SourcedSpec):
    """specs/silicon.yaml: constants of the latency of a matrix product on a GPU."""

    fit: SiliconFitSpec
    constants: Annotated[dict[Word, SiliconConstantSpec], Field(min_length=1)]
