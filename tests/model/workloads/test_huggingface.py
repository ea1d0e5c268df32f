"""Configurations of Hugging Face: the same networks as those that ship, and what is refused."""

import json

import pytest

from rooflint.base.errors import InputError, RooflintError
from rooflint.workloads.huggingface import FAMILIES, transformer_of
from rooflint.workloads.huggingface_networks import ARCHITECTURES, network_of
from rooflint.workloads.load import network
from rooflint.workloads.networks import network_named
from rooflint.workloads.transformer import Step, table

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
    "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False,
}  # fmt: skip
MIXTRAL = LLAMA | {
    "model_type": "mixtral", "vocab_size": 32000, "max_position_embeddings": 32768, "num_local_experts": 8,
    "num_experts_per_tok": 2, "sliding_window": None,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "vocab_size": 129280,
    "max_position_embeddings": 163840, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
    "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "hidden_act": "silu",
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64, "head_dim": 64,
    "num_key_value_heads": 8, "intermediate_size": 2880, "vocab_size": 201088, "max_position_embeddings": 131072,
    "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "keys"),
    [("llama-3.1-8b", LLAMA), ("mixtral-8x7b", MIXTRAL), ("deepseek-v3", DEEPSEEK), ("gpt-oss-20b", GPT_OSS)],
)
def test_a_configuration_computes_what_the_specs_do(name, keys):
    shipped, read = network_named(name).transformer, transformer_of(name, keys)
    assert read.parameters == shipped.parameters
    for new, past in ((64, 0), (1, 64)):
        first, second = (list(table(net, 2, new, [Step(past)]).rows()) for net in (shipped, read))
        assert first == second


def test_a_file_is_a_network_wherever_one_is_accepted(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA), encoding="utf-8")
    work = network(str(file), prompt=1, past=10)
    assert (work.name, work.tokens) == (str(file), (1, 10, 1))
    assert network_of(file).transformer.parameters == 8_030_261_248


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"model_type": "rwkv"},
            f"model_type: want one of {', '.join(sorted([*FAMILIES, *ARCHITECTURES]))}, found 'rwkv'",
        ),
        ({"model_type": None}, f"model_type: want one of {', '.join(sorted([*FAMILIES, *ARCHITECTURES]))}, found none"),
        ({"hidden_size": None}, "hidden_size: is missing"),
        (
            {"intermediate_size": None, "vocab_size": None, "max_position_embeddings": None},
            "intermediate_size, vocab_size and max_position_embeddings: are missing",
        ),
        ({"num_hidden_layers": "32"}, "num_hidden_layers: want a whole number of at least 1, found 32"),
        ({"hidden_act": "mish"}, "hidden_act: want one of silu"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, changed, message):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA | changed), encoding="utf-8")
    with pytest.raises(RooflintError) as refused:
        network(str(file))
    assert str(refused.value).startswith(str(file))
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["[]", "{", ""])
def test_what_is_no_configuration_is_refused_with_its_line(tmp_path, text):
    file = tmp_path / "config.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json:1"):
        network(str(file))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RooflintError, match="config"):
        network(str(tmp_path / "config.json"))
