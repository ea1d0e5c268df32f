"""CUDA cores: what differs where no matrix unit computes a product: issue slots, and the energy of an op.

    constants_on(chip, products, cores)    the constants of products as they hold on that chip

Tiles, waves, feed, steps, store, L2, overlap and launches are those of matrix units, carried over. FP32 alone
was measured.
"""

from dataclasses import dataclass, fields, replace
from pathlib import Path

from rooflint.base.facts import Fact
from rooflint.devices.hardware import Facts
from rooflint.devices.registry import Registry
from rooflint.devices.spec_files import flatten, read_spec
from rooflint.kernels.chip import WARP, Chip, Cores
from rooflint.kernels.constants import Constants, SiliconSpec, check_names, found

FILE = "silicon_cores.yaml"


@dataclass(frozen=True)
class CoreConstants:
    """Values by name; specs/silicon_cores.yaml says what each means and how it was found."""

    fma_efficiency: float
    """Share of its rate that the lanes attain where issue slots abound. [1]"""
    other_instructions: float
    """Instructions of the main loop that are no multiply-add, for each that is: loads, addresses, branches. [1]"""
    energy_pj_per_nm: float
    """Of one op, all included, for each nanometre of the process. [pJ/nm]"""
    transform_efficiency: float
    """Share of a stream's speed that the transforms of a Winograd convolution attain. [1]"""


NAMES = tuple(field.name for field in fields(CoreConstants))


@dataclass(frozen=True)
class CoresFile:
    """The file, read and checked."""

    spec: SiliconSpec
    file: Path
    facts: Facts

    @property
    def constants(self) -> CoreConstants:
        """The values."""
        return CoreConstants(**{name: self.fact(name).value for name in NAMES})

    @property
    def families(self) -> tuple[str, ...]:
        """Families of GPUs that the fit was repeated without."""
        return tuple(dict.fromkeys(family for one in self.spec.constants.values() for family in one.folds))

    def without(self, family: str) -> CoreConstants:
        """The values as they were fitted without a family, which they have not seen; those of all where none has it."""
        folds = {name: one.folds[family] for name, one in self.spec.constants.items() if family in one.folds}
        return replace(self.constants, **folds)

    def fact(self, name: str) -> Fact:
        """The value of a constant with its source and line."""
        return self.facts[f"constants.{name}.value"]


def cores_file(registry: Registry) -> CoresFile:
    """The file of the first root that has one. Raises InputError, or RooflintError where no root has one."""
    return read(*found(registry, FILE))


def read(file: Path, text: str | None = None) -> CoresFile:
    """A file of constants, or a text in its place. Raises InputError."""
    document, spec = read_spec(file, SiliconSpec, text)
    check_names(document, "constants", spec.constants, NAMES)
    return CoresFile(spec, file, flatten(spec, document))


def issued_share(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that the schedulers can keep up with, if all other instructions take slots, too. [1]

    A scheduler issues one instruction a clock. Where 16 lanes belong to it (Volta, Turing, GA100) a multiply-add of a
    warp keeps them for two clocks, and every second slot is free; where 32 do (Pascal, GA10x, Ada, Hopper,
    Blackwell) each other instruction takes the place of one.
    """
    multiply_adds = chip.macs_per_clock / WARP
    return cores.schedulers / (multiply_adds * (1 + constants.other_instructions))


def efficiency(chip: Chip, cores: Cores, constants: CoreConstants) -> float:
    """Share of the lanes' rate that a main loop attains. [1]"""
    return min(constants.fma_efficiency, issued_share(chip, cores, constants))


def energy_pj(cores: Cores, constants: CoreConstants) -> float:
    """What one op costs at full power, all included: proportional to the size that the process is named after. [pJ]"""
    return constants.energy_pj_per_nm * cores.node_m * 1e9


def constants_on(chip: Chip, products: Constants, constants: CoreConstants) -> Constants:
    """The constants of products as they hold on a chip: its own efficiency and energy where CUDA cores compute."""
    if chip.cores is None:
        return products
    return replace(
        products,
        matrix_efficiency=efficiency(chip, chip.cores, constants),
        energy_pj=energy_pj(chip.cores, constants),
        energy_exponent=0.0,
    )
