"""What one of several devices has of a language model, and what they exchange."""

import pytest

from rooflint.workloads.configuration import keys_seen
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism, Routed, context_share, devices_of, exchanges, shard, stage
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import WorkloadError

LLAMA, MIXTRAL, DEEPSEEK = (
    network_named(name).transformer for name in ("llama-3.1-70b", "mixtral-8x7b", "deepseek-v3")
)


def macs(net, batch, new, past=0):
    """Of each row by its name."""
    work = table(net, batch, new, [Step(past)])
    return dict(zip(work.op_names.tolist(), work.macs.tolist(), strict=True))


@pytest.mark.parametrize("tp", [2, 4, 8])
@pytest.mark.parametrize("new", [1, 512])
def test_tensor_shards_compute_what_the_whole_does(tp, new):
    whole, part = macs(LLAMA, 4, new, 100), macs(shard(LLAMA, Parallelism(tp)), 4, new, 100)
    assert whole == {name: tp * count for name, count in part.items()}


def test_keys_and_values_are_replicated_where_there_are_fewer_heads_of_them():
    # 64 heads of queries and 8 of keys and values of 128: 4 + 2 × 1 of 16 devices, where 4 + 2 × 0.5 would be a share
    part = shard(LLAMA, Parallelism(16))
    assert (part.heads, part.kv_heads) == (4, 1)
    assert macs(part, 1, 1)["qkv"] * 16 == macs(LLAMA, 1, 1)["qkv"] * 6 * 16 // (64 + 16)
    assert part.cache_elements(100) * 8 == LLAMA.cache_elements(100)


@pytest.mark.parametrize(("net", "tp"), [(LLAMA, 8), (LLAMA, 16), (MIXTRAL, 4), (DEEPSEEK, 8)])
def test_shards_together_have_all_parameters_and_what_is_replicated(net, tp):
    one = shard(net, Parallelism(tp))
    assert one.parameters * tp >= net.parameters
    assert one.parameters * tp <= net.parameters * 1.06  # norms, routers, and the short vectors of MLA


@pytest.mark.parametrize(("tp", "ep"), [(1, 8), (2, 8), (8, 8), (1, 1)])
def test_experts_compute_the_same_however_they_are_spread(tp, ep):
    how = Parallelism(tp, 1, ep)
    batch, name = 16, "experts_gate_up"
    of_group = batch // how.groups
    whole, part = macs(DEEPSEEK, batch, 64), macs(shard(DEEPSEEK, how), of_group, 64)
    assert part[name] * how.of_stage == whole[name]
    assert part["router"] * how.of_stage == whole["router"] * tp  # each device of a group chooses for itself


def test_spread_experts_are_held_once():
    one = shard(DEEPSEEK, Parallelism(1, 1, 8))
    # 256 experts in 58 layers of 3 × 7168 × 2048 elements
    assert DEEPSEEK.parameters - one.parameters == 58 * (256 - 32) * 3 * 7168 * 2048
    assert shard(LLAMA, Parallelism()) == LLAMA


def test_all_reduces_follow_attention_and_feed_forward():
    how = Parallelism(8)
    found = {one.name: one for one in exchanges(LLAMA, shard(LLAMA, how), how, 4, 16)}
    # 4 × 16 tokens × 8192
    assert {name: (one.kind, one.elements, one.times) for name, one in found.items()} == {
        "embedding": ("all_reduce", 64 * 8192, 1),
        "attention": ("all_reduce", 64 * 8192, 80),
        "feed-forward": ("all_reduce", 64 * 8192, 80),
        "head": ("all_gather", 4 * 128256, 1),
    }
    assert not list(exchanges(LLAMA, LLAMA, Parallelism(), 4, 16))


def test_tokens_go_to_their_experts_where_groups_have_their_own():
    spread, together = Parallelism(1, 1, 8), Parallelism(8, 1, 8)
    apart = [one.kind for one in exchanges(DEEPSEEK, shard(DEEPSEEK, spread), spread, 4, 16)]
    assert apart == ["all_to_all", "all_to_all"]
    sent = next(exchanges(DEEPSEEK, shard(DEEPSEEK, spread), spread, 4, 16))
    # 64 tokens, each to 8 · (1 − 224 · … · 217 / (256 · … · 249)) = 5.29 of 8 devices, once to each
    assert (sent.elements, sent.members, sent.times) == (339 * 7168, 8, 58)
    assert sent.routed == Routed("dispatch", 64, 7168, 8, 256)
    found = exchanges(DEEPSEEK, shard(DEEPSEEK, together), together, 4, 16)
    assert "all_to_all" not in {one.kind for one in found}  # all have all tokens


def test_devices_that_have_experts_of_a_token_by_hand():
    # of 4 experts on 2 devices, 2 chosen: 1 of 3 pairs is on one device, so 2 − 1/3 devices
    assert devices_of(4, 2, 2) == pytest.approx(5 / 3)
    assert devices_of([8, 8, 256], [1, 8, 8], [8, 8, 1]).tolist() == [1, 8, 1]  # one choice; all; one device
    assert devices_of([], [], []).tolist() == []  # no row left is no error


def test_the_largest_stage_has_a_share_of_the_layers_rounded_up():
    assert stage(LLAMA, Parallelism(pp=3)).layers == 27
    scout = stage(network_named("llama-4-scout").transformer, Parallelism(pp=4))
    assert (scout.layers, scout.window_layers, scout.rope_layers) == (12, 9, 9)  # 36 of 48 in chunks, with positions
    found = stage(DEEPSEEK, Parallelism(pp=4))  # 61 layers, of which 58 have experts
    assert (found.layers, found.experts.layers) == (16, 16)


