"""The answer to `rooflint analyze NETWORK DEVICE --train`: what it says, and which options it refuses."""

import json

import pytest
from typer.testing import CliRunner

import rooflint as rl
from rooflint.answers.training import TrainRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.networks import app

ASKED = ("analyze", "llama-3.1-8b", "h200-sxm", "--train", "--prompt", "4096")


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_text_says_what_a_step_needs():
    text = " ".join(run(*ASKED).split())
    # 8 030 261 248 parameters × 2 B; × 2 B; × 12 B
    assert "weights 16.06 GB 8,030,261,248 parameters" in text
    assert "optimizer 96.36 GB master copy and two moments in FP32" in text
    assert "it needs 148.9 GB of 141 GB; --tp, --pp, --dp, --zero and --recompute help" in text


def test_mfu_is_told_by_both_conventions_and_that_the_step_is_a_bound():
    text = " ".join(run(*ASKED).split())
    # (8 030 261 248 - 128 256 × 4096) × 6 + 12 × 32 × 32 × 128 × 2048.5; 8 030 261 248 × 6 + 12 × 32 × 32 × 128 × 4096
    assert "48.25 GFLOP per token: causal attention, embedding not counted; peak 989.4 TFLOP/s" in text
    assert "54.62 GFLOP per token: full attention and embedding counted (PaLM, appendix B)" in text
    assert "published steps in BF16 and FP8 took 1.5 to 3.2 times as long" in text
    assert "PaLM" not in run("analyze", "bert-base-uncased", "h200-sxm", "--train", "--prompt", "128")


def test_weights_in_fp32_have_no_master_copy():
    text = " ".join(run(*ASKED, "-p", "tf32").split())
    assert "optimizer 64.24 GB two moments in FP32" in text


def test_json_has_a_schema_and_obeys_the_options():
    found = json.loads(run(*ASKED, "-b", "2", "--recompute", "full", "-f", "json"))
    assert TrainRecord.model_validate(found).batch == 2
    assert (found["recompute"], found["length"], found["fits"]) == ("full", 4096, True)  # 16 B × 8 G and 7.5 GB
    assert sum(found["parts_s"].values()) == pytest.approx(found["step_s"])
    assert found["mfu"] == pytest.approx(found["tokens_per_s"] * found["model_ops_per_token"] / found["peak_ops_per_s"])
    assert found["tokens_per_s"] == pytest.approx(2 * 4096 / found["step_s"])


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (("--generate", "8"), "generate"),
        (("--past", "8"), "past"),
        (("--fuse",), "fuse"),
        (("--input", "8,3"), "input"),
    ],
)
def test_options_of_other_questions_are_refused_beside_train(more, name):
    with pytest.raises(RooflintError, match=f"--{name} cannot be used with --train"):
        run(*ASKED, *more)


@pytest.mark.parametrize(
    "more",
    ["--recompute full", "--dp 2", "--virtual-stages 2", "--lora 8", "--zero 1", "--micro-batch 1", "--tower frozen"],
)
def test_what_belongs_to_training_is_asked_for_beside_train_only(more):
    option, value = more.split()
    with pytest.raises(RooflintError, match=f"{option} needs --train"):
        run("analyze", "llama-3.1-8b", "h200-sxm", option, value)


SEVERAL = (
    "analyze",
    "llama-3.1-70b",
    "hgx-h100",
    "--train",
    "--prompt",
    "4096",
    "--tp",
    "8",
    "--dp",
    "8",
    "--zero",
    "1",
)


def test_text_says_what_several_devices_share_and_send():
    text = " ".join(run(*SEVERAL, "-b", "64", "--micro-batch", "1").split())
    assert "a training step of 64 × 4096 tokens on 64 × nvidia/h100-sxm5-80gb" in text
    assert "tp 8, dp 8, ZeRO 1, 8 micro-batches of 1, selective recomputation" in text
    # 2 × 7/8 of 17.64 GB in 16 bits, in buckets of 25 MiB, and gathered layer by layer
    assert "reduce-scatter, gradients 673 15.44 GB" in text
    assert "all-gather, weights 80 15.44 GB" in text
    assert "products are divided by tp; optimizer by dp" in text


