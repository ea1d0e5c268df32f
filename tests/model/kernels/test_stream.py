"""Streams and pointwise kernels: a ramp from the launch to the bandwidth of memory."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels import stream
from rooflint.kernels.constants import constants_file
from rooflint.kernels.shapes import miss_share

from .conftest import CHIPS
from .slow_attention import slow_bytes_s

ALL = constants_file(Registry()).constants
CONSTANTS = ALL.stream
STREAM = stream.Stream(bytes_in=0.5, bytes_out=0.5)
ROUNDING = 1e-12
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
BYTES = st.integers(1, 2**40)


def seconds(moved, chip, *, warm=False):
    (found,) = STREAM.predict(STREAM.work(float(moved), 1, copies=1.0 if warm else np.inf), chip, ALL)
    return found


def test_an_empty_kernel_takes_a_launch():
    chip = CHIPS["nvidia/l40s"]
    assert seconds(1, chip) == pytest.approx(CONSTANTS.launch_clocks / chip.clock_hz, rel=1e-3)


def test_the_ramp_ends_at_what_a_stream_attains():
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    sizes = np.array([1e4, 1e6, 1e8, 1e12])
    ramp = sizes / STREAM.predict(STREAM.work(sizes, 1), chip, ALL)
    assert (np.diff(ramp) > 0).all()
    assert ramp[-1] == pytest.approx(CONSTANTS.dram_efficiency * chip.bandwidth_bytes_per_s, rel=1e-3)


def test_error_correction_inside_of_the_memory_costs_kernels_that_write():
    # 100 GB of an L40S: 864 GB/s × 0.883 × e; the same memory without it gives 864 GB/s × e
    chip = CHIPS["nvidia/l40s"]
    assert chip.ecc == 1 / 16
    attained = 864e9 * 0.883 * CONSTANTS.dram_efficiency
    assert seconds(100e9, chip) == pytest.approx(100e9 / attained, rel=1e-4)
    assert seconds(100e9, replace(chip, ecc=0.0)) == pytest.approx(100e9 / (attained / 0.883), rel=1e-4)
    assert CHIPS["nvidia/h100-sxm5-80gb"].ecc == 0  # HBM has its bits beside the data


def test_what_reads_loses_nothing_to_error_correction():
    chip = CHIPS["nvidia/l40s"]
    moved = np.array([1e10])
    off = replace(chip, ecc=0.0)
    assert stream.bytes_s(moved, chip, CONSTANTS, warm=False) == stream.bytes_s(moved, off, CONSTANTS, warm=False)


def test_half_of_the_bytes_miss_where_they_reach_past_l2():
    chip = CHIPS["nvidia/a100-sxm4-80gb"]
    reach = np.array([CONSTANTS.l2_reach * chip.l2_bytes])
    assert miss_share(reach, chip, CONSTANTS) == pytest.approx(0.5)
    assert miss_share(reach / 2, chip, CONSTANTS) < 1e-4
    cold, warm = (stream.bytes_s(reach / 2, chip, CONSTANTS, warm=warm) for warm in (False, True))
    assert cold == reach / 2 / (CONSTANTS.dram_efficiency * chip.bandwidth_bytes_per_s)
    assert warm < cold


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
    assert stream.QUANTISE.bytes_moved(stream.QUANTISE.work(10, 100)) == 3000
    binary = stream.Stream(reads=2)
    assert binary.bytes_moved(binary.work(10, 100)) == 6000


def test_a_scale_of_the_tensor_is_found_by_reading_it_once_more():
    # 2 + 2 + 1 instead of 2 + 1 bytes an element, and three kernels to launch
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    known, found = (one.time(one.work(8192, 8192), chip, ALL) for one in (stream.QUANTISE, stream.QUANTISE_TENSOR))
    assert found.memory_s == pytest.approx(known.memory_s * 5 / 3)
    assert found.launch_s() == pytest.approx(ALL.scales.tensor_launch_us * 1e-6)


def test_only_the_quantise_kernel_is_calibrated():
    assert (stream.QUANTISE.topic, stream.Stream().topic, stream.Other().topic) == ("quantise", None, None)
    assert (stream.QUANTISE_ROWS.topic, stream.QUANTISE_TENSOR.topic) == ("quantise_row", "quantise_tensor")
    assert stream.QUANTISE_BLOCKS.topic is None  # measured with the product that follows alone
    assert stream.QUANTISE.rests_on.startswith("calibrated")
    assert stream.Stream.rests_on.startswith("not calibrated")


def test_dequantised_weights_are_read_with_their_scales_and_written_in_two_bytes():
    # 4096 × 8192 × (6.25 bit + 16 bit) / 8 = 93 323 264 B
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    model = stream.Dequantise(stored="mxfp6")
    work = model.work(4096, 8192)
    assert model.bytes_moved(work) == 93_323_264
    assert model.floor_s(work, chip) == pytest.approx(93_323_264 / chip.bandwidth_bytes_per_s)


def test_fewer_stored_bits_are_dequantised_sooner():
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    seconds = [
        model.predict(model.work(8192, 8192), chip, ALL).item()
        for model in (stream.Dequantise(stored=stored) for stored in ("fp4", "mxfp6", "fp8", "bf16"))
    ]
    assert seconds == sorted(set(seconds))
