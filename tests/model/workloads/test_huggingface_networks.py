"""Configurations of images, speech and diffusion: the same networks as those that ship, and what is refused."""

import json

import pytest

from rooflint.base.errors import RooflintError
from rooflint.workloads.huggingface_networks import ARCHITECTURES, network_of
from rooflint.workloads.load import network
from rooflint.workloads.networks import network_named

# config.json of llava-hf/llava-1.5-7b-hf, which leaves out what is the default of its parts
LLAVA = {
    "model_type": "llava", "image_token_index": 32000, "projector_hidden_act": "gelu",
    "text_config": {"max_position_embeddings": 4096, "model_type": "llama", "vocab_size": 32064},
    "tie_word_embeddings": False, "vision_feature_layer": -2, "vision_feature_select_strategy": "default",
    "vision_config": {
        "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "model_type": "clip_vision_model",
        "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768,
        "vocab_size": 32000,
    },
}  # fmt: skip
CLIP = {"model_type": "clip", "projection_dim": 512, "text_config": {"model_type": "clip_text_model"},
        "vision_config": {"model_type": "clip_vision_model"}}  # fmt: skip
SAM = {
    "model_type": "sam",
    "vision_config": {
        "hidden_size": 1280, "num_hidden_layers": 32, "num_attention_heads": 16, "mlp_dim": 5120,
        "global_attn_indexes": [7, 15, 23, 31],
    },
}  # fmt: skip
WAV2VEC2 = {
    "model_type": "wav2vec2", "conv_dim": [512] * 7, "conv_kernel": [10, 3, 3, 3, 3, 2, 2],
    "conv_stride": [5, 2, 2, 2, 2, 2, 2], "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
    "intermediate_size": 3072, "num_conv_pos_embeddings": 128, "num_conv_pos_embedding_groups": 16,
    "hidden_act": "gelu", "feat_extract_norm": "group", "conv_bias": False, "do_stable_layer_norm": False,
}  # fmt: skip
WHISPER = {
    "model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "decoder_ffn_dim": 5120,
    "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120, "vocab_size": 51866,
    "num_mel_bins": 128, "max_source_positions": 1500, "max_target_positions": 448, "activation_function": "gelu",
    "scale_embedding": False,
}  # fmt: skip
T5 = {"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12,
      "vocab_size": 32128, "n_positions": 512, "relative_attention_num_buckets": 32}  # fmt: skip
# unet/config.json of stabilityai/stable-diffusion-xl-base-1.0
SDXL = {
    "_class_name": "UNet2DConditionModel", "act_fn": "silu", "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256, "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280],
    "class_embed_type": None, "cross_attention_dim": 2048,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "in_channels": 4, "out_channels": 4,
    "layers_per_block": 2, "sample_size": 128, "transformer_layers_per_block": [1, 2, 10],
    "projection_class_embeddings_input_dim": 2816, "use_linear_projection": True,
}  # fmt: skip
DIT = {
    "_class_name": "Transformer2DModel", "activation_fn": "gelu-approximate", "attention_bias": True,
    "attention_head_dim": 72, "in_channels": 4, "norm_elementwise_affine": False, "norm_type": "ada_norm_zero",
    "num_attention_heads": 16, "num_embeds_ada_norm": 1000, "num_layers": 28, "out_channels": 8, "patch_size": 2,
    "sample_size": 32,
}  # fmt: skip

# unet/config.json of runwayml/stable-diffusion-v1-5 and of stabilityai/stable-diffusion-2-1
SD1 = {
    "_class_name": "UNet2DConditionModel", "act_fn": "silu", "attention_head_dim": 8,
    "block_out_channels": [320, 640, 1280, 1280], "center_input_sample": False, "cross_attention_dim": 768,
    "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
    "downsample_padding": 1, "flip_sin_to_cos": True, "freq_shift": 0, "in_channels": 4, "layers_per_block": 2,
    "mid_block_scale_factor": 1, "norm_eps": 1e-05, "norm_num_groups": 32, "out_channels": 4, "sample_size": 64,
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"],
}  # fmt: skip
SD2 = SD1 | {
    "attention_head_dim": [5, 10, 20, 20], "cross_attention_dim": 1024, "dual_cross_attention": False,
    "sample_size": 96, "use_linear_projection": True, "only_cross_attention": False, "num_class_embeds": None,
}  # fmt: skip

BERT = {
    "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
    "intermediate_size": 96, "max_position_embeddings": 128, "type_vocab_size": 2, "hidden_act": "gelu",
}  # fmt: skip

SHIPPED = {
    "llava-1.5-7b": LLAVA, "clip": CLIP, "sam-vit-h": SAM, "wav2vec2-base": WAV2VEC2, "whisper-large-v3": WHISPER,
    "t5-base": T5, "sdxl-unet": SDXL, "dit-xl-2": DIT,
}  # fmt: skip


