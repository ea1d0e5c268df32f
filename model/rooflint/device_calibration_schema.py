"""The shape of a calibration: what a few products on one machine say of it, in a file of its owner and never a spec."""

from typing import Annotated

from pydantic import Field

from rooflint.schema import Duration, PrecisionName, SourcedSpec, Strict, Text, Wish, fact_of
from rooflint.units import DIMENSIONLESS

Share = fact_of(Wish("a share", DIMENSIONLESS, 0.01, 1, "0.84"))
Factor = fact_of(Wish("a factor", DIMENSIONLESS, 0.01, 100, "0.97"))


class CorrectsSpec(Strict):
    """Which fit of the shared constants a calibration corrects; of another one it says nothing."""

    package: Text
    day: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class DeviceCalibrationSpec(SourcedSpec):
    """What `rooflint calibrate device --save` writes and `rooflint explain gemm --calibration` reads."""

    hardware: Text
    """Exact id of the device."""
    precision: PrecisionName
    """In which the products were measured."""
    corrects: CorrectsSpec
    launch: Duration | None = None
    """From one kernel of a graph to the next, beside its own work."""
    matrix_factor: Factor | None = None  # type: ignore[valid-type]
    """How many times as fast as all GPUs' its matrix units and their power are; the units never exceed their rate."""
    dram_efficiency: Share | None = None  # type: ignore[valid-type]
    """Of the bandwidth that a stream attains."""
