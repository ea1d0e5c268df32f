"""FP32 on CUDA cores: issue slots, energy, laws, and the slow twin of products."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.coefficients.library import Coefficients
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import Chip, Cores, MissingFactError, chip_of
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import WinogradConvolution
from rooflint.kernels.gemm import constants_on, efficiency, energy_pj, issued_share
from rooflint.kernels.shapes import shapes
from rooflint.kernels.tile import Tile, store_clocks

from .conftest import CHIPS, ON_CORES, products_s
from .slow_twin import slow_latency_s
from .slow_winograd import slow_cores

REGISTRY = Registry()
CONSTANTS = constants_file(REGISTRY).constants
PRODUCTS, CORES = CONSTANTS.products, CONSTANTS.cores
ROUNDING = 1e-12
SIZE = st.integers(1, 20_000)
SHAPE = st.tuples(st.integers(2, 20_000), SIZE, SIZE)
ANY_CHIP = st.sampled_from(sorted(ON_CORES)).map(ON_CORES.get)


def seconds(sizes, chip):
    here = constants_on(chip, PRODUCTS, CORES)
    return products_s(shapes(*sizes), chip, here, element_bytes=4).item()


def test_a_v100_multiplies_on_64_lanes_of_an_sm():
    chip = ON_CORES["nvidia/v100-pcie-32gb"]
    assert (chip.sms, chip.macs_per_clock, chip.clock_hz, chip.asynchronous) == (80, 64, 1.38e9, False)
    assert chip.cores == pytest.approx(Cores(schedulers=4, node_m=12e-9))
    assert {"units.cuda_core.issue_threads", "warp_schedulers.SM", "process"} < {fact.path for fact in chip.facts}


def test_matrix_units_have_no_cores():
    assert all(chip.cores is None for chip in CHIPS.values())
    assert constants_on(CHIPS["nvidia/t4"], PRODUCTS, CORES) is PRODUCTS


def test_where_32_lanes_share_a_scheduler_every_other_instruction_takes_the_place_of_a_multiply_add():
    few = replace(CORES, fma_efficiency=0.95, other_instructions=0.25)
    hopper, volta = ON_CORES["nvidia/h100-sxm5-80gb"], ON_CORES["nvidia/v100-pcie-32gb"]
    # Hopper: 128 lanes are 4 multiply-adds of a warp a clock from 4 schedulers, of 5 instructions 4
    assert issued_share(hopper, hopper.cores, few) == pytest.approx(0.8)
    assert efficiency(hopper, hopper.cores, few) == pytest.approx(0.8)
    # Volta: 64 lanes are 2 from 4 schedulers
    assert issued_share(volta, volta.cores, few) == pytest.approx(1.6)
    assert efficiency(volta, volta.cores, few) == 0.95


def test_an_op_costs_as_many_picojoules_as_the_process_has_nanometres():
    assert energy_pj(Cores(4, 7e-9), replace(CORES, energy_pj_per_nm=2.0)) == pytest.approx(14.0)


def test_only_fp32_was_measured_on_cuda_cores():
    launches = Coefficients(REGISTRY).launches()
    with pytest.raises(
        MissingFactError, match=r"^nvidia/p100-pcie-16gb computes fp16 on its cuda_core, measured only in fp32"
    ):
        chip_of(REGISTRY.get("nvidia/p100-pcie-16gb"), "fp16", launches)


@given(SHAPE, st.integers(1, 8), ANY_CHIP)
def test_it_is_what_the_slow_twin_says(sizes, batch, chip):
    share, picojoules = slow_cores(chip, PRODUCTS, CORES)
    a_sector = 32 / (chip.macs_per_clock * 4 / 2) ** 0.5  # a clock, whatever the width of the paths
    here = replace(PRODUCTS, matrix_efficiency=share, energy_pj=picojoules, energy_exponent=0, store_bytes=a_sector)
    assert seconds((*sizes, batch), chip) == pytest.approx(
        slow_latency_s(*sizes, batch, chip, here, 4, np.inf), rel=1e-9
    )


def test_lanes_write_a_sector_of_l2_a_clock_and_kernels_that_convolve_do_not():
    # 128 × 128 results of 4 B at 32 B a clock
    for name in ("nvidia/v100-pcie-32gb", "nvidia/l4", "nvidia/p100-pcie-16gb"):
        chip = ON_CORES[name]
        assert store_clocks(Tile(128, 128), 4, chip, constants_on(chip, PRODUCTS, CORES)) == pytest.approx(2048)
        convolving = WinogradConvolution().products(chip, CONSTANTS)
        assert convolving == replace(constants_on(chip, PRODUCTS, CORES), store_bytes=PRODUCTS.store_bytes)


@given(SHAPE, ANY_CHIP)
def test_no_product_beats_the_roofline(sizes, chip):
    m, n, k = sizes
    compute = m * n * k / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    assert seconds(sizes, chip) >= max(compute, 4 * (m * n + n * k + m * k) / chip.bandwidth_bytes_per_s)


@given(SHAPE, st.integers(0, 2), st.integers(1, 2000), ANY_CHIP)
def test_a_larger_product_takes_no_less(sizes, which, more, chip):
    larger = list(sizes)
    larger[which] += more
    assert seconds(larger, chip) >= seconds(sizes, chip) * (1 - ROUNDING)


@pytest.mark.slow
@given(SHAPE, ANY_CHIP, st.floats(1.0, 4.0))
@pytest.mark.parametrize(
    "resource", ["sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w", "schedulers"]
)
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor):
    assert seconds(sizes, with_more(chip, resource, factor)) <= seconds(sizes, chip) * (1 + ROUNDING)


def with_more(chip: Chip, resource: str, factor: float) -> Chip:
    if resource == "schedulers":
        return replace(chip, cores=chip.cores._replace(schedulers=chip.cores.schedulers * factor))
    return replace(chip, **{resource: getattr(chip, resource) * factor})


@given(SHAPE, ANY_CHIP)
def test_a_finer_process_takes_no_longer(sizes, chip):
    finer = replace(chip, cores=chip.cores._replace(node_m=chip.cores.node_m / 2))
    assert seconds(sizes, finer) <= seconds(sizes, chip) * (1 + ROUNDING)
