"""Networks that are no transformer alone, as transformers and diffusers build them from the same facts. Needs torch.

    plan = planned("sdxl-unet", net, batch=2, prompt=None)
    plan.make()(*plan.arguments)

Weights are random, so that nothing is downloaded.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import Any

import torch

from rooflint.base.errors import MissingTorchError
from rooflint.workloads.capture import torchvision_networks
from rooflint.workloads.capture.graph import CaptureError
from rooflint.workloads.configuration import Transformer
from rooflint.workloads.diffusion import DiffusionTransformer, UNet
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.layers import Architecture
from rooflint.workloads.multimodal import PROMPT, TwoTowers, VisionLanguage
from rooflint.workloads.perception import ImageEncoder, Recording

SEED = 20
"""Of weights and inputs."""

KeysOf = Callable[[Transformer], dict[str, Any]]
"""Keys of a `config.json` with the facts of a transformer."""


@dataclass(frozen=True)
class Plan:
    """How a network is built and called."""

    make: Callable[[], torch.nn.Module]
    arguments: tuple[torch.Tensor, ...]
    family: str
    tokens: int | None = None
    """New tokens of each sequence, where they can be chosen."""


def imported(package: str) -> ModuleType:
    """torchvision, or what imports it: transformers, diffusers. Raises MissingTorchError where it is not installed."""
    if find_spec("torchvision"):
        torchvision_networks.import_torchvision()  # importing it fails where its operators do not load
    try:
        return import_module(package)
    except ImportError as error:
        needed = f"running a network by its configuration needs {package}: pip install {package}"
        raise MissingTorchError(f"{needed} ({error})") from error


def planned(name: str, net: Architecture, batch: int, prompt: int | None, keys_of: KeysOf) -> Plan:
    """The network for so many samples. Raises CaptureError where no library has it."""
    if type(net) not in _PLANS:
        raise CaptureError(f"{name}: neither transformers nor diffusers has it; name a module of your own")
    torch.manual_seed(SEED)
    package, build, call, arguments, family, tokens = _PLANS[type(net)](net, batch, prompt, keys_of)

    def make() -> torch.nn.Module:
        torch.manual_seed(SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = build(imported(package))
        count = sum(one.numel() for one in module.parameters())
        if count != net.parameters + _beside(net):
            raise CaptureError(f"{name}: {package} makes {count} parameters of its facts, which have {net.parameters}")
        return _Called(module, call).eval()

    return Plan(make, arguments, family, tokens)


class _Called(torch.nn.Module):
    def __init__(self, network: torch.nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *given: torch.Tensor) -> Any:
        return self.call(self.network, *given)


def _beside(net: Architecture) -> int:
    """Parameters that a library makes beside those of a network, or leaves out."""
    if not isinstance(net, DiffusionTransformer):
        return 0
    # diffusers embeds time and class in each block, and has no parameters for fixed positions
    products = net.frequencies * net.hidden + net.hidden**2 + 2 * net.hidden
    return (net.depth - 1) * (products + net.classes * net.hidden) - net.tokens * net.hidden


Planned = tuple[
    str, Callable[[ModuleType], torch.nn.Module], Callable[..., Any], tuple[torch.Tensor, ...], str, int | None
]
"""The library, what it builds, how that is called and with what, and what `Plan` says of it."""


def _encoder_decoder(net: EncoderDecoder, batch: int, prompt: int | None, _keys: KeysOf) -> Planned:
    """The encoder on its whole source, and the first token that the decoder writes."""
    first = torch.zeros(batch, 1, dtype=torch.int64)
    tokens = prompt or net.source

    def call(network: torch.nn.Module, source: torch.Tensor, written: torch.Tensor) -> Any:
        return network(source, decoder_input_ids=written, use_cache=False).logits

    if not net.mels:
        source = torch.randint(0, net.vocabulary, (batch, tokens))
        return "transformers", lambda library: _t5(library, net), call, (source, first), "text", tokens
    source = torch.randn(batch, net.mels, 2 * net.source)  # two frames of a spectrogram become a token
    return "transformers", lambda library: _whisper(library, net), call, (source, first), "speech", None


def _whisper(library: ModuleType, net: EncoderDecoder) -> Any:
    config = library.WhisperConfig(
        d_model=net.hidden,
        encoder_layers=net.encoder_layers,
        decoder_layers=net.decoder_layers,
        encoder_attention_heads=net.heads,
        decoder_attention_heads=net.heads,
        encoder_ffn_dim=net.feed_forward,
        decoder_ffn_dim=net.feed_forward,
        vocab_size=net.vocabulary,
        num_mel_bins=net.mels,
        max_source_positions=net.source,
        max_target_positions=net.context,
    )
    return library.WhisperForConditionalGeneration(config)


def _t5(library: ModuleType, net: EncoderDecoder) -> Any:
    config = library.T5Config(
        d_model=net.hidden,
        d_kv=net.head_size,
        d_ff=net.feed_forward,
        num_layers=net.encoder_layers,
        num_decoder_layers=net.decoder_layers,
        num_heads=net.heads,
        vocab_size=net.vocabulary,
        feed_forward_proj=f"gated-{net.activation}" if net.gated else net.activation,
        tie_word_embeddings=net.tied,
        relative_attention_num_buckets=net.buckets,
    )
    return library.T5ForConditionalGeneration(config)


def _pixels(net: Transformer, batch: int) -> torch.Tensor:
    assert net.encoder
    assert net.encoder.image
    image = net.encoder.image
    return torch.randn(batch, image.channels, image.size, image.size)


def _two_towers(net: TwoTowers, batch: int, prompt: int | None, keys_of: KeysOf) -> Planned:
    tokens = prompt or net.text.context

    def build(library: ModuleType) -> Any:
        parts = {"vision_config": keys_of(net.image), "text_config": keys_of(net.text)}
        return library.CLIPModel(library.CLIPConfig(**parts, projection_dim=net.width))

    def call(network: torch.nn.Module, text: torch.Tensor, image: torch.Tensor) -> Any:
        return network(input_ids=text, pixel_values=image).logits_per_image

    given = (torch.randint(0, net.text.vocabulary, (batch, tokens)), _pixels(net.image, batch))
    return "transformers", build, call, given, "multimodal", tokens


def _vision_language(net: VisionLanguage, batch: int, prompt: int | None, keys_of: KeysOf) -> Planned:
    """Patches come first; the last word of the vocabulary stands for them."""
    tokens, last = prompt or min(PROMPT, net.language.context), net.vocabulary - 1

    def build(library: ModuleType) -> Any:
        parts = {"vision_config": keys_of(net.image), "text_config": keys_of(net.decoder)}
        return library.LlavaForConditionalGeneration(library.LlavaConfig(**parts, image_token_index=last))

    def call(network: torch.nn.Module, text: torch.Tensor, image: torch.Tensor) -> Any:
        return network(input_ids=text, pixel_values=image, use_cache=False, logits_to_keep=1).logits

    text = torch.randint(0, last, (batch, tokens))
    text[:, : net.patches] = last
    return "transformers", build, call, (text, _pixels(net.image, batch)), "multimodal", tokens


def _image_encoder(net: ImageEncoder, batch: int, _prompt: int | None, _keys: KeysOf) -> Planned:
    step = net.depth // net.global_layers

    def build(library: ModuleType) -> Any:
        config = library.SamVisionConfig(
            hidden_size=net.hidden,
            num_hidden_layers=net.depth,
            num_attention_heads=net.heads,
            mlp_dim=net.feed_forward,
            image_size=net.size,
            patch_size=net.patch,
            num_channels=net.channels,
            output_channels=net.out_channels,
            window_size=net.window,
            global_attn_indexes=[*range(step - 1, step * net.global_layers, step)],
        )
        return library.SamVisionModel(config)

    given = (torch.randn(batch, net.channels, net.size, net.size),)
    return "transformers", build, _first, given, "image", None


def _recording(net: Recording, batch: int, _prompt: int | None, _keys: KeysOf) -> Planned:
    def build(library: ModuleType) -> Any:
        config = library.Wav2Vec2Config(
            hidden_size=net.hidden,
            num_hidden_layers=net.depth,
            num_attention_heads=net.heads,
            intermediate_size=net.feed_forward,
            conv_dim=[net.conv_width] * len(net.conv_kernels),
            conv_kernel=[*net.conv_kernels],
            conv_stride=[*net.conv_strides],
            num_conv_pos_embeddings=net.position_kernel,
            num_conv_pos_embedding_groups=net.position_groups,
        )
        return library.Wav2Vec2Model(config)

    return "transformers", build, _first, (torch.randn(batch, net.samples),), "speech", None


def _first(network: torch.nn.Module, given: torch.Tensor) -> Any:
    return network(given)[0]


def _diffusion_transformer(net: DiffusionTransformer, batch: int, _prompt: int | None, _keys: KeysOf) -> Planned:
    def build(library: ModuleType) -> Any:
        return library.DiTTransformer2DModel(
            num_attention_heads=net.heads,
            attention_head_dim=net.hidden // net.heads,
            in_channels=net.channels,
            out_channels=net.out_channels,
            num_layers=net.depth,
            sample_size=net.side,
            patch_size=net.patch,
            num_embeds_ada_norm=net.classes - 1,
        )

    def call(network: torch.nn.Module, latent: torch.Tensor, step: torch.Tensor, kind: torch.Tensor) -> Any:
        return network(latent, timestep=step, class_labels=kind).sample

    latent = torch.randn(batch, net.channels, net.side, net.side)
    kind = torch.randint(0, net.classes - 1, (batch,))
    return "diffusers", build, call, (latent, torch.full((batch,), 500), kind), "diffusion", None


def _unet(net: UNet, batch: int, _prompt: int | None, _keys: KeysOf) -> Planned:
    widths = tuple(net.channels * times for times in net.multipliers)

    def build(library: ModuleType) -> Any:
        depths = [*map(net.depth, range(len(widths)))]
        kinds = ["CrossAttn" if depth else "" for depth in depths]
        told = {"addition_embed_type": "text_time", "addition_time_embed_dim": net.frequencies,
                "projection_class_embeddings_input_dim": net.vector}  # fmt: skip
        return library.UNet2DConditionModel(
            sample_size=net.side,
            in_channels=net.latent,
            out_channels=net.latent,
            block_out_channels=widths,
            layers_per_block=net.blocks,
            down_block_types=tuple(f"{kind}DownBlock2D" for kind in kinds),
            up_block_types=tuple(f"{kind}UpBlock2D" for kind in reversed(kinds)),
            transformer_layers_per_block=(*(depth or 1 for depth in depths[:-1]), net.middle_depth),
            attention_head_dim=tuple(width // net.size_of_head(width) for width in widths),
            cross_attention_dim=net.text,
            use_linear_projection=net.linear,
            **(told if net.vector else {}),
        )

    def call(network: torch.nn.Module, *given: torch.Tensor) -> Any:
        latent, step, text, *told = given
        said = {"added_cond_kwargs": dict(zip(("text_embeds", "time_ids"), told, strict=True))} if told else {}
        return network(latent, step, text, **said).sample

    given = [
        torch.randn(batch, net.latent, net.side, net.side), torch.full((batch,), 500.0),
        torch.randn(batch, net.text_tokens, net.text),
    ]  # fmt: skip
    if net.vector:
        pooled = torch.randn(batch, net.vector - net.sizes * net.frequencies)
        given += [pooled, torch.full((batch, net.sizes), 1024.0)]
    return "diffusers", build, call, tuple(given), "diffusion", None


_PLANS: Mapping[type[Architecture], Callable[[Any, int, int | None, KeysOf], Planned]] = MappingProxyType({
    EncoderDecoder: _encoder_decoder, TwoTowers: _two_towers, VisionLanguage: _vision_language,
    ImageEncoder: _image_encoder, Recording: _recording, DiffusionTransformer: _diffusion_transformer, UNet: _unet,
})  # fmt: skip
