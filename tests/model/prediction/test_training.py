"""Training: operations of a token by definition, and a step on one device."""

import numpy as np
import pytest

from rooflint.api.predictions import context
from rooflint.prediction.parallel import Place
from rooflint.prediction.predict import Setting
from rooflint.prediction.training import train
from rooflint.prediction.training_run import Run, token_ops
from rooflint.workloads.networks import network_named
from rooflint.workloads.parallelism import Parallelism
from rooflint.workloads.workload import WorkloadError

FREE = Setting("bf16", launch="free")


def step(
    name="llama-3.1-8b", batch=1, length=4096, recompute="selective", setting=FREE, device="nvidia/h100-sxm5-80gb"
):
    known, energies = context(None)
    return train(Place(known.get(device)), Run(network_named(name), batch, length, recompute), energies, setting)


def test_a_token_of_palm_needs_what_its_paper_says():
    palm = network_named("palm-540b").transformer
    # 6 × 540.36 G + 12 × 118 layers × 48 heads × 256 × 2048 keys
    found = token_ops(palm, 2048)
    assert found.parameters == pytest.approx(6 * 540_356_474_880)
    assert found.attention == 12 * 118 * 48 * 256 * 2048
    assert found.hardware("full") == pytest.approx(found.model * 4 / 3)  # 8 N for 6 N
    assert found.hardware("selective") - found.model == pytest.approx(found.attention / 3)
    assert found.hardware("none") == found.model


def test_causal_attention_counts_half_of_the_keys_and_the_token_itself():
    net = network_named("llama-3.1-8b").transformer
    half = token_ops(net, 4096, attention="causal").attention / token_ops(net, 4096).attention
    assert half == (4096 + 1) / (2 * 4096)
    assert token_ops(net, 4096, attention="none").attention == 0


def test_a_window_bounds_the_keys():
    net = network_named("gpt-oss-20b").transformer
    assert net.window_layers > 0
    # 12 layers see all of 4096 tokens, 12 a window of 128
    per_key = 6 * net.heads * 2 * net.head_size
    assert token_ops(net, 4096).attention == per_key * (12 * 4096 + 12 * 128)


def test_tokens_of_a_mixture_meet_their_own_experts_only():
    net = network_named("mixtral-8x7b").transformer
    own, every = (token_ops(net, 4096, counted=counted).parameters for counted in ("all", "experts"))
    assert own == 6 * 12_879_925_248
    assert every == 6 * net.parameters


