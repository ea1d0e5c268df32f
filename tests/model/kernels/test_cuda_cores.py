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
from rooflint.kernels.gemm import constants_on, efficiency, issued_share
from rooflint.kernels.products import FROM_64, CoresGemm
from rooflint.kernels.shapes import shapes
from rooflint.kernels.tile import Tile, menu, store_clocks

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
    assert chip.cores == Cores(4, "volta", base_hz=1.23e9)
    assert chip.node_m == pytest.approx(12e-9)
    assert {"units.cuda_core.issue_threads", "warp_schedulers.SM", "process", "clocks.base"} < {
        fact.path for fact in chip.facts
    }


def test_matrix_units_have_no_cores():
    assert all(chip.cores is None for chip in CHIPS.values())
    assert constants_on(CHIPS["nvidia/t4"], PRODUCTS, CORES) is PRODUCTS


def test_where_32_lanes_share_a_scheduler_every_other_instruction_takes_the_place_of_a_multiply_add():
    few = replace(CORES, other_instructions=0.25)
    hopper, volta = ON_CORES["nvidia/h100-sxm5-80gb"], ON_CORES["nvidia/v100-pcie-32gb"]
    # Hopper: 128 lanes are 4 multiply-adds of a warp a clock from 4 schedulers, of 5 instructions 4
    assert issued_share(hopper, hopper.cores, few) == pytest.approx(0.8)
    assert efficiency(hopper, hopper.cores, few) == pytest.approx(0.8)
    # Volta: 64 lanes are 2 from 4 schedulers
    assert issued_share(volta, volta.cores, few) == pytest.approx(1.6)
    assert efficiency(volta, volta.cores, few) == 1


def test_a_scheduler_with_two_dispatch_units_issues_two_instructions():
    p100 = ON_CORES["nvidia/p100-pcie-16gb"]
    # 64 lanes are 2 multiply-adds of a warp a clock, from 2 schedulers with 2 dispatch units each
    assert p100.cores.issued == 4
    assert {"dispatch_units.SM"} == {fact.path for fact in p100.facts} & {"dispatch_units.SM", "warp_schedulers.SM"}
    assert issued_share(p100, p100.cores, replace(CORES, other_instructions=0.25)) == pytest.approx(1.6)


def test_power_slows_no_kernel_below_the_base_clock():
    # a P4 is rated 75 W, and 810 MHz of 1063
    p4, sizes = ON_CORES["nvidia/p4"], (4096, 4096, 4096)
    cold = seconds(sizes, replace(p4, tdp_w=1e6))
    starved = seconds(sizes, replace(p4, tdp_w=1.0))
    assert starved / cold == pytest.approx(1063 / 810, rel=0.02)
    unknown = replace(p4, cores=p4.cores._replace(base_hz=0.0))
    assert seconds(sizes, replace(unknown, tdp_w=1.0)) > 10 * starved


def test_the_energy_of_an_op_grows_with_the_root_of_the_size_of_the_process():
    l4, there = ON_CORES["nvidia/l4"], replace(CORES, energy_pj=20.0)
    of = [constants_on(replace(l4, node_m=size), PRODUCTS, there).energy_pj for size in (10e-9, 2.5e-9)]
    assert of == pytest.approx([20.0, 10.0])


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
    "resource", ["sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w", "issued"]
)
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor):
    assert seconds(sizes, with_more(chip, resource, factor)) <= seconds(sizes, chip) * (1 + ROUNDING)


def with_more(chip: Chip, resource: str, factor: float) -> Chip:
    if resource == "issued":
        return replace(chip, cores=chip.cores._replace(issued=chip.cores.issued * factor))
    return replace(chip, **{resource: getattr(chip, resource) * factor})


@given(SHAPE, ANY_CHIP)
def test_a_finer_process_takes_no_longer(sizes, chip):
    finer = replace(chip, node_m=chip.node_m / 2)
    assert seconds(sizes, finer) <= seconds(sizes, chip) * (1 + ROUNDING)


# ---- batches of products


def test_a_batch_has_the_tiles_whose_kernels_a_generation_has():
    a100, v100, h100 = (ON_CORES[f"nvidia/{name}"] for name in ("a100-pcie-40gb", "v100-pcie-32gb", "h100-sxm5-80gb"))
    for chip, tiles in (
        (a100, {(128, 128)}),
        (v100, {(64, 64), (128, 32), (32, 128)}),
        (h100, {tuple(tile) for tile in FROM_64}),
    ):
        single, several = CoresGemm().menus(shapes([64, 64], 64, 64, [1, 2]), chip)
        assert (single[0].tolist(), several[0].tolist()) == ([True, False], [False, True])
        assert single[1] == menu(chip)
        assert {tuple(tile) for tile in several[1].tiles} == tiles
        assert several[1].splits == (1,)


def test_a_narrow_product_in_a_batch_takes_as_long_as_its_tile_is_wide():
    kernel, chip = CoresGemm(), ON_CORES["nvidia/a100-pcie-40gb"]

    def computed_s(n):
        return kernel.time(kernel.work(1024, n, 1024, 512), chip, CONSTANTS).compute_s.item()

    assert computed_s(16) == pytest.approx(computed_s(128), rel=1e-3)
    # eight tiles of 128 rows and two of 128 columns, where there was one
    assert computed_s(256) == pytest.approx(2 * computed_s(128), rel=0.01)


def test_instructions_beyond_the_edge_of_a_result_cost_energy():
    # 72 W: 100 columns are issued as 128, and power is what limits an L4
    kernel, chip = CoresGemm(), ON_CORES["nvidia/l4"]
    narrow, full = (kernel.apart(kernel.work(1024, n, 4096, 64), chip, CONSTANTS)[0] for n in (100, 128))
    assert (narrow.bound, narrow.tile) == ("power", Tile(128, 128))
    assert narrow.power_s == pytest.approx(full.power_s)


@given(SHAPE, st.integers(2, 64), ANY_CHIP)
def test_a_batch_and_its_transpose_take_the_same_time(sizes, batch, chip):
    kernel, (m, n, k) = CoresGemm(), sizes
    one, other = (kernel.predict(kernel.work(*sides, k, batch), chip, CONSTANTS) for sides in ((m, n), (n, m)))
    assert one == pytest.approx(other, rel=1e-9)
