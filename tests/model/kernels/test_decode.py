"""Attention of one new token on a cache: against its slow twin, by hand, and the laws that it keeps on every GPU."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.hardware.registry import Registry
from rooflint.kernels import decode
from rooflint.kernels.attention import sequences
from rooflint.kernels.constants import constants_file
from rooflint.kernels.decode import Decode

from .conftest import CHIPS
from .sequences import ANY_CHIP, RESOURCES, ROUNDING, SHAPE, shape, work
from .slow_attention import slow_decode_s

CONSTANTS = constants_file(Registry()).constants
H100 = CHIPS["nvidia/h100-sxm5-80gb"]
CACHE_BYTES = st.sampled_from([1.0, 2.0])


def decode_s(sizes, chip, *, warm=False, cache_bytes=2.0):
    kernel = Decode(cache_bytes=cache_bytes)
    (found,) = kernel.predict(work(kernel, sizes, warm=warm), chip, CONSTANTS)
    return found


# -------------------------------------------------------------------------------------------------------------- by hand


def test_decode_reads_the_cache_once():
    # K and V 2 · 8 · 1024 · 128 elements of 1 B, Q and the output 2 · 64 · 128 of 2 B
    moved = 2 * 8 * 1024 * 128 + 2 * 64 * 128 * 2
    assert decode.bytes_moved(sequences(1, 64, 8, 1024, 128), cache_bytes=1) == moved
    kernel = Decode(cache_bytes=1.0)
    assert kernel.bytes_moved(kernel.work(1, 64, 8, 1024, 128)) == moved
    joined = replace(kernel.work(1, 64, 8, 1024, 128), bytes_moved=np.array([5.0]))
    assert kernel.bytes_moved(joined) == 5.0


def test_every_key_is_multiplied_once_by_the_query_and_once_by_its_score():
    assert decode.macs(sequences(3, 64, 8, 1024, 128)) == 2 * 3 * 64 * 1024 * 128


def test_the_roofline_is_the_cache_at_full_bandwidth_or_all_macs_at_peak():
    kernel, sizes = Decode(), (16, 64, 8, 4096, 128)
    moved = decode.bytes_moved(sequences(*sizes), cache_bytes=2)
    assert kernel.floor_s(kernel.work(*sizes), H100) == moved / H100.bandwidth_bytes_per_s
    slow = replace(H100, sms=1, macs_per_clock=1, clock_hz=1.0)
    assert kernel.floor_s(kernel.work(*sizes), slow) == 2 * 16 * 64 * 4096 * 128


def test_a_long_cache_of_one_head_is_split():
    long = Decode().caches(shape(1, 8, 1, 131072, 128), H100, CONSTANTS)
    parts = [decode.part_s(long, split, H100, CONSTANTS.decode)[0] for split in decode.SPLITS]
    assert parts[0] > 10 * parts[-1]
    sums = [decode.reduction_s(long, split, H100, CONSTANTS.decode, CONSTANTS.stream).item() for split in (1, 4, 16)]
    assert sums[0] == 0 < sums[1] < sums[2]


def test_terms_are_those_of_the_best_split_and_add_up():
    # one head with a long cache is split and combined; 512 samples fill all SMs with whole caches
    kernel = Decode()
    some = kernel.work([1, 512], 8, 8, [131072, 64], 128)
    terms = kernel.terms(some, H100, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(kernel.predict(some, H100, CONSTANTS), rel=1e-12)
    assert list(terms) == ["main loop", "fill", "memory", "reduction", "launch"]
    assert terms["reduction"][0] > 0 == terms["reduction"][1]
    assert (terms["fill"] > 0).all()
    assert (terms["main loop"] > 0).all()
    assert terms["launch"].tolist() == [CONSTANTS.decode.launch_clocks / H100.clock_hz] * 2


def test_what_overlaps_is_told_apart():
    kernel = Decode()
    some = kernel.work(16, 64, 8, 4096, 128)
    found = kernel.time(some, H100, CONSTANTS)
    assert found.compute_s > 0
    assert found.memory_s == kernel.terms(some, H100, CONSTANTS)["memory"]  # the longer one whole
    assert max(found.compute_s, found.memory_s) < found.together_s < found.compute_s + found.memory_s


def test_errors_are_known_of_a_cache_in_two_bytes_and_in_one():
    topics = [Decode(cache_bytes=width).topic for width in (2.0, 1.0, 0.5)]
    assert topics == ["decode", "decode_fp8", None]
    assert Decode("fp16").topic is None


def test_another_precision_than_the_measured_one_is_told():
    assert Decode().caveats == ()
    (said,) = Decode("fp16").caveats
    assert "fp16" in said


# ----------------------------------------------------------------------------------------------------------- slow twins


@given(SHAPE, ANY_CHIP, CACHE_BYTES, st.booleans())
def test_decode_equals_its_slow_twin(sizes, chip, cache_bytes, warm):
    batch, group, kv_heads, tokens, width = sizes
    slow = slow_decode_s(batch, group * kv_heads, kv_heads, tokens, width, chip, CONSTANTS, cache_bytes, warm)
    assert decode_s(sizes, chip, cache_bytes=cache_bytes, warm=warm) == pytest.approx(slow, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------------- laws


@given(sizes=SHAPE, which=st.sampled_from([0, 1, 3]), more=st.integers(1, 512), chip=ANY_CHIP, warm=st.booleans())
def test_more_samples_heads_or_tokens_take_no_less(sizes, which, more, chip, warm):
    larger = list(sizes)
    larger[which] += more
    assert decode_s(larger, chip, warm=warm) >= decode_s(sizes, chip, warm=warm) * (1 - ROUNDING)


@given(sizes=SHAPE, more=st.integers(1, 64), chip=ANY_CHIP)
def test_more_heads_of_their_own_keys_take_no_less(sizes, more, chip):
    larger = list(sizes)
    larger[2] += more
    assert decode_s(larger, chip) >= decode_s(sizes, chip) * (1 - ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("resource", RESOURCES)
@given(sizes=SHAPE, chip=ANY_CHIP, factor=st.floats(1.0, 4.0), warm=st.booleans())
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor, warm):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert decode_s(sizes, better, warm=warm) <= decode_s(sizes, chip, warm=warm) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP, CACHE_BYTES)
def test_no_decode_beats_the_roofline(sizes, chip, cache_bytes):
    kernel = Decode(cache_bytes=cache_bytes)
    alone = work(kernel, sizes)
    assert kernel.predict(alone, chip, CONSTANTS) >= kernel.floor_s(alone, chip)


@given(sizes=SHAPE, chip=ANY_CHIP)
def test_a_cache_that_was_touched_just_before_takes_no_longer(sizes, chip):
    assert decode_s(sizes, chip, warm=True) <= decode_s(sizes, chip) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP)
def test_a_narrower_cache_takes_no_longer(sizes, chip):
    assert decode_s(sizes, chip, cache_bytes=1) <= decode_s(sizes, chip, cache_bytes=2) * (1 + ROUNDING)
