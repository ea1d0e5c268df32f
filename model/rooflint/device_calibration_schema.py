"""The shape of a calibration: what a few products on one machine say of it, in a file of its owner and never a spec."""

from typing import Annotated

from pydantic import Field

from rooflint.schema import Duration, PrecisionName, SourcedSpec, Strict, Text, Wish, fact_of
from rooflint.units import DIMENSIONLESS

Share = fact_of(Wish("a share", DIMENSIONLESS, 0.01, 1, "0.84"))


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
    matrix_efficiency: Share | None = None  # type: ignore[valid-type]
    """Of its rate that a matrix unit attains in the main loop; what an op draws falls alike."""
    dram_efficiency: Share | None = None  # type: ignore[valid-type]
    """Of the bandwidth that a stream attains."""
