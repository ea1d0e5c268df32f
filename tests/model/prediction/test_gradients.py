"""Training on several devices: what they exchange and wait for, by hand, and what each keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflint.api.predictions import context
from rooflint.base.errors import RooflintError
from rooflint.hardware.names import system_named
from rooflint.prediction.gradients import BUCKET_BYTES, over_all_s, sums, waited_s
from rooflint.prediction.parallel import place
from rooflint.prediction.predict import Setting
from rooflint.prediction.training import Run, train
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
    found = {one.name: one for one in sums(net, shard(net, how), how, 2, 1000, again=False)}
    # 2 × 1000 tokens of 4096, in each of 32 layers
    assert {name: one.times for name, one in found.items()} == {
        "embedding": 1, "attention": 32, "feed-forward": 32, "attention backward": 32, "feed-forward backward": 32,
        "loss": 3, "head backward": 1,
    }  # fmt: skip
    assert {one.elements for name, one in found.items() if name != "loss"} == {2 * 1000 * 4096}
    assert found["loss"].elements == 2 * 1000
    again = [one.name for one in sums(net, shard(net, how), how, 2, 1000, again=True)]
    assert {"attention again", "feed-forward again"} <= set(again)
    assert not sums(net, net, Parallelism(), 2, 1000, again=True)


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
    assert stream.network_s - free.network_s == pytest.approx((4 * 32 + 5) * stream.forward.times.overhead_s)


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
    ops = [found.passes[0].times.ops.sum() * found.place.how.devices for found in (one, several)]
    assert ops[1] == pytest.approx(ops[0], rel=1e-3)  # norms are on every device
    assert several.run.own_batch == 4


def test_micro_batches_keep_less_and_send_gradients_once():
    whole, parts = step(batch=32, dp=8), step(batch=32, dp=8, micro=1)
    assert parts.memory.activation_bytes == pytest.approx(whole.memory.activation_bytes / 4)
    assert parts.sent[0].sent_bytes == whole.sent[0].sent_bytes
    assert parts.parts_s["forward"] == pytest.approx(4 * step(batch=8, dp=8).parts_s["forward"])
    assert parts.optimizer_s == whole.optimizer_s
    shared = step(batch=32, dp=8, micro=1, zero=2)  # a device keeps its share of the gradients alone
    assert shared.sent[0].sent_bytes == pytest.approx(4 * step(batch=8, dp=8, zero=2).sent[0].sent_bytes)
    assert parts.hfu / parts.mfu == pytest.approx(whole.hfu / whole.mfu)


# ---- Laws


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
    ],
)
def test_what_cannot_be_shared_is_refused(asked, says):
    with pytest.raises(RooflintError, match=says):
        step(**asked)
