"""Convolutions as implicit products."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels.constants import constants_file
from rooflint.kernels.convolution import Convolution, as_product, convolution, convolution_bytes, direct_peak_gain
from rooflint.kernels.products import Gemm

from .conftest import CHIPS

CONSTANTS = constants_file(Registry()).constants
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


@given(CONVOLUTION, ANY_CHIP, st.floats(1.0, 4.0))
@pytest.mark.parametrize("resource", ["sms", "macs_per_clock", "clock_hz", "bandwidth_bytes_per_s", "tdp_w"])
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(sizes, better) <= seconds(sizes, chip) * (1 + ROUNDING)
