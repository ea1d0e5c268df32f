"""A `config.json` of transformers or diffusers as a network: a transformer, or one that is made of more than that.

    network_of(Path("Llama-3.1-8B/config.json")).workload(batch=8, new=2048)
    network_of(Path("sdxl/unet/config.json")).workload(batch=2)

Neither torch nor a library is needed. A key that asks for something else than what is computed here is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rooflint.base.errors import refuse
from rooflint.base.files import read_text
from rooflint.base.strict_json import parse
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.diffusion import DiffusionTransformer, UNet
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.huggingface import FAMILIES, Config, transformer_of, unknown_type
from rooflint.workloads.layers import Architecture
from rooflint.workloads.multimodal import TwoTowers, VisionLanguage
from rooflint.workloads.networks import Network
from rooflint.workloads.perception import ImageEncoder, Recording
from rooflint.workloads.workload import WorkloadError

SAMPLES = 250_000
"""Of a recording, as a configuration does not say it: 15.6 s, the crops of the paper. arXiv:2006.11477, section 4.2"""

TEXT_TOKENS = 77
"""Of the text that a U-Net attends to: those that CLIP reads. transformers 5.23.0, CLIPTextConfig"""

SIZES = 6
"""Numbers that describe an image to SDXL: three conditions of two. Stability-AI/generative-models, sd_xl_base.yaml"""

FREQUENCIES = 256
"""Sines and cosines of a time step in DiT. diffusers 0.42.1, CombinedTimestepLabelEmbeddings"""

# A configuration leaves out what is the default of its parts. transformers 5.23.0, LlamaConfig and MistralConfig
_LANGUAGES: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "llama": {
        "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "max_position_embeddings": 2048,
    },
    "mistral": {
        "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096,
    },
})  # fmt: skip


def network_of(file: Path) -> Network:
    """The network of a `config.json`.

    Raises InputError for another file, WorkloadError for a type that is not known and for a key that does not fit.
    """
    keys = parse(read_text(file), file)
    if not isinstance(keys, dict):
        raise refuse(file, 1, "want the keys of a configuration, found something else")
    made = _made(str(file), keys)
    return Network(str(file), str(file), made, MappingProxyType({}), MappingProxyType({}))


def _made(name: str, keys: Mapping[str, Any]) -> Transformer | Architecture:
    kind = keys.get("model_type") or keys.get("_class_name")
    if kind in ARCHITECTURES:
        return ARCHITECTURES[str(kind)](Config(name, keys))
    if kind in FAMILIES:
        return transformer_of(name, keys)
    raise unknown_type(name, {"model_type": kind}, [*FAMILIES, *ARCHITECTURES])


# ---- Images and texts


def _clip(config: Config) -> TwoTowers:
    width = config.size("projection_dim", otherwise=512)
    parts = {key: config.part(f"{key}_config") for key in ("vision", "text")}
    seen, read = (
        transformer_of(part.name, part.keys | {"model_type": f"clip_{key}_model", "projection_dim": width})
        for key, part in parts.items()
    )
    return TwoTowers(config.name, image=seen, text=read)


def _llava(config: Config) -> VisionLanguage:
    """The patches of its image go through one product, a GELU and another one, without the class token."""
    config.fixed(projector_hidden_act="gelu", vision_feature_select_strategy="default", multimodal_projector_bias=True)
    if isinstance(config.get("vision_feature_layer"), list):
        raise WorkloadError(f"{config.name}: vision_feature_layer: want one layer, found a list")
    seen, words = config.part("vision_config"), config.part("text_config")
    kind = words.get("model_type", "llama")
    language = transformer_of(words.name, {**_LANGUAGES.get(kind, {}), **words.keys, "model_type": kind})
    if language.encoder:
        raise WorkloadError(f"{words.name}: model_type: want that of a decoder, found '{kind}'")
    seen.fixed(model_type="clip_vision_model")
    image = transformer_of(seen.name, seen.keys | {"model_type": "clip_vision_model"})
    return VisionLanguage(config.name, image=image, language=language, vocabulary=language.vocabulary)


def _sam(config: Config) -> ImageEncoder:
    """The encoder of its image, which takes nearly all of the time."""
    return replace(_sam_vision(config.part("vision_config")), name=config.name)


def _sam_vision(config: Config) -> ImageEncoder:
    config.fixed(hidden_act="gelu", qkv_bias=True, use_abs_pos=True, use_rel_pos=True)
    hidden, ratio = config.size("hidden_size", otherwise=768), config.get("mlp_ratio", 4)
    if not isinstance(ratio, (int, float)):
        raise WorkloadError(f"{config.name}: mlp_ratio: want a number, found {ratio}")
    layers = config.get("global_attn_indexes", [2, 5, 8, 11])
    if not isinstance(layers, list):
        raise WorkloadError(f"{config.name}: global_attn_indexes: want a list, found {layers}")
    return ImageEncoder(
        config.name,
        depth=config.size("num_hidden_layers", otherwise=12),
        hidden=hidden,
        heads=config.size("num_attention_heads", otherwise=12),
        feed_forward=config.size("mlp_dim", otherwise=int(hidden * ratio)),
        size=config.size("image_size", otherwise=1024),
        patch=config.size("patch_size", otherwise=16),
        channels=config.size("num_channels", otherwise=3),
        window=config.size("window_size", otherwise=14),
        global_layers=len(layers),
        out_channels=config.size("output_channels", otherwise=256),
    )


# ---- Speech and text


def _wav2vec2(config: Config) -> Recording:
    config.fixed(
        hidden_act="gelu", feat_extract_activation="gelu", feat_extract_norm="group", conv_bias=False,
        do_stable_layer_norm=False, add_adapter=False,
    )  # fmt: skip
    return Recording(
        config.name,
        samples=SAMPLES,
        conv_width=config.same("conv_dim"),
        conv_kernels=config.sizes("conv_kernel"),
        conv_strides=config.sizes("conv_stride"),
        depth=config.size("num_hidden_layers"),
        hidden=config.size("hidden_size"),
        heads=config.size("num_attention_heads"),
        feed_forward=config.size("intermediate_size"),
        position_kernel=config.size("num_conv_pos_embeddings"),
        position_groups=config.size("num_conv_pos_embedding_groups"),
    )


def _whisper(config: Config) -> EncoderDecoder:
    config.fixed(scale_embedding=False, tie_word_embeddings=True)
    hidden, heads, inner = (config.size(key) for key in ("d_model", "encoder_attention_heads", "encoder_ffn_dim"))
    config.fixed(decoder_attention_heads=heads, decoder_ffn_dim=inner)
    return EncoderDecoder(
        config.name,
        hidden=hidden,
        heads=heads,
        head_size=config.head_size(hidden, heads),
        feed_forward=inner,
        encoder_layers=config.size("encoder_layers"),
        decoder_layers=config.size("decoder_layers"),
        vocabulary=config.size("vocab_size"),
        source=config.size("max_source_positions"),
        context=config.size("max_target_positions"),
        activation=config.activation("activation_function", "gelu"),  # type: ignore[arg-type]
        gated=False,
        norm="layer_norm",
        bias="all but keys",
        tied=True,
        mels=config.size("num_mel_bins"),
    )


def _t5(config: Config) -> EncoderDecoder:
    """Its GELU is that with a hyperbolic tangent where it is gated."""
    said = config.get("feed_forward_proj", "relu")
    gated = str(said).startswith("gated-")
    read = Config(config.name, {"feed_forward_proj": "gelu_new" if said == "gated-gelu" else str(said)[6 * gated :]})
    layers, trained = config.size("num_layers"), config.size("n_positions", otherwise=512)
    return EncoderDecoder(
        config.name,
        hidden=config.size("d_model"),
        heads=config.size("num_heads"),
        head_size=config.size("d_kv"),
        feed_forward=config.size("d_ff"),
        encoder_layers=layers,
        decoder_layers=config.size("num_decoder_layers", otherwise=layers),
        vocabulary=config.size("vocab_size"),
        source=trained,
        context=trained,
        activation=read.activation("feed_forward_proj"),  # type: ignore[arg-type]
        gated=gated,
        norm="rms_norm",
        bias="none",
        tied=bool(config.get("tie_word_embeddings", True)),
        buckets=config.size("relative_attention_num_buckets", otherwise=32),
    )


# ---- Diffusion


def _dit(config: Config) -> DiffusionTransformer:
    """Raises WorkloadError for a transformer whose norms do not follow time and class, such as PixArt's."""
    config.fixed(
        norm_type="ada_norm_zero", activation_fn="gelu-approximate", attention_bias=True, norm_elementwise_affine=False
    )
    heads, channels = config.size("num_attention_heads"), config.size("in_channels")
    hidden = heads * config.size("attention_head_dim")
    return DiffusionTransformer(
        config.name,
        depth=config.size("num_layers"),
        hidden=hidden,
        heads=heads,
        feed_forward=4 * hidden,
        side=config.size("sample_size"),
        channels=channels,
        out_channels=config.size("out_channels", otherwise=channels),
        patch=config.size("patch_size"),
        classes=config.size("num_embeds_ada_norm") + 1,
        frequencies=FREQUENCIES,
    )


