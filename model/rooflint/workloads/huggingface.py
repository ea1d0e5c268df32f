"""Configurations of Hugging Face: a `config.json` as the facts of a network, without torch or transformers.

    network_of(Path("Llama-3.1-8B/config.json")).workload(batch=8, new=2048)

What a model type means is in its code, not in the file: FAMILIES says it for the types that are known.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rooflint.base.errors import refuse
from rooflint.base.files import read_text
from rooflint.base.strict_json import parse
from rooflint.workloads.configuration import Encoder, Experts, Image, Latent, Transformer
from rooflint.workloads.networks import Network
from rooflint.workloads.workload import WorkloadError

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu", "quick_gelu": "quick_gelu",
}  # fmt: skip

Facts = dict[str, Any]


class _Config:
    """Keys of a configuration. Each `size` raises WorkloadError for one that is missing or is no size."""

    def __init__(self, name: str, keys: Mapping[str, Any]) -> None:
        self.name, self.keys = name, dict(keys)

    def get(self, key: str, otherwise: Any = None) -> Any:
        found = self.keys.get(key)
        return otherwise if found is None else found

    def size(self, *names: str, otherwise: int | None = None) -> int:
        for key in names:
            found = self.get(key)
            if found is not None:
                if isinstance(found, bool) or not isinstance(found, int) or found < 1:
                    raise WorkloadError(f"{self.name}: {key}: want a whole number of at least 1, found {found}")
                return found
        if otherwise is None:
            raise WorkloadError(f"{self.name}: {names[0]}: is missing")
        return otherwise

    def activation(self, key: str) -> str:
        found = self.get(key, "silu")
        if found not in ACTIVATIONS:
            raise WorkloadError(f"{self.name}: {key}: want one of {', '.join(ACTIVATIONS)}, found '{found}'")
        return ACTIVATIONS[found]


def transformer_of(name: str, keys: Mapping[str, Any]) -> Transformer:
    """The facts of a configuration. Raises WorkloadError for a model type that is not known, and for a bad size."""
    kind = keys.get("model_type")
    if kind not in FAMILIES:
        found = "none" if kind is None else f"'{kind}'"
        raise WorkloadError(f"{name}: model_type: want one of {', '.join(sorted(FAMILIES))}, found {found}")
    return Transformer(name=name, **FAMILIES[str(kind)](_Config(name, keys)))


def network_of(file: Path) -> Network:
    """The network of a `config.json`. Raises InputError for another file, WorkloadError as above."""
    keys = parse(read_text(file), file)
    if not isinstance(keys, dict):
        raise refuse(file, 1, "want the keys of a configuration, found something else")
    return Network(str(file), str(file), transformer_of(str(file), keys), MappingProxyType({}), MappingProxyType({}))


def _common(config: _Config) -> Facts:
    """What nearly all decoders say with the same keys."""
    heads, hidden = config.size("num_attention_heads"), config.size("hidden_size")
    return {
        "layers": config.size("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": config.size("num_key_value_heads", otherwise=heads),
        "head_size": config.size("head_dim", otherwise=hidden // heads),
        "feed_forward": config.size("intermediate_size"),
        "vocabulary": config.size("vocab_size"),
        "context": config.size("max_position_embeddings"),
        "activation": config.activation("hidden_act"),
        "tied": bool(config.get("tie_word_embeddings", False)),
    }


def _windows(config: _Config, *, all_layers: bool) -> Facts:
    """Layers with a sliding window: those of `layer_types`, or all of them where a model slides everywhere."""
    window, kinds = config.get("sliding_window"), config.get("layer_types")
    count = kinds.count("sliding_attention") if kinds else config.size("num_hidden_layers") * all_layers
    return {"window": window, "window_layers": count} if window and count else {}


def _llama(config: _Config) -> Facts:
    attention, rest = bool(config.get("attention_bias")), bool(config.get("mlp_bias"))
    bias = {(False, False): "none", (True, False): "attention", (False, True): "feed_forward", (True, True): "all"}
    return _common(config) | {"bias": bias[attention, rest]}


def _mistral(config: _Config) -> Facts:
    return _common(config) | _windows(config, all_layers=True)


def _qwen2(config: _Config) -> Facts:
    return _common(config) | {"bias": "qkv"} | (_windows(config, all_layers=False) if _slides(config) else {})


def _qwen3(config: _Config) -> Facts:
    bias = "attention" if config.get("attention_bias") else "none"
    found = _common(config) | {"bias": bias, "query_key_norm": True}
    return found | (_windows(config, all_layers=False) if _slides(config) else {})


def _slides(config: _Config) -> bool:
    return bool(config.get("use_sliding_window"))


def _gemma3(config: _Config) -> Facts:
    names = {"activation": config.activation("hidden_activation"), "query_key_norm": True, "post_norms": True}
    tied = bool(config.get("tie_word_embeddings", True))
    return _common(config) | names | _windows(config, all_layers=False) | {"tied": tied}


def _gptj(config: _Config) -> Facts:
    hidden, heads = config.size("n_embd"), config.size("n_head")
    return {
        "layers": config.size("n_layer"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads,
        "head_size": hidden // heads,
        "feed_forward": config.size("n_inner", otherwise=4 * hidden),
        "vocabulary": config.size("vocab_size"),
        "context": config.size("n_positions"),
        "rotary": config.size("rotary_dim"),
        "activation": config.activation("activation_function"),
        "gated": False,
        "norm": "layer_norm",
        "bias": "feed_forward",
        "head_bias": True,
        "parallel": True,
        "tied": bool(config.get("tie_word_embeddings", False)),
    }


def _mixtral(config: _Config) -> Facts:
    found = _common(config)
    experts = Experts(
        config.size("num_local_experts"), config.size("num_experts_per_tok"), found["feed_forward"], found["layers"]
    )
    return found | {"experts": experts} | _windows(config, all_layers=True)


def _qwen3_moe(config: _Config) -> Facts:
    found, every = _qwen3(config), config.size("decoder_sparse_step", otherwise=1)
    dense = set(config.get("mlp_only_layers", ()))
    layers = [layer for layer in range(found["layers"]) if layer not in dense and (layer + 1) % every == 0]
    experts = Experts(
        config.size("num_experts", "num_local_experts"),
        config.size("num_experts_per_tok"),
        config.size("moe_intermediate_size"),
        len(layers),
    )
    return found | {"experts": experts}


def _gpt_oss(config: _Config) -> Facts:
    found = _common(config) | {"bias": "attention", "activation": "quick_gelu"}
    experts = Experts(
        config.size("num_local_experts"), config.size("num_experts_per_tok"), found["feed_forward"], found["layers"],
        bias=True,
    )  # fmt: skip
    return found | {"experts": experts} | _windows(config, all_layers=False)


def _llama4(config: _Config) -> Facts:
    """Layers that rotate see chunks; the others see everything, without positions."""
    found, every = _common(config), config.size("interleave_moe_layer_step", otherwise=1)
    layers, width = found["layers"], found["feed_forward"]
    step = config.size("no_rope_layer_interval", otherwise=4)
    turned = config.get("no_rope_layers") or [(layer + 1) % step != 0 for layer in range(layers)]  # 1 where they rotate
    routed = config.get("moe_layers") or range(every - 1, layers, every)
    experts = Experts(
        config.size("num_local_experts"), config.size("num_experts_per_tok", otherwise=1), width, len(routed), width
    )
    return found | {
        "feed_forward": config.size("intermediate_size_mlp"),
        "window": config.size("attention_chunk_size"),
        "window_layers": sum(map(bool, turned)),
        "rope_layers": sum(map(bool, turned)),
        "chunked": True,
        "query_key_norm": bool(config.get("use_qk_norm", True)),
        "experts": experts,
    }


def _deepseek_v3(config: _Config) -> Facts:
    found, width = _common(config), config.size("moe_intermediate_size")
    experts = Experts(
        config.size("n_routed_experts"), config.size("num_experts_per_tok"), width,
        found["layers"] - int(config.get("first_k_dense_replace", 0)), int(config.get("n_shared_experts", 0)) * width,
    )  # fmt: skip
    keys = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return found | {"experts": experts, "latent": Latent(*(config.size(key) for key in keys))}


def _bert(config: _Config) -> Facts:
    encoder = Encoder(
        norm_first=False, embedding_norm=True, last_norm="none", pooled=config.size("hidden_size"), pooled_bias=True,
        pooled_tanh=True, token_types=config.size("type_vocab_size"),
    )  # fmt: skip
    return _of_encoder(config) | {"encoder": encoder}


def _clip_vision(config: _Config) -> Facts:
    image = Image(config.size("image_size"), config.size("patch_size"), config.size("num_channels"), patch_bias=False)
    encoder = Encoder(
        norm_first=True, embedding_norm=True, last_norm="first", pooled=config.size("projection_dim"),
        pooled_bias=False, pooled_tanh=False, image=image,
    )  # fmt: skip
    keys = config.keys | {"vocab_size": 1, "max_position_embeddings": image.patches + 1}  # it has no words
    return _of_encoder(_Config(config.name, keys)) | {"vocabulary": 0, "tied": False, "encoder": encoder}


def _clip_text(config: _Config) -> Facts:
    encoder = Encoder(
        norm_first=True, embedding_norm=False, last_norm="all", pooled=config.size("projection_dim"),
        pooled_bias=False, pooled_tanh=False, causal=True,
    )  # fmt: skip
    return _of_encoder(config) | {"tied": False, "encoder": encoder}


def _of_encoder(config: _Config) -> Facts:
    found = _common(config)
    words = {"gated": False, "norm": "layer_norm", "positions": "learned", "bias": "all"}
    return found | words | {"kv_heads": found["heads"]}


FAMILIES: Mapping[str, Callable[[_Config], Facts]] = MappingProxyType({
    "llama": _llama, "mistral": _mistral, "phi3": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gemma3_text": _gemma3,
    "gptj": _gptj, "mixtral": _mixtral, "qwen3_moe": _qwen3_moe, "gpt_oss": _gpt_oss,
    "llama4_text": _llama4, "deepseek_v3": _deepseek_v3,
    "kimi_k2": _deepseek_v3, "bert": _bert, "clip_vision_model": _clip_vision,
    "clip_text_model": _clip_text,
})  # fmt: skip
