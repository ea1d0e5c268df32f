"""Configurations of Hugging Face: the keys of a `config.json` as the facts of a transformer.

    transformer_of("Llama-3.1-8B", json.loads(text))

What a model type means is in its code, not in the file: FAMILIES says it for the types that are known. Networks that
are no transformer alone are in `rooflint.workloads.huggingface_networks`.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from rooflint.workloads.configuration import Encoder, Experts, Image, Latent, Transformer
from rooflint.workloads.workload import WorkloadError

ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu", "quick_gelu": "quick_gelu",
}  # fmt: skip

Facts = dict[str, Any]


class Config:
    """Keys of a configuration. What they are read with raises WorkloadError for one that is missing or wrong."""

    def __init__(self, name: str, keys: Mapping[str, Any]) -> None:
        self.name, self.keys = name, dict(keys)

    def get(self, key: str, otherwise: Any = None) -> Any:
        """Its value; null is none."""
        found = self.keys.get(key)
        return otherwise if found is None else found

    def size(self, *names: str, otherwise: int | None = None) -> int:
        """A whole number of at least 1, under the first of these names that is there."""
        for key in names:
            found = self.get(key)
            if found is not None:
                if isinstance(found, bool) or not isinstance(found, int) or found < 1:
                    raise WorkloadError(f"{self.name}: {key}: want a whole number of at least 1, found {found}")
                return found
        if otherwise is None:
            raise WorkloadError(f"{self.name}: {names[0]}: is missing")
        return otherwise

    def required(self, *keys: str) -> None:
        """Refuse a configuration without these, all at once."""
        if lacking := [key for key in keys if self.get(key) is None]:
            *others, last = lacking
            names = f"{', '.join(others)} and {last}: are missing" if others else f"{last}: is missing"
            raise WorkloadError(f"{self.name}: {names}")

    def sizes(self, key: str, otherwise: Iterable[int] | None = None) -> tuple[int, ...]:
        """A list of sizes."""
        found = self.get(key, otherwise)
        if not isinstance(found, (list, tuple)) or not found:
            raise WorkloadError(
                f"{self.name}: {key}: {'is missing' if found is None else f'want a list, found {found}'}"
            )
        return tuple(Config(self.name, {key: one}).size(key) for one in found)

    def same(self, key: str) -> int:
        """The size that all of a list have."""
        first, *others = self.sizes(key)
        if any(one != first for one in others):
            raise WorkloadError(f"{self.name}: {key}: want one size for all, found {self.keys[key]}")
        return first

    def fixed(self, **wanted: Any) -> None:
        """Refuse a key that says something else than these, which networks are read with."""
        for key, value in wanted.items():
            if self.get(key, value) != value:
                raise WorkloadError(f"{self.name}: {key}: want {value}, found {self.keys[key]}")

    def part(self, key: str) -> "Config":
        """The configuration of a part."""
        found = self.get(key)
        if not isinstance(found, dict):
            raise WorkloadError(
                f"{self.name}: {key}: {'is missing' if found is None else 'want keys of a configuration'}"
            )
        return Config(f"{self.name}: {key}", found)

    def head_size(self, hidden: int, heads: int) -> int:
        """Elements of a head, where heads share the width."""
        if hidden < heads:
            raise WorkloadError(f"{self.name}: want no more heads than their width of {hidden}, found {heads}")
        return hidden // heads

    def activation(self, key: str, otherwise: str = "silu") -> str:
        """What it is called here."""
        found = self.get(key, otherwise)
        if found not in ACTIVATIONS:
            raise WorkloadError(f"{self.name}: {key}: want one of {', '.join(ACTIVATIONS)}, found '{found}'")
        return ACTIVATIONS[found]


def transformer_of(name: str, keys: Mapping[str, Any]) -> Transformer:
    """The facts of a configuration. Raises WorkloadError for a model type that is not known, and for a bad size."""
    kind = keys.get("model_type")
    if kind not in FAMILIES:
        raise unknown_type(name, keys, FAMILIES)
    return Transformer(name=name, **FAMILIES[str(kind)](Config(name, keys)))


def unknown_type(name: str, keys: Mapping[str, Any], known: Iterable[str]) -> WorkloadError:
    """What is said of a model type that is none of those."""
    kind = keys.get("model_type")
    found = "none" if kind is None else f"'{kind}'"
    return WorkloadError(f"{name}: model_type: want one of {', '.join(sorted(known))}, found {found}")


def _common(config: Config) -> Facts:
    """What nearly all decoders say with the same keys."""
    config.required(
        *("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"),
        *("vocab_size", "max_position_embeddings"),
    )
    heads, hidden = config.size("num_attention_heads"), config.size("hidden_size")
    return {
        "layers": config.size("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": config.size("num_key_value_heads", otherwise=heads),
        "head_size": config.size("head_dim", otherwise=0) or config.head_size(hidden, heads),
        "feed_forward": config.size("intermediate_size"),
        "vocabulary": config.size("vocab_size"),
        "context": config.size("max_position_embeddings"),
        "activation": config.activation("hidden_act"),
        "tied": bool(config.get("tie_word_embeddings", False)),
    }


def _windows(config: Config, *, all_layers: bool) -> Facts:
    """Layers with a sliding window: those of `layer_types`, or all of them where a model slides everywhere."""
    window, kinds = config.get("sliding_window"), config.get("layer_types")
    count = kinds.count("sliding_attention") if kinds else config.size("num_hidden_layers") * all_layers
    return {"window": window, "window_layers": count} if window and count else {}


def _llama(config: Config) -> Facts:
    attention, rest = bool(config.get("attention_bias")), bool(config.get("mlp_bias"))
    bias = {(False, False): "none", (True, False): "attention", (False, True): "feed_forward", (True, True): "all"}
    return _common(config) | {"bias": bias[attention, rest]}


def _mistral(config: Config) -> Facts:
    return _common(config) | _windows(config, all_layers=True)


def _qwen2(config: Config) -> Facts:
    return _common(config) | {"bias": "qkv"} | (_windows(config, all_layers=False) if _slides(config) else {})


def _qwen3(config: Config) -> Facts:
    bias = "attention" if config.get("attention_bias") else "none"
    found = _common(config) | {"bias": bias, "query_key_norm": True}
    return found | (_windows(config, all_layers=False) if _slides(config) else {})


def _slides(config: Config) -> bool:
    return bool(config.get("use_sliding_window"))


def _gemma3(config: Config) -> Facts:
    names = {"activation": config.activation("hidden_activation"), "query_key_norm": True, "post_norms": True}
    tied = bool(config.get("tie_word_embeddings", True))
    return _common(config) | names | _windows(config, all_layers=False) | {"tied": tied}


def _gptj(config: Config) -> Facts:
    hidden, heads = config.size("n_embd"), config.size("n_head")
    return {
        "layers": config.size("n_layer"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads,
        "head_size": config.head_size(hidden, heads),
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


def _mixtral(config: Config) -> Facts:
    found = _common(config)
    experts = Experts(
        config.size("num_local_experts"), config.size("num_experts_per_tok"), found["feed_forward"], found["layers"]
    )
    return found | {"experts": experts} | _windows(config, all_layers=True)


def _qwen3_moe(config: Config) -> Facts:
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


def _gpt_oss(config: Config) -> Facts:
    found = _common(config) | {"bias": "attention", "activation": "quick_gelu"}
    experts = Experts(
        config.size("num_local_experts"), config.size("num_experts_per_tok"), found["feed_forward"], found["layers"],
        bias=True,
    )  # fmt: skip
    return found | {"experts": experts} | _windows(config, all_layers=False)


def _llama4(config: Config) -> Facts:
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


def _deepseek_v3(config: Config) -> Facts:
    found, width = _common(config), config.size("moe_intermediate_size")
    experts = Experts(
        config.size("n_routed_experts"), config.size("num_experts_per_tok"), width,
        found["layers"] - int(config.get("first_k_dense_replace", 0)), int(config.get("n_shared_experts", 0)) * width,
    )  # fmt: skip
    keys = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return found | {"experts": experts, "latent": Latent(*(config.size(key) for key in keys))}


def _bert(config: Config) -> Facts:
    encoder = Encoder(
        norm_first=False, embedding_norm=True, last_norm="none", pooled=config.size("hidden_size"), pooled_bias=True,
        pooled_tanh=True, token_types=config.size("type_vocab_size"),
    )  # fmt: skip
    return _of_encoder(config) | {"encoder": encoder}


# Older files and those of parts leave out what is the default. transformers 5.23.0, CLIPVisionConfig, CLIPTextConfig
_CLIP = {
    "intermediate_size": 3072, "projection_dim": 512, "num_hidden_layers": 12, "hidden_act": "quick_gelu",
}  # fmt: skip
_CLIP_VISION = _CLIP | {
    "hidden_size": 768, "num_attention_heads": 12, "num_channels": 3, "image_size": 224, "patch_size": 32,
}  # fmt: skip
_CLIP_TEXT = _CLIP | {
    "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 49408,
    "max_position_embeddings": 77,
}  # fmt: skip


def _clip_vision(config: Config) -> Facts:
    config = Config(config.name, _CLIP_VISION | config.keys)
    image = Image(config.size("image_size"), config.size("patch_size"), config.size("num_channels"), patch_bias=False)
    encoder = Encoder(
        norm_first=True, embedding_norm=True, last_norm="first", pooled=config.size("projection_dim"),
        pooled_bias=False, pooled_tanh=False, image=image,
    )  # fmt: skip
    keys = config.keys | {"vocab_size": 1, "max_position_embeddings": image.patches + 1}  # it has no words
    return _of_encoder(Config(config.name, keys)) | {"vocabulary": 0, "tied": False, "encoder": encoder}


def _clip_text(config: Config) -> Facts:
    config = Config(config.name, _CLIP_TEXT | config.keys)
    encoder = Encoder(
        norm_first=True, embedding_norm=False, last_norm="all", pooled=config.size("projection_dim"),
        pooled_bias=False, pooled_tanh=False, causal=True,
    )  # fmt: skip
    return _of_encoder(config) | {"tied": False, "encoder": encoder}


def _of_encoder(config: Config) -> Facts:
    found = _common(config)
    words = {"gated": False, "norm": "layer_norm", "positions": "learned", "bias": "all"}
    return found | words | {"kv_heads": found["heads"]}


FAMILIES: Mapping[str, Callable[[Config], Facts]] = MappingProxyType({
    "llama": _llama, "mistral": _mistral, "phi3": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gemma3_text": _gemma3,
    "gptj": _gptj, "mixtral": _mixtral, "qwen3_moe": _qwen3_moe, "gpt_oss": _gpt_oss,
    "llama4_text": _llama4, "deepseek_v3": _deepseek_v3,
    "kimi_k2": _deepseek_v3, "bert": _bert, "clip_vision_model": _clip_vision,
    "clip_text_model": _clip_text,
})  # fmt: skip
