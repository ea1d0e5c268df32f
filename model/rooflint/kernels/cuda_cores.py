"""CUDA cores: what differs where no matrix unit computes a product: issue slots, and the energy of an op.

    constants_on(chip, products, cores)    the constants of products as they hold on that chip

Tiles, waves, feed, steps, store, L2, overlap and launches are those of matrix units, carried over. FP32 alone
was measured.
"""

from dataclasses import replace

from rooflint.kernels.chip import WARP, Chip, Cores
from rooflint.kernels.constants import CoreConstants, Products


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


def constants_on(chip: Chip, products: Products, constants: CoreConstants) -> Products:
    """The constants of products as they hold on a chip: its own efficiency and energy where CUDA cores compute."""
    if chip.cores is None:
        return products
    return replace(
        products,
        matrix_efficiency=efficiency(chip, chip.cores, constants),
        energy_pj=energy_pj(chip.cores, constants),
        energy_exponent=0.0,
    )