@pytest.mark.parametrize(
    ("net", "how", "problem"),
    [
        (LLAMA, {"tp": 3}, "llama-3.1-70b: --tp: want a divisor of its 64 heads, found 3"),
        (LLAMA, {"ep": 2}, "llama-3.1-70b: has no experts; want no --ep"),
        (MIXTRAL, {"ep": 3}, "mixtral-8x7b: --ep: want a divisor of its 8 experts, found 3"),
        (LLAMA, {"pp": 81}, "llama-3.1-70b: --pp: want at most its 80 layers, found 81"),
        (MIXTRAL, {"tp": 4, "ep": 2}, "--ep: want a multiple of --tp, 4, found 2"),
        (LLAMA, {"tp": 0}, "--tp: want 1 or more, found 0"),
    ],
)
def test_what_cannot_be_divided_is_refused(net, how, problem):
    with pytest.raises(WorkloadError) as caught:
        stage(shard(net, Parallelism(**how)), Parallelism(**how))
    assert str(caught.value) == problem


def test_a_batch_need_not_go_into_the_copies_of_experts():
    # 7 tokens of 1 expert each: of the two devices that have the same tokens, one takes 4 of them
    part = shard(network_named("llama-4-maverick").transformer, Parallelism(tp=2, ep=8))
    rows = {row.name: row for row in table(part, 7, 1, [Step(100)]).rows()}
    assert rows["experts_down"].m == 4


# ---- Context


def in_turn(parts, tokens):
    """The tokens of each device, one by one: the c-th and the c-th last of twice as many parts."""
    size = tokens // (2 * parts)
    for part in range(parts):
        first, last = part * size, tokens - (part + 1) * size
        yield [*range(first, first + size), *range(last, last + size)]


@pytest.mark.parametrize(("parts", "tokens"), [(2, 8), (2, 4096), (4, 64), (8, 1024)])
def test_each_part_of_a_prompt_sees_as_many_keys_as_the_formula_says(parts, tokens):
    batch, new, past = context_share(Parallelism(cp=parts), 3, tokens)
    assert (batch, new * parts) == (3, tokens)
    for own in in_turn(parts, tokens):
        # a token sees those before it and itself
        assert sum(token + 1 for token in own) == keys_seen(new, past)


@pytest.mark.parametrize("new", [1, 512])
def test_all_parts_of_sequences_compute_what_a_device_does(new):
    how, batch = Parallelism(cp=4), 8
    of_one, own, past = context_share(how, batch, new, 0 if new > 1 else 1000)
    whole, part = macs(LLAMA, batch, new, 0 if new > 1 else 1000), macs(LLAMA, of_one, own, past)
    times = dict.fromkeys(whole, 4) | ({"head": 1} if new > 1 else {})  # the last token of a prompt alone has logits
    assert whole == pytest.approx({name: times[name] * each for name, each in part.items()}, rel=2e-3)


def test_a_cache_of_one_sequence_is_read_by_all():
    # 1000 tokens on 4 devices; each makes the products of the one new token
    assert context_share(Parallelism(cp=4), 1, 1, 1000) == (1, 1, 250)
    # six sequences: two of each device, and 6 × 1000 / 4 keys for them
    assert context_share(Parallelism(cp=4), 6, 1, 1000) == (2, 1, 750)
    assert context_share(Parallelism(8), 6, 1, 1000) == (6, 1, 1000)


def test_keys_and_values_are_gathered_and_queries_go_to_all_of_the_cache():
    how = Parallelism(2, cp=4)
    own = shard(LLAMA, how)
    prompts = {one.title: one for one in exchanges(LLAMA, own, how, 3, 1024)}
    # 4 heads of keys and of values of 128, of 3 × 1024 tokens
    gathered = prompts["all-gather, keys and values"]
    assert (gathered.elements, gathered.members, gathered.times) == (2 * 4 * 128 * 3 * 1024, 4, 80)
    assert prompts["all-reduce, attention"].elements == 3 * 256 * 8192
    tokens = {one.title: one for one in exchanges(LLAMA, own, how, 8, 1)}
    # 32 heads of queries of 8 sequences; results have a sum of exponents beside them
    assert tokens["all-gather, queries"].elements == 8 * 32 * 128
    assert tokens["all-to-all, results"].elements == 8 * 32 * 129
    assert tokens["all-reduce, attention"].elements == 2 * 8192
    assert "all-gather, keys and values" not in tokens


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("deepseek-v3", "--cp is not modelled for multi-head latent attention; want no --cp"),
        ("gpt-oss-20b", "--cp is not modelled for layers with a window; want no --cp"),
    ],
)
def test_context_parallelism_refuses_what_it_does_not_model(name, problem):
    with pytest.raises(WorkloadError, match=problem):
        shard(network_named(name).transformer, Parallelism(cp=2))


def test_context_and_experts_are_refused_together():
    with pytest.raises(WorkloadError, match="--cp beside --ep is not modelled: want one of them, found 2 and 8"):
        Parallelism(1, 1, 8, cp=2)
    with pytest.raises(WorkloadError, match="--cp: want 1 or more, found 0"):
        Parallelism(cp=0)
