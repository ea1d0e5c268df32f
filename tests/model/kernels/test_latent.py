"""Latent attention: work and bytes by hand, laws, and how decode in the absorbed form differs from decode."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.kernels.conftest import CHIPS, CONSTANTS

from rooflint.hardware.registry import Registry
from rooflint.kernels.attention import Attention
from rooflint.kernels.decode import Decode
from rooflint.kernels.dispatch import kernel
from rooflint.kernels.latent import LatentAttention, LatentDecode

H100, L40S = CHIPS["nvidia/h100-sxm5-80gb"], CHIPS["nvidia/l40s"]
MODELS = (
    LatentAttention(),
    LatentDecode(),
    LatentDecode(cache_bytes=1.0),
    LatentDecode(split=False),
    LatentDecode(whole=False),
)
SIZES = st.tuples(st.integers(1, 256), st.sampled_from([1, 2, 16, 64, 128]), st.integers(1, 65536))


def seconds(model, *sizes, chip=H100):
    return model.predict(model.work(*sizes), chip, CONSTANTS).item()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chip", [H100, L40S])
@given(SIZES)
def test_nothing_is_faster_than_the_roofline(model, chip, sizes):
    work = model.work(*sizes)
    assert seconds(model, *sizes, chip=chip) >= model.floor_s(work, chip).item()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chip", [H100, L40S])
@given(SIZES, st.sampled_from([(2, 1, 1), (1, 2, 1), (1, 1, 4)]))
def test_more_samples_heads_or_tokens_never_take_less(model, chip, sizes, factors):
    more = [size * factor for size, factor in zip(sizes, factors, strict=True)]
    assert seconds(model, *more, chip=chip) >= seconds(model, *sizes, chip=chip) * (1 - 1e-12)


def test_prefill_by_hand():
    model = LatentAttention()
    work = model.work(2, 128, 1000)
    # keys of 192 and values of 128 elements, half of the scores of 256 heads
    assert model.macs(work).item() == 2 * 128 * 1000**2 * 0.5 * (192 + 128)
    # Q and K of 192, V and the output of 128, and a latent of 576 read and written; 2 B each
    assert model.tensor_bytes(work).item() == 2 * 1000 * (128 * (2 * 192 + 2 * 128) + 2 * 576) * 2


def test_prefill_is_attention_of_heads_that_are_as_wide_on_the_mean():
    model, plain = LatentAttention(), Attention(causal=True)
    work = model.work(1, 128, 8192)
    same = plain.work(1, 128, 128, 8192, 160)
    found, other = model.time(work, H100, CONSTANTS), plain.time(same, H100, CONSTANTS)
    assert found.compute_s == other.compute_s
    assert found.memory_s > other.memory_s  # the latents go into a cache


def test_decode_by_hand():
    model = LatentDecode()
    work = model.work(2, 128, 1000)
    # keys of 576 and values of 512 elements for each of 256 heads
    assert model.macs(work).item() == 2 * 128 * 1000 * (576 + 512)
    # one latent of 576 a token for all heads; Q of 576 and an output of 512 a head; 2 B each
    assert model.tensor_bytes(work).item() == 2 * (1000 * 576 * 2 + 128 * (576 + 512) * 2)
    assert LatentDecode(cache_bytes=1.0).tensor_bytes(work).item() == 2 * (1000 * 576 + 128 * (576 + 512) * 2)


def test_a_cache_of_latents_is_smaller_and_faster_than_one_of_keys_and_values():
    # 128 heads of 128 elements in K and V each, or one latent of 576: 57 times as many bytes
    plain = Decode()
    assert plain.predict(plain.work(32, 128, 128, 8192, 128), H100, CONSTANTS).item() > 10 * seconds(
        LatentDecode(), 32, 128, 8192
    )


def test_a_few_heads_cost_the_instructions_of_sixty_four():
    parts = [LatentDecode().caches(LatentDecode().sizes(1, heads, 4096), H100, CONSTANTS) for heads in (1, 64, 65)]
    assert [one.rows.item() for one in parts] == [64, 64, 128]


def scores_clocks(keys, values):
    """64 rows and 64 latents on an SM of an L40S: products with so many elements of each, and an exponential."""
    return 64 * 64 * ((keys + values) / (512 * CONSTANTS.prefill.matrix_efficiency) + 1 / 16)


@pytest.mark.parametrize(("batch", "blocks_of_an_sm", "waves"), [(1, 1, 1), (71, 1, 1), (72, 2, 1), (300, 2, 3)])
def test_a_whole_cache_on_warps_that_wait_by_hand(batch, blocks_of_an_sm, waves):
    # 512 elements of values are 2 blocks of 256, both with all keys of 576; 4096 tokens are 64 steps. 142 SMs have
    # one block each up to 71 samples, and room for 284 beyond, of which one copies while another computes
    scores, copied = scores_clocks(576, 256), 64 * (576 + 256) * 2 / CONSTANTS.stream.l2_bytes
    step = scores + copied if blocks_of_an_sm == 1 else 2 * np.hypot(scores, copied)
    block = waves * (64 * step + CONSTANTS.decode.block_clocks) / L40S.clock_hz
    bandwidth = CONSTANTS.stream.dram_efficiency * 864e9
    streamed = batch * (4096 * 576 * 2 + 64 * (2 * 512 + 64) * 2) / bandwidth
    launch = CONSTANTS.latent.launch_clocks / L40S.clock_hz
    found = seconds(LatentDecode(split=False), batch, 64, 4096, chip=L40S)
    assert found == pytest.approx(np.hypot(block, streamed) + launch, rel=1e-3)


@pytest.mark.parametrize(("batch", "parts"), [(1, 16), (142, 1)])
def test_a_cache_in_parts_on_warps_that_wait_by_hand(batch, parts):
    # blocks of 16 heads with 32 latents a step, copied as keys of 576 and values of 512, after reads of where they are;
    # of 256 blocks a cache, the power of two above 142 SMs, most find no latents; parts are read one after the other
    read, l2 = CONSTANTS.latent_parts.read_clocks, CONSTANTS.stream.l2_bytes
    step = scores_clocks(576, 512) / 8 + 32 * (576 + 512) * 2 / l2 + 3 * read
    walked = 1024 / 32 / parts * step / L40S.clock_hz
    streamed = batch * (1024 * 576 * 2 + 16 * (2 * 512 + 64) * 2) / (CONSTANTS.stream.dram_efficiency * 864e9)
    idle = batch * (256 - parts) / 142 * read
    summed = parts * (read + 8 * batch * 16 * 512 / (142 * l2))
    own = CONSTANTS.latent
    rest = own.launch_clocks + own.block_clocks + own.reduction_clocks + idle + summed
    found = seconds(LatentDecode(whole=False), batch, 16, 1024, chip=L40S)
    assert found == pytest.approx(np.hypot(walked, streamed) + rest / L40S.clock_hz, rel=1e-9)


def test_splitting_a_cache_never_hurts_and_helps_one_long_sequence():
    whole, split = (seconds(LatentDecode(split=able), 1, 16, 8192, chip=L40S) for able in (False, True))
    assert whole > 5 * split
    for kernels in ({"split": False}, {"whole": False}):
        assert seconds(LatentDecode(**kernels), 1, 16, 8192) == seconds(LatentDecode(), 1, 16, 8192)  # on Hopper
    many = [seconds(LatentDecode(split=able), 512, 64, 256, chip=L40S) for able in (False, True)]
    assert many[1] <= many[0]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chip", [H100, L40S])
def test_terms_add_up(model, chip):
    work = model.work([1, 128], 128, [16, 32768])
    assert np.sum(list(model.terms(work, chip, CONSTANTS).values()), axis=0) == pytest.approx(
        model.predict(work, chip, CONSTANTS)
    )


def test_other_latents_than_those_measured_have_no_errors():
    registry = Registry()
    for rank, known in ((512, True), (256, False)):
        found = kernel("latent_decode", registry.get("nvidia/b200-sxm"), registry, rank=rank, batch=1, heads=128,
                       tokens=4096)  # fmt: skip
        assert bool(found.errors) is known
    assert any("TensorRT-LLM does not split caches" in caveat for caveat in found.caveats)
