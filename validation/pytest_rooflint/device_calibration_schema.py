"""The shape of what `rooflint calibrate device -f json` writes, exported as JSON Schema for other programs."""

from typing import Annotated, Literal

from pydantic import Field

from rooflint.schema import Strict

Positive = Annotated[float, Field(gt=0)]
Regime = Literal["all", "large", "small", "narrow"]


class OwnRecord(Strict):
    """One quantity: what all GPUs share, and what the products of this machine say; null where none was measured."""

    quantity: Literal["launch_s", "matrix_factor", "dram_efficiency"]
    shared: Positive
    own: Positive | None
    products: int
    weight: Annotated[float, Field(ge=0, le=1)]
    """Share of what the products say that is taken for the machine's."""


class ProductRecord(Strict):
    """One product, predicted before and after."""

    m: int
    n: int
    k: int
    measured_s: Positive | None
    """Of the recording; null where it only is an example."""
    before_s: Positive
    after_s: Positive


class GainRecord(Strict):
    """Errors on published rows, by constants that have not seen the family; shares."""

    device: str
    regime: Regime
    rows: int
    error_before: Annotated[float, Field(ge=0)]
    error_after: Annotated[float, Field(ge=0)]
    bias_before: float
    bias_after: float


class DeviceCalibrationRecord(Strict):
    """`rooflint calibrate device -f json`; with `--published` there is no device, and gains alone."""

    schema_: Annotated[Literal["rooflint.calibrate.device/1"], Field(alias="schema")]
    hardware: str | None
    precision: str | None
    own: list[OwnRecord]
    products: list[ProductRecord]
    gains: list[GainRecord]
    caveats: list[str]
