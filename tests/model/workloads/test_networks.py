"""Networks by configuration: what every file says, names and typos, and what a file is refused for."""

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint.hardware.registry import PACKAGED
from rooflint.workloads.layers import Architecture
from rooflint.workloads.load import network
from rooflint.workloads.networks import PROMPT, find_network, network_named, network_names, read_network
from rooflint.workloads.workload import WorkloadError

LLAMA = """\
name: Tiny
architecture: decoder
sources:
  cfg: {document: config.json of a test, grade: read}
layers: [2, cfg, num_hidden_layers]
hidden: [8, cfg, hidden_size]
heads: [2, cfg, num_attention_heads]
kv_heads: [1, cfg, num_key_value_heads]
feed_forward: [16, cfg, intermediate_size]
vocabulary: [32, cfg, vocab_size]
context: [64, cfg, max_position_embeddings]
activation: [silu, cfg, hidden_act]
gated: [true, cfg, gate_proj]
norm: [rms_norm, cfg, rms_norm_eps]
positions: [rope, cfg, rope_theta]
bias: [none, cfg, attention_bias]
tied: [false, cfg, tie_word_embeddings]
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        file = tmp_path / "tiny.yaml"
        file.write_text(text, encoding="utf-8")
        return read_network(file)

    return read_text


@pytest.mark.parametrize("name", network_names())
def test_every_network_has_a_table_for_prompts_and_for_decode(name):
    found = network_named(name)
    assert found.name == name
    if isinstance(found.configuration, Architecture):
        assert found.workload(4).total_macs == found.workload(1).at_batch(4).total_macs > 0
        return
    encoder = found.transformer.encoder
    if encoder is None or encoder.image is None:
        assert found.workload().tokens == (min(PROMPT, found.transformer.context), 0, 1)
    past = 0 if encoder else 100
    assert found.workload(4, new=found.transformer.context if encoder else 1, past=past).total_macs > 0
    assert all(fact.source.document for fact in found.facts.values())


def test_a_network_has_a_name_an_id_and_aliases_in_any_case():
    for name in ("llama-3.1-70b", "llama/llama-3.1-70b", "Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct"):
        assert find_network(name).id == "llama/llama-3.1-70b"
    assert find_network("resnet18") is None


def test_a_typo_names_the_nearest_networks():
    with pytest.raises(WorkloadError, match=r"unknown network 'lama-3.1-70b'; did you mean llama-3.1-70b"):
        network_named("lama-3.1-70b")


def test_facts_become_a_configuration(read):
    found = read(LLAMA).transformer
    assert (found.layers, found.head_size, found.kv_heads, found.gated, found.tied) == (2, 4, 1, True, False)
    # embedding and head 2 × 32 × 8; norms 5 × 8; each layer 8 × (8 + 4 + 4 + 8) + 3 × 8 × 16
    assert found.parameters == 512 + 40 + 2 * (192 + 384)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[silu, cfg", "[swish, cfg", "tiny.yaml:12  activation: want one of silu, gelu"),
        ("gated: [true, cfg", "gated: [true, code", "tiny.yaml:13  gated: unknown source 'code' (listed: cfg)"),
        ("layers: [2, cfg", "layers: [2, code", "layers: unknown source 'code'"),
        ("kv_heads: [1,", "kv_heads: [3,", "tiny.yaml:8  kv_heads: want a divisor of the 2 heads"),
        ("heads: [2, cfg, num_a", "heads: [3, cfg, num_a", "want a divisor of hidden, or a head_size; found 3"),
        ("layers: [2,", "layers: [2.5,", "layers: want a whole number"),
        ("tied: [false, cfg, tie_word_embeddings]\n", "", "tied: is missing"),
        ("feed_forward: [16, cfg, intermediate_size]\n", "", "feed_forward: is missing, for 2 layers without experts"),
        ("context:", "window: [4, cfg, w]\ncontext:", "want window and window_layers together"),
        ("hidden:", "hiden:", "unknown key 'hiden'; did you mean 'hidden'?"),
        ("gated: [true, cfg, gate_proj]", "gated: true", "gated: want [value, source, where]"),
        ("vocabulary: [32, cfg, vocab_size]\n", "", "vocabulary: is missing"),
        ("architecture: decoder", "architecture: encoder", "want encoder with a section of that name, and only then"),
    ],
)
def test_a_file_is_refused_with_its_line(read, old, new, message):
    with pytest.raises(InputError) as refused:
        read(LLAMA.replace(old, new, 1))
    assert message in str(refused.value)


# ---- by name, where any network is accepted


def test_a_language_model_is_loaded_by_name_and_tokens():
    assert network("llama-3.1-8b", prompt=1, past=2048).tokens == (1, 2048, 1)


def test_a_language_model_has_no_shape():
    with pytest.raises(RooflintError, match=r"llama-3.1-8b: want no shape but tokens, such as --prompt 2048"):
        network("llama-3.1-8b", [[1, 3, 224, 224]])


def test_a_network_whose_input_is_a_fact_has_no_shape():
    with pytest.raises(RooflintError, match=r"sam-vit-h: want no shape but a batch, such as -b 8"):
        network("sam-vit-h", [[1, 3, 512, 512]])


def test_tokens_are_for_language_models():
    with pytest.raises(RooflintError, match="resnet18: is not a language model, which --prompt and --past are for"):
        network("resnet18", prompt=8)
    with pytest.raises(RooflintError, match=r"are for; did you mean llama-3\.1-8b"):
        network("llama-3.1-8", prompt=8)


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(WorkloadError, match="gpt-j-6b: want at most 2048 tokens, its context; found 2049"):
        network("gpt-j-6b", prompt=1, past=2048)


# ---- networks of one's own


def test_a_network_below_ones_own_specs_is_known_by_name_and_goes_before_one_that_is_shipped(specs):
    specs.write("acme/mine-8b", LLAMA.replace("name: Tiny", "name: Mine"), "networks")
    specs.write("acme/llama-3.1-8b", LLAMA, "networks")
    roots = (specs.root, PACKAGED)
    assert network("mine-8b", prompt=1, roots=roots).tokens == (1, 0, 1)
    assert find_network("llama-3.1-8b", roots).transformer.layers == 2
    assert find_network("llama-3.1-8b").transformer.layers == 32
    assert {"mine-8b", "llama-3.1-70b"} <= set(network_names(roots))
    assert find_network("mine-8b") is None


def test_an_unknown_network_is_compared_with_ones_own(specs):
    specs.write("acme/mine-8b", LLAMA, "networks")
    with pytest.raises(WorkloadError, match=r"unknown network 'mine-8'; did you mean mine-8b"):
        network_named("mine-8", (specs.root, PACKAGED))


@pytest.mark.parametrize(
    "name", ["dit-xl-2", "sdxl-unet", "sam-vit-h", "wav2vec2-base", "t5-base", "whisper-base", "llava-1.5-7b"]
)
@pytest.mark.parametrize("batch", [2, 7])
def test_a_table_that_is_scaled_is_the_one_that_is_made_anew(name, batch):
    net = network_named(name)
    scaled, anew = net.workload(batch), net.configuration.table(batch)
    assert scaled == anew  # rows and data flow, with what policies tell apart
    for storage in ("bf16", "w4a16"):
        assert (scaled.bytes_moved(storage) == anew.bytes_moved(storage)).all()
