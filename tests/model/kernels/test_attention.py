"""Attention, prefill and decode: against their slow twins, by hand, and the laws that they keep on every GPU."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels import attention as prefill
from rooflint.kernels import decode
from rooflint.kernels.attention import Attention, score_clocks, sequences
from rooflint.kernels.constants import constants_file
from rooflint.kernels.decode import Decode

from .conftest import CHIPS
from .slow_attention import slow_decode_s, slow_prefill_s

CONSTANTS = constants_file(Registry()).constants
ROUNDING = 1e-12  # of sums and powers taken in another order
RESOURCES = ("sms", "macs_per_clock", "clock_hz", "l2_bytes", "bandwidth_bytes_per_s", "tdp_w", "special_functions")
ANY_CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.get)
TOKENS = st.integers(1, 2**17) | st.sampled_from([2**power for power in range(18)])
WIDTHS = st.sampled_from([64, 72, 80, 128, 192, 256])
SHAPE = st.tuples(st.integers(1, 2048), st.integers(1, 16), st.integers(1, 96), TOKENS, WIDTHS)
"""Batch, heads that share keys, heads of keys, tokens, width."""


def shape(batch, group, kv_heads, tokens, width):
    return sequences(batch, group * kv_heads, kv_heads, tokens, width)


def work(kernel, sizes, *, warm=False):
    return kernel.work(*shape(*sizes), copies=1.0 if warm else np.inf)


def prefill_s(sizes, chip, *, warm=False, causal=True, append_bytes=0.0):
    kernel = Attention(causal=causal, append_bytes=append_bytes)
    (found,) = kernel.predict(work(kernel, sizes, warm=warm), chip, CONSTANTS)
    return found


def decode_s(sizes, chip, *, warm=False, cache_bytes=2.0):
    kernel = Decode(cache_bytes=cache_bytes)
    (found,) = kernel.predict(work(kernel, sizes, warm=warm), chip, CONSTANTS)
    return found


BOTH = pytest.mark.parametrize("seconds", [prefill_s, decode_s], ids=["prefill", "decode"])


# --------------------------------------------------------------------------------------------------------------- shapes


def test_heads_that_do_not_share_keys_evenly_are_refused():
    with pytest.raises(RooflintError, match=r"^heads: want a multiple of the 3 heads of keys and values, found 8$"):
        sequences(1, [6, 8], 3, 128, 64)


def test_an_empty_sequence_is_refused():
    with pytest.raises(RooflintError, match=r"^tokens: want 1 or more, found 0$"):
        sequences(1, 8, 8, 0, 64)


def test_many_shapes_are_timed_as_each_by_itself():
    chip, tokens = CHIPS["nvidia/h100-sxm5-80gb"], np.array([1, 100, 4096, 65536])
    kernel = Attention(causal=True)
    together = kernel.predict(kernel.work(2, 32, 8, tokens, 128), chip, CONSTANTS)
    assert together == pytest.approx([prefill_s((2, 4, 8, one, 128), chip) for one in tokens])


# -------------------------------------------------------------------------------------------------------------- by hand


def test_a_causal_sequence_has_half_the_work():
    # 4 · 2 samples · 32 heads · 4096² · 128 / 2 = 274.9 G
    assert prefill.ops(sequences(2, 32, 8, 4096, 128)) == 4 * 2 * 32 * 4096**2 * 128 / 2
    assert prefill.ops(sequences(2, 32, 8, 4096, 128), causal=False) == 4 * 2 * 32 * 4096**2 * 128


def test_prefill_moves_queries_keys_values_and_output_and_appends_to_the_cache():
    # Q and the output 2 · 16·64 · 100, K and V 2 · 4·64 · 100 elements of 2 B; K and V again, read and written
    once = 2 * (16 * 64 * 100 + 4 * 64 * 100) * 2
    sizes = sequences(1, 16, 4, 100, 64)
    assert prefill.bytes_moved(sizes, element_bytes=2, append_bytes=0) == once
    assert prefill.bytes_moved(sizes, element_bytes=2, append_bytes=2) == once + 2 * 4 * 64 * 100 * 4


def test_decode_reads_the_cache_once():
    # K and V 2 · 8 · 1024 · 128 elements of 1 B, Q and the output 2 · 64 · 128 of 2 B
    sizes = sequences(1, 64, 8, 1024, 128)
    assert decode.bytes_moved(sizes, cache_bytes=1) == 2 * 8 * 1024 * 128 + 2 * 64 * 128 * 2


@pytest.mark.parametrize("tokens", [128, 256, 4096])
def test_steps_of_a_causal_sequence_are_counted_exactly_where_blocks_are_full(tokens):
    whole = sequences(1, 8, 8, tokens, 128)
    each = prefill.blocks(whole, 128)
    # block i of 128 queries sees 128 (i + 1) keys, in steps of 32
    assert prefill.steps(whole, each, causal=True) == sum(4 * (block + 1) for block in range(tokens // 128))
    assert prefill.steps(whole, each, causal=False) == (tokens // 128) * (tokens // 32)


def test_heads_that_share_keys_fill_a_block_of_a_short_sequence():
    short = sequences(1, 64, 8, 16, 128)  # 8 heads share keys: 16 · 8 rows are one block of 128
    assert prefill.blocks(short, 128) == 1


@pytest.mark.parametrize(("device", "clocks"), [("nvidia/l40s", 0.5 + 1 / 16), ("nvidia/h100-sxm5-80gb", 0.1397542)])
def test_warps_that_wait_find_exponentials_before_or_after_their_products(device, clocks):
    # 2 · 128 MAC of 512 a clock and one exponential of 16; of 2048 and beside them √(0.125² + 0.0625²)
    own = replace(CONSTANTS.prefill, matrix_efficiency=1.0)
    assert score_clocks(np.array([128.0]), CHIPS[device], own) == pytest.approx(clocks, rel=1e-6)


def test_a_head_is_padded_to_whole_matrix_instructions():
    clocks = score_clocks(np.array([65.0, 72.0, 80.0, 81.0]), CHIPS["nvidia/l40s"], CONSTANTS.prefill)
    assert clocks[0] == clocks[1] == clocks[2] < clocks[3]


def test_blackwell_ultra_is_faster_where_exponentials_take_longest():
    sizes = (8, 1, 16, 8192, 64)
    times = [prefill_s(sizes, CHIPS[device]) for device in ("nvidia/b200-sxm", "nvidia/b300-sxm")]
    assert times[0] > 1.2 * times[1]  # the same SMs, MAC/clock and clock


def test_a_kernel_near_the_rated_power_is_slowed():
    # 350 W are 229 TFLOP/s at 1.53 pJ, and the matrix units could do 0.85 of 366: each is most of the time
    sizes, chip = shape(8, 1, 16, 16384, 128), CHIPS["nvidia/l40s"]
    alone = prefill.blocks_s(sizes, chip, CONSTANTS.prefill, causal=False)
    powered = prefill.power_s(sizes, chip, CONSTANTS, causal=False)
    together = prefill.computed_s(sizes, chip, CONSTANTS, causal=False)
    assert 1.1 < together / np.maximum(alone, powered) < 2 ** (1 / CONSTANTS.products.overlap)


def test_a_long_cache_of_one_head_is_split():
    chip = CHIPS["nvidia/h100-sxm5-80gb"]
    long = shape(1, 8, 1, 131072, 128)
    parts = [decode.part_s(long, split, chip, CONSTANTS)[0] for split in decode.SPLITS]
    assert parts[0] > 10 * parts[-1]
    assert decode.reduction_s(long, 1, chip, CONSTANTS) == 0


# ----------------------------------------------------------------------------------------------------------- slow twins


@given(SHAPE, ANY_CHIP, st.booleans(), st.sampled_from([0.0, 1.0, 2.0]), st.booleans())
def test_prefill_equals_its_slow_twin(sizes, chip, causal, append_bytes, warm):
    batch, group, kv_heads, tokens, width = sizes
    slow = slow_prefill_s(
        batch, group * kv_heads, kv_heads, tokens, width, chip, CONSTANTS, causal, 2.0, append_bytes, warm
    )
    assert prefill_s(sizes, chip, causal=causal, append_bytes=append_bytes, warm=warm) == pytest.approx(slow, rel=1e-10)


@given(SHAPE, ANY_CHIP, st.sampled_from([1.0, 2.0]), st.booleans())
def test_decode_equals_its_slow_twin(sizes, chip, cache_bytes, warm):
    batch, group, kv_heads, tokens, width = sizes
    slow = slow_decode_s(batch, group * kv_heads, kv_heads, tokens, width, chip, CONSTANTS, cache_bytes, warm)
    assert decode_s(sizes, chip, cache_bytes=cache_bytes, warm=warm) == pytest.approx(slow, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------------- laws


@BOTH
@given(sizes=SHAPE, which=st.sampled_from([0, 1, 3]), more=st.integers(1, 512), chip=ANY_CHIP, warm=st.booleans())
def test_more_samples_heads_or_tokens_take_no_less(seconds, sizes, which, more, chip, warm):
    larger = list(sizes)
    larger[which] += more
    assert seconds(larger, chip, warm=warm) >= seconds(sizes, chip, warm=warm) * (1 - ROUNDING)


@BOTH
@given(sizes=SHAPE, more=st.integers(1, 64), chip=ANY_CHIP)
def test_more_heads_of_their_own_keys_take_no_less(seconds, sizes, more, chip):
    larger = list(sizes)
    larger[2] += more
    assert seconds(larger, chip) >= seconds(sizes, chip) * (1 - ROUNDING)


@BOTH
@pytest.mark.parametrize("resource", RESOURCES)
@given(sizes=SHAPE, chip=ANY_CHIP, factor=st.floats(1.0, 4.0), warm=st.booleans())
def test_more_of_a_resource_takes_no_longer(seconds, resource, sizes, chip, factor, warm):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert seconds(sizes, better, warm=warm) <= seconds(sizes, chip, warm=warm) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP, st.booleans(), st.sampled_from([0.0, 2.0]))
def test_no_prefill_beats_the_roofline(sizes, chip, causal, append_bytes):
    kernel = Attention(causal=causal, append_bytes=append_bytes)
    alone = work(kernel, sizes)
    assert kernel.predict(alone, chip, CONSTANTS) >= kernel.floor_s(alone, chip)


@given(SHAPE, ANY_CHIP, st.sampled_from([1.0, 2.0]))
def test_no_decode_beats_the_roofline(sizes, chip, cache_bytes):
    kernel = Decode(cache_bytes=cache_bytes)
    alone = work(kernel, sizes)
    assert kernel.predict(alone, chip, CONSTANTS) >= kernel.floor_s(alone, chip)


@BOTH
@given(sizes=SHAPE, chip=ANY_CHIP)
def test_tensors_that_were_touched_just_before_take_no_longer(seconds, sizes, chip):
    assert seconds(sizes, chip, warm=True) <= seconds(sizes, chip) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP)
def test_a_sequence_that_sees_all_of_itself_takes_no_less_than_a_causal_one(sizes, chip):
    assert prefill_s(sizes, chip, causal=False) >= prefill_s(sizes, chip) * (1 - ROUNDING)


@given(SHAPE, ANY_CHIP)
def test_a_narrower_cache_takes_no_longer(sizes, chip):
    assert decode_s(sizes, chip, cache_bytes=1) <= decode_s(sizes, chip, cache_bytes=2) * (1 + ROUNDING)
