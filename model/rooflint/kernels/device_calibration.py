"""The shape of a calibration: what a few products on one machine say of it, in a file of its owner and never a spec."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rooflint.base.errors import InputError
from rooflint.base.facts import Fact
from rooflint.base.units import DIMENSIONLESS
from rooflint.hardware.schema import Duration, FactKind, PrecisionName, SourcedSpec, Strict, Text, fact_of
from rooflint.hardware.spec_files import flatten, read_spec
from rooflint.kernels.chip import Chip
from rooflint.kernels.constants import Constants, ConstantsFile

Share = fact_of(FactKind("a share", DIMENSIONLESS, 0.01, 1, "0.84"))
Factor = fact_of(FactKind("a factor", DIMENSIONLESS, 0.01, 100, "0.97"))


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


# ---- Calibration: three quantities of one machine in the place of those that all GPUs share

QUANTITIES = ("launch", "matrix_factor", "dram_efficiency")


@dataclass(frozen=True)
class Own:
    """What is known of one machine; None where it was not measured, and all GPUs' value stays."""

    launch_s: float | None = None
    """From one kernel of a graph to the next, beside its own work. [s]"""
    matrix_factor: float | None = None
    """How many times as fast as all GPUs' its matrix units and their power let large products be. [1]"""
    dram_efficiency: float | None = None
    """Share of the bandwidth that a stream attains. [1]"""

    def of(self, chip: Chip, constants: Constants) -> tuple[Chip, Constants]:
        """The chip and the constants with these in the places of those of products; all others stay.

        A large product waits for its matrix units or for their power, and one figure cannot tell which: so what an op
        draws falls by as much as the units are faster. But no unit is faster than its rate: what is beyond is of power
        alone, and no latency comes below the roofline.
        """
        products = constants.products
        if self.matrix_factor is not None:
            attained = min(products.matrix_efficiency * self.matrix_factor, 1.0)
            products = replace(products, matrix_efficiency=attained, energy_pj=products.energy_pj / self.matrix_factor)
        if self.dram_efficiency is not None:
            products = replace(products, dram_efficiency=self.dram_efficiency)
        if self.launch_s is not None:  # all of it, so nothing is left to start with
            chip, products = replace(chip, graph_launch_s=self.launch_s), replace(products, start_clocks=0.0)
        return chip, replace(constants, products=products)


@dataclass(frozen=True)
class Calibration:
    """The file, read and checked."""

    spec: DeviceCalibrationSpec
    file: Path
    facts: Mapping[str, Fact]

    @property
    def own(self) -> Own:
        """The values."""
        found = {name: self.facts[name].value for name in QUANTITIES if name in self.facts}
        return Own(found.get("launch"), found.get("matrix_factor"), found.get("dram_efficiency"))


def calibration(file: Path, hardware: str, chip: Chip, constants: ConstantsFile) -> Calibration:
    """A calibration of that device that corrects those constants. Raises InputError.

    For CUDA cores there is none: they have an efficiency and an energy of their own, of which products on matrix units
    say nothing.
    """
    document, spec = read_spec(file, DeviceCalibrationSpec)
    if spec.hardware != hardware:
        message = f"hardware: want {hardware}, which was asked for, found {spec.hardware}"
        raise InputError([document.problem(("hardware",), message)])
    fit, corrected = constants.fit(), spec.corrects
    if (corrected.package, corrected.day) != (fit.package, fit.day):
        wanted = f"{fit.package} of {fit.day}, which are installed, found {corrected.package} of {corrected.day}"
        message = f"corrects: want constants of {wanted}; run rooflint calibrate device"
        raise InputError([document.problem(("corrects",), message)])
    if chip.cores is not None:
        message = (
            f"precision: want a product on matrix units, where {spec.precision} was measured, "
            "found one on CUDA cores, to which it does not apply; omit the calibration"
        )
        raise InputError([document.problem(("precision",), message)])
    return Calibration(spec, file, flatten(spec, document))
