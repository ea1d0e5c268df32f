"""Networks that run by the names that compare takes: what is built has the facts of its name, and it can be called."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from rooflint.workloads.capture.torchvision_networks import import_torchvision  # noqa: E402

import_torchvision()  # transformers imports it, and fails where its operators do not load
transformers = pytest.importorskip("transformers")

from pytest_rooflint.recordings import network_runs  # noqa: E402
from rooflint.base.errors import RooflintError  # noqa: E402
from rooflint.workloads.capture.graph import CaptureError  # noqa: E402
from rooflint.workloads.capture.libraries import planned  # noqa: E402
from rooflint.workloads.capture.runnable import built, differences, keys_of, runnable  # noqa: E402
from rooflint.workloads.configuration import Transformer  # noqa: E402
from rooflint.workloads.huggingface import FAMILIES, transformer_of  # noqa: E402
from rooflint.workloads.huggingface_networks import network_of  # noqa: E402
from rooflint.workloads.networks import network_named, network_names  # noqa: E402

SMALL = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
    "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 128,
}  # fmt: skip


def test_the_libraries_of_networks_load_before_any_is_built_also_where_operators_of_torchvision_do_not():
    """In a fresh process, which has not imported torchvision; the process fails where the import does."""
    code = (
        "from pytest_rooflint.recordings.network_runs import _import_libraries as load; load(['resnet18', 'bert-base'])"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def called(found):
    with torch.inference_mode():
        return found.make()(*found.example.arguments, **found.example.named)


ALONE = [name for name in network_names() if isinstance(network_named(name).configuration, Transformer)]
"""Those that are a decoder or an encoder."""

TABLES = {"gpt-3-175b", "mt-nlg-530b", "palm-540b", *(f"mpt-{size}" for size in ("7b", "30b", "70b"))}
TABLES |= {name for name in ALONE if name.startswith("megatron-")}
"""Networks of printed training runs: they have op tables, and no configuration of transformers has their facts."""


@pytest.mark.parametrize("name", [name for name in ALONE if name not in TABLES])
def test_the_configuration_that_transformers_reads_has_the_facts_of_the_name(name):
    net = network_named(name).transformer
    keys = keys_of(net)
    if keys["model_type"] not in FAMILIES:
        pytest.skip(f"{keys['model_type']} is built by no configuration yet")
    configuration = transformers.AutoConfig.for_model(**keys)
    again = transformer_of(name, json.loads(configuration.to_json_string(use_diff=False)))
    assert differences(net, again) == []


@pytest.mark.parametrize("name", [name for name in network_names() if name not in ALONE and name != "dlrm-v2"])
def test_the_file_that_a_library_saves_is_read_as_the_network_of_the_name(name, tmp_path):
    shipped = network_named(name)
    with torch.device("meta"):
        made = planned(name, shipped.configuration, 1, None, keys_of).make().network
    saved = made if type(made).__module__.startswith("diffusers") else made.config
    file = tmp_path / "config.json"
    file.write_text(saved.to_json_string(), encoding="utf-8")
    again = network_of(file)
    assert again.configuration.parameters == shipped.configuration.parameters
    assert list(again.workload(2).rows()) == list(shipped.workload(2).rows())


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_network_that_no_configuration_has_is_refused_with_what_differs(name):
    with pytest.raises(CaptureError, match=f"{name}: transformers has no configuration with its facts \\(."):
        runnable(name, prompt=1).make()


def test_bert_takes_ids_and_has_its_parameters():
    found = runnable("bert-base", 2, prompt=8)
    (ids,) = found.example.arguments
    assert (ids.shape, ids.dtype, found.tokens, found.family) == ((2, 8), torch.int64, 8, "text")
    assert called(found).shape == (2, 8, 768)
    assert sum(one.numel() for one in found.make().parameters()) == network_named("bert-base").transformer.parameters


def test_clip_takes_pictures_of_its_own_size():
    found = runnable("clip-vit-b-32", 2)
    assert (found.example.arguments[0].shape, found.tokens) == ((2, 3, 224, 224), None)
    assert called(found).shape == (2, 512)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "shapes", "family"),
    [
        ("whisper-base", {}, [(2, 80, 3000), (2, 1)], "speech"),
        ("t5-base", {"prompt": 16}, [(2, 16), (2, 1)], "text"),
    ],
)
def test_an_encoder_and_its_decoder_write_the_first_token(name, given, shapes, family):
    found = runnable(name, 2, **given)
    assert ([one.shape for one in found.example.arguments], found.family) == (shapes, family)
    net = network_named(name).configuration
    assert called(found).shape == (2, 1, net.vocabulary)  # and transformers made as many parameters
    with pytest.raises(CaptureError, match="steps of its decoder are not run; want no --past"):
        runnable(name, past=7)


OTHERS = {
    "clip": ("multimodal", [(2, 77), (2, 3, 224, 224)]),
    "clip-vit-b-32-text": ("text", [(2, 77)]),
    "llava-1.5-7b": ("multimodal", [(2, 2048), (2, 3, 336, 336)]),
    "sam-vit-h": ("image", [(2, 3, 1024, 1024)]),
    "wav2vec2-base": ("speech", [(2, 250_000)]),
    "dit-xl-2": ("diffusion", [(2, 4, 32, 32), (2,), (2,)]),
    "sdxl-unet": ("diffusion", [(2, 4, 128, 128), (2,), (2, 77, 2048), (2, 1280), (2, 6)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_networks_for_images_and_speech_are_built_with_the_parameters_of_their_facts(name):
    if OTHERS[name][0] == "diffusion":
        pytest.importorskip("diffusers")
    found = runnable(name, 2)
    assert (found.family, [tuple(one.shape) for one in found.example.arguments]) == OTHERS[name]
    with torch.device("meta"):  # and refused where they are others
        found.make()


@pytest.mark.slow
def test_the_text_tower_of_clip_projects_the_last_token():
    assert called(runnable("clip-vit-b-32-text", 2, prompt=5)).shape == (2, 512)


@pytest.mark.slow
def test_both_towers_of_clip_compare_each_image_with_each_text():
    assert called(runnable("clip", 2, prompt=5)).shape == (2, 2)


def test_a_network_that_no_library_has_is_refused():
    with pytest.raises(CaptureError, match="dlrm-v2: neither transformers nor diffusers has it"):
        runnable("dlrm-v2")


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "tiny-llama" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps(SMALL), encoding="utf-8")
    return str(file)


def test_a_small_llama_is_read_from_its_config_json_and_named_without_its_folders(small):
    found = runnable(small, 3, prompt=5)
    assert found.name == "tiny-llama/config.json"
    assert called(found).shape == (3, 1, 256)  # logits of the last token


def test_a_step_of_decode_sees_the_whole_cache(small):
    found = runnable(small, 2, prompt=1, past=7)
    ids, *cached = found.example.arguments
    assert (ids.shape, len(cached), cached[0].shape) == ((2, 1), 2 * 2, (2, 2, 7, 16))
    before = called(found)
    found.example.arguments[1].zero_()
    assert not torch.equal(before, called(found))


def test_a_call_does_not_lengthen_the_cache_of_the_next_one(small):
    found = runnable(small, 1, prompt=1, past=7)
    module = found.make()
    with torch.inference_mode():
        first, second = module(*found.example.arguments), module(*found.example.arguments)
    assert torch.equal(first, second)


def test_a_configuration_that_transformers_reads_otherwise_is_refused():
    net = network_named("llama-3.2-1b").transformer
    keys = keys_of(net) | {"num_hidden_layers": 3}
    with pytest.raises(CaptureError, match=r"transformers has no configuration with its facts \(layers\)"):
        built("llama", keys, net)


FACTORY = """
import torch

