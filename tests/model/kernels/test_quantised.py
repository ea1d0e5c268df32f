"""Products in FP8: against their slow twin, by hand, and the laws that they keep on every GPU that has FP8."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.devices.registry import Registry
from rooflint.kernels import gemm, quantised, stream
from rooflint.kernels.constants import constants_file
from rooflint.kernels.shapes import shapes

from .conftest import chips
from .slow_quantised import slow_product_s

CONSTANTS = constants_file(Registry()).constants
CHIPS = chips("fp8")
H100 = CHIPS["nvidia/h100-sxm5-80gb"]
ROUNDING = 1e-12  # of sums and powers taken in another order
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
SIZE = st.integers(1, 2**14) | st.sampled_from([2**power for power in range(15)])
SIZES = st.tuples(SIZE, SIZE, SIZE)
SCALE = st.sampled_from(["tensor", "block"])
RESOURCES = ("sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w")


def product_s(sizes, chip, **how):
    (found,) = quantised.product_s(shapes(*sizes), chip, CONSTANTS, **how)
    return found


# -------------------------------------------------------------------------------------------------------------- by hand


def test_an_op_in_fp8_draws_its_share_of_one_in_bf16():
    # the same SM does half the MACs a clock in bf16
    in_bf16 = gemm.energy_j_per_op(replace(H100, macs_per_clock=H100.macs_per_clock / 2), CONSTANTS.products)
    in_fp8 = gemm.energy_j_per_op(H100, quantised.here(CONSTANTS))
    assert in_fp8 == pytest.approx(CONSTANTS.quantised.energy_share * in_bf16)
    assert CONSTANTS.quantised.energy_share < 1


def test_operands_are_narrow_and_the_result_is_wide():
    # 8192 · 128 + 128 · 8192 operands of 1 B and 8192² results of 2 B, all from memory
    one, products = shapes(8192, 8192, 128), quantised.here(CONSTANTS)
    moved = 2 * 8192 * 128 + 2 * 8192**2
    (found,) = quantised.memory_s(one, H100, products, np.inf)
    assert found == pytest.approx(moved / (products.dram_efficiency * H100.bandwidth_bytes_per_s))


def test_more_than_64_rows_with_one_scale_are_computed_by_large_tiles():
    large, every = (quantised.kernels("tensor", rows, H100) for rows in (65, 64))
    assert {str(tile) for tile in large.tiles} == {"256×128", "128×256", "128×128"}
    assert len(every.tiles) == 8
    assert large.splits == every.splits == (1, 4, 16)


def test_blocks_with_scales_of_their_own_are_added_up_by_one_tile():
    assert quantised.kernels("block", 4096, H100).splits == (1,)
    assert len(quantised.kernels("block", 4096, H100).tiles) == 8


def test_a_product_waits_for_its_quantise_kernel():
    # 512 · 2048 activations, 2 B read and 1 B written
    one = shapes(512, 1024, 2048)
    before = stream.latency_s(np.array([3.0 * 512 * 2048]), H100, CONSTANTS.stream)
    assert quantised.quantise_s(one, H100, CONSTANTS.stream) == before
    assert quantised.latency_s(one, H100, CONSTANTS) == before + product_s((512, 1024, 2048), H100)


def test_many_shapes_are_timed_as_each_by_itself():
    rows = np.array([1, 64, 65, 4096])
    together = quantised.product_s(shapes(rows, 4096, 512), H100, CONSTANTS)
    assert together == pytest.approx([product_s((one, 4096, 512), H100) for one in rows])


# ------------------------------------------------------------------------------------------------------------ slow twin


@given(SIZES, ANY_CHIP, SCALE, st.sampled_from([1.0, 6.0]))
def test_a_product_equals_its_slow_twin(sizes, chip, scale, copies):
    slow = slow_product_s(*sizes, chip, CONSTANTS, scale, copies)
    assert product_s(sizes, chip, scale=scale, copies=copies) == pytest.approx(slow, rel=1e-9)


# ----------------------------------------------------------------------------------------------------------------- laws


@given(SIZES, st.integers(0, 2), st.integers(1, 4096), ANY_CHIP, SCALE)
def test_more_rows_columns_or_depth_take_no_less(sizes, which, more, chip, scale):
    larger = list(sizes)
    larger[which] += more
    assert product_s(larger, chip, scale=scale) >= product_s(sizes, chip, scale=scale) * (1 - ROUNDING)


@pytest.mark.parametrize("resource", RESOURCES)
@given(sizes=SIZES, chip=ANY_CHIP, scale=SCALE, factor=st.floats(1.0, 4.0))
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, scale, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert product_s(sizes, better, scale=scale) <= product_s(sizes, chip, scale=scale) * (1 + ROUNDING)


@given(SIZES, ANY_CHIP, SCALE)
def test_no_product_beats_the_roofline(sizes, chip, scale):
    m, n, k = sizes
    compute = m * n * k / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    assert product_s(sizes, chip, scale=scale) >= max(compute, (m * k + n * k + 2 * m * n) / chip.bandwidth_bytes_per_s)