def written(folder, keys):
    file = folder / "config.json"
    file.write_text(json.dumps(keys), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", SHIPPED)
def test_a_configuration_computes_what_the_specs_do(tmp_path, name):
    shipped, read = network_named(name), network_of(written(tmp_path, SHIPPED[name]))
    assert read.configuration.parameters == shipped.configuration.parameters
    assert list(read.workload(2).rows()) == list(shipped.workload(2).rows())


@pytest.mark.parametrize(
    ("keys", "parameters", "heads"), [(SD1, 859_520_964, [8, 8, 8]), (SD2, 865_910_724, [5, 10, 20])]
)
def test_the_first_two_stable_diffusions_are_read(tmp_path, keys, parameters, heads):
    net = network_of(written(tmp_path, keys))
    assert net.configuration.parameters == parameters  # of their checkpoints
    found = {op.name: op.groups for op in net.workload(1).rows()}
    assert [found[f"down{level}_0_self_attention"] for level in range(3)] == heads
    assert "middle_0_text_attention" in found and "down3_0_self_attention" not in found


def test_every_known_type_has_a_configuration_here():
    kinds = {keys.get("model_type") or keys["_class_name"] for keys in SHIPPED.values()}
    assert set(ARCHITECTURES) - kinds == {"sam_vision_model", "DiTTransformer2DModel"}  # the same functions


def test_parts_by_themselves_are_read_as_well(tmp_path):
    alone = network_of(written(tmp_path, {"model_type": "sam_vision_model"} | SAM["vision_config"]))
    assert alone.configuration.parameters == network_named("sam-vit-h").configuration.parameters


def test_a_decoder_of_another_kind_has_its_own_defaults(tmp_path):
    words = {"model_type": "mistral", "vocab_size": 32002}
    net = network_of(written(tmp_path, LLAVA | {"text_config": words})).configuration
    assert (net.language.kv_heads, net.language.window, net.vocabulary) == (8, 4096, 32002)


def changed(keys, part, **others):
    return keys | {part: keys[part] | others}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"model_type": "llava_next"}, "model_type: want one of DiTTransformer2DModel, .*, found 'llava_next'"),
        ({"_class_name": "AutoencoderKL"}, "model_type: want one of .*, found 'AutoencoderKL'"),
        ({"model_type": "llava", "mm_vision_tower": "openai/clip"}, "vision_config: is missing"),
        (LLAVA | {"text_config": [1]}, "text_config: want keys of a configuration"),
        (LLAVA | {"vision_feature_select_strategy": "full"}, "select_strategy: want default, found full"),
        (LLAVA | {"vision_feature_layer": [-2, -5]}, "vision_feature_layer: want one layer, found a list"),
        (changed(LLAVA, "vision_config", model_type="siglip_vision_model"), "want clip_vision_model, found siglip"),
        (LLAVA | {"text_config": BERT}, "want that of a decoder, found 'bert'"),
        (changed(LLAVA, "text_config", model_type="rwkv"), "text_config: model_type: want one of bert, "),
        (changed(SAM, "vision_config", global_attn_indexes=7), "global_attn_indexes: want a list, found 7"),
        (changed(SAM, "vision_config", mlp_dim=None, mlp_ratio="4"), "mlp_ratio: want a number, found 4"),
        (WAV2VEC2 | {"conv_dim": [512, 256]}, r"conv_dim: want one size for all, found \[512, 256\]"),
        (WAV2VEC2 | {"conv_dim": 512}, "conv_dim: want a list, found 512"),
        (WAV2VEC2 | {"do_stable_layer_norm": True}, "do_stable_layer_norm: want False, found True"),
        (WAV2VEC2 | {"conv_stride": [5, 2]}, "want as many conv_strides as conv_kernels"),
        (WHISPER | {"decoder_ffn_dim": 64}, "decoder_ffn_dim: want 5120, found 64"),
        (WHISPER | {"encoder_attention_heads": 9999, "decoder_attention_heads": 9999}, "no more heads than"),
        (T5 | {"feed_forward_proj": "gated-mish"}, "feed_forward_proj: want one of silu, .*, found 'mish'"),
        (SDXL | {"addition_embed_type": "text"}, "addition_embed_type: want text_time, found text"),
        (SDXL | {"down_block_types": ["DownBlock2D"] * 3}, "want 3 levels of DownBlock2D or CrossAttn"),
        (SDXL | {"mid_block_type": "UNetMidBlock2D"}, "mid_block_type: want UNetMidBlock2DCrossAttn, found"),
        (SDXL | {"up_block_types": ["UpBlock2D"] * 3}, "up_block_types: want"),
        (SDXL | {"transformer_layers_per_block": [2, 10]}, "want 3 sizes, one a level, found 2"),
        (SDXL | {"attention_head_dim": [5, 10, 10]}, "in heads of one size or as many of each"),
        (DIT | {"norm_type": "ada_norm_single"}, "norm_type: want ada_norm_zero, found ada_norm_single"),
        (DIT | {"sample_size": 33}, "want a patch that divides side"),
    ],
)  # fmt: skip
def test_what_is_not_computed_is_refused_in_one_sentence(tmp_path, keys, message):
    file = written(tmp_path, keys)
    with pytest.raises(RooflintError, match=message) as refused:
        network(str(file))
    assert str(refused.value).startswith(str(file))
    assert "\n" not in str(refused.value)
