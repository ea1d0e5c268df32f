"""Streams and pointwise kernels: a ramp from the launch to the bandwidth of memory."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.devices.registry import Registry
from rooflint.kernels import pointwise, stream
from rooflint.kernels.constants import constants_file

from .conftest import CHIPS
from .slow_attention import slow_bytes_s

CONSTANTS = constants_file(Registry()).constants.stream
ROUNDING = 1e-12
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
BYTES = st.integers(1, 2**40)


def seconds(moved, chip, *, warm=False):
    (found,) = stream.latency_s(np.array([float(moved)]), chip, CONSTANTS, warm=warm)
    return found


def test_an_empty_kernel_takes_a_launch():
    chip = CHIPS["nvidia/l40s"]
    assert seconds(1, chip) == pytest.approx(CONSTANTS.launch_clocks / chip.clock_hz, rel=1e-3)


def test_the_ramp_ends_at_what_a_stream_attains():
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    sizes = np.array([1e4, 1e6, 1e8, 1e12])
    ramp = stream.attained_bytes_per_s(sizes, chip, CONSTANTS)
    assert (np.diff(ramp) > 0).all()
    assert ramp[-1] == pytest.approx(CONSTANTS.dram_efficiency * chip.bandwidth_bytes_per_s, rel=1e-3)


def test_half_of_the_bytes_miss_where_they_reach_past_l2():
    chip = CHIPS["nvidia/a100-sxm4-80gb"]
    reach = np.array([CONSTANTS.l2_reach * chip.l2_bytes])
    assert stream.miss_share(reach, chip, CONSTANTS, warm=True) == pytest.approx(0.5)
    assert stream.miss_share(reach / 2, chip, CONSTANTS, warm=True) < 1e-4
    assert stream.miss_share(reach / 2, chip, CONSTANTS, warm=False) == 1


@given(BYTES, ANY_CHIP, st.booleans())
def test_bytes_take_as_long_as_in_the_slow_twin(moved, chip, warm):
    fast = stream.bytes_s(np.array([float(moved)]), chip, CONSTANTS, warm=warm)
    assert fast[0] == pytest.approx(slow_bytes_s(moved, chip, CONSTANTS, warm), rel=1e-10)


@given(BYTES, st.integers(1, 2**40), ANY_CHIP, st.booleans())
def test_more_bytes_take_no_less(moved, more, chip, warm):
    assert seconds(moved + more, chip, warm=warm) >= seconds(moved, chip, warm=warm) * (1 - ROUNDING)


@pytest.mark.parametrize("resource", ["sms", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s"])
@given(BYTES, ANY_CHIP, st.floats(1.0, 4.0), st.booleans())
def test_more_of_a_resource_takes_no_longer(resource, moved, chip, factor, warm):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(moved, better, warm=warm) <= seconds(moved, chip, warm=warm) * (1 + ROUNDING)


@given(BYTES, ANY_CHIP)
def test_nothing_beats_the_bandwidth_of_memory_where_nothing_is_left_in_l2(moved, chip):
    assert seconds(moved, chip) >= moved / chip.bandwidth_bytes_per_s


def test_a_quantise_kernel_reads_two_bytes_and_writes_one():
    assert pointwise.bytes_moved(pointwise.KERNELS["quantise"], 1000.0, 2, 1) == 3000
    assert pointwise.bytes_moved(pointwise.KERNELS["binary"], 1000.0, 2, 2) == 6000


def test_only_the_quantise_kernel_is_calibrated():
    calibrated = {name for name, kernel in pointwise.KERNELS.items() if kernel.calibrated.startswith("calibrated")}
    assert calibrated == {"quantise"}
    assert all(kernel.calibrated.startswith(("calibrated", "not calibrated")) for kernel in pointwise.KERNELS.values())


def test_a_softmax_takes_the_same_ramp():
    chip, elements = CHIPS["nvidia/l40s"], np.array([1e6])
    softmax = pointwise.latency_s(pointwise.KERNELS["softmax"], elements, chip, CONSTANTS, bytes_in=2, bytes_out=2)
    assert softmax == stream.latency_s(4 * elements, chip, CONSTANTS)
