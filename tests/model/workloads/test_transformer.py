"""Op tables of transformers, by hand: rows, repeats, caches, experts that are hit, and latent attention absorbed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.workloads.configuration import Encoder, Experts, Image, Latent, Transformer, keys_seen
from rooflint.workloads.footprint import footprint
from rooflint.workloads.networks import network_named
from rooflint.workloads.tables import load_workload
from rooflint.workloads.transformer import MOST_STEPS, Step, decode_steps, hit_experts, table
from rooflint.workloads.workload import WorkloadError

# 2 heads of queries share one head of keys; a head has 4 elements
TINY = Transformer(
    "tiny", layers=3, hidden=8, heads=2, kv_heads=1, head_size=4, feed_forward=16, vocabulary=32, context=64
)
ROUTED = replace(TINY, experts=Experts(count=4, per_token=2, feed_forward=16, layers=2))
LATENT = replace(TINY, latent=Latent(query_rank=6, kv_rank=5, nope_size=3, rope_size=2, value_size=4))


def rows(net, batch=1, new=1, past=0):
    return {row.name: row for row in table(net, batch, new, [Step(past)]).rows()}


def test_a_layer_is_one_row_that_repeats():
    qkv = rows(TINY, batch=2, new=5)["qkv"]
    # 2 × 5 tokens × (2 + 2 × 1) heads of 4 × 8 hidden = 1280 MAC in each of 3 layers
    assert (qkv.m, qkv.n, qkv.k, qkv.repeats) == (10, 16, 8, 3)
    assert qkv.macs == 3 * 1280
    assert (qkv.elements_in, qkv.elements_weight, qkv.elements_out) == (3 * 80, 3 * 128, 3 * 160)


def test_more_layers_are_not_more_rows():
    deep = replace(TINY, layers=126)
    assert len(table(deep)) == len(table(TINY))
    assert table(deep).total_macs - table(replace(TINY, layers=125)).total_macs == (
        table(TINY).total_macs - table(replace(TINY, layers=2)).total_macs
    )


def test_the_head_sees_the_last_new_token_of_each_sequence():
    head = rows(TINY, batch=2, new=5)["head"]
    assert (head.m, head.n, head.k, head.repeats) == (2, 32, 8, 1)


def test_a_prompt_attends_to_what_came_before_each_token():
    attention = rows(TINY, batch=2, new=5)["attention"]
    # tokens see 1 + 2 + 3 + 4 + 5 = 15 keys, 3 on average; QK^T and PV are 4 + 4 deep; 2 heads of 2 sequences
    assert attention.kind == "causal_attention"
    assert (attention.m, attention.n, attention.k, attention.groups) == (5, 3, 8, 4)
    # a query of 8 elements a token, keys and values of 4 + 4 a token, 10 tokens; the result is as long as the queries
    assert (attention.elements_in, attention.elements_out) == (3 * (80 + 80), 3 * 80)


def test_a_step_of_decode_reads_the_cache_once_for_all_heads_that_share_it():
    attention = rows(TINY, batch=2, new=1, past=20)["attention"]
    assert attention.kind == "attention"
    assert (attention.m, attention.n, attention.k, attention.groups) == (1, 21, 8, 4)
    # 2 sequences: a query of 8, and 21 tokens with one head of keys and one of values, 4 elements each
    assert attention.elements_in == 3 * 2 * (8 + 21 * 8)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 8))
def test_keys_that_tokens_see_are_those_within_the_window(new, past, window):
    seen = sum(min(place + 1, window or place + 1) for place in range(past, past + new))
    assert keys_seen(new, past, window) == seen


def test_layers_with_a_window_see_and_keep_no_more_than_it():
    net = replace(TINY, window=8, window_layers=2)
    found = rows(net, new=1, past=20)
    assert (found["attention"].n, found["attention"].repeats) == (21, 1)
    assert (found["window_attention"].n, found["window_attention"].repeats) == (8, 2)
    # keys and values of 4 elements: 21 tokens in one layer, 8 in two
    assert table(net, 1, 1, [Step(20)]).flow.elements_cache == 8 * (21 + 2 * 8)


# ---- several steps


def test_decode_is_the_sum_of_its_steps():
    steps = decode_steps(10, 7)
    assert [step.past for step in steps] == list(range(10, 17))
    whole = table(TINY, 3, 1, steps)
    alone = [table(TINY, 3, 1, [step]) for step in steps]
    for quantity in ("macs", "other_ops", "elements_in", "elements_weight", "elements_out", "repeats"):
        assert getattr(whole, quantity).sum() == sum(getattr(one, quantity).sum() for one in alone)
    assert whole.tokens == (1, 10, 7)
    assert footprint(whole).peak_activation_elements == footprint(alone[-1]).peak_activation_elements


@given(st.integers(1, 5000), st.integers(0, 500))
def test_a_long_run_takes_the_mean_of_neighbours(count, past):
    steps = decode_steps(past, count)
    assert len(steps) <= MOST_STEPS
    assert sum(step.times for step in steps) == count
    exact = sum(range(past, past + count))
    # each mean is rounded up by half a token at most
    assert 0 <= sum(step.past * step.times for step in steps) - exact <= count / 2


def test_a_sequence_longer_than_the_context_is_refused():
    with pytest.raises(WorkloadError, match="tiny: want at most 64 tokens, its context; found 65"):
        table(TINY, 1, 1, [Step(64)])


# ---- experts


def test_a_grouped_product_is_tokens_times_experts_of_a_token():
    up = rows(ROUTED, batch=1, new=3)["experts_gate_up"]
    assert (up.m, up.n, up.k, up.repeats) == (3 * 2, 2 * 16, 8, 2)
    # 3 tokens miss (1 − 2/4)³ of 4 experts: 3.5 are hit, 4 when rounded
    assert up.elements_weight == 2 * 4 * (32 * 8)


# one token hits its own; two miss 4 × (1 − 2/4)² = 1 of 4
@pytest.mark.parametrize(("tokens", "hit"), [(1, 2), (2, 3)])
def test_few_tokens_hit_few_experts(tokens, hit):
    assert hit_experts(tokens, Experts(4, 2, 16, 1)) == hit


def test_many_tokens_hit_all_experts_and_none_hits_more_than_it_chooses():
    many = Experts(128, 8, 16, 1)
    assert hit_experts(1, many) == 8
    # 128 × (1 − (120/128)^32) = 111.8
    assert hit_experts(32, many) == 112
    assert hit_experts(10_000, many) == 128


def test_another_batch_hits_other_experts():
    one = table(ROUTED, 1, 1, [Step(4)])
    assert one.at_batch(8) == table(ROUTED, 8, 1, [Step(4)])
    weights = {row.name: row.elements_weight for row in one.at_batch(8).rows()}
    assert weights["experts_gate_up"] == 2 * rows(ROUTED)["experts_gate_up"].elements_weight


def test_a_fused_table_stays_fused_at_another_batch():
    assert table(ROUTED, 1, 2).fused().at_batch(4) == table(ROUTED, 4, 2).fused()


# ---- latent attention


def test_absorbed_attention_by_hand():
    found = rows(LATENT, batch=3, new=1, past=9)
    # q_nope (3) · W_UK (3 × 5) of each of 2 heads, for 3 tokens
    absorb = found["query_absorb"]
    assert (absorb.m, absorb.n, absorb.k, absorb.groups) == (3, 5, 3, 2)
    # 10 short vectors of 5 + 2; scores 7 deep, results 5 deep, for 2 heads of 3 sequences
    attention = found["attention"]
    assert (attention.m, attention.n, attention.k, attention.groups) == (1, 10, 12, 6)
    # queries of 7, and 10 vectors of 7 that all heads share; results of 5
    assert attention.elements_in == 3 * (6 * 7 + 3 * 10 * 7)
    assert attention.elements_out == 3 * 6 * 5
    # W_UV makes 4 values of 5 in each head
    up = found["value_up"]
    assert (up.m, up.n, up.k, up.groups) == (3, 4, 5, 2)
    assert "kv_up" not in found


def test_absorbing_gives_the_same_scores_for_other_work():
    # with one token in the cache both forms read the same weights: W_UK and W_UV, (3 + 4) × 5 for each of 2 heads
    absorbed, expanded = rows(LATENT, new=1), rows(LATENT, new=2)
    both = absorbed["query_absorb"].elements_weight + absorbed["value_up"].elements_weight
    assert both == expanded["kv_up"].elements_weight == 3 * 2 * 7 * 5


def test_the_cache_of_latent_attention_is_one_short_vector_a_token():
    assert table(LATENT, 2, 1, [Step(9)]).flow.elements_cache == 2 * 10 * 3 * (5 + 2)


# ---- memory


@pytest.mark.parametrize("net", [TINY, ROUTED, LATENT, replace(TINY, parallel=True, norm="layer_norm", bias="all")])
def test_weights_that_rows_read_are_the_parameters(net):
    # 64 tokens hit every expert; the embedding is picked from, not read
    read = sum(row.elements_weight for row in table(net, 32, 2).rows())
    assert read + net.embedding_parameters == net.parameters


def test_the_footprint_has_weights_cache_and_the_widest_pair_of_tensors():
    live = footprint(table(TINY, 2, 5))
    assert live.weight_elements == TINY.parameters
    assert live.cache_elements == 2 * 5 * 3 * 8
    # gate and up of 10 tokens (2 × 16), what they become (16), and the residual stream (8)
    assert live.peak_activation_elements == 10 * (32 + 16 + 8)
    assert live.peak_bytes("bf16") == 2 * (live.weight_elements + live.cache_elements + 560)


# ---- encoders

BERT = replace(
    TINY, kv_heads=2, norm="layer_norm", positions="learned", bias="all", gated=False, activation="gelu",
    encoder=Encoder(
        norm_first=False, embedding_norm=True, last_norm="none", pooled=8, pooled_bias=True, pooled_tanh=True,
        token_types=2,
    ),
)  # fmt: skip
VIT_B_16 = Transformer(
    "vit", layers=12, hidden=768, heads=12, kv_heads=12, head_size=64, feed_forward=3072, vocabulary=0, context=197,
    activation="gelu", gated=False, norm="layer_norm", positions="learned", bias="all",
    encoder=Encoder(
        norm_first=True, embedding_norm=False, last_norm="all", pooled=1000, pooled_bias=True, pooled_tanh=False,
        image=Image(224, 16, 3),
    ),
)  # fmt: skip


@pytest.mark.parametrize("batch", [1, 4])
def test_a_vision_transformer_is_row_by_row_what_torchvision_builds(batch):
    theirs = list(load_workload("torchvision/vit_b_16").at_batch(batch).rows())
    ours = list(table(VIT_B_16, batch, 197).rows())
    head, last = ours[:3], ours[-2:]
    layer = [once(row) for row in ours[3:-2]]
    assert all(row.repeats == 12 for row in ours[3:-2])
    expected = [*head, *(row for _ in range(12) for row in layer), *last]
    assert len(expected) == len(theirs)
    for mine, captured in zip(expected, theirs, strict=True):
        assert mine._replace(name=captured.name) == captured


def once(row):
    """One run of a row that repeats."""
    amounts = ("macs", "other_ops", "elements_in", "elements_weight", "elements_out")
    return row._replace(repeats=1, **{name: getattr(row, name) // row.repeats for name in amounts})


def test_a_vision_transformer_has_the_parameters_and_the_footprint_of_torchvisions():
    theirs = footprint(load_workload("torchvision/vit_b_16").at_batch(8))
    ours = footprint(table(VIT_B_16, 8, 197))
    assert ours.weight_elements == theirs.weight_elements == VIT_B_16.parameters
    assert ours.peak_activation_elements == theirs.peak_activation_elements


def test_an_encoder_reads_both_ways_and_keeps_no_cache():
    found = table(BERT, 2, 5)
    attention = next(row for row in found.rows() if row.name == "attention")
    # every token sees all 5; heads of 2 sequences, 4 + 4 deep
    assert (attention.kind, attention.m, attention.n, attention.k, attention.groups) == ("attention", 5, 5, 8, 4)
    assert found.flow.elements_cache == 0
    names = [row.name for row in found.rows()]
    assert names.index("attention_add") < names.index("attention_norm") < names.index("up")


def test_an_encoder_takes_neither_a_cache_nor_other_tokens_than_it_has():
    with pytest.raises(WorkloadError, match="tiny: is an encoder, which keeps no cache; want no --past"):
        table(BERT, 1, 1, [Step(4)])
    with pytest.raises(WorkloadError, match="vit: has the 197 tokens of an image; want no --prompt"):
        table(VIT_B_16, 1, 64)
    with pytest.raises(WorkloadError, match="tiny: want at most 64 tokens, its context; found 65"):
        table(BERT, 1, 65)


def test_large_batches_of_large_networks_count_beyond_what_one_run_may_be():
    net = network_named("llama-3.1-405b").transformer
    work = table(net, 256, 2048)
    (place,) = np.flatnonzero(work.op_names == "gate_up")
    # 256 × 2048 tokens, 2 × 53248 columns of 16384, 126 layers: more than 2^53 in all, less in one
    assert int(work.macs[place]) == 256 * 2048 * 2 * 53248 * 16384 * 126 > 2**53


# ---- Llama 4


def chunked_slowly(new, past, chunk):
    return sum(place % chunk + 1 for place in range(past, past + new))


@pytest.mark.parametrize(("new", "past"), [(1, 0), (1, 7), (1, 8), (5, 6), (30, 3), (8, 8)])
def test_a_token_in_chunks_sees_those_before_it_in_its_own(new, past):
    assert keys_seen(new, past, 8, chunked=True) == chunked_slowly(new, past, 8)
    net = replace(network_named("llama-4-scout").transformer, window=8)
    found = {row.name: row for row in table(net, 1, new, [Step(past)]).rows()}
    seen = -(-chunked_slowly(new, past, 8) // new)
    assert (found["window_attention"].n, found["window_attention"].repeats, found["attention"].repeats) == (
        seen,
        36,
        12,
    )
    # the oldest key that is read begins the chunk of the first new token; 8 heads of keys and values of 128
    assert found["window_attention"].elements_in // 36 - new * 40 * 128 == 2 * 8 * 128 * (past % 8 + new)


def test_layers_without_positions_neither_rotate_nor_normalise_queries_and_keys():
    found = {row.name: row for row in table(network_named("llama-4-scout").transformer, 1, 4).rows()}
    assert [found[name].repeats for name in ("rope", "query_norm", "key_norm", "qkv")] == [36, 36, 36, 48]
    assert found["query_norm"].elements_weight == 0
    assert "query_norm" not in {row.name for row in table(network_named("llama-4-maverick").transformer, 1, 4).rows()}
