"""Networks that run: by the names that `rooflint compare` takes, with random weights and random inputs. Needs torch.

    found = runnable("bert-base", batch=8, prompt=128)
    found.module(*found.example.arguments, **found.example.named)

A network by its configuration is built by `transformers`, from a configuration that has the same facts: it is read
back, and refused where it differs. Weights are random, so that nothing is downloaded; times depend on them little.
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from rooflint.base.files import read_text
from rooflint.base.strict_json import parse
from rooflint.hardware.registry import PACKAGED
from rooflint.workloads import load
from rooflint.workloads.capture import torchvision_networks, user_model
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.capture.libraries import SEED, imported, planned
from rooflint.workloads.capture.trace import Example, capture
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.huggingface import transformer_of
from rooflint.workloads.layers import Architecture
from rooflint.workloads.networks import PROMPT, Network
from rooflint.workloads.workload import Workload, WorkloadError


@dataclass(frozen=True)
class Runnable:
    """A network that can be called, with its op table."""

    name: str
    """`resnet18`, `bert-base`, `networks.py:whisper`: without folders, which may name the machine's owner."""
    make: Callable[[], torch.nn.Module]
    """The module in evaluation mode, on the CPU, with random weights in fp32."""
    example: Example
    """What it is called with, drawn at random."""
    table: Workload
    """Of that batch."""
    tokens: int | None = None
    """New tokens of each sequence, of a network by its configuration."""
    past: int = 0
    """Tokens of each sequence in its cache."""
    family: str = ""
    """`classification`, `detection`, … of torchvision; `text`, `image` by configuration; `user`."""


def runnable(
    name: str,
    batch: int = 1,
    *,
    prompt: int | None = None,
    past: int = 0,
    shapes: load.Shapes = (),
    roots: Sequence[Path] = (PACKAGED,),
) -> Runnable:
    """A network by the names that `load.network` knows, as it can be timed.

    `prompt` and `past` are of language models alone, `shapes` of the others. Raises RooflintError where it is unknown,
    cannot be captured, or needs a library that is not installed.
    """
    if configured := load.configured_network(name, roots):
        return _of_configuration(name, configured, batch, prompt, past)
    load.want_module(name)
    table = load.network(name, shapes, prompt=prompt, past=past, roots=roots)  # refuses what does not fit the name
    if name.endswith(".pt2"):
        return _of_program(Path(name), table, batch)
    if ":" in name:
        return _of_factory(name, table, batch, shapes)
    return _of_torchvision(name.removeprefix("torchvision/"), table, batch, shapes)


