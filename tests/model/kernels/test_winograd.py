"""Winograd's algorithms on CUDA cores: what they save, what they cost, laws, and their slow twins."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import (
    Convolution,
    WinogradConvolution,
    as_product,
    as_products,
    block_clocks,
    blocks,
    convolution,
    convolution_bytes,
    direct_peak_gain,
    transform_bytes,
)
from rooflint.kernels.dispatch import kernel_for
from rooflint.kernels.gemm import constants_on

from .conftest import CHIPS, ON_CORES
from .slow_winograd import slow_fused_s, slow_transformed_s

CONSTANTS = constants_file(Registry()).constants
PRODUCTS, STREAMS, CORES = CONSTANTS.products, CONSTANTS.stream, CONSTANTS.cores
WINOGRAD = WinogradConvolution()
ROUNDING = 1e-12
V100 = ON_CORES["nvidia/v100-pcie-32gb"]
ANY_CHIP = st.sampled_from(sorted(ON_CORES)).map(ON_CORES.get)
CHANNELS = st.integers(1, 2048)
SIDE = st.integers(1, 256)
SIZES = st.tuples(st.integers(1, 64), CHANNELS, CHANNELS, SIDE, SIDE)


def ways(sizes, chip):
    found = WINOGRAD.algorithms(WINOGRAD.work(*sizes, *((3, 3) if len(sizes) == 5 else ())), chip, CONSTANTS)
    return {name: times.seconds.item() for name, times in found.items()}


def least(sizes, chip):
    return WINOGRAD.predict(WINOGRAD.work(*sizes, 3, 3), chip, CONSTANTS).item()


def test_four_by_four_outputs_of_36_points_are_36_products():
    # 14 × 14 outputs are 4 × 4 tiles, the last of them in part
    product = as_products(convolution(8, 64, 128, 14, 14, 3, 3))
    assert [float(size[0]) for size in product] == [8 * 16, 128, 64, 36]


def test_transforms_move_inputs_filters_and_outputs_with_their_points():
    # 1 image, 1 tile: (16 + 36) · 64 in, (9 + 36) · 64 · 128 of filters, (16 + 36) · 128 out
    assert transform_bytes(convolution(1, 64, 128, 4, 4, 3, 3), 4) == 4 * (52 * 64 + 45 * 64 * 128 + 52 * 128)


def test_a_block_of_the_fused_kernel_is_8_by_16_outputs_of_32_channels():
    assert blocks(convolution(2, 64, 33, 9, 16, 3, 3)) == 2 * 2 * 1 * 2
    # 32 tiles × 32 channels × 16 points, 32 additions a tile and 28 a filter, on 64 lanes
    fed = replace(PRODUCTS, matrix_efficiency=1.0, sync_feed_bytes=1e9)
    assert block_clocks(V100, fed, 4) == pytest.approx((16384 + 1024 + 896) / 64)
    # 10 × 18 inputs and 32 × 9 of filters, by ways as wide as √(64 lanes of 4 B)
    idle = replace(PRODUCTS, matrix_efficiency=1e9)
    assert block_clocks(V100, idle, 4) == pytest.approx(4 * (180 + 288) / (PRODUCTS.sync_feed_bytes * 128**0.5))


def test_a_deep_convolution_is_faster_in_fewer_multiplications():
    found = ways((32, 256, 256, 56, 56), V100)
    assert found["transformed"] < found["fused"] < found["direct"]


def test_one_of_few_channels_is_not_worth_its_transforms():
    found = ways((64, 4, 64, 128, 128), V100)
    assert min(found, key=found.get) != "transformed"


@pytest.mark.parametrize(("kernel", "stride", "groups"), [(1, 1, 1), (3, 2, 1), (5, 1, 1), (3, 1, 64)])
def test_other_convolutions_are_computed_directly(kernel, stride, groups):
    sizes = (8, 64, 64, 28, 28, kernel, kernel, stride, groups)
    found = ways(sizes, V100)
    assert found["fused"] == found["transformed"] == float("inf")
    assert WINOGRAD.predict(WINOGRAD.work(*sizes), V100, CONSTANTS) == found["direct"]


def test_matrix_units_compute_directly():
    assert kernel_for("convolution", "fp16", CHIPS["nvidia/t4"]) == Convolution("fp16")
    assert kernel_for("convolution", "fp32", ON_CORES["nvidia/t4"]) == WINOGRAD


@given(SIZES, ANY_CHIP)
def test_they_are_what_the_slow_twins_say(sizes, chip):
    here, found = constants_on(chip, PRODUCTS, CORES), ways(sizes, chip)
    assert found["fused"] == pytest.approx(slow_fused_s(*sizes, chip, here, 4), rel=1e-9)
    slow = slow_transformed_s(*sizes, chip, here, STREAMS, CORES, 4)
    assert found["transformed"] == pytest.approx(slow, rel=1e-9)


@given(SIZES, ANY_CHIP)
def test_none_beats_the_roofline_by_more_than_the_multiplications_it_saves(sizes, chip):
    one = convolution(*sizes, 3, 3)
    compute = as_product(one).macs / direct_peak_gain(one) / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    # what is left of the margin of a small image is not read by the last tiles: a stream of outputs and weights is
    weights = 4 * (one.channels_out * one.channels_in * 9 + one.batch * one.channels_out * one.height * one.width)
    assert least(sizes, chip) >= max(compute, weights / chip.bandwidth_bytes_per_s)
    assert ways(sizes, chip)["fused"] >= convolution_bytes(one, 4) / chip.bandwidth_bytes_per_s


@given(SIZES, st.integers(0, 4), st.integers(1, 64), ANY_CHIP)
def test_a_larger_convolution_takes_no_less(sizes, which, more, chip):
    larger = list(sizes)
    larger[which] += more
    assert least(larger, chip) >= least(sizes, chip) * (1 - ROUNDING)


@given(SIZES, ANY_CHIP, st.floats(1.0, 4.0))
@pytest.mark.parametrize("resource", ["sms", "macs_per_clock", "clock_hz", "bandwidth_bytes_per_s", "tdp_w"])
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert least(sizes, better) <= least(sizes, chip) * (1 + ROUNDING)