def _unet(config: Config) -> UNet:
    """Of Stable Diffusion 1 and 2, and SDXL, which is told sizes and a pooled text, too."""
    told = config.get("addition_embed_type") is not None
    config.fixed(
        addition_embed_type="text_time" if told else None, act_fn="silu", only_cross_attention=False,
        dual_cross_attention=False, class_embed_type=None, num_class_embeds=None, encoder_hid_dim=None,
        time_cond_proj_dim=None, resnet_time_scale_shift="default", mid_block_type="UNetMidBlock2DCrossAttn",
    )  # fmt: skip
    widths, latent = config.sizes("block_out_channels"), config.size("in_channels")
    config.fixed(out_channels=latent)
    attends = _attends(config, len(widths))
    named = "num_attention_heads" if config.get("num_attention_heads") else "attention_head_dim"
    heads = _each(config, named, widths, otherwise=8)  # as in diffusers' UNet2DConditionModel
    depths = _each(config, "transformer_layers_per_block", widths, otherwise=1)
    levels = [*zip(widths, heads, attends, strict=True)]
    sizes = {width / count for width, count, attending in levels if attending} | {widths[-1] / heads[-1]}
    if (len(sizes) > 1 and len({*heads}) > 1) or any(width % widths[0] for width in widths):
        wanted = "want multiples of the first, in heads of one size or as many of each"
        raise WorkloadError(f"{config.name}: block_out_channels: {wanted}, found {[*widths]}")
    return UNet(
        config.name,
        channels=widths[0],
        multipliers=tuple(width // widths[0] for width in widths),
        blocks=config.size("layers_per_block"),
        depths=tuple(depth for attending, depth in zip(attends, depths, strict=True) if attending),
        lowest=attends[::-1].index(True),
        head_size=int(min(sizes)) if len(sizes) == 1 else 0,
        heads=heads[0] if len(sizes) > 1 else 0,
        middle=0 if attends[-1] else depths[-1],
        linear=bool(config.get("use_linear_projection", False)),
        latent=latent,
        side=config.size("sample_size"),
        text=config.size("cross_attention_dim"),
        text_tokens=TEXT_TOKENS,
        vector=config.size("projection_class_embeddings_input_dim") if told else 0,
        sizes=SIZES if told else 0,
        frequencies=config.size("addition_time_embed_dim") if told else 0,
    )


def _each(config: Config, key: str, widths: tuple[int, ...], otherwise: int) -> tuple[int, ...]:
    """A size for each level; one number holds for all."""
    if isinstance(config.get(key, otherwise), int):
        return (config.size(key, otherwise=otherwise),) * len(widths)
    found = config.sizes(key)
    if len(found) != len(widths):
        raise WorkloadError(f"{config.name}: {key}: want {len(widths)} sizes, one a level, found {len(found)}")
    return found


def _attends(config: Config, levels: int) -> list[bool]:
    """Whether each level attends, on the way down and on the way up."""
    down = config.get("down_block_types")
    found = [one == "CrossAttnDownBlock2D" for one in down] if isinstance(down, list) else []
    named = [f"{'CrossAttn' * attending}DownBlock2D" for attending in found]
    if len(found) != levels or named != down or len([*groupby([False, *found, False])]) != 3:
        wanted = f"want {levels} levels of DownBlock2D or CrossAttnDownBlock2D, which follow one another"
        raise WorkloadError(f"{config.name}: down_block_types: {wanted}, found {down}")
    config.fixed(up_block_types=[one.replace("Down", "Up") for one in reversed(named)])
    return found


ARCHITECTURES: Mapping[str, Callable[[Config], Architecture]] = MappingProxyType({
    "clip": _clip, "llava": _llava, "sam": _sam, "sam_vision_model": _sam_vision, "wav2vec2": _wav2vec2,
    "whisper": _whisper, "t5": _t5, "UNet2DConditionModel": _unet, "DiTTransformer2DModel": _dit,
    "Transformer2DModel": _dit,
})  # fmt: skip
"""By the `model_type` of transformers, or the `_class_name` of diffusers."""