def drawn(leaf: Any, values: int) -> Any:
    """A tensor of that shape and type with random content; whole numbers are below `values`."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if leaf.is_floating_point():
        return torch.randn(leaf.shape, dtype=leaf.dtype)
    return torch.randint(0, values, leaf.shape, dtype=leaf.dtype)


# ---- torchvision


def _of_torchvision(name: str, table: Workload, batch: int, shapes: load.Shapes) -> Runnable:
    kind = torchvision_networks.family(name)
    whole = (batch, *(shapes[0] if shapes else torchvision_networks.input_shape(name))[1:])
    make = partial(torchvision_networks.build_for_run, name, whole)
    torch.manual_seed(SEED)
    # a stand-in for the module: only device and type of its parameters are asked for
    example = torchvision_networks.example(torch.nn.Linear(1, 1), kind, whole)
    arguments = pytree.tree_map(lambda leaf: drawn(leaf, 2), example.arguments)
    return Runnable(name, make, replace(example, arguments=arguments), table.at_batch(batch), family=kind)


# ---- Models of the user


def _of_factory(target: str, table: Workload, batch: int, shapes: load.Shapes) -> Runnable:
    module, example = user_model.made(target, shapes)
    where, _, attribute = target.rpartition(":")
    name = f"{Path(where).name if where.endswith('.py') else where}:{attribute}"
    example = repeated(_again_drawn(example) if shapes else example, batch)
    return Runnable(name, lambda: module, example, _at_batch(target, table, module, example), family="user")


def _of_program(file: Path, table: Workload, batch: int) -> Runnable:
    module, example = user_model.program(file)
    whole = table.at_batch(batch)  # raises where it was exported for another batch alone
    return Runnable(file.name, lambda: module, repeated(example, batch), whole, family="user")


def _at_batch(name: str, table: Workload, module: torch.nn.Module, example: Example) -> Workload:
    """The table for that many samples, from another capture where it does not grow with the batch."""
    if not table.fixed_batch or table.batch == example.batch:
        return table.at_batch(example.batch)
    return capture(module, example, name, table.fixed_batch)


def _again_drawn(example: Example) -> Example:
    return replace(example, arguments=pytree.tree_map(lambda leaf: drawn(leaf, 2), example.arguments))


def repeated(example: Example, batch: int) -> Example:
    """The same samples over and over, until they are so many; ids stay among those that the network has."""

    def grown(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == example.batch:
            copies = -(-batch // example.batch)
            return torch.cat([leaf] * copies)[:batch]
        return leaf

    arguments, named = pytree.tree_map(grown, (example.arguments, dict(example.named)))
    return Example(arguments, batch, named)


# ---- Networks by their configurations, built by transformers


def _of_configuration(name: str, found: Network, batch: int, prompt: int | None, past: int) -> Runnable:
    if isinstance(found.configuration, Architecture):
        return _of_architecture(found, found.configuration, batch, prompt, past)
    net, table = found.transformer, found.workload(batch, prompt, past)
    image = net.encoder.image if net.encoder else None
    tokens = None if image else min(PROMPT, net.context - past) if prompt is None else prompt
    torch.manual_seed(SEED)
    if image:
        arguments: tuple[Any, ...] = (torch.randn(batch, image.channels, image.size, image.size),)
    else:
        arguments = (torch.randint(0, net.vocabulary, (batch, tokens or 1)),)
    if past:
        shape = (batch, net.kv_heads, past, net.head_size)
        arguments += tuple(torch.randn(shape) for _ in range(2 * net.layers))
    keys = parse(read_text(Path(name)), Path(name)) if name.endswith(".json") else keys_of(net)
    kind = "image" if image else "text"
    called = f"{Path(name).resolve().parent.name}/{Path(name).name}" if name.endswith(".json") else found.name
    make = partial(built, called, keys, net)
    return Runnable(called, make, Example(arguments, batch), table, tokens, past, kind)


def _of_architecture(found: Network, net: Architecture, batch: int, prompt: int | None, past: int) -> Runnable:
    if past:
        raise CaptureError(f"{found.name}: steps of its decoder are not run; want no --past")
    table, plan = found.workload(batch, prompt), planned(found.name, net, batch, prompt, keys_of)
    return Runnable(found.name, plan.make, Example(plan.arguments, batch), table, plan.tokens, 0, plan.family)


def built(name: str, keys: Mapping[str, Any], net: Transformer) -> torch.nn.Module:
    """What transformers makes of the keys of a configuration, with random weights.

    Raises CaptureError where its own reading of them has other facts, or where it refuses them.
    """
    library = imported("transformers")
    try:
        configuration = library.AutoConfig.for_model(**keys)
        if other := _unlike(name, net, json.loads(configuration.to_json_string(use_diff=False))):
            raise CaptureError(f"{name}: transformers has no configuration with its facts ({', '.join(other)})")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(SEED)
            module = _network(library, configuration, net)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CaptureError(f"{name}: transformers cannot build it: {user_model.first_line(error)}") from error
    return _Called(module, library).eval()


def _unlike(name: str, net: Transformer, keys: Mapping[str, Any]) -> list[str]:
    """Facts that the keys of a configuration lack, or state otherwise."""
    try:
        return differences(net, transformer_of(name, keys))
    except WorkloadError as error:  # a value that no configuration may have
        return [str(error).removeprefix(f"{name}: ")]


def differences(one: Transformer, other: Transformer) -> list[str]:
    """Names of the facts in which two configurations differ, but for the width of dense layers that neither has."""
    unused = {"name"} | ({"feed_forward"} if one.experts and one.experts.layers == one.layers else set())
    names = [field for field in one.__dataclass_fields__ if field not in unused]
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def _network(library: ModuleType, configuration: Any, net: Transformer) -> torch.nn.Module:
    if net.encoder and net.encoder.image:
        made = library.CLIPVisionModelWithProjection(configuration)
    elif net.encoder and net.encoder.causal:
        made = library.CLIPTextModelWithProjection(configuration)
    elif net.encoder:
        made = library.AutoModel.from_config(configuration)
    else:
        made = library.AutoModelForCausalLM.from_config(configuration)
    module: torch.nn.Module = made
    return module


class _Called(torch.nn.Module):
    """A network of transformers that takes tensors alone: ids or images, then keys and values of each layer in turn."""

    def __init__(self, network: torch.nn.Module, library: ModuleType) -> None:
        super().__init__()
        self.network, self.library = network, library

    def forward(self, given: torch.Tensor, *cached: torch.Tensor) -> Any:
        if not hasattr(self.network, "lm_head"):
            return self.network(given)[0]
        kept = self.library.DynamicCache(list(zip(cached[::2], cached[1::2], strict=True))) if cached else None
        found = self.network(input_ids=given, past_key_values=kept, use_cache=kept is not None, logits_to_keep=1)
        return found.logits


def keys_of(net: Transformer) -> dict[str, Any]:
    """Keys of a `config.json` with the facts of a network; which model type has them, the facts say."""
    kind = _model_type(net)
    keys: dict[str, Any] = {
        "model_type": kind,
        "num_hidden_layers": net.layers,
        "hidden_size": net.hidden,
        "num_attention_heads": net.heads,
        "num_key_value_heads": net.kv_heads,
        "head_dim": net.head_size,
        "intermediate_size": net.feed_forward,
        "vocab_size": net.vocabulary,
        "max_position_embeddings": net.context,
        "hidden_act": _ACTIVATIONS[net.activation],
        "tie_word_embeddings": net.tied,
        "pad_token_id": None,
    }
    return keys | _MORE.get(kind, _nothing)(net)


_ACTIVATIONS = {"gelu_tanh": "gelu_pytorch_tanh"} | {name: name for name in ("silu", "gelu", "relu", "quick_gelu")}


def _model_type(net: Transformer) -> str:
    """The model type of transformers that has these facts."""
    if net.encoder:
        return "clip_vision_model" if net.encoder.image else "clip_text_model" if net.encoder.causal else "bert"
    facts = {
        "deepseek_v3": net.latent is not None,
        "llama4_text": net.chunked,
        "gpt_oss": net.experts is not None and net.experts.bias,
        "qwen3_moe": net.experts is not None and net.query_key_norm,
        "mixtral": net.experts is not None,
        "gemma3_text": net.post_norms,
        "gptj": net.parallel,
        "qwen3": net.query_key_norm,
        "qwen2": net.bias == "qkv",
        "mistral": net.window > 0,
    }
    return next((kind for kind, holds in facts.items() if holds), "llama")


def _nothing(_: Transformer) -> dict[str, Any]:
    return {}


def _llama(net: Transformer) -> dict[str, Any]:
    return {"attention_bias": net.bias in ("attention", "all"), "mlp_bias": net.bias in ("feed_forward", "all")}


def _windowed(net: Transformer) -> dict[str, Any]:
    """Layers with a window, in turn with the others, as many as there are."""
    if not net.window:
        return {"sliding_window": None}
    if net.window_layers == net.layers:
        return {"sliding_window": net.window}
    count = net.window_layers
    kinds = ["sliding_attention" if (number + 1) * count // net.layers > number * count // net.layers
             else "full_attention" for number in range(net.layers)]  # fmt: skip
    return {"sliding_window": net.window, "layer_types": kinds}


def _gemma3(net: Transformer) -> dict[str, Any]:
    return {"hidden_activation": _ACTIVATIONS[net.activation]} | _windowed(net)


def _gptj(net: Transformer) -> dict[str, Any]:
    return {
        "n_layer": net.layers, "n_embd": net.hidden, "n_head": net.heads, "n_inner": net.feed_forward,
        "n_positions": net.context, "rotary_dim": net.rotary, "activation_function": "gelu_new",
    }  # fmt: skip


def _routed(net: Transformer) -> dict[str, Any]:
    experts = net.experts
    assert experts
    return {
        "num_local_experts": experts.count, "num_experts": experts.count, "num_experts_per_tok": experts.per_token,
        "intermediate_size": experts.feed_forward, "moe_intermediate_size": experts.feed_forward,
    } | _windowed(net)  # fmt: skip


def _llama4(net: Transformer) -> dict[str, Any]:
    """Every fourth layer does not rotate, and the last of as many has experts."""
    experts = net.experts
    assert experts
    return {
        "num_local_experts": experts.count, "num_experts_per_tok": experts.per_token,
        "intermediate_size": experts.feed_forward, "intermediate_size_mlp": net.feed_forward or experts.feed_forward,
        "interleave_moe_layer_step": net.layers // experts.layers, "attention_chunk_size": net.window,
        "use_qk_norm": net.query_key_norm,
    }  # fmt: skip


def _latent(net: Transformer) -> dict[str, Any]:
    latent, experts = net.latent, net.experts
    assert latent
    assert experts
    return {
        "q_lora_rank": latent.query_rank, "kv_lora_rank": latent.kv_rank, "qk_nope_head_dim": latent.nope_size,
        "qk_rope_head_dim": latent.rope_size, "v_head_dim": latent.value_size, "n_routed_experts": experts.count,
        "num_experts_per_tok": experts.per_token, "moe_intermediate_size": experts.feed_forward,
        "first_k_dense_replace": net.layers - experts.layers,
        "n_shared_experts": experts.shared // experts.feed_forward,
    }  # fmt: skip


def _encoded(net: Transformer) -> dict[str, Any]:
    encoder = net.encoder
    assert encoder
    if image := encoder.image:
        return {
            "image_size": image.size, "patch_size": image.patch, "num_channels": image.channels,
            "projection_dim": encoder.pooled,
        }  # fmt: skip
    return {"projection_dim": encoder.pooled} if encoder.causal else {"type_vocab_size": encoder.token_types}


_MORE: Mapping[str, Callable[[Transformer], dict[str, Any]]] = MappingProxyType({
    "llama": _llama, "mistral": _windowed, "gemma3_text": _gemma3, "gptj": _gptj, "mixtral": _routed,
    "qwen3_moe": _routed, "gpt_oss": _routed, "llama4_text": _llama4,
    "deepseek_v3": _latent, "bert": _encoded, "clip_vision_model": _encoded, "clip_text_model": _encoded,
})  # fmt: skip