def two():
    return torch.nn.Embedding(3, 4), torch.tensor([[0], [2]])

def plain():
    return torch.nn.Linear(4, 2)
"""


@pytest.fixture
def factory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(FACTORY, encoding="utf-8")
    return "nets.py"


def test_a_user_model_at_another_batch_gets_its_own_samples_again(factory):
    # ids above 2 would not be in the table
    found = runnable(f"{factory}:two", 5)
    assert found.name == "nets.py:two"
    assert found.example.arguments[0].flatten().tolist() == [0, 2, 0, 2, 0]
    assert called(found).shape == (5, 1, 4)


def test_a_user_model_without_an_example_gets_random_input_of_the_shape(factory):
    found = runnable(f"{factory}:plain", 8, shapes=[[1, 4]])
    assert called(found).shape == (8, 2)
    assert found.table.total_macs == 8 * 4 * 2
    with pytest.raises(RooflintError, match="want the shape of its input, such as --input 1,3,224,224"):
        runnable(f"{factory}:plain")


def test_a_saved_program_runs_as_it_was_exported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "linear.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.randn(3, 4),)), file)
    found = runnable(str(file), 3)
    assert (found.name, called(found).shape) == ("linear.pt2", (3, 2))


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("mobilenet_v2", "classification"),
        pytest.param("lraspp_mobilenet_v3_large", "segmentation", marks=pytest.mark.slow),
        pytest.param("raft_small", "optical_flow", marks=pytest.mark.slow),
        ("quantized_mobilenet_v2", "quantization"),
    ],
)
def test_torchvision_runs_by_name(name, family):
    found = runnable(name, shapes=[[1, 3, 128, 128]])
    assert (found.family, found.table.batch) == (family, 1)
    assert called(found) is not None


def test_a_graph_without_a_module_is_refused():
    with pytest.raises(RooflintError, match=r"net\.onnx: torch runs no \.onnx file"):
        runnable("net.onnx")


def test_an_unknown_name_is_told_as_elsewhere():
    with pytest.raises(RooflintError, match="did you mean resnet18"):
        runnable("resnet81")


def test_bytes_of_a_quantized_network_are_those_of_its_weights_and_all_else(factory):
    # 4 × 2 weights, 3 inputs of 4 and 3 results of 2 and 2 biases: 4 B each; weights of 1 B in int8
    found = network_runs.model(f"{factory}:plain", 3, network_runs.Sweep((), shapes=((1, 4),)))
    assert found.bytes_of("fp32") - found.bytes_of("int8") == (4 * 2 + 2) * 3
    # 4 bit and 32 bit for 128 of them in place of 16
    assert found.bytes_of("bf16") - found.bytes_of("int4") == pytest.approx((4 * 2 + 2) * (2 - 4.25 / 8))


# ---- docs/examples/networks.py

EXAMPLES = "docs/examples/networks.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("llama", (2, 128, 32000)),
        ("bert", (2, 128, 128)),
        ("whisper", (2, 16, 51865)),
        ("clip", (2, 2)),
        ("unet_block", (2, 320, 32, 32)),
    ],
)
def test_the_examples_of_text_speech_and_pictures_run_and_are_counted(name, shape):
    found = runnable(f"{EXAMPLES}:{name}", 2)
    result = called(found)
    first = result if isinstance(result, torch.Tensor) else result[0]
    assert first.shape == shape
    assert (found.name, found.table.batch) == (f"networks.py:{name}", 2)


def test_the_work_of_a_unet_block_is_what_its_sizes_say():
    # 2 convolutions of 9 × 320² at 1024 pixels, the time of 1280 × 320, and attention: queries, results and the
    # picture's keys and values of 320 each, the prompt's 77 tokens of 768 to 640, scores and values over 1024 and 77
    pixels, wide = 32 * 32, 320
    convolutions = 2 * 9 * wide**2 * pixels
    products = (4 + 2) * wide**2 * pixels + 77 * 768 * 2 * wide
    attention = 2 * wide * pixels * (pixels + 77)
    assert runnable(f"{EXAMPLES}:unet_block").table.total_macs == convolutions + 1280 * wide + products + attention