@pytest.mark.parametrize("name", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt-3-175b"])
def test_the_products_of_a_step_are_those_of_the_definition(name):
    run = Run(network_named(name), 2, 1024)
    counted = 2 * (run.forward.macs.sum() + run.backward.macs.sum())
    # keys are rounded up to a whole number, and norms and the router's bias are parameters without a product
    assert counted == pytest.approx(run.tokens * run.token_ops().model, rel=1e-3)


def test_each_product_goes_backward_twice():
    run = Run(network_named("llama-3.1-8b"), 1, 512)
    forward = {op.name: op for op in run.forward.rows()}
    backward = {op.name: op for op in run.backward.rows()}
    down, inputs, weights = forward["down"], backward["d(down).input"], backward["d(down).weight"]
    assert (inputs.m, inputs.n, inputs.k) == (down.m, down.k, down.n)
    assert (weights.m, weights.n, weights.k) == (down.k, down.n, down.m)
    assert inputs.macs == weights.macs == down.macs
    assert weights.elements_out == down.elements_weight


def test_adam_keeps_sixteen_bytes_a_parameter_and_moves_twenty_eight():
    found = step().memory
    states = found.weight_bytes + found.gradient_bytes + found.optimizer_bytes
    assert states == 16 * found.parameters
    assert found.moved_by_optimizer_bytes == 28 * found.parameters


def test_activations_of_a_gpt_are_those_of_korthikanti_without_dropout():
    # s·b·h × (34 − 2 masks of 1 byte) a layer, beside the norm and the head behind them: 4 s·b·h, and logits in 4 bytes
    run = Run(network_named("gpt-3-175b"), 1, 2048)
    each = 2048 * 12288
    assert run.memory("bf16").activation_bytes == 96 * 32 * each + 4 * each + 4 * 2048 * 50257
    # and 5 a·s²·b of scores less the dropout: 2 a·s²·b
    kept = Run(network_named("gpt-3-175b"), 1, 2048, "none").memory("bf16").activation_bytes
    assert kept - run.memory("bf16").activation_bytes == 96 * 2 * 96 * 2048**2


def test_recomputing_more_takes_longer_and_keeps_less():
    steps = [step(recompute=recompute) for recompute in ("none", "selective", "full")]
    assert np.all(np.diff([one.step_s for one in steps]) > 0)
    assert np.all(np.diff([one.memory.activation_bytes for one in steps]) < 0)
    none, selective, full = steps
    assert none.mfu == none.hfu
    # all layers run again, but not the head: 2 × 128256 × 4096 of the 6 N that MFU counts
    model = full.run.token_ops().model
    assert full.hfu / full.mfu == pytest.approx(1 + (model / 3 - 2 * 128_256 * 4096) / model, rel=1e-4)
    assert 1 < selective.hfu / selective.mfu < 1.1


@pytest.mark.parametrize(
    ("name", "length"),
    [("llama-3.1-8b", 64), ("gpt-3-175b", 64), ("bert-base", 64), ("clip-vit-b-32", 50), ("gemma-3-27b", 64)],
)
def test_layers_alone_run_again(name, length):
    run = Run(network_named(name), 2, length, "full")
    # all rows of layers repeat in these networks, and no others
    assert {op.name for op in run.again.rows()} == {op.name for op in run.forward.rows() if op.repeats > 1}


def test_a_step_stays_below_the_peak_and_nears_it_with_its_batch():
    small, large = step(batch=1), step(batch=16)
    assert small.mfu < large.mfu < 1
    assert large.optimizer_s == small.optimizer_s
    assert sum(large.parts_s.values()) == large.step_s
    assert large.fits is False


def test_only_the_roofline_of_a_precision_trains():
    for setting in (Setting("w4a16"), Setting("bf16", fidelity="silicon")):
        with pytest.raises(WorkloadError, match="training: want a precision such as bf16 and the fidelity roofline"):
            step(setting=setting)
    for setting in (Setting("int8"), Setting("bf16", storage="int8")):  # whole numbers have no gradients
        with pytest.raises(WorkloadError, match=r"training: want a precision such as bf16 .*, found int8"):
            step(setting=setting)
    with pytest.raises(WorkloadError, match="recompute: want one of none, selective, full, found 'all'"):
        step(recompute="all")
    with pytest.raises(WorkloadError, match="want at most 131072 tokens, its context; found 200000"):
        step(length=200_000)


# ---- A network that sees images

LLAVA = network_named("llava-1.5-7b")


def seen(tower="frozen", recompute="selective", batch=2, length=1024):
    return Run(LLAVA, batch, length, recompute, tower=tower)


def test_a_frozen_tower_has_neither_gradients_nor_states():
    frozen, trained = seen().memory("bf16"), seen("trained").memory("bf16")
    tower = LLAVA.sees.tower.parameters
    assert frozen.weight_bytes == trained.weight_bytes == 2 * 7_063_427_072
    assert trained.gradient_bytes - frozen.gradient_bytes == 2 * tower
    assert trained.optimizer_bytes - frozen.optimizer_bytes == 12 * tower
    assert frozen.activation_bytes < trained.activation_bytes


def test_the_backward_pass_of_a_frozen_tower_ends_at_its_results():
    names = [op.name for op in seen().backward.rows()]
    assert not any(name.startswith("d(image_") for name in names)
    # weights of the first product change, but what it reads needs no gradient
    assert "d(projector_1).weight" in names
    assert "d(projector_1).input" not in names
    assert "d(projector_2).input" in names
    trained = {op.name for op in seen("trained").backward.rows()}
    assert {"d(image_qkv).weight", "d(projector_1).input"} <= trained
    assert not any(op.name.startswith("image_") for op in seen(recompute="full").again.rows())
    again = {op.name for op in seen("trained", "full").again.rows()}
    assert "image_up" in again
    assert not again & {"image_patches", "image_positions_add", "projector_1", "embedding", "head"}


@pytest.mark.parametrize(("tower", "passes"), [("frozen", 1), ("trained", 3)])
def test_operations_are_those_of_the_decoder_and_of_each_image(tower, passes):
    run, net = seen(tower), LLAVA.writer
    image = LLAVA.sees.tower
    of_rows = {op.name: op.macs for op in run.forward.rows()}
    tower_macs = sum(macs for name, macs in of_rows.items() if name.startswith("image_"))
    # each of 577 tokens meets the weights of 24 layers, and 576 patches those of the convolution
    layers = 24 * (4 * 1024**2 + 2 * 1024 * 4096) * 577 + 24 * 16 * 577**2 * 2 * 64 + 576 * 1024 * 3 * 14**2
    assert tower_macs == 2 * layers
    assert image.context == 577
    first, second = 2 * 576 * 1024 * 4096, 2 * 576 * 4096**2
    projector = (3 if tower == "trained" else 2) * first + 3 * second
    images = 2 * (passes * tower_macs + projector)
    assert run.token_ops().model == pytest.approx(token_ops(net, 1024, attention="causal", counted="products").model
                                                  + images / 2048)  # fmt: skip
    counted = 2 * (run.forward.macs.sum() + run.backward.macs.sum())
    assert counted == pytest.approx(run.tokens * run.token_ops().model, rel=1e-3)


def test_a_tower_is_asked_for_where_there_is_one():
    with pytest.raises(WorkloadError, match=r"--tower: want a network that sees images, such as llava-1\.5-7b"):
        Run(network_named("llama-3.1-8b"), 1, 64, tower="trained")
    with pytest.raises(WorkloadError, match="--tower: want one of frozen, trained, found 'half'"):
        seen("half")
    with pytest.raises(WorkloadError, match="want a --prompt of more than the 576 tokens of its image"):
        seen(length=100).forward  # noqa: B018


# ---- Adapters

LORA = network_named("llama-2-70b")


def adapted(recompute="selective", length=1024, rank=16, **more):
    return Run(LORA, 2, length, recompute, lora=rank, **more)


def test_adapters_stand_beside_the_products_of_attention():
    run = adapted()
    # in each of 80 layers 16 × (8192 + 10240) beside qkv, and 16 × (8192 + 8192) beside the product behind attention
    assert run.adapters == 80 * 16 * (8192 + 10240 + 8192 + 8192) == 44_564_480
    forward = {op.name: op for op in run.forward.rows()}
    down, up = forward["lora_qkv_down"], forward["lora_qkv_up"]
    assert (down.m, down.n, down.k, down.repeats) == (2 * 1024, 16, 8192, 80)
    assert (up.m, up.n, up.k) == (2 * 1024, 10240, 16)
    added = forward["lora_qkv_add"]
    assert (added.other_ops, added.elements_in) == (80 * 2048 * 10240, 2 * 80 * 2048 * 10240)


def test_frozen_weights_have_no_gradients():
    names = {op.name for op in adapted().backward.rows()}
    assert {one for one in names if one.endswith(".weight")} == {
        f"d(lora_{row}_{half}).weight" for row in ("qkv", "attention_out") for half in ("down", "up")
    }
    assert {"d(down).input", "d(head).input"} <= names and "d(embedding)" not in names


def test_the_products_of_a_step_with_adapters_are_those_of_the_definition():
    run = adapted()
    counted = 2 * (run.forward.macs.sum() + run.backward.macs.sum())
    assert counted == pytest.approx(run.tokens * run.token_ops().model, rel=1e-3)
    # forward and for inputs: 4 N instead of 6 N
    whole = Run(LORA, 2, 1024).token_ops()
    assert run.token_ops().parameters == pytest.approx(whole.parameters * 4 / 6 + 6 * 44_564_480)


def test_memory_with_adapters_is_that_of_frozen_weights():
    found, whole = adapted().memory("bf16"), Run(LORA, 2, 1024).memory("bf16")
    assert found.weight_bytes - whole.weight_bytes == 2 * 44_564_480
    assert (found.gradient_bytes, found.optimizer_bytes) == (2 * 44_564_480, 12 * 44_564_480)
    # of 2048 tokens in 80 layers nothing is kept of what goes up (8192) and down (28672), and 16 of each adapter is;
    # the head keeps its input neither
    dropped = 80 * (8192 + 28672) + 8192
    assert whole.activation_bytes - found.activation_bytes == 2 * 2048 * (dropped - 80 * 2 * 16)


def test_adapters_are_trained_in_pipelines_and_by_tensor_parallel_devices():
    run = Run(LORA, 8, 1024, how=Parallelism(tp=4, pp=4), lora=16)
    # of a device a quarter of what goes up from 16, and of what goes down to it behind attention; a stage has 20 layers
    assert run.in_stage.adapters == 20 * 16 * (8192 + 10240 // 4 + 8192 // 4 + 8192)
    assert run.memory("bf16").trained == run.in_stage.adapters


@pytest.mark.parametrize(("network", "rank"), [("deepseek-v3", 16), ("llava-1.5-7b", 16), ("llama-2-70b", -1)])
def test_adapters_that_cannot_be_are_refused(network, rank):
    with pytest.raises(WorkloadError, match="--lora: want 1 or more, and a network without images or latent attention"):
        Run(network_named(network), 1, 1024, lora=rank)
