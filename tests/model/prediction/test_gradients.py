"""Training on several devices: what they exchange and wait for, by hand, and what each keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.api.predictions import context
from rooflint.base.errors import RooflintError
from rooflint.hardware.names import system_named
from rooflint.prediction.gradients import BUCKET_BYTES, over_all_s, shared, waited_s
from rooflint.prediction.parallel import place
from rooflint.prediction.predict import Setting
from rooflint.prediction.training import train
from rooflint.prediction.training_run import Run
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism, shard

KNOWN, ENERGIES = context(None)
H100 = system_named(KNOWN, "hgx-h100")
LLAMA = network_named("llama-3.1-8b")
NVLINK, CARD = 450e9, 50e9  # 18 × 25 GB/s, and 400 Gbit/s of each device


def placed(system=H100, **how):
    return place(system.device, Parallelism(**how), KNOWN, system)


def step(
    batch=8, length=2048, recompute="selective", network=LLAMA, zero=0, micro=0, launch="free", system=H100, **how
):
    run = Run(network, batch, length, recompute, Parallelism(**how), zero, micro)
    return train(placed(system, **how), run, ENERGIES, Setting("bf16", launch=launch))


# ---- Collectives


def test_each_half_of_a_layer_is_summed_forward_and_backward():
    net, how = LLAMA.transformer, Parallelism(tp=4)
    found = {one.name: one for one in shared(net, shard(net, how), how, 2, 1000, again=False)}
    # 2 × 1000 tokens of 4096, in each of 32 layers
    assert {name: one.times for name, one in found.items()} == {
        "embedding": 1, "attention": 32, "feed-forward": 32, "attention backward": 32, "feed-forward backward": 32,
        "loss": 3, "head backward": 1,
    }  # fmt: skip
    assert {one.elements for name, one in found.items() if name != "loss"} == {2 * 1000 * 4096}
    assert found["loss"].elements == 2 * 1000
    again = [one.name for one in shared(net, shard(net, how), how, 2, 1000, again=True)]
    assert {"attention again", "feed-forward again"} <= set(again)
    assert not shared(net, net, Parallelism(), 2, 1000, again=True)


def test_gradients_within_a_system_go_over_its_links():
    # NVLink switches of Hopper add up: each device sends its gradients once, and is sent the sum
    assert over_all_s("all_reduce", 90e9, placed(dp=8)) == pytest.approx(90e9 / NVLINK)
    # 4 of 8 devices scatter: each sends 3/4
    assert over_all_s("reduce_scatter", 90e9, placed(tp=2, dp=4)) == pytest.approx(0.75 * 90e9 / NVLINK)


def test_gradients_between_systems_go_over_their_cards():
    # 4 systems × 8 devices: of its eighth, which is added up within its system, each sends 2 × 3/4
    assert over_all_s("all_reduce", 80e9, placed(dp=32)) == pytest.approx(2 * 0.75 * 10e9 / CARD)
    # with tp 8 each device is alone in its system, and sends 2 × 3/4 of all
    assert over_all_s("all_reduce", 80e9, placed(tp=8, dp=4)) == pytest.approx(2 * 0.75 * 80e9 / CARD)


@pytest.mark.parametrize("how", [{"tp": 3, "dp": 8}, {"tp": 4, "dp": 3}])
def test_systems_have_equal_parts(how):
    with pytest.raises(RooflintError, match="--tp, --dp: want a --tp that divides the 8 devices of nvidia/hgx-h100"):
        over_all_s("all_reduce", 1e9, placed(**how))


# ---- What is waited for


def after_one_another(sent_s, beside_s, parts):
    """Part after part, each sent when it is made and the one before it is sent: the slow twin."""
    end = 0.0
    for part in range(1, parts + 1):
        end = max(end, beside_s * part / parts) + sent_s / parts
    return end - beside_s


@given(st.floats(1e-6, 10), st.floats(0, 10), st.integers(1, 50))
def test_buckets_follow_one_another_beside_the_backward_pass(sent_s, beside_s, parts):
    assert waited_s(sent_s, beside_s, parts) == pytest.approx(after_one_another(sent_s, beside_s, parts), abs=1e-9)


def test_a_fast_network_leaves_the_last_bucket():
    # 16.06 GB of gradients are 613 buckets of 25 MiB; over NVLink they take 35.7 ms, less than the backward pass
    found = step(dp=8)
    (gradients,) = found.sent
    buckets = -(-16_060_522_496 // BUCKET_BYTES)
    assert (gradients.title, gradients.times) == ("all-reduce, gradients", buckets)
    assert gradients.seconds == pytest.approx(16.060522496e9 / NVLINK)
    assert gradients.waited_s == pytest.approx(gradients.seconds / buckets)


def test_tensor_parallel_products_wait_for_every_sum():
    found = step(batch=1, tp=8)
    # 4 all-reduces a layer and 2 more of 2048 tokens × 4096 × 2 B, and 3 of 2048 × 2 B; switches add up
    sent = (4 * 32 + 2) * 2048 * 4096 * 2 + 3 * 2048 * 2
    assert found.network_s == pytest.approx(sent / NVLINK)
    assert found.parts_s["network"] == found.network_s


def test_a_launch_is_waited_for_with_each_collective():
    free, stream = step(batch=1, tp=8), step(batch=1, tp=8, launch="stream")
    assert stream.network_s - free.network_s == pytest.approx((4 * 32 + 5) * stream.whole.forward.times.overhead_s)


# ---- What each device has


def test_stages_of_zero_share_states_then_gradients_then_weights():
    n = 8_030_261_248
    memories = [step(dp=8, zero=zero).memory for zero in range(4)]
    found = [(one.weight_bytes, one.gradient_bytes, one.optimizer_bytes) for one in memories]
    # 2 + 2 + 12 B a parameter, of which 8 devices share what the stage says
    assert found == [
        (2 * n, 2 * n, 12 * n), (2 * n, 2 * n, 12 * n / 8), (2 * n, 2 * n / 8, 12 * n / 8),
        (2 * n / 8, 2 * n / 8, 12 * n / 8),
    ]  # fmt: skip
    assert [one.moved_by_optimizer_bytes for one in memories] == [28 * n, *3 * [28 * n / 8]]


def test_what_stages_of_zero_send_is_what_the_paper_says():
    # Rajbhandari et al., section 7: twice the parameters with stages 0 to 2, three times with 3; 7/8 of it by a ring
    n = 2 * 8_030_261_248
    totals = [sum(one.sent_bytes for one in step(dp=8, zero=zero).sent) for zero in range(4)]
    assert np.array(totals) == pytest.approx([2 * n * 7 / 8] * 3 + [3 * n * 7 / 8])


def test_activations_of_tensor_parallel_devices_are_those_of_korthikanti():
    # arXiv:2205.05198, equation 2: s·b·h × (10 + 24/t) a layer without the 2 of dropout; and norm, head and logits
    gpt = network_named("gpt-3-175b")
    run = Run(gpt, 1, 2048, how=Parallelism(tp=8))
    each, words = 2048 * 12288, -(-50257 // 8)
    assert run.memory("bf16").activation_bytes == 96 * (8 + 24 / 8) * each + 4 * each + 4 * 2048 * words


def test_products_of_all_devices_are_those_of_one():
    one, several = step(batch=8), step(batch=8, tp=4, dp=2)
    ops = [found.whole.forward.times.ops.sum() * found.place.how.devices for found in (one, several)]
    assert ops[1] == pytest.approx(ops[0], rel=1e-3)  # norms are on every device
    assert several.run.own_batch == 4


def test_micro_batches_keep_less_and_send_gradients_once():
    whole, parts = step(batch=32, dp=8), step(batch=32, dp=8, micro=1)
    assert parts.memory.activation_bytes == pytest.approx(whole.memory.activation_bytes / 4)
    assert parts.sent[0].sent_bytes == whole.sent[0].sent_bytes
    assert parts.parts_s["forward"] == pytest.approx(4 * step(batch=8, dp=8).parts_s["forward"])
    assert parts.optimizer_s == whole.optimizer_s
    share = step(batch=32, dp=8, micro=1, zero=2)  # a device keeps its share of the gradients alone
    assert share.sent[0].sent_bytes == pytest.approx(4 * step(batch=8, dp=8, zero=2).sent[0].sent_bytes)
    assert parts.hfu / parts.mfu == pytest.approx(whole.hfu / whole.mfu)


# ---- Pipelines

GPT = network_named("gpt-3-175b")
EACH = 2048 * 12288
"""s · h of one sequence of GPT-3."""
A100 = system_named(KNOWN, "hgx-a100")


def gpt(batch, recompute="selective", micro=1, **how):
    return step(batch, 2048, recompute, GPT, micro=micro, system=A100, **how)


def test_a_bubble_is_all_other_stages_once():
    # Narayanan et al., section 2.2.1: (p - 1) / m of the work; stages differ by the head and its collectives
    found = gpt(64, tp=8, pp=8)
    parts = found.parts_s
    sends = sum(one.waited_s for one in found.sent if "next stage" in one.title)
    work = parts["forward"] + parts["backward"] + parts["recompute"] + parts["network"]
    assert found.bubble_s == pytest.approx(7 / 64 * work, rel=0.04)
    # section 2.2.2: a third of it where each stage has three parts, but for the sends, which take as long
    turns = gpt(64, tp=8, pp=8, virtual=3)
    waits = 7 * sends / 64
    assert turns.bubble_s - waits == pytest.approx((found.bubble_s - waits) / 3)
    assert sum(one.waited_s for one in turns.sent if "next stage" in one.title) == pytest.approx(3 * sends)


def test_the_last_micro_batch_follows_those_before_it_through_all_stages():
    # Llama's 32 layers in 4 equal stages, 5 micro-batches: a stage takes its work 5 times, and that of the others once
    found = step(batch=5, pp=4)
    once, own = found.whole.seconds, found.stage.seconds
    hop_s = 2 * 2048 * 4096 * 2 / NVLINK  # a forward and a backward one; all 4 devices are in one system
    assert found.step_s - found.optimizer_s == pytest.approx(once + 4 * own + (5 + 3) * hop_s)
    assert own > once / 4  # as it has the head


def test_a_stage_sends_activations_and_gradients_of_each_micro_batch():
    found = step(batch=8, tp=2, pp=4, launch="free")
    (sent,) = (one for one in found.sent if one.title == "point-to-point, next stage")
    # 8 micro-batches × 2 ways × 2048 × 4096 × 2 B, of which each of two devices sends half over its link
    assert (sent.times, sent.sent_bytes) == (16, 8 * 2 * 2048 * 4096 * 2 / 2)
    assert sent.waited_s == pytest.approx(sent.sent_bytes / NVLINK)
    (gathered,) = (one for one in found.sent if one.title == "all-gather, next stage")
    assert gathered.sent_bytes == sent.sent_bytes  # half of the whole for the other device
    across = step(batch=8, tp=8, pp=4)  # 4 systems
    (sent,) = (one for one in across.sent if one.title == "point-to-point, next stage")
    assert sent.waited_s == pytest.approx(sent.sent_bytes / CARD)


def test_a_tied_embedding_is_added_up_by_the_first_and_the_last_stage():
    found = gpt(8, tp=8, pp=8)
    (sent,) = (one for one in found.sent if one.title == "all-reduce, gradients of the embedding")
    assert sent.sent_bytes == -(-50257 // 8) * 12288 * 2  # 2 × 1/2 of it
    assert not [one for one in step(batch=4, pp=4).sent if "embedding" in one.title]


def test_gradients_of_a_stage_are_those_of_its_layers():
    found = step(batch=8, pp=4, dp=2)
    stage = 8 * (8_030_261_248 - 2 * 128_256 * 4096 - 4096) // 32 + 128_256 * 4096  # and the embedding, or the head
    sent = [one.sent_bytes for one in found.sent if one.title == "all-reduce, gradients"]
    assert sent == [pytest.approx(2 * stage, rel=1e-5)]  # 2 × 1/2 of 2 B


@pytest.mark.parametrize(
    ("how", "factor"),
    [
        # the first of 8 stages of 12 layers has 8 micro-batches in flight: as many as all 96 layers have of one
        ({}, 1),
        # Korthikanti et al., section 4.2.3: 1 + (p - 1) / (p · v) as many with v parts
        ({"virtual": 3}, 1 + 7 / 24),
        ({"virtual": 12}, 1 + 7 / 96),
    ],
)
def test_the_first_stage_keeps_what_is_in_flight(how, factor):
    # equations 2 and 4: 8 + 24/t, and with sequence parallelism 32/t, without dropout
    for sequence, layer in ((False, 8 + 24 / 8), (True, 32 / 8)):
        found = gpt(64, tp=8, pp=8, sequence=sequence, **how).memory
        assert found.activation_bytes == pytest.approx(96 * layer * EACH * factor)
    # with all running again, what goes into each layer: 2 s·h, and one layer whole
    found = gpt(64, "full", tp=8, pp=8, **how).memory
    assert found.activation_bytes == pytest.approx((96 * 2 * factor + 11) * EACH)


@pytest.mark.parametrize(
    ("network", "how", "gibibytes"),
    [
        ("gpt-3-175b", {"pp": 8, "virtual": 3}, 12.3515625),
        ("mt-nlg-530b", {"pp": 35, "virtual": 3}, 23.076171875),
        ("megatron-1t", {"pp": 64}, 26.5625),
    ],
)
def test_activations_are_those_of_figure_1(network, how, gibibytes):
    # Korthikanti et al., figure 1, "present work", as Calculon quotes it; 34 parts with 2 of dropout
    found = step(
        64 * how["pp"], 2048, "selective", network_named(network), micro=1, system=A100, tp=8, sequence=True, **how
    )
    assert found.memory.activation_bytes * 34 / 32 == pytest.approx(gibibytes * 2**30, rel=1e-9)


def test_few_micro_batches_keep_no_more_than_there_are():
    few, many = (gpt(batch, tp=8, pp=8).memory.activation_bytes for batch in (2, 64))
    assert few == pytest.approx(many * 2 / 8)


def test_stages_have_all_parameters_together():
    # the first has the embedding, the last the head: 8 layers, and 1/2 of both
    found = step(batch=4, pp=4).memory
    layer = (8_030_261_248 - 2 * 128_256 * 4096 - 4096) // 32
    last = 8 * layer + 128_256 * 4096 + 4096
    # 4 micro-batches in flight weigh more than the head's norm and its logits of one: 4 · 2048 · 128256 B
    assert found.parameters in (last, last - 4096)
    assert found.weight_bytes == 2 * found.parameters


# ---- Sequence parallelism


def test_a_scattered_sum_is_gathered_again():
    net, how = LLAMA.transformer, Parallelism(tp=4, sequence=True)
    found = [(one.kind, one.name, one.times) for one in shared(net, shard(net, how), how, 2, 1000, again=False)]
    assert found == [
        ("reduce_scatter", "embedding", 1), ("all_gather", "embedding backward", 1),
        ("all_gather", "attention", 32), ("reduce_scatter", "attention", 32),
        ("all_gather", "feed-forward", 32), ("reduce_scatter", "feed-forward", 32),
        ("all_gather", "attention backward", 32), ("reduce_scatter", "attention backward", 32),
        ("all_gather", "attention backward, inputs", 32),
        ("all_gather", "feed-forward backward", 32), ("reduce_scatter", "feed-forward backward", 32),
        ("all_gather", "feed-forward backward, inputs", 32),
        ("all_reduce", "loss", 3),
        ("all_gather", "head", 1), ("reduce_scatter", "head backward", 1), ("all_gather", "head backward, inputs", 1),
    ]  # fmt: skip


def test_halves_of_a_sum_send_as_much_as_the_sum():
    plain, spread = (
        {one.title: one.sent_bytes for one in step(batch=1, tp=8, sequence=sequence).sent} for sequence in (False, True)
    )
    for name in ("attention", "feed-forward", "attention backward", "feed-forward backward"):
        assert spread[f"all-gather, {name}"] + spread[f"reduce-scatter, {name}"] == plain[f"all-reduce, {name}"]


def test_what_is_gathered_again_goes_beside_a_product():
    sent = {one.title: one for one in step(batch=1, tp=8, sequence=True).sent}
    assert sent["all-gather, attention backward, inputs"].waited_s == 0
    # over PCIe it takes longer than the products: what is left of all of it is waited for
    slow = step(batch=1, tp=8, sequence=True, system=system_named(KNOWN, "pcie-l40s-8"))
    again = [one for one in slow.sent if one.title.endswith(", inputs")]
    names = ("d(qkv).input", "d(gate_up).input", "d(head).input")
    backward = slow.whole.backward
    times = dict(zip(backward.run.op_names.tolist(), backward.times.kernel_s.tolist(), strict=True))
    left = sum(one.seconds for one in again) - sum(times[name] for name in names)
    assert 0 < left == pytest.approx(sum(one.waited_s for one in again))


def test_norms_and_sums_see_some_of_the_tokens():
    plain, spread = (
        {op.name: op for op in Run(LLAMA, 1, 2048, how=Parallelism(tp=8, sequence=sequence)).forward.rows()}
        for sequence in (False, True)
    )
    changed = {name for name, op in plain.items() if spread[name] != op}
    assert changed == {"attention_norm", "attention_add", "feed_forward_norm", "feed_forward_add", "norm"}
    for name in changed:
        assert 8 * spread[name].elements_in == plain[name].elements_in
        assert spread[name].elements_weight == plain[name].elements_weight


def test_sequence_parallel_devices_keep_their_part_of_everything():
    # Korthikanti et al., equation 4: 34 s·b·h / t a layer, 32 without dropout; norm and head behind them, and logits
    run = Run(GPT, 1, 2048, how=Parallelism(tp=8, sequence=True))
    assert run.memory("bf16").activation_bytes == (96 * 32 + 4) * EACH / 8 + 4 * 2048 * -(-50257 // 8)


# ---- Experts

MIXTRAL = network_named("mixtral-8x7b")


def test_tokens_go_to_their_experts_and_back_in_both_passes():
    found = step(batch=8, network=MIXTRAL, ep=8, micro=1)
    sent = {one.title: (one.times, one.sent_bytes) for one in found.sent if one.title.startswith("all-to-all")}
    # 2048 tokens × 2 experts × 4096 × 2 B in each of 32 layers, of which 7/8 leave the device
    each = 32 * 2048 * 2 * 4096 * 2 * 7 / 8
    assert sent == {
        f"all-to-all, {way} experts{which}": (32, each) for way in ("to", "from") for which in ("", " backward")
    }
    again = step(batch=8, network=MIXTRAL, ep=8, micro=1, recompute="full")
    assert sum(one.title.startswith("all-to-all") for one in again.sent) == 6


def test_groups_share_all_but_experts():
    expert = 3 * 4096 * 14336
    rest = 46_702_792_704 - 32 * 8 * expert
    found = step(batch=32, network=MIXTRAL, ep=8, dp=2, micro=1)
    assert found.memory.parameters == rest + 32 * expert  # one expert of each layer
    sent = {one.title: one.sent_bytes for one in found.sent if "gradients" in one.title}
    # 16 devices add up the rest, and two those of an expert
    assert sent == {
        "all-reduce, gradients": pytest.approx(2 * 15 / 16 * 2 * rest),
        "all-reduce, gradients of experts": pytest.approx(2 * 1 / 2 * 2 * 32 * expert),
    }
    memory = step(batch=32, network=MIXTRAL, ep=8, dp=2, micro=1, zero=1).memory
    assert memory.optimizer_bytes == pytest.approx(12 * (rest / 16 + 32 * expert / 2))
    alone = step(batch=8, network=MIXTRAL, ep=8, micro=1, zero=1)
    assert alone.memory.optimizer_bytes == pytest.approx(12 * (rest / 8 + 32 * expert))  # nobody else has its experts


def test_experts_between_systems_are_added_up_over_cards():
    place_of = placed(ep=8, dp=4)
    # each of 8 devices of 4 systems has experts of its own: 2 × 3/4 of all over its card
    assert over_all_s("all_reduce", 80e9, place_of, experts=True) == pytest.approx(2 * 0.75 * 80e9 / CARD)
    # and a part of what 32 devices share: of the eighth 2 × 3/4
    assert over_all_s("all_reduce", 80e9, place_of) == pytest.approx(2 * 0.75 * 10e9 / CARD)


def test_what_experts_read_is_kept():
    kept = [Run(MIXTRAL, 8, length, how=Parallelism(ep=8)).memory("bf16").activation_bytes for length in (1024, 2048)]
    # a token keeps in each layer, in 2 B: norms 2 · 4096; qkv's input 4096; queries, keys and values 6144; attention's
    # result 4096; what the router reads 4096 and its 8 scores, and for 2 experts what each reads 4096, gate and up
    # 2 · 14336, and their product 14336
    layer = 2 * 4096 + 4096 + 6144 + 4096 + 4096 + 8 + 2 * (4096 + 3 * 14336)
    outside = 2 * 4096  # norm and head
    assert kept[1] - kept[0] == pytest.approx(1024 * (2 * (32 * layer + outside) + 4 * 32000))


# ---- Laws


@pytest.mark.parametrize("how", [{"pp": 2}, {"pp": 8}, {"tp": 4, "pp": 2}, {"pp": 4, "dp": 2}, {"tp": 8, "pp": 8}])
def test_a_pipeline_is_no_more_than_as_many_times_as_fast(how):
    batch = 16 * how.get("dp", 1)
    one = step(batch=16, micro=1).tokens_per_s
    several = step(batch=batch, micro=1, **how)
    assert several.tokens_per_s <= several.place.how.devices * one
    assert several.mfu <= several.hfu < 1
    assert sum(several.parts_s.values()) == several.step_s


def test_more_micro_batches_have_less_of_a_bubble():
    found = [step(batch=batch, pp=8) for batch in (8, 32, 128)]
    assert np.all(np.diff([one.mfu for one in found]) > 0)
    assert found[0].bubble_s == pytest.approx(found[-1].bubble_s)
    turns = step(batch=128, pp=8, virtual=4)
    assert turns.bubble_s < found[-1].bubble_s


def test_products_of_all_stages_groups_and_copies_are_those_of_one():
    one = step(batch=16, network=MIXTRAL, micro=1)
    several = step(batch=16, network=MIXTRAL, micro=1, pp=2, tp=2, ep=8, dp=2, sequence=True)
    # of a device all layers of a micro-batch; 8 groups each have 2 of the 16 sequences, of 2 devices each
    ops = [float(found.run.forward.macs.sum()) * found.run.micro_batches for found in (one, several)]
    assert ops[1] * 16 == pytest.approx(ops[0], rel=1e-3)
    assert several.place.how.devices == 32
    in_stage = float(several.run.in_stage.forward.macs.sum())
    assert ops[1] / 2 / 2 < in_stage < ops[1] / 2 / 2 * 1.1  # half of the layers, and the head


def test_no_number_of_devices_is_more_than_as_many_times_as_fast():
    one = step(batch=1).tokens_per_s
    for how in ({"tp": 2}, {"tp": 8}, {"dp": 8}, {"tp": 4, "dp": 2}, {"tp": 8, "dp": 16}, {"dp": 64}):
        several = step(batch=how.get("dp", 1), **how)
        devices = several.place.how.devices
        # each device has at least its share of the work, as every copy has a sequence like that of the one
        assert several.tokens_per_s <= devices * one * (1 + 1e-9)
        assert several.mfu <= several.hfu < 1


def test_one_device_is_the_step_without_others():
    alone = step(batch=2, recompute="full")
    assert (alone.sent, alone.network_s) == ((), 0.0)
    assert "network" not in alone.parts_s


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"batch": 9, "dp": 8}, "batch: want a multiple of --dp, 8, found 9"),
        ({"zero": 1}, "--zero: want one of 0, 1, 2, 3, and --dp of 2 or more beside all but 0; found 1"),
        ({"zero": 4, "dp": 8}, "--zero: want one of 0, 1, 2, 3, and --dp of 2 or more beside all but 0; found 4"),
        ({"micro": 3, "dp": 4}, "--micro-batch: want a divisor of the 2 sequences of a device, found 3"),
        ({"dp": 0}, "--dp: want 1 or more, found 0"),
        ({"tp": 3}, "--tp: want a divisor of its 32 heads, found 3"),
        ({"pp": 64}, "--pp: want at most its 32 layers, found 64"),
        ({"pp": 8, "virtual": 8, "micro": 1}, "--virtual-stages: want at most 4 with --pp 8, found 8"),
        ({"virtual": 2}, "--virtual-stages: want 1, or more beside --pp of 2 or more; found 2"),
        (
            {"pp": 3, "virtual": 2},
            "--virtual-stages: the number of micro-batches must be a multiple of --pp, 3; found 8",
        ),
        ({"sequence": True}, "--sp needs --tp 2 or more"),
        ({"ep": 8}, "has no experts; want no --ep"),
        ({"network": MIXTRAL, "ep": 8, "batch": 4}, "batch: want a multiple of the 8 groups of --ep and --dp, found 4"),
        ({"pp": 3, "dp": 3, "batch": 9}, "--tp, --dp: want a --tp that divides the 8 devices"),
    ],
)
def test_what_cannot_be_shared_is_refused(asked, says):
    with pytest.raises(RooflintError, match=says):
        step(**asked)
