"""Convolutions: as implicit products, and by Winograd's algorithms: savings, costs, laws, and their slow twins."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import (
    MEASURED_RANGE,
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
from rooflint.kernels.gemm import constants_on
from rooflint.kernels.products import Gemm, batch_menu

from .conftest import CHIPS, ON_CORES
from .slow_winograd import slow_fused_s, slow_transformed_s

CONSTANTS = constants_file(Registry()).constants
PRODUCTS, STREAMS, CORES = CONSTANTS.products, CONSTANTS.stream, CONSTANTS.cores
ROUNDING = 1e-12
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
SIDE = st.integers(1, 256)
CHANNELS = st.sampled_from([1, 3, 16, 64, 256, 1024])
KERNEL = st.sampled_from([1, 3, 5, 7])
CONVOLUTION = st.tuples(st.integers(1, 64), CHANNELS, CHANNELS, SIDE, SIDE, KERNEL, KERNEL, st.sampled_from([1, 2]))


def seconds(sizes, chip):
    (found,) = Convolution().predict(Convolution().work(*sizes), chip, CONSTANTS)
    return found


def test_the_first_convolution_of_resnet_is_a_product():
    # 112 · 112 positions × 64 channels, each a sum over 3 · 7 · 7
    product = as_product(convolution(8, 3, 64, 112, 112, 7, 7, stride=2))
    assert [float(size[0]) for size in product] == [8 * 112 * 112, 64, 147, 1]


def test_groups_are_products_of_their_own():
    product = as_product(convolution(1, 64, 128, 14, 14, 3, 3, groups=32))
    assert [float(size[0]) for size in product] == [196, 4, 18, 32]


def test_channels_that_do_not_divide_into_groups_are_refused():
    with pytest.raises(RooflintError, match=r"^channels_out: want a multiple of the groups$"):
        convolution(1, 64, 100, 14, 14, 3, 3, groups=32)
    with pytest.raises(RooflintError, match=r"^stride: want 1 or more, found 0$"):
        convolution(1, 64, 64, 14, 14, 3, 3, stride=0)


def test_the_input_is_read_once_and_not_unfolded():
    # 16 · 16 inputs for 14 · 14 outputs of 3 × 3; 64 · 64 · 9 weights; 14 · 14 outputs
    moved = convolution_bytes(convolution(1, 64, 64, 14, 14, 3, 3), 2)
    assert moved == 2 * (64 * 16 * 16 + 64 * 64 * 9 + 64 * 14 * 14)
    # of 1 × 1 in steps of 2 only every other row is read
    assert convolution_bytes(convolution(1, 1, 1, 14, 14, 1, 1, stride=2), 1) == 14 * 14 + 1 + 14 * 14


def test_a_one_by_one_convolution_is_its_product():
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    product = Gemm().predict(Gemm().work(4 * 56 * 56, 256, 64), chip, CONSTANTS)
    assert seconds((4, 64, 256, 56, 56, 1, 1), chip) == pytest.approx(product[0], rel=1e-10)


@pytest.mark.parametrize(
    ("kernel", "stride", "groups", "gain"), [(3, 1, 1, 4), (3, 2, 1, 1), (1, 1, 1, 1), (5, 1, 1, 1), (3, 1, 64, 1)]
)
def test_winograd_may_beat_the_direct_peak_only_where_it_applies(kernel, stride, groups, gain):
    assert direct_peak_gain(convolution(1, 64, 64, 14, 14, kernel, kernel, stride, groups)) == gain


def test_convolutions_say_that_nobody_measured_them():
    assert Convolution().topic is None
    assert Convolution.rests_on.startswith("not calibrated")


@given(CONVOLUTION, ANY_CHIP)
def test_no_direct_convolution_beats_the_roofline(sizes, chip):
    one = convolution(*sizes)
    compute = as_product(one).macs / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    assert seconds(sizes, chip) >= max(compute, convolution_bytes(one, 2) / chip.bandwidth_bytes_per_s)


@given(CONVOLUTION, st.integers(0, 4), st.integers(1, 64), ANY_CHIP)
def test_a_larger_convolution_takes_no_less(sizes, which, more, chip):
    larger = list(sizes)
    larger[which] += more
    assert seconds(larger, chip) >= seconds(sizes, chip) * (1 - ROUNDING)


@pytest.mark.slow
@given(CONVOLUTION, ANY_CHIP, st.floats(1.0, 4.0))
@pytest.mark.parametrize("resource", ["sms", "macs_per_clock", "clock_hz", "bandwidth_bytes_per_s", "tdp_w"])
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(sizes, better) <= seconds(sizes, chip) * (1 + ROUNDING)


# --------------------------------------------------------------------------------- Winograd's algorithms, on CUDA cores

WINOGRAD = WinogradConvolution()
V100 = ON_CORES["nvidia/v100-pcie-32gb"]
ANY_LANES = st.sampled_from(sorted(ON_CORES)).map(ON_CORES.get)
ANY_CHANNELS = st.integers(1, 2048)
NINE_TAPS = st.tuples(st.integers(1, 64), ANY_CHANNELS, ANY_CHANNELS, SIDE, SIDE)
"""Batch, channels in and out, height and width of the output; the kernel is 3 × 3."""


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


@given(NINE_TAPS, ANY_LANES)
def test_they_are_what_the_slow_twins_say(sizes, chip):
    here, found = constants_on(chip, PRODUCTS, CORES), ways(sizes, chip)
    through_memory = replace(here, store_bytes=PRODUCTS.store_bytes)
    assert found["fused"] == pytest.approx(slow_fused_s(*sizes, chip, through_memory, 4), rel=1e-9)
    slow = slow_transformed_s(*sizes, chip, here, STREAMS, CORES, 4, batch_menu(chip).tiles)
    assert found["transformed"] == pytest.approx(slow, rel=1e-9)


@pytest.mark.slow
@given(NINE_TAPS, ANY_LANES)
def test_none_beats_the_roofline_by_more_than_the_multiplications_it_saves(sizes, chip):
    one = convolution(*sizes, 3, 3)
    compute = as_product(one).macs / direct_peak_gain(one) / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    # what is left of the margin of a small image is not read by the last tiles: a stream of outputs and weights is
    weights = 4 * (one.channels_out * one.channels_in * 9 + one.batch * one.channels_out * one.height * one.width)
    assert least(sizes, chip) >= max(compute, weights / chip.bandwidth_bytes_per_s)
    assert ways(sizes, chip)["fused"] >= convolution_bytes(one, 4) / chip.bandwidth_bytes_per_s


@pytest.mark.slow
@given(NINE_TAPS, st.integers(0, 4), st.integers(1, 64), ANY_LANES)
def test_a_larger_convolution_on_cuda_cores_takes_no_less(sizes, which, more, chip):
    larger = list(sizes)
    larger[which] += more
    assert least(larger, chip) >= least(sizes, chip) * (1 - ROUNDING)


@pytest.mark.slow
@given(NINE_TAPS, ANY_LANES, st.floats(1.0, 4.0))
@pytest.mark.parametrize("resource", ["sms", "macs_per_clock", "clock_hz", "bandwidth_bytes_per_s", "tdp_w"])
def test_more_of_a_resource_takes_no_longer_on_cuda_cores(resource, sizes, chip, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert least(sizes, better) <= least(sizes, chip) * (1 + ROUNDING)


def test_what_published_convolutions_took_is_told_where_matrix_units_compute():
    assert Convolution("bf16").caveats[-1] == Convolution("fp16").caveats[-1] == MEASURED_RANGE
    assert MEASURED_RANGE not in WINOGRAD.caveats
