"""Attention on whole sequences: against its slow twin, by hand, and the laws that it keeps on every GPU."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import Registry
from rooflint.kernels import attention as prefill
from rooflint.kernels.attention import Attention, score_clocks, sequences
from rooflint.kernels.constants import constants_file

from .conftest import CHIPS
from .sequences import ANY_CHIP, RESOURCES, ROUNDING, SHAPE, shape, work
from .slow_attention import slow_prefill_s

CONSTANTS = constants_file(Registry()).constants


def prefill_s(sizes, chip, *, warm=False, causal=True, append_bytes=0.0):
    kernel = Attention(causal=causal, append_bytes=append_bytes)
    (found,) = kernel.predict(work(kernel, sizes, warm=warm), chip, CONSTANTS)
    return found


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


def test_terms_of_a_sequence_add_up_and_its_exponentials_are_one_of_them():
    kernel, chip = Attention(causal=True), CHIPS["nvidia/l40s"]
    some = kernel.work([1, 8], 8, 8, [100, 4096], 64)
    terms = kernel.terms(some, chip, CONSTANTS)
    assert np.sum(list(terms.values()), axis=0) == pytest.approx(kernel.predict(some, chip, CONSTANTS), rel=1e-12)
    assert list(terms) == ["main loop", "softmax", "fill", "power", "memory", "launch"]
    assert all((seconds > 0).all() for seconds in terms.values())
    # one block after the other: 64 MAC twice of 512 a clock at what units attain, beside one exponential of 16 a clock
    products = 2 * 64 / (chip.macs_per_clock * CONSTANTS.prefill.matrix_efficiency)
    assert terms["softmax"] / terms["main loop"] == pytest.approx([1 / 16 / products] * 2)
    assert terms["launch"].tolist() == [CONSTANTS.prefill.launch_clocks / chip.clock_hz] * 2


def test_the_roofline_of_a_sequence_is_its_tensors_or_all_its_macs_at_peak():
    kernel, chip, sizes = Attention(), CHIPS["nvidia/l40s"], (2, 32, 8, 4096, 128)
    assert kernel.floor_s(kernel.work(*sizes), chip) == pytest.approx(
        2 * 2 * 32 * 4096**2 * 128 / (chip.sms * chip.macs_per_clock * chip.clock_hz)
    )
    narrow = replace(chip, bandwidth_bytes_per_s=1.0)
    assert kernel.floor_s(kernel.work(*sizes), narrow) == 2 * (2 * 32 + 2 * 8) * 4096 * 128 * 2


def test_errors_are_known_of_prefill_into_a_cache_and_of_encoders():
    kernels = [Attention(causal=True, append_bytes=2.0), Attention(), Attention(causal=True), Attention("fp16")]
    assert [one.topic for one in kernels] == ["prefill", "encoder", None, None]
    said = "attention was measured in bf16; its constants are used unchanged in fp16"
    assert [one.caveats for one in kernels] == [(), (), (), (said,)]


# ----------------------------------------------------------------------------------------------------------- slow twins


@given(SHAPE, ANY_CHIP, st.booleans(), st.sampled_from([0.0, 1.0, 2.0]), st.booleans())
def test_prefill_equals_its_slow_twin(sizes, chip, causal, append_bytes, warm):
    batch, group, kv_heads, tokens, width = sizes
    slow = slow_prefill_s(
        batch, group * kv_heads, kv_heads, tokens, width, chip, CONSTANTS, causal, 2.0, append_bytes, warm
    )
    assert prefill_s(sizes, chip, causal=causal, append_bytes=append_bytes, warm=warm) == pytest.approx(slow, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------------- laws


@given(sizes=SHAPE, which=st.sampled_from([0, 1, 3]), more=st.integers(1, 512), chip=ANY_CHIP, warm=st.booleans())
def test_more_samples_heads_or_tokens_take_no_less(sizes, which, more, chip, warm):
    larger = list(sizes)
    larger[which] += more
    assert prefill_s(larger, chip, warm=warm) >= prefill_s(sizes, chip, warm=warm) * (1 - ROUNDING)


@given(sizes=SHAPE, more=st.integers(1, 64), chip=ANY_CHIP)
def test_more_heads_of_their_own_keys_take_no_less(sizes, more, chip):
    larger = list(sizes)
    larger[2] += more
    assert prefill_s(larger, chip) >= prefill_s(sizes, chip) * (1 - ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("resource", RESOURCES)
@given(sizes=SHAPE, chip=ANY_CHIP, factor=st.floats(1.0, 4.0), warm=st.booleans())
def test_more_of_a_resource_takes_no_longer(resource, sizes, chip, factor, warm):
    better = replace(chip, **{resource: getattr(chip, resource) * factor})
    assert prefill_s(sizes, better, warm=warm) <= prefill_s(sizes, chip, warm=warm) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP, st.booleans(), st.sampled_from([0.0, 2.0]))
def test_no_prefill_beats_the_roofline(sizes, chip, causal, append_bytes):
    kernel = Attention(causal=causal, append_bytes=append_bytes)
    alone = work(kernel, sizes)
    assert kernel.predict(alone, chip, CONSTANTS) >= kernel.floor_s(alone, chip)


@given(sizes=SHAPE, chip=ANY_CHIP)
def test_tensors_that_were_touched_just_before_take_no_longer(sizes, chip):
    assert prefill_s(sizes, chip, warm=True) <= prefill_s(sizes, chip) * (1 + ROUNDING)


@given(SHAPE, ANY_CHIP)
def test_a_sequence_that_sees_all_of_itself_takes_no_less_than_a_causal_one(sizes, chip):
    assert prefill_s(sizes, chip, causal=False) >= prefill_s(sizes, chip) * (1 - ROUNDING)