def test_json_has_what_is_sent_and_waited_for():
    found = json.loads(run(*SEVERAL, "-f", "json"))
    assert (found["batch"], found["members"], found["system"], found["micro_batch"]) == (8, 64, "nvidia/hgx-h100", 1)
    assert found["parts_s"]["network"] == pytest.approx(sum(one["waited_s"] for one in found["sent"]))
    rate = found["tokens_per_s"] * found["model_ops_per_token"]
    assert found["mfu"] == pytest.approx(rate / (64 * found["peak_ops_per_s"]))


def test_one_system_trains():
    with pytest.raises(RooflintError, match="--train: want one device or system"):
        rl.train("llama-3.1-8b", "hgx-h100,hgx-h200", tp=8)
    with pytest.raises(RooflintError, match="want a system of such devices, found none"):
        rl.train("llama-3.1-8b", "t4", tp=2)
    with pytest.raises(
        RooflintError, match="'hgx-h100' is 8 devices; add --tp, --pp or --dp, or name nvidia/h100-sxm5"
    ):
        rl.train("llama-3.1-8b", "hgx-h100")
    with pytest.raises(
        RooflintError,
        match="want at most the 8 devices of nvidia/hgx-h100, found 16; --pp takes several systems, and so does --dp",
    ):
        rl.train("llama-3.1-8b", "hgx-h100", tp=16, dp=2)


def test_the_function_prints_what_the_command_prints():
    step = rl.train("llama-3.1-8b", "h200-sxm", length=4096)
    assert str(step).strip() == run(*ASKED).strip()
    assert step.found.mfu < step.found.hfu < 1
    assert repr(step) == "<TrainingStep of llama-3.1-8b on nvidia/h200-sxm-141gb>"


def test_only_transformers_train():
    with pytest.raises(RooflintError, match=r"^resnet18: training needs a language model by name, or a config\.json$"):
        rl.train("resnet18", "h200-sxm")


def test_no_tokens_are_refused_and_not_taken_for_the_default():
    with pytest.raises(RooflintError, match="length: want 1 or more, found 0"):
        rl.train("llama-3.1-8b", "h200-sxm", length=0)
    with pytest.raises(RooflintError, match="prompt: want 1 or more, found 0"):
        rl.generate("llama-3.1-8b", ["h200-sxm"], prompt=0, generate=8)


def test_a_network_that_sees_trains_with_its_tower_frozen_or_not():
    text = " ".join(run("analyze", "llava-1.5-7b", "h200-sxm", "--train").split())
    assert "tower frozen, selective recomputation" in text
    # 7 063 427 072 less the 303 507 456 of the encoder
    assert "gradients 13.52 GB of 6,759,919,616 that are trained" in text
    whole = rl.train("llava-1.5-7b", "hgx-h100", tower="trained", tp=8, dp=2, recompute="full")
    assert whole.found.memory.trained == whole.found.memory.parameters
    assert whole.found.mfu < whole.found.hfu < 1


def test_tokens_are_divided_beside_train_only():
    with pytest.raises(RooflintError, match="--sp needs --train"):
        run("analyze", "llama-3.1-8b", "h200-sxm", "--sp")


def test_text_says_how_stages_share_a_network():
    text = " ".join(run("analyze", "gpt-3-175b", "hgx-a100", "--train", "-p", "fp16", "--tp", "8", "--pp", "8",
                        "--virtual-stages", "3", "--sp", "-b", "64").split())  # fmt: skip
    assert "on 64 × nvidia/a100-sxm4-80gb" in text
    assert "tp 8, pp 8, 3 virtual stages, sequence parallel, 64 micro-batches of 1, selective recomputation" in text
    # 64 micro-batches × 2 ways × 3 parts of each stage
    assert "point-to-point, next stage 384" in text
    assert "activations 12.48 GB" in text  # 11.62 GiB, as in test_gradients.py
    assert "bubble" in text
    assert "products are divided by tp; layers by pp" in text
    found = rl.train("gpt-3-175b", "hgx-a100", tp=8, pp=8, virtual_stages=3, sp=True, batch=64, precision="fp16").found
    assert found.parts_s["bubble"] == found.bubble_s > 0


def test_adapters_are_trained_alone():
    text = " ".join(run("analyze", "llama-2-70b", "hgx-h100", "--train", "--tp", "8", "--lora", "16").split())
    assert "LoRA of rank 16, selective recomputation" in text
    # of 8 devices: 80 × 16 × (8192 + 10240 / 8 + 8192 / 8 + 8192)
    assert "of 23,920,640 that are trained" in text
    assert rl.train("llama-2-70b", "hgx-h100", tp=8, lora=16).found.run.adapters == 23_920_640
